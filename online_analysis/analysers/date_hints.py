"""Reads the date of publication of a linked page from its URL and its anchor."""

import calendar
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

_YEAR = r"((?:19[89]|20\d)\d)"
_SOME_YEAR = re.compile(_YEAR)
_MONTH = "(0?[1-9]|1[0-2])"
_DAY = "(0?[1-9]|[12][0-9]|3[01])"
_END = r"(?=[/?]|\.[a-z]{3,5}(?:\?|$)|$)"

_SEGMENTS = re.compile(rf"/{_YEAR}/{_MONTH}(?:/{_DAY})?{_END}")
_JOINED = re.compile(rf"(?<![0-9]){_YEAR}([-_.])(0[1-9]|1[0-2])\2(0[1-9]|[12][0-9]|3[01])(?![0-9])")
_MONTH_SEGMENT = re.compile(rf"/{_YEAR}[-_.](0[1-9]|1[0-2]){_END}")
_COMPACT = re.compile(rf"(?<![0-9a-z]){_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(?![0-9a-z])", re.IGNORECASE)
_QUERY_DIGITS = re.compile(rf"[?&]m={_YEAR}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])?(?![0-9])")
_QUERY_YEAR = re.compile(rf"[?&](?:year|y)={_YEAR}(?![0-9])")
_QUERY_MONTH = re.compile(rf"[?&](?:month|m|monthnum)={_MONTH}(?![0-9])")
_YEAR_SEGMENT = re.compile(rf"/{_YEAR}/(?=[^/?]*[a-z])", re.IGNORECASE)

_YEAR_FIRST = re.compile(
    rf"(?<![0-9A-Za-z.]){_YEAR}\s?[-/.年년]\s?{_MONTH}(?:\s?[-/.月월]\s?{_DAY})?(?![0-9A-Za-z]|\.[0-9])"
)
_YEAR_LAST = re.compile(rf"(?<![0-9A-Za-z.,]){_DAY}\s?([-/.])\s?{_DAY}\s?\2\s?{_YEAR}(?![0-9A-Za-z]|\.[0-9])")
_YEAR_ALONE = re.compile(rf"\s*{_YEAR}\s*")


def _plain(text: str) -> str:
    """Return text in small letters without accents."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(each for each in decomposed if not unicodedata.combining(each)))


_MONTH_NAMES = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sept oct nov dec",
    "januar februar marz april mai juni juli august sep oktober november dezember",
    "janner feber maerz apr mai juni juli aug sept okt nov dez",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "janv fevr mars avr mai juin juil aout sept oct nov dec",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "ene feb marzo abr mayo jun jul ago setiembre oct nov dic",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "gen febbr mar apr mag giu lug ago sett ott nov dic",
    "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "januari februari mars april maj juni juli augusti september oktober november december",
    "januar februar marts april maj juni juli august september oktober november december",
    "januar februar mars april mai juni juli august september oktober november desember",
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia",
    "ledna unora brezna dubna kvetna cervna cervence srpna zari rijna listopadu prosince",
    "ocak subat mart nisan mayıs haziran temmuz agustos eylul ekim kasım aralık",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    (
        "ιανουαριου φεβρουαριου μαρτιου απριλιου μαιου ιουνιου "
        "ιουλιου αυγουστου σεπτεμβριου οκτωβριου νοεμβριου δεκεμβριου"
    ),
    (
        "ιανουαριος φεβρουαριος μαρτιος απριλιος μαιος ιουνιος "
        "ιουλιος αυγουστος σεπτεμβριος οκτωβριος νοεμβριος δεκεμβριος"
    ),
)
"""The names of the months, a language a line, in small letters without accents."""

_MONTH_OF = {_plain(name): number for names in _MONTH_NAMES for number, name in enumerate(names.split(), 1)}
_NAME = f"({'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})" + r"\.?"
_NAMED = re.compile(
    rf"(?<![^\W_])(?:{_DAY}(?:st|nd|rd|th|er|º|\.)?\s+(?:(?:de|of)\s+)?)?{_NAME}"
    rf"(?:\s+{_DAY}(?:st|nd|rd|th)?,)?,?\s+(?:(?:de|del|of)\s+)?{_YEAR}(?![0-9])"
)
_MAX_ANCHOR_LENGTH = 300
_MAX_URL_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in UTC, both ends included: a day, a month or a year."""

    first: datetime
    last: datetime


def date_in_url(url: str) -> Span | None:
    """Return the date of publication that a URL names, None where it names none.

    >>> date_in_url("https://a.test/2024/05/storm").first.date().isoformat()
    '2024-05-01'
    """
    if len(url) > _MAX_URL_LENGTH or not _SOME_YEAR.search(url):
        return None
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    for pattern in (_SEGMENTS, _MONTH_SEGMENT, _COMPACT, _QUERY_DIGITS):
        found = pattern.search(target)
        if found and not _is_number_of_post(found, target):
            return _span(*found.groups())
    if found := _JOINED.search(target):
        return _span(found[1], found[3], found[4])
    if found := _QUERY_YEAR.search(target):
        month = _QUERY_MONTH.search(target)
        return _span(found[1], month[1] if month else None)
    found = _YEAR_SEGMENT.search(target)
    return _span(found[1]) if found else None


def date_in_anchor(anchor: str) -> Span | None:
    """Return the date that an anchor names, None where it names none with its year.

    ``05/06/2024`` may be in May or in June: it spans both days and all between them.

    >>> date_in_anchor("Der Sturm vom 17. Mai 2024").last.isoformat()
    '2024-05-17T23:59:59+00:00'
    """
    if len(anchor) > _MAX_ANCHOR_LENGTH or not _SOME_YEAR.search(anchor):
        return None
    anchor = anchor.lower() if anchor.isascii() else _plain(anchor)
    if found := _YEAR_FIRST.search(anchor):
        return _span(*found.groups())
    if found := _YEAR_LAST.search(anchor):
        return _either_order(found[1], found[3], found[4], day_first=found[2] == ".")
    if found := _NAMED.search(anchor):
        return _span(found[4], str(_MONTH_OF[found[2]]), found[1] or found[3])
    found = _YEAR_ALONE.fullmatch(anchor)
    return _span(found[1]) if found else None


def dates_in_text(text: str) -> Iterator[Span]:
    """Yield the days and months that a text names with their year, in no order; takes time linear in its length.

    >>> [each.first.date().isoformat() for each in dates_in_text("Seit dem 17. Mai 2024 und bis Juni 2024, seit 1999")]
    ['2024-05-17', '2024-06-01']
    """
    text = text.lower() if text.isascii() else _plain(text)
    spans = (
        *(_span(*found.groups()) for found in _YEAR_FIRST.finditer(text)),
        *(
            _either_order(found[1], found[3], found[4], day_first=found[2] == ".")
            for found in _YEAR_LAST.finditer(text)
        ),
        *(_span(found[4], str(_MONTH_OF[found[2]]), found[1] or found[3]) for found in _NAMED.finditer(text)),
    )
    yield from (each for each in spans if each is not None)


def _is_number_of_post(found: re.Match[str], target: str) -> bool:
    """Return whether a number is that of a post, not a month (``/t/the-storm/2019/12``: post 12 of topic 2019)."""
    if found.re is not _SEGMENTS or found[3] or found.end() < len(target):
        return False
    return len(found[2]) == 1 or "-" in target[: found.start()].rpartition("/")[2]


def _either_order(one: str, other: str, year: str, *, day_first: bool) -> Span | None:
    orders = ((other, one),) if day_first else ((other, one), (one, other))
    spans = [span for month, day in orders if int(month) <= 12 and (span := _span(year, month, day))]
    return Span(min(each.first for each in spans), max(each.last for each in spans)) if spans else None


def _span(year: str, month: str | None = None, day: str | None = None) -> Span | None:
    """Return the day, month or year with these numbers; None where it does not exist."""
    if month is None:
        return _between(datetime(int(year), 1, 1, tzinfo=UTC), 366 if calendar.isleap(int(year)) else 365)
    days = calendar.monthrange(int(year), int(month))[1]
    if day is None:
        return _between(datetime(int(year), int(month), 1, tzinfo=UTC), days)
    return _between(datetime(int(year), int(month), int(day), tzinfo=UTC), 1) if int(day) <= days else None


def _between(first: datetime, days: int) -> Span:
    return Span(first, first + timedelta(days=days, seconds=-1))
