"""Files of lines looked up by their beginnings: sorted ones by bisection, growing ones from what is kept of them."""

import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Protocol

LONGEST_LINE = 1 << 22
"""Bytes of a line beyond which it is read as several."""
_BLOCK = 1 << 16
_FEW = 1 << 13
"""Bytes of a sorted file in which lines are read one after another."""
_SAMPLE = 1 << 10
_MOST_READ = 1 << 28
"""Bytes of new lines that one look takes in; what is beyond is taken in by the next."""


class Lines(Protocol):
    """Lines in the order of bytes, line breaks included. Either method may raise ``OSError``."""

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines from the first that is not less than ``key`` on."""
        ...

    def descending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines that are less than ``key``, the greatest first."""
        ...


class SortedLines:
    """The lines of a file that is sorted and does not change; another one may take its place.

    Where the lines of a key begin is remembered for the next look: lookups go up and down from one place.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: tuple[bytes, int, int] | None = None

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines from the first that is not less than ``key`` on."""
        with self._path.open("rb") as file:
            file.seek(self._beginning(file, key))
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                yield line

    def descending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines that are less than ``key``, the greatest first."""
        with self._path.open("rb") as file:
            yield from _backwards(file, self._beginning(file, key))

    def _beginning(self, file: BinaryIO, key: bytes) -> int:
        inode = os.fstat(file.fileno()).st_ino
        if self._last is None or self._last[:2] != (key, inode):
            self._last = key, inode, _beginning(file, key)
        return self._last[2]


class GrowingLines:
    """The lines of a file that is appended to, in any order. Keeps the beginning of each, up to its second blank.

    ``refresh`` takes in what has been appended. Several threads may use it at once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._keys: list[bytes] = []
        self._size = 0
        self._inode = -1

    def refresh(self) -> None:
        """Take in the whole lines appended since the last time. Raise ``OSError`` where the file is gone."""
        with self._lock, self._path.open("rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_ino != self._inode or stat.st_size < self._size:
                self._keys, self._size, self._inode = [], 0, stat.st_ino
            if stat.st_size > self._size:
                self._keys = sorted(self._keys + list(self._appended(file, stat.st_size)))

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines known from the first that is not less than ``key`` on."""
        keys = self._keys
        with self._path.open("rb") as file:
            for at in range(bisect_left(keys, key), len(keys)):
                yield _line_at(file, keys[at])

    def descending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines known that are less than ``key``, the greatest first."""
        keys = self._keys
        with self._path.open("rb") as file:
            for at in range(bisect_left(keys, key) - 1, -1, -1):
                yield _line_at(file, keys[at])

    def _appended(self, file: BinaryIO, size: int) -> Iterator[bytes]:
        """Yield the beginnings of new lines, each with its line's place behind it."""
        file.seek(self._size)
        most = min(size, self._size + _MOST_READ)
        while self._size < most and (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
            key, blank, rest = line.partition(b" ")
            yield key + blank + rest.partition(b" ")[0] + b" " + self._size.to_bytes(8, "big")
            self._size += len(line)


def _line_at(file: BinaryIO, kept: bytes) -> bytes:
    file.seek(int.from_bytes(kept[-8:], "big"))
    return file.readline(LONGEST_LINE)


def _beginning(file: BinaryIO, key: bytes) -> int:
    """Return where the first line that is not less than ``key`` begins in a sorted file, its size where none is.

    It is bisected down to some lines, which are then read one after another: to read a few bytes at a place costs a
    fraction of a buffered line there.
    """
    handle, low = file.fileno(), 0
    high = os.fstat(handle).st_size
    while high - low > _FEW:
        middle = (low + high) // 2
        begin, line = _line_behind(handle, middle, len(key))
        if begin < high and line < key:
            low = begin
        else:
            high = middle
    file.seek(low)
    while line := file.readline(LONGEST_LINE):
        if line >= key:
            break
        low += len(line)
    return low


def _line_behind(handle: int, place: int, most: int) -> tuple[int, bytes]:
    """Return where the first line behind a place begins, and its first bytes, at most so many."""
    piece = os.pread(handle, _SAMPLE, place)
    while (end := piece.find(b"\n")) < 0 and len(piece) < LONGEST_LINE:
        more = os.pread(handle, len(piece), place + len(piece))
        if not more:
            break
        piece += more
    end = len(piece) if end < 0 else end + 1
    line = piece[end : end + most]
    if len(line) < most:
        line = os.pread(handle, most, place + end)
    following = line.find(b"\n")
    return place + end, line if following < 0 else line[: following + 1]


def _backwards(file: BinaryIO, end: int) -> Iterator[bytes]:
    """Yield the lines that end at or before ``end``, where one begins or the file ends, the last one first."""
    kept, block = b"", _SAMPLE
    while end > 0:
        begin = max(0, end - block)
        block = min(2 * block, _BLOCK)
        file.seek(begin)
        first, *lines = (file.read(end - begin) + kept).split(b"\n")[:-1]
        yield from (line + b"\n" for line in reversed(lines))
        kept, end = first + b"\n", begin
    if kept:
        yield kept
