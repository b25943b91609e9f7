"""Reads the text of a segment by whole gzip members, from any of them on."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from isal import isal_zlib

from aahcrawler.segments.series import OPEN, DamageError

_CHUNK = 1 << 16
InflateError: Final = cast("type[Exception]", isal_zlib.error)
"""Raised by ISA-L for compressed data that are damaged; its stubs call it an instance."""


class Members:
    """The members of a segment from the byte ``begin`` on, each the statements of a capture.

    ``end`` is the end of the last member that was read, from which reading can continue another time. ``statements``
    counts the lines read. Members that are not ``wanted``, by their first byte and their text, are passed over. Reading
    raises ``DamageError`` where there is no whole member.
    """

    def __init__(self, file: BinaryIO, begin: int = 0, wanted: Callable[[int, bytes], bool] | None = None) -> None:
        self.size = file.seek(0, os.SEEK_END)
        self.end = begin
        self.statements = 0
        self._wanted = wanted
        self._file = file
        self._pending = b""
        file.seek(begin)

    def member(self) -> bytes:
        """Return the text of the next member that is wanted; nothing at the end."""
        while self.end < self.size:
            begin, text = self.end, self._next()
            if self._wanted is None or self._wanted(begin, text):
                self.statements += text.count(b"\n")
                return text
        return b""

    def _next(self) -> bytes:
        begin, inflate, pieces = self.end, isal_zlib.decompressobj(wbits=31), []
        try:
            while not inflate.eof:
                pieces.append(inflate.decompress(self._piece()))
                self.end += len(self._pending) - len(inflate.unused_data)
                self._pending = inflate.unused_data
        except (OSError, InflateError) as error:
            raise DamageError(f"at byte {begin}: {error}") from error
        return b"".join(pieces)

    def _piece(self) -> bytes:
        self._pending = self._pending or self._file.read(_CHUNK)
        if not self._pending:
            raise OSError("it ends in the middle of a capture")
        return self._pending

    def stream(self, most: int) -> BinaryIO:
        """Return the text of the next members as a file; it ends after the member with which it reaches ``most``."""
        return io.BufferedReader(_Stream(self, most), _CHUNK)


class _Stream(io.RawIOBase):
    def __init__(self, members: Members, most: int) -> None:
        self._members = members
        self._left = most
        self._text = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._text and self._left > 0:
            self._text = memoryview(self._members.member())
            self._left -= len(self._text)
        with memoryview(buffer) as view:
            piece = self._text[: len(view)]
            view[: len(piece)] = piece
        self._text = self._text[len(piece) :]
        return len(piece)


def identity(path: Path, file: BinaryIO) -> str:
    """Return the identity of a segment, open or closed: its final name, and a digest of its first capture.

    The name alone would not do: crawls of one id may have begun in the same second. Leaves ``file`` anywhere. Raises
    as ``Members`` does.
    """
    digest = hashlib.sha256(Members(file).member()).hexdigest()
    return f"{path.name.removesuffix(OPEN)}:{digest[:16]}"
