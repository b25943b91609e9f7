"""Converts foreign records to the WARC 1.1 records that are kept, adding what they lack and mending faults."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from aahcrawler.archive.records import (
    HTTP_RESPONSE,
    LONG_HTTP_RESPONSE,
    MAX_HEAD_LENGTH,
    is_http,
    labelled_digest,
    warc_date,
)
from aahcrawler.archive.scanning import Header, record_date, timestamp
from aahcrawler.imports.foreign_records import ForeignRecord

_OURS: Final = UUID("5b1f3a52-4c0b-5d0e-9c55-0c6c1f1f7a51")
"""Ids of records that have none, or that of another record, are made in this namespace from what they hold."""
_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]{1,200}")
_FIELD: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:")
_PAYLOADS: Final = frozenset({"response", "resource"})


class UnusableError(Exception):
    """Raised for a record that could never be looked up or read; the message says why."""


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record to be written, without its block. ``identity`` is the same for equal records with equal ids.

    ``notes`` tell what was mended. Missing digests have been added to its ``lines``.
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
    """Return a date in the form of WARC 1.1, unchanged if it has that form. Raises ``UnusableError``."""
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


__all__ = ["HTTP_RESPONSE", "KeptRecord", "UnusableError", "kept_record"]
