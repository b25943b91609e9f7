"""Find the time of day in a text, with the offset from UTC that stands beside it."""

import re
from dataclasses import dataclass
from datetime import time, timedelta, timezone, tzinfo

_COLON = re.compile(r"(?<![\d.:])(\d{1,2})\s?[:h]\s?(\d{2})(?:[:.]\s?(\d{2})(?:[.,]\d{1,9})?)?(?!\d)")
_CJK = re.compile(r"(\d{1,2})\s?[时時點点시]\s?(?:(\d{1,2})\s?[分분](?:\s?(\d{1,2})\s?[秒초])?)?(?!\s?[間间간前전])")
_UNITS = re.compile(r"(?<![\d.:])(\d{1,2})\s?h\s(\d{2})\s?min(?:\s(\d{2})\s?s\b)?")
_HOUR = re.compile(r"(?<![\d.:/-])(\d{1,2})()()(?=\s?[ap]\.?\s?m\b)")
_SAID = re.compile(r"\b(?:klo|kl\.?|um|ore|alle|om|pukul|jam)\s(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.])")
_POINT = re.compile(r"(?<![\d.:])(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.])")
_FULL_HOUR = re.compile(r"(?<![\d.:/-])(\d{1,2})()()\s?(?=(?:h|hs|uhr|uur|ч)(?!\w))")

SURE = (_UNITS, _CJK, _COLON, _SAID, _HOUR)
LOOSE = (_POINT, _FULL_HOUR)
"""Ways to write a time that look like other numbers: they are tried where a date is known, or nothing else is."""

_HALF = re.compile(r"[\s,]{0,2}(?:(a\.?\s?m\.?)|(p\.?\s?m\.?))(?!\w)")
_OFFSET = re.compile(
    r"[\s,]{0,2}[(\[]?(?:(?:utc|gmt|z)(?:\s?([+-])\s?(\d{1,2})(?::?(\d{2}))?)?|([+-])(\d{2}):?(\d{2})|(?<=\d)([+-])(\d{2}))"
    r"[)\]]?(?![\w:]|[./-]\d)"
)
_AT_END = re.compile(r"\s([+-])(\d{2}):?(\d{2})\)?$")
_UNTIL = re.compile(r"\s?-\s?(\d{1,2}):(\d{2})(?![\d:])")

_ZONES = {
    "acdt": 10.5, "acst": 9.5, "aedt": 11, "aest": 10, "akdt": -8, "akst": -9, "awst": 8, "bst": 1, "cat": 2,
    "cdt": -5, "cest": 2, "cet": 1, "chst": 10, "cst": -6, "eat": 3, "edt": -4, "eest": 3, "eet": 2, "est": -5,
    "hdt": -9, "hkt": 8, "hst": -10, "jst": 9, "kst": 9, "mdt": -6, "mest": 2, "mesz": 2, "mez": 1, "msd": 4,
    "msk": 3, "mst": -7, "ndt": -2.5, "nst": -3.5, "nzdt": 13, "nzst": 12, "pdt": -7, "pkt": 5, "pst": -8,
    "sast": 2, "wat": 1, "west": 1, "wet": 0, "wib": 7, "wit": 9, "wita": 8, "мск": 3,
}  # fmt: skip
"""Hours from UTC: the zones of RFC 5322, those of the IANA database that stand for one offset, and the German ones."""

_SEVERAL = ("ist", "ast", "adt", "sst", "gst", "ect", "amt", "art", "sgt", "myt", "pht", "ict", "brt", "clt")
"""Zones whose abbreviations have several meanings, or none in the database: the time stays without an offset."""

ZONE_NAMES = frozenset(_ZONES) | frozenset(_SEVERAL) | {"utc", "gmt", "z"}
_NAME = "|".join(sorted((*_ZONES, *_SEVERAL), key=len, reverse=True))
_BESIDE = re.compile(rf"[\s,]{{0,2}}(?:\(({_NAME})\)|\[({_NAME})\]|({_NAME})(?!\w))")
_IN_BRACKETS = re.compile(rf"\(({_NAME}|utc|gmt)\)")

_EARLIEST, _LATEST = timedelta(hours=-12), timedelta(hours=14)
_QUARTERS = (0, 15, 30, 45)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day as it is written, before the language tells of which half of the day it is.

    ``time`` has an offset if the text names one. ``is_settled`` says that AM or PM is taken into account.
    """

    time: time
    is_settled: bool


def take(text: str, patterns: tuple[re.Pattern[str], ...], mark: str, *, is_chinese: bool) -> tuple[Clock | None, str]:
    """Find a time in plain letters; return it with the text in which ``mark`` replaces it, else None and the text.

    An offset or a zone is taken only where it can stand: right behind the time, in brackets, or at the end. Raise
    ValueError if the numbers are no time.
    """
    match = next(filter(None, (pattern.search(text) for pattern in patterns)), None)
    if match is None:
        return None, text
    hour, minute, second = (int(part or 0) for part in match.groups())
    end = match.end()
    half = _HALF.match(text, end)
    if half is not None:
        end = half.end()
        hour = hour % 12 + (12 if half[2] else 0) if hour <= 12 else hour
    zone, after = _zone_behind(text, end, (hour, minute), is_chinese=is_chinese)
    return Clock(time(hour, minute, second, tzinfo=zone), half is not None), f"{text[: match.start()]}{mark}{after}"


def _zone_behind(text: str, end: int, clock: tuple[int, int], *, is_chinese: bool) -> tuple[tzinfo | None, str]:
    """Return the zone that a text names behind a time, and what follows without it and without a second time."""
    until = _UNTIL.match(text, end)
    if until is not None and clock < (int(until[1]), int(until[2])) < (24, 0):
        end = until.end()
    match = _OFFSET.match(text, end)
    offset = _offset(match) if match is not None else None
    after = text[match.end() if match is not None and offset is not None else end :]
    named = _BESIDE.match(after) or _IN_BRACKETS.search(after)
    if named is not None:
        after = f"{after[: named.start()]} {after[named.end() :]}"
    at_end = _AT_END.search(after) if offset is None and named is None else None
    if at_end is not None and (offset := _offset(at_end)) is not None:
        after = after[: at_end.start()]
    if offset is not None:
        return timezone(offset), after
    name = next(filter(None, named.groups()), "") if named is not None else ""
    hours = 0 if name in ("utc", "gmt") else _ZONES.get(name)
    # In China, the zone of Chicago has another meaning.
    is_known = hours is not None and not (name == "cst" and is_chinese)
    return (timezone(timedelta(hours=hours or 0)) if is_known else None), after


def _offset(match: re.Match[str]) -> timedelta | None:
    """Return the offset in a match of sign, hours and minutes; None if it is none of a zone."""
    parts = match.groups()
    sign, hours, minutes = next((parts[at : at + 3] for at in range(0, len(parts), 3) if parts[at]), ("+", "0", "0"))
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    return offset if is_offset(offset) else None


def is_offset(offset: timedelta | None) -> bool:
    """Return whether a difference from UTC is one that a zone can have; that of no zone is."""
    if offset is None:
        return True
    minutes, seconds = divmod(int(offset.total_seconds()), 60)
    return _EARLIEST <= offset <= _LATEST and seconds == 0 and minutes % 60 in _QUARTERS


def in_half(clock: time, first: int, last: int) -> time | None:
    """Return a time with the hours of a part of the day applied: from ``first``, before ``last``; None if none fits.

    >>> in_half(time(2, 5), 12, 24), in_half(time(12, 5), 0, 12), in_half(time(12, 5), 19, 24)
    (datetime.time(14, 5), datetime.time(0, 5), None)
    """
    if clock.hour > 12:
        return clock
    hours = (clock.hour % 12, clock.hour % 12 + 12)
    fitting = [hour for hour in hours if (hour - first) % 24 < (last - first) % 24]
    return clock.replace(hour=fitting[0]) if len(fitting) == 1 else None
