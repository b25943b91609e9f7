"""The source files of an index, and how far the index has read them."""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Self

from aahcrawler.segments import OPEN, Members, is_open, segments

SEGMENT: Final = """CREATE TABLE segment (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, covered INTEGER NOT NULL,
  size INTEGER NOT NULL, changed INTEGER NOT NULL, is_open INTEGER NOT NULL, damage TEXT
)"""
"""The table of the sources that an index knows."""
_KNOWN: Final = "SELECT id, name, inode, covered, size, changed, is_open FROM segment"


@dataclass(frozen=True, slots=True)
class Source:
    """A source file of an index, as it is in the folder.

    ``name`` is unique among those of the index, and stays when the file is closed or moved. ``changed`` is its time of
    modification in nanoseconds. A source that ``is_open`` may grow.
    """

    name: str
    path: Path
    inode: int
    size: int
    changed: int
    is_open: bool

    @classmethod
    def at(cls, path: Path, name: str, *, is_open: bool) -> Self:
        """Return the source at a path. Raises ``OSError``."""
        found = path.stat()
        return cls(name, path, found.st_ino, found.st_size, found.st_mtime_ns, is_open)


class Known(NamedTuple):
    """A source as recorded in an index: ``covered`` of its ``size`` bytes were read."""

    id: int
    name: str
    inode: int
    covered: int
    size: int
    changed: int
    was_open: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far an index has read its sources: ``covered`` of ``size`` bytes.

    ``is_complete`` says that nothing is left to read. ``damaged`` names sources that cannot be read wholly, with the
    reason.
    """

    covered: int
    size: int
    is_complete: bool
    damaged: tuple[str, ...] = ()


def known_sources(base: sqlite3.Connection) -> list[Known]:
    """Return the sources recorded in an index."""
    return [Known(*row) for row in base.execute(_KNOWN)]


def coverage(base: sqlite3.Connection, under: str = "") -> Coverage:
    """Return how far an index has read its sources, counting those whose names begin with ``under``."""
    covered, size = base.execute(
        "SELECT coalesce(sum(covered), 0), coalesce(sum(size), 0) FROM segment WHERE substr(name, 1, ?) = ?",
        (len(under), under),
    ).fetchone()
    is_complete = base.execute("SELECT 1 FROM segment WHERE covered < size LIMIT 1").fetchone() is None
    damaged = base.execute("SELECT name, damage FROM segment WHERE damage IS NOT NULL ORDER BY id").fetchall()
    return Coverage(covered, size, is_complete, tuple(f"{name}: {damage}" for name, damage in damaged))


def segment_sources(folder: Path, extension: str, under: str = "") -> Iterator[Source]:
    """Yield the segments of a folder; each is named ``under`` plus the name it has once it is closed."""
    for path in segments(folder, extension):
        final = path.with_name(path.name.removesuffix(OPEN))
        for place in (path, final):  # It may have been closed since it was listed.
            with suppress(FileNotFoundError):
                yield Source.at(place, under + final.name, is_open=is_open(place))
                break


def segment_members(source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
    """Yield the text of each whole member of a segment from an offset on, and the offset after it; see ``entries``."""
    with opened_segment(source.path) as file:
        members = Members(file, begin)
        while members.end < source.size and (text := members.member()):
            yield text, members.end


def opened_segment(path: Path) -> BinaryIO:
    """Open a segment by its name, whether it is open or closed. Raises ``FileNotFoundError``."""
    final = path.with_name(path.name.removesuffix(OPEN))
    for candidate in (final.with_name(final.name + OPEN), final):
        with suppress(FileNotFoundError):
            return candidate.open("rb")
    raise FileNotFoundError(path)
