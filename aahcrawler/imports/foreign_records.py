"""Read the records of a WARC or ARC file of any origin: yield whole records, and the places of all other bytes.

Damage costs only the records it affects, as far as others can be recognised: after it, records in gzip members of their
own, or in plain text, are found again; in a gzip member of many records, only those before it are read.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Final, cast

from aahcrawler.archive.records import HTTP_RESPONSE
from aahcrawler.archive.scanning import MAX_HEADER_LENGTH, BlockCheck, Header, read_header
from aahcrawler.imports.source_text import (
    BLANK,
    GZIP,
    FilePlace,
    SourceText,
    TextDamageError,
    member_beginnings,
    text_at,
)

FILE: Final = "filedesc://"
"""The beginning of the URL of the record that describes an ARC file."""
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_MIDDLE: Final = re.compile(r" ([0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]{2,44}) (\d{8,20}) ")
"""IP address and date: URLs and media types may contain blanks, and what follows differs between versions."""


@dataclass(frozen=True, slots=True)
class ArcHeader:
    """The fields of an ARC record's header line, as written."""

    line: str
    url: str
    address: str
    date: str
    media_type: str
    length: str

    @property
    def describes_file(self) -> bool:
        """Whether the record describes the ARC file."""
        return self.url.startswith(FILE)


def arc_header(line: bytes) -> ArcHeader | None:
    """Parse the header line of an ARC record; None if it is not one."""
    text = line.strip(b"\r\n\t ").decode("utf-8", "replace")
    middle = _MIDDLE.search(text)
    if middle is None or not _URL.match(text):
        return None
    media_type, _, rest = text[middle.end() :].partition(" ")
    length = rest.rpartition(" ")[2]
    return ArcHeader(text, text[: middle.start()], middle[1], middle[2], media_type.rstrip(";"), length)


_PIECE: Final = 1 << 16
_IN_MEMORY: Final = 4 << 20
_SPARE: Final = 64 << 20
"""Bytes of a disk that must stay free: a record that would need them is not read."""
_READ_AGAIN: Final = 64 << 20
_HEADER_END: Final = re.compile(rb"\n\r?\n")
_LINE_END: Final = b"\r\n"
_RECORD_END: Final = b"\r\n\r\n"
_MAX_LENGTH: Final = 18
ARC: Final = "ARC"


@dataclass(frozen=True, slots=True)
class ForeignRecord:
    """A whole record. ``lines`` are its original header lines, without the version; ``block`` can be read once.

    ``version`` is ``WARC/1.0`` and the like, or ``ARC`` if the record was converted from ARC. ``digest`` is the SHA-1
    of the block, ``payload_digest`` that of the payload, empty if it has none. ``notes`` list its faults.
    ``is_standard`` means that it is a gzip member of its own, framed as the standard requires. ``http`` is the head of
    the HTTP message in it, ``body`` the body of a request.
    """

    place: FilePlace
    version: str
    header: Header
    lines: tuple[bytes, ...]
    block: IO[bytes]
    size: int
    digest: bytes
    payload_digest: bytes
    http: bytes
    body: bytes
    notes: tuple[str, ...]
    is_standard: bool


@dataclass(frozen=True, slots=True)
class Loss:
    """Bytes of a file up to ``end`` that could not be read as a record, and the reason.

    ``what`` identifies the record if known.
    """

    place: FilePlace
    end: FilePlace
    reason: str
    what: str = ""
    is_record: bool = True

    def __str__(self) -> str:
        what = f"{self.what}: " if self.what else ""
        return f"{self.place}, up to {self.end}: {what}{self.reason}"


class _WrongLengthError(Exception):
    """Raised when the bytes after a block are not the end of a record."""


class ForeignRecords:
    """Reads the records of a file one by one; memory use depends neither on their sizes nor on their number.

    Blocks of more than 4 MiB are kept in ``folder`` while they are read. Each record's block is closed when the next
    one is requested. Raises only ``OSError``.
    """

    def __init__(self, file: BinaryIO, size: int, folder: Path, begin: int = 0) -> None:
        self._file, self._size, self._folder, self._begin = file, size, folder, begin
        self._beginnings = Beginnings(file)
        self._read_again = 0
        self._unproven = 0

    def __iter__(self) -> Iterator[ForeignRecord | Loss]:
        at = self._begin
        while at < self._size:
            text = text_at(self._file, at)
            try:
                yield from self._records_of(text)
            finally:
                text.close()
            at = text.file_end

    def _records_of(self, text: SourceText) -> Iterator[ForeignRecord | Loss]:
        begin = 0
        try:
            while True:
                begin = text.position
                text.skip_blank()
                begin = text.position
                text.forget()
                if not text.peek(1):
                    return
                if not text.is_packed and text.peek(len(GZIP)) == GZIP:
                    text.end_here()
                    return
                found = self._next(text)
                with nullcontext() if isinstance(found, Loss) else found.block:
                    yield found
        except TextDamageError as damage:
            yield self._passed(text, begin, damage)

    def _passed(self, text: SourceText, begin: int, damage: TextDamageError) -> Loss:
        """Skip damage, and return what was lost."""
        text.file_end = self._beginnings.after(damage.offset + 1)
        reason = f"its compressed data are damaged ({damage})"
        if self._unproven:
            reason += f"; {self._unproven} records before it in the same gzip member have no digest that proves them"
        self._unproven = 0
        return Loss(text.place(begin), FilePlace(text.file_end), reason)

    def _next(self, text: SourceText) -> ForeignRecord | Loss:
        """Return the record at the current position, or the loss there. Raises ``TextDamageError``."""
        if text.is_member_start(text.position):
            self._unproven = 0
        start = text.peek(128)
        if begins_warc(start) or start.startswith(b"WARC/"):
            return self._warc(text)
        line = text.peek(MAX_LINE_LENGTH).partition(b"\n")[0]
        header = arc_header(line)
        if header is not None:
            return self._arc(text, header, len(line) + 1)
        begin = text.place(text.position)
        self._beginnings.skip_to_next(text)
        shown = start[:24].split(b"\n")[0]
        return Loss(begin, text.place(text.position), f"no record begins there, but {shown!r}", is_record=False)

    def _warc(self, text: SourceText) -> ForeignRecord | Loss:
        begin, raw = text.position, _header_at(text)
        inner = None if raw is None else first_beginning(raw[5:])
        if raw is None or inner is not None:
            # What comes before the next record is a header that was cut off.
            if inner is None:
                self._beginnings.skip_to_next(text)
            else:
                text.take(inner + 5)
            return Loss(text.place(begin), text.place(text.position), "its header does not end")
        text.take(len(raw))
        version, *lines = raw.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
        header, wrong = read_header(b"\r\n".join((version, *lines)) + _RECORD_END)
        length = header.get("Content-Length")
        if not (length.isascii() and length.isdecimal() and len(length) <= _MAX_LENGTH):
            self._beginnings.skip_to_next(text)
            reason = f"its Content-Length is {length[:40]!r}" if length else "it has no Content-Length"
            return Loss(text.place(begin), text.place(text.position), reason, _named(header))
        is_standard = raw.count(b"\n") == raw.count(_LINE_END)
        notes = [f"its header is not as the standard wants it: {each}" for each in wrong]
        source = _Source(
            begin, version.decode("latin-1").strip(), header, tuple(lines), int(length), _RECORD_END, is_standard
        )
        return self._read(text, source, notes)

    def _arc(self, text: SourceText, told: ArcHeader, size: int) -> ForeignRecord | Loss:
        begin = text.position
        text.take(size)
        if not (told.length.isascii() and told.length.isdecimal() and len(told.length) <= _MAX_LENGTH):
            self._beginnings.skip_to_next(text)
            reason = f"its length is {told.length[:40]!r}"
            return Loss(text.place(begin), text.place(text.position), reason, told.url[:200])
        length = int(told.length)
        header = warc_header_of(told, text.peek(min(length, 64)))
        lines = tuple(f"{name}: {value}".encode() for name, value in header.fields)
        return self._read(text, _Source(begin, ARC, header, lines, length, b"\n"), [])

    def _read(self, text: SourceText, source: "_Source", notes: list[str]) -> ForeignRecord | Loss:
        if source.length > _IN_MEMORY and source.length + _SPARE > shutil.disk_usage(self._folder).free:
            begin = text.place(source.begin)
            self._beginnings.skip_to_next(text)
            reason = f"its {source.length} bytes do not fit on the disk of {self._folder}"
            return Loss(begin, text.place(text.position), reason, _named(source.header))
        block = cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY, dir=str(self._folder)))  # noqa: SIM115 - the reader closes it
        try:
            return self._whole(text, source, block, notes)
        except _WrongLengthError as error:
            return self._resumed(text, source, block, str(error))
        except BaseException:
            block.close()
            raise

    def _whole(self, text: SourceText, source: "_Source", block: IO[bytes], notes: list[str]) -> ForeignRecord:
        """Read a block into a file. Raises ``_WrongLengthError`` and ``TextDamageError``."""
        check, digests = BlockCheck(source.header), _Digests()
        left = source.length
        is_bounded = self._read_again > _READ_AGAIN + 2 * text.position
        try:
            while left and (piece := text.read(min(left, _PIECE))):
                left -= len(piece)
                block.write(piece)
                digests.feed(piece, check.feed(piece))
                if is_bounded and first_beginning(piece) is not None:
                    raise _WrongLengthError("its length is wrong: another record begins in it")
        except TextDamageError as error:
            if beginning_in(block, 0, block.tell()) is not None:
                raise _WrongLengthError(f"its compressed data are damaged ({error})") from error
            raise
        if left:
            raise _WrongLengthError(f"the file ends {left} bytes before it does")
        end = text.position
        notes += self._end(text, source, check)
        is_ended = text.position == end + len(_RECORD_END)
        block.seek(0)
        notes += [f"{problem}: {detail}" for problem, detail in check.problems()]
        http = check.http
        is_response = source.header.get("WARC-Type").lower() == "response"
        if is_response and http is not None and http.chunked and not http.is_whole:
            notes.append("its body is not in the chunked coding that its head names")
        return ForeignRecord(
            place=text.place(source.begin),
            version=source.version,
            header=source.header,
            lines=source.lines,
            block=block,
            size=source.length,
            digest=digests.block.digest(),
            payload_digest=digests.payload.digest(),
            http=b"" if http is None else http.beginning,
            body=check.body,
            notes=tuple(notes),
            is_standard=source.is_standard and is_ended and text.is_member(source.begin),
        )

    def _end(self, text: SourceText, source: "_Source", check: BlockCheck) -> Iterator[str]:
        """Consume the end of a record, and check its gzip member if that ends with it.

        Yields faults that do not lose the record. Raises ``_WrongLengthError`` and ``TextDamageError``.
        """
        is_begun = text.is_member_start(source.begin)
        is_unproven = is_begun and not check.is_proven
        try:
            after = text.peek(MAX_LINE_LENGTH)
        except TextDamageError:
            if is_unproven:
                raise
            after = b""
        # Damage of a member behind this record's costs others.
        if text.met is not None and text.met.begin < text.position and is_unproven:
            raise text.met
        rest = after.lstrip(BLANK)
        is_next = not rest or rest.startswith((b"WARC/", GZIP)) or first_beginning(rest[:MAX_LINE_LENGTH]) == 0
        if not (after.startswith(source.ending) or is_next or check.is_proven):
            raise _WrongLengthError("its length is wrong: no record ends where it should")
        if not is_next and source.version == ARC and not check.is_proven:
            yield "bytes follow it that are no record: its length may be wrong"
        text.take(len(after) - len(rest))
        self._unproven += not check.is_proven

    def _resumed(self, text: SourceText, source: "_Source", block: IO[bytes], reason: str) -> Loss:
        """Resume at the first record that begins after the header of a record of wrong length.

        Return what was lost. The block is closed once the bytes put back from it have been read again.
        """
        size = block.seek(0, os.SEEK_END)
        begin, inner = text.place(source.begin), beginning_in(block, 0, size)
        # A record may begin with the last bytes of the block.
        again = max(0, size - MAX_LINE_LENGTH) if inner is None else inner
        self._read_again += size - again
        text.unread(block, again, size)
        if inner is None:
            self._beginnings.skip_to_next(text)
        return Loss(begin, text.place(text.position), reason, _named(source.header))


@dataclass(frozen=True, slots=True)
class _Source:
    """The header of a record as read, and the bytes that must follow its block."""

    begin: int
    version: str
    header: Header
    lines: tuple[bytes, ...]
    length: int
    ending: bytes
    is_standard: bool = False


class _Digests:
    """The digests of a block and of the payload in it."""

    def __init__(self) -> None:
        self.block = hashlib.sha1(usedforsecurity=False)
        self.payload = hashlib.sha1(usedforsecurity=False)

    def feed(self, piece: bytes, payload: bytes) -> None:
        self.block.update(piece)
        self.payload.update(payload)


def _header_at(text: SourceText) -> bytes | None:
    """Return the header of the record at the current position without consuming it; None if it does not end."""
    size = 1 << 12
    while True:
        found = text.peek(size)
        end = _HEADER_END.search(found)
        if end is not None:
            return found[: end.end()]
        if len(found) < size and text.met is not None:
            raise text.met
        if len(found) < size or size > MAX_HEADER_LENGTH:
            return None
        size *= 4


def _named(header: Header) -> str:
    """Return a description of a record, as far as its header allows."""
    return " ".join(filter(None, (header.get("WARC-Type"), header.get("WARC-Target-URI").strip("<>")[:200])))


ARC_HEADER: Final = "AAH-ARC-Header"
"""The field with the original header line of an ARC record."""


def warc_header_of(told: ArcHeader, beginning: bytes) -> Header:
    """Return the WARC header of an ARC record, without an id, given the beginning of its block.

    A block with a status line becomes a response, the description of the file a ``warcinfo``; everything else, such as
    the responses of name servers, becomes a resource of the media type in the ARC header.
    """
    kind, media_type = "resource", told.media_type
    if told.describes_file:
        kind = "warcinfo"
    elif beginning.startswith(b"HTTP/"):
        kind, media_type = "response", HTTP_RESPONSE
    target = ("WARC-Filename", told.url.removeprefix(FILE)) if told.describes_file else ("WARC-Target-URI", told.url)
    fields = (
        ("WARC-Type", kind),
        target,
        ("WARC-Date", told.date),
        ("WARC-IP-Address", "" if told.describes_file or told.address == "0.0.0.0" else told.address),  # noqa: S104
        ("Content-Type", "" if media_type == "no-type" else media_type),
        ("Content-Length", told.length),
        (ARC_HEADER, told.line),
    )
    return Header(tuple((name, value) for name, value in fields if value))


MAX_LINE_LENGTH: Final = 1 << 13
"""The most bytes of the header line of an ARC record."""
_WARC: Final = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n(?:WARC|Content)-[A-Za-z-]{1,40}[ \t]*:", re.IGNORECASE)
_ARC_TAIL: Final = re.compile(rb" [0-9A-Fa-f.:]{3,45} \d{12,20} [^\n]{0,2048}?-?\w+[ \t]*\r?\n")
_SCHEME: Final = re.compile(rb"(?:https?|ftp|gopher|filedesc|nntp|wais)://|(?:dns|news|mailto|whois):")
_KEPT: Final = f"{ARC_HEADER}: ".encode()
_OVERLAP: Final = MAX_LINE_LENGTH + (1 << 12)
_WINDOW: Final = 1 << 17


def begins_warc(text: bytes) -> bool:
    """Return whether a text begins as a WARC record does."""
    return _WARC.match(text) is not None


def first_beginning(window: bytes) -> int | None:
    """Return the offset of the first record that begins in some bytes; None if none does."""
    found = [at for at in (_first_warc(window), _first_arc(window)) if at is not None]
    return min(found, default=None)


def beginning_in(file: IO[bytes], begin: int, end: int) -> int | None:
    """Return the offset of the first record that begins between two places of an uncompressed file.

    None if none does.
    """
    while begin < end:
        file.seek(begin)
        window = file.read(min(_WINDOW, end - begin))
        found = first_beginning(window)
        if found is not None:
            return begin + found
        if len(window) < _WINDOW:
            return None
        begin += _WINDOW - _OVERLAP
    return None


class Beginnings:
    """The offsets in a file at which records begin, plain or in gzip members, as shown by their first bytes.

    Each byte of the file is examined a bounded number of times, whatever the order of calls.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = (0, -1)
        """Between these two bytes no gzip member begins; at the second one does, or the file ends."""

    def after(self, begin: int) -> int:
        """Return the first such offset from ``begin`` on, or the size of the file."""
        packed = self._next_packed(begin)
        plain = beginning_in(self._file, begin, packed)
        return packed if plain is None else plain

    def skip_to_next(self, text: SourceText) -> None:
        """Skip at least one byte of a text, and then everything up to its next record. Raises ``TextDamageError``."""
        text.take(1)
        if not text.is_packed:
            here = text.place(text.position).offset
            text.take(self.after(here) - here)
            return
        while window := text.peek(_WINDOW):
            found = first_beginning(window)
            if found is not None:
                text.take(found)
                return
            text.take(_WINDOW - _OVERLAP if len(window) == _WINDOW else len(window))

    def _next_packed(self, begin: int) -> int:
        known_from, known = self._packed
        if not known_from <= begin <= known:
            end = self._file.seek(0, os.SEEK_END)
            self._packed = begin, next(_packed_beginnings(self._file, begin), end)
        return self._packed[1]


def _packed_beginnings(file: BinaryIO, begin: int) -> Iterator[int]:
    for place, text in member_beginnings(file, begin):
        stripped = text.lstrip(BLANK)
        if begins_warc(stripped) or _SCHEME.match(stripped):
            yield place


def _first_warc(window: bytes) -> int | None:
    found = _WARC.search(window)
    return None if found is None else found.start()


def _first_arc(window: bytes) -> int | None:
    for tail in _ARC_TAIL.finditer(window):
        line = window.rfind(b"\n", max(0, tail.start() - MAX_LINE_LENGTH), tail.start()) + 1
        scheme = _SCHEME.search(window, line, tail.start())
        # A record that an import made of one of ARC tells its header line: it begins nothing there.
        if scheme is not None and not window.startswith(_KEPT, line):
            return scheme.start()
    return None
