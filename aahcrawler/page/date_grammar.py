"""Read a date of words and numbers in one language."""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from dateutil.relativedelta import relativedelta

from aahcrawler.page import date_parts
from aahcrawler.page.date_parts import LETTER, SPACELESS, Clock, DateWords, order_of

_MINUTE, _HOUR, _DAY, _WEEK, _MONTH = 60, 3_600, 86_400, 604_800, 2_629_746

DAY_MARK, CLOCK_MARK = "\x01", "\x02"
"""What stands in a text for a date in digits and for a time that were found."""

_ITEM = re.compile(rf"[{DAY_MARK}{CLOCK_MARK}]|'\d\d(?![\d'])|\d+|{LETTER}+")
_PUNCTUATION = re.compile(r"[\s,.;:()\[\]/'\"@|»«•·~*<>–—\-،؛、。・॥।॰״׳ฯ]*")

_YEARS_BACK = 5


class Setting(NamedTuple):
    """The context in which a date is read; ``now`` is in the zone of the date."""

    order: str | None
    now: datetime
    language: str | None

    @property
    def zone(self) -> tzinfo:
        """The zone of a date that names none."""
        return self.now.tzinfo or UTC

    @property
    def latest(self) -> date:
        """The last day that a date may be of: that of tomorrow, since its zone may not be known."""
        return self.now.date() + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DateReading:
    """A moment that a text names, and how much of it the text tells.

    ``timed``: it tells the time of day. ``relative``: it counts from the present (``yesterday, 10:20``, ``3 hours
    ago``). ``lacks_year``: the year is a guess, the last one in which there was such a day. ``vague``: it tells about
    when it was, but not on which day (``2 weeks ago``).
    """

    moment: datetime
    timed: bool = True
    relative: bool = False
    lacks_year: bool = False
    vague: bool = False

    @property
    def names_day(self) -> bool:
        """Whether the day and its year stand in the text, whenever it is read."""
        return not (self.relative or self.lacks_year or self.vague)


class DateText(NamedTuple):
    """A text in plain letters, in which marks stand for the date in digits and the time, and what these say."""

    rest: str
    numeric: re.Match[str] | None
    day: date | None
    clock: Clock | None


class _Number(NamedTuple):
    digits: str
    behind_month: bool


class _Items(NamedTuple):
    """The words, the numbers, and the words right before and behind the time, of a text."""

    words: tuple[str, ...]
    numbers: tuple[_Number, ...]
    before_clock: str = ""
    behind_clock: str = ""


@dataclass(frozen=True, slots=True)
class InLanguage:
    """What a text says in one language, and whether a weekday in it contradicts the date."""

    reading: DateReading
    contradicted: bool = False


def read_in(text: DateText, vocabulary: DateWords, setting: Setting) -> InLanguage | None:
    """Return what a text says in a language, None if a word is not one of dates there or if it is no date."""
    items = _items(text.rest, vocabulary)
    if items is None:
        return None
    clock, items = _clock(text, items, vocabulary)
    if text.numeric is None and text.day is None and clock is None and not vocabulary.ago.isdisjoint(items.words):
        found = _ago(items, vocabulary, setting)
        return None if found is None else InLanguage(found)
    is_bare = not items.numbers and text.numeric is None and text.day is None and clock is None
    if is_bare and any(word in vocabulary.now for word in items.words):
        return InLanguage(DateReading(setting.now.replace(second=0, microsecond=0), relative=True))
    found_day = _day(text, items, clock, vocabulary, setting)
    if found_day is None:
        return None
    moment = datetime.combine(found_day.day, clock or time())
    weekdays = _weekdays(items, vocabulary)
    weekdays -= {found_day.day.weekday()} if len(weekdays) > 1 else set()
    contradicted = bool(weekdays) and found_day.day.weekday() not in weekdays and not found_day.relative
    reading = DateReading(moment, clock is not None, found_day.relative, found_day.lacks_year)
    return InLanguage(reading, contradicted)


def _items(text: str, vocabulary: DateWords) -> _Items | None:
    """Return the words and numbers of a text, None if the vocabulary lacks one or more than these is left."""
    found = _ITEM.findall(text)
    if not _PUNCTUATION.fullmatch(_ITEM.sub("", text)):
        return None
    words: list[str] = []
    numbers: list[_Number] = []
    kinds: list[str] = []
    at = 0
    while at < len(found):
        phrase, length = _phrase(found, at, vocabulary)
        if phrase:
            words.append(phrase)
            kinds.append(phrase)
        elif found[at] in (DAY_MARK, CLOCK_MARK):
            kinds.append(found[at])
        elif found[at][-1].isdecimal():
            has_month = any(word in vocabulary.months or word in vocabulary.persian for word in words)
            numbers.append(_Number(found[at], has_month))
            kinds.append("")
        else:
            pieces = _segments(found[at], vocabulary) if SPACELESS.search(found[at]) else None
            if pieces is None:
                return None
            words += pieces
            kinds += pieces
        at += length
    clock = kinds.index(CLOCK_MARK) if CLOCK_MARK in kinds else -1
    before = kinds[clock - 1] if clock > 0 else ""
    behind = kinds[clock + 1] if 0 <= clock < len(kinds) - 1 else ""
    return _Items(tuple(words), tuple(numbers), before, behind)


def _phrase(found: Sequence[str], at: int, vocabulary: DateWords) -> tuple[str, int]:
    """Return the longest phrase that begins at an item, with its length; an empty one of length 1 if there is none."""
    first = found[at].lstrip("0") if found[at][0] == "0" else found[at]
    longest = vocabulary.lengths.get(first, 0)
    for length in range(min(longest, len(found) - at), 1, -1):
        phrase = " ".join((first, *(each.lstrip("0") for each in found[at + 1 : at + length])))
        if phrase in vocabulary.all:
            return phrase, length
    return (first if longest and first in vocabulary.all else ""), 1


def _segments(text: str, vocabulary: DateWords) -> list[str] | None:
    """Cut a text that is written without spaces into words, the longest first."""
    pieces: list[str] = []
    start = 0
    while start < len(text):
        ends = range(len(text), start, -1)
        end = next((end for end in ends if text[start:end] in vocabulary.joined), None)
        if end is None:
            return None
        pieces.append(vocabulary.joined[text[start:end]])
        start = end
    return pieces


def _clock(text: DateText, items: _Items, vocabulary: DateWords) -> tuple[time | None, _Items]:
    """Return the time of a text with the part of the day that a word beside it names, and the items without that word.

    A part of the day in which there is no such time leaves the time unknown.
    """
    if text.clock is None:
        return None, items
    clock = text.clock.time
    beside = (items.behind_clock, "" if items.before_clock in vocabulary.filler else items.before_clock)
    half = next((word for word in beside if word in vocabulary.halves), None)
    if half is None:
        return clock, items
    words = list(items.words)
    words.remove(half)
    left = _Items(tuple(words), items.numbers)
    return (clock if text.clock.is_settled else date_parts.in_half(clock, *vocabulary.halves[half])), left


@dataclass(frozen=True, slots=True)
class _Day:
    day: date
    relative: bool = False
    lacks_year: bool = False


def _day(text: DateText, items: _Items, clock: time | None, vocabulary: DateWords, setting: Setting) -> _Day | None:
    months = _months(items, vocabulary, text)
    if months is None or any(
        word not in vocabulary.beside and word not in months and word not in vocabulary.persian for word in items.words
    ):
        return None
    if text.numeric is not None or text.day is not None:
        day = None if items.numbers or months else _in_digits(text, items, vocabulary, setting)
        return None if day is None else _Day(day)
    persian = [vocabulary.persian[word] for word in items.words if word in vocabulary.persian]
    if len(persian) + len(months) > 1 and persian:
        return None
    if persian:
        return _persian_day(persian[0], items.numbers, setting)
    if months:
        return _day_of_month(vocabulary.months[next(iter(months))], items, vocabulary, setting)
    return None if items.numbers else _near_day(items, clock, vocabulary, setting)


def _months(items: _Items, vocabulary: DateWords, text: DateText) -> frozenset[str] | None:
    """Return the words that name the month, all the same one; None if several are named.

    What may be a weekday as well is one if there is another month, or a date in digits.
    """
    named = [word for word in items.words if word in vocabulary.months]
    is_known = text.numeric is not None or text.day is not None
    if len(named) + is_known > 1:
        plain = [word for word in named if word not in vocabulary.weekdays]
        named = plain if plain or is_known else named
    return frozenset(named) if len({vocabulary.months[word] for word in named}) <= 1 else None


def _weekdays(items: _Items, vocabulary: DateWords) -> set[int]:
    """Return the weekdays that words name; a word that may mean nothing names none, as the day in Japanese dates."""
    words = (word for word in items.words if word not in vocabulary.filler)
    return {vocabulary.weekdays[word] for word in words if word in vocabulary.weekdays}


def _in_digits(text: DateText, items: _Items, vocabulary: DateWords, setting: Setting) -> date | None:
    """Return the day that digits name, in the order of day and month that a weekday beside it agrees with."""
    if text.day is not None or text.numeric is None:
        return text.day
    language = setting.language or vocabulary.code
    days = [
        day
        for year, month, day_of_month in _orders(text.numeric, setting)
        if (day := date_parts.day_of(year, int(month), int(day_of_month), language, setting.latest)) is not None
    ]
    if setting.order is None:
        days = [day for day in days if day <= setting.latest] or days
    weekdays = _weekdays(items, vocabulary)
    if len(days) > 1 and len(weekdays) == 1 and days[0].weekday() not in weekdays and days[1].weekday() in weekdays:
        return days[1]
    return days[0] if days else None


def _orders(match: re.Match[str], setting: Setting) -> Iterator[tuple[str, str, str]]:
    """Yield year, month and day in each order that digits allow, the wanted one first."""
    first, separator, middle, last = match[1], match[2], match[3], match[4]
    if len(first) > 2:
        yield first, middle, last
        return
    usual = order_of(setting.language)
    if len(last) <= 2 == len(first):
        is_first = usual is not None and usual.fields == "ymd" and separator in usual.separators
        if setting.order == "ymd" or (setting.order is None and is_first):
            yield first, middle, last
            return
    if len(last) not in (2, 4):
        return
    month_first = setting.order == "mdy" or (
        setting.order is None and separator != "." and (usual is None or usual.fields == "mdy") and _is_known(setting)
    )
    orders = ((last, first, middle), (last, middle, first))
    yield from orders if month_first else reversed(orders)
    if int(first) > 31 and len(last) == 2:
        yield first, middle, last


def _is_known(setting: Setting) -> bool:
    """Return whether the order of a language can be told; where no language is known, English is the best guess."""
    return setting.language is None or order_of(setting.language) is not None


def _day_of_month(month: int, items: _Items, vocabulary: DateWords, setting: Setting) -> _Day | None:
    if len(items.numbers) == 1:
        weekdays = _weekdays(items, vocabulary)
        return _last_such(month, items.numbers[0].digits, weekdays, setting)
    if len(items.numbers) != 2:
        return None
    first, second = items.numbers
    year_first = len(first.digits) > 2 and first.digits[0] != "0"
    usual = order_of(vocabulary.code)
    if usual is not None and usual.fields == "ymd" and len(usual.separators) > 1 and len(second.digits) <= 2:
        year_first = year_first or (len(first.digits) == 2 and not first.behind_month)
    year, day = (first.digits, second.digits) if year_first else (second.digits, first.digits)
    if len(day) > 2:
        return None
    found = date_parts.day_of(year.lstrip("'"), month, int(day), setting.language or vocabulary.code, setting.latest)
    return None if found is None else _Day(found)


def _last_such(month: int, digits: str, weekdays: set[int], setting: Setting) -> _Day | None:
    """Return the last such day before now, one of the weekday if a weekday is named."""
    latest, day = setting.latest, int(digits) if digits.isdecimal() else 0
    years = (year for year in range(latest.year, latest.year - _YEARS_BACK, -1))
    days = [date(year, month, day) for year in years if 1 <= day <= monthrange(year, month)[1]]
    past = [each for each in days if each <= latest]
    fitting = [each for each in past if each.weekday() in weekdays] if len(weekdays) == 1 else []
    found = next(iter(fitting or past), None)
    return None if found is None else _Day(found, lacks_year=True)


def _persian_day(month: int, numbers: Sequence[_Number], setting: Setting) -> _Day | None:
    if len(numbers) == 1 and len(numbers[0].digits) <= 2 and numbers[0].digits.isdecimal():
        now = date_parts.persian_year(setting.now.date())
        days = (date_parts.persian(year, month, int(numbers[0].digits)) for year in range(now, now - _YEARS_BACK, -1))
        found = next((day for day in days if day is not None and day <= setting.latest), None)
        return None if found is None else _Day(found, lacks_year=True)
    if len(numbers) != 2:
        return None
    first, second = (each.digits.lstrip("'") for each in numbers)
    year, day = (first, second) if len(first) == 4 else (second, first)
    years = (year,) if len(year) == 4 else tuple(f"{century}{year}" for century in (13, 14)) if len(year) == 2 else ()
    named = [date_parts.persian(int(each), month, int(day)) for each in years if len(day) <= 2]
    past = [each for each in named if each is not None and each <= setting.latest]
    likely = [each for each in past if len(year) == 4 or each.year >= date_parts.FIRST_OF_WEB]
    return _Day(likely[0]) if len(likely) == 1 else None


def _near_day(items: _Items, clock: time | None, vocabulary: DateWords, setting: Setting) -> _Day | None:
    """Return the day that a word like yesterday names, or a weekday with a time: the last one before now."""
    today = setting.now.date()
    offsets = [vocabulary.days[word] for word in items.words if word in vocabulary.days]
    if len(offsets) == 1:
        return _Day(today + timedelta(days=offsets[0]), relative=True)
    weekdays = [vocabulary.weekdays[word] for word in items.words if word in vocabulary.weekdays]
    if offsets or len(weekdays) != 1 or clock is None:
        return None
    back = (today.weekday() - weekdays[0]) % 7
    in_the_future = back == 0 and clock.replace(tzinfo=None) > setting.now.time()
    return _Day(today - timedelta(days=7 if in_the_future else back), relative=True)


def _ago(items: _Items, vocabulary: DateWords, setting: Setting) -> DateReading | None:
    units = [vocabulary.units[word] for word in items.words if word in vocabulary.units]
    known = vocabulary.units.keys() | vocabulary.numbers | vocabulary.filler | vocabulary.ago
    if not known.issuperset(items.words) or any(not each.digits.isdecimal() for each in items.numbers):
        return None
    numbers = [int(each.digits) for each in items.numbers]
    if not numbers and len(units) == 1 and any(word in vocabulary.numbers for word in items.words):
        numbers = [1]
    if not units or len(numbers) != len(units):
        return None
    months = -sum(number * unit for number, unit in zip(numbers, units, strict=True) if unit < 0)
    seconds = sum(number * unit for number, unit in zip(numbers, units, strict=True) if unit > 0)
    finest = min(unit if unit > 0 else -unit * _MONTH for unit in units)
    moment = setting.now - relativedelta(months=months) - timedelta(seconds=seconds)
    return DateReading(_rounded(moment, finest), timed=finest < _DAY, relative=True, vague=finest >= _WEEK)


def _rounded(moment: datetime, unit: int) -> datetime:
    """Return a moment without what is finer than a unit of so many seconds, at most its day."""
    if unit >= _DAY:
        return moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit >= _HOUR:
        return moment.replace(minute=0, second=0, microsecond=0)
    return moment.replace(microsecond=0) if unit < _MINUTE else moment.replace(second=0, microsecond=0)
