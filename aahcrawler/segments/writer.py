"""Append gzip members to segments."""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Self

from isal import isal_zlib

from aahcrawler.segments.reader import MARK, OPEN, SegmentError, Series, beside, no_link, sync_folder, typed

_TOGETHER = 1 << 18
"""Bytes of an append that are held back at most."""

_LEVEL = 2
"""The level of ISA-L's deflate: a quarter of the time of zlib-ng's level 6, for members a tenth larger."""

_GZIP = 16 + 15
"""The ``wbits`` of gzip members."""

Clock = Callable[[], datetime]
Preamble = Callable[[str], Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Span:
    """Where an append was written: the segment's final name and ``size`` bytes from ``offset`` on.

    ``ends`` are the offsets after each of its members, from the beginning of the segment.
    """

    file: str
    offset: int
    size: int
    ends: tuple[int, ...]


class SegmentWriter:
    """Append gzip members to the newest segment of a series, and begin another segment when that one is full.

    A segment is created by the first append to it and begins with the ``preamble`` made for its name. Only one thread
    may use a writer, except for ``sync``.
    """

    def __init__(self, series: Series, clock: Clock, preamble: Preamble | None = None) -> None:
        try:
            series.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise typed(error, series.folder) from error
        self._series = series
        self._clock = clock
        self._preamble = preamble
        self._segment: _Segment | None = None

    def ready(self) -> str:
        """Make sure that a segment with room is open, beginning a new one if needed, and return its final name.

        Raises ``SegmentError`` as ``append`` does.
        """
        return self._current().path.name

    def append(self, *members: Iterable[bytes]) -> Span:
        """Append each of ``members``, given as pieces of bytes, as its own gzip member: either all of them or none.

        Raises ``DiskFullError`` or ``SegmentError``. The file is then as it was before, and the writer remains usable.
        """
        segment = self._current()
        offset, ends = segment.append(map(_packed, members))
        return Span(segment.path.name, offset, segment.size - offset, ends)

    def append_packed(self, member: bytes) -> Span:
        """Append a gzip member made by ``packed_member``. Raises as ``append`` does."""
        segment = self._current()
        offset, ends = segment.append(((member,),))
        return Span(segment.path.name, offset, segment.size - offset, ends)

    def sync(self) -> None:
        """Force appended bytes to disk. Other threads than the appending one may call this.

        Ignores errors of the disk, because the next append or close will raise them.
        """
        segment = self._segment
        if segment is not None:
            with suppress(OSError):
                segment.sync()

    def close(self) -> None:
        """Force the open segment to disk and give it its final name. Closing twice has no effect."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _current(self) -> "_Segment":
        if self._segment is not None and self._segment.is_full:
            self.close()
        if self._segment is None:
            self._segment = self._begin()
        return self._segment

    def _begin(self) -> "_Segment":
        opened = self._clock()
        for serial in count(self._series.next_serial()):
            path = self._series.folder / self._series.name(opened, serial)
            try:
                segment = _Segment(path, self._series)
                break
            except FileExistsError:
                continue
            except OSError as error:
                raise typed(error, path) from error
        if self._preamble is not None:
            try:
                segment.preface(self._preamble(path.name))
            except SegmentError:
                segment.discard()
                raise
        return segment


class _Segment:
    """One open segment file."""

    def __init__(self, path: Path, series: Series) -> None:
        self.path = path
        self.size = 0
        self._series = series
        self._open_path = beside(path, OPEN)
        self._fd = os.open(self._open_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        if path.exists() or not os.fstat(self._fd).st_nlink:
            # Another worker took the name, or a recovery removed the file before it was locked.
            self._open_path.unlink(missing_ok=True)
            os.close(self._fd)
            raise FileExistsError(path)
        self._prefaced = 0
        self._checkpoint = self._synced = 0

    @property
    def is_full(self) -> bool:
        """Return whether another segment is due; a segment that holds only its preamble is never full."""
        return self.size > self._prefaced and self.size >= self._series.limit

    def preface(self, pieces: Iterable[bytes]) -> None:
        self.append([_packed(pieces)])
        self._prefaced = self.size

    def append(self, members: Iterable[Iterable[bytes]]) -> tuple[int, tuple[int, ...]]:
        begin = self.size
        try:
            ends = self._written(members)
            # Not before: what is forced to disk beside this thread counts as safe up to here.
            self.size = ends[-1] if ends else begin
            if self.size - self._checkpoint >= self._series.checkpoint:
                self._mark()
        except BaseException as error:
            os.ftruncate(self._fd, begin)
            self.size = begin
            if isinstance(error, OSError):
                raise typed(error, self.path) from error
            raise
        return begin, ends

    def _written(self, members: Iterable[Iterable[bytes]]) -> tuple[int, ...]:
        """Write compressed members, each given in pieces, and return the offset after each.

        Small pieces are joined, so that the members of one append take few system calls.
        """
        ends, end = [], self.size
        waiting: list[bytes] = []
        held = 0
        for pieces in members:
            for packed in pieces:
                waiting.append(packed)
                held, end = held + len(packed), end + len(packed)
                if held >= _TOGETHER:
                    self._deliver(waiting)
                    waiting, held = [], 0
            ends.append(end)
        self._deliver(waiting)
        return tuple(ends)

    def _deliver(self, waiting: list[bytes]) -> None:
        rest = memoryview(b"".join(waiting))
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def sync(self) -> None:
        size = self.size
        if size > self._synced:
            os.fsync(self._fd)
            self._synced = size

    def close(self) -> None:
        try:
            os.fsync(self._fd)
            self._open_path.rename(self.path)
            beside(self._open_path, MARK).unlink(missing_ok=True)
            sync_folder(self.path.parent)
        except OSError as error:
            raise typed(error, self.path) from error
        os.close(self._fd)

    def discard(self) -> None:
        """Remove a segment that holds nothing."""
        self._open_path.unlink()
        os.close(self._fd)

    def _mark(self) -> None:
        os.fsync(self._fd)
        self._checkpoint = self.size
        # Without its mark the segment is as good, and only slower to recover.
        mark = beside(self._open_path, MARK)
        with suppress(OSError), open(mark, "w", encoding="ascii", opener=no_link) as file:
            file.write(f"{self.size}\n")


def packed_member(pieces: Iterable[bytes]) -> bytes:
    """Return the pieces compressed as one gzip member, exactly as writers append it."""
    return b"".join(_packed(pieces))


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress the pieces as one gzip member, yielding compressed bytes as soon as there are some."""
    compressor = isal_zlib.compressobj(_LEVEL, isal_zlib.DEFLATED, _GZIP)
    for piece in pieces:
        packed = compressor.compress(piece)
        if packed:
            yield packed
    yield compressor.flush()


class SegmentedOutput:
    """Base of classes that write to one series of segments. Leaving a ``with`` block closes the last segment."""

    def __init__(self, segments: SegmentWriter) -> None:
        self._segments = segments

    def sync(self) -> None:
        """Force what was written to disk. Any thread may call this."""
        self._segments.sync()

    def close(self) -> None:
        """Force the current segment to disk and give it its final name. Closing twice has no effect."""
        self._segments.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
