"""Read dates as people and machines write them. A text that is not wholly a date gives None."""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from dateutil.relativedelta import relativedelta

from aahcrawler.page.datewords import DateWords, plain_letters, vocabularies

Order = Literal["dmy", "mdy", "ymd"]

TOLERANCE = timedelta(days=1)
"""The time by which a date may lie after the capture, since its zone may not be known."""

_MINUTE, _HOUR, _DAY, _WEEK, _MONTH = 60, 3_600, 86_400, 604_800, 2_629_746

MAX_LENGTH = 100
"""Text of more characters than this is no date."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """The context in which a date is read; ``now`` is in the zone of the date."""

    order: Order | None
    now: datetime
    language: str | None
    coarse: bool = False

    @property
    def zone(self) -> tzinfo:
        return self.now.tzinfo or UTC


def parse(
    text: str,
    *,
    order: Order | None = None,
    zone: tzinfo | str | None = None,
    now: datetime,
    language: str | None = None,
    format: str | None = None,  # noqa: A002
    coarse: bool = False,
) -> datetime | None:
    """Return the date and time of a text, aware, or None if the text is not a date.

    Its offset from UTC is the one that the text names, so that its day is the day that the page shows.

    Formats are ISO 8601, RFC 2822, seconds and milliseconds since 1970 (10 and 13 digits), numeric dates, dates with
    the month in words, and relative ones (``Yesterday, 10:20 PM``, ``3 hours ago``), the words in some thirty
    languages. Every word has to belong to the date or be one that accompanies dates; if a vertical bar, a guillemet or
    a bullet separates parts, exactly one part may be a date. A date without a time is midnight, one without a year the
    last such day before ``now``. A relative one is as exact as what it says: ``3 hours ago`` is a full hour, ``3 days
    ago`` a day, and what is told in weeks, months or years names no day: it is none unless ``coarse`` asks for about
    when it was.

    ``order`` decides how to read 01/02/2022. Without it, 2022 first is year, month, day; with points, the day is first;
    with slashes and hyphens, the month is first in English of no country or of the United States, and if ``language``
    (as in HTML: ``de``, ``en-gb``) is unknown. A date that is impossible in that order, or whose weekday fits the other
    order, is read in the other one. ``zone`` (a tzinfo or an IANA name, UTC by default) applies if the text names none.
    ``now`` is aware. With ``format``, as for ``datetime.strptime``, nothing else is tried. An unknown zone name raises
    ``ZoneInfoNotFoundError``.

    >>> parse("01-14-2022, 01:18 PM", order="mdy", now=datetime(2022, 2, 1, tzinfo=UTC)).isoformat()
    '2022-01-14T13:18:00+00:00'
    >>> parse("May", now=datetime(2022, 2, 1, tzinfo=UTC)) is None
    True
    """
    folded = " ".join(text[: 4 * MAX_LENGTH].split())
    if not folded or len(folded) > MAX_LENGTH:
        return None
    local = now.astimezone(ZoneInfo(zone) if isinstance(zone, str) else zone or UTC)
    try:
        found = (
            _read(folded, _Setting(order, local, language, coarse))
            if format is None
            else datetime.strptime(folded, format)  # noqa: DTZ007
        )
        return None if found is None else _aware(found, local.tzinfo or UTC)
    except (ValueError, OverflowError):
        return None


def _aware(moment: datetime, zone: tzinfo) -> datetime:
    """Return a date and time with its offset, else with that of ``zone``; ``UTC`` itself stands for no offset.

    Raise OverflowError if the result lies outside the years of UTC.
    """
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    offset = zoned.utcoffset()
    in_utc = zoned.astimezone(UTC)
    return in_utc.astimezone(timezone(offset)) if offset else in_utc


_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}(?::?\d{2}){0,2}.*)?|\d{8}T\d{4,6}.*")
_ZONE_AGAIN = re.compile(r"(?<=[+-])(\d{2}):?(\d{2}) (?:[+-]?\1:?\2|UTC|GMT)$")
"""A zone that a template adds to a moment that was written with its own: ``10:30:00+00:00 +0000``."""
_EPOCH = re.compile(r"\d{10}|\d{13}")
_RFC_2822 = re.compile(r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d{1,2}:\d{2}(?::\d{2})? (?:[+-]\d{4}|GMT|UT)")
_PARTED = re.compile(r"\s*[|»«•·—]\s*")


def _read(text: str, setting: _Setting) -> datetime | None:
    machine = _machine_date(text)
    if machine is not None:
        return machine
    whole = _human_date(text, setting)
    if whole is not None:
        return whole
    parts = [part for part in _PARTED.split(text) if part and part != text]
    found = [moment for part in parts if (moment := _machine_date(part) or _human_date(part, setting)) is not None]
    return found[0] if len(found) == 1 else None


def _machine_date(text: str) -> datetime | None:
    try:
        if _EPOCH.fullmatch(text):
            return datetime.fromtimestamp(int(text) / (1000 if len(text) == 13 else 1), UTC)
        if _ISO.fullmatch(text):
            return datetime.fromisoformat(_ZONE_AGAIN.sub(r"\1:\2", text))
        if _RFC_2822.fullmatch(text):
            return parsedate_to_datetime(text)
    except ValueError:
        return None
    return None


_CJK_DATE = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일号]?")
_CJK_CLOCK = re.compile(
    r"(\d{1,2})\s?[時时點点시]\s?(?:(\d{1,2})\s?[分분](?:\s?(\d{1,2})\s?[秒초])?)?(?!\s?[間间간前전])"
)
_CJK_HALF = re.compile(r"(上午|早上|凌晨|午前|오전)|(下午|晚上|中午|午後|오후)")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NUMERIC = re.compile(
    r"(?<![\d.:])(\d{4}|\d{1,2})\s?([./-])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{1,2})(?:\.(?!\d))?(?!\d|\2\d)"
)
_COLON_CLOCK = re.compile(r"(?<![\d.:])(\d{1,2})\s?[:h]\s?(\d{2})(?:[:.]\s?(\d{2})(?:[.,]\d{1,9})?)?(?!\d)")
_POINT_CLOCK = re.compile(r"(?<![\d.:])(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.])")
_SAID_CLOCK = re.compile(r"(?:\b(?:klo|kl\.?|um|ore|alle|om)\s)(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.])")
_HOUR_ALONE = re.compile(r"(?<![\d.:/-])(\d{1,2})()()(?=\s?[ap]\.?\s?m\b)")
_HALF = re.compile(r"(?<!\w)(?:(a\.?\s?m\.?|π\.?\s?μ\.?)|(p\.?\s?m\.?|μ\.?\s?μ\.?))(?!\w)")
_OFFSET = re.compile(r"\(?\b(?:utc|gmt|z)?\s?([+-])(\d{1,2}):?(\d{2})?\)?(?![\d:])|\(?\b(?:utc|gmt|z)\b\)?")
_ZONE_NAME = re.compile(r"\(?\b([ecmp][sd]t|cet|cest|mez|mesz|eet|eest|wet|west|bst|jst|msk)\b\)?")
_ZONE_HOURS = {
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "cet": 1, "cest": 2,
    "mez": 1, "mesz": 2, "eet": 2, "eest": 3, "wet": 0, "west": 1, "bst": 1, "jst": 9, "msk": 3,
}  # fmt: skip
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er|o)(?![\w'])")
_JOINED = re.compile(r"(?<=\d)t(?=\d)")
_GLUED = re.compile(r"(?<=\d)(?=[ap]m\b)|(?<=\d)(?=z\b)")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_PUNCTUATION = re.compile(r"[\s,.;:()\[\]/'\"@|»«•·~*<>–—-]*")


class _Remaining:
    """The part of a text that has not been understood yet."""

    def __init__(self, text: str) -> None:
        self.text = text

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Find the pattern and remove the matched text."""
        match = pattern.search(self.text)
        if match:
            self.text = f"{self.text[: match.start()]} {self.text[match.end() :]}"
        return match


@dataclass(frozen=True, slots=True)
class _Found:
    """The parts of a date that needed no language, and the words and numbers that are left."""

    day: date | None
    other: date | None
    """The day in the other order of day and month, if there is one."""
    clock: time | None
    numbers: tuple[int, ...]
    words: tuple[str, ...]


def _human_date(text: str, setting: _Setting) -> datetime | None:
    rest = _Remaining(_GLUED.sub(" ", _JOINED.sub(" ", _ORDINAL.sub("", plain_letters(text).replace("’", "'")))))
    day, other = _take_day(rest, setting)
    clock = _take_clock(rest, day_is_known=day is not None)
    left = rest.text
    if not _all_letters().issuperset(_LETTERS.findall(left)) and not _CJK.search(left):
        return None
    for language in _by_preference(setting.language):
        vocabulary = vocabularies()[language]
        words = _words(left, vocabulary)
        if words is not None:
            numbers = tuple(int(number) for number in _NUMBER.findall(left))
            found = _interpret(_Found(day, other, clock, numbers, words), vocabulary, setting)
            if found is not None:
                return found
    return None


@lru_cache(maxsize=1)
def _all_letters() -> frozenset[str]:
    """Return the words of all languages, those with hyphens in pieces."""
    words = (word for vocabulary in vocabularies().values() for word in vocabulary.all)
    return frozenset(piece for word in words for piece in _LETTERS.findall(word))


@lru_cache(maxsize=256)
def _by_preference(language: str | None) -> tuple[str, ...]:
    own = (language or "").partition("-")[0].lower()
    return tuple(sorted(vocabularies(), key=lambda code: code != own))


def _take_day(rest: _Remaining, setting: _Setting) -> tuple[date | None, date | None]:
    """Take a numeric date; return the day it names, and the one that it names in the other order of day and month."""
    match = rest.take(_CJK_DATE)
    if match:
        return date(int(match[1]), int(match[2]), int(match[3])), None
    match = rest.take(_NUMERIC)
    if match is None:
        return None, None
    days = [
        date(year, month, day)
        for year, month, day in _readings(match, setting)
        if 1 <= month <= 12 and 1000 <= year <= setting.now.year + 100 and 1 <= day <= monthrange(year, month)[1]
    ]
    if not days:
        raise ValueError(match[0])
    return days[0], days[1] if len(days) > 1 else None


def _readings(match: re.Match[str], setting: _Setting) -> Iterator[tuple[int, int, int]]:
    """Yield year, month and day in each order that the digits allow, the wanted one first."""
    first, middle, last = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        yield first, middle, last
        return
    if len(match[4]) == 1:
        return
    if setting.order == "ymd" and len(match[4]) == 2:
        yield _full_year(first), middle, last
    year = _full_year(last)
    month_first = setting.order == "mdy" or (
        setting.order is None and match[2] != "." and setting.language in _MONTH_FIRST
    )
    orders = ((year, first, middle), (year, middle, first))
    yield from orders if month_first else reversed(orders)


_MONTH_FIRST = (None, "en", "en-us", "en-ph")


def _full_year(year: int) -> int:
    """Read two digits as POSIX does: 69 to 99 are of the last century."""
    if year >= 100:
        return year
    return year + (1900 if year >= 69 else 2000)


def _take_clock(rest: _Remaining, *, day_is_known: bool) -> time | None:
    match = (
        rest.take(_CJK_CLOCK)
        or rest.take(_COLON_CLOCK)
        or rest.take(_POINT_CLOCK if day_is_known else _SAID_CLOCK)
        or rest.take(_HOUR_ALONE)
    )
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    half = rest.take(_HALF) or rest.take(_CJK_HALF)
    if half and hour <= 12:
        hour = hour % 12 + (12 if half[2] else 0)
    return time(hour, minute, second, tzinfo=_take_zone(rest))


def _take_zone(rest: _Remaining) -> tzinfo | None:
    offset = rest.take(_OFFSET)
    name = rest.take(_ZONE_NAME)
    if offset:
        hours, minutes = int(offset[2] or 0), int(offset[3] or 0)
        return timezone(timedelta(hours=hours, minutes=minutes) * (-1 if offset[1] == "-" else 1))
    return timezone(timedelta(hours=_ZONE_HOURS[name[1]])) if name else None


def _words(text: str, vocabulary: DateWords) -> tuple[str, ...] | None:
    """Return the words of a text, None if the vocabulary lacks one or more than words and numbers is left."""
    for phrase in vocabulary.phrases:
        if phrase in text:
            text = text.replace(phrase, phrase.replace(" ", "-"))
    words: list[str] = []
    for word in _WORD.findall(text):
        if word in vocabulary.all:
            words.append(word)
            continue
        pieces = _segments(word, vocabulary) if _CJK.search(word) else None
        if pieces is None:
            return None
        words.extend(pieces)
    left = _NUMBER.sub("", _WORD.sub("", text))
    return tuple(words) if _PUNCTUATION.fullmatch(left) else None


def _segments(text: str, vocabulary: DateWords) -> Sequence[str] | None:
    """Cut a text that is written without spaces into words, the longest first."""
    pieces: list[str] = []
    start = 0
    while start < len(text):
        ends = range(len(text), start, -1)
        end = next((end for end in ends if text[start:end] in vocabulary.all), None)
        if end is None:
            return None
        pieces.append(text[start:end])
        start = end
    return pieces


_OTHERWISE = {("hier",): "fr"}
"""Words that alone name a day only in one language; in others they are words such as "here"."""


def _interpret(found: _Found, vocabulary: DateWords, setting: _Setting) -> datetime | None:
    if any(word in vocabulary.ago for word in found.words) and found.day is None and found.clock is None:
        return _ago(found, vocabulary, setting)
    bare = not found.numbers and found.day is None and found.clock is None
    if bare and found.words in _OTHERWISE and not (setting.language or "").startswith(_OTHERWISE[found.words]):
        return None
    if bare and any(word in vocabulary.now for word in found.words):
        return setting.now.replace(second=0, microsecond=0)
    day = _day(found, vocabulary, setting)
    return None if day is None else datetime.combine(day, found.clock or time())


def _day(found: _Found, vocabulary: DateWords, setting: _Setting) -> date | None:
    months = [word for word in found.words if word in vocabulary.months]
    if len(months) + (found.day is not None) > 1:
        months = [word for word in months if word not in vocabulary.weekdays]
    if (
        any(word not in vocabulary.beside and word not in months for word in found.words)
        or len(months) + (found.day is not None) > 1
    ):
        return None
    if found.day is not None or not months:
        return None if found.numbers else _by_weekday(found, vocabulary) or _near_day(found, vocabulary, setting)
    return _day_of_month(vocabulary.months[months[0]], found.numbers, setting)


def _by_weekday(found: _Found, vocabulary: DateWords) -> date | None:
    """Return the numeric day, in the order of day and month that a weekday beside it agrees with."""
    weekdays = {vocabulary.weekdays[word] for word in found.words if word in vocabulary.weekdays}
    if found.day is not None and found.other is not None and len(weekdays) == 1:
        return found.other if found.day.weekday() not in weekdays and found.other.weekday() in weekdays else found.day
    return found.day


def _day_of_month(month: int, numbers: tuple[int, ...], setting: _Setting) -> date | None:
    today = setting.now.date()
    if len(numbers) == 1 and 1 <= numbers[0] <= 31:
        latest = today + timedelta(days=1)
        years = (year for year in range(latest.year, latest.year - 5, -1) if _exists(year, month, numbers[0]))
        return next((day for year in years if (day := date(year, month, numbers[0])) <= latest), None)
    if len(numbers) != 2:
        return None
    first, second = numbers if numbers[0] <= 31 else numbers[::-1]
    year = _full_year(second)
    return date(year, month, first) if 1000 <= year <= today.year + 100 else None


def _exists(year: int, month: int, day: int) -> bool:
    return day <= monthrange(year, month)[1]


def _near_day(found: _Found, vocabulary: DateWords, setting: _Setting) -> date | None:
    """Return the day that a word like yesterday names, or a weekday with a time: the last one before now."""
    today = setting.now.date()
    offsets = [vocabulary.days[word] for word in found.words if word in vocabulary.days]
    if len(offsets) == 1:
        return today + timedelta(days=offsets[0])
    weekdays = [vocabulary.weekdays[word] for word in found.words if word in vocabulary.weekdays]
    if offsets or len(weekdays) != 1 or found.clock is None:
        return None
    back = (today.weekday() - weekdays[0]) % 7
    in_the_future = back == 0 and found.clock.replace(tzinfo=None) > setting.now.time()
    return today - timedelta(days=7 if in_the_future else back)


def _ago(found: _Found, vocabulary: DateWords, setting: _Setting) -> datetime | None:
    units = [vocabulary.units[word] for word in found.words if word in vocabulary.units]
    known = vocabulary.units.keys() | vocabulary.numbers.keys() | vocabulary.filler | vocabulary.ago
    if any(word not in known for word in found.words):
        return None
    numbers = found.numbers
    if not numbers and len(units) == 1 and any(word in vocabulary.numbers for word in found.words):
        numbers = (1,)
    if not units or len(numbers) != len(units):
        return None
    months = -sum(number * unit for number, unit in zip(numbers, units, strict=True) if unit < 0)
    seconds = sum(number * unit for number, unit in zip(numbers, units, strict=True) if unit > 0)
    finest = min(unit if unit > 0 else -unit * _MONTH for unit in units)
    if finest >= _WEEK and not setting.coarse:
        return None
    return _rounded(setting.now - relativedelta(months=months) - timedelta(seconds=seconds), finest)


def _rounded(moment: datetime, unit: int) -> datetime:
    """Return a moment without what is finer than a unit of so many seconds, at most its day."""
    if unit >= _DAY:
        return moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit >= _HOUR:
        return moment.replace(minute=0, second=0, microsecond=0)
    return moment.replace(microsecond=0) if unit < _MINUTE else moment.replace(second=0, microsecond=0)
