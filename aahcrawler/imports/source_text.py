"""The text of an archive file, whether in gzip members or plain, with the file offset of each of its bytes.

A text ends where its kind changes: a file may begin plain and continue in gzip members. Damage also ends it.
"""

import io
import os
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO, Final

from isal import isal_zlib

from aahcrawler.archive.scanning import Member, MemberError, magic_places
from aahcrawler.segments.reader import InflateError

GZIP: Final = b"\x1f\x8b\x08"
BLANK: Final = b"\r\n\t "
_PIECE: Final = 1 << 16
_STEP: Final = 512
_TRIED: Final = 1 << 10


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A place in a file: an offset, and an offset into the text of the gzip member that begins there."""

    offset: int
    within: int = 0

    def __str__(self) -> str:
        return f"byte {self.offset}" + (f", {self.within} into its gzip member" if self.within else "")


class TextDamageError(Exception):
    """Raised when the compressed data of a member cannot be trusted any further.

    ``offset`` is where the member begins in the file, ``begin`` where it begins in the text.
    """

    def __init__(self, offset: int, begin: int, reason: str) -> None:
        super().__init__(reason)
        self.offset, self.begin = offset, begin


class SourceText:
    """The text of a file from an offset on, read forwards with lookahead.

    ``position`` counts its bytes from 0. ``file_end`` is the offset of its end in the file, once it was read to its
    end. ``is_packed`` says whether it is in gzip members.
    """

    is_packed = False

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self.position = 0
        self.met: TextDamageError | None = None
        self.file_end = offset
        self._file, self._offset = file, offset
        self._pending = b""
        self._sources: list[Iterator[bytes]] = [self._pieces()]

    def _pieces(self) -> Iterator[bytes]:
        """Yield the text in pieces. Raises ``TextDamageError``."""
        raise NotImplementedError

    def place(self, position: int) -> FilePlace:
        """Return the place in the file of a byte of the text that was not forgotten."""
        raise NotImplementedError

    def is_member_start(self, position: int) -> bool:  # noqa: ARG002 - plain text has none
        """Return whether a gzip member begins at a byte of the text."""
        return False

    def is_member(self, begin: int) -> bool:  # noqa: ARG002
        """Return whether the text consumed since ``begin`` is one whole gzip member, apart from blanks after it."""
        return False

    def forget(self) -> None:
        """Forget the places of consumed bytes."""

    def peek(self, size: int) -> bytes:
        """Return the next ``size`` bytes without consuming them; fewer at the end, and before damage.

        ``met`` then holds the damage. Raises ``TextDamageError`` if there are no bytes before the damage.
        """
        found, known = [self._pending], len(self._pending)
        try:
            while known < size and (piece := self._more()):
                found.append(piece)
                known += len(piece)
        except TextDamageError as damage:
            self.met = damage
            if not known:
                raise
        finally:
            self._pending = b"".join(found) if len(found) > 1 else self._pending
        return self._pending[:size]

    def take(self, size: int) -> None:
        """Consume ``size`` bytes, or all that are left."""
        while size > 0 and (piece := self.read(size)):
            size -= len(piece)

    def read(self, size: int) -> bytes:
        """Consume and return at most ``size`` bytes; none at the end."""
        piece = self._pending or self._more()
        taken, self._pending = piece[:size], piece[size:]
        self.position += len(taken)
        return taken

    def skip_blank(self) -> None:
        """Skip line ends and blanks."""
        while piece := self.peek(1):
            stripped = self._pending.lstrip(BLANK)
            self.position += len(self._pending) - len(stripped)
            self._pending = stripped
            if stripped or not piece:
                return

    def unread(self, spool: IO[bytes], begin: int, end: int) -> None:
        """Put consumed bytes back in front, from a file that is closed once they have been consumed again."""
        rest, self._pending = self._pending, b""
        self._sources.append(iter((rest,) if rest else ()))
        self._sources.append(_pieces_of(spool, begin, end))
        self.position -= end - begin

    def end_here(self) -> None:
        """End the text at the current position."""
        self.file_end = self.place(self.position).offset

    def close(self) -> None:
        """Close the files of bytes that were put back."""
        while self._sources:
            source = self._sources.pop()
            if hasattr(source, "close"):
                source.close()

    def _more(self) -> bytes:
        while self._sources:
            piece = next(self._sources[-1], b"")
            if piece:
                return piece
            self._sources.pop()
        return b""


class PlainText(SourceText):
    """The uncompressed bytes of a file."""

    def _pieces(self) -> Iterator[bytes]:
        at = self._offset
        while True:
            self._file.seek(at)
            piece = self._file.read(_PIECE)
            at += len(piece)
            self.file_end = at
            if not piece:
                return
            yield piece

    def place(self, position: int) -> FilePlace:
        """See ``SourceText.place``."""
        return FilePlace(self._offset + position)


class GzipText(SourceText):
    """The text of gzip members that follow one another."""

    is_packed = True

    def __init__(self, file: BinaryIO, offset: int) -> None:
        super().__init__(file, offset)
        self._starts = deque([(0, offset)])
        self._damage: TextDamageError | None = None

    def _pieces(self) -> Iterator[bytes]:
        at, produced = self._offset, 0
        while _begins_member(self._file, at):
            begin, member = produced, Member(self._file, at)
            if begin or at != self._offset:
                self._starts.append((begin, at))
            try:
                while piece := member.read():
                    produced += len(piece)
                    yield piece
            except MemberError as error:
                damage = TextDamageError(at, begin, str(error))
                yield from _before_the_damage(self._file, at, produced - begin)
                self._damage = damage
                raise damage from error
            at = self.file_end = member.end

    def _more(self) -> bytes:
        piece = super()._more()
        if not piece and self._damage is not None:
            raise self._damage
        return piece

    def place(self, position: int) -> FilePlace:
        """See ``SourceText.place``."""
        begin, offset = next(start for start in reversed(self._starts) if start[0] <= position)
        return FilePlace(offset, position - begin)

    def is_member_start(self, position: int) -> bool:
        """See ``SourceText.is_member_start``."""
        return any(begin == position for begin, _ in self._starts)

    def is_member(self, begin: int) -> bool:
        """See ``SourceText.is_member``."""
        is_end = self.is_member_start(self.position) or not self._pending
        return is_end and [at for at, _ in self._starts if begin <= at < self.position] == [begin]

    def forget(self) -> None:
        """See ``SourceText.forget``."""
        while len(self._starts) > 1 and self._starts[1][0] <= self.position:
            self._starts.popleft()


def text_at(file: BinaryIO, offset: int) -> SourceText:
    """Return the text that begins at a byte of a file."""
    return GzipText(file, offset) if _begins_member(file, offset) else PlainText(file, offset)


def member_beginnings(file: BinaryIO, begin: int) -> Iterator[tuple[int, bytes]]:
    """Yield each offset from ``begin`` on where a gzip member may begin, with the first bytes of its text.

    The cost of each is bounded, so that even a file of nothing but beginnings takes linear time.
    """
    for place in magic_places(file, begin):
        file.seek(place)
        compressed = file.read(_TRIED)
        try:
            text = isal_zlib.decompressobj(wbits=31).decompress(compressed, _TRIED)
        except InflateError:
            continue
        if text:
            yield place, text


def _begins_member(file: BinaryIO, offset: int) -> bool:
    file.seek(offset)
    return file.read(len(GZIP)) == GZIP


def _pieces_of(spool: IO[bytes], begin: int, end: int) -> Iterator[bytes]:
    with spool:
        while begin < end:
            spool.seek(begin)
            piece = spool.read(min(_PIECE, end - begin))
            if not piece:
                return
            begin += len(piece)
            yield piece


def _before_the_damage(file: BinaryIO, offset: int, skipped: int) -> Iterator[bytes]:
    """Yield the text of a damaged member before the damage, after its first ``skipped`` bytes.

    An inflater discards the output of a call in which it meets damage, so the last call is repeated byte by byte.
    """
    inflate, position, left = zlib.decompressobj(wbits=31), offset, skipped
    size = file.seek(0, os.SEEK_END)
    while position < size and not inflate.eof:
        file.seek(position)
        piece = file.read(_STEP)
        position += len(piece)
        before = inflate.copy()
        try:
            text = inflate.decompress(piece)
            is_damaged = False
        except zlib.error:
            text, is_damaged = _byte_by_byte(before, piece), True
        passed = min(left, len(text))
        left -= passed
        if text := text[passed:]:
            yield text
        if is_damaged:
            return


def _byte_by_byte(inflate: "zlib._Decompress", piece: bytes) -> bytes:
    found = io.BytesIO()
    for at in range(len(piece)):
        try:
            found.write(inflate.decompress(piece[at : at + 1]))
        except zlib.error:
            break
    return found.getvalue()
