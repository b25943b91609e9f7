"""Find segments and read their gzip members, including segments that are still being written."""

import errno
import fcntl
import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from isal import isal_zlib

OPEN = ".open"
"""The suffix of a segment while it is being written."""
MARK = ".mark"
"""The suffix, after that, of the file with the length of the segment when it was last forced to disk."""
CHECKPOINT = 64 << 20
CHUNK = 1 << 16

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class SegmentError(Exception):
    """Raised when a segment cannot be written or read; the message names the file and the remedy."""


class DamageError(Exception):
    """Raised when the content of a segment is damaged; the message names the place and the cause."""


class DiskFullError(SegmentError):
    """Raised when the disk is full. Nothing written before is lost, and the same write may be tried again."""


@dataclass(frozen=True, slots=True)
class Series:
    """A series of segments: their folder, the crawl they are named after, and their extension.

    The writer begins a new segment once the current one holds at least ``limit`` bytes, and forces a segment to disk
    after every ``checkpoint`` bytes.
    """

    folder: Path
    crawl: str
    extension: str
    limit: int = 1 << 30
    checkpoint: int = CHECKPOINT

    def name(self, opened: datetime, serial: int) -> str:
        """Return the final name of a segment; characters that are not allowed in file names become ``_``.

        >>> Series(Path("archive"), "my crawl", "warc.gz").name(datetime(2026, 1, 2, tzinfo=UTC), 7)
        'my_crawl-20260102000000-00007.warc.gz'
        """
        return f"{self._prefix}-{opened.astimezone(UTC):%Y%m%d%H%M%S}-{serial:05d}.{self.extension}"

    def next_serial(self) -> int:
        """Return one more than the highest serial number in the folder, finished or not."""
        pattern = re.compile(
            rf"{re.escape(self._prefix)}-\d{{14}}-(\d+)\.{re.escape(self.extension)}(?:{re.escape(OPEN)})?"
        )
        matches = (pattern.fullmatch(path.name) for path in self.folder.iterdir())
        return max((int(match[1]) + 1 for match in matches if match), default=0)

    @property
    def _prefix(self) -> str:
        return re.sub(r"[^\w.-]|^\.", "_", self.crawl, flags=re.ASCII)


def no_link(path: str, flags: int) -> int:
    """Open a file as ``os.open`` does; raise ``OSError`` if the name is a symbolic link. For use as an ``opener``.

    Without this check, somebody who may write to a crawl's folder could make the crawler write elsewhere.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o644)


def private(path: str, flags: int) -> int:
    """Open a file as ``no_link`` does, readable by its owner alone, because it may hold secrets."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    with suppress(OSError):  # Another one's file, which was let be read.
        os.fchmod(descriptor, 0o600)
    return descriptor


def beside(path: Path, suffix: str) -> Path:
    """Return the path with ``suffix`` appended to the file's name."""
    return path.with_name(path.name + suffix)


def sync_folder(folder: Path) -> None:
    """Force the directory entries of a folder to disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def typed(error: OSError, path: Path) -> SegmentError:
    """Return the ``SegmentError`` to raise for an error of the operating system while writing to ``path``."""
    if error.errno in _FULL:
        return DiskFullError(
            f"{path.parent}: no space is left for {path.name} ({error.strerror}). Make room and go on; "
            "everything written before is complete."
        )
    return SegmentError(f"{path}: cannot be written ({error.strerror or error}). Check the disk and its permissions.")


def append_line(path: Path, line: str) -> int:
    """Append a line to a file and force it to disk; return the size of the file afterwards, in bytes.

    If the file ends in a torn line, the new line begins after a line break. Only one process may write at a time, which
    the caller ensures.
    """
    with open(path, "ab+", opener=no_link) as file:
        torn = b""
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            torn = b"" if file.read(1) == b"\n" else b"\n"
        file.write(torn + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
        return file.tell()


_CHUNK = 1 << 16
InflateError: Final = cast("type[Exception]", isal_zlib.error)
"""What ISA-L raises for damaged compressed data; its type stubs declare it as an instance."""


class Members:
    """Read the gzip members of a segment from the byte ``begin`` on; each holds the statements of one capture.

    ``end`` is the offset after the last member read, where reading can continue later. ``statements`` counts the lines
    read. ``wanted`` is asked with the offset and text of each member; members for which it returns False are skipped.
    Reading raises ``DamageError`` at a member that is damaged or cut off.
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
        """Return the text of the next wanted member, or no bytes at the end of the file."""
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
        """Return the texts of the next members as a file, which ends after the member that reaches ``most`` bytes."""
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
    """Return the identity of a segment, whether open or closed: its final name and a digest of its first member.

    The name alone is not unique, because crawls with the same id may begin in the same second. Moves the position of
    ``file``. Raises ``DamageError``.
    """
    digest = hashlib.sha256(Members(file).member()).hexdigest()
    return f"{path.name.removesuffix(OPEN)}:{digest[:16]}"


_MAGIC = b"\x1f\x8b\x08"
_INFLATED = 1 << 20


def segments(folder: Path, extension: str) -> tuple[Path, ...]:
    """Return the segments of a folder, including open ones, in the order in which they were begun.

    Empty if the folder does not exist.
    """
    if not folder.is_dir():
        return ()
    finished = {path.name: path for path in folder.glob(f"*.{extension}")}
    unfinished = {path.name.removesuffix(OPEN): path for path in folder.glob(f"*.{extension}{OPEN}")}
    return tuple(path for _, path in sorted((unfinished | finished).items(), key=lambda item: _order(item[0])))


def extent(folder: Path, extension: str) -> str:
    """Return a digest that changes whenever a segment of the folder is added, grows or is replaced."""
    digest = hashlib.sha256()
    for path in segments(folder, extension):
        with suppress(FileNotFoundError):  # It has been closed since it was listed.
            status = path.stat()
            digest.update(f"{path.name} {status.st_size} {status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def is_open(path: Path) -> bool:
    """Return whether the segment is being written, or was being written when its writer died."""
    return path.name.endswith(OPEN)


def open_segment(path: Path) -> BinaryIO:
    """Open a segment for reading its compressed bytes, up to its last complete member.

    If the segment was closed after it was listed, its final name is opened. Raises ``FileNotFoundError``.
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
    """Yield the lines of a segment's text up to its last complete member, including line breaks.

    Raises ``DamageError`` after yielding the lines before the damage.
    """
    try:
        with closing(open_segment(path)) as raw, gzip.GzipFile(fileobj=raw) as text:
            yield from text
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path}: is damaged ({error}); move it elsewhere, the rest can still be read"
        raise DamageError(message) from error


class _Head(io.RawIOBase):
    """A file that shows only the first ``size`` bytes of another one."""

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
    """Return the number of bytes of an open segment that are complete members."""
    end = _last_mark(path, file)
    while (following := _member_end(file, end)) is not None:
        end = following
    return end


def _member_end(file: BinaryIO, begin: int) -> int | None:
    """Return the offset after the gzip member that begins at ``begin``; None if no complete member begins there."""
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
    """Return the length noted at the last checkpoint; 0 if there is no note that fits the file."""
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
    """Return the sort key of a segment's name: time and serial number, regardless of the crawl."""
    match = re.search(r"-(\d{14}-\d+)\.[^-]*$", name)
    return (match[1] if match else "", name)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery did to a dead writer's segment: ``kept`` bytes remain, ``cut`` bytes of a torn member were removed.

    ``file`` is the final path. If ``kept`` is 0, the file has been deleted.
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
    """Cut the torn member off every segment that a dead writer left open, and close the segment.

    Reads only the bytes after a segment's last checkpoint. Skips segments whose writer is alive. Raises
    ``SegmentError`` if the folder cannot be written to.
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
