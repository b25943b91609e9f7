"""Amounts as people write them: durations ("30 days"), sizes ("2 GB"), moments ("2024-05-01")."""

import re
from datetime import UTC, date, datetime, time, timedelta

_SECONDS = {
    "ms": 0.001, "millisecond": 0.001,
    "s": 1, "sec": 1, "second": 1,
    "min": 60, "minute": 60,
    "h": 3600, "hour": 3600,
    "d": 86400, "day": 86400,
    "w": 604800, "week": 604800,
}  # fmt: skip
_BYTES = {
    "b": 1, "byte": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
# Digits and spaces are read in one way alone: texts that nearly match would take very long otherwise.
_AMOUNT = re.compile(r"([0-9]{1,15}(?![0-9])(?:\.[0-9]{1,9}(?![0-9]))?)(?:\s*([a-zA-Z]{1,20}))?\s*")
_MAX_TEXT_LENGTH = 200
MAX_DURATION = timedelta(days=36_500)
MAX_SIZE = 10**18


def parse_duration(text: str) -> timedelta:
    """Parse "90" (seconds), "1.5 s", "12 hours", "1 h 30 min". Raises ValueError for anything else.

    Months and years are refused, because they have no fixed length; so is more than a hundred years.

    >>> parse_duration("1 h 30 min")
    datetime.timedelta(seconds=5400)
    """
    total = sum(_amounts(text, _SECONDS, default="s"))
    if total > MAX_DURATION.total_seconds():
        raise ValueError("is longer than a hundred years")
    return timedelta(seconds=round(total, 6))


def format_duration(duration: timedelta) -> str:
    """Return a duration in a form that ``parse_duration`` reads.

    >>> format_duration(timedelta(days=2, seconds=1.5))
    '2 d 1.5 s'
    """
    seconds = f"{duration.seconds + duration.microseconds / 1e6:.6f}".rstrip("0").rstrip(".")
    parts = ([f"{duration.days} d"] if duration.days else []) + ([f"{seconds} s"] if seconds != "0" else [])
    return " ".join(parts) or "0 s"


def parse_size(text: str) -> int:
    """Parse "4096" (bytes), "10 MB" (powers of 1000), "2 GiB" (powers of 1024). Raises ValueError for anything else.

    >>> parse_size("1.5 kB")
    1500
    """
    amounts = _amounts(text, _BYTES, default="b")
    if len(amounts) > 1:
        raise ValueError("is no size")
    if amounts[0] > MAX_SIZE:
        raise ValueError("is larger than any disk")
    return round(amounts[0])


def format_size(size: int) -> str:
    """Return a size in a form that ``parse_size`` reads.

    >>> format_size(1_500_000_000), format_size(2**20), format_size(7), format_size(0)
    ('1500 MB', '1 MiB', '7', '0')
    """
    for name, factor in (("TB", 10**12), ("GB", 10**9), ("TiB", 2**40), ("GiB", 2**30), ("MB", 10**6), ("MiB", 2**20)):
        if size and size % factor == 0:
            return f"{size // factor} {name}"
    return f"{size // 1000} kB" if size and size % 1000 == 0 else str(size)


def parse_moment(text: str, *, end: bool = False) -> datetime:
    """Parse an ISO 8601 date or time, without a zone in UTC. A date means its first second, or its last with ``end``.

    >>> parse_moment("2024-05-01", end=True).isoformat()
    '2024-05-01T23:59:59+00:00'
    """
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.combine(date.fromisoformat(text), time(23, 59, 59) if end else time(), UTC)
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("is no date") from None


def _amounts(text: str, units: dict[str, int] | dict[str, float], *, default: str) -> list[float]:
    what = "is no duration" if default == "s" else "is no size"
    stripped = text.strip()
    if stripped.startswith("-"):
        raise ValueError("is negative")
    if len(stripped) > _MAX_TEXT_LENGTH or not re.fullmatch(rf"(?:{_AMOUNT.pattern}){{1,6}}", stripped):
        raise ValueError(what)
    amounts = []
    for number, unit in _AMOUNT.findall(stripped):
        factor = _factor(unit or default, units)
        if factor is None:
            raise ValueError(f"{what}: '{unit}' is no unit")
        amounts.append(float(number) * factor)
    return amounts


def _factor(unit: str, units: dict[str, int] | dict[str, float]) -> float | None:
    name = unit.lower()
    return units.get(name, units.get(name.removesuffix("s")))
