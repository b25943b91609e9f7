"""The index of links between sites, which also counts pages by language, and the graph of the strongest sites.

Links and language of a page that a crawl analysed come from its metadata record; pages of imported archives are parsed
once. The index is derived from WARC files and may be deleted at any time.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

from lxml import etree

from aahcrawler.archive.record_access import exchange_in, metadata_in, read_in, rendered_in
from aahcrawler.archive.scanning import Member
from aahcrawler.captures.record_scan import Damage, ResponseRecord, scanned
from aahcrawler.crawls import is_import
from aahcrawler.derived_index import DerivedIndex, Source, opened_segment, segment_sources
from aahcrawler.layout import ARCHIVE, INDEXES, SITE_LINKS, WARC
from aahcrawler.metadata import LinkType, Metadata
from aahcrawler.page import Page
from aahcrawler.page.generic import language, links, main_content
from aahcrawler.segments import DamageError, no_link
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize, queue_of
from aahcrawler.wire.replay import PAGE_BYTES, replayed

_TABLES: Final = (
    """CREATE TABLE site (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, pages INTEGER NOT NULL, weight INTEGER NOT NULL
)""",
    """CREATE TABLE edge (
  source INTEGER NOT NULL, target INTEGER NOT NULL, n INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (source, target)
) WITHOUT ROWID""",
    """CREATE TABLE tally (
  crawl INTEGER NOT NULL, topic TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (crawl, topic, name)
) WITHOUT ROWID""",
)
_EDGE: Final = """
INSERT INTO edge VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n,
  first = min(first, excluded.first), last = max(last, excluded.last)
"""
_LED_TO: Final = frozenset({LinkType.PAGE, LinkType.REDIRECT})
_MAX_SITES: Final = 50_000
"""Sites whose numbers are kept in memory."""


@dataclass(frozen=True, slots=True)
class ReadResponse:
    """What the index needs of a response: whether it is a page, the sites it links to, its language (or empty)."""

    is_page: bool
    targets: frozenset[str]
    language: str = ""


class SiteLinks(DerivedIndex[ResponseRecord]):
    """The index of links between the sites of a crawl's folder: how many captures of one lead to another, and when.

    ``edge`` counts captures: ten links from one page to a site count once, and revisit records not at all, since their
    links are those of an earlier capture. ``site`` counts the pages of each site; its ``weight`` is the number of
    captures that lead from or to it. ``tally`` counts all pages (``captures``), and pages by ``language``. Captures
    that were taken down are not counted.
    """

    schema: ClassVar = _TABLES
    version: ClassVar = 1
    at_once: ClassVar = 25
    counted_under: ClassVar = f"{ARCHIVE}/"

    def __init__(self, crawl: Path) -> None:
        super().__init__(crawl / INDEXES / SITE_LINKS)
        self._crawl = crawl

    def sources(self) -> Iterator[Source]:
        """Yield the WARC files."""
        return segment_sources(self._crawl / ARCHIVE, WARC, self.counted_under)

    def entries(self, source: Source, begin: int) -> Iterator[tuple[ResponseRecord, int]]:
        """Yield the responses in a file. Raise ``DamageError`` at the end if some could not be read."""
        damaged: list[Damage] = []
        for each in scanned(source.path, begin, damaged.append):
            if isinstance(each, ResponseRecord):
                yield each, each.end
        if damaged:
            raise DamageError("; ".join(f"at byte {each.offset}: {each.reason}" for each in damaged[:3]))

    def begin(self) -> None:
        """Start a batch with empty counts."""
        self._edges: dict[tuple[int, int], list[int]] = {}
        self._pages: Counter[int] = Counter()
        self._languages: Counter[str] = Counter()
        self._ids: dict[str, int] = {}
        self._names = dict(self.base.execute("SELECT id, name FROM segment"))
        self._taken_down = TakenDown.of(self._crawl)
        self._reads_pages = is_import(self._crawl)

    def put(self, entry: ResponseRecord, source: int, place: int) -> None:  # noqa: ARG002
        """Add a response; revisit records are skipped."""
        url = canonicalize(entry.url) or entry.url
        if entry.is_revisit or entry.method != "GET" or self._taken_down.covers(url):
            return
        site = queue_of(url)
        found = self._read(entry, self._names[source]) if site else None
        if found is None or not (found.is_page or found.targets):
            return
        number = self._id(site)
        if found.is_page:
            self._pages[number] += 1
            self._languages[found.language] += 1
        for name in found.targets - {site, ""}:
            edge = self._edges.setdefault((number, self._id(name)), [0, entry.at, entry.at])
            edge[:] = edge[0] + 1, min(edge[1], entry.at), max(edge[2], entry.at)

    def settle(self) -> None:
        """Write the counts of the batch to the index."""
        self.base.executemany(_EDGE, [(*key, *edge) for key, edge in self._edges.items()])
        weights: Counter[int] = Counter()
        for (source, target), (n, _, _) in self._edges.items():
            weights[source] += n
            weights[target] += n
        sites = [(self._pages[number], weights[number], number) for number in self._pages.keys() | weights.keys()]
        self.base.executemany("UPDATE site SET pages = pages + ?, weight = weight + ? WHERE id = ?", sites)
        rows = [("captures", "", self._pages.total()), *(("language", name, n) for name, n in self._languages.items())]
        self.base.executemany(
            "INSERT INTO tally VALUES (1, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n", rows
        )

    def _read(self, response: ResponseRecord, segment: str) -> ReadResponse | None:
        with opened_segment(self._crawl / segment) as file:
            if response.metadata is not None:
                said = read_in(Member(file, response.metadata), metadata_in, response.id)
                if said is not None:
                    return _said(response, said)
            if not self._reads_pages:
                return None
            if response.location:
                return ReadResponse(is_page=False, targets=frozenset({queue_of(response.location)}))
            exchange = (
                read_in(Member(file, response.begin), exchange_in, response.id) if response.status == 200 else None
            )
            if exchange is None:
                return None
            with closing(exchange):
                document = None
                if response.document is not None:
                    document = read_in(Member(file, response.document), rendered_in, response.id)
                page = replayed(replace(exchange, rendered=document), PAGE_BYTES)
        return None if page is None or not page.is_html else _on_page(page)

    def _id(self, name: str) -> int:
        known = self._ids.get(name)
        if known is None:
            if len(self._ids) >= _MAX_SITES:
                self._ids.clear()
            self.base.execute("INSERT OR IGNORE INTO site (name, pages, weight) VALUES (?, 0, 0)", (name,))
            row = self.base.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
            known = self._ids[name] = int(row[0])
        return known


def _said(response: ResponseRecord, said: Metadata) -> ReadResponse:
    is_page = response.status < 300 and not said.source and bool(said.links or said.language or said.title)
    targets = frozenset(queue_of(link.url) for link in said.links if link.type in _LED_TO)
    return ReadResponse(is_page, targets, said.language or "")


def _on_page(page: Page) -> ReadResponse:
    """Return the sites that a page links to, and the language detected in its text, else the one that it declares."""
    targets = page.attempt("links", lambda: {queue_of(link.url) for link in links(page)}, set[str])
    declared = (page.language or "")[:2]
    told = page.attempt("language", lambda: language(main_content(page), declared), lambda: None)
    return ReadResponse(
        is_page=True, targets=frozenset(targets), language=told or (declared if declared.isalpha() else "")
    )


def day(at: int) -> str:
    """Return the date of a time in microseconds since 1970, in UTC.

    >>> day(1_330_000_000_000_000)
    '2012-02-23'
    """
    return datetime.fromtimestamp(at / 1e6, UTC).date().isoformat()


GRAPHML: Final = "http://graphml.graphdrawing.org/xmlns"
GEXF: Final = "http://gexf.net/1.3"
_SITES: Final = "SELECT name, pages FROM site ORDER BY name"
_EDGES: Final = """
SELECT source.name, target.name, n, first, last FROM edge
JOIN site AS source ON source.id = edge.source JOIN site AS target ON target.id = edge.target
ORDER BY source.name, target.name
"""
_STRONGEST: Final = "SELECT name FROM site WHERE weight > 0 ORDER BY weight DESC, name LIMIT ?"


@dataclass(frozen=True, slots=True)
class Edge:
    """The captures of one site that lead to another; ``first`` and ``last`` are dates in UTC, empty if unknown."""

    source: str
    target: str
    captures: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class StrongestSites:
    """The sites with the most links from and to other sites, the strongest first, and the links between them.

    ``sites`` is the number of all sites that have such links.
    """

    names: tuple[str, ...] = ()
    links: tuple[Edge, ...] = ()
    sites: int = 0


def strongest_names(base: sqlite3.Connection, most: int) -> tuple[str, ...]:
    """Return the names of the ``most`` strongest sites."""
    return tuple(str(name) for (name,) in map(tuple, base.execute(_STRONGEST, (most,))))


def strongest(base: sqlite3.Connection, most: int) -> StrongestSites:
    """Return the ``most`` strongest sites, with the links between them."""
    names = strongest_names(base, most)
    places = {name: place for place, name in enumerate(names)}
    marks = ", ".join("?" * len(names))
    between = _EDGES.replace("ORDER", f"WHERE source.name IN ({marks}) AND target.name IN ({marks}) ORDER")
    edges = [_edge(row) for row in map(tuple, base.execute(between, (*names, *names)))]
    edges.sort(key=lambda edge: (places[edge.source], places[edge.target]))
    sites = base.execute("SELECT count(*) FROM site WHERE weight > 0").fetchone()[0]
    return StrongestSites(names, tuple(edges), sites)


def _edge(row: tuple[str, str, int, int | None, int | None]) -> Edge:
    first, last = ("" if at is None else day(at) for at in row[3:])
    return Edge(row[0], row[1], row[2], first, last)


def write_graph(base: sqlite3.Connection, path: Path) -> tuple[int, int]:
    """Write the whole graph to a ``.graphml`` or ``.gexf`` file; return the number of sites and of links.

    The weight of a link is its number of captures; it also has the dates of the first and the last of them. Nodes are
    sorted by name. Raise ``ValueError`` for another extension, and ``OSError``.
    """
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path}: name a file that ends with .graphml or .gexf")
    with open(path, "wb", opener=no_link) as file:
        counts = write(base, file)
    return counts["node"], counts["edge"]


def _nodes(base: sqlite3.Connection) -> Iterator[tuple[str, int]]:
    return ((str(name), int(pages)) for name, pages in base.execute(_SITES))


@dataclass(frozen=True, slots=True)
class NodeValues:
    """An additional attribute of GraphML nodes: its name and type, and its values by node name."""

    name: str
    type: str
    values: Mapping[str, str]


def write_graphml(base: sqlite3.Connection, file: BinaryIO, more: Sequence[NodeValues] = ()) -> Counter[str]:
    """Write the whole graph as GraphML; return the number of nodes (``node``) and of links (``edge``)."""
    keys = (
        ("label", "node", "string"),
        ("pages", "node", "long"),
        *((each.name, "node", each.type) for each in more),
        ("weight", "edge", "long"),
        ("first", "edge", "string"),
        ("last", "edge", "string"),
    )
    counts: Counter[str] = Counter()
    with etree.xmlfile(file, encoding="utf-8") as out, ExitStack() as stack:
        out.write_declaration()
        stack.enter_context(out.element("graphml", xmlns=GRAPHML))
        for name, of, kind in keys:
            out.write(etree.Element("key", {"id": name, "for": of, "attr.name": name, "attr.type": kind}))
        stack.enter_context(out.element("graph", edgedefault="directed"))
        for name, pages in _nodes(base):
            told = {each.name: each.values[name] for each in more if name in each.values}
            out.write(_with_data("node", {"id": name}, {"label": name, "pages": str(pages), **told}))
            counts["node"] += 1
        for row in map(tuple, base.execute(_EDGES)):
            edge = _edge(row)
            told = {"weight": str(edge.captures), "first": edge.first, "last": edge.last}
            out.write(_with_data("edge", {"source": edge.source, "target": edge.target}, told))
            counts["edge"] += 1
    return counts


def _with_data(tag: str, attributes: dict[str, str], told: dict[str, str]) -> etree._Element:
    element = etree.Element(tag, attributes)
    for key, value in told.items():
        etree.SubElement(element, "data", key=key).text = value
    return element


def _gexf(base: sqlite3.Connection, file: BinaryIO) -> Counter[str]:
    counts: Counter[str] = Counter()
    with etree.xmlfile(file, encoding="utf-8") as out, ExitStack() as stack:
        out.write_declaration()
        stack.enter_context(out.element("gexf", xmlns=GEXF, version="1.3"))
        stack.enter_context(out.element("graph", defaultedgetype="directed"))
        for of, attributes in (("node", (("pages", "integer"),)), ("edge", (("first", "string"), ("last", "string")))):
            declared = etree.Element("attributes", {"class": of})
            for name, kind in attributes:
                etree.SubElement(declared, "attribute", id=name, title=name, type=kind)
            out.write(declared)
        with out.element("nodes"):
            for name, pages in _nodes(base):
                out.write(_with_values("node", {"id": name, "label": name}, {"pages": str(pages)}))
                counts["node"] += 1
        with out.element("edges"):
            for number, row in enumerate(map(tuple, base.execute(_EDGES))):
                edge = _edge(row)
                ends = {"id": str(number), "source": edge.source, "target": edge.target, "weight": str(edge.captures)}
                out.write(_with_values("edge", ends, {"first": edge.first, "last": edge.last}))
                counts["edge"] += 1
    return counts


def _with_values(tag: str, attributes: dict[str, str], told: dict[str, str]) -> etree._Element:
    element = etree.Element(tag, attributes)
    values = etree.SubElement(element, "attvalues")
    for name, value in told.items():
        etree.SubElement(values, "attvalue", {"for": name, "value": value})
    return element


_WRITERS: Final[dict[str, Callable[[sqlite3.Connection, BinaryIO], Counter[str]]]] = {
    ".graphml": write_graphml,
    ".gexf": _gexf,
}
