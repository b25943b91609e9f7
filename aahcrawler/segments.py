"""Files that only grow: gzip members appended to size-rotated segments, as WARC and N-Quads output both need.

A segment is called ``<crawl>-<14-digit UTC time>-<serial>.<extension>``. While it is being written its name ends in
``.open`` and its writer holds a lock on it; closing it takes the suffix off.

What survives. When ``append`` returns, its bytes are with the operating system: killing the process loses nothing.
They are forced to the disk (fsync) every ``CHECKPOINT`` bytes, on rotation and on close: a power failure loses at most
what came after the last of these. An append that fails, for want of space say, is cut off again, so that the file
always ends with a complete member; a process killed in the middle of one leaves a torn member, which ``recover`` cuts.
"""

import errno
import fcntl
import io
import os
import re
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from fastwarc.stream_io import GzipWriter

OPEN = ".open"
CHECKPOINT = 64 << 20
"""After how many bytes a segment is forced to disk and its length noted: the most that a recovery has to read."""

_MARKS = ".marks"
_MARK_SIZE = 8
_MAGIC = b"\x1f\x8b\x08"
_CHUNK = 1 << 16
_INFLATED = 1 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

Clock = Callable[[], datetime]
Preamble = Callable[[str], Iterable[bytes]]


class SegmentError(Exception):
    """A segment cannot be written or read; the message names the file and says what to do."""


class DiskFullError(SegmentError):
    """There is no room for more. Nothing written before is lost, and the same write may be tried again."""


@dataclass(frozen=True, slots=True)
class Series:
    """Which segments belong together: their folder, the crawl they are named after, and their extension.

    A new segment is begun once the last one holds ``limit`` bytes or more. ``level`` is gzip's.
    """

    folder: Path
    crawl: str
    extension: str
    limit: int = 1 << 30
    level: int = 6

    def name(self, opened: datetime, serial: int) -> str:
        """Return the final name of a segment; characters that file names do not bear become ``_``.

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


@dataclass(frozen=True, slots=True)
class Span:
    """Where an append went: the segment's final name, and the bytes from ``offset`` on."""

    file: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a segment whose writer had died: ``kept`` bytes stayed, ``cut`` bytes of a torn tail went.

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


class SegmentWriter:
    """Appends gzip members to the newest segment of a series, and begins another when that is full.

    A segment comes into being with the first append that needs it and begins with the ``preamble`` made for its name.
    Not for use by two threads at once.
    """

    def __init__(self, series: Series, clock: Clock, preamble: Preamble | None = None) -> None:
        series.folder.mkdir(parents=True, exist_ok=True)
        self._series = series
        self._clock = clock
        self._preamble = preamble
        self._segment: _Segment | None = None

    def ready(self) -> str:
        """Rotate if that is due, make sure a segment is open, and return its final name.

        Raises ``SegmentError`` as ``append`` does.
        """
        return self._current().path.name

    def append(self, *members: Iterable[bytes]) -> Span:
        """Append each of ``members``, given in pieces, as a gzip member of its own; all of them or none.

        Raises ``DiskFullError`` or ``SegmentError``; the file is then as it was before, and the writer is usable.
        """
        segment = self._current()
        offset, size = segment.append(members)
        return Span(segment.path.name, offset, size)

    def close(self) -> None:
        """Force the open segment to disk and give it its final name. Calling it twice does no harm."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _current(self) -> "_Segment":
        if self._segment is not None and self._segment.size >= self._series.limit:
            self.close()
        if self._segment is None:
            self._segment = self._begin()
        return self._segment

    def _begin(self) -> "_Segment":
        opened = self._clock()
        for serial in count(self._series.next_serial()):
            path = self._series.folder / self._series.name(opened, serial)
            with suppress(FileExistsError):
                segment = _Segment(path, self._series.level)
                break
        if self._preamble is not None:
            try:
                segment.append([self._preamble(path.name)])
            except SegmentError:
                segment.discard()
                raise
        return segment


class _Segment:
    """One open segment file."""

    def __init__(self, path: Path, level: int) -> None:
        self.path = path
        self.size = 0
        self._level = level
        self._open_path = _with_suffix(path, OPEN)
        try:
            self._fd = os.open(self._open_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise
        except OSError as error:
            raise _typed(error, path) from error
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        self._checkpoint = 0
        self._renew()

    def append(self, members: Iterable[Iterable[bytes]]) -> tuple[int, int]:
        begin = self.size
        try:
            for pieces in members:
                for piece in pieces:
                    self._gzip.write(piece)
                self._gzip.finish()
            self.size += self._sink.take()
            if self.size - self._checkpoint >= CHECKPOINT:
                self._mark()
        except BaseException as error:
            self._cut(begin)
            if isinstance(error, OSError):
                raise _typed(error, self.path) from error
            raise
        return begin, self.size - begin

    def close(self) -> None:
        try:
            os.fsync(self._fd)
            self._open_path.rename(self.path)
            _with_suffix(self._open_path, _MARKS).unlink(missing_ok=True)
            _sync_folder(self.path.parent)
        except OSError as error:
            raise _typed(error, self.path) from error
        os.close(self._fd)

    def discard(self) -> None:
        """Remove a segment that holds nothing."""
        self._open_path.unlink()
        os.close(self._fd)

    def _renew(self) -> None:
        self._sink = _Sink(self._fd)
        self._gzip = GzipWriter(self._sink, self._level, _CHUNK)

    def _cut(self, size: int) -> None:
        # The compressor still holds pieces of the failed member and would write them later.
        self._sink.detach()
        os.ftruncate(self._fd, size)
        self.size = size
        self._renew()

    def _mark(self) -> None:
        os.fsync(self._fd)
        with _with_suffix(self._open_path, _MARKS).open("ab", buffering=0) as marks:
            marks.write(self.size.to_bytes(_MARK_SIZE, "big"))
        self._checkpoint = self.size


class _Sink:
    """Hands what the compressor gives it to the operating system at once."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd
        self._written = 0

    def write(self, data: bytes) -> int:
        if self._fd is not None:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            self._written += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: no byte is held back."""

    def close(self) -> None:
        """Leave the file alone: it belongs to the segment."""

    def detach(self) -> None:
        self._fd = None

    def take(self) -> int:
        """Return how many bytes were written since the last call."""
        written, self._written = self._written, 0
        return written


def segments(folder: Path, extension: str) -> tuple[Path, ...]:
    """Return the segments of a folder, those still open among them, in the order in which they were begun.

    A folder that does not exist has none.
    """
    if not folder.is_dir():
        return ()
    finished = {path.name: path for path in folder.glob(f"*.{extension}")}
    unfinished = {path.name.removesuffix(OPEN): path for path in folder.glob(f"*.{extension}{OPEN}")}
    return tuple(path for _, path in sorted((unfinished | finished).items(), key=lambda item: _order(item[0])))


def is_open(path: Path) -> bool:
    """Say whether a segment is being written, or was when its writer died."""
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
    size = _complete_size(path, file)
    file.seek(0)
    return io.BufferedReader(_Head(file, size), _CHUNK)


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


def recover(folder: Path, extension: str) -> tuple[Recovered, ...]:
    """Close the segments that a dead writer left open, cutting the torn member off their ends.

    Reads at most ``CHECKPOINT`` bytes and one member of each. Segments whose writer lives are left alone. Raises
    ``SegmentError`` where the folder cannot be written to.
    """
    if not folder.is_dir():
        return ()
    found = []
    for path in sorted(folder.glob(f"*.{extension}{OPEN}")):
        try:
            recovered = _recover(path)
        except OSError as error:
            raise _typed(error, path) from error
        if recovered is not None:
            found.append(recovered)
    for stray in folder.glob(f"*.{extension}{OPEN}{_MARKS}"):
        if not stray.with_name(stray.name.removesuffix(_MARKS)).exists():
            stray.unlink(missing_ok=True)
    return tuple(found)


def _recover(path: Path) -> Recovered | None:
    final = path.with_name(path.name.removesuffix(OPEN))
    fd = os.open(path, os.O_RDWR)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        size = os.fstat(fd).st_size
        with path.open("rb") as file:
            kept = _complete_size(path, file)
        os.ftruncate(fd, kept)
        os.fsync(fd)
        if kept:
            path.rename(final)
        else:
            path.unlink()
        _with_suffix(path, _MARKS).unlink(missing_ok=True)
        _sync_folder(path.parent)
    finally:
        os.close(fd)
    return Recovered(final, kept, size - kept)


def _complete_size(path: Path, file: BinaryIO) -> int:
    """Return up to where an open segment consists of complete members."""
    end = _last_mark(path, file)
    while (following := _member_end(file, end)) is not None:
        end = following
    return end


def _member_end(file: BinaryIO, begin: int) -> int | None:
    """Return where the gzip member that begins at ``begin`` ends; None where there is none, or a torn one."""
    file.seek(begin)
    inflate = zlib.decompressobj(wbits=31)
    position = begin
    while not inflate.eof:
        piece = file.read(_CHUNK if position > begin else _CHUNK >> 3)
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
    """Return the last noted length that holds a member boundary, 0 without one."""
    try:
        marks = _with_suffix(path, _MARKS).read_bytes()
    except FileNotFoundError:
        return 0
    size = os.fstat(file.fileno()).st_size
    for at in range(len(marks) // _MARK_SIZE * _MARK_SIZE - _MARK_SIZE, -1, -_MARK_SIZE):
        mark = int.from_bytes(marks[at : at + _MARK_SIZE], "big")
        if mark <= size:
            file.seek(mark)
            if mark == size or file.read(len(_MAGIC)) == _MAGIC[: size - mark]:
                return mark
    return 0


def _order(name: str) -> tuple[str, str]:
    """Sort by time and serial, whichever crawl a segment is of."""
    match = re.search(r"-(\d{14}-\d+)\.[^-]*$", name)
    return (match[1] if match else "", name)


def _with_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _typed(error: OSError, path: Path) -> SegmentError:
    if error.errno in _FULL:
        return DiskFullError(
            f"{path.parent}: no space is left for {path.name} ({error.strerror}). Make room and go on; "
            "what had been written is complete."
        )
    return SegmentError(f"{path}: cannot be written ({error.strerror or error}). Check the disk and its permissions.")
