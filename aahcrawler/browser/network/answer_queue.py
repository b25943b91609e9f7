"""Bytes of an answer on their way to a browser that may be slow."""

import asyncio
import tempfile
from collections import deque
from typing import BinaryIO

_PIECE = 1 << 16


class AnswerQueue:
    """A queue in memory up to a bound, then in an unlinked temporary file.

    ``put`` never waits: who answers is not held up by who reads. Order holds, since all goes to the file until the file
    has been read to its end.
    """

    def __init__(self, memory_bytes: int, file_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._file_bytes = file_bytes
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._file: BinaryIO | None = None
        self._read = 0
        self._written = 0
        self._ended = False
        self._changed = asyncio.Event()

    def put(self, piece: bytes) -> bool:
        """Take bytes; return whether there was room. Nothing may be put after ``end``."""
        if self._file is None and self._size < self._memory_bytes:
            self._pieces.append(piece)
            self._size += len(piece)
        elif not self._write(piece):
            return False
        self._changed.set()
        return True

    def end(self) -> None:
        """Take note that there will be no more."""
        self._ended = True
        self._changed.set()

    async def get(self) -> bytes:
        """Return the next bytes, b"" at the end."""
        while True:
            if self._pieces:
                piece = self._pieces.popleft()
                self._size -= len(piece)
                return piece
            if self._file is not None:
                return self._from(self._file)
            if self._ended:
                return b""
            self._changed.clear()
            await self._changed.wait()

    def discard(self) -> None:
        """Forget what nobody will read."""
        self._pieces.clear()
        self._size = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, piece: bytes) -> bool:
        if self._file is None:
            self._read = self._written = 0
        if self._written + len(piece) > self._file_bytes:
            return False
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed when it has been read
            self._file.seek(self._written)
            self._file.write(piece)
        except OSError:
            return False  # The disk is full: the same as no room.
        self._written += len(piece)
        return True

    def _from(self, file: BinaryIO) -> bytes:
        file.seek(self._read)
        piece = file.read(_PIECE)
        self._read += len(piece)
        if self._read == self._written:
            file.close()
            self._file = None
        return piece
