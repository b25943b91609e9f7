"""Take apart what dates consist of: the words of all languages, years of other calendars, and times of day."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, time, timedelta, timezone, tzinfo
from functools import cache, cached_property
from pathlib import Path

_COLON = re.compile(r"(?<![\d.:])(\d{1,2})\s?[:h]\s?(\d{2})(?:[:.]\s?(\d{2})(?:[.,]\d{1,9})?)?(?!\d)")
_CJK = re.compile(r"(\d{1,2})\s?[时時點点시]\s?(?:(\d{1,2})\s?[分분](?:\s?(\d{1,2})\s?[秒초])?)?(?!\s?[間间간前전])")
_HOURS_AND_MINUTES = re.compile(r"(?<![\d.:])(\d{1,2})\s?h\s(\d{2})\s?min(?:\s(\d{2})\s?s\b)?")
_HOUR = re.compile(r"(?<![\d.:/-])(\d{1,2})()()(?=\s?[ap]\.?\s?m\b)")
_SAID = re.compile(r"\b(?:klo|kl\.?|um|ore|alle|om|pukul|jam)\s(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.])")
_POINT = re.compile(r"(?<![\d.:])(\d{1,2})\.(\d{2})(?:\.(\d{2}))?(?![\d.])")
_FULL_HOUR = re.compile(r"(?<![\d.:/-])(\d{1,2})()()\s?(?=(?:h|hs|uhr|uur|ч)(?!\w))")

SURE = (_HOURS_AND_MINUTES, _CJK, _COLON, _SAID, _HOUR)
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
    for pattern in patterns:
        if match := pattern.search(text):
            break
    else:
        return None, text
    hour, minute, second = [int(part or 0) for part in match.groups()]
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


FIRST_OF_WEB = 1990
"""No page tells of an earlier year in two digits of which the calendar is unknown."""

_PERSIAN_YEARS = range(1300, 1500)
_BUDDHIST_YEARS = range(2450, 2700)
_BUDDHIST, _MINGUO = 543, 1911
"""What is between the years of these calendars and those of the Gregorian one."""

_OF_PERSIAN = frozenset({"fa", "ps"})
_OF_MINGUO = frozenset({"zh-tw", "zh-hant-tw"})

_ERAS = {
    "明治": date(1868, 10, 23), "大正": date(1912, 7, 30), "昭和": date(1926, 12, 25), "平成": date(1989, 1, 8),
    "令和": date(2019, 5, 1),
}  # fmt: skip
"""The first days of the Japanese eras, as in the CLDR; the first day of one is the last of the one before."""
_INITIALS = {"m": "明治", "t": "大正", "s": "昭和", "h": "平成", "r": "令和"}
_ERA_DATE = re.compile(
    r"(?<!\w)(?:(明治|大正|昭和|平成|令和)|([mtshr])\.?)\s?(\d{1,2}|元)\s?[年./-]\s?(\d{1,2})\s?[月./-]\s?(\d{1,2})(?!\d)\s?日?"
)
_MINGUO_DATE = re.compile(
    r"(?:中[華华])?民[國国]\s?(\d{1,3}|元)\s?[年./-]\s?(\d{1,2})\s?[月./-]\s?(\d{1,2})(?!\d)\s?日?"
)
_NUMERALS = "零一二三四五六七八九"
_SPELLED = re.compile(r"[〇零一二三四五六七八九十]+(?=[年月日號号])")


def day_of(year: str, month: int, day: int, language: str | None, latest: date) -> date | None:
    """Return the day that a year in digits, a month and a day name, in the calendar that people of a language use.

    The calendar is that in which the year is one of the present, at most that of ``latest``. None if there is no such
    day, or if two digits of the year may stand for several years.
    """
    number, code = int(year), code_of(language)
    found: date | None
    if len(year) == 4:
        if number in _PERSIAN_YEARS:
            found = persian(number, month, day) if code in _OF_PERSIAN else None
        elif number in _BUDDHIST_YEARS and code == "th":
            found = _gregorian(number - _BUDDHIST, month, day)
        else:
            found = _gregorian(number, month, day)
        return found
    if len(year) == 3:
        found = _gregorian(number + _MINGUO, month, day) if (language or "").lower() in _OF_MINGUO else None
        return found if found is not None and found <= latest else None
    if len(year) != 2:
        return None
    usual = _gregorian(_full_year(number), month, day)
    others = [each for each in _of_other_calendars(number, month, day, language) if each is not None]
    if not others:
        return usual
    likely = [each for each in (usual, *others) if each is not None and date(FIRST_OF_WEB, 1, 1) <= each <= latest]
    return likely[0] if len(likely) == 1 else None


def _of_other_calendars(number: int, month: int, day: int, language: str | None) -> Iterator[date | None]:
    code = code_of(language)
    if code == "th":
        yield _gregorian(2500 + number - _BUDDHIST, month, day)
    elif code in _OF_PERSIAN:
        yield persian(1300 + number, month, day)
        yield persian(1400 + number, month, day)
    elif (language or "").lower() in _OF_MINGUO:
        yield _gregorian(number + _MINGUO, month, day)


def _full_year(year: int) -> int:
    """Read two digits as POSIX does: 69 to 99 are of the last century."""
    return year + (1900 if year >= 69 else 2000)


def _gregorian(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def persian(year: int, month: int, day: int) -> date | None:
    """Return the day of the Persian calendar (Solar Hijri), None if there is none.

    >>> persian(1399, 12, 30)
    datetime.date(2021, 3, 20)
    """
    # The library takes long to load, and most crawls meet no such date.
    from persiantools.jdatetime import JalaliDate  # noqa: PLC0415

    try:
        found: date = JalaliDate(year, month, day).to_gregorian()  # type: ignore[no-untyped-call]
        return found
    except ValueError:
        return None


def persian_year(moment: date) -> int:
    """Return the year of the Persian calendar that a day is in, or the one after it.

    >>> persian_year(date(2021, 3, 20))
    1400
    """
    return moment.year - 621


def era_date(text: str, language: str | None) -> tuple[re.Match[str], date | None] | None:
    """Find a day of a Japanese era or of the Minguo calendar, in the letters that ``plain_letters`` gives.

    Eras by their Latin initials (``h13.3.20``) are found in Japanese only. The day is None if it lies outside the era.

    >>> era_date("平成13年3月20日", None)[1], era_date("民國90年3月20日", None)[1]
    (datetime.date(2001, 3, 20), datetime.date(2001, 3, 20))
    """
    match = _MINGUO_DATE.search(text)
    if match:
        return match, _gregorian(_MINGUO + _first(match[1]), int(match[2]), int(match[3]))
    match = _ERA_DATE.search(text)
    if match is None or (match[2] and code_of(language) != "ja"):
        return None
    era = match[1] or _INITIALS[match[2]]
    begun = _ERAS[era]
    ended = min((each for each in _ERAS.values() if each > begun), default=date.max)
    found = _gregorian(begun.year - 1 + _first(match[3]), int(match[4]), int(match[5]))
    return match, found if found is not None and begun <= found <= ended else None


def _first(year: str) -> int:
    """Read the year of an era, the first of which has a name of its own."""
    return 1 if year == "元" else int(year)


def with_digits(text: str) -> str:
    """Return a text with digits for the Chinese numerals before year, month and day.

    >>> with_digits("二〇〇一年三月二十日")
    '2001年3月20日'
    """
    return _SPELLED.sub(lambda match: _digits(match[0]), text) if "月" in text else text


def _digits(numerals: str) -> str:
    numerals = numerals.replace("〇", "零")
    tens, ten, ones = numerals.partition("十")
    if not ten or len(tens) > 1 or len(ones) > 1:
        return "".join(str(_NUMERALS.find(each)) for each in numerals if each in _NUMERALS)
    return str(10 * (_NUMERALS.find(tens) if tens else 1) + (_NUMERALS.find(ones) if ones else 0))


TABLE = Path(__file__).with_name("date_words_cldr.txt")
"""What the Unicode CLDR knows; ``python -m benchmarks.date_words`` writes it."""

OWN = Path(__file__).with_name("date_words.txt")
"""What CLDR lacks, in the same form."""

SECOND, MINUTE, HOUR, DAY, WEEK = 1, 60, 3_600, 86_400, 604_800
MONTH, YEAR = -1, -12
"""Units of calendar months, which have no length in seconds: the number of months, negative."""

_UNITS = (SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR)

_ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
    0x0ED0, 0x0F20, 0x1040, 0x17E0, 0x1810,
)  # fmt: skip
"""The zeros of the scripts that have digits of their own; nine more digits follow each."""

_LETTERS_ALIKE = str.maketrans("ıłøđðيىك’ʼ‘`´−‐‑‒", "iloddییک'''''----")
_ALIKE = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)} | _LETTERS_ALIKE
"""Letters that are often written for one another, and digits of all scripts."""

_MARKS = re.compile(
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u093c\u09bc\u0a3c\u0abc\u0b3c\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+"
)
"""Accents, points of vowels and nuktas that are often left out, and characters without a width.

The vowels of Indic scripts and Thai stay: without them, January and March would be the same word.
"""

LETTER = r"(?:[^\W\d_]|[\u0900-\u0963\u0971-\u0dff\u0e00-\u0e2e\u0e30-\u0eff\u1000-\u109f\u1780-\u17d3\u17d7-\u17ff])"
WORD = re.compile(rf"{LETTER}+")
_TOKEN = re.compile(rf"\d+|{LETTER}+")

SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that put no space between words."""


def plain_letters(text: str) -> str:
    """Return the text in lower case, without accents, in compatibility form and with ASCII digits.

    >>> plain_letters("Février １４"), plain_letters("٢٠ مارس")
    ('fevrier 14', '20 مارس')
    """
    if text.isascii():
        return text.lower()
    decomposed = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", decomposed.translate(_ALIKE))


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text in the form in which they are compared, numbers without leading zeros.

    >>> tokens("à 09 h. p.m.")
    ['a', '9', 'h', 'p', 'm']
    """
    return [each.lstrip("0") or "0" if each[0].isdecimal() else each for each in _TOKEN.findall(plain_letters(text))]


@dataclass(frozen=True)
class DateWords:
    """One language's words and phrases, tokens of a phrase separated by one space.

    ``months`` and ``persian`` (those of the Persian calendar) count from 1, ``weekdays`` from 0 (Monday). ``days`` are
    offsets from today. ``units`` are lengths in seconds, or in months if negative. ``halves`` are the hours of parts of
    the day, from and before. ``numbers`` are number words, ``ago`` words mark a past time, ``filler`` words may
    accompany a date and mean nothing, ``now`` words mean the present.
    """

    code: str
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    persian: Mapping[str, int]
    days: Mapping[str, int]
    units: Mapping[str, int]
    halves: Mapping[str, tuple[int, int]]
    numbers: frozenset[str]
    ago: frozenset[str]
    filler: frozenset[str]
    now: frozenset[str]

    @cached_property
    def all(self) -> frozenset[str]:
        """Every word and phrase that has a meaning here; beginnings of names are none."""
        names = self.months, self.weekdays, self.persian, self.days, self.units, self.halves
        return frozenset().union(*names, self.numbers, self.ago, self.filler, self.now)

    @cached_property
    def beside(self) -> frozenset[str]:
        """Words that may accompany the numbers and the month of a date."""
        return frozenset(self.weekdays) | frozenset(self.days) | self.filler

    @cached_property
    def joined(self) -> Mapping[str, str]:
        """The words and phrases of scripts without spaces, by how they are written."""
        return {phrase.replace(" ", ""): phrase for phrase in self.all if SPACELESS.search(phrase)}

    @cached_property
    def lengths(self) -> Mapping[str, int]:
        """The most tokens of a phrase that begins with a token."""
        found: dict[str, int] = {}
        for phrase in self.all:
            first, *others = phrase.split(" ")
            found[first] = max(found.get(first, 1), 1 + len(others))
        return found

    def meaning(self, token: str) -> object:
        """Return a value that is the same for languages in which a token means the same; one in phrases is its own."""
        if self.lengths.get(token, 1) > 1 or token not in self.all:
            return self.code
        return (
            self.months.get(token),
            self.weekdays.get(token),
            self.days.get(token),
            self.units.get(token),
            self.halves.get(token),
            (token in self.persian, token in self.numbers),
            (token in self.ago, token in self.filler, token in self.now),
        )

    @cached_property
    def beginnings(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The months and the weekdays by the beginnings of their names that belong to one name alone."""
        return _beginnings(self.months, 3), _beginnings(self.weekdays, 2)

    @cached_property
    def widened(self) -> "DateWords":
        """The same words and the beginnings of names, which software abbreviates in its own way."""
        months, weekdays = self.beginnings
        return replace(self, months={**months, **self.months}, weekdays={**weekdays, **self.weekdays})


def _beginnings(names: Mapping[str, int], shortest: int) -> Mapping[str, int]:
    meanings: dict[str, set[int]] = {}
    for name, number in names.items():
        if name.isalpha() and not SPACELESS.search(name):
            for length in range(shortest, len(name)):
                meanings.setdefault(name[:length], set()).add(number)
    return {word: numbers.pop() for word, numbers in meanings.items() if len(numbers) == 1 and word not in names}


@dataclass(frozen=True, slots=True)
class Order:
    """How a language writes day, month and year in digits.

    ``separators`` are those after a year of two digits that comes first; another one tells nothing of the order.
    """

    fields: str
    separators: str = "./-"


@dataclass(frozen=True)
class _Table:
    groups: Mapping[str, Mapping[str, str]]
    """For each language its groups of words, as they are written in the files."""
    orders: Mapping[str, Order]
    """By language, and by language and region where that differs: ``fr``, ``fr-ca``."""


@cache
def _table() -> _Table:
    groups: dict[str, dict[str, str]] = {}
    orders: dict[str, Order] = {}
    for path in (TABLE, OWN):
        language = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            head, _, rest = line.partition(" ")
            if head.startswith("["):
                language = head[1:-1]
                groups.setdefault(language, {})
                orders |= _orders(language, rest.split())
            elif head and head != "#":
                groups[language][head] = f"{groups[language][head]};{rest}" if head in groups[language] else rest
    return _Table(groups, orders)


def _orders(language: str, written: Iterable[str]) -> Iterator[tuple[str, Order]]:
    for each in written:
        region, _, order = each.rpartition("=")
        name = f"{language}-{region.lower()}" if region else language
        yield name, Order(order[:3], order[3:] or "./-")


def languages() -> tuple[str, ...]:
    """Return the codes of the languages, English first."""
    return tuple(_table().groups)


_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "sh": "sr", "mo": "ro", "tl": "fil", "cmn": "zh", "yue": "zh"}


@cache
def code_of(language: str | None) -> str:
    """Return the code by which a language of HTML is known here: ``zh`` for ``zh-TW``; unknown ones stay.

    >>> code_of("nb-NO"), code_of(None)
    ('no', '')
    """
    first = re.split("[-_]", language or "")[0].lower()
    return _SAME.get(first, first)


@cache
def order_of(language: str | None) -> Order | None:
    """Return the order of day, month and year in a language, in its region if that is known; else None."""
    region = re.split("[-_]", (language or "").lower())[-1]
    orders = _table().orders
    return orders.get(f"{code_of(language)}-{region}") or orders.get(code_of(language))


@cache
def vocabulary(code: str) -> DateWords:
    """Return the words of a language; raise KeyError for an unknown one."""
    groups = _table().groups[code]
    return DateWords(
        code=code,
        months=_numbered(groups.get("M", ""), 1),
        weekdays=_numbered(groups.get("D", ""), 0),
        persian=_numbered(groups.get("P", ""), 1),
        days={word: -number for word, number in _numbered(groups.get("T", ""), 0).items()},
        units={word: _UNITS[number] for word, number in _numbered(groups.get("U", ""), 0).items()},
        halves=dict(_halves(groups.get("H", ""))),
        numbers=_words(groups.get("1", "")),
        ago=_words(groups.get("A", "")),
        filler=_words(groups.get("F", "")),
        now=_words(groups.get("N", "")),
    )


def _words(group: str) -> frozenset[str]:
    return frozenset(filter(None, re.split("[/;]", group)))


def _numbered(group: str, start: int) -> dict[str, int]:
    """Return words with their numbers; one that stands for several numbers is left out."""
    found: dict[str, set[int]] = {}
    for each in group.split(";"):
        for number, words in enumerate(each.split("|"), start):
            for word in filter(None, words.split("/")):
                found.setdefault(word, set()).add(number)
    return {word: numbers.pop() for word, numbers in found.items() if len(numbers) == 1}


def _halves(group: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield words with their hours, the longest part of the day last if a word stands for several."""
    parts = [each.partition(" ") for each in filter(None, re.split("[|;]", group))]
    hours = [(tuple(map(int, hours.split("-"))), words) for hours, _, words in parts]
    for (first, last), words in sorted(hours, key=lambda each: (each[0][1] - each[0][0]) % 24):
        yield from ((word, (first, last)) for word in words.split("/"))


@cache
def spoken() -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return for each word of a phrase the languages that know it, as a number with a bit for each of ``languages``.

    The second mapping is of words that begin a name of a month or a weekday.
    """
    whole: dict[str, int] = {}
    begun: dict[str, int] = {}
    for number, code in enumerate(languages()):
        words = vocabulary(code)
        bit = 1 << number
        for word in {word for phrase in words.all for word in phrase.split(" ")}:
            whole[word] = whole.get(word, 0) | bit
        for names in words.beginnings:
            for word in names:
                begun[word] = begun.get(word, 0) | bit
    return whole, begun


@cache
def spaceless() -> int:
    """Return the languages whose scripts put no space between words, as ``spoken`` gives them."""
    return sum(
        1 << number
        for number, code in enumerate(languages())
        if any(SPACELESS.search(word) for word in vocabulary(code).months)
    )
