"""The captured pages of a host by which rules are judged: some of each group of similar URLs, parsed on demand."""

import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Final

from lxml.html import HtmlElement

from aahcrawler.editor.drafting.address_groups import AddressGroup, address_groups
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.site_memory import Sites, site_of
from aahcrawler.objects.capture_statements import ObjectRow, read_statements
from aahcrawler.page import Page
from aahcrawler.page.generic import NumericDates
from aahcrawler.page_index import member_at
from aahcrawler.replay.capture_lookup import NoIndexError
from aahcrawler.replay.object_finding import ShownObject, find_objects
from aahcrawler.replay.recorded_responses import RecordedResponses
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of, resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject
from knowledge_base.model import KnowledgeBase

MAX_LINKS = 3_000
MAX_READ = 200
"""The most objects of one page by which rules are judged."""
FIELDS = ("title", "author", "date", "body")
MAX_OF_GROUP: Final = 20
MAX_PAGES: Final = 200
MAX_CAPTURES: Final = 20_000
"""The most captures of a host from which the sample is drawn, the newest ones."""
MAX_HOSTS: Final = 500
MAX_ADDED: Final = 60
"""The most pages besides those of the crawl that are kept, the last ones added."""
MAX_ADDED_BYTES: Final = 32 << 20
"""The most bytes of the bodies of added pages, which are kept unparsed."""
MAX_BYTES: Final = 256 << 20
"""The most bytes that all kept pages may take in memory, by estimate."""
MAX_JUDGED_BYTES: Final = 1_500_000
"""The most bytes of a page by which rules are judged; larger pages are hostile, or not for people."""
_WEIGHT: Final = 14
"""The estimated bytes of memory of a parsed page, for each byte of its source."""
_MIN_WEIGHT: Final = 100_000
_HTML: Final = ("text/html", "application/xhtml+xml")
_NEWEST: Final = """
SELECT id, url FROM capture INDEXED BY capture_at
WHERE site = ? AND status = 200 AND NOT is_requisite AND unchanged IS NULL ORDER BY at DESC, id DESC LIMIT ?
"""
_AT_ONCE: Final = 500
_COLUMNS: Final = (
    "segment, place, record, url, fetched_at, application, level, role, objects, media_type, is_page, unchanged"
)
_HOSTS: Final = """
SELECT substr(url, instr(url, '://') + 3, instr(substr(url, instr(url, '://') + 3), '/') - 1) AS host, count(*) AS n
FROM capture INDEXED BY capture_at WHERE status = 200 AND NOT is_requisite GROUP BY host ORDER BY n DESC, host LIMIT ?
"""


def page_links(page: Page) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the links of a page in document order, at most 3,000, with their URLs; empty for links to no page."""
    base = page.base_url
    for element in islice(page.tree.iter("a", "area"), MAX_LINKS):
        href = element.get("href")
        if href is not None:
            within = href.startswith(("#", "javascript:"))
            yield element, "" if within else resolve(base, href) or ""


class ReadBy(StrEnum):
    """The sources of what is known of a page's objects."""

    CRAWL = "the crawl"
    GENERIC = "generic reading"
    ENTRY = "the entry"
    NOBODY = "nobody"
    """No source has an object: whatever a rule finds there is neither right nor wrong."""


@dataclass(frozen=True, slots=True)
class ReadObject:
    """An object of a page; ``number`` counts from 0 in the order of the page. Unknown values are empty.

    ``inferred`` names the fields that no rule found, each with the source of its value.
    """

    number: int
    iri: str
    type: str
    title: str = ""
    author: str = ""
    date: str = ""
    body: str = ""
    inferred: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> ShownObject:
        """The object in the form in which it is searched for on a page."""
        return ShownObject(self.number, self.type, self.title, self.author, self.date, self.body)

    def value(self, name: str) -> str:
        """Return the value of one of the four fields that every object may have; empty for any other field."""
        return str(getattr(self, name)) if name in FIELDS else ""


@dataclass(frozen=True, slots=True)
class SampledReading:
    """The objects of a page, and the source of them."""

    objects: tuple[ReadObject, ...]
    by: ReadBy


def of_crawl(rows: Iterable[ObjectRow]) -> SampledReading:
    """Return the objects that a crawl recorded for a page."""
    objects = tuple(
        ReadObject(number, row.iri, row.type, row.title or "", row.author or "", row.date or "", row.body or "")
        for number, row in enumerate(rows)
        if number < MAX_READ
    )
    return SampledReading(objects, ReadBy.CRAWL if objects else ReadBy.NOBODY)


def of_web_objects(objects: Iterable[WebObject], by: ReadBy) -> SampledReading:
    """Return objects that have just been read, with their source."""
    found = tuple(
        ReadObject(
            number,
            each.iri,
            each.type,
            value_text(each.first("title")),
            value_text(each.first("author")),
            value_text(each.first("date")),
            value_text(each.first("body")),
            each.inferred,
        )
        for number, each in enumerate(objects)
        if number < MAX_READ
    )
    return SampledReading(found, by if found else ReadBy.NOBODY)


def read_generically(page: Page) -> SampledReading:
    """Return the objects of a page by generic reading, without the knowledge base."""
    found = ApplicationAwareHelper(KnowledgeBase(())).assist(page)
    return of_web_objects(found.objects, ReadBy.GENERIC)


def value_text(value: Value | None) -> str:
    """Return a value as text for people: the name of a person, a date in ISO 8601."""
    match value:
        case None:
            return ""
        case Person():
            return value.name
        case Reference():
            return value.url
        case datetime():
            return value.isoformat()
    return str(value)


@dataclass(frozen=True, slots=True)
class CapturedPage:
    """A captured page in the index. ``record`` is the id of its record.

    ``application``, ``level`` and ``role`` are what the crawl took the page for, empty if unknown. ``objects`` is the
    number of objects that the crawl recorded, and ``statements`` the segment and place of these. ``content``
    distinguishes added pages with the same id, such as those of two works; it is empty for a page of the crawl.
    """

    record: str
    url: str
    fetched_at: str
    application: str = ""
    level: str = ""
    role: str = ""
    objects: int = 0
    statements: tuple[str, int] = ("", 0)
    content: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What identifies a page among all that were captured or added."""
        return self.record, self.content


@dataclass(frozen=True)
class SampledPage:
    """A parsed page of a sample, with its recorded objects."""

    captured: CapturedPage
    page: Page
    reading: SampledReading

    @property
    def tree(self) -> HtmlElement:
        """The document element. Treat it as read-only."""
        return self.page.tree

    @cached_property
    def places(self) -> dict[int, HtmlElement]:
        """The elements of the objects that were found on the page, by the objects' numbers."""
        found = find_objects(self.tree, [each.shown for each in self.reading.objects])
        return {number: element for number, element in found.items() if isinstance(element, HtmlElement)}


@dataclass(frozen=True, slots=True)
class SampleGroup:
    """A group of similar URLs, their captured pages, and the pages that were drawn."""

    addresses: AddressGroup
    captured: tuple[CapturedPage, ...]
    drawn: tuple[CapturedPage, ...]


Load = Callable[[CapturedPage], Page | None]
Recorded = Callable[[CapturedPage], SampledReading]


@dataclass
class PageSample:
    """A sample of the pages of one host: at most 20 of each group of URLs and 200 in all, parsed on demand.

    Thread-safe. The memory for parsed pages is bounded. ``close`` drops all of them; whoever still uses the sample then
    gets pages that are not kept, and has to add again what the crawl does not have.
    """

    host: str
    groups: tuple[SampleGroup, ...]
    load: Load
    recorded: Recorded
    most_bytes: int = MAX_BYTES
    _kept: OrderedDict[tuple[str, str], tuple[int, SampledPage | None]] = field(default_factory=OrderedDict, repr=False)
    _added: OrderedDict[tuple[str, str], Page] = field(default_factory=OrderedDict, repr=False)
    _lock: RLock = field(default_factory=RLock, repr=False)
    _weight: int = 0
    _added_bytes: int = 0
    _sites: Sites = field(default_factory=Sites, repr=False)
    _is_closed: bool = False

    @cached_property
    def pages(self) -> tuple[CapturedPage, ...]:
        """All pages of the sample, group by group."""
        return tuple(page for group in self.groups for page in group.drawn)

    @cached_property
    def _group_of(self) -> dict[str, int]:
        return {page.record: number for number, group in enumerate(self.groups) for page in group.captured}

    @cached_property
    def _by_record(self) -> dict[str, CapturedPage]:
        return {page.record: page for group in self.groups for page in group.captured}

    def group_of(self, record: str) -> int | None:
        """Return the number of a page's group, None for a page that was not captured on this host."""
        return self._group_of.get(record)

    def captured(self, record: str) -> CapturedPage | None:
        """Return a captured page of the host by the id of its record, whether or not it was drawn."""
        return self._by_record.get(record)

    def add(self, record: str, page: Page) -> CapturedPage:
        """Add a page that the crawl does not have, such as one that was just fetched; it belongs to no group.

        If there are too many, the pages that were added first are dropped.
        """
        with self._lock:
            known = CapturedPage(record, page.url, page.fetched_at.isoformat(), content=_content(page))
            if known.key not in self._added:
                self._added[known.key] = replace(page)  # A copy has nothing parsed.
                self._added_bytes += len(page.body)
            self._added.move_to_end(known.key)
            self._by_record[record] = known
            while len(self._added) > MAX_ADDED or (self._added_bytes > MAX_ADDED_BYTES and len(self._added) > 1):
                self._forget_first()
            return known

    def _forget_first(self) -> None:
        """Drop the page that was added first."""
        key, page = self._added.popitem(last=False)
        self._added_bytes -= len(page.body)
        known = self._by_record.get(key[0])
        if known is not None and known.key == key:
            del self._by_record[key[0]]

    def sampled(self, captured: CapturedPage) -> SampledPage | None:
        """Return a parsed page; None if the archive cannot show it, or it is too large or not HTML."""
        with self._lock:
            known = self._kept.get(captured.key)
            if known is not None:
                self._kept.move_to_end(captured.key)
                return known[1]
            found = self._read(captured)
            if self._is_closed:
                return found
            weight = _MIN_WEIGHT if found is None else _MIN_WEIGHT + _WEIGHT * len(found.page.body)
            self._kept[captured.key] = weight, found
            self._weight += weight
            while self._weight > self.most_bytes and len(self._kept) > 1:
                self._weight -= self._kept.popitem(last=False)[1][0]
            return found

    def reading(self, captured: CapturedPage) -> SampledReading:
        """Return what is known of a page: what was read since it was parsed, or else what the crawl recorded.

        The page is not parsed for this.
        """
        with self._lock:
            known = self._kept.get(captured.key)
        return known[1].reading if known is not None and known[1] is not None else self.recorded(captured)

    def close(self) -> None:
        """Drop all pages, and keep none that is parsed from now on."""
        with self._lock:
            self._is_closed = True
            self._kept.clear()
            self._weight = 0
            while self._added:
                self._forget_first()

    def _taken_in(self, captured: CapturedPage) -> Page | None:
        page = self._added.get(captured.key)
        return replace(page) if page is not None else None

    def _read(self, captured: CapturedPage) -> SampledPage | None:
        page = self._taken_in(captured) if captured.content else self.load(captured)
        if page is None or not page.is_html or len(page.body) > MAX_JUDGED_BYTES:
            return None
        # Threads share the tree: two that parse at once would each have another one.
        page.tree.getroottree()
        dates = NumericDates(page)
        page = page.of_site(self._sites.date_order(page.url, dates.shown_order(), dates.implied_order()))
        reading = SampledReading((), ReadBy.NOBODY) if captured.content else self.recorded(captured)
        if reading.by is ReadBy.NOBODY and captured.role != "intermediate":
            reading = read_generically(page)
        return SampledPage(captured, page, reading)


def _content(page: Page) -> str:
    return hashlib.sha256(page.url.encode() + b"\n" + page.body).hexdigest()


def hosts(base: sqlite3.Connection) -> tuple[tuple[str, int], ...]:
    """Return the hosts of which a crawl captured pages, with the numbers of pages, the most first; at most 500."""
    found: dict[str, int] = {}
    for host, count in base.execute(_HOSTS, (MAX_HOSTS,)):
        name = str(host).removeprefix("www.")
        found[name] = found.get(name, 0) + int(count)
    return tuple(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def page_sample(crawl: Path, base: sqlite3.Connection, host: str) -> PageSample:
    """Draw the sample of a host from the index of a crawl's pages: evenly from each group, and always the same.

    ``base`` is only used during the call.
    """
    captured = _captured(base, host)
    archive = ArchivedPages(crawl)
    return PageSample(host, drawn(captured), archive.page, archive.reading)


def drawn(captured: Sequence[CapturedPage]) -> tuple[SampleGroup, ...]:
    """Return the groups of similar URLs with the pages drawn of each, the group with the most URLs first."""
    by_url = {page.url: page for page in captured}
    groups = address_groups(by_url)
    members = [tuple(by_url[url] for url in sorted(group.urls)) for group in groups]
    quotas = _quotas([len(pages) for pages in members])
    return tuple(
        SampleGroup(group, pages, tuple(pages[place * len(pages) // quota] for place in range(quota)))
        for group, pages, quota in zip(groups, members, quotas, strict=True)
    )


def _quotas(sizes: Sequence[int]) -> list[int]:
    """Return how many pages to draw of each group: one of each in turn, until the sample is full."""
    quotas = [0] * len(sizes)
    left = MAX_PAGES
    for _ in range(MAX_OF_GROUP):
        for number, size in enumerate(sizes):
            if left and quotas[number] < size:
                quotas[number] += 1
                left -= 1
    return quotas


def _captured(base: sqlite3.Connection, host: str) -> tuple[CapturedPage, ...]:
    """Return the newest capture of a page at each URL of a host, ordered by URL."""
    newest: dict[str, int] = {}
    for number, url in base.execute(_NEWEST, (queue_of(f"http://{host}/"), MAX_CAPTURES)):
        if site_of(url) == host:
            newest.setdefault(url, number)
    found = [page for page in _rows(base, newest.values()) if page is not None]
    return tuple(sorted(found, key=lambda page: page.url))


def _rows(base: sqlite3.Connection, numbers: Collection[int]) -> Iterable[CapturedPage | None]:
    segments = dict(map(tuple, base.execute("SELECT id, name FROM segment")))
    rest = iter(numbers)
    while several := tuple(islice(rest, _AT_ONCE)):
        places = ",".join("?" * len(several))
        for row in base.execute(f"SELECT {_COLUMNS} FROM capture WHERE id IN ({places})", several):  # noqa: S608
            if row["segment"] in segments:
                yield _page(row, segments[row["segment"]])


def _page(row: sqlite3.Row, segment: str) -> CapturedPage | None:
    if row["media_type"] not in _HTML or not row["is_page"] or row["unchanged"] is not None:
        return None
    return CapturedPage(
        record=row["record"],
        url=row["url"],
        fetched_at=row["fetched_at"],
        application=row["application"] or "",
        level=row["level"] or "",
        role=row["role"] or "",
        objects=row["objects"],
        statements=(segment, row["place"]),
    )


class ArchivedPages:
    """Reads captured pages from the archive of a crawl, and their objects from the crawl's statements."""

    def __init__(self, crawl: Path) -> None:
        self._crawl = crawl
        self._answers = RecordedResponses(crawl)

    def page(self, captured: CapturedPage) -> Page | None:
        """Return a page as it was read, None if the archive no longer has it."""
        moment = "".join(sign for sign in captured.fetched_at[:19] if sign.isdigit())
        try:
            answer = self._answers.nearest(captured.url, moment)
            if answer is None or answer.url != captured.url:
                return None
            return self._answers.page(answer, self._answers.document(answer))
        except (NoIndexError, OSError):
            return None

    def reading(self, captured: CapturedPage) -> SampledReading:
        """Return the objects that the crawl recorded for a page, none if its statements cannot be read."""
        if not captured.objects:
            return SampledReading((), ReadBy.NOBODY)
        try:
            stated = read_statements(member_at(self._crawl, *captured.statements))
        except (OSError, DamageError, ValueError):
            return SampledReading((), ReadBy.NOBODY)
        return of_crawl(stated.objects)
