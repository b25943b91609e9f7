"""What crawls collected about events, and what collections of crawls, or all crawls, hold together."""

import io
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Unfinished
from contextlib import closing, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from pydantic import Field

from aahcrawler.crawl_collections import Collection, CollectionError, CollectionFile
from aahcrawler.layout import OBJECTS, REFUSED, SUMMARY
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.overview.archive_overview import CrawlChange, GatheredArchives, Holdings, changes, holdings
from aahcrawler.overview.link_graph import (
    NodeValues,
    SiteLinks,
    StrongestSites,
    strongest,
    strongest_names,
    write_graphml,
)
from aahcrawler.overview.overview_sections import STRONGEST, EventLine, is_collection
from aahcrawler.page_index import captures_in
from aahcrawler.report import ReportError, read_collection
from aahcrawler.report.event_collection import EventCollection, archive_of, relevance_course, sections
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.crawl_state import CrawlStates
from aahcrawler.service.views.page_indexes import Asked, PageIndexes
from aahcrawler.service.web.problems import NO_COLLECTION, Kind, ProblemError, Shown

NOT_COLLECTED: Final = Kind("not-collected", HTTPStatus.CONFLICT, "Nothing is collected yet")
PATIENCE: Final = 3.0
"""Seconds that a page waits for what is being read."""
BEST: Final = 6
"""Relevant pages that are listed, those with the best scores."""
MISSING: Final = 20
"""URLs that nobody has which are listed, the first ones."""
_MAX_KEPT: Final = 50

Lead = Callable[[PageRow], str]


@dataclass(frozen=True, slots=True)
class Collected:
    """The values that show a collection. ``sections`` are headings with HTML, in which page content is escaped.

    ``course`` is HTML, too: charts of relevance, or of pages if there is no subject. ``missing`` are the first of
    ``lacking`` URLs that no source had; ``best`` are the relevant pages with the best scores.
    """

    line: EventLine
    accumulated: float
    figures: Sequence[tuple[str, str]]
    course: str
    sections: Sequence[tuple[str, str]]
    best: Sequence[PageRow]
    missing: Sequence[str]
    lacking: int


class CollectedViews:
    """Reads collections, each again only when its folder has changed. Thread-safe."""

    def __init__(self) -> None:
        self._pool, self._lock = ThreadPoolExecutor(1, "collections"), Lock()
        self._made: OrderedDict[Path, tuple[object, Collected]] = OrderedDict()
        self._reading: dict[Path, Future[Collected]] = {}

    def of(self, crawl: Crawl, lead: Lead, patience: float = PATIENCE) -> tuple[Collected | None, bool]:
        """Return what a crawl collected, and whether it is up to date.

        None if it is still being read after ``patience`` seconds. Raise ``ProblemError`` if there is nothing to read.
        """
        folder = folder_of(crawl)
        state = _state(folder)
        with self._lock:
            known = self._made.get(folder)
            if known is not None and known[0] == state:
                self._made.move_to_end(folder)
                return known[1], True
            reading = self._reading.get(folder)
            if reading is None:
                reading = self._reading[folder] = self._pool.submit(self._read, folder, state, crawl, lead)
        try:
            return reading.result(patience), True
        except Unfinished:
            return (None if known is None else known[1]), False
        except ReportError as error:
            raise ProblemError(NOT_COLLECTED, str(error)) from error

    def lines(self, crawls: Iterable[Crawl], lead: Callable[[Crawl], Lead]) -> Sequence[tuple[Crawl, EventLine]]:
        """Return the lines of those crawls that are collections, as far as they have been read."""
        found: list[tuple[Crawl, EventLine]] = []
        until = monotonic() + PATIENCE
        for crawl in crawls:
            if crawl.folder is None or crawl.is_import or not is_collection(crawl.icd):
                continue
            with suppress(ProblemError):
                told, _ = self.of(crawl, lead(crawl), max(0.0, until - monotonic()))
                found += [] if told is None else [(crawl, told.line)]
        return found

    def close(self) -> None:
        """Start no more reading."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _read(self, folder: Path, state: object, crawl: Crawl, lead: Lead) -> Collected:
        try:
            made = collected(crawl, read_collection(folder), lead)
            with self._lock:
                self._made[folder] = state, made
                while len(self._made) > _MAX_KEPT:
                    self._made.popitem(last=False)
            return made
        finally:
            with self._lock:
                del self._reading[folder]


def folder_of(crawl: Crawl) -> Path:
    """Return the folder of a crawl. Raise ``ProblemError`` where this machine has none of it."""
    if crawl.folder is None:
        raise ProblemError(NOT_COLLECTED, "the crawl's folder is on another machine")
    return crawl.folder


def collection_of(crawl: Crawl) -> EventCollection:
    """Return what a crawl collected, as it is now. Raise ``ProblemError``."""
    try:
        return read_collection(folder_of(crawl))
    except ReportError as error:
        raise ProblemError(NOT_COLLECTED, str(error)) from error


def collected(crawl: Crawl, collection: EventCollection, lead: Lead) -> Collected:
    """Return what is shown of a collection; ``lead`` gives the addresses of captures."""
    best = sorted(collection.relevant, key=lambda row: -(row.score or 0.0))[:BEST]
    return Collected(
        EventLine.of(crawl.icd, collection),
        collection.accumulated,
        tuple(collection.figures.items()) if collection.is_archived else (),
        relevance_course(collection.pages),
        tuple(sections(collection, lead=lead)),
        best,
        collection.missing[:MISSING],
        len(collection.missing),
    )


def _state(folder: Path) -> object:
    """Return a value that changes whenever a file of the collection does."""
    files = [folder / SUMMARY, *sorted((folder / OBJECTS).glob("*")), *sorted((folder / REFUSED).glob("*"))]
    found = []
    for each in files:
        try:
            stat = each.stat()
        except OSError:
            continue
        found.append((each.name, stat.st_size, stat.st_mtime_ns))
    return tuple(found)


def graphml(collection: EventCollection) -> bytes:
    """Return the pages as GraphML, with an edge to each page from the one whose link led to it.

    Nodes have title, capture time, archive, depth, score and relevance, as far as known.
    """
    rows = {row.url: row for row in collection.pages}
    values: dict[str, tuple[str, Callable[[PageRow], object]]] = {
        "title": ("string", lambda row: row.title),
        "captured": ("string", lambda row: row.fetched_at),
        "archive": ("string", archive_of),
        "depth": ("int", lambda row: row.depth),
        "score": ("double", lambda row: row.score),
        "relevant": ("boolean", lambda row: None if row.relevant is None else str(row.relevant).lower()),
    }
    more = [
        NodeValues(name, kind, {url: str(said) for url, row in rows.items() if (said := value(row)) not in (None, "")})
        for name, (kind, value) in values.items()
    ]
    numbers = {url: number for number, url in enumerate(rows, 1)}
    edges = [(numbers[row.via], numbers[url], 1, None, None) for url, row in rows.items() if row.via in numbers]
    written = io.BytesIO()
    with closing(sqlite3.connect("")) as base:
        base.execute("CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT, pages INTEGER, weight INTEGER)")
        base.execute("CREATE TABLE edge (source INTEGER, target INTEGER, n INTEGER, first INTEGER, last INTEGER)")
        base.executemany("INSERT INTO site VALUES (?, ?, 1, 1)", ((number, url) for url, number in numbers.items()))
        base.executemany("INSERT INTO edge VALUES (?, ?, ?, ?, ?)", edges)
        write_graphml(base, written, more)
    return written.getvalue()


class CollectedCrawl(Shown):
    """A crawl of a collection, by the name of its folder. Of one that is gone nothing else is known.

    ``pages`` and ``objects`` are as in the crawl's own state; ``objects`` is None where they are not yet counted.
    """

    folder: str
    id: str = ""
    title: str = ""
    state: str = Field(default="gone", description="That of the crawl, or `gone`.")
    pages: int = 0
    objects: int | None = None


class CollectionView(Shown):
    """A collection: its name, what describes it, and its crawls. ``pages`` and ``objects`` are the sums of theirs.

    ``problem`` says what is wrong with its file; nothing else is known then.
    """

    name: str
    described: Collection | None = None
    crawls: tuple[CollectedCrawl, ...] = ()
    pages: int = 0
    objects: int = 0
    missing: tuple[str, ...] = ()
    problem: str = ""

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name if self.described is None else self.described.title


def collections(reach: CrawlRegistry, states: CrawlStates) -> Sequence[CollectionView]:
    """Return the collections in the folder of crawls, in the order of their names."""
    place = reach.catalog.place_for_new()
    crawls = _by_folder(reach)
    return [] if place is None else [_shown(file, states, crawls) for file in CollectionFile.all_in(place)]


def collection(reach: CrawlRegistry, states: CrawlStates, name: str) -> CollectionView:
    """Return a collection. Raise ``ProblemError`` where there is none."""
    return _shown(collection_file(reach, name), states, _by_folder(reach))


def collection_file(reach: CrawlRegistry, name: str, *, is_new: bool = False) -> CollectionFile:
    """Return the file of a collection. Raise ``ProblemError`` where there is none, or, if it is new, can be none."""
    place = reach.catalog.place_for_new()
    try:
        if place is None:
            raise CollectionError("this service was given folders of single crawls; a collection lies beside several")
        file = CollectionFile(place / name)
    except CollectionError as error:
        raise ProblemError(NO_COLLECTION, str(error)) from None
    if file.name != name or not (is_new or file.path.is_file()):
        raise ProblemError(NO_COLLECTION, "no collection of this name lies in this service's folder of crawls")
    return file


def folders_to_add(reach: CrawlRegistry, shown: CollectionView) -> Iterator[tuple[str, str]]:
    """Yield name and title of the folders of crawls that a collection could have and has not."""
    place = reach.catalog.place_for_new()
    known = {each.folder for each in shown.crawls}
    for crawl in reach.crawls():
        folder = crawl.folder
        if folder is not None and folder.parent == place and folder.name not in known:
            yield folder.name, crawl.icd.title or crawl.id


def _by_folder(reach: CrawlRegistry) -> Mapping[Path, Crawl]:
    return {crawl.folder.resolve(): crawl for crawl in reach.crawls() if crawl.folder is not None}


def _shown(file: CollectionFile, states: CrawlStates, known: Mapping[Path, Crawl]) -> CollectionView:
    try:
        described = file.read()
    except CollectionError as error:
        return CollectionView(name=file.name, problem=str(error).replace(f"{file.path}: ", ""))
    crawls = tuple(_crawl(name, known.get(file.folder(name).resolve()), states) for name in described.crawls)
    return CollectionView(
        name=file.name,
        described=described,
        crawls=crawls,
        pages=sum(each.pages for each in crawls),
        objects=sum(each.objects or 0 for each in crawls),
        missing=tuple(each.folder for each in crawls if each.state == "gone"),
    )


def _crawl(name: str, crawl: Crawl | None, states: CrawlStates) -> CollectedCrawl:
    if crawl is None:
        return CollectedCrawl(folder=name)
    status = states.status(crawl)
    return CollectedCrawl(
        folder=name,
        id=crawl.id,
        title=crawl.icd.title or crawl.id,
        state=status.state,
        pages=status.fetched,
        objects=status.objects,
    )


_TOPICS: Final = {"site": "site", "application": "application", "media": "media"}


@dataclass(frozen=True, slots=True)
class PartHeld:
    """How many captures or objects of a part a crawl or import holds."""

    crawl: Crawl
    count: int


@dataclass(frozen=True, slots=True)
class HeldArchives:
    """What is held. ``notes`` tell what is not counted yet, or cannot be.

    ``archives`` are those that were counted, with their captures; ``changes`` are of a single crawl alone.
    """

    held: Holdings
    changes: tuple[CrawlChange, ...]
    graph: StrongestSites | None
    archives: tuple[PartHeld, ...]
    notes: tuple[str, ...]


def held_archives(indexes: PageIndexes, crawls: Sequence[Crawl]) -> HeldArchives:
    """Return what crawls and imports hold together. Those that cannot be asked now are named in the notes."""
    notes: list[str] = []
    archives: list[PartHeld] = []
    read: list[Crawl] = []
    with GatheredArchives() as gathered:
        for crawl in crawls:
            try:
                with indexes.asked(crawl) as index:
                    gathered.add_pages(index.base)
                    archives.append(PartHeld(crawl, captures_in(index.base)))
                    notes += _note(crawl, index.progress.note, "")
            except ProblemError as problem:
                notes += _note(crawl, problem.detail, "")
                continue
            try:
                with indexes.asked(crawl, SiteLinks) as index:
                    gathered.add_sites(index.base)
                    read.append(crawl)
                    notes += _note(crawl, index.progress.note, "links and languages: ")
            except ProblemError as problem:
                notes += _note(crawl, problem.detail, "links and languages: ")
        names = strongest_names(gathered.base, STRONGEST)
        for crawl in read if names else ():
            # One whose index has been removed meanwhile is named the next time.
            with suppress(ProblemError), indexes.asked(crawl, SiteLinks) as index:
                gathered.add_links(index.base, names)
        held = holdings(gathered)
        graph = strongest(gathered.base, STRONGEST) if read else None
    only = crawls[0] if len(crawls) == 1 else None
    changed = () if only is None or only.folder is None or only.is_import else changes(only.folder)
    return HeldArchives(held, changed, graph, tuple(archives), tuple(notes))


def parts_held(indexes: PageIndexes, crawls: Sequence[Crawl], by: str, of: str) -> tuple[PartHeld, ...]:
    """Return the crawls and imports that hold some of a part, those with the most first.

    ``by`` is ``captured`` or ``published`` with a period in ``of``, or ``site``, ``application`` or ``media`` with a
    name. Crawls whose index cannot be read now are left out.
    """
    found: list[PartHeld] = []
    for crawl in crawls:
        try:
            with indexes.asked(crawl) as index:
                found.append(PartHeld(crawl, _count(index, by, of)))
        except ProblemError:
            continue
    return tuple(sorted((each for each in found if each.count), key=lambda each: (-each.count, each.crawl.id)))


def _count(index: Asked, by: str, of: str) -> int:
    if by in _TOPICS:
        condition, values = "crawl != 0 AND topic = ? AND name = ?", (_TOPICS[by], of)
    else:
        topic, crawl = ("month", "!=") if by == "captured" else ("published", "=")
        condition, values = f"crawl {crawl} 0 AND topic = ? AND substr(name, 1, {len(of)}) = ?", (topic, of)
    statement = f"SELECT coalesce(sum(n), 0) FROM tally WHERE {condition}"  # noqa: S608
    return int(index.base.execute(statement, values).fetchone()[0])


def _note(crawl: Crawl, text: str, about: str) -> tuple[str, ...]:
    return (f"{crawl.icd.title or crawl.id}: {about}{text}",) if text else ()
