"""Files of a server forced to the disk, with checksums while they grow, by which a changed byte is noticed."""

import logging
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.segments import private

_SECONDS = 1.0
_logger = logging.getLogger(__name__)


class FileSync:
    """Forces to the disk what has been written to the files of a folder whose names begin alike.

    Of those whose names end as given, checksums are noted beside them. What cannot be forced to the disk is said in
    the log, once for each reason.
    """

    def __init__(self, folder: Path, name: str, summed: str) -> None:
        self._folder = folder
        self._name = name
        self._summed = summed
        self._sums = FileSums(folder)
        self._synced: dict[Path, int] = {}
        self._said = ""

    def sync(self) -> None:
        """Force the files to the disk that have grown since the last time."""
        try:
            for path in self._folder.rglob(f"{self._name}*"):
                size = path.stat().st_size
                if self._synced.get(path) != size:
                    with path.open("rb") as file:
                        os.fsync(file.fileno())
                    if path.name.endswith(self._summed):
                        self._sums.note(path, size)
                    self._synced[path] = size
        except FileNotFoundError:
            return  # The server removes a file that it has written anew; there is a next time.
        except OSError as error:
            if str(error) != self._said:
                self._said = str(error)
                _logger.warning("a power failure may lose more than the last second of the frontier: %s", error)

    def start(self, until: Callable[[float], bool]) -> threading.Thread:
        """Sync once a second in a thread of its own; ``until`` waits so many seconds and returns whether to end."""

        def run() -> None:
            while not until(_SECONDS):
                self.sync()
            self.sync()

        thread = threading.Thread(target=run, name="frontier-sync", daemon=True)
        thread.start()
        return thread


_NOTE: Final = "frontier.sums"
_BLOCK = 4096
"""Bytes of a file after which there is a line at least, so that damage costs no more than what follows it."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The checksum of the first bytes of a file."""

    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Intact:
    """How many bytes of a file are as they were noted, and how many were noted."""

    size: int
    noted: int


class FileSums:
    """Notes the checksums of files in a folder as they grow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[str, Sum] = {}

    def note(self, path: Path, size: int) -> None:
        """Note that a file has so many bytes now, all of which are on the disk."""
        last = self._last.get(path.name) or [Sum(0, 0), *_noted(self._folder, path.name)][-1]
        if size > last.size:
            sums = list(_read(path, last, [*range(last.size + _BLOCK, size, _BLOCK), size]))
            with open(self._folder / _NOTE, "ab", opener=private) as note:
                note.writelines(_line(path.name, each) for each in sums)
            last = [last, *sums][-1]
        self._last[path.name] = last


def intact(folder: Path, path: Path) -> Intact:
    """Compare a file with what was noted of it; bytes after the last note count as intact where all before are."""
    sums, size = _noted(folder, path.name), path.stat().st_size
    noted = sums[-1].size if sums else 0
    there = [each for each in sums if each.size <= size]
    good = 0
    for read, expected in zip(_read(path, Sum(0, 0), [each.size for each in there]), there, strict=False):
        if read != expected:
            return Intact(good, noted)
        good = read.size
    return Intact(size, noted)


def keep(folder: Path, sizes: dict[str, int]) -> None:
    """Forget notes of files that are not among these, and of more bytes than these have."""
    lines = [_line(name, each) for name, size in sizes.items() for each in _noted(folder, name) if each.size <= size]
    temporary = folder / f"{_NOTE}.new"
    with open(temporary, "wb", opener=private) as note:
        note.writelines(lines)
    temporary.replace(folder / _NOTE)


def _noted(folder: Path, name: str) -> list[Sum]:
    """Return the sums of a file that grow; lines that are torn or damaged, and those that do not grow, are left out."""
    sums: list[Sum] = []
    try:
        lines = (folder / _NOTE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    for line in lines:
        said, _, check = line.rpartition(b" ")
        words = said.split()
        if check == b"%08x" % zlib.crc32(said) and len(words) == 3 and words[0] == name.encode():
            each = Sum(int(words[1]), int(words[2], 16))
            if not sums or each.size > sums[-1].size:
                sums.append(each)
    return sums


def _line(name: str, each: Sum) -> bytes:
    said = b"%s %d %08x" % (name.encode(), each.size, each.crc)
    return b"%s %08x\n" % (said, zlib.crc32(said))


def _read(path: Path, after: Sum, sizes: list[int]) -> Iterator[Sum]:
    """Yield the sums of a file up to each of some growing sizes, as far as it reaches.

    What is known already is not read again.
    """
    size, crc = after.size, after.crc
    with path.open("rb") as file:
        file.seek(size)
        for until in sizes:
            piece = file.read(until - size)
            if size + len(piece) < until:
                return
            size, crc = until, zlib.crc32(piece, crc)
            yield Sum(size, crc)
