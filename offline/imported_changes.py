"""Derives the log of changes of imported archives from their captures, by the comparison that crawls make."""

import logging
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from aahcrawler.archive.records import labelled_digest
from aahcrawler.captures import ArchivedCaptures, Capture
from aahcrawler.documents import DocumentReader, NotComparedError, is_data
from aahcrawler.documents.formats import JSON, format_of
from aahcrawler.documents.statement_changes import StatementChanges, statement_changes
from aahcrawler.imports.imported_crawl import CRAWL_NUMBER
from aahcrawler.layout import CHANGE_LOG, CHANGES
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import page_rows
from aahcrawler.objects.vocabulary import SOFT_404
from aahcrawler.page import Headers
from aahcrawler.revisits.change_log import ChangeLog, opened_changes
from aahcrawler.revisits.page_comparison import Difference, compared, content_of, is_comparable, of_data, template_of
from aahcrawler.revisits.visit_record import ChangeState, VisitRecord, milliseconds
from aahcrawler.segments import recover

logger = logging.getLogger(__name__)


def note_imported(crawl: Path, name: str) -> int:
    """Add the visits that captured pages prove to the log of an import's folder; return how many were new.

    How long an answer took is not known of them. May be repeated after a kill. The folder is to be held alone. Raises
    ``DamageError``, ``ReadError``, ``SegmentError``, ``OSError`` and ``sqlite3.Error``.
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
    difference, changes = None, None
    if before is not None and payload != _payload(before, source):
        changes = _changes_of_data(before, capture, reader)
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
        to=capture.location,
        soft=row.trap == SOFT_404,
    )


def _changes_of_data(before: Capture, now: Capture, reader: DocumentReader) -> StatementChanges | None:
    """Return what data say otherwise; None for what is none, and where not all is known that they say."""
    former, page = before.page, now.page
    if former is None or page is None or not (former.is_content and page.is_content):
        return None
    if not (is_data(former) and is_data(page)):
        return None
    try:
        said, says = reader.statements(former), reader.statements(page)
    except NotComparedError as error:
        logger.warning("%s: compared by its text, since its statements are not: %s", now.target_uri, error)
        return None
    if said.digest == says.digest:
        return StatementChanges()
    return None if said.parts is None or says.parts is None else statement_changes(said.parts, says.parts)


def _payload(capture: Capture, source: ArchivedCaptures) -> str | None:
    """Return the digest of a payload; that of a revisit is its original's, None where that is gone."""
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
