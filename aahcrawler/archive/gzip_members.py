"""Reads the gzip members of a WARC file one by one, each as a stream, and skips damaged ones."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from isal import isal_zlib

from aahcrawler.segments.members import InflateError

_PIECE = 1 << 16
_MAGIC = b"\x1f\x8b\x08"
_HEADER = 10
_WARC = b"WARC/"
_STEP = 512


class MemberError(Exception):
    """Raised where the compressed data of a member cannot be trusted from here on."""


class TornError(MemberError):
    """The file ends in the middle of the member."""


class Member:
    """A gzip member. ``offset`` is its first byte in the file; ``end`` is the byte after it, once it has been read."""

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
        """Return whether no gzip member begins at that place."""
        self._file.seek(self.offset)
        return self._file.read(len(_MAGIC)) != _MAGIC

    def read(self, size: int = _PIECE) -> bytes:
        """Return at most ``size`` bytes; none at the member's end, after its checksum was verified.

        Raises ``MemberError`` for damaged data and ``TornError`` where the file ends too early.
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
        """Read the rest, and return whether its checksum is right."""
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
    belong to no member. The caller may read any part of a member; the rest is read here.
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
    """Yield each place from ``begin`` on whose first bytes are those of a gzip member; more is not checked."""
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
    """Return about ``most`` bytes that can be unpacked of a damaged member before the damage; no checksum is verified.

    Where the member's own header is damaged, its data are unpacked without it.
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
    """Unpack byte by byte, since zlib discards the output of a call in which it meets damage."""
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
    """Return whether a whole member whose text starts with ``beginning`` is at a place."""
    member = Member(file, offset)
    try:
        return member.read(len(beginning)) == beginning and member.is_whole()
    except MemberError:
        return False
