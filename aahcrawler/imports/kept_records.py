"""Read the records of a foreign file in another process, and convert them to the WARC 1.1 records that are kept.

That process does the slow work: decompression, digests and compression. The writing process decides what is kept, and
in which order, so the result is the same as with a single process.
"""

import hashlib
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from io import BytesIO
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, Final, cast
from uuid import UUID, uuid5

from isal import isal_zlib

from aahcrawler.archive.records import (
    LONG_HTTP_RESPONSE,
    MAX_HEAD_LENGTH,
    is_http,
    labelled_digest,
    warc_date,
)
from aahcrawler.archive.scanning import Header, record_date, timestamp
from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords, Loss
from aahcrawler.segments import packed_member

_OURS: Final = UUID("5b1f3a52-4c0b-5d0e-9c55-0c6c1f1f7a51")
"""The namespace for ids of records that have none, or another record's; they are made from the record's content."""
_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]{1,200}")
_FIELD: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:")
_PAYLOADS: Final = frozenset({"response", "resource"})


class UnusableError(Exception):
    """Raised for a record that could never be looked up or read; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record to be written, without its block. ``identity`` is the same for equal records with equal ids.

    ``notes`` say what was repaired. Missing digests have been added to its ``lines``.
    """

    record_id: str
    lines: tuple[bytes, ...]
    header: Header
    identity: bytes
    notes: tuple[str, ...] = ()

    def renamed(self) -> "KeptRecord":
        """Return the record with a new id, derived from its own and its content."""
        new = uuid5(_OURS, f"{self.record_id} {self.identity.hex()}").urn
        note = f"its id {self.record_id} is that of another record: it is kept as {new}"
        return KeptRecord(new, _set(self.lines, "WARC-Record-ID", f"<{new}>"), self.header, self.identity, (note,))

    def naming(self, ids: Callable[[str], str]) -> "KeptRecord":
        """Return the record with its references to other records replaced by the ids under which these are kept."""
        lines = self.lines
        for name in ("WARC-Concurrent-To", "WARC-Refers-To"):
            named = self.header.get(name).strip("<>")
            if named and ids(named) != named:
                lines = _set(lines, name, f"<{ids(named)}>")
        return (
            self if lines is self.lines else KeptRecord(self.record_id, lines, self.header, self.identity, self.notes)
        )

    def head(self) -> bytes:
        """Return the header in the form in which it is written."""
        return b"\r\n".join((b"WARC/1.1", *self.lines)) + b"\r\n\r\n"

    @property
    def fields(self) -> Header:
        """The header in the form in which it is written, as fields."""
        text = (line.decode("utf-8", "replace").partition(":") for line in self.lines if _FIELD.match(line))
        return Header(tuple((name.strip(), value.strip()) for name, _, value in text))


def kept_record(record: ForeignRecord) -> KeptRecord:
    """Return the record to keep for a foreign one. Raises ``UnusableError``."""
    header, notes = record.header, list[str]()
    lines = tuple(line for line in record.lines if line[:1] in {b" ", b"\t"} or _FIELD.match(line))
    kind = header.get("WARC-Type").lower()
    if not kind:
        notes.append("it has no WARC-Type: it is kept, and nothing shows it")
    if " " in header.get("WARC-Target-URI"):
        notes.append("there are blanks in its URL, which stays so; it is looked up as if each were %20")
    date = _date(header.get("WARC-Date"))
    if date != header.get("WARC-Date"):
        lines = _set(lines, "WARC-Date", date)
        if record.version != "ARC":
            notes.append(f"its WARC-Date {header.get('WARC-Date')[:40]!r} is written as {date}")
    told = "\n".join((kind, header.get("WARC-Target-URI").strip("<>"), date, record.digest.hex()))
    identity = hashlib.sha1(told.encode("utf-8", "replace"), usedforsecurity=False).digest()
    record_id = header.record_id
    if not _ID.fullmatch(record_id):
        if record.version != "ARC":
            notes.append(f"its id {record_id[:80]!r} is no URI" if record_id else "it has no WARC-Record-ID")
        record_id = uuid5(_OURS, identity.hex()).urn
        lines = _set(lines, "WARC-Record-ID", f"<{record_id}>")
    lines = _with_digests(lines, record, kind)
    if len(record.http) > MAX_HEAD_LENGTH and header.get("Content-Type").startswith("application/http"):
        lines = _set(lines, "Content-Type", LONG_HTTP_RESPONSE if kind != "request" else "message/http;msgtype=request")
    return KeptRecord(record_id, lines, header, identity, tuple(notes))


def _with_digests(lines: tuple[bytes, ...], record: ForeignRecord, kind: str) -> tuple[bytes, ...]:
    header = record.header
    if kind in _PAYLOADS and not header.get("WARC-Payload-Digest") and not header.get("WARC-Segment-Number"):
        holds_http = is_http(header.get("Content-Type"))
        if not holds_http or record.http:
            lines = (*lines, f"WARC-Payload-Digest: {labelled_digest(record.payload_digest)}".encode())
    if not header.get("WARC-Block-Digest"):
        lines = (*lines, f"WARC-Block-Digest: {labelled_digest(record.digest)}".encode())
    return lines


def _date(written: str) -> str:
    """Return a date in the format of WARC 1.1; unchanged if it has that format. Raises ``UnusableError``."""
    if timestamp(written) is not None:
        return written
    digits = written if written.isascii() and written.isdecimal() else ""
    if len(digits) >= 14:
        parts = (digits[:4], *(digits[at : at + 2] for at in range(4, 14, 2)))
        found = "{}-{}-{}T{}:{}:{}Z".format(*parts)
        if timestamp(found) is not None:
            return found
    moment = None if digits else record_date(written)
    if moment is None:
        raise UnusableError(f"its date is {written[:40]!r}" if written else "it has no date")
    return warc_date(moment)


def _set(lines: tuple[bytes, ...], name: str, value: str) -> tuple[bytes, ...]:
    """Return lines with the first field of a name set to a value, or with the field added at the end."""
    new, wanted = f"{name}: {value}".encode(), name.lower().encode()
    for at, line in enumerate(lines):
        if line.partition(b":")[0].strip().lower() == wanted:
            return (*lines[:at], new, *lines[at + 1 :])
    return (*lines, new)


RECORD_END: Final = b"\r\n\r\n"
_PIECE: Final = 1 << 20
_PACKED: Final = 1 << 20
"""The reading process compresses blocks of at most this many bytes; it sends larger ones as they are, in pieces."""
_TOGETHER: Final = 1 << 18
"""The bytes sent at once. The pipe holds only a few such pieces, so the reading process waits for the writing one."""
_IN_MEMORY: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record with what is kept of it, or why nothing is; for bytes that are no whole record only a ``Loss``.

    ``member`` is the kept record as a gzip member; empty if it has not been compressed yet.
    """

    found: ForeignRecord | Loss
    kept: KeptRecord | UnusableError | None = None
    member: bytes = b""

    def unpacked(self) -> ForeignRecord:
        """Return the record with its block."""
        found = self.found
        assert isinstance(found, ForeignRecord)  # noqa: S101 (a loss has nothing to be kept)
        if not self.member or not isinstance(self.kept, KeptRecord):
            return found
        text = isal_zlib.decompress(self.member, wbits=31)
        return replace(found, block=BytesIO(text[len(self.kept.head()) : -len(RECORD_END)]))


def prepared(file: BinaryIO, size: int, folder: Path) -> Iterator[Prepared]:
    """Yield the prepared records of a file, in the order of ``ForeignRecords``."""
    for found in ForeignRecords(file, size, folder):
        yield Prepared(found, None if isinstance(found, Loss) else _kept(found))


def _kept(found: ForeignRecord) -> KeptRecord | UnusableError:
    try:
        return kept_record(found)
    except UnusableError as error:
        return error


def read_ahead(path: Path, size: int, folder: Path) -> Iterator[Prepared]:
    """Yield the same from another process, which ends with this iterator. Raises ``OSError``."""
    context = get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(path, size, folder, sending), daemon=True)
    process.start()
    sending.close()
    try:
        with closing(receiving):
            yield from _received(receiving, path, folder)
    finally:
        process.kill()
        process.join()


def _received(receiving: Connection, path: Path, folder: Path) -> Iterator[Prepared]:
    while True:
        try:
            some: list[Prepared] | OSError | None = pickle.loads(receiving.recv_bytes())  # noqa: S301 (of our own process)
        except EOFError:
            raise OSError(f"{path}: the process that read it has ended; import it again") from None
        if some is None:
            return
        if isinstance(some, OSError):
            raise some
        for each in some:
            if isinstance(each.found, Loss) or each.member or isinstance(each.kept, UnusableError):
                yield each
                continue
            with cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY, dir=str(folder))) as block:
                while block.tell() < each.found.size:
                    block.write(receiving.recv_bytes())
                block.seek(0)
                yield replace(each, found=replace(each.found, block=block))


def _read(path: Path, size: int, folder: Path, sending: Connection) -> None:
    """Send the content of a file, several records at a time, and None at its end. Stops if there is no receiver."""
    waiting: list[Prepared] = []
    held = 0

    def send() -> None:
        nonlocal held
        sending.send_bytes(pickle.dumps(waiting))
        waiting.clear()
        held = 0

    try:
        with path.open("rb") as file:
            for each in prepared(file, size, folder):
                found = each.found
                is_large = isinstance(found, ForeignRecord) and found.size > _PACKED
                waiting.append(_to_send(each, is_packed=not is_large))
                held += len(waiting[-1].member) + 1_000
                if held >= _TOGETHER or is_large:
                    send()
                if is_large and isinstance(each.kept, KeptRecord) and isinstance(found, ForeignRecord):
                    found.block.seek(0)
                    while piece := found.block.read(_PIECE):
                        sending.send_bytes(piece)
        send()
        sending.send_bytes(pickle.dumps(None))
    except BrokenPipeError:
        return
    except OSError as error:
        sending.send_bytes(pickle.dumps(OSError(*error.args)))


def _to_send(each: Prepared, *, is_packed: bool) -> Prepared:
    """Return a record, without its block if it was compressed, because the member contains the block."""
    found, kept = each.found, each.kept
    if isinstance(found, Loss):
        return each
    member = b""
    if is_packed and isinstance(kept, KeptRecord):
        found.block.seek(0)
        member = packed_member((kept.head(), found.block.read(), RECORD_END))
    return Prepared(replace(found, block=BytesIO()), kept, member)
