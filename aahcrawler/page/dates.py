"""Read dates as people and machines write them. A text that is not wholly a date gives None."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo

from lxml.etree import _Element as Element

from aahcrawler.page import date_parts
from aahcrawler.page.date_grammar import CLOCK_MARK, DAY_MARK, DateReading, DateText, InLanguage, Setting, read_in
from aahcrawler.page.date_parts import SPACELESS, WORD, code_of, languages, plain_letters, spaceless, spoken, vocabulary

Order = Literal["dmy", "mdy", "ymd"]

TOLERANCE = timedelta(days=1)
"""The time by which a date may lie after the capture, since its zone may not be known."""

EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
"""What is before is no date of the web, but what software writes where it knows none: 0001-01-01, 1970-01-01."""

LACKS_YEAR = "a day and a month, of the last year that had such a day"
"""What a date was inferred from that the page shows without a year."""

_MAX_YEARS_AHEAD = 30
MAX_LENGTH = 100
"""Text of more characters than this is no date."""


def parse(
    text: str,
    *,
    order: Order | None = None,
    zone: tzinfo | str | None = None,
    now: datetime,
    language: str | None = None,
    format: str | None = None,  # noqa: A002
    ahead: bool = False,
) -> datetime | None:
    """Return the moment that a text names as ``read_date`` does, None also if its year or its day would be a guess.

    >>> parse("01-14-2022, 01:18 PM", order="mdy", now=datetime(2022, 2, 1, tzinfo=UTC)).isoformat()
    '2022-01-14T13:18:00+00:00'
    >>> parse("May", now=datetime(2022, 2, 1, tzinfo=UTC)) is None
    True
    """
    found = read_date(text, order=order, zone=zone, now=now, language=language, format=format, ahead=ahead)
    return None if found is None or found.vague or found.lacks_year else found.moment


def read_date(
    text: str,
    *,
    order: Order | None = None,
    zone: tzinfo | str | None = None,
    now: datetime,
    language: str | None = None,
    format: str | None = None,  # noqa: A002
    ahead: bool = False,
) -> DateReading | None:
    """Return the date and time of a text, aware, and what of it is a guess; None if the text is not a date.

    Its offset from UTC is the one that the text names behind the time, so that its day is the day that the page shows.

    Formats are ISO 8601, RFC 2822, seconds and milliseconds since 1970 (10 and 13 digits), numeric dates, dates with
    the month in words, and relative ones (``Yesterday, 10:20 PM``, ``3 hours ago``), in the languages, the digits and
    the calendars that docs/dates.md names. Every word has to belong to the date or be one that accompanies dates; if a
    vertical bar, a guillemet or a bullet separates parts, exactly one part may be a date. A date without a time is
    midnight. A relative one is as exact as what it says: ``3 hours ago`` is a full hour, ``3 days ago`` a day.

    ``language`` (as in HTML: ``de``, ``en-gb``) decides what words mean; where the text is not of that language, all
    languages that know its words have to agree. ``order`` decides how to read 01/02/2022, else the language does;
    without either, 2022 first is year, month, day; with points, the day is first, with slashes and hyphens the month. A
    date that is impossible in that order, or whose weekday fits the other order, is read in the other one. ``zone`` (a
    tzinfo or an IANA name, UTC by default) applies if the text names none. ``now`` is aware.

    No date lies before ``EARLIEST``, nor after ``now`` by more than ``TOLERANCE`` unless it may lie ``ahead``. With
    ``format``, as for ``datetime.strptime``, nothing else is tried. An unknown zone name raises
    ``ZoneInfoNotFoundError``.
    """
    folded = " ".join(text[: 4 * MAX_LENGTH].split())
    if not folded or len(folded) > MAX_LENGTH:
        return None
    local = now.astimezone(ZoneInfo(zone) if isinstance(zone, str) else zone or UTC)
    setting = Setting(order, local, language)
    latest = now + (timedelta(days=366 * _MAX_YEARS_AHEAD) if ahead else TOLERANCE)
    try:
        found = (
            _read(folded, setting) if format is None else DateReading(datetime.strptime(folded, format))  # noqa: DTZ007
        )
        moment = None if found is None else _aware(found.moment, setting.zone)
    except (ValueError, OverflowError):
        return None
    if found is None or moment is None or not EARLIEST <= moment <= latest:
        return None
    return replace(found, moment=moment)


def _aware(moment: datetime, zone: tzinfo) -> datetime:
    """Return a date and time with its offset, else with that of ``zone``; ``UTC`` itself stands for no offset.

    Raise OverflowError if the result lies outside the years of UTC.
    """
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    offset = zoned.utcoffset()
    in_utc = zoned.astimezone(UTC)
    return in_utc.astimezone(timezone(offset)) if offset else in_utc


_ISO = re.compile(r"[12]\d{3}-\d{2}-\d{2}(?:[T ]\d{2}(?::?\d{2}){1,2}.*)?|[12]\d{7}T\d{4,6}.*", re.ASCII)
_ZONE_AGAIN = re.compile(r"(?<=[+-])(\d{2}):?(\d{2}) (?:[+-]?\1:?\2|UTC|GMT)$")
"""A zone that a template adds to a moment that was written with its own: ``10:30:00+00:00 +0000``."""
_EPOCH = re.compile(r"\d{10}|\d{13}", re.ASCII)
_RFC_2822 = re.compile(r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d{1,2}:\d{2}(?::\d{2})? (?:[+-]\d{4}|GMT|UT)")
_PARTED = re.compile(r"\s*[|»«•·—]\s*")


def _read(text: str, setting: Setting) -> DateReading | None:
    whole = _machine_date(text) or _human_date(text, setting)
    if whole is not None:
        return whole
    parts = [part for part in _PARTED.split(text) if part and part != text]
    found = [each for part in parts if (each := _machine_date(part) or _human_date(part, setting)) is not None]
    return found[0] if len(found) == 1 else None


def _machine_date(text: str) -> DateReading | None:
    """Return a date in a form of machines; years of other calendars are left to the form of people."""
    try:
        if _EPOCH.fullmatch(text):
            return DateReading(datetime.fromtimestamp(int(text) / (1000 if len(text) == 13 else 1), UTC))
        if _ISO.fullmatch(text):
            found = datetime.fromisoformat(_ZONE_AGAIN.sub(r"\1:\2", text))
        elif _RFC_2822.fullmatch(text):
            found = parsedate_to_datetime(text)
        else:
            return None
    except ValueError:
        return None
    is_usual = EARLIEST.year - 1 <= found.year < 2400 and date_parts.is_offset(found.utcoffset())
    return DateReading(found, timed=len(text) > len("2001-03-20")) if is_usual else None


_CJK_DATE = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})(?!\d)\s?[日일号號]?")
_NUMERIC = re.compile(r"(?<![\d.:])(\d{1,4})\s?([./-])\s?(\d{1,2})\s?\2\s?(\d{4}|\d{1,2})(?:\.(?!\d))?(?!\d|\2\d)")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er|ste|o|e)(?![\w'])")
_JOINED = re.compile(r"(?<=\d)t(?=\d)|(?<=-\d\d)\.(?=\d\d:\d\d)|(?<=[a-z./-]\d{4}):(?=\d\d:\d\d)")
_GLUED = re.compile(r"(?<=\d)(?=[ap]m\b)|(?<=\d)(?=z\b)")
_OF_ANY = "st nd rd th er ste o e t z h am pm a p m utc gmt"
_NEUTRAL = frozenset(_OF_ANY.split()) | date_parts.ZONE_NAMES
"""What may stand in a date of any language."""

_OF_THEIR_OWN = frozenset({"th", "fa", "ps", "zh", "ja", "ko", "hu", "mn", "lt", "eu"})
"""Languages with calendars, or an order of year and day, of their own."""

_MIN_LETTERS = 6
"""The letters that a word has at least that names a day alone, on a page of unknown language."""


def _human_date(text: str, setting: Setting) -> DateReading | None:
    plain = plain_letters(text)
    if not _may_be_date(plain):
        return None
    plain = _GLUED.sub(" ", _JOINED.sub(" ", _ORDINAL.sub("", plain)))
    plain = plain if plain.isascii() else date_parts.with_digits(plain)
    numeric, day, rest = _take_day(plain, setting)
    is_chinese = code_of(setting.language) == "zh"
    clock, left = date_parts.take(rest, date_parts.SURE, CLOCK_MARK, is_chinese=is_chinese)
    if clock is None and (numeric is not None or day is not None):
        clock, left = date_parts.take(rest, date_parts.LOOSE, CLOCK_MARK, is_chinese=is_chinese)
    found = _in_languages(DateText(left, numeric, day, clock), setting)
    if found is None and day is None and (clock is None or numeric is not None):
        # What looks like a date in digits, or like two numbers, may be a time with points beside a month in words.
        clock, left = date_parts.take(plain, date_parts.LOOSE, CLOCK_MARK, is_chinese=is_chinese)
        found = _in_languages(DateText(left, None, None, clock), setting) if clock is not None else None
        return None if found is None or found.lacks_year else found
    return found


def _may_be_date(plain: str) -> bool:
    """Return whether all words of a text are known in some language; this test costs much less than reading it."""
    whole, begun = spoken()
    return all(
        word in whole or word in begun or word in _NEUTRAL or SPACELESS.search(word) for word in WORD.findall(plain)
    )


def _take_day(text: str, setting: Setting) -> tuple[re.Match[str] | None, date | None, str]:
    """Take a date in digits: return its match if the order decides, else its day, and the rest of the text.

    Raise ValueError if it is no date.
    """
    is_chinese_or_japanese = not text.isascii() or code_of(setting.language) == "ja"
    of_era = date_parts.era_date(text, setting.language) if is_chinese_or_japanese else None
    if of_era is not None:
        match, day = of_era
    elif is_chinese_or_japanese and (found := _CJK_DATE.search(text)) is not None:
        match = found
        day = date_parts.day_of(match[1], int(match[2]), int(match[3]), setting.language, setting.latest)
    else:
        numeric = _NUMERIC.search(text)
        rest = text if numeric is None else f"{text[: numeric.start()]}{DAY_MARK}{text[numeric.end() :]}"
        return numeric, None, rest
    if day is None:
        raise ValueError(match[0])
    return None, day, f"{text[: match.start()]}{DAY_MARK}{text[match.end() :]}"


def _in_languages(text: DateText, setting: Setting) -> DateReading | None:
    """Read a text in the declared language, else in all others that know its words, which have to agree."""
    words = WORD.findall(text.rest)
    known = languages()
    own = code_of(setting.language)
    if not words:
        found = read_in(text, vocabulary(own if own in known else known[0]), setting)
        return None if found is None else found.reading
    exact, widened = _speakers(words)
    if own in known and widened >> known.index(own) & 1:
        found = read_in(text, vocabulary(own), setting) or read_in(text, vocabulary(own).widened, setting)
        if found is not None:
            return found.reading
    if len(words) == 1 and not _is_sure(text, is_declared=own in known):
        exact, widened = exact & 1, 0
    return _agreed(_readings(text, words, exact, setting, widen=False)) or _agreed(
        _readings(text, words, widened & ~exact, setting, widen=True)
    )


def _is_sure(text: DateText, *, is_declared: bool) -> bool:
    """Return whether a single word may name a day in a language that is not the page's, where it may be a name too.

    So it may with a number, and in another script. English is known everywhere.
    """
    has_numbers = text.numeric is not None or text.day is not None or text.clock is not None
    if has_numbers or any(map(str.isdecimal, text.rest)) or not text.rest.isascii():
        return True
    return not is_declared and len(text.rest.strip()) >= _MIN_LETTERS


def _speakers(words: list[str]) -> tuple[int, int]:
    """Return the languages that know all words, and those that know them or names that begin so, as bits."""
    whole, begun = spoken()
    exact = widened = -1
    for word in words:
        if SPACELESS.search(word):
            exact, widened = exact & spaceless(), widened & spaceless()
        else:
            exact &= whole.get(word, 0)
            widened &= whole.get(word, 0) | begun.get(word, 0)
    return exact, widened


def _readings(
    text: DateText, words: Sequence[str], speakers: int, setting: Setting, *, widen: bool
) -> Iterator[InLanguage]:
    """Yield what a text says in languages, once for those in which its words mean the same."""
    seen: set[object] = set()
    for number, code in enumerate(languages() if speakers else ()):
        if not speakers >> number & 1:
            continue
        spoken_here = vocabulary(code).widened if widen else vocabulary(code)
        same = code in _OF_THEIR_OWN or tuple(spoken_here.meaning(word) for word in words)
        if same is True or same not in seen:
            seen.add(same)
            found = read_in(text, spoken_here, setting)
            if found is not None:
                yield found


def _agreed(found: Iterator[InLanguage]) -> DateReading | None:
    """Return what all readings say; those that a weekday contradicts count only where there are no others."""
    readings = list(found)
    agreeing = [each.reading for each in readings if not each.contradicted] or [each.reading for each in readings]
    return agreeing[0] if len(set(agreeing)) == 1 else None


def may_be_relative(text: str) -> bool:
    """Return whether a text without a number may be a date, as "yesterday" is; to ask costs less than to read."""
    words = WORD.findall(plain_letters(text))
    whole, _ = spoken()
    return not _near_words().isdisjoint(words) and all(word in whole or SPACELESS.search(word) for word in words)


@lru_cache(maxsize=1)
def _near_words() -> frozenset[str]:
    """Return the words of which a date without any number has at least one: "yesterday", "ago", "now"."""
    phrases = (phrase for code in languages() for group in _near_groups(code) for phrase in group)
    return frozenset(word for phrase in phrases for word in phrase.split(" "))


def _near_groups(code: str) -> tuple[Iterable[str], ...]:
    words = vocabulary(code)
    return words.days, words.ago, words.now


MAX_ATTRIBUTE_LENGTH = 80
"""The most characters of an attribute that holds a date and nothing else."""

_PLAIN = ("title", "content")
"""Attributes in which a bare number is that of an article, an order or a telephone."""

_OF_TIME = re.compile(
    r"data-(?:[a-z]+-)*?(?:u?time|timestamp|unixtime|date|datetime|epoch|ts|livestamp|created|posted|published)(?:-[a-z]+)*"
)
_OF_OTHERS = re.compile(
    r"updat|modif|edit|chang|expir|until|end|start|begin|now|server|current|zone|format|joined|regist|dur"
)
"""What the name of an attribute has that tells of another moment, or of none."""


@lru_cache(maxsize=1_000)
def _is_of_time(name: str) -> bool:
    return name == "datetime" or (_OF_TIME.fullmatch(name) is not None and _OF_OTHERS.search(name) is None)


def date_attributes(element: Element) -> Iterator[tuple[str, str]]:
    """Yield the names and values of attributes that may hold a date, those made for machines first.

    Seconds and milliseconds since 1970 have as many digits as ``dates`` knows.
    """
    given = dict(element.items())
    if not given:
        return
    for name, told in given.items():
        if isinstance(name, str) and name[:4] in ("data", "date") and _is_of_time(name):
            value = told.strip()
            if _may_hold_date(value):
                yield name, f"0{value}" if value.isdecimal() and len(value) in (9, 12) else value
    for name in _PLAIN:
        plain = given.get(name)
        if plain and _may_hold_date(plain) and not plain.strip().isdecimal():
            yield name, plain


def _may_hold_date(value: str) -> bool:
    return 6 <= len(value) <= MAX_ATTRIBUTE_LENGTH and any(map(str.isdigit, value))
