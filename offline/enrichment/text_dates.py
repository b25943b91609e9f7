"""Finds the dates that running text names: days, months, years and stretches of days.

The words of months, weekdays and "ago" are those by which pages are read (``aahcrawler.page.date_parts``, from the
Unicode CLDR). A date is what the words state: digits that may be of either order, weeks and months "ago" and years of
two digits are none. What counts from the day of publication is read only where that day is known.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from aahcrawler.page.date_parts import DAY, LETTER, DateWords, code_of, languages, order_of, plain_letters, vocabulary

_FIRST_YEAR, _LAST_YEAR = 1400, 2100
"""Numbers before and after these are more often something else."""
_MAX_FROM_PUBLICATION = 150
"""Days by which a day without a year may be away from publication; farther away, either of two years may be meant."""
_MIN_WEEKDAY = 4
"""Letters of the shortest name of a weekday: shorter ones are other words as well."""

_ALL = "*"


@cache
def _table() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return groups of words by language and name."""
    found: dict[str, dict[str, Sequence[str]]] = {}
    language = ""
    for line in Path(__file__).with_name("text_date_words.txt").read_text("utf-8").splitlines():
        name, *words = line.split()
        if name.startswith("["):
            language = name[1:-1]
            found[language] = {}
        elif name != "#":
            found[language][name] = words
    return found


def _group(name: str, code: str = _ALL) -> frozenset[str]:
    return frozenset(_table().get(code, {}).get(name, ()))


_OF, _TO, _AND, _BETWEEN = _group("of"), _group("to"), _group("and"), _group("between")
_ARTICLES, _BEFORE_DAY, _PREPOSITIONS = _group("article"), _group("before"), _group("on")
_TOKEN = re.compile(rf"\d+|{LETTER}+")
_GAP = re.compile(r"[.,]?[\s'’]{0,2}|[-/]")
_DASH = re.compile(r"\.?\s?[-–—]\s?")
_PLAIN_GAPS = re.compile(r"[^\n;:!?()]{1,20}")
_GOES_ON = re.compile(r"[-/%]|[.,:]\d")
_BEGUN = re.compile(r"\d[.,:]$")
_ISO = re.compile(r"(?<![\w.:/-])(\d{4})-(\d{2})-(\d{2})(?![\d-]|[.:]\d)")
_NUMERIC = re.compile(r"(?<![\w.,:/-])(\d{1,2})(\.\s?|[/-])(\d{1,2})\2(\d{4})(?![\w/-]|[.:,]\d)")
_CJK = re.compile(r"(?<!\d)(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월](?:\s?(\d{1,2})\s?[日号號일])?")


@dataclass(frozen=True, slots=True)
class TextDate:
    """A date that stands in a text, from ``start`` to ``end``: all days from ``first`` to ``last``.

    ``precision`` is ``day``, ``month``, ``year`` or ``days``. ``relative``: it counts from the day of publication.
    ``lacks_year``: the text names none, and the one nearest to publication is taken.
    """

    start: int
    end: int
    first: date
    last: date
    precision: str
    relative: bool = False
    lacks_year: bool = False

    @property
    def when(self) -> str:
        """The date as ISO 8601 writes it: ``2019-03-14``, ``2019-03``, ``2019``, ``2019-03-14/2019-03-17``."""
        if self.precision == "days":
            return f"{self.first}/{self.last}"
        return self.first.isoformat()[: {"day": 10, "month": 7, "year": 4}[self.precision]]


def dates_in(text: str, language: str, published: date | None) -> Sequence[TextDate]:
    """Return the dates of a text in their order, none of which overlap. Linear in the length of the text.

    ``language`` is a code of ISO 639-1; of one whose words are not known, only dates in digits are read. ``published``
    is None where the day of publication is not known.

    >>> [each.when for each in dates_in("Opened on 3 May 2019, closed last Tuesday.", "en", date(2020, 1, 8))]
    ['2019-05-03', '2020-01-07']
    >>> [each.when for each in dates_in("Vom 3. bis zum 7. Mai 2018 war zu.", "de", None)]
    ['2018-05-03/2018-05-07']
    """
    found = [*_in_digits(text, language), *_Reading(text, language, published).all()]
    kept: list[TextDate] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
    return kept


def accompanies(word: str, language: str) -> bool:
    """Return whether a word of a language stands beside dates and means nothing there: "on", "posted", "updated"."""
    return plain_letters(word) in _words(code_of(language)).filler


def published_day(published: str) -> date | None:
    """Return the day of a moment of ISO 8601, None where it names none."""
    try:
        return date.fromisoformat(published[:10]) if len(published) >= 10 else None
    except ValueError:
        return None


def _in_digits(text: str, language: str) -> Iterator[TextDate]:
    for match in _ISO.finditer(text):
        yield from _day(match.start(), match.end(), int(match[1]), int(match[2]), int(match[3]))
    for match in _NUMERIC.finditer(text):
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        if match[2].startswith(".") or one > 12 or one == other or _is_day_first(language):
            yield from _day(match.start(), match.end(), year, other, one)
        elif other > 12:
            yield from _day(match.start(), match.end(), year, one, other)
    for match in _CJK.finditer(text):
        year, month = int(match[1]), int(match[2])
        if match[3]:
            yield from _day(match.start(), match.end(), year, month, int(match[3]))
        else:
            yield from _month(match.start(), match.end(), year, month)


def _is_day_first(language: str) -> bool:
    """Return whether all regions of a language write the day first: those of English differ."""
    order = order_of(language)
    return order is not None and order.fields == "dmy" and code_of(language) != "en"


def _day(start: int, end: int, year: int, month: int, day: int) -> Iterator[TextDate]:
    """Yield the day, nothing where no calendar has it."""
    if _FIRST_YEAR <= year <= _LAST_YEAR:
        with suppress(ValueError):
            found = date(year, month, day)
            yield TextDate(start, end, found, found, "day")


def _month(start: int, end: int, year: int, month: int) -> Iterator[TextDate]:
    if _FIRST_YEAR <= year <= _LAST_YEAR and 1 <= month <= 12:
        last = date(year, month, monthrange(year, month)[1])
        yield TextDate(start, end, date(year, month, 1), last, "month")


@dataclass(frozen=True, slots=True)
class _Token:
    """A word or number in plain letters, as it stands in the text from ``start`` to ``end``."""

    plain: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of dates of one language."""

    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    days: Mapping[str, int]
    day_units: frozenset[str]
    ago: frozenset[str]
    filler: frozenset[str]
    last: frozenset[str]
    next: frozenset[str]
    numbers: Mapping[str, int]
    before_year: frozenset[str]
    behind_year: frozenset[str]
    month_first: bool
    year_first: bool
    months_are_names: bool
    """Whether months begin with a capital."""


_NO_WORDS: Final = DateWords("", {}, {}, {}, {}, {}, {}, *[frozenset[str]()] * 4)


@cache
def _words(code: str) -> _Words:
    known = vocabulary(code) if code in languages() else _NO_WORDS
    order = order_of(code)
    return _Words(
        known.months,
        {word: number for word, number in known.weekdays.items() if len(word) >= _MIN_WEEKDAY},
        {word: offset for word, offset in known.days.items() if offset < 0},
        frozenset(word for word, unit in known.units.items() if unit == DAY and len(word) > 1),
        known.ago,
        known.filler,
        _group("last", code),
        _group("next", code),
        {word: number for number, word in enumerate(_table().get(code, {}).get("number", ()), 1)},
        _group("year", code),
        _group("behind", code),
        order is not None and order.fields == "mdy",
        order is not None and order.fields == "ymd",
        code in ("en", "de", "lb"),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A date, and the numbers of its first and last token."""

    date: TextDate
    first: int
    last: int


class _Reading:
    """One text being read for dates in words."""

    def __init__(self, text: str, language: str, published: date | None) -> None:
        self._text = text
        self._published = published
        self._words = _words(code_of(language))
        self._tokens = [_Token(plain_letters(match[0]), match.start(), match.end()) for match in _TOKEN.finditer(text)]

    def all(self) -> Iterator[TextDate]:
        """Yield all dates; days without a year only where publication says which year is meant."""
        found = [each for at in range(len(self._tokens)) for each in [self._at(at)] if each is not None]
        number = 0
        while number < len(found):
            each = found[number].date
            if number + 1 < len(found) and (joined := self._joined(found[number], found[number + 1])) is not None:
                each = joined
                number += 1
            number += 1
            if not each.lacks_year or self._is_sure(each.last):
                yield each

    def _at(self, at: int) -> _Found | None:
        words, plain, published = self._words, self._plain(at), self._published
        if plain in words.months:
            return self._around_month(at, words.months[plain])
        if plain.isdecimal() and len(plain) == 4:
            return self._year(at)
        if published is None:
            return None
        if plain in words.weekdays:
            return self._near_weekday(at, words.weekdays[plain], published)
        if plain in words.days or f"{plain} {self._plain(at + 1)}" in words.days:
            return self._near_day(at, published)
        is_number = plain in words.numbers or (plain.isdecimal() and len(plain) < 4)
        return self._days_ago(at, published) if is_number and self._plain(at + 1) in words.day_units else None

    def _around_month(self, at: int, month: int) -> _Found | None:
        """Return the date of a month in words: with its day before or behind it, its year, or both."""
        if self._words.year_first:
            return self._dated(month, at, self._step(at, 1, is_year=False), self._step(at, -1, is_year=True))
        before = self._step(at, -1, is_year=False)
        behind = self._step(at, 1, is_year=False) if before is None and self._words.month_first else None
        if behind is None:
            return self._dated(month, at, before, self._step(at, 1, is_year=True))
        until = self._across(behind, 1)
        year = self._step(behind if until is None else until, 1, is_year=True)
        is_day = year is not None or until is not None or self._plain(at - 1) in _PREPOSITIONS
        return self._dated(month, at, behind, year, until) if is_day else None

    def _dated(self, month: int, at: int, day: int | None, year: int | None, until: int | None = None) -> _Found | None:
        """Return the date of a month, of a day or all days until another one, of a year; None if there is none."""
        places = [place for place in (at, day, year, until) if place is not None]
        first, last = min(places), max(places)
        start, end = self._tokens[first].start, self._tokens[last].end
        of_year = int(self._plain(year)) if year is not None else None
        if day is None:
            found = None if of_year is None else next(_month(start, end, of_year, month), None)
            return None if found is None else _Found(found, first, last)
        if of_year is None and self._words.months_are_names and not self._text[self._tokens[at].start].isupper():
            return None
        since = self._across(day, -1) if day == first else None
        days = [int(self._plain(place)) for place in (since, day, until) if place is not None]
        nearest = self._nearest_year(month) if of_year is None else of_year
        near = next(_day(0, 0, nearest, month, days[-1]), None)
        if near is None or (len(days) > 1 and days[0] >= days[-1]):
            return None
        first = first if since is None else since
        begins = near.first.replace(day=days[0])
        found = TextDate(
            self._tokens[first].start,
            end,
            begins,
            near.first,
            "day" if len(days) == 1 else "days",
            lacks_year=of_year is None,
        )
        return self._with_weekday(_Found(found, first, last))

    def _nearest_year(self, month: int) -> int:
        """Return the year in which a month is nearest to publication; a leap year where that is not known."""
        if self._published is None:
            return 2000
        ahead = month - self._published.month
        return self._published.year + (1 if ahead < -6 else -1 if ahead > 6 else 0)

    def _is_sure(self, day: date) -> bool:
        """Return whether a day without a year is near enough to publication to be of no other year."""
        return self._published is not None and abs((day - self._published).days) <= _MAX_FROM_PUBLICATION

    def _with_weekday(self, found: _Found) -> _Found | None:
        """Return a date with the weekday before it, None if another day of the week is named there."""
        before = found.first - 1
        if before > 0 and self._plain(before) in _ARTICLES and self._is_near(before):
            before -= 1
        weekday = self._words.weekdays.get(self._plain(before)) if self._is_near(before) else None
        if weekday is None:
            return found
        dated = replace(found.date, start=self._tokens[before].start)
        return _Found(dated, before, found.last) if found.date.first.weekday() == weekday else None

    def _near_weekday(self, at: int, weekday: int, published: date) -> _Found | None:
        back, ahead = (published.weekday() - weekday) % 7 or 7, (weekday - published.weekday()) % 7 or 7
        for first, word in ((at - 1, at - 1), (at, at + 1)):
            if self._is_near(first) and self._plain(word) in self._words.last:
                return self._relative(first, first + 1, published - timedelta(back))
            if self._is_near(first) and self._plain(word) in self._words.next:
                return self._relative(first, first + 1, published + timedelta(ahead))
        return None

    def _near_day(self, at: int, published: date) -> _Found | None:
        known, pair = self._words.days, f"{self._plain(at)} {self._plain(at + 1)}"
        is_end = f"{self._plain(at - 1)} {self._plain(at)}" in known
        if is_end or not _BEFORE_DAY.isdisjoint({self._plain(at - 1), self._plain(at - 2)}):
            return None
        if pair in known:
            return self._relative(at, at + 1, published + timedelta(known[pair]))
        return self._relative(at, at, published + timedelta(known[self._plain(at)]))

    def _days_ago(self, at: int, published: date) -> _Found | None:
        plain, words = self._plain(at), self._words
        day = published - timedelta(int(plain) if plain.isdecimal() else words.numbers[plain])
        if self._plain(at + 2) in words.ago and self._is_spaced(at + 1):
            return self._relative(at, at + 2, day)
        if at >= 3 and " ".join(self._plain(place) for place in range(at - 3, at)) in words.ago:
            return self._relative(at - 3, at + 1, day)
        is_ago = self._plain(at - 1) in words.ago and self._is_spaced(at - 1)
        return self._relative(at - 1, at + 1, day) if is_ago else None

    def _relative(self, first: int, last: int, day: date) -> _Found:
        start, end = self._tokens[first].start, self._tokens[last].end
        return _Found(TextDate(start, end, day, day, "day", relative=True), first, last)

    def _year(self, at: int) -> _Found | None:
        """Return a year that a word beside it says to be one."""
        token, words = self._tokens[at], self._words
        is_said = (self._plain(at - 1) in words.before_year and self._is_near(at - 1)) or (
            self._plain(at + 1) in words.behind_year and self._is_near(at)
        )
        year = int(token.plain)
        if not is_said or not _FIRST_YEAR <= year <= _LAST_YEAR or _GOES_ON.match(self._text, token.end):
            return None
        return _Found(TextDate(token.start, token.end, date(year, 1, 1), date(year, 12, 31), "year"), at, at)

    def _joined(self, one: _Found, other: _Found) -> TextDate | None:
        """Return the days from one date to the next where the words between them say so; the year may stand once."""
        first, last = one.date, other.date
        are_days = first.precision == last.precision == "day" and not first.relative and not last.relative
        if not are_days or not self._is_until(one.last, other.first, one.first):
            return None
        begins = first.first
        if first.lacks_year and not last.lacks_year:
            months = (begins.month, begins.day) <= (last.first.month, last.first.day)
            begun = next(_day(0, 0, last.first.year - (not months), begins.month, begins.day), None)
            if begun is None:
                return None
            begins = begun.first
        if begins >= last.first:
            return None
        return TextDate(first.start, last.end, begins, last.first, "days", lacks_year=last.lacks_year)

    def _across(self, at: int, direction: int) -> int | None:
        """Return the day of a month on the other side of a "to" or a dash from a number."""
        for far in (at + direction, at + 2 * direction, at + 3 * direction):
            plain = self._plain(far)
            if plain.isdecimal():
                is_day = len(plain) <= 2 and 1 <= int(plain) <= 31 and self._is_whole(far)
                one, other = min(at, far), max(at, far)
                return far if is_day and self._is_until(one, other, one) else None
        return None

    def _is_until(self, one: int, other: int, first: int) -> bool:
        """Return whether the words between two tokens say that the time from one to the other is meant.

        ``first`` is the token before which "between" stands, where they are joined by "and".
        """
        between = self._text[self._tokens[one].end : self._tokens[other].start]
        if other == one + 1:
            return _DASH.fullmatch(between) is not None
        words = [self._plain(number) for number in range(one + 1, other)]
        joining = [word for word in words if word not in _ARTICLES and word not in _OF - _TO]
        if len(words) > 3 or len(joining) != 1 or not _PLAIN_GAPS.fullmatch(between):
            return False
        is_between = not _BETWEEN.isdisjoint((self._plain(first - 1), self._plain(first - 2)))
        return joining[0] in _TO or (joining[0] in _AND and is_between)

    def _step(self, at: int, direction: int, *, is_year: bool) -> int | None:
        """Return the number of the nearest token, beyond words such as "of", that is a day or a year; else None."""
        for _ in range(3):
            gap = at if direction > 0 else at - 1
            at += direction
            plain = self._plain(at)
            if not plain or not self._is_near(gap) or (direction < 0 and self._text[self._tokens[at].end] == ","):
                return None
            if plain.isdecimal():
                is_wanted = len(plain) == 4 if is_year else len(plain) <= 2 and 1 <= int(plain) <= 31
                return at if is_wanted and self._is_whole(at) else None
            if plain not in _OF:
                return None
        return None

    def _is_whole(self, at: int) -> bool:
        """Return whether a number is not the end of a longer one: 1,950 or 7.50 or 12:30."""
        return _BEGUN.search(self._text[max(0, self._tokens[at].start - 2) : self._tokens[at].start]) is None

    def _plain(self, at: int) -> str:
        return self._tokens[at].plain if 0 <= at < len(self._tokens) else ""

    def _is_spaced(self, at: int) -> bool:
        return self._text[self._tokens[at].end : self._tokens[at + 1].start].isspace()

    def _is_near(self, at: int) -> bool:
        """Return whether only a point, a comma, a space or a hyphen stands between a token and the next one."""
        if not 0 <= at < len(self._tokens) - 1:
            return False
        return _GAP.fullmatch(self._text, self._tokens[at].end, self._tokens[at + 1].start) is not None
