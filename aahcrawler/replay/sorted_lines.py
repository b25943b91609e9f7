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
    """The lines of a file that is sorted and does not change; another one may take its place."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines from the first that is not less than ``key`` on."""
        with self._path.open("rb") as file:
            file.seek(_beginning(file, key))
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                yield line

    def descending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines that are less than ``key``, the greatest first."""
        with self._path.open("rb") as file:
            yield from _backwards(file, _beginning(file, key))


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
    """Return where the first line that is not less than ``key`` begins in a sorted file, its size where none is."""
    low, high = 0, file.seek(0, os.SEEK_END)
    while low < high:
        middle = (low + high) // 2
        file.seek(max(middle - 1, 0))
        if middle:
            file.readline(LONGEST_LINE)
        begin = file.tell()
        line = file.readline(LONGEST_LINE) if begin < high else b""
        if not line or line >= key:
            high = middle
        else:
            low = begin + len(line)
    return low


def _backwards(file: BinaryIO, end: int) -> Iterator[bytes]:
    """Yield the lines that end at or before ``end``, where one begins or the file ends, the last one first."""
    kept = b""
    while end > 0:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        first, *lines = (file.read(end - begin) + kept).split(b"\n")[:-1]
        yield from (line + b"\n" for line in reversed(lines))
        kept, end = first + b"\n", begin
    if kept:
        yield kept
