"""What a crawl collected about an event or from archives: figures and drawings as in its report, and files of them."""

import io
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Unfinished
from contextlib import closing, suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from aahcrawler.layout import OBJECTS, REFUSED, SUMMARY
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.overview.event_table import EventLine, is_collection
from aahcrawler.overview.link_graph import NodeValues, write_graphml
from aahcrawler.report import ReportError, read_collection
from aahcrawler.report.event_collection import EventCollection, archive_of, course, sections
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.web.problems import Kind, ProblemError

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
    """What is shown of a collection. ``sections`` are headings with HTML, in which what came from pages is escaped.

    ``course`` is HTML as well: charts of relevance, or of pages where there is no subject.
    ``missing`` are the first of ``lacking`` URLs that no source has, ``best`` the relevant pages with the best scores.
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
    """Reads collections, each once until its folder changes. May be used by several threads at once."""

    def __init__(self) -> None:
        self._pool, self._lock = ThreadPoolExecutor(1, "collections"), Lock()
        self._made: OrderedDict[Path, tuple[object, Collected]] = OrderedDict()
        self._reading: dict[Path, Future[Collected]] = {}

    def of(self, crawl: Crawl, lead: Lead, patience: float = PATIENCE) -> tuple[Collected | None, bool]:
        """Return what a crawl collected, and whether that is all by now; None where it is still being read.

        It is waited for so many seconds. Raise ``ProblemError`` where there is nothing to be read.
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
        """Return the lines of those of crawls that collect something, as far as they have been read by now."""
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
        """Begin to read nothing more."""
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
        course(collection.pages),
        tuple(sections(collection, lead=lead)),
        best,
        collection.missing[:MISSING],
        len(collection.missing),
    )


def _state(folder: Path) -> object:
    """Return what changes with the files that a collection is read from."""
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
    """Return the pages as GraphML: an edge leads to each page from the one by whose link it was found.

    Nodes have title, moment of capture, archive, depth, score and relevance, as far as each is known.
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
