"""Read imported captures for the first time, and derive the change log from them."""

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from aahcrawler.archive.records import labelled_digest
from aahcrawler.captures import BEGINNING, ArchivedCaptures, Capture, Position
from aahcrawler.definitions import read_definition
from aahcrawler.documents import DocumentReader, NotComparedError, is_data, is_document
from aahcrawler.documents.formats import JSON, format_of
from aahcrawler.documents.statement_changes import StatementChanges, statement_changes
from aahcrawler.helper.site_memory import site_of
from aahcrawler.imports.imported_crawl import CRAWL_NUMBER
from aahcrawler.jobs import Job, Made, Work
from aahcrawler.layout import (
    ARCHIVE,
    CHANGE_LOG,
    CHANGES,
    DEFINITION,
    IMPORT_READ,
    IMPORT_READING,
    IMPORTS,
    INDEXES,
    NQUADS,
    OBJECTS,
    WARC,
)
from aahcrawler.metadata import Metadata
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import Statements, page_rows
from aahcrawler.objects.vocabulary import SOFT_404
from aahcrawler.objects.writer import CaptureDescription, graph_of, statements
from aahcrawler.page import Headers, Page
from aahcrawler.pipeline.analysis import changes, score, times_of
from aahcrawler.revisits.change_log import ChangeLog, opened_changes
from aahcrawler.revisits.page_comparison import Difference, compared, content_of, is_comparable, of_data, template_of
from aahcrawler.revisits.visit_record import MAX_REASON, ChangeState, VisitRecord, milliseconds
from aahcrawler.scope import Spelling
from aahcrawler.segments import SegmentWriter, Series, extent, recover
from aahcrawler.tombstones import replace_durably
from aahcrawler.webobject import Container
from offline.rereading import Reader, RereadError, metadata_of, version_of
from online_analysis.aggregation import OnlineAnalyser
from online_analysis.analysers import analysers
from online_analysis.icd import Icd
from online_analysis.topic_learning import topic_learning

logger = logging.getLogger(__name__)

_SHOWN_AS: Final = frozenset({"", "document"})
"""The resource types for which a browser requests a page; others are parts of a page."""
_CRAWL_NUMBER: Final = 1


class FirstOutcome(StrEnum):
    """What became of reading a capture for the first time."""

    READ = "read"
    """It is a page, a document or a redirect, and statements about its content were written."""
    PART = "part"
    """It is something else, such as a picture, about which no statements are written."""
    UNREADABLE = "unreadable"
    """It cannot be read or understood, for example because it is a revisit without an original."""


_NOTES: Final = TypeAdapter(FirstOutcome)


@contextmanager
def first_reading(
    crawl: Path,
    folders: tuple[Path, ...],
    icd_file: Path | None = None,
    *,
    processes: int = 1,
    seen: Callable[[int], object] = abs,
) -> Iterator[Iterator[tuple[str, FirstOutcome]]]:
    """Read the captures of a folder for which no statements exist, and write statements about them.

    ``folders`` are those of the knowledge base. With ``icd_file`` pages are scored by that definition, which must be
    the folder's own except for its id; without it, by what the folder stores of its definition. Yields each capture's
    site and outcome. An interrupted run is resumed.

    Raises ``JobError``, ``LoadError``, ``ReadError``, ``RereadError`` and ``SegmentError``.
    """
    version = version_of(crawl, folders)[1]
    icd = _definition(crawl, icd_file)
    position = _read_position(crawl)
    with (
        closing(_stated(crawl)) as stated,
        closing(SegmentWriter(Series(crawl / OBJECTS, icd.id, NQUADS), lambda: datetime.now(UTC))) as writer,
    ):
        reached = position

        def items() -> Iterator[tuple[str, str]]:
            nonlocal reached
            with ArchivedCaptures(crawl, damaged=_log) as source:
                for capture in source.captures(position):
                    reached = capture.position or reached
                    if not _is_stated(stated, capture.record_id):
                        yield site_of(capture.target_uri), capture.record_id

        def keep(texts: Sequence[bytes]) -> None:
            # After a kill a unit may come twice.
            for text in filter(None, texts):
                if not _is_stated(stated, graph_of(text)):
                    writer.append((text,))
            writer.sync()

        step = FirstReading(crawl, folders, icd_file, version)
        job = Job(step, _NOTES, crawl / INDEXES / IMPORT_READING, keep, processes, seen)
        with job.run(items(), extent(crawl / ARCHIVE, WARC)) as done:
            yield done
        if reached != BEGINNING:
            replace_durably(crawl / INDEXES / IMPORT_READ, str(reached).encode())


def has_unread_captures(crawl: Path) -> bool:
    """Return whether a folder has imported captures that no run of ``first_reading`` has reached yet."""
    if not (crawl / IMPORTS).exists():
        return False
    with ArchivedCaptures(crawl, damaged=_log) as source:
        return next(source.captures(_read_position(crawl)), None) is not None


def _read_position(crawl: Path) -> Position:
    """Return the position up to which captures have been read; the beginning if it is unknown."""
    try:
        return Position.parse((crawl / INDEXES / IMPORT_READ).read_text("utf-8"))
    except (OSError, ValueError):
        return BEGINNING


def _stated(crawl: Path) -> sqlite3.Connection:
    """Return a table of the captures that have statements."""
    base = sqlite3.connect("")
    base.execute("CREATE TABLE stated (record TEXT PRIMARY KEY) WITHOUT ROWID")
    places = Statements.of(crawl).places()
    base.executemany("INSERT OR IGNORE INTO stated VALUES (?)", ((record,) for record, _, _ in places))
    return base


def _is_stated(base: sqlite3.Connection, record: str) -> bool:
    return base.execute("SELECT 1 FROM stated WHERE record = ?", (record,)).fetchone() is not None


def _log(damage: object) -> None:
    logger.warning("%s", damage)


@dataclass(frozen=True, slots=True)
class FirstReading:
    """The job step that reads captures for the first time, site by site."""

    crawl: Path
    folders: tuple[Path, ...]
    icd_file: Path | None
    version: str

    @contextmanager
    def open(self) -> Iterator[Work[FirstOutcome]]:
        """Open the archive, the knowledge base and the analysers. Raises as ``first_reading`` does."""
        with (
            closing(Reader.of(self.crawl, self.folders)) as reader,
            ArchivedCaptures(self.crawl, damaged=_log) as source,
        ):
            icd = _definition(self.crawl, self.icd_file)
            yield _Captures(reader, source, icd, _analysers(icd)).read


def _definition(crawl: Path, file: Path | None) -> Icd:
    """Return the definition by which to score pages.

    Raises ``RereadError`` if its topic needs texts that are not available.
    """
    stored = read_definition(crawl / DEFINITION)
    icd = stored if file is None else Icd.load(file).model_copy(update={"id": stored.id})
    if icd.relevant_at is not None and (wanted := icd.document_urls()):
        remedy = "give the definition with --icd" if file is None else "save it, and name the file in its place"
        raise RereadError(f"{wanted[0].url}: the topic has a reference document that is not here; {remedy}")
    return icd


def _analysers(icd: Icd) -> tuple[OnlineAnalyser, ...]:
    """Return the analysers that score pages; none if the definition has no topic."""
    if icd.relevant_at is None:
        return ()
    seeds = filter(None, map(Spelling(icd.scope.canonical).url, icd.seeds))
    return analysers(icd, topic_learning(icd, {}, seeds).topic)


@dataclass(frozen=True, slots=True)
class _Understood:
    """The level, objects and links found on a page."""

    said: Metadata = field(default_factory=Metadata)
    containers: tuple[Container, ...] = ()


@dataclass(frozen=True, slots=True)
class _Captures:
    """Reads units of captures, each of one site, resetting the helper before each."""

    reader: Reader
    source: ArchivedCaptures
    icd: Icd
    analysers: tuple[OnlineAnalyser, ...]

    def read(self, _site: str, records: Sequence[str]) -> Made[FirstOutcome]:
        self.reader.restart()
        return [self._read(record) for record in records]

    def _read(self, record: str) -> tuple[FirstOutcome, bytes]:
        capture = self.source.of_record(record)
        if capture is None:
            return FirstOutcome.UNREADABLE, b""
        if not _is_asked_for(capture):
            return FirstOutcome.PART, b""
        page = capture.page
        if page is None:
            return FirstOutcome.UNREADABLE, b""
        if not (capture.location or page.is_html or is_document(page)):
            return FirstOutcome.PART, b""
        try:
            return FirstOutcome.READ, self._stated(capture, page)
        except Exception:  # Whatever a page may provoke, the others are read.
            logger.exception("%s: not understood", page.url)
            return FirstOutcome.UNREADABLE, b""

    def _stated(self, capture: Capture, page: Page) -> bytes:
        original = self.source.original(capture.record_id)
        is_unchanged = original is not None and original.target_uri == capture.target_uri and not capture.has_document
        described = CaptureDescription(
            iri=capture.record_id,
            url=capture.target_uri,
            status=page.status,
            fetched_at=capture.date,
            media_type=page.media_type,
            crawl=v.crawl(self.icd.id, _CRAWL_NUMBER),
            unchanged=original.record_id if original is not None and is_unchanged else None,
            session=capture.session,
            reader=self.reader.version,
        )
        if not page.is_content:
            return statements(described)
        former, before = self._before(capture)
        understood = self._understood(page, before)
        said = understood.said
        compared = None if before is None else changes(before, said, complete=page.complete)
        described = replace(
            described,
            application=said.application,
            level=said.level,
            role=said.role,
            score=said.score,
            relevant=said.relevant,
            title=said.title,
            revision_of=former.record_id if former is not None and not is_unchanged else None,
            changes=None if is_unchanged else compared,
        )
        return statements(described) if is_unchanged else statements(described, said.objects, understood.containers)

    def _before(self, capture: Capture) -> tuple[Capture | None, Metadata | None]:
        """Return the page's former capture, and what the same reader finds in it; None if there is none."""
        former = capture.before
        while former is not None and former.is_revisit:
            former = former.before
        page = None if former is None else former.page
        if former is None or page is None or not (page.is_content and page.is_html):
            return None, None
        return former, self._understood(page, None).said

    def _understood(self, page: Page, former: Metadata | None) -> _Understood:
        found = self.reader.read(page, former)
        times = replace(times_of(page, found.objects), memento=True)
        found = replace(found, document=replace(found.document, times=times))
        relevant_at = self.icd.relevant_at
        value = None if relevant_at is None else score(found, self.analysers, self.icd.scoring.weights).score
        said = replace(
            metadata_of(page, found),
            title=found.document.title,
            score=value,
            relevant=None if value is None or relevant_at is None else value >= relevant_at,
        )
        return _Understood(said, found.containers)


def _is_asked_for(capture: Capture) -> bool:
    """Return whether a capture was requested for itself, rather than as a part of a page or by a script."""
    if capture.shown_on or (capture.method != "GET" and not capture.shows_target):
        return False
    exchange = capture.exchange()
    if exchange is None:
        return True
    with closing(exchange):
        return exchange.resource_type in _SHOWN_AS


def note_imported(crawl: Path, name: str) -> int:
    """Add the visits that captured pages prove to the change log of an import's folder; return how many were new.

    How long their responses took is unknown. May be repeated after a kill. The caller must hold the folder alone.
    Raises ``DamageError``, ``ReadError``, ``SegmentError``, ``OSError`` and ``sqlite3.Error``.
    """
    recover(crawl / CHANGES, CHANGE_LOG)
    noted = 0
    with (
        opened_changes(crawl) as index,
        ArchivedCaptures(crawl, damaged=lambda damage: logger.warning("%s", damage)) as source,
        ChangeLog(crawl / CHANGES, name, CRAWL_NUMBER, lambda: datetime.now(UTC)) as log,
        closing(DocumentReader()) as reader,
    ):
        for row in page_rows(crawl):
            if index.knows(row.url, datetime.fromisoformat(row.fetched_at)):
                continue
            capture = source.of_record(row.capture)
            if capture is not None:
                log.visited(_visit(row, capture, source, reader))
                noted += 1
    return noted


def _visit(row: PageRow, capture: Capture, source: ArchivedCaptures, reader: DocumentReader) -> VisitRecord:
    page, before = capture.page, capture.before
    headers = Headers(()) if page is None else page.headers
    payload = _payload(capture, source)
    difference, changes, unread = None, None, ""
    if before is not None and payload != _payload(before, source):
        try:
            changes = _changes_of_data(before, capture, reader)
        except NotComparedError as error:
            unread = f"its statements are not compared: {error}"
            logger.warning("%s: compared by its text: %s", capture.target_uri, unread)
        is_table = changes is not None and before.page is not None and format_of(before.page) != JSON
        texts = None if is_table else _difference(before, capture)
        difference = texts if changes is None else of_data(texts)
    is_same = changes == StatementChanges()
    if is_same:
        difference, changes = None, None
    return VisitRecord(
        url=row.url,
        at=milliseconds(capture.date),
        status=row.status,
        etag=headers.get("etag")[:1_000] or None,
        modified=headers.get("last-modified")[:1_000] or None,
        said=ChangeState.UNCHANGED if is_same else None,
        kind=None if difference is None else difference.kind,
        compared=None if before is None else milliseconds(before.date),
        payload=payload,
        requests=0,
        record=capture.record_id,
        template=template_of(row.url, row.application, row.level_name),
        places=None if difference is None else difference.places,
        statements=None if changes is None else changes.counts,
        reason=unread[:MAX_REASON],
        to=capture.location,
        soft=row.trap == SOFT_404,
    )


def _changes_of_data(before: Capture, now: Capture, reader: DocumentReader) -> StatementChanges | None:
    """Return how the statements of data changed; None if it is no data, or not all of its statements are known.

    Raises ``NotComparedError``.
    """
    former, page = before.page, now.page
    if former is None or page is None or not (former.is_content and page.is_content):
        return None
    if not (is_data(former) and is_data(page)):
        return None
    said, says = reader.statements(former), reader.statements(page)
    if said.digest == says.digest:
        return StatementChanges()
    return None if said.parts is None or says.parts is None else statement_changes(said.parts, says.parts)


def _payload(capture: Capture, source: ArchivedCaptures) -> str | None:
    """Return the digest of a payload; for a revisit its original's, None if that is gone."""
    holder = source.original(capture.record_id) if capture.is_revisit else capture
    exchange = None if holder is None else holder.exchange()
    if exchange is None:
        return None
    with closing(exchange):
        return labelled_digest(exchange.payload_digest)


def _difference(before: Capture, now: Capture) -> Difference | None:
    former, page = before.page, now.page
    if former is None or page is None or not (former.is_content and page.is_content and is_comparable(page)):
        return None
    return compared(content_of(former), content_of(page))
