"""Forces a server's files to disk, and records checksums while they grow, by which changed bytes are found."""

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
    """Forces to disk what is written to the files of a folder with a common prefix.

    For files with the given suffixes, checksums are stored beside them. Failures to force a file to disk are logged,
    once for each reason.
    """

    def __init__(self, folder: Path, name: str, summed: str) -> None:
        self._folder = folder
        self._name = name
        self._summed = summed
        self._sums = FileSums(folder)
        self._synced: dict[Path, int] = {}
        self._said = ""

    def sync(self) -> None:
        """Force the files to disk that have grown since the last call."""
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
        """Sync once a second in a thread of its own; ``until`` waits that many seconds and returns whether to end."""

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
    """The number of bytes of a file that match the recorded checksums, and the number recorded."""

    size: int
    noted: int


class FileSums:
    """Records the checksums of files in a folder as they grow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[str, Sum] = {}

    def note(self, path: Path, size: int) -> None:
        """Record that a file has ``size`` bytes now, all of which are on disk."""
        last = self._last.get(path.name) or [Sum(0, 0), *_noted(self._folder, path.name)][-1]
        if size > last.size:
            sums = list(_read(path, last, [*range(last.size + _BLOCK, size, _BLOCK), size]))
            with open(self._folder / _NOTE, "ab", opener=private) as note:
                note.writelines(_line(path.name, each) for each in sums)
            last = [last, *sums][-1]
        self._last[path.name] = last


def intact(folder: Path, path: Path) -> Intact:
    """Compare a file with its recorded checksums; bytes after the last one count as intact if all before are."""
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
    """Remove the checksums of files that are not in ``sizes``, and those of more bytes than given there."""
    lines = [_line(name, each) for name, size in sizes.items() for each in _noted(folder, name) if each.size <= size]
    temporary = folder / f"{_NOTE}.new"
    with open(temporary, "wb", opener=private) as note:
        note.writelines(lines)
    temporary.replace(folder / _NOTE)


def _noted(folder: Path, name: str) -> list[Sum]:
    """Return the checksums of a file in the order of growing sizes; torn, damaged or non-growing lines are left out."""
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
    """Yield the checksums of a file up to each of some growing sizes, as far as it reaches.

    Bytes before ``after`` are not read again.
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
