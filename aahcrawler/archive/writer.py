"""Writing exchanges to WARC files as they passed over the connection (ARCOMEM, section 4.3)."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self
from uuid import uuid4

from aahcrawler.archive.index import EXTENSION, Entry, IndexWriter
from aahcrawler.archive.payload import HEAD, beginning_of
from aahcrawler.archive.records import (
    CrawlInfo,
    Fields,
    Identified,
    header,
    request_fields,
    response_fields,
    warcinfo_block,
    warcinfo_fields,
)
from aahcrawler.exchange import Exchange
from aahcrawler.segments import Clock, Recovered, SegmentWriter, Series, Span, recover

_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Capture:
    """A response in the archive. ``record_id`` is its ``urn:uuid:...``, without angle brackets.

    ``file`` is the name the WARC file has once it is closed; ``offset`` is where the record's gzip member begins.
    ``date`` is when the request was started, in UTC.
    """

    record_id: str
    url: str
    date: datetime
    file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Identity:
    """Where a writer's record ids (``urn:uuid:...``) and times come from; fixed ones make files reproducible."""

    new_id: Callable[[], str] = lambda: uuid4().urn
    clock: Clock = lambda: datetime.now(UTC)


class WarcWriter:
    """Writes the exchanges of one crawl to WARC 1.1 files of ``folder``, one gzip member a record.

    Each file begins with a ``warcinfo`` record and is left once it holds ``size`` bytes. It has the suffix ``.open``
    while it is written. When ``write`` returns, the records are with the operating system, so that a killed process
    loses none of them; they are forced to disk at the latest after 64 MiB, on rotation and on close, which is what a
    power failure can cost. Memory use does not depend on the size of a response. Not for two threads at once. ``index``
    is told of each response after it has been written.
    """

    def __init__(
        self,
        folder: Path,
        info: CrawlInfo,
        *,
        size: int = 1 << 30,
        identity: Identity | None = None,
        index: IndexWriter | None = None,
    ) -> None:
        self._info = info
        self._index = index
        self._identity = identity or Identity()
        self._warcinfo_id = ""
        series = Series(folder, info.crawl, EXTENSION, limit=size)
        self._segments = SegmentWriter(series, self._identity.clock, self._warcinfo)

    def write(self, exchange: Exchange, *, media_type: str | None = None, language: str | None = None) -> Capture:
        """Append the response and the request that led to it, both or neither, byte for byte.

        ``media_type`` and ``language`` are what the payload was found to be, whatever its header says. The response
        is read from its start and left there, open. Raises ``DiskFullError`` when there is no room: the files are
        then as before, and the same exchange may be written again; ``SegmentError`` for other troubles of the disk.
        """
        # The records name their file's warcinfo, so the file must be settled first.
        self._segments.ready()
        response_id = self._identity.new_id()
        fields = response_fields(exchange, response_id, self._warcinfo_id, Identified(media_type, language))
        exchanged = [_record(fields, exchange.response)]
        if exchange.request:
            request_id = self._identity.new_id()
            asked = request_fields(exchange, request_id, self._warcinfo_id, response_id)
            exchanged.append(_record(asked, BytesIO(exchange.request)))
        try:
            span = self._segments.append(*exchanged)
            if self._index is not None:
                self._index.add(_entry(fields, exchange, span))
        finally:
            exchange.response.seek(0)
        return Capture(response_id, exchange.url, exchange.started_at, span.file, span.offset)

    def close(self) -> None:
        """Force the current file to disk and give it its final name. Calling it twice does no harm."""
        self._segments.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _warcinfo(self, file: str) -> Iterator[bytes]:
        self._warcinfo_id = self._identity.new_id()
        fields = warcinfo_fields(self._warcinfo_id, self._identity.clock(), file)
        return _record(fields, BytesIO(warcinfo_block(self._info)))


def recover_archive(folder: Path) -> tuple[Recovered, ...]:
    """Close the WARC files of a crawl that was killed: torn records are cut off, untouched files removed.

    Files whose writer lives are left alone. Raises ``SegmentError`` where the folder cannot be written to.
    """
    return recover(folder, EXTENSION)


def _entry(fields: Fields, exchange: Exchange, span: Span) -> Entry:
    """Return what the index says of the response that an append begins with."""
    exchange.response.seek(0)
    beginning = beginning_of(exchange.response.read(HEAD))
    return Entry.made(fields, beginning, (span.file, span.offset, span.ends[0] - span.offset))


def _record(fields: Fields, block: BinaryIO) -> Iterator[bytes]:
    """Yield a record in pieces. The block is read twice, since its digest stands before it."""
    block.seek(0)
    digest = hashlib.sha1(usedforsecurity=False)
    length = 0
    while piece := block.read(_PIECE):
        digest.update(piece)
        length += len(piece)
    yield header(fields, digest.digest(), length)
    block.seek(0)
    while piece := block.read(_PIECE):
        yield piece
    yield b"\r\n\r\n"
