"""Write the selected pages of a crawl, and the records they need, as a self-contained WARC file.

Records are copied unchanged from the crawl's files, as compressed bytes: ids, dates, digests and blocks stay the same.
They are in the order of the crawl's files, each once, after a ``warcinfo`` record with the criteria; the ``warcinfo``
records that they name are copied too.
"""

import gzip
import hashlib
import os
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Final, Self
from urllib.parse import urljoin

import pyoxigraph as ox
from pydantic import TypeAdapter

from aahcrawler import __version__, urls
from aahcrawler.annotations.judgements import membership_of, with_membership
from aahcrawler.archive.index import SORTED, LineSorter, replace_lines, scanned_lines
from aahcrawler.archive.records import CrawlInfo, header, warcinfo_block, warcinfo_fields
from aahcrawler.archive.writer import Identity
from aahcrawler.captures import ArchivedCaptures, Capture
from aahcrawler.captures.record_scan import EPOCH
from aahcrawler.helper.assistance import FailedAction, RaisedTally, of_stages
from aahcrawler.jobs import Job, Work
from aahcrawler.layout import ARCHIVE, INDEXES, MEMBERSHIP, NQUADS, OBJECTS, SELECTION, WARC
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import page_rows, statements
from aahcrawler.page import Page, requisites
from aahcrawler.pipeline.links import media_of
from aahcrawler.segments import extent
from offline.selection.criteria import Criteria
from offline.store.loading import load, objects_folder
from offline.store.local import FOLDER, LocalStore
from offline.store.queries import QueryError, Table, ask

_PIECE = 1 << 20
_SCHEMA = """
PRAGMA journal_mode = OFF;
CREATE TABLE taken (
  file INTEGER, begin INTEGER, end INTEGER, is_capture INTEGER, PRIMARY KEY (file, begin)
) WITHOUT ROWID;
CREATE TABLE page (number INTEGER PRIMARY KEY, record TEXT);
"""


class SelectedCaptures:
    """Marks captures of an archive as selected; the marks are in a temporary file.

    Unless ``with_sessions``, ``take`` skips captures fetched under a session.
    """

    def __init__(self, source: ArchivedCaptures, *, with_sessions: bool = True) -> None:
        self.source = source
        self._with_sessions = with_sessions
        self._marks = sqlite3.connect("")
        self._marks.executescript(_SCHEMA)
        self.newest = EPOCH
        """When the newest of the taken captures was made."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._marks.close()

    def take(self, captures: Iterable[Capture]) -> Iterator[Capture]:
        """Select captures, each with the records that belong to it; yield those not selected before.

        With a revisit, the capture with its payload is selected as well.
        """
        for capture in captures:
            if not self.leaves_aside(capture):
                yield from self._take(capture)

    def leaves_aside(self, capture: Capture | None) -> bool:
        """Return whether a capture, or the one with its payload, is skipped because of its session."""
        if self._with_sessions or capture is None:
            return False
        return bool(capture.session) or self.leaves_aside(self.source.original(capture.record_id))

    def _take(self, capture: Capture) -> Iterator[Capture]:
        row = self.source.table.of_record(capture.record_id)
        if row is None or not self._mark(row.file, row.response.begin, row.response.end, is_capture=True):
            return
        if (info := self.source.table.info(row.response.warcinfo)) is not None:
            self._mark(info[0], info[1].begin, info[1].end, is_capture=False)
        self.newest = max(self.newest, capture.date)
        yield capture
        if (original := self.source.original(capture.record_id)) is not None:
            yield from self._take(original)

    def _mark(self, file: int, begin: int, end: int, *, is_capture: bool) -> bool:
        """Mark records as selected; return whether they were not before."""
        row = (file, begin, end, is_capture)
        return self._marks.execute("INSERT OR IGNORE INTO taken VALUES (?, ?, ?, ?)", row).rowcount > 0

    def note_page(self, record: str) -> None:
        """Record that a capture was selected for itself, and not because another one needs it."""
        self._marks.execute("INSERT INTO page (record) VALUES (?)", (record,))

    def pages(self) -> Iterator[str]:
        """Yield the ids of the records selected for themselves, in their order."""
        return (record for (record,) in self._marks.execute("SELECT record FROM page ORDER BY number"))

    def __len__(self) -> int:
        (number,) = self._marks.execute("SELECT count(*) FROM taken WHERE is_capture").fetchone()
        return int(number)

    def copies(self) -> Iterator[bytes]:
        """Yield the selected records, still compressed, in the order of the archive, in pieces of bounded size."""
        for file in self.source.table.files():
            yield from copied(self.source, file, self.spans(file))

    def spans(self, file: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the selected records in a file, given by its number, in order."""
        yield from self._marks.execute("SELECT begin, end FROM taken WHERE file = ? ORDER BY begin", (file,))


def copied(source: ArchivedCaptures, file: int, spans: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of spans of a file, given by its number, in pieces of bounded size. Raises ``OSError``."""
    for begin, end in spans:
        for at in range(begin, end, _PIECE):
            stream = source.table.open(file)
            stream.seek(at)
            yield stream.read(min(_PIECE, end - at))


EXTENSION = f".{WARC}"


class SelectionError(Exception):
    """Raised when the selection cannot be written; the message gives the cause and the remedy. No file has changed."""


@dataclass(frozen=True, slots=True)
class Selection:
    """How many pages were selected, and how many responses in all (requisites, redirects and robots.txt included).

    ``left_out`` counts the pages that were left out because they were fetched under a session, and ``raised`` names
    pages whose requisites could not be determined.
    """

    pages: int
    responses: int
    size: int
    left_out: int = 0
    raised: RaisedTally = field(default_factory=RaisedTally)


def chosen(crawl: Path, criteria: Criteria, source: ArchivedCaptures) -> Iterator[PageRow]:
    """Yield the pages that meet all criteria, in the order of capture.

    Redirects are no pages: one that is listed or found by SPARQL stands for the page to which it leads. Pages that a
    later crawl found unchanged count as pages. Errors, by status or by what they say, are selected only by lists and
    SPARQL. Raises ``AnnotationFileError``, ``ReadError`` and the errors of ``found_by_query``.
    """
    listed = [criteria.urls] if criteria.urls is not None else []
    found = [found_by_query(crawl, criteria.sparql)] if criteria.sparql else []
    named = [expanded(names, source) for names in (*listed, *found)]
    with ExitStack() as stack:
        dated: Names | None = None
        if criteria.by_publication:
            dated = stack.enter_context(closing(published(crawl, criteria)))
        rows = page_rows(crawl)
        for row in with_membership(rows, membership_of(crawl)) if criteria.members else rows:
            is_unmodified = row.status == HTTPStatus.NOT_MODIFIED
            is_error = row.status >= 400 or row.trap is not None
            is_page = (
                source.original(row.capture) is not None if is_unmodified else row.is_page or (is_error and bool(named))
            )
            in_time = dated is None or row.capture in dated
            is_named = all(row.url in names or row.capture in names for names in named)
            if is_page and in_time and is_named and criteria.admit(row):
                yield row


@dataclass(frozen=True, slots=True)
class Needed:
    """What a page needs: ``requisites``, the documents ``within`` it, and the stages of finding them that failed.

    ``url`` is that of the page, empty if it cannot be read. It may have been ``rendered`` by a browser.
    """

    url: str = ""
    rendered: bool = False
    requisites: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    raised: tuple[FailedAction, ...] = ()


_NOTES: Final = TypeAdapter(Needed)


@dataclass(frozen=True, slots=True)
class LookingForNeeded:
    """The job step that determines what pages need."""

    crawl: Path
    with_requisites: bool
    version: str = __version__

    @contextmanager
    def open(self) -> Iterator[Work[Needed]]:
        """Open the archive. Raises ``SegmentError``."""
        with ArchivedCaptures(self.crawl) as source:
            yield lambda _, captures: [(self._needed(source.of_record(each)), b"") for each in captures]

    def _needed(self, capture: Capture | None) -> Needed:
        page = None if capture is None else capture.page
        if capture is None or page is None or not (self.with_requisites and page.is_html):
            return Needed() if page is None else Needed(page.url, page.rendered)
        media = () if capture.metadata is None else media_of(capture.metadata, page.url)
        found = needed_of(page)
        # Files that the objects of the page consist of: not all of them are shown by its elements.
        return replace(found, requisites=(*media, *found.requisites))


def needed_of(page: Page) -> Needed:
    """Return what a page needs to be shown: its requisites, and the documents in its frames."""
    needed = page.attempt("requisites", lambda: requisites.of_page(page), tuple[str, ...])
    within = page.attempt("frames", lambda: requisites.frames(page), tuple[str, ...])
    return Needed(page.url, page.rendered, needed, within, of_stages(page.failed))


def select(
    crawl: Path,
    criteria: Criteria,
    selected: SelectedCaptures,
    target: Path,
    *,
    with_requisites: bool = True,
    identity: Identity | None = None,
    processes: int = 1,
    seen: Callable[[int], object] = abs,
) -> Selection:
    """Write the chosen pages with their requests, redirects that led to them, robots.txt and requisites.

    ``selected`` is of the crawl's archive, with nothing selected yet. The file appears as a whole or not at all; its
    CDXJ index is written beside it, with ``.cdxj`` appended to its name. Raises ``SelectionError`` if the target
    exists, cannot be written or would be empty, ``SegmentError`` for a damaged archive, ``JobError``, and the errors of
    ``chosen``.
    """
    refuse(target)
    listed = "\n".join((repr(replace(criteria, urls=None)), *sorted(criteria.urls or ())))
    records = (row.capture for row in chosen(crawl, criteria, selected.source))
    marked = mark(crawl, records, listed, selected, with_requisites=with_requisites, processes=processes, seen=seen)
    if not marked.pages:
        raise nothing_chosen(crawl, criteria, marked)
    info = CrawlInfo(
        crawl=crawl.resolve().name,
        software=f"AAHCrawler/{__version__}",
        description=f"Selection of {marked.pages} pages from the crawl in {crawl}: {criteria}"
        f"{'' if with_requisites else '; without page requisites'}",
    )
    size = _write(target, _warcinfo(info, target.name, identity or Identity()), selected.copies())
    _index(target)
    return replace(marked, size=size)


def mark(
    crawl: Path,
    records: Iterable[str],
    asked: str,
    selected: SelectedCaptures,
    *,
    with_requisites: bool = True,
    processes: int = 1,
    seen: Callable[[int], object] = abs,
) -> Selection:
    """Select pages, given by the ids of their records, with everything they need; return how many, with no size.

    ``asked`` must differ between different sets of records. Raises ``SegmentError`` and ``JobError``.
    """
    pages, left_out, tally = 0, 0, RaisedTally()
    job = Job(
        LookingForNeeded(crawl, with_requisites), _NOTES, crawl / INDEXES / SELECTION, processes=processes, seen=seen
    )
    decided = crawl / MEMBERSHIP
    members = str(decided.stat().st_size if decided.exists() else 0)
    state = (asked, extent(crawl / ARCHIVE, WARC), extent(crawl / OBJECTS, NQUADS), str(with_requisites), members)
    digest = hashlib.sha256("\n".join(state).encode("utf-8", "surrogatepass")).hexdigest()
    with job.run((("", record) for record in records), digest) as found:
        for record, needed in found:
            capture = selected.source.of_record(record)
            if selected.leaves_aside(capture):
                left_out += 1
            elif capture is not None and _take(capture, needed, selected, tally, with_requisites=with_requisites):
                pages += 1
                selected.note_page(record)
    return Selection(pages, len(selected), 0, left_out, tally)


def nothing_chosen(crawl: Path, criteria: Criteria, marked: Selection) -> SelectionError:
    """Return the error to raise if no page was selected."""
    if marked.left_out:
        said = f"all {marked.left_out} pages that fulfil this were fetched under a session"
        return SelectionError(f"{crawl}: {said}; --with-sessions takes them")
    return SelectionError(f"{crawl}: no page fulfils this ({criteria}); aah pages lists the pages")


def refuse(target: Path) -> None:
    """Raise ``SelectionError`` if a selection cannot be written."""
    if not target.name.endswith(EXTENSION):
        raise SelectionError(f"--to {target}: give it a name that ends in {EXTENSION}")
    for path in (target, _index_of(target)):
        if path.exists():
            raise SelectionError(f"{path}: exists, and is not overwritten; name another file with --to, or remove it")
    if not target.parent.is_dir():
        raise SelectionError(f"--to {target}: there is no folder {target.parent}; make it first")


def expanded(names: Iterable[str], source: ArchivedCaptures) -> Container[str]:
    """Add to URLs those to which they redirect."""
    known, waiting = set(names), list(names)
    while waiting:
        name = waiting.pop()
        own = source.of_record(name)
        for each in (*source.of_url(name), *(() if own is None else (own,))):
            if each.location and each.location not in known:
                known.add(each.location)
                waiting.append(each.location)
    return known


def _take(
    capture: Capture, needed: Needed, selected: SelectedCaptures, tally: RaisedTally, *, with_requisites: bool
) -> int:
    """Select a page and its dependent records; return 0 if it cannot be read and was selected before."""
    taken = list(selected.take((capture,)))
    if not needed.url:
        return int(bool(taken))
    _take_redirects(needed.url, selected)
    if with_requisites and needed.rendered:
        list(selected.take(selected.source.shown_on(needed.url)))
    addresses = (needed.url, *_take_requisites(needed, selected, tally))
    for origin in dict.fromkeys(urljoin(address, "/robots.txt") for address in addresses):
        _take_addresses((origin,), selected)
    return 1


def _take_redirects(url: str, selected: SelectedCaptures) -> None:
    """Select the redirects that led to a URL, and those that led to them."""
    waiting = [url]
    while waiting:
        for capture in selected.source.leading_to(waiting.pop()):
            if capture.target_uri != capture.location:
                waiting += [capture.target_uri for _ in selected.take((capture,))]


def _take_requisites(shown: Needed, selected: SelectedCaptures, tally: RaisedTally) -> list[str]:
    """Select the captures of requisites and frames, and what their style sheets and frames need; return new URLs."""
    reached: list[str] = []
    tally.add(shown.url, shown.raised)
    frames = set(shown.within)
    waiting = [*shown.requisites, *shown.within]
    while waiting:
        taken = _take_addresses(waiting, selected)
        waiting = []
        for capture, url in taken:
            reached.append(url)
            page = capture.page
            if page is not None and page.media_type == "text/css":
                waiting += requisites.of_stylesheet(page.text, page.url)
            elif page is not None and page.is_html and url in frames:
                needed = needed_of(page)
                tally.add(needed.url, needed.raised)
                frames.update(needed.within)
                waiting += [*needed.requisites, *needed.within]
    return reached


def _take_addresses(addresses: Iterable[str], selected: SelectedCaptures) -> list[tuple[Capture, str]]:
    """Select all captures of URLs and of their redirect targets; return those not selected before."""
    taken: list[tuple[Capture, str]] = []
    known: set[str] = set()
    waiting = list(addresses)
    while waiting:
        url = waiting.pop()
        if url not in known:
            known.add(url)
            captures = list(selected.source.of_url(url))
            taken += [(capture, url) for capture in selected.take(captures)]
            waiting += dict.fromkeys(each.location for each in captures if each.location)
    return taken


def _warcinfo(info: CrawlInfo, file: str, identity: Identity) -> bytes:
    block = warcinfo_block(info)
    fields = warcinfo_fields(identity.new_id(), identity.clock(), file)
    digest = hashlib.sha1(block, usedforsecurity=False).digest()
    return gzip.compress(header(fields, digest, len(block)) + block + b"\r\n\r\n", mtime=0)


def _write(target: Path, beginning: bytes, copies: Iterable[bytes]) -> int:
    """Write a file whole or not at all, and never over another; return its size."""
    part = target.with_name(target.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(beginning)
            for piece in copies:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        os.link(part, target)
    except FileExistsError:
        raise SelectionError(f"--to {target}: exists, and is not overwritten; name another file") from None
    except OSError as error:
        raise SelectionError(f"--to {target}: cannot be written ({error.strerror or error}); make room") from error
    finally:
        part.unlink(missing_ok=True)
    return size


def _index_of(target: Path) -> Path:
    return target.with_name(target.name + SORTED)


def _index(target: Path) -> None:
    try:
        with LineSorter(target.parent) as sorter:
            sorter.extend(scanned_lines(target))
            replace_lines(_index_of(target), sorter)
    except OSError as error:
        raise SelectionError(f"{target}: is written, its index cannot be ({error.strerror}); make room") from error


_VARIABLE = "page"
_BATCH = 10_000
_PATIENCE = 10.0
"""How many seconds to wait for another command that uses the store."""
_DATED = f" <{v.DATE}> "


class Names:
    """A set of texts in a temporary file, deleted when it is closed."""

    def __init__(self) -> None:
        self._known = sqlite3.connect("")
        self._known.execute("CREATE TABLE name (text TEXT PRIMARY KEY) WITHOUT ROWID")

    def add(self, text: str) -> None:
        """Add a text."""
        self._known.execute("INSERT OR IGNORE INTO name VALUES (?)", (text,))

    def __contains__(self, text: str) -> bool:
        return self._known.execute("SELECT 1 FROM name WHERE text = ?", (text,)).fetchone() is not None

    def close(self) -> None:
        """Delete the file."""
        self._known.close()


def published(crawl: Path, criteria: Criteria) -> Names:
    """Return the captures with an object whose date of publication is within the requested time.

    Raises ``ReadError``.
    """
    found = Names()
    dated = (line for line in statements(crawl) if _DATED in line)
    while batch := "".join(islice(dated, _BATCH)):
        for _, predicate, value, graph in ox.parse(batch, ox.RdfFormat.N_QUADS, lenient=True):
            if predicate.value == v.DATE and isinstance(graph, ox.NamedNode) and criteria.within(value.value):
                found.add(graph.value)
    return found


def found_by_query(crawl: Path, sparql: str) -> frozenset[str]:
    """Return the captures and canonical URLs that a SELECT query finds in a crawl's store.

    They are the values of ``?page``, else of the query's first variable. The new part of the crawl is loaded first.
    Raises ``LoadError``, ``StoreError`` and ``QueryError``.
    """
    folder = objects_folder(crawl).parent / FOLDER
    found: set[str] = set()
    with LocalStore(folder, _PATIENCE) as local:
        load(crawl, local)
        result = ask(local.rdf, sparql)
        if not isinstance(result, Table):
            raise QueryError("write a query that begins with SELECT ?page")
        place = result.names.index(_VARIABLE) if _VARIABLE in result.names else 0
        for row in result.rows:
            value = row[place]
            if isinstance(value, ox.NamedNode | ox.Literal):
                found.add(urls.canonicalize(value.value) or value.value)
        del result
    return frozenset(found)
