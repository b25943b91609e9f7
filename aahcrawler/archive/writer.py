"""Writing exchanges to WARC files as they passed over the connection (ARCOMEM, section 4.3)."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self
from uuid import uuid4

from aahcrawler.archive.index import EXTENSION, Entry, IndexWriter
from aahcrawler.archive.payload import HEAD, beginning_of, is_whole_head, status_of
from aahcrawler.archive.records import (
    UNIDENTIFIED,
    CrawlInfo,
    Fields,
    Identified,
    Original,
    Profile,
    header,
    metadata_fields,
    request_fields,
    response_fields,
    revisit_fields,
    warc_date,
    warcinfo_block,
    warcinfo_fields,
)
from aahcrawler.exchange import Exchange
from aahcrawler.segments import Clock, Recovered, SegmentWriter, Series, recover

_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Capture:
    """A response or a revisit in the archive. ``record_id`` is its ``urn:uuid:...``, without angle brackets.

    ``file`` is the name the WARC file has once it is closed; ``offset`` is where the record's gzip member begins, and
    ``metadata_offset`` where that of its metadata record does, None where it has none. ``date`` is when the request
    was started, in UTC. ``refers_to`` is the id of the record that a ``revisit`` refers to, empty where it says none.
    """

    record_id: str
    url: str
    date: datetime
    file: str
    offset: int
    metadata_offset: int | None = None
    revisit: bool = False
    refers_to: str = ""

    @property
    def warc_date(self) -> str:
        """``date`` as WARC-Date writes it."""
        return warc_date(self.date)


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

    def write(
        self,
        exchange: Exchange,
        identified: Identified = UNIDENTIFIED,
        *,
        original: Original | None = None,
        metadata: bytes | None = None,
    ) -> Capture:
        """Append the response, the request that led to it and what was understood of it; all of them or none.

        Response and request are kept byte for byte. ``metadata`` is the JSON of ``aahcrawler.metadata``. With an
        ``original``, a ``revisit`` record that holds the head alone stands in the response's place where status 304
        or an equal payload digest says that the payload is the original's; in any other case, and for what was
        truncated, the response itself is written. ``Capture.revisit`` tells which.

        The response is read from its start and left there, open. Raises ``DiskFullError`` when there is no room: the
        files are then as before, and the same exchange may be written again; ``SegmentError`` for other troubles of
        the disk.
        """
        # The records name their file's warcinfo, so the file must be settled first.
        self._segments.ready()
        response_id, head = self._identity.new_id(), _head(exchange)
        fields = response_fields(exchange, response_id, self._warcinfo_id, identified)
        block: BinaryIO = exchange.response
        profile = _profile(exchange, head, original) if original is not None else None
        if original is not None and profile is not None:
            fields, block = revisit_fields(fields, original, profile), BytesIO(head)
        try:
            span = self._segments.append(_record(fields, block), *self._beside(exchange, response_id, metadata))
            if self._index is not None:
                where = (span.file, span.offset, span.ends[0] - span.offset)
                self._index.add(Entry.made(fields, head, where))
        finally:
            exchange.response.seek(0)
        return Capture(
            response_id,
            exchange.url,
            exchange.started_at,
            span.file,
            span.offset,
            metadata_offset=None if metadata is None else span.ends[-2],
            revisit=profile is not None,
            refers_to=original.record_id if original is not None and profile is not None else "",
        )

    def _beside(self, exchange: Exchange, response_id: str, metadata: bytes | None) -> Iterator[Iterator[bytes]]:
        """Yield the records that belong to a response, in pieces; that of its metadata is the last one."""
        if exchange.request:
            asked = request_fields(exchange, self._identity.new_id(), self._warcinfo_id, response_id)
            yield _record(asked, BytesIO(exchange.request))
        if metadata is not None:
            said = metadata_fields(exchange, self._identity.new_id(), self._warcinfo_id, response_id)
            yield _record(said, BytesIO(metadata))

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


def _head(exchange: Exchange) -> bytes:
    """Return the head of a response, or what has come of it."""
    exchange.response.seek(0)
    return beginning_of(exchange.response.read(HEAD))


def _profile(exchange: Exchange, head: bytes, original: Original) -> Profile | None:
    """Return why an answer is a revisit of the original; None where replay would be the worse for it."""
    if not is_whole_head(head):
        return None
    if status_of(head) == HTTPStatus.NOT_MODIFIED:
        return Profile.NOT_MODIFIED
    is_same = exchange.truncated is None and exchange.payload_digest == original.digest
    return Profile.IDENTICAL_PAYLOAD if is_same else None


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
