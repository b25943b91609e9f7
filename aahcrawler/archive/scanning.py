"""Read the gzip members and records of a WARC file, and find the faults that a single record shows (ISO 28500)."""

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import BinaryIO

from isal import isal_zlib

from aahcrawler.archive.payload import HttpPayload
from aahcrawler.archive.records import is_http
from aahcrawler.request_queries import MAX_BODY_LENGTH
from aahcrawler.segments.reader import InflateError

_PIECE = 1 << 16
_MAGIC = b"\x1f\x8b\x08"
_HEADER = 10
_WARC = b"WARC/"
_STEP = 512


class MemberError(Exception):
    """Raised when the compressed data of a member cannot be trusted any further."""


class TornError(MemberError):
    """Raised when the file ends in the middle of a member."""


class Member:
    """A gzip member. ``offset`` is its first byte in the file; ``end`` is the offset after it, once it was read."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self.offset = offset
        self._file = file
        self._position = offset
        self._inflate = isal_zlib.decompressobj(wbits=31)

    @property
    def end(self) -> int:
        """The offset after the bytes read so far."""
        unused = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        return self._position - len(unused)

    @property
    def is_none(self) -> bool:
        """Return whether no gzip member begins at this offset."""
        self._file.seek(self.offset)
        return self._file.read(len(_MAGIC)) != _MAGIC

    def read(self, size: int = _PIECE) -> bytes:
        """Return at most ``size`` bytes; none at the member's end, after its checksum was verified.

        Raises ``MemberError`` for damaged data and ``TornError`` if the file ends too early.
        """
        while not self._inflate.eof:
            compressed = self._inflate.unconsumed_tail or self._more()
            try:
                piece = self._inflate.decompress(compressed, size)
            except InflateError as error:
                raise MemberError(str(error)) from error
            if piece:
                return piece
        return b""

    def is_whole(self) -> bool:
        """Read the rest of the member, and return whether its checksum is right."""
        try:
            while self.read():
                pass
        except MemberError:
            return False
        return True

    def _more(self) -> bytes:
        # Other members may be read in between, so the file's own position cannot be relied on.
        self._file.seek(self._position)
        compressed = self._file.read(_PIECE)
        if not compressed:
            raise TornError(f"the file ends {self._position - self.offset} bytes after the member begins")
        self._position += len(compressed)
        return compressed


def members(file: BinaryIO, begin: int = 0, beginning: bytes = _WARC) -> Iterator[Member]:
    """Yield each member of a file from ``begin`` on, including those whose data turn out to be damaged.

    After a damaged member, the next is the first whole one whose text starts with ``beginning``; bytes in between
    belong to no member. The caller may read any part of a member; this function reads the rest.
    """
    offset: int | None = begin
    while offset is not None and _has(file, offset):
        member = Member(file, offset)
        yield member
        if member.is_whole():
            offset = member.end
        else:
            places = magic_places(file, offset + 1)
            offset = next((place for place in places if _begins(file, place, beginning)), None)


def magic_places(file: BinaryIO, begin: int) -> Iterator[int]:
    """Yield each offset from ``begin`` on at which the first bytes of a gzip member occur; nothing else is checked."""
    position, kept = begin, b""
    while True:
        file.seek(position)
        piece = file.read(_PIECE)
        if not piece:
            return
        window = kept + piece
        at = window.find(_MAGIC)
        while at >= 0:
            yield position - len(kept) + at
            at = window.find(_MAGIC, at + 1)
        position += len(piece)
        kept = window[-len(_MAGIC) + 1 :]


def salvaged(file: BinaryIO, begin: int, end: int, most: int) -> bytes:
    """Return about ``most`` bytes decompressed from a damaged member before the damage; no checksum is verified.

    If the member's own header is damaged, its data are decompressed without it.
    """
    for skipped, wbits in ((0, 31), (_HEADER, -15)):
        if found := _unpacked(file, begin + skipped, end, most, wbits):
            return found
    return b""


def _unpacked(file: BinaryIO, begin: int, end: int, most: int, wbits: int) -> bytes:
    inflate, found, position = zlib.decompressobj(wbits=wbits), bytearray(), begin
    while position < end and len(found) < most and not inflate.eof:
        file.seek(position)
        piece = file.read(min(_STEP, end - position))
        if not piece:
            break
        before = inflate.copy()
        try:
            found += inflate.decompress(piece)
        except zlib.error:
            return bytes(found + _up_to_the_damage(before, piece))
        position += len(piece)
    return bytes(found)


def _up_to_the_damage(inflate: "zlib._Decompress", piece: bytes) -> bytes:
    """Decompress byte by byte, because zlib discards the output of a call in which it meets damage."""
    found = bytearray()
    for at in range(len(piece)):
        try:
            found += inflate.decompress(piece[at : at + 1])
        except zlib.error:
            break
    return bytes(found)


def _has(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    return bool(file.read(1))


def _begins(file: BinaryIO, offset: int, beginning: bytes) -> bool:
    """Return whether a whole member whose text starts with ``beginning`` is at this offset."""
    member = Member(file, offset)
    try:
        return member.read(len(beginning)) == beginning and member.is_whole()
    except MemberError:
        return False


MAX_HEADER_LENGTH = 1 << 20
MANDATORY = ("WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length")

_VERSION = re.compile(rb"WARC/[01]\.\d{1,2}")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_ID = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+>")
_DATE = re.compile(r"(\d{4}(?:-\d\d){0,2}|\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d)(?:\.\d{1,9})?Z)?", re.ASCII)
_REPEATABLE = frozenset({"warc-concurrent-to", "warc-protocol"})
_BLANKS = b" \t"
_WITH_TARGET = frozenset({"response", "resource", "request", "revisit", "conversion", "continuation"})


class Problem(StrEnum):
    """The possible faults of an archive; the value describes the fault in words."""

    TORN = "the record is torn: the file ends in the middle of it"
    DAMAGED = "the compressed data are damaged"
    FOREIGN = "bytes that are no gzip member"
    HEADER = "the record's header is not as the standard wants it"
    LENGTH = "the block is not as long as Content-Length says"
    CROWDED = "more follows the record in its gzip member"
    BLOCK_DIGEST = "the block digest is another one"
    PAYLOAD_DIGEST = "the payload digest is another one"
    NO_WARCINFO = "the file does not begin with a warcinfo record"
    FILENAME = "the file has another name than its warcinfo record says"
    DUPLICATE = "the record's id was used before in this file"
    UNLINKED = "the record refers to one that is not in this file"
    ALONE = "the response has no request that names it"
    PROFILE = "the revisit has a profile that is not known"
    ORIGINAL_UNSAID = "the revisit does not name its original"
    ORIGINAL_AWAY = "the revisit refers to a record that is not here"
    ORIGINAL_DIFFERS = "the revisit does not agree with the record it refers to"
    DETACHED = "the metadata record does not name its subject"
    OPEN = "the file was left open by a crawl that was killed"
    WRITING = "the file is being written; it was looked at up to its last whole record"
    UNREADABLE = "the file cannot be read"
    NO_INDEX = "there is no index"
    INDEX_LINE = "the line of the index cannot be read"
    UNSORTED = "the line of the index is out of order"
    UNINDEXED = "the index knows nothing of the file"
    MISSING = "the record is missing from the index"
    STRAY = "the line of the index fits no record"


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a record: names and values in their order."""

    fields: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """Return the first value of a field, whose name may be in any case; empty if there is none."""
        wanted = name.lower()
        return next((value for key, value in self.fields if key.lower() == wanted), "")

    @property
    def record_id(self) -> str:
        """The record's id without angle brackets."""
        return self.get("WARC-Record-ID").strip("<>")

    @property
    def concurrent_to(self) -> tuple[str, ...]:
        """The ids of the records with which this record shares a capture, without angle brackets."""
        return tuple(value.strip("<>") for name, value in self.fields if name.lower() == "warc-concurrent-to")


@dataclass(frozen=True, slots=True)
class Scanned:
    """A record found at ``offset`` of its file, ``size`` compressed bytes long.

    ``http_head`` is the head of the HTTP message in it, as far as it exists. ``body`` is the body of a request other
    than GET, at most ``MAX_BODY_LENGTH`` + 1 bytes, and else empty. ``problems`` are the faults that this record shows,
    with details. A member without a readable record has an empty header.
    """

    offset: int
    size: int
    header: Header
    http_head: bytes = b""
    body: bytes = b""
    problems: tuple[tuple[Problem, str], ...] = ()

    @property
    def kind(self) -> str:
        """The record's type in lower case; empty if unknown."""
        return self.header.get("WARC-Type").lower()

    @property
    def is_whole(self) -> bool:
        """Return whether the record can be read from its beginning to its end."""
        broken = {Problem.TORN, Problem.DAMAGED, Problem.FOREIGN, Problem.LENGTH}
        return bool(self.header.fields) and not any(problem in broken for problem, _ in self.problems)


def scan(file: BinaryIO, begin: int = 0) -> Iterator[Scanned]:
    """Yield every record of a compressed WARC file from offset ``begin`` on, including damaged ones with their faults.

    Memory use depends neither on the size of a record nor on that of the file. Raises only ``OSError``.
    """
    for member in members(file, begin):
        yield _scan(member)


class BlockCheck:
    """Compares the digests in a record's header with those of its block and payload. The block is fed in pieces."""

    def __init__(self, header: Header) -> None:
        self.header = header
        kind = header.get("WARC-Type").lower()
        holds_http = is_http(header.get("Content-Type")) and kind in {"response", "request", "revisit"}
        self.http = HttpPayload() if holds_http else None
        self._block = _Digest(header.get("WARC-Block-Digest"))
        # What a revisit record says of a payload concerns the one it refers to.
        self._payload = _Digest("" if kind == "revisit" else header.get("WARC-Payload-Digest"))
        self._framed = _Digest("" if self.http is None or kind == "revisit" else header.get("WARC-Payload-Digest"))
        self._is_request = kind == "request"
        self._body = bytearray()

    @property
    def body(self) -> bytes:
        """The body of a request other than GET, at most ``MAX_BODY_LENGTH`` + 1 bytes."""
        return bytes(self._body[: MAX_BODY_LENGTH + 1])

    @property
    def is_proven(self) -> bool:
        """Whether the header has a block digest of a known algorithm, and it matches the bytes fed."""
        return self._block.is_known and not self._block.differs

    def feed(self, piece: bytes) -> bytes:
        """Process bytes of the block, and return the bytes of the payload among them."""
        self._block.update(piece)
        if self.http is None:
            self._payload.update(piece)
            return piece
        begun = self.http.head is not None
        payload = self.http.feed(piece)
        self._payload.update(payload)
        if self._is_request and len(self._body) <= MAX_BODY_LENGTH and not self.http.beginning.startswith(b"GET "):
            self._body += payload
        if begun and self.http.chunked:
            self._framed.update(piece)
        elif self.http.chunked:
            self._framed.update(self.http.rest)
        return payload

    def problems(self) -> Iterator[tuple[Problem, str]]:
        """Yield the digests that differ."""
        if self._block.differs:
            yield Problem.BLOCK_DIGEST, self._block.stated()
        if self._payload.differs:
            chunked = self.http is not None and self.http.chunked and not self._framed.differs
            why = "; it was made of the chunks' frames as well" if chunked else ""
            yield Problem.PAYLOAD_DIGEST, self._payload.stated() + why


class _Digest:
    """A digest from a header, and the actual one; a digest of an unknown algorithm is trusted."""

    def __init__(self, label: str) -> None:
        self._algorithm, _, self._claimed = label.strip().partition(":")
        name = self._algorithm.lower().replace("-", "")
        known = name in {"md5", "sha1", "sha256", "sha384", "sha512"}
        self._hash = hashlib.new(name, usedforsecurity=False) if known else None

    def update(self, piece: bytes) -> None:
        if self._hash is not None:
            self._hash.update(piece)

    @property
    def is_known(self) -> bool:
        return self._hash is not None

    @property
    def differs(self) -> bool:
        if self._hash is None:
            return False
        if len(self._claimed) == 2 * self._hash.digest_size:
            return self._claimed.lower() != self._hash.hexdigest()
        try:
            return base64.b32decode(self._claimed.upper()) != self._hash.digest()
        except ValueError:
            return True

    def stated(self) -> str:
        found = "" if self._hash is None else base64.b32encode(self._hash.digest()).decode("ascii")
        return f"{self._algorithm}:{self._claimed[:80]} is written, {self._algorithm}:{found} is found"


class _Stream:
    """The bytes of a member, with lookahead."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._pending = b""

    def until(self, mark: bytes, most: int) -> bytes | None:
        """Return everything up to and including ``mark``; None if it does not come within ``most`` bytes."""
        found = bytearray(self._pending)
        while (at := found.find(mark)) < 0:
            piece = self._member.read()
            if not piece or len(found) > most:
                self._pending = bytes(found)
                return None
            found += piece
        self._pending = bytes(found[at + len(mark) :])
        return bytes(found[: at + len(mark)])

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; none at the end."""
        piece = self._pending or self._member.read()
        self._pending = piece[size:]
        return piece[:size]


def _scan(member: Member) -> Scanned:
    header, http_head, body = Header(()), b"", b""
    problems: list[tuple[Problem, str]] = []
    try:
        stream = _Stream(member)
        raw = stream.until(b"\r\n\r\n", MAX_HEADER_LENGTH)
        if raw is None:
            while stream.read(MAX_HEADER_LENGTH):
                pass
            problems.append((Problem.HEADER, "it does not end with an empty line"))
        else:
            header, wrong = parse_header(raw)
            problems += [(Problem.HEADER, text) for text in wrong]
            block = BlockCheck(header)
            problems += _read_block(stream, block)
            http_head = block.http.beginning if block.http else b""
            body = block.body
    except TornError as error:
        problems.append((Problem.TORN, str(error)))
    except MemberError as error:
        problems.append((Problem.FOREIGN if member.is_none else Problem.DAMAGED, str(error)))
    return Scanned(member.offset, member.end - member.offset, header, http_head, body, tuple(problems))


def _read_block(stream: _Stream, block: BlockCheck) -> list[tuple[Problem, str]]:
    length = block.header.get("Content-Length")
    known = length.isascii() and length.isdigit() and len(length) <= 18
    missing = int(length) if known else 0
    while missing and (piece := stream.read(missing)):
        block.feed(piece)
        missing -= len(piece)
    if missing:
        return [(Problem.LENGTH, f"{missing} of {length} bytes are missing")]
    closing = b""
    while len(closing) < 4 and (piece := stream.read(4 - len(closing))):
        closing += piece
    more = len(stream.read(1))
    while stream.read(MAX_HEADER_LENGTH):
        more += 1
    found = list(block.problems()) if known else []
    if known and closing != b"\r\n\r\n":
        found.append((Problem.LENGTH, f"two line ends should follow {length} bytes, but it is {closing!r}"))
    elif known and more:
        found.append((Problem.CROWDED, "each record has to be a member of its own"))
    return found


def parse_header(raw: bytes) -> tuple[Header, list[str]]:
    """Return the header of a record, given its bytes with the final empty line, and its faults."""
    header, wrong = read_header(raw)
    return header, wrong + _wrong_fields(header)


def read_header(raw: bytes) -> tuple[Header, list[str]]:
    """Return the header of a record, with only those faults that make lines unreadable."""
    version, *lines = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    wrong = [] if _VERSION.fullmatch(version) else [f"it begins with {version[:40]!r} and not with a version"]
    fields: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in {b" ", b"\t"} and fields:
            name, value = fields[-1]
            fields[-1] = (name, f"{value} {_text(line)}".strip())
            continue
        key, colon, rest = line.partition(b":")
        if colon and _NAME.fullmatch(key):
            fields.append((key.decode("ascii"), _text(rest)))
        else:
            wrong.append(f"{line[:80]!r} is no field")
    return Header(tuple(fields)), wrong


def _wrong_fields(header: Header) -> list[str]:
    wrong = [f"{name} is missing" for name in MANDATORY if not header.get(name)]
    wrong += [f"{name} is missing" for name in _also_mandatory(header) if not header.get(name)]
    names = [name.lower() for name, _ in header.fields]
    repeated = sorted({name for name in names if names.count(name) > 1} - _REPEATABLE) if len(names) < 1000 else []
    wrong += [f"{name} is repeated" for name in repeated]
    record_id, date, length = (header.get(name) for name in ("WARC-Record-ID", "WARC-Date", "Content-Length"))
    if record_id and not _ID.fullmatch(record_id):
        wrong.append(f"WARC-Record-ID {record_id[:80]!r} is no URI in angle brackets")
    if date and timestamp(date) is None:
        wrong.append(f"WARC-Date {date[:80]!r} is no time in UTC")
    if length and not (length.isascii() and length.isdigit()):
        wrong.append(f"Content-Length {length[:80]!r} is no number")
    return wrong


def _also_mandatory(header: Header) -> Iterator[str]:
    """Yield the fields that are mandatory for a record of this type (sections 5.12, 5.16, 6.7.2)."""
    kind = header.get("WARC-Type").lower()
    if kind in _WITH_TARGET:
        yield "WARC-Target-URI"
    if kind == "revisit":
        yield "WARC-Profile"
        if header.get("WARC-Profile").endswith("identical-payload-digest"):
            yield "WARC-Payload-Digest"


def timestamp(date: str) -> str | None:
    """Return the 14 digits of a WARC-Date; None if it is not a time in UTC. A coarser date means its first moment.

    >>> timestamp("2026-01-02T03:04:05.000678Z"), timestamp("2026-01")
    ('20260102030405', '20260101000000')
    """
    match = _DATE.fullmatch(date)
    if match is None or ("T" in date) != date.endswith("Z"):
        return None
    digits = re.sub(r"\D", "", match[1])
    digits += "00000101000000"[len(digits) :]
    try:
        month, day, hour, minute, second = (int(digits[at : at + 2]) for at in range(4, 14, 2))
        datetime(int(digits[:4]), month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return digits


def record_date(date: str) -> datetime | None:
    """Return the time of a WARC-Date in UTC; None if it is invalid. A coarser date means its first moment.

    >>> record_date("2026-01-02T03:04:05.000678Z"), record_date("2026-01")
    (datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc), \
datetime.datetime(2026, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    try:
        found = datetime.fromisoformat(date)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        digits = timestamp(date)
    return None if digits is None else datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)


def _text(raw: bytes) -> str:
    return raw.strip(_BLANKS).decode("utf-8", "replace")
