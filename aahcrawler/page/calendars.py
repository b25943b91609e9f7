"""Turn years as people write them, of two digits or of another calendar, into days of the Gregorian calendar."""

import re
from collections.abc import Iterator
from datetime import date

from aahcrawler.page.datewords import code_of

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
    """Find a day of a Japanese era or of the Minguo calendar, in the plain letters that ``datewords`` gives.

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
