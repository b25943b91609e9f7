"""Repairs WARC files with torn ends without losing a byte, and rebuilds their index."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from aahcrawler.archive.folders import ArchiveFolder, is_referred
from aahcrawler.archive.index import rebuild
from aahcrawler.archive.scanning import Problem, scan
from aahcrawler.layout import WARC
from aahcrawler.segments import OPEN, SegmentError, is_open, no_link, segments
from aahcrawler.segments.series import sync_folder

TORN = ".torn"
"""The suffix of the file that takes the torn end of another."""
_MARK = ".mark"
_BROKEN = frozenset({Problem.TORN, Problem.DAMAGED, Problem.FOREIGN})


@dataclass(frozen=True, slots=True)
class Repaired:
    """The outcome of repairing a WARC file that was open or torn.

    ``file`` is its name now; the file is gone where ``kept`` is 0. ``cut`` bytes were cut off and moved to ``torn``.
    ``damaged`` counts places before its end, which cannot be repaired.
    """

    file: Path
    kept: int
    cut: int = 0
    torn: Path | None = None
    damaged: int = 0

    def __str__(self) -> str:
        text = [f"{self.file}: {self.kept} bytes are kept"]
        if self.torn is not None:
            text.append(f"a torn end of {self.cut} bytes was moved to {self.torn.name}")
        if self.damaged:
            places = "a place" if self.damaged == 1 else f"{self.damaged} places"
            text.append(f"{places} before its end cannot be mended: restore it from a copy")
        return ", ".join(text)


def repair(path: Path) -> Iterator[Repaired]:
    """Repair the archive of a crawl, or of a folder, and rebuild its index; yield each file that has changed.

    Files that were left open are closed; the bytes after the last whole record of a file are moved to a file beside it.
    Files that another process writes, and files of others, are not touched. Raises ``ArchiveError`` while a crawl runs
    in the folder or where there are no WARC files, and ``OSError`` or ``SegmentError`` where the disk refuses; no byte
    is lost then.
    """
    archive = ArchiveFolder.at(path)
    with archive.alone():
        for file in segments(archive.files, WARC):
            repaired = None if is_referred(file) else _repair(file)
            if repaired is not None:
                yield repaired
        rebuild(archive.files, archive.indexes)


def _repair(path: Path) -> Repaired | None:
    final = path.with_name(path.name.removesuffix(OPEN))
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        kept, damaged = 0, []
        for record in scan(file):
            if any(problem in _BROKEN for problem, _ in record.problems):
                damaged.append(record.offset)
            else:
                kept = record.offset + record.size
    before = sum(offset < kept for offset in damaged)
    if kept == size and not before and not is_open(path):
        return None
    with path.open("r+b" if kept < size else "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        torn = _move_end(path, kept) if kept < size else None
        _close(path, final)
    return Repaired(final, kept, size - kept, torn, before)


def _move_end(path: Path, kept: int) -> Path:
    torn = _unused(path.with_name(path.name.removesuffix(OPEN) + TORN))
    if not kept:
        path.rename(torn)
        return torn
    part = torn.with_name(torn.name + ".part")
    with path.open("rb") as file, open(part, "wb", opener=no_link) as beside:
        file.seek(kept)
        shutil.copyfileobj(file, beside)
        beside.flush()
        os.fsync(beside.fileno())
    part.rename(torn)
    sync_folder(path.parent)
    with path.open("r+b") as file:
        file.truncate(kept)
        os.fsync(file.fileno())
    return torn


def _close(path: Path, final: Path) -> None:
    if not is_open(path):
        return
    if path.exists():
        if final.exists():
            raise SegmentError(f"{path}: cannot be closed, {final.name} exists; move one of them away and repair again")
        path.rename(final)
    path.with_name(path.name + _MARK).unlink(missing_ok=True)
    sync_folder(path.parent)


def _unused(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.{number}") if number else path for number in count())
    return next(name for name in names if not name.exists())
