"""Periods of time, named by how their dates begin: month ``2012-03``, year ``2012``, decade ``201``, century ``20``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = 1, 9999
PERIOD: Final = r"[0-9]{2,4}|[0-9]{4}-(?:0[1-9]|1[0-2])"
"""What a period looks like, as a regular expression."""
_LENGTHS: Final = (7, 4, 3, 2)
"""How many characters of a date a month, a year, a decade and a century have in common."""
_MAX_PERIODS: Final = 48
_TAIL: Final = 0.005


@dataclass(frozen=True, slots=True)
class Periods:
    """Counts of consecutive periods, in order of time, including those with nothing.

    ``earlier`` and ``later`` are sums of the few counts that lie far before and after all others.
    """

    counts: Mapping[str, int]
    earlier: int = 0
    later: int = 0


def periods(months: Mapping[str, int]) -> Periods:
    """Add up counts by month or year to at most about 48 periods of equal length.

    >>> periods({"2012-11": 2, "2013-01": 1}).counts
    {'2012-11': 2, '2012-12': 0, '2013-01': 1}
    >>> periods({"1996-11": 2, "2013": 1}).counts["2013"]
    1
    """
    known = {name: n for name, n in sorted(months.items()) if n > 0}
    if not known:
        return Periods({})
    core, earlier, later = _core(known)
    for length in _LENGTHS:
        if length == _LENGTHS[0] and any(len(name) < length for name in core):
            continue
        begin, end = (_number(name[:length]) for name in (next(iter(core)), next(reversed(core))))
        if end - begin < _MAX_PERIODS or length == _LENGTHS[-1]:
            break
    counts = {_name(number, length): 0 for number in range(begin, end + 1)}
    for name, n in core.items():
        counts[name[:length]] += n
    return Periods(counts, earlier, later)


def _core(known: Mapping[str, int]) -> tuple[dict[str, int], int, int]:
    """Return the counts without outliers at either end, and the sums of those left out before and after."""
    most = sum(known.values()) * _TAIL
    names, ends = list(known), [0, 0]
    for side, order in enumerate((1, -1)):
        for name in names[::order]:
            if ends[side] + known[name] > most:
                break
            ends[side] += known[name]
            names.remove(name)
    return {name: known[name] for name in names}, ends[0], ends[1]


def _number(name: str) -> int:
    year, _, month = name.partition("-")
    return 12 * int(year) + int(month) - 1 if month else int(year)


def _name(number: int, length: int) -> str:
    return f"{number // 12:04}-{number % 12 + 1:02}" if length == _LENGTHS[0] else f"{number:0{length}}"


def worded(period: str) -> str:
    """Return a period in words.

    >>> worded("2012-03"), worded("2012"), worded("201"), worded("19")
    ('2012-03', '2012', '2010s', '1900s')
    """
    return period if len(period) >= 4 else f"{period.ljust(4, '0')}s"


def span_of(period: str) -> tuple[int, int]:
    """Return the times, in microseconds since 1970, at which a period begins and ends.

    Raise ``ValueError`` for no period.
    """
    if not re.fullmatch(PERIOD, period):
        raise ValueError(f"{period!r} is no period")
    year, _, month = period.partition("-")
    if month:
        number = _number(period)
        begin, end = divmod(number, 12), divmod(number + 1, 12)
        return _moment(begin[0], begin[1] + 1), _moment(end[0], end[1] + 1)
    years = 10 ** (4 - len(year))
    return _moment(int(year) * years, 1), _moment((int(year) + 1) * years, 1)


def _moment(year: int, month: int) -> int:
    at = datetime(min(max(year, _FIRST), _LAST), month, 1, tzinfo=UTC)
    return int((at - _EPOCH).total_seconds()) * 1_000_000


def published_in(period: str) -> tuple[str, tuple[str, ...]]:
    """Return the SQL condition that an object was published in a period, and its parameters. Raise ``ValueError``.

    It selects the same dates that the page index counts as ``published``.
    """
    span_of(period)
    if "-" in period:
        return "object.date GLOB ?", (f"{period}*",)
    year = period + "[0-9]" * (4 - len(period))
    given = (f"{year}-0[1-9]*", f"{year}-1[0-2]*", year)
    return "(object.date GLOB ? OR object.date GLOB ? OR object.date GLOB ?)", given
