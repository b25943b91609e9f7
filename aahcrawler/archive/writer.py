"""Write exchanges to WARC files exactly as they passed over the connection (ARCOMEM, section 4.3)."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from aahcrawler.archive.index import Entry, IndexWriter
from aahcrawler.archive.payload import HEAD, AskedRequest, beginning_of, is_chunked, is_whole_head, status_of
from aahcrawler.archive.records import (
    DOM,
    HTTP_RESPONSE,
    UNIDENTIFIED,
    CrawlInfo,
    Fields,
    Identified,
    KeptResource,
    Original,
    Profile,
    Resource,
    header,
    metadata_fields,
    request_fields,
    resource_fields,
    response_fields,
    revisit_fields,
    warc_date,
    warcinfo_block,
    warcinfo_fields,
)
from aahcrawler.exchange import Exchange, Memento
from aahcrawler.layout import WARC
from aahcrawler.metadata import MEDIA_TYPE
from aahcrawler.segments import Clock, SegmentedOutput, SegmentWriter, Series, Span

_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class WrittenCapture:
    """A response or a revisit in the archive. ``record_id`` is its ``urn:uuid:...``, without angle brackets.

    ``file`` is the name of the WARC file once it is closed; ``offset`` is that of the record's gzip member, and
    ``metadata_offset`` that of its metadata record, None if it has none. ``date`` is the start of the request, in UTC.
    ``refers_to`` is the id of the record to which a ``revisit`` refers, empty if it gives none. ``session`` and
    ``memento`` are those of its exchange. ``resources`` are the records of what a browser made of the page, in the same
    file.
    """

    record_id: str
    url: str
    date: datetime
    file: str
    offset: int
    metadata_offset: int | None = None
    revisit: bool = False
    refers_to: str = ""
    session: str = ""
    resources: tuple[KeptResource, ...] = ()
    memento: Memento | None = None

    @property
    def rendered(self) -> KeptResource | None:
        """The rendered document of the page; None if none is archived beside this capture."""
        return next((each for each in self.resources if each.target.startswith(DOM)), None)

    @property
    def warc_date(self) -> str:
        """``date`` in the format of WARC-Date."""
        return warc_date(self.date)


@dataclass(frozen=True, slots=True)
class Identity:
    """Where a writer's record ids (``urn:uuid:...``) and times come from; fixed ones make files reproducible."""

    new_id: Callable[[], str] = lambda: uuid4().urn
    clock: Clock = lambda: datetime.now(UTC)


class WarcWriter(SegmentedOutput):
    """Writes the exchanges of one crawl to WARC 1.1 files in ``folder``, one gzip member per record.

    Each file begins with a ``warcinfo`` record and is closed once it holds ``size`` bytes. It has the suffix ``.open``
    while it is written. When ``write`` returns, the operating system has the records, so a killed process loses none of
    them. They are forced to disk after at most 64 MiB, on rotation and on close, which bounds the loss in a power
    failure. Memory use does not depend on the size of a response. Not thread-safe. ``index`` is called with each
    response after it was written. ``name`` begins the names of files; empty means the crawl's name.
    """

    def __init__(
        self,
        folder: Path,
        info: CrawlInfo,
        *,
        size: int = 1 << 30,
        name: str = "",
        identity: Identity | None = None,
        index: IndexWriter | None = None,
    ) -> None:
        self._info = info
        self._index = index
        self._identity = identity or Identity()
        self._warcinfo_id = ""
        series = Series(folder, name or info.crawl, WARC, limit=size)
        super().__init__(SegmentWriter(series, self._identity.clock, self._warcinfo))

    def write(
        self,
        exchange: Exchange,
        identified: Identified = UNIDENTIFIED,
        *,
        original: Original | None = None,
        metadata: bytes | None = None,
        resources: Sequence[Resource] = (),
    ) -> WrittenCapture:
        """Append the response, its request, its metadata and its resources; either all of them or none.

        Response and request are stored byte for byte. ``metadata`` is the JSON of ``aahcrawler.metadata``. With an
        ``original``, a ``revisit`` record replaces the response record if the status is 304 or the whole payload has
        the same digest; the result says which was written (``revisit``). Nothing else of a response is left out, so
        passing an original is always safe.

        The response is read from its start and stays open. Raises ``DiskFullError`` if there is no space: the files are
        then as before, and the same exchange may be written again. Raises ``SegmentError`` for other faults of the
        disk.
        """
        # The records name their file's warcinfo, so the file must be settled first.
        self._segments.ready()
        try:
            head = _head(exchange)
            record_id = self._identity.new_id()
            fields = response_fields(exchange, record_id, self._warcinfo_id, identified)
            response = _ResponseRecord(record_id, fields, exchange.response, head)
            if original is not None and (profile := _profile(exchange, head, original)) is not None:
                response = response.as_revisit(original, profile)
            beside = (*self._beside(exchange, response, metadata),)
            kept = [(resource_fields(each, exchange, self._warcinfo_id, record_id), each) for each in resources]
            made = (_record(fields, BytesIO(each.block)) for fields, each in kept)
            span = self._segments.append(response.record(), *beside, *made)
            self._tell_index(response, AskedRequest.read(exchange.request), span, [fields for fields, _ in kept])
        finally:
            exchange.response.seek(0)
        return WrittenCapture(
            response.record_id,
            exchange.url,
            exchange.started_at,
            span.file,
            span.offset,
            metadata_offset=None if metadata is None else span.ends[bool(exchange.request)],
            revisit=response.original is not None,
            refers_to=response.original.record_id if response.original is not None else "",
            session=exchange.session,
            resources=_kept(resources, span),
            memento=exchange.memento,
        )

    def _beside(
        self, exchange: Exchange, response: "_ResponseRecord", metadata: bytes | None
    ) -> Iterator[Iterator[bytes]]:
        """Yield the other records of a response, in pieces: its request, its metadata, the head of a 304 response."""
        if exchange.request:
            asked = request_fields(exchange, self._identity.new_id(), self._warcinfo_id, response.record_id)
            yield _record(asked, BytesIO(exchange.request))
        for block, media_type in ((metadata, MEDIA_TYPE), (response.head_apart, HTTP_RESPONSE)):
            if block is not None:
                ids = (self._identity.new_id(), self._warcinfo_id, response.record_id)
                yield _record(metadata_fields(exchange, *ids, media_type), BytesIO(block))

    def _tell_index(
        self, response: "_ResponseRecord", asked: AskedRequest, span: Span, resources: Sequence[Fields]
    ) -> None:
        if self._index is None:
            return
        location = (span.file, span.offset, span.ends[0] - span.offset)
        self._index.add(replace(Entry.made(response.fields, response.http_head, location), asked=asked))
        for fields, (begin, end) in zip(resources, _last_members(len(resources), span), strict=True):
            self._index.add(Entry.made(fields, b"", (span.file, begin, end - begin)))

    def _warcinfo(self, file: str) -> Iterator[bytes]:
        self._warcinfo_id = self._identity.new_id()
        fields = warcinfo_fields(self._warcinfo_id, self._identity.clock(), file)
        return _record(fields, BytesIO(warcinfo_block(self._info)))


@dataclass(frozen=True, slots=True)
class _ResponseRecord:
    """The first record of an exchange. ``http_head`` is the head at the beginning of its block.

    ``head_apart`` is the head of a response whose block does not contain it.
    """

    record_id: str
    fields: Fields
    block: BinaryIO
    http_head: bytes
    original: Original | None = None
    head_apart: bytes | None = None

    def as_revisit(self, original: Original, profile: Profile) -> "_ResponseRecord":
        fields = revisit_fields(self.fields, original, profile)
        if profile is Profile.NOT_MODIFIED:
            # Replay takes a revisit's head, where there is one, for that of the page: a browser would be told 304.
            return _ResponseRecord(self.record_id, fields, BytesIO(), b"", original, self.http_head)
        return _ResponseRecord(self.record_id, fields, BytesIO(self.http_head), self.http_head, original)

    def record(self) -> Iterator[bytes]:
        return _record(self.fields, self.block)


def _last_members(count: int, span: Span) -> list[tuple[int, int]]:
    """Return the beginnings and ends of the last ``count`` members of an append, never including the first member."""
    return list(pairwise(span.ends[-count - 1 :])) if count else []


def _kept(resources: Sequence[Resource], span: Span) -> tuple[KeptResource, ...]:
    places = zip(resources, _last_members(len(resources), span), strict=True)
    return tuple(KeptResource(each.record_id, each.target, begin) for each, (begin, _) in places)


def _head(exchange: Exchange) -> bytes:
    """Return the head of a response, or what was received of it."""
    exchange.response.seek(0)
    return beginning_of(exchange.response.read(HEAD))


def _profile(exchange: Exchange, head: bytes, original: Original) -> Profile | None:
    """Return why a response is a revisit of the original; None if it is not, or if a revisit would break replay."""
    if not is_whole_head(head):
        return None
    if status_of(head) == HTTPStatus.NOT_MODIFIED:
        return Profile.NOT_MODIFIED
    is_same = exchange.truncated is None and exchange.payload_digest == original.digest
    # Replay reads the original's bytes by the revisit's head, which has to name the same transfer coding.
    is_coded_alike = original.chunked in {None, is_chunked(head)}
    return Profile.IDENTICAL_PAYLOAD if is_same and is_coded_alike else None


def _record(fields: Fields, block: BinaryIO) -> Iterator[bytes]:
    """Yield a record in pieces. The block is read twice, because its digest precedes it."""
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
