"""Rewrite files of gzip members without some of them: write a new file beside the old one, then replace it.

Repeating a rewrite gives the same file, so a takedown can be finished after a kill.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, cast

from pydantic import BaseModel, ConfigDict

from aahcrawler.archive.payload import HEAD, HttpPayload, beginning_of, is_chunked
from aahcrawler.archive.record_access import Record, RecordError
from aahcrawler.archive.records import header
from aahcrawler.archive.scanning import MAX_HEADER_LENGTH, Header, Member, MemberError, magic_places, members, salvaged
from aahcrawler.segments import no_link
from aahcrawler.segments.reader import sync_folder

_DAMAGE_PIECE = 1 << 20


class RecordPlace(BaseModel):
    """The bytes of a crawl's file from ``begin`` up to ``end``; ``digest`` is their SHA-256.

    ``file`` is the path within the crawl's folder.
    """

    model_config = ConfigDict(frozen=True)

    file: str
    begin: int
    end: int
    digest: str

    def __str__(self) -> str:
        return f"{self.file}, bytes {self.begin} to {self.end}"


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged place, and the ``text`` decompressed from its beginning, which no checksum confirms."""

    place: RecordPlace
    text: bytes


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of a file that belong to no whole member."""

    path: Path
    begin: int
    end: int


def walk(path: Path, beginning: bytes, take: Callable[[Member], None]) -> Iterator[Gap]:
    """Call ``take`` with each member of a file, and yield the gaps between whole members, in order.

    ``take`` must raise ``MemberError`` for a member that is not whole. Raises ``OSError``.
    """
    with path.open("rb") as file:
        begin: int | None = None
        for member in members(file, 0, beginning):
            if begin is not None:
                yield Gap(path, begin, member.offset)
                begin = None
            try:
                take(member)
            except MemberError:
                begin = member.offset
        if begin is not None:
            yield Gap(path, begin, file.seek(0, 2))


def damaged(crawl: Path, gap: Gap, beginning: bytes, starts: Iterable[int] = ()) -> Iterator[Damaged]:
    """Yield the damaged members in a gap: at the given ``starts``, and wherever one can begin to be decompressed."""
    with gap.path.open("rb") as file:
        known = {gap.begin, *(start for start in starts if gap.begin < start < gap.end)}
        for start in magic_places(file, gap.begin + 1):
            if start >= gap.end:
                break
            if salvaged(file, start, gap.end, len(beginning)).startswith(beginning):
                known.add(start)
        for begin, end in pairwise((*sorted(known), gap.end)):
            place = RecordPlace(
                file=str(gap.path.relative_to(crawl)), begin=begin, end=end, digest=digest_of(file, begin, end)
            )
            yield Damaged(place, salvaged(file, begin, end, MAX_HEADER_LENGTH))


def digest_of(file: BinaryIO, begin: int, end: int) -> str:
    """Return the SHA-256 of the bytes of a file from ``begin`` up to ``end`` or the end of the file."""
    digest = hashlib.sha256()
    file.seek(begin)
    while begin < end and (piece := file.read(min(_DAMAGE_PIECE, end - begin))):
        digest.update(piece)
        begin += len(piece)
    return digest.hexdigest()


PART = ".removing"
"""The suffix of a file that is being rewritten; a file with it that a kill left behind is ignored."""
_PIECE = 1 << 16
_IN_MEMORY = 1 << 22
_REFERENCES = frozenset(
    {"warc-profile", "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date", "warc-truncated"}
)
_MEASURED = frozenset({"warc-block-digest", "content-length"})

Original = tuple[Path, int]
"""A WARC file, and where in it a record begins."""


def without_places(path: Path, places: Iterable[RecordPlace]) -> bool:
    """Cut damaged places out of a file, unless their bytes have changed since they were found.

    Return whether any were cut. Raises ``OSError``; the file is then unchanged.
    """

    def changes(file: BinaryIO) -> Iterator[_Change]:
        for place in sorted(places, key=lambda each: each.begin):
            if digest_of(file, place.begin, place.end) == place.digest:
                yield _Change(place.begin, place.end, iter(()))

    return _rewritten(path, changes)


def without_records(path: Path, captures: Set[str]) -> bool:
    """Remove whole records of captures, given by the ids of their records, from a WARC file.

    Return whether any were removed. Raises ``OSError``; the file is then unchanged.
    """

    def instead(member: Member) -> Iterator[bytes] | None:
        try:
            record = Record(member)
        except RecordError:
            return None
        fields = record.header
        named = {fields.record_id, *fields.concurrent_to}
        about = fields.get("WARC-Refers-To").strip("<>") if record.kind == "metadata" else ""
        return iter(()) if captures & {*named, about} else None

    return _rewritten(path, lambda file: _changes(file, instead))


def with_payloads(path: Path, promoted: Mapping[str, Original]) -> bool:
    """Turn revisits of a WARC file into responses with the same ids, with payloads copied from their originals.

    Return whether there were any. Raises ``OSError`` and ``RecordError``; the file is then unchanged.
    """

    def instead(member: Member) -> Iterator[bytes] | None:
        try:
            record = Record(member)
            place = promoted.get(record.header.record_id) if record.kind == "revisit" else None
            return (
                None if place is None else _promoted(record.header, beginning_of(record.whole_block(2 * HEAD)), place)
            )
        except RecordError:
            return None

    return _rewritten(path, lambda file: _changes(file, instead))


def without_members(path: Path, beginning: bytes, is_unwanted: Callable[[bytes], bool]) -> bool:
    """Remove the whole members for whose text ``is_unwanted`` returns True from a segment.

    Return whether any were removed. ``beginning`` is what each text begins with. Raises ``OSError``; the file is then
    unchanged.
    """

    def instead(member: Member) -> Iterator[bytes] | None:
        try:
            text = b"".join(iter(member.read, b""))
        except MemberError:
            return None
        return iter(()) if is_unwanted(text) else None

    return _rewritten(path, lambda file: _changes(file, instead, beginning))


@dataclass(frozen=True, slots=True)
class _Change:
    begin: int
    end: int
    instead: Iterator[bytes]


def _rewritten(path: Path, changes_in: Callable[[BinaryIO], Iterator[_Change]]) -> bool:
    part = path.with_name(path.name + PART)
    with path.open("rb") as file:
        changes = changes_in(file)
        first = next(changes, None)
        if first is None:
            return False
        with open(part, "wb", opener=no_link) as beside:
            copied = _write(file, beside, 0, first)
            for change in changes:
                copied = _write(file, beside, copied, change)
            _copy(file, beside, copied, file.seek(0, os.SEEK_END))
            beside.flush()
            os.fsync(beside.fileno())
    part.replace(path)
    sync_folder(path.parent)
    return True


def _changes(
    file: BinaryIO, instead: Callable[[Member], Iterator[bytes] | None], beginning: bytes = b"WARC/"
) -> Iterator[_Change]:
    for member in members(file, 0, beginning):
        found = instead(member)
        if found is not None and member.is_whole():
            yield _Change(member.offset, member.end, found)


def _write(file: BinaryIO, beside: IO[bytes], copied: int, change: _Change) -> int:
    _copy(file, beside, copied, change.begin)
    for piece in change.instead:
        beside.write(piece)
    return change.end


def _copy(file: BinaryIO, beside: IO[bytes], begin: int, end: int) -> None:
    file.seek(begin)
    while begin < end and (piece := file.read(min(_PIECE, end - begin))):
        beside.write(piece)
        begin += len(piece)


def _promoted(revisit: Header, head: bytes, place: Original) -> Iterator[bytes]:
    """Yield the gzip member of the response that replaces a revisit: the revisit's head, its original's payload."""
    with SpooledTemporaryFile(_IN_MEMORY) as spool:
        block = cast("IO[bytes]", spool)
        block.write(head)
        _write_payload(block, place, chunked=is_chunked(head))
        size = block.tell()
        block.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        for piece in iter(lambda: block.read(_PIECE), b""):
            digest.update(piece)
        block.seek(0)
        kept = tuple(
            (name, "response" if name.lower() == "warc-type" else value)
            for name, value in revisit.fields
            if name.lower() not in _REFERENCES | _MEASURED
        )
        squeeze = zlib.compressobj(6, wbits=31)
        yield squeeze.compress(header(kept, digest.digest(), size))
        for piece in iter(lambda: block.read(_PIECE), b""):
            yield squeeze.compress(piece)
        yield squeeze.compress(b"\r\n\r\n") + squeeze.flush()


def _write_payload(block: IO[bytes], place: Original, *, chunked: bool) -> None:
    path, offset = place
    payload = HttpPayload()
    with path.open("rb") as file:
        for piece in Record(Member(file, offset)).block():
            data = payload.feed(piece)
            if data and chunked:
                block.write(b"%x\r\n%b\r\n" % (len(data), data))
            elif data:
                block.write(data)
    if chunked:
        block.write(b"0\r\n\r\n")
