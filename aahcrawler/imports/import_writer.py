"""Writes the records of other archives to the WARC files of a crawl's folder, with their lines of the index."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self
from uuid import uuid4

from aahcrawler import __version__
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.index_entry import IndexedRecords
from aahcrawler.archive.records import header, warc_date
from aahcrawler.archive.scanning import Scanned
from aahcrawler.imports.foreign_records import ForeignRecord
from aahcrawler.imports.kept_records import KeptRecord
from aahcrawler.imports.read_ahead import RECORD_END
from aahcrawler.layout import ARCHIVE, INDEXES, WARC
from aahcrawler.segments import SegmentWriter, Series, Span

_PIECE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that records are taken from: its name, its size in bytes, and its SHA-256 in hexadecimal digits.

    ``package`` is the name of the WACZ file that it lies in, empty where it lies in none.
    """

    name: str
    size: int
    sha256: str
    package: str = ""

    @property
    def label(self) -> str:
        """The name by which it is told of."""
        return f"{self.package}/{self.name}" if self.package else self.name


class ImportWriter:
    """Appends records to WARC files in ``root``, each a gzip member, behind a ``warcinfo`` record of their source.

    What has been appended is with the operating system when ``write`` returns. Raises ``SegmentError``.
    """

    def __init__(self, root: Path, name: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._segments = SegmentWriter(Series(root / ARCHIVE, name, WARC), clock, self._preamble)
        self._index = IndexWriter(root / ARCHIVE, root / INDEXES)
        self._indexed = IndexedRecords("")
        self._file = ""
        self._source: SourceFile | None = None
        self._is_told = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._segments.close()
        finally:
            self._end_index()
            self._index.close()

    def begin(self, source: SourceFile) -> None:
        """Go on with another source."""
        self._source, self._is_told = source, False

    def write(self, kept: KeptRecord, record: ForeignRecord, member: bytes = b"") -> Span:
        """Append a record: its block is read from its beginning, unless it is given as a gzip ``member``."""
        file = self._segments.ready()
        if not self._is_told:
            self._segments.append(self._told(file))
            self._is_told = True
        if member:
            span = self._segments.append_packed(member)
        else:
            record.block.seek(0)
            span = self._segments.append(_pieces(kept.head(), record.block))
        self._tell_index(kept, record, span)
        return span

    def _tell_index(self, kept: KeptRecord, record: ForeignRecord, span: Span) -> None:
        if span.file != self._file:
            self._end_index()
            self._file, self._indexed = span.file, IndexedRecords(span.file)
        for entry in self._indexed.take(Scanned(span.offset, span.size, kept.fields, record.http, record.body)):
            self._index.add(entry)

    def _end_index(self) -> None:
        for entry in self._indexed.end():
            self._index.add(entry)

    def _preamble(self, file: str) -> Iterator[bytes]:
        self._is_told = True
        return self._told(file)

    def _told(self, file: str) -> Iterator[bytes]:
        """Yield a ``warcinfo`` record that says where the records behind it come from."""
        source = self._source
        told = [("software", f"AAHCrawler/{__version__}"), ("format", "WARC File Format 1.1")]
        if source is not None:
            told += [
                ("description", f"Records that were imported from {source.label}"),
                ("imported-from", source.label),
                ("imported-bytes", str(source.size)),
                ("imported-digest", f"sha256:{source.sha256}"),
            ]
        block = "".join(f"{name}: {value}\r\n" for name, value in told).encode("utf-8", "replace")
        fields = (
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", f"<{uuid4().urn}>"),
            ("WARC-Date", warc_date(self._clock())),
            ("WARC-Filename", file),
            ("Content-Type", "application/warc-fields"),
        )
        yield header(fields, hashlib.sha1(block, usedforsecurity=False).digest(), len(block)) + block + RECORD_END


def _pieces(head: bytes, block: IO[bytes]) -> Iterator[bytes]:
    yield head
    while piece := block.read(_PIECE):
        yield piece
    yield RECORD_END
