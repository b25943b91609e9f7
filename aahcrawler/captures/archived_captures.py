"""Captures read from WARC files: those of a crawl's folder, or of any folder of WARC files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Self, TypeVar

from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.archive.record_access import Record, exchange_in, metadata_in, read_in, rendered_in
from aahcrawler.archive.scanning import Member
from aahcrawler.captures.capture_source import BEGINNING, Capture, Origin, Position, Provenance, RecordPlace
from aahcrawler.captures.crawl_statements import CrawlStatements, PageDocuments
from aahcrawler.captures.record_scan import EPOCH, Damage, refuse
from aahcrawler.captures.record_table import RecordTable, Row
from aahcrawler.exchange import Exchange, Rendered
from aahcrawler.helper import Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.objects.capture_statements import CaptureStatements
from aahcrawler.page import Page
from aahcrawler.scores.entries import Judged
from aahcrawler.segments import DamageError, SegmentError
from aahcrawler.tombstones import TakenDown, being_removed
from aahcrawler.urls import canonicalize
from aahcrawler.wire.replay import PAGE_BYTES, replayed
from knowledge_base.file_selection import folders_for

T = TypeVar("T")
_MAX_REQUEST_LENGTH = 1 << 26
_MAX_DOCUMENTS = 20
"""How many captures before a revisit are searched for a document that a browser rendered from the same payload."""


class ArchivedCaptures:
    """The captures of a crawl's folder, of its WARC folder alone, or of any folder of WARC files.

    Opening the source scans the files once; ``refresh`` scans what was added. What is known of each capture is kept in
    a temporary file, so memory use does not grow with their number. Nothing is written to the folder. Files that are
    being written are read up to their last whole record. ``damaged`` is called for each place that cannot be read, and
    reading continues behind it; without ``damaged``, such a place raises ``SegmentError``. ``seen`` is called with each
    capture found. A folder without WARC files has no captures. ``knowledge`` has the folders of the knowledge base that
    pages are read with; by default, the one that the crawl used.

    Raises ``SegmentError``, also if the list of takedowns cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        *,
        damaged: Callable[[Damage], object] = refuse,
        seen: Callable[[], object] = lambda: None,
        knowledge: Sequence[Path] | None = None,
    ) -> None:
        archive = ArchiveFolder.of(folder)
        self.crawl = archive.crawl
        """The folder of the crawl; None for files that are of no crawl."""
        self._crawls: dict[int, Provenance] = {}
        self._name = (self.crawl or folder).resolve().name
        self.table = RecordTable(archive.files, damaged, seen)
        self.documents = PageDocuments(folders_for(self.crawl or folder, knowledge))
        self._taken_down: tuple[TakenDown, frozenset[str]] = (TakenDown(), frozenset())
        self.statements = CrawlStatements(self.crawl)
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the temporary files. Contents of captures can no longer be read."""
        self.table.close()
        self.documents.close()
        self.statements.forget()

    def refresh(self) -> None:
        """Add the records and takedowns written since the last scan."""
        try:
            if self.crawl is not None:
                self._taken_down = TakenDown.of(self.crawl), being_removed(self.crawl)
        except DamageError as error:
            raise SegmentError(str(error)) from error
        self._takes_down = any((self._taken_down[0].urls, self._taken_down[0].prefixes, self._taken_down[1]))
        self.table.catch_up()
        self.statements.forget()

    def captures(self, after: Position = BEGINNING) -> Iterator[Capture]:
        """Yield the captures in the order of time, as specified by ``CaptureSource``."""
        for row, position in self.table.in_time(after):
            if not (self._takes_down and self.hides(row)):
                yield self.capture(row, position)

    def of_url(self, url: str) -> Iterator[Capture]:
        """Yield the captures of a URL, spelled as in its records, in the order of time."""
        return self._captures(self.table.of_url(url))

    def of_record(self, record_id: str) -> Capture | None:
        """Return the capture of a response or revisit record; None if there is none."""
        row = self.table.of_record(record_id)
        return None if row is None or self.hides(row) else self.capture(row)

    def leading_to(self, url: str) -> Iterator[Capture]:
        """Yield the redirects to a URL, in the order of time."""
        return self._captures(self.table.leading_to(url))

    def shown_on(self, url: str) -> Iterator[Capture]:
        """Yield the captures that a browser requested while it showed the page at ``url``, in the order of time."""
        return self._captures(self.table.shown_on(url))

    def original(self, revisit: str) -> Capture | None:
        """Return the capture that holds the payload of a revisit, given the revisit record's id; None if none does."""
        row = self.table.of_record(revisit)
        found = None if row is None else self.original_row(row)
        return None if found is None else self.capture(found)

    def original_row(self, row: Row) -> Row | None:
        """Return the row of the response that holds the payload of a revisit.

        None if the row is not a revisit, or its original is gone.
        """
        response = row.response
        if not response.is_revisit:
            return None
        if response.refers:
            found = self.table.of_record(response.refers)
            candidates = [] if found is None else [found]
        else:
            candidates = [
                each for each in self.table.of_url(response.refers_url) if each.response.at == response.refers_at
            ]
        return next((each for each in candidates if not each.response.is_revisit and not self.hides(each)), None)

    def _captures(self, rows: list[Row]) -> Iterator[Capture]:
        return (self.capture(row) for row in rows if not self.hides(row))

    def hides(self, row: Row) -> bool:
        """Return whether a capture was taken down, or is being taken down."""
        if not self._takes_down:
            return False
        taken, records = self._taken_down
        url = row.response.url
        return row.response.id in records or taken.covers(canonicalize(url) or url)

    def _provenance(self, crawl: int) -> Provenance:
        known = self._crawls.get(crawl)
        if known is None:
            origin = Origin.FILE if self.crawl is None else Origin.CRAWL
            known = self._crawls[crawl] = Provenance(origin, self._name, crawl)
        return known

    def capture(self, row: Row, position: Position | None = None) -> Capture:
        """Return a row of the table as a capture."""
        number, response = row
        return Capture(
            target_uri=response.url,
            date=EPOCH + timedelta(microseconds=response.at),
            method=response.method,
            status=response.status,
            record_id=response.id,
            is_revisit=bool(response.is_revisit),
            place=RecordPlace(self.table.name(number), response.begin, response.end),
            provenance=self._provenance(response.crawl),
            contents=ArchivedContents(self, row),
            refers_to=response.refers,
            location=response.location,
            session=response.session,
            shown_on=response.shown_on,
            has_document=response.document is not None,
            position=position,
        )


@dataclass(frozen=True, slots=True)
class ArchivedContents:
    """Reads the contents of one capture from its WARC records and from what its crawl states of it."""

    source: ArchivedCaptures
    row: Row

    def exchange(self) -> Exchange | None:
        """Return the request and response as they were sent, with the rendered document archived beside them."""
        response, found = self.row.response, self._read(self.row, self.row.response.begin, exchange_in)
        if found is None:
            return None
        request = self._read(self.row, response.request, lambda record: record.whole_block(_MAX_REQUEST_LENGTH))
        return replace(found, method=response.method, request=request or b"", rendered=self._document(self.row))

    def page(self) -> Page | None:
        """Return the page as the crawl read it; a revisit has the payload of its original."""
        original = self.source.original_row(self.row)
        holder = original or self.row
        exchange = self._read(holder, holder.response.begin, exchange_in)
        if exchange is None:
            return None
        with closing(exchange):
            document, date = self._document(self.row), exchange.started_at
            if document is not None:
                date = EPOCH + timedelta(microseconds=self.row.response.at)
            elif original is not None:
                document = self._made_before(original.response.id)
            method = holder.response.method
            as_read = replace(exchange, url=self.row.response.url, method=method, started_at=date, rendered=document)
            return replayed(as_read, PAGE_BYTES)

    def understood(self, page: Page) -> Assistance:
        """Return what the current knowledge base finds on the page. Raises ``LoadError``."""
        return self.source.documents.understood(page)

    def metadata(self) -> Metadata | None:
        """Return what the crawl understood of the response when it came."""
        return self._read(self.row, self.row.response.metadata, metadata_in)

    def reading(self) -> CaptureStatements | None:
        """Return the latest reading; None for files that belong to no crawl. Raises ``ReadError``."""
        return self.source.statements.reading(self.row.response.id)

    def judged(self) -> Judged | None:
        """Return the scores given between this capture of the URL and the next. Raises ``DamageError``."""
        own, following = self.source.capture(self.row), self.neighbours()[1]
        end = following.date if following is not None else None
        return self.source.statements.judged(own.target_uri, own.date, end)

    def neighbours(self) -> tuple[Capture | None, Capture | None]:
        """Return the previous and the next capture of the same URL."""
        before, after = None, None
        is_behind = False
        for each in self.source.of_url(self.row.response.url):
            if each.record_id == self.row.response.id:
                is_behind = True
            elif not is_behind:
                before = each
            else:
                after = each
                break
        return before, after

    def _made_before(self, original: str) -> Rendered | None:
        """Return the last document rendered from this payload at the revisit's URL before the revisit."""
        same = [row for row in self.source.table.of_url(self.row.response.url) if row.response.document is not None]
        before = [row for row in same if _time(row) < _time(self.row)]
        for row in before[: -_MAX_DOCUMENTS - 1 : -1]:
            holder = self.source.original_row(row) or row
            if holder.response.id == original:
                return self._document(row)
        return None

    def _document(self, row: Row) -> Rendered | None:
        return self._read(row, row.response.document, rendered_in)

    def _read(self, row: Row, begin: int | None, read: Callable[[Record], T | None]) -> T | None:
        """Return what ``read`` returns for the record at ``begin``; None if there is no record or it cannot be read."""
        if begin is None:
            return None
        with suppress(OSError):
            return read_in(Member(self.source.table.open(row.file), begin), read, row.response.id)
        return None


def _time(row: Row) -> tuple[int, int, int]:
    return row.response.at, row.file, row.response.begin
