"""Read the page of a wiki about an event: its text, the time of the event, and the pages to which it refers.

It reads HTML made by MediaWiki, saved from a browser or returned by its API (``action=parse``). The time comes from the
infobox: by the microformat hCalendar (``dtstart``), by ``time`` elements, or in words. What is not given is left out:
nothing here guesses.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from lxml.html import HtmlElement

from aahcrawler.page import Headers, Page
from aahcrawler.page.text import excerpt, plain_text
from aahcrawler.urls import canonicalize, resolve
from offline.enrichment.text_dates import TextDate, dates_in
from online_analysis.media_types import type_by_url

MAX_REFERENCES: Final = 5_000
"""How many pages of a list of references are read, in its order."""
MAX_ROWS: Final = 500
"""How many rows of an infobox are examined."""
_MAX_VALUE: Final = 500
"""How many characters of a row, or of a reference, are examined."""
_ONE_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)

_DATE_ROWS: Final = (
    "date dates when datum zeitpunkt zeitraum tag data fecha fechas quando quand période periode periodo período",
    "period дата даты коли dato tid aika ajankohta päivämäärä pvm dátum időpont tarih ημερομηνία datumi kuupäev",
    "datums tanggal ngày 日付 日期 日時 発生日 時間 时间 날짜 일시 วันที่ تاريخ التاريخ תאריך تاریخ तिथि দিন tarehe",
)
"""The names in infoboxes of the row with the date of an event, in the languages of the larger Wikipedias."""
_DATE_WORDS: Final = frozenset(word for words in _DATE_ROWS for word in words.split())
_ACCESSED: Final = re.compile(
    r"retrieved|accessed|archived|abgerufen|zugriff|archiv|consult|geraadpleegd|hämtad|hentet|läst|dostęp|viitattu|"
    r"citováno|hozzáférés|erişim|ανακτήθηκε|проверено|архив|дата обращения|accesso|acesso|閲覧|查閱|查阅|확인함",
    re.IGNORECASE,
)
"""Words before the day on which somebody read a reference, which is not its date."""
_BEFORE_DATE: Final = 40
_BOX: Final = "contains(@class, 'infobox') or contains(@class, 'infoboks') or contains(@class, 'sinottico')"
_DROPPED: Final = (
    f"descendant::*[{_BOX} or contains(concat(' ', @class, ' '), ' navbox ') or contains(@class, 'mw-editsection')"
    " or contains(@class, 'reflist') or contains(@class, 'references') or contains(@class, 'hatnote')"
    " or contains(@class, 'noprint') or contains(@class, 'metadata') or contains(@class, 'sistersitebox')"
    " or @id='toc' or @id='catlinks' or contains(@class, 'catlinks') or contains(@class, 'printfooter')"
    " or (self::sup and contains(@class, 'reference'))]"
)
_CONTENT: Final = (
    "//*[@id='mw-content-text']//*[contains(@class, 'mw-parser-output')]",
    "//*[contains(@class, 'mw-parser-output')]",
    "//*[@id='mw-content-text']",
    "//*[@id='bodyContent']",
)
"""Where a page of MediaWiki has its content: within its parser's output, or an element of older skins."""
_REFERENCE: Final = re.compile(r"\b(?:citation|references|reflist|refbegin)\b")
_NO_REFERENCE: Final = re.compile("infobox|infoboks|sinottico|navbox|catlinks")
_ITEMS: Final = frozenset({"cite", "li", "p", "dd"})
"""Elements that contain one reference."""
_NEAR: Final = 50
"""How many elements above a link, and within a reference, are examined: enough for anything that wikis write."""
_WIKIS: Final = re.compile(
    r"(?:^|\.)(?:wikipedia|wikimedia|wikidata|wiktionary|wikisource|wikinews|wikiquote|wikivoyage|mediawiki)\.org$"
)
_ARCHIVED: Final = re.compile(r"/(\d{8}|\d{14})(?:[a-z]{2}_)?/(https?://?.+)")
_MOMENT: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?\s?(Z|[+-]\d\d:?\d\d))?")
_CLOCK: Final = re.compile(r"(?<![\d:.])(\d{1,2})[:.h](\d{2})(?::(\d{2}))?(?![\d:.])\s?([ap]\.?\s?m\b)?", re.IGNORECASE)
_OFFSET: Final = re.compile(r"\b(?:UTC|GMT)\b(?:\s?([+\-−–])\s?(\d{1,2})(?::?(\d{2}))?)?")
_DASH: Final = re.compile(r"\s?[-–—]\s?|\s(?:to|until)\s")
_REVISION: Final = re.compile(r'"wgRevisionId":\s?(\d{1,15})\b|[?&]oldid=(\d{1,15})\b')
_IN_LANGUAGE: Final = re.compile(r"\(in [A-Z][a-z]+(?:[ ,](?:and )?[A-Z][a-z]+)*\)")


class EventPageError(Exception):
    """Raised for something that is not a wiki page; the message continues a sentence that begins with its name."""


@dataclass(frozen=True, slots=True)
class EventTime:
    """The time of an event, including both ends, aware and in UTC. ``source`` names where on the page it is given.

    Without a time of day the first day begins at 00:00:01 (Klein et al. 2018, section 3.2) and the last one ends at
    23:59:59; ``timed`` means that the first moment is given with its time of day and offset from UTC.
    """

    start: datetime
    end: datetime
    source: str
    timed: bool = False


@dataclass(frozen=True, slots=True)
class CitedPage:
    """A page to which the references of an event's page lead.

    ``url`` is canonical; if the reference leads to an archive, it is that of the archived page. ``published`` is the
    day of its publication and ``archived`` the moment of the archive's capture, None if the reference does not give
    them. ``other`` says why it is no HTML page in the language of the event's page, as far as the reference shows;
    empty if it is.
    """

    url: str
    published: date | None = None
    archived: datetime | None = None
    other: str = ""


@dataclass(frozen=True, slots=True)
class EventPage:
    """What the page of a wiki says about an event. ``revision`` is None, and texts are empty, if it does not give them.

    ``text`` has a line for each paragraph, without infobox, references and navigation. ``is_cited`` is False if the
    page has no list of references: then ``references`` are all links to other sites.
    """

    title: str
    url: str
    language: str
    revision: int | None
    text: str
    time: EventTime | None
    references: tuple[CitedPage, ...]
    is_cited: bool = True


def read_event_page(body: bytes, url: str = "") -> EventPage:
    """Read a page of a wiki, or a response of its API; ``url`` is that of the page if it is known.

    Takes time linear in the length. Raises ``EventPageError`` if there is no text.
    """
    markup, told = _markup(body)
    page = Page(
        url or "https://wiki.invalid/", 200, Headers((("Content-Type", "text/html"),)), markup, datetime.now(UTC)
    )
    tree = page.tree
    content = next((found for path in _CONTENT for found in tree.xpath(path)[:1]), tree if told else None)
    if content is None:
        raise EventPageError("is no page of MediaWiki; save the page itself, or the answer of action=parse")
    url = url or next(iter(tree.xpath("//link[@rel='canonical']/@href")), "")
    language = _language(tree, content, url)
    text = plain_text(content, tuple(content.xpath(_DROPPED)))
    if not text.strip():
        raise EventPageError("holds no text; save the page of the event itself")
    references, is_cited = _references(content, url, language)
    return EventPage(
        told.get("title") or _title(tree),
        url,
        language,
        told.get("revid") or _revision(markup),
        text,
        _time(content, language),
        references,
        is_cited,
    )


def _markup(body: bytes) -> tuple[bytes, Mapping[str, Any]]:
    """Return the HTML of what was saved, and the other fields of an API response."""
    if body.lstrip()[:1] != b"{":
        return body, {}
    try:
        parsed = json.loads(body)["parse"]
        text = parsed["text"]
        markup = text["*"] if isinstance(text, dict) else text
    except (ValueError, KeyError, TypeError, RecursionError):
        raise EventPageError("is JSON, but no answer of api.php?action=parse&prop=text|revid") from None
    if not isinstance(markup, str):
        raise EventPageError("is an answer of the API without the page's text; ask for action=parse&prop=text|revid")
    title, number = parsed.get("title"), parsed.get("revid")
    told = {"title": title if isinstance(title, str) else "", "revid": number if isinstance(number, int) else None}
    return f'<meta charset="utf-8">{markup}'.encode("utf-8", "replace"), told


def _title(tree: HtmlElement) -> str:
    heading = next(iter(tree.xpath("//*[@id='firstHeading'] | //h1")), None)
    if heading is not None:
        return excerpt(heading, _MAX_VALUE)
    title = next(iter(tree.iter("title")), None)
    return "" if title is None else re.split(r" [-–—] ", excerpt(title, _MAX_VALUE))[0]


def _language(tree: HtmlElement, content: HtmlElement, url: str) -> str:
    """Return the code of the page's language, given by its content, else by its document, else by the wiki's host."""
    declared = (content.get("lang"), tree.get("lang"), *content.xpath("ancestor::*/@lang"))
    host = urlsplit(url).hostname or ""
    wiki = host.partition(".")[0] if _WIKIS.search(host) else ""
    found = next(filter(None, declared), wiki).lower().partition("-")[0]
    return found if re.fullmatch("[a-z]{2,3}", found) else ""


def _revision(markup: bytes) -> int | None:
    found = _REVISION.search(markup.decode("utf-8", "replace"))
    return int(found[1] or found[2]) if found else None


def _time(content: HtmlElement, language: str) -> EventTime | None:
    """Return the time of the event in the first infobox with a date."""
    for box in content.xpath(f"descendant::*[{_BOX}]")[:10]:
        found = _of_microformat(box) or _of_rows(box, language)
        if found is not None:
            return found
    return None


def _of_microformat(box: HtmlElement) -> EventTime | None:
    starts, ends = (
        [moment for element in _classed(box, name) if (moment := _moment(element)) is not None]
        for name in ("dtstart", "dtend")
    )
    if not starts:
        return None
    return event_time(starts[0], ends[0] if ends else None, "the infobox (dtstart)")


def _classed(box: HtmlElement, name: str) -> Iterator[HtmlElement]:
    found: Sequence[HtmlElement] = box.xpath(f"descendant::*[contains(concat(' ', @class, ' '), ' {name} ')]")
    return islice(found, 10)


def _moment(element: HtmlElement) -> datetime | date | None:
    """Return the value of a microformat or a ``time`` element; a day if it has no time of day with a zone."""
    values = (element.get("datetime"), element.get("title"), excerpt(element, _MAX_VALUE))
    for found in (_MOMENT.search(value) for value in values if value):
        if found is None:
            continue
        try:
            if found[4]:
                return datetime.fromisoformat(found[0].replace(" ", "T", 1).replace(" ", "")).astimezone(UTC)
            return date(int(found[1]), int(found[2]), int(found[3]))
        except (ValueError, OverflowError):
            continue
    return None


def _of_rows(box: HtmlElement, language: str) -> EventTime | None:
    """Return the value of an infobox row named after dates, with the time of day from other rows."""
    rows = [tuple(row.xpath("th | td"))[:2] for row in islice(box.iter("tr"), MAX_ROWS)]
    told = [(excerpt(row[0], 60), row[1]) for row in rows if len(row) == 2]
    for name, value in told:
        if not names_date(name):
            continue
        source = f"the infobox, {name!r}"
        marked = [moment for each in islice(value.iter("time"), 10) if (moment := _moment(each)) is not None]
        if marked:
            return event_time(marked[0], marked[-1], source)
        text = excerpt(value, _MAX_VALUE)
        days = days_in(text, language)
        if days is None:
            continue
        clock = next(filter(None, (clock_in(excerpt(each, _MAX_VALUE), days[0]) for _, each in told)), None)
        return event_time(clock or days[0], days[1], source)
    return None


def names_date(name: str) -> bool:
    """Return whether a row or a parameter of an infobox is named after dates."""
    return not _DATE_WORDS.isdisjoint(re.findall(r"[^\W\d_]+", name.casefold()))


def days_in(text: str, language: str) -> tuple[date, date] | None:
    """Return the first and the last day of a date in words; None if it names no day.

    English leaves the year out before a dash: "May 30 – June 25, 2013".
    """
    found = [each for each in dates_in(text, language, None) if each.precision in ("day", "days")]
    if not found:
        return None
    first, last = found[0].first, _end(text, found)
    dash = _DASH.search(text[: found[0].start] + text[found[0].start : found[0].end])
    if dash is not None and found[0].precision == "day" and dash.end() <= found[0].start:
        with_year = dates_in(f"{text[: dash.start()]}, {first.year}", language, None)
        earlier = [each.first for each in with_year if each.precision == "day" and each.first < first]
        if earlier:
            return earlier[-1], first
    return (first, last) if first <= last else None


def _end(text: str, found: Sequence[TextDate]) -> date:
    """Return the last day of the first date, or of the second one if only a dash is between them."""
    if len(found) > 1 and _DASH.fullmatch(text[found[0].end : found[1].start]):
        return found[1].last
    return found[0].last


def clock_in(text: str, day: date) -> datetime | None:
    """Return the moment of a day if a text gives its time with the offset from UTC; else None."""
    clock, offset = _CLOCK.search(text), _OFFSET.search(text)
    if clock is None or offset is None:
        return None
    hour, half = int(clock[1]), (clock[4] or "")[:1].lower()
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour
    away = timedelta(hours=int(offset[2] or 0), minutes=int(offset[3] or 0)) * (1 if offset[1] in ("+", None) else -1)
    try:
        zone = timezone(away)
        return datetime(day.year, day.month, day.day, hour, int(clock[2]), int(clock[3] or 0), tzinfo=zone).astimezone(
            UTC
        )
    except (ValueError, OverflowError):
        return None


def event_time(start: datetime | date, end: datetime | date | None, source: str) -> EventTime | None:
    """Return the time from one day or moment to another, or of the first alone; None if they are in the wrong order."""
    timed = isinstance(start, datetime)
    first = start if isinstance(start, datetime) else _midnight(start) + _ONE_SECOND
    if end is None:
        end = start.date() if isinstance(start, datetime) else start
    last = end if isinstance(end, datetime) else _midnight(end) + _DAY - _ONE_SECOND
    return EventTime(first, max(first, last), source, timed) if first <= last or timed else None


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _references(content: HtmlElement, url: str, language: str) -> tuple[tuple[CitedPage, ...], bool]:
    """Return the pages to which references lead, each once, and whether the page has a list of references."""
    links: list[HtmlElement] = []
    cited: list[HtmlElement] = []
    around: dict[HtmlElement, list[HtmlElement]] = {}
    for link in content.iter("a"):
        if not _is_external(link.get("href") or ""):
            continue
        above = tuple(islice(link.iterancestors(), _NEAR))
        classes = " ".join(map(_classes, above))
        if _NO_REFERENCE.search(classes):
            continue
        item = next((each for each in above if each.tag in _ITEMS), link)
        around.setdefault(item, []).append(link)
        links.append(item)
        if _REFERENCE.search(classes) or any(each.tag == "cite" for each in above):
            cited.append(item)
    found: dict[str, CitedPage] = {}
    for item in dict.fromkeys(cited or links):
        if len(found) >= MAX_REFERENCES:
            break
        page = _cited(item, around[item], url, language)
        if page is not None:
            found.setdefault(page.url, page)
    return tuple(found.values()), bool(cited)


def _is_external(href: str) -> bool:
    if not href.lower().startswith(("http://", "https://", "//")):
        return False
    try:
        host = urlsplit(href).hostname or ""
    except ValueError:
        return False
    return bool(host) and not _WIKIS.search(host)


def _cited(citation: HtmlElement, links: Sequence[HtmlElement], base: str, language: str) -> CitedPage | None:
    """Return the page to which a reference leads: by its first link, or by one to an archive if it has no other."""
    original, archived = original_of([link.get("href") or "" for link in links], base)
    if original is None:
        return None
    fields = _coins(citation)
    other = _other(citation, links, fields, original, language)
    return CitedPage(original, _published(citation, fields, language), archived, other)


def original_of(links: Sequence[str], base: str) -> tuple[str | None, datetime | None]:
    """Return the page to which a reference's links lead, and when an archive captured it if one leads to an archive.

    The page is that of the first link, or the original of an archived copy if there is no other link.
    """
    original, archived = None, None
    for link in links:
        href = resolve(base or "https://wiki.invalid/", link) or ""
        copy = _ARCHIVED.search(href)
        if copy is None:
            original = original or (canonicalize(href) if _is_external(href) else None)
        else:
            archived = archived or _digits(copy[1])
            original = original or canonicalize(re.sub("^(https?:)/+", r"\1//", copy[2]))
    return original, archived


def _digits(digits: str) -> datetime | None:
    try:
        return datetime.strptime(digits.ljust(14, "0"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def _classes(element: HtmlElement) -> str:
    return element.get("class") or ""


def _coins(citation: HtmlElement) -> Mapping[str, Sequence[str]]:
    """Return the machine-readable fields of a reference (COinS: Z39.88 in the title of a hidden element)."""
    near = (*islice(citation.iter("span"), _NEAR), *islice(citation.itersiblings("span"), _NEAR))
    title = next((each.get("title") or "" for each in near if "Z3988" in _classes(each)), "")
    try:
        return parse_qs(title[:10_000], max_num_fields=100)
    except ValueError:
        return {}


def _published(citation: HtmlElement, fields: Mapping[str, Sequence[str]], language: str) -> date | None:
    """Return the day of publication that a reference gives, ignoring the day on which somebody read it."""
    inner = islice(citation.iter("span"), _NEAR)
    hidden = frozenset(each for each in inner if "accessdate" in _classes(each) or "Z3988" in _classes(each))
    return published_in((*fields.get("rft.date", ()), excerpt(citation, _MAX_VALUE, hidden)), language)


def published_in(texts: Iterable[str], language: str) -> date | None:
    """Return the first day in texts on a page, ignoring days on which somebody read something."""
    for text in texts:
        for each in dates_in(text, language, None):
            if each.precision == "day" and not _ACCESSED.search(text[max(0, each.start - _BEFORE_DATE) : each.start]):
                return each.first
    return None


def type_of_file(url: str) -> str:
    """Return the media type that a URL shows if that is not HTML, else an empty text."""
    media_type = type_by_url(url)
    return "" if media_type is None or media_type.endswith(("html", "xhtml+xml")) else media_type


def _other(
    citation: HtmlElement, links: Sequence[HtmlElement], fields: Mapping[str, Sequence[str]], url: str, language: str
) -> str:
    """Return why a reference leads to no HTML page in the language of its page; empty if it may."""
    if media_type := type_of_file(url):
        return media_type
    inner = tuple(islice(citation.iter("*"), _NEAR))
    marked = (each.get(name) for each in (*links[:_NEAR], *inner) for name in ("hreflang", "lang"))
    declared = (*marked, *fields.get("rft.language", ()))
    codes = {each.lower().partition("-")[0] for each in declared if each and re.fullmatch("[A-Za-z]{2,3}(-.*)?", each)}
    if codes and language and language not in codes:
        return f"in {sorted(codes)[0]}"
    if language == "en" and any("languageicon" in _classes(each) for each in inner):
        return "in another language"
    named = _IN_LANGUAGE.search(excerpt(citation, _MAX_VALUE)) if language == "en" else None
    return named[0].strip("()") if named and "English" not in named[0] else ""
