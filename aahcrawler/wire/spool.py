"""Buffers the bytes of a response between the connection and the archive."""

import tempfile
from io import BytesIO
from pathlib import Path
from typing import BinaryIO


class Spool:
    """Collects bytes in memory up to a limit, then in an unlinked temporary file of a folder.

    ``write`` never touches the disk. When ``overdue`` is True, ``spill`` is to be called, from any thread, before much
    more is written; nothing else may be called on the instance until it returns. ``spill`` and ``open`` raise
    ``OSError`` when the disk is full or the folder cannot be written to.
    """

    def __init__(self, folder: Path, memory_bytes: int) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._buffer = bytearray()
        self._file: BinaryIO | None = None
        self.size = 0

    @property
    def overdue(self) -> bool:
        """Return whether more bytes wait in memory than the limit allows."""
        return len(self._buffer) > self._memory_bytes

    @property
    def spilled(self) -> bool:
        """Return whether some of the bytes are on disk."""
        return self._file is not None

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        self._buffer += data
        self.size += len(data)

    def spill(self) -> None:
        """Move the bytes in memory to the temporary file."""
        buffer, self._buffer = self._buffer, bytearray()
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # the exchange owns it
        self._file.write(buffer)
        self._file.flush()

    def open(self) -> BinaryIO:
        """Return all bytes as a file at its start, which the caller closes; the spool cannot be used afterwards."""
        if self._file is None:
            return BytesIO(self._buffer)
        if self._buffer:
            self.spill()
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Discard the collected bytes."""
        self._buffer = bytearray()
        if self._file is not None:
            self._file.close()
