"""Read one record at a known place of a WARC file, and the records of the same capture after it.

This works for files that are being written as well, because the records in them are whole.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, TypeVar, cast
from urllib.parse import urlsplit

from aahcrawler.archive.index import Place
from aahcrawler.archive.payload import GOT, HEAD, AskedRequest, HttpPayload, beginning_of
from aahcrawler.archive.records import (
    CREATION_DATE,
    DOCUMENT_URL,
    DOM,
    HTTP_RESPONSE,
    MADE_OF,
    MAX_DOM_LENGTH,
    REDACTED,
    RESOURCE_TYPE,
    REWRITTEN,
    SESSION,
    SHOWN_ON,
    SOURCE,
    SOURCE_ARCHIVE,
    SOURCE_URI,
    TLS_PROBLEM,
    KeptResource,
    unlabelled_digest,
)
from aahcrawler.archive.scanning import (
    MAX_HEADER_LENGTH,
    Header,
    Member,
    MemberError,
    members,
    read_header,
    record_date,
)
from aahcrawler.exchange import Exchange, Memento, Rendered, Truncation
from aahcrawler.metadata import MEDIA_TYPE, Metadata, metadata_if_readable
from aahcrawler.request_queries import MAX_BODY_LENGTH
from aahcrawler.segments import OPEN

MAX_METADATA_LENGTH = 1 << 26
"""The most bytes of a metadata record that is read."""
_RESPONSES = frozenset({"response", "revisit"})
_HEADER_END = b"\r\n\r\n"
_MAX_INFO_LENGTH = 1 << 20
_MAX_RESOURCES = 100
_MAX_BESIDE = 12
"""How many records after a response are examined: more than a crawl writes."""
_IN_MEMORY = 1 << 20
_UNDATED = datetime.min.replace(tzinfo=UTC)
T = TypeVar("T")


class RecordError(Exception):
    """Raised when there is no whole record at a place."""


class Record:
    """A record in the gzip member at one place of a file: its header, and its block as a stream that is read once.

    Raises ``RecordError`` if the header cannot be read.
    """

    def __init__(self, member: Member) -> None:
        self.offset = member.offset
        self._member = member
        found = b""
        try:
            while (end := found.find(_HEADER_END)) < 0:
                piece = member.read()
                if not piece or len(found) > MAX_HEADER_LENGTH:
                    raise RecordError("there is no header of a record")
                found += piece
        except MemberError as error:
            raise RecordError(str(error)) from error
        end += len(_HEADER_END)
        self.header: Header = read_header(found[:end])[0]
        self._pending = found[end:]

    @property
    def end(self) -> int:
        """The offset after its gzip member, once the block was read."""
        return self._member.end

    @property
    def kind(self) -> str:
        """The record's type in lower case."""
        return self.header.get("WARC-Type").lower()

    def is_of(self, response_id: str) -> bool:
        """Return whether the record has this id, or belongs to the response with this id."""
        if self.kind in _RESPONSES:
            return self.header.record_id == response_id
        others = (*self.header.concurrent_to, self.header.get("WARC-Refers-To").strip("<>"))
        return response_id in (self.header.record_id, *others)

    def block(self) -> Iterator[bytes]:
        """Yield the block in pieces. After the last piece, the member's checksum has been verified.

        Raises ``RecordError`` if the block is not whole.
        """
        length = self.header.get("Content-Length")
        if not (length.isascii() and length.isdigit() and len(length) <= 18):
            raise RecordError(f"its length is {length!r}")
        left, piece = int(length), self._pending
        try:
            while piece:
                if left:
                    yield piece[:left]
                left -= min(left, len(piece))
                piece = self._member.read()
        except MemberError as error:
            raise RecordError(str(error)) from error
        if left:
            raise RecordError(f"{left} bytes of its block are missing")

    def skip(self) -> None:
        """Read the rest of the block. Raises ``RecordError`` if it is not whole."""
        for _ in self.block():
            pass

    def whole_block(self, most: int) -> bytes:
        """Return the block. Raises ``RecordError`` if it is not whole, or longer than ``most`` bytes."""
        block = bytearray()
        for piece in self.block():
            block += piece
            if len(block) > most:
                raise RecordError(f"its block has more than {most} bytes")
        return bytes(block)


@dataclass(frozen=True, slots=True)
class Appended:
    """A ``response`` or ``revisit`` record that can be read whole, with the other records of the same capture.

    ``http_head`` is the head of the HTTP message in it or, for a 304, in the metadata record. ``metadata`` is the block
    of the metadata record that follows and refers to it, at ``metadata_offset``; both are None if there is none.
    ``crawl`` is the number in the file's last ``warcinfo`` record, 0 if it has none. ``asked`` is the method and body
    of its request, ``resources`` are the documents and pictures that a browser made of the page.
    """

    offset: int
    header: Header
    http_head: bytes
    crawl: int
    metadata: bytes | None = None
    metadata_offset: int | None = None
    asked: AskedRequest = GOT
    resources: tuple[KeptResource, ...] = ()


def open_place(archive: Path, name: str) -> BinaryIO | None:
    """Open a WARC file by its final name, even while it is being written; None if it cannot be read.

    Names come from indexes, so a name that leads out of the folder is rejected (None).
    """
    if "/" in name or name.startswith("."):
        return None
    # A file that is closed between the first two looks is found at the third.
    for candidate in (name, name + OPEN, name):
        try:
            return (archive / candidate).open("rb")
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def read_in(member: Member, read: Callable[[Record], T | None], of: str = "") -> T | None:
    """Return what ``read`` makes of the record in a gzip member; None if the record is damaged.

    With ``of``, also None unless the record belongs to the response with that id. Raises ``OSError``.
    """
    with suppress(RecordError):
        record = Record(member)
        return read(record) if not of or record.is_of(of) else None
    return None


def read_at(archive: Path, name: str, offset: int, read: Callable[[Record], T | None], of: str = "") -> T | None:
    """Return what ``read`` makes of the record at a place of a file, given by its final name.

    None as for ``read_in``, and if the file is gone.
    """
    file = open_place(archive, name)
    if file is None:
        return None
    with file:
        return read_in(Member(file, offset), read, of)


def records_at(archive: Path, place: Place, response_id: str) -> Iterator[Record]:
    """Yield the response with this id at a place, then the records after it that refer to it.

    Nothing is yielded if another record is there, or after damage. Each record must be read before the next one. Raises
    ``OSError``.
    """
    file = open_place(archive, place.file)
    if file is None:
        return
    with file, suppress(RecordError):
        for member in chain((Member(file, place.offset),), islice(members(file, place.end), _MAX_BESIDE)):
            record = Record(member)
            if not record.is_of(response_id):
                return
            yield record


def exchange_in(record: Record, most: int | None = None) -> Exchange:
    """Return the response in a record. The caller closes it; if it has more than 1 MiB, it is on disk.

    ``request`` is empty and ``method`` is ``GET``, because only the request record has these. Raises ``RecordError`` if
    the block is not whole, or longer than ``most`` bytes.
    """
    body = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - whoever takes the exchange closes it
    size = 0
    try:
        for piece in record.block():
            size += body.write(piece)
            if most is not None and size > most:
                raise RecordError(f"its block has more than {most} bytes")
        body.seek(0)
    except BaseException:
        body.close()
        raise
    told = {name.lower(): value for name, value in reversed(record.header.fields)}

    def field(name: str) -> str:
        return told.get(name.lower(), "")

    return Exchange(
        url=field("WARC-Target-URI").strip("<>"),
        method="GET",
        request=b"",
        response=cast("BinaryIO", body),
        response_size=size,
        payload_digest=unlabelled_digest(field("WARC-Payload-Digest")),
        ip_address=field("WARC-IP-Address"),
        started_at=record_date(field("WARC-Date")) or _UNDATED,
        # What a revisit leaves out is not lost.
        truncated=None if record.kind == "revisit" else _truncation(field("WARC-Truncated")),
        session=field(SESSION),
        redacted=field(REDACTED),
        tls_problem=field(TLS_PROBLEM),
        resource_type=field(RESOURCE_TYPE),
        shown_on=field(SHOWN_ON),
        memento=memento_of(record.header),
    )


def memento_of(header: Header) -> Memento | None:
    """Return the archive and capture from which a response was taken; None if it came from its own site.

    If other software recorded the archive, but not the moment of the request, the moment of the capture is used.
    """
    uri = header.get(SOURCE_URI)
    if not uri:
        return None
    obtained_at = record_date(header.get(CREATION_DATE)) or record_date(header.get("WARC-Date")) or _UNDATED
    archive = header.get(SOURCE_ARCHIVE) or urlsplit(uri).netloc
    return Memento(uri, archive, header.get(SOURCE) or archive, obtained_at, is_raw=not header.get(REWRITTEN))


def _truncation(reason: str) -> Truncation | None:
    """Return why a response is truncated; unknown reasons, from other software, count as unspecified."""
    try:
        return Truncation(reason.lower()) if reason else None
    except ValueError:
        return Truncation.UNSPECIFIED


def rendered_in(record: Record) -> Rendered | None:
    """Return the rendered document in a record; None if it holds none.

    Raises ``RecordError`` if it is not whole, or too large to be read.
    """
    if record.kind != "resource" or not record.header.get("WARC-Target-URI").strip("<>").startswith(DOM):
        return None
    header = record.header
    made_of = tuple(header.get(MADE_OF).split())
    return Rendered(record.whole_block(MAX_DOM_LENGTH), header.get(DOCUMENT_URL), header.record_id, made_of)


def metadata_in(record: Record) -> Metadata | None:
    """Return the metadata of a response from a metadata record; None if the record holds something else.

    Raises ``RecordError`` if it is not whole, or too large to be read.
    """
    return (
        metadata_if_readable(record.whole_block(MAX_METADATA_LENGTH))
        if record.header.get("Content-Type") == MEDIA_TYPE
        else None
    )


def appended(file: BinaryIO, begin: int = 0) -> Iterator[Appended]:
    """Yield the captures in a file from the member at ``begin`` on, leaving out damaged ones.

    Raises only ``OSError``. Memory use does not depend on the size of a response.
    """
    crawl = _crawl_number(Member(file, 0)) if begin else 0
    last: Appended | None = None
    for member in members(file, begin):
        try:
            record = Record(member)
            match record.kind:
                case "warcinfo":
                    crawl = _number_in(record)
                case "response" | "revisit":
                    if last is not None:
                        yield last
                    last = None
                    last = Appended(record.offset, record.header, _head_of(record), crawl)
                case "metadata" | "request" | "resource" if last is not None and record.is_of(last.header.record_id):
                    last = _with_record(last, record)
        except RecordError:
            continue
    if last is not None:
        yield last


def _with_record(last: Appended, record: Record) -> Appended:
    """Add the content of another record of the same capture to a response."""
    match record.kind:
        case "request":
            return replace(last, asked=_asked(record))
        case "resource":
            target, offset = record.header.get("WARC-Target-URI").strip("<>"), record.offset
            record.skip()
            kept = KeptResource(record.header.record_id, target, offset)
            return replace(last, resources=(*last.resources, kept)[:_MAX_RESOURCES])
        case _:
            return _with_metadata(last, record)


def _asked(record: Record) -> AskedRequest:
    """Return the method and body of a request record, reading only as much of the body as is used."""
    message = HttpPayload()
    body = bytearray()
    for piece in record.block():
        sent = message.feed(piece)
        body += sent[: max(MAX_BODY_LENGTH + 1 - len(body), 0)]
    return AskedRequest.of(message.beginning, bytes(body))


def _with_metadata(last: Appended, record: Record) -> Appended:
    """Add the content of a metadata record to its response."""
    media_type = record.header.get("Content-Type")
    if media_type == HTTP_RESPONSE:
        return replace(last, http_head=_head_of(record))
    if media_type == MEDIA_TYPE and last.metadata is None:
        return replace(last, metadata=record.whole_block(MAX_METADATA_LENGTH), metadata_offset=record.offset)
    return last


def _head_of(record: Record) -> bytes:
    """Return the head of the HTTP message in a record, reading the record to its end."""
    beginning = bytearray()
    for piece in record.block():
        if len(beginning) < HEAD:
            beginning += piece
    return beginning_of(bytes(beginning))


def _crawl_number(member: Member) -> int:
    try:
        record = Record(member)
        return _number_in(record) if record.kind == "warcinfo" else 0
    except RecordError:
        return 0


def _number_in(warcinfo: Record) -> int:
    for line in warcinfo.whole_block(_MAX_INFO_LENGTH).splitlines():
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"crawl-number" and value.strip().isdigit():
            return int(value.strip()[:9])
    return 0
