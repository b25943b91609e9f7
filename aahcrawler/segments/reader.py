"""Finds segments and reads them, those that are still being written too."""

import fcntl
import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Generator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from aahcrawler.segments.series import CHUNK, MARK, OPEN, DamageError, beside, sync_folder, typed

_MAGIC = b"\x1f\x8b\x08"
_INFLATED = 1 << 20


def segments(folder: Path, extension: str) -> tuple[Path, ...]:
    """Return the segments of a folder, those still open among them, in the order in which they were begun.

    A folder that does not exist has none.
    """
    if not folder.is_dir():
        return ()
    finished = {path.name: path for path in folder.glob(f"*.{extension}")}
    unfinished = {path.name.removesuffix(OPEN): path for path in folder.glob(f"*.{extension}{OPEN}")}
    return tuple(path for _, path in sorted((unfinished | finished).items(), key=lambda item: _order(item[0])))


def extent(folder: Path, extension: str) -> str:
    """Return a digest that is another one once the segments of a folder have become more, longer or others."""
    digest = hashlib.sha256()
    for path in segments(folder, extension):
        with suppress(FileNotFoundError):  # It has been closed since it was listed.
            status = path.stat()
            digest.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def is_open(path: Path) -> bool:
    """Return whether a segment is being written, or was when its writer died."""
    return path.name.endswith(OPEN)


def open_segment(path: Path) -> BinaryIO:
    """Open the compressed bytes of a segment up to its last complete member; a torn tail is left out.

    A segment that has been closed since it was listed is found under its final name. Raises ``FileNotFoundError``.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return path.with_name(path.name.removesuffix(OPEN)).open("rb")
    if not is_open(path):
        return file
    size = complete_size(path, file)
    file.seek(0)
    return io.BufferedReader(_Head(file, size), CHUNK)


def lines(path: Path) -> Generator[bytes, None, None]:
    """Yield the lines of a segment's text up to its last complete member, line breaks included.

    Raises ``DamageError``, after the lines before the damage.
    """
    try:
        with closing(open_segment(path)) as raw, gzip.GzipFile(fileobj=raw) as text:
            yield from text
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path}: is damaged ({error}); move it elsewhere, the rest can still be read"
        raise DamageError(message) from error


class _Head(io.RawIOBase):
    """The first ``size`` bytes of a file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return (
            self._file.seek(offset + self._size, io.SEEK_SET)
            if whence == io.SEEK_END
            else self._file.seek(offset, whence)
        )

    def readinto(self, buffer: Any, /) -> int:
        with memoryview(buffer) as view:
            piece = self._file.read(max(0, min(self._size - self._file.tell(), len(view))))
            view[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()


def complete_size(path: Path, file: BinaryIO) -> int:
    """Return up to where an open segment consists of complete members."""
    end = _last_mark(path, file)
    while (following := _member_end(file, end)) is not None:
        end = following
    return end


def _member_end(file: BinaryIO, begin: int) -> int | None:
    """Return the end of the gzip member that begins at ``begin``; None where there is none, or a torn one."""
    file.seek(begin)
    inflate = zlib.decompressobj(wbits=31)
    position = begin
    while not inflate.eof:
        piece = file.read(CHUNK if position > begin else CHUNK >> 3)
        if not piece or (position == begin and not piece.startswith(_MAGIC)):
            return None
        position += len(piece)
        try:
            while piece and not inflate.eof:
                inflate.decompress(piece, _INFLATED)
                piece = inflate.unconsumed_tail
        except zlib.error:
            return None
    return position - len(inflate.unused_data)


def _last_mark(path: Path, file: BinaryIO) -> int:
    """Return the length noted at the last checkpoint, 0 where there is no trustworthy note."""
    try:
        noted = beside(path, MARK).read_text("ascii")
        mark = int(noted) if noted.endswith("\n") else 0
    except (OSError, ValueError):
        return 0
    file.seek(0, os.SEEK_END)
    if not 0 < mark <= (size := file.tell()):
        return 0
    file.seek(mark)
    return mark if mark == size or file.read(len(_MAGIC)) == _MAGIC[: size - mark] else 0


def _order(name: str) -> tuple[str, str]:
    """Sort by time and serial, whichever crawl a segment is of."""
    match = re.search(r"-(\d{14}-\d+)\.[^-]*$", name)
    return (match[1] if match else "", name)


@dataclass(frozen=True, slots=True)
class Recovered:
    """The outcome of recovering a dead writer's segment: ``kept`` bytes stayed, ``cut`` bytes of a torn tail went.

    ``file`` is the final path. A segment of which nothing was left (``kept`` is 0) has been removed.
    """

    file: Path
    kept: int
    cut: int

    def __str__(self) -> str:
        if not self.kept:
            return f"{self.file.name}: removed, nothing in it was complete ({self.cut} bytes)"
        torn = f"a torn end of {self.cut} bytes was cut off" if self.cut else "it was complete"
        return f"{self.file.name}: {torn}, {self.kept} bytes are kept"


def recover(folder: Path, extension: str) -> tuple[Recovered, ...]:
    """Close the segments that a dead writer left open, cutting the torn member off their ends.

    Reads only the bytes after a segment's last checkpoint. Segments whose writer lives are left alone. Raises
    ``SegmentError`` where the folder cannot be written to.
    """
    if not folder.is_dir():
        return ()
    found = []
    for path in sorted(folder.glob(f"*.{extension}{OPEN}")):
        try:
            recovered = _recover(path)
        except OSError as error:
            raise typed(error, path) from error
        if recovered is not None:
            found.append(recovered)
    for stray in folder.glob(f"*.{extension}{OPEN}{MARK}"):
        if not stray.with_name(stray.name.removesuffix(MARK)).exists():
            stray.unlink(missing_ok=True)
    return tuple(found)


def _recover(path: Path) -> Recovered | None:
    final = path.with_name(path.name.removesuffix(OPEN))
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None  # another worker closed or mended it in the meantime
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        size = os.fstat(fd).st_size
        with path.open("rb") as file:
            kept = complete_size(path, file)
        os.ftruncate(fd, kept)
        os.fsync(fd)
        if kept:
            path.rename(final)
        else:
            path.unlink()
        beside(path, MARK).unlink(missing_ok=True)
        sync_folder(path.parent)
    finally:
        os.close(fd)
    return Recovered(final, kept, size - kept)
