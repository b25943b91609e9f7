"""The base class of indexes that catch up with append-only source files."""

import logging
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from math import inf
from pathlib import Path
from time import monotonic
from typing import BinaryIO, ClassVar, Final, Generic, NamedTuple, Self, TypeVar

from aahcrawler.derived_index.index_file import IndexFile, transaction
from aahcrawler.segments import OPEN, DamageError, Members, is_open, segments

SEGMENT: Final = """CREATE TABLE segment (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, inode INTEGER NOT NULL, covered INTEGER NOT NULL,
  size INTEGER NOT NULL, changed INTEGER NOT NULL, is_open INTEGER NOT NULL, damage TEXT
)"""
"""The table of the sources that an index knows."""
_KNOWN: Final = "SELECT id, name, inode, covered, size, changed, is_open FROM segment"


@dataclass(frozen=True, slots=True)
class Source:
    """A source file of an index, as it is on disk now.

    ``name`` is unique among the sources of the index and does not change when the file is closed or moved. ``changed``
    is the time of modification in nanoseconds. If ``is_open``, the file may still grow.
    """

    name: str
    path: Path
    inode: int
    size: int
    changed: int
    is_open: bool

    @classmethod
    def at(cls, path: Path, name: str, *, is_open: bool) -> Self:
        """Return the source for the file at ``path``. Raises ``OSError``."""
        found = path.stat()
        return cls(name, path, found.st_ino, found.st_size, found.st_mtime_ns, is_open)


class Known(NamedTuple):
    """A source as recorded in an index, which has read ``covered`` of its ``size`` bytes."""

    id: int
    name: str
    inode: int
    covered: int
    size: int
    changed: int
    was_open: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of its sources an index has read: ``covered`` of ``size`` bytes.

    ``is_complete`` is True if nothing is left to read. ``damaged`` has a line for each source that cannot be read
    wholly, with its name and the reason.
    """

    covered: int
    size: int
    is_complete: bool
    damaged: tuple[str, ...] = ()


def known_sources(base: sqlite3.Connection) -> list[Known]:
    """Return the sources recorded in an index."""
    return [Known(*row) for row in base.execute(_KNOWN)]


def coverage(base: sqlite3.Connection, under: str = "") -> Coverage:
    """Return how much of its sources an index has read, counting only those whose names begin with ``under``."""
    covered, size = base.execute(
        "SELECT coalesce(sum(covered), 0), coalesce(sum(size), 0) FROM segment WHERE substr(name, 1, ?) = ?",
        (len(under), under),
    ).fetchone()
    is_complete = base.execute("SELECT 1 FROM segment WHERE covered < size LIMIT 1").fetchone() is None
    damaged = base.execute("SELECT name, damage FROM segment WHERE damage IS NOT NULL ORDER BY id").fetchall()
    return Coverage(covered, size, is_complete, tuple(f"{name}: {damage}" for name, damage in damaged))


def segment_sources(folder: Path, extension: str, under: str = "") -> Iterator[Source]:
    """Yield the segments of a folder as sources; each is named ``under`` plus the segment's final name."""
    for path in segments(folder, extension):
        final = path.with_name(path.name.removesuffix(OPEN))
        for place in (path, final):  # It may have been closed since it was listed.
            with suppress(FileNotFoundError):
                yield Source.at(place, under + final.name, is_open=is_open(place))
                break


def segment_members(source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
    """Yield the text of each whole member from the offset ``begin`` on, with the offset after it; see ``entries``."""
    with opened_segment(source.path) as file:
        members = Members(file, begin)
        while members.end < source.size and (text := members.member()):
            yield text, members.end


def opened_segment(path: Path) -> BinaryIO:
    """Open a segment under whichever of its two names exists. Raises ``FileNotFoundError``."""
    final = path.with_name(path.name.removesuffix(OPEN))
    for candidate in (final.with_name(final.name + OPEN), final):
        with suppress(FileNotFoundError):
            return candidate.open("rb")
    raise FileNotFoundError(path)


_KNOW: Final = """
INSERT INTO segment (name, inode, covered, size, changed, is_open) VALUES (?, ?, 0, ?, ?, ?)
ON CONFLICT DO UPDATE SET size = max(excluded.size, covered), changed = excluded.changed, is_open = excluded.is_open
WHERE size != excluded.size OR is_open != excluded.is_open
"""
_COVER: Final = "UPDATE segment SET covered = ?, size = max(?, ?), damage = coalesce(?, damage) WHERE id = ?"
_MAX_FAULTS: Final = 3
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_logger = logging.getLogger(__name__)
T = TypeVar("T")


class Standing(Enum):
    """How an index compares with its sources."""

    SOUND = auto()
    """The index holds everything that its sources hold."""
    BEHIND = auto()
    """The sources hold more than the index."""
    WRONG = auto()
    """The index holds something that was removed from its sources, so it must be rebuilt."""


class DerivedIndex(IndexFile, ABC, Generic[T]):
    """An index that records up to which byte it has read each source, and catches up with them.

    A subclass lists its ``sources``, yields the ``entries`` of a source, and ``put``s them into the tables.

    Each transaction adds some entries and records the offset after them, so a crash neither loses an entry nor adds one
    twice. Several processes may catch up, and others query, at the same time. If a source has lost something, the index
    is rebuilt in one transaction, so that readers no longer see what was removed.

    Methods raise ``sqlite3.Error`` and ``OSError`` if the index or its sources cannot be used. Not thread-safe, except
    ``asked``.
    """

    at_once: ClassVar[int] = 250
    """The most entries that one transaction adds."""
    bytes_at_once: ClassVar[int] = 16 << 20
    """A transaction ends after this many bytes of a source, even if it has fewer entries than ``at_once``."""
    _was_damaged = False

    @property
    def tables(self) -> tuple[str, ...]:
        """The SQL statements that create the tables; the table of sources comes first."""
        return (SEGMENT, *self.schema)

    # What subclasses say

    @abstractmethod
    def sources(self) -> Iterable[Source]:
        """Return the sources in the order in which to read them."""

    @abstractmethod
    def entries(self, source: Source, begin: int) -> Iterator[tuple[T, int]]:
        """Yield the entries of a source from the offset ``begin`` on, each with the offset after it.

        Raises ``DamageError`` after the last whole entry, and ``FileNotFoundError`` if the source is gone.
        """

    @abstractmethod
    def put(self, entry: T, source: int, place: int) -> None:
        """Add the entry at offset ``place`` of source number ``source``. Raises ``ValueError`` for an invalid entry."""

    def settle(self) -> None:
        """Write what ``put`` has deferred. Runs at the end of each transaction."""

    def is_other(self, known: Known, source: Source | None) -> bool:
        """Return whether a source is gone or was replaced. A closed source that changed counts as replaced."""
        if source is None:
            return known.covered > 0
        if source.inode != known.inode or source.size < known.covered:
            return True
        return not known.was_open and (source.size, source.changed) != (known.size, known.changed)

    def forget(self, known: Known) -> bool:  # noqa: ARG002
        """Remove the entries of a replaced source; return False if the whole index must be rebuilt instead."""
        return False

    # Catching up

    def catch_up(self, seconds: float = inf) -> bool:
        """Add new entries for about ``seconds``, at least one step; return whether nothing is left to add.

        If another process keeps the index locked, return without an error, because that process does the work.
        """
        ends = monotonic() + seconds
        try:
            while self.step():
                if monotonic() >= ends:
                    return False
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY:
                raise
            return False
        return True

    def step(self) -> bool:
        """Add some entries in one transaction; return whether there may be more."""
        try:
            with transaction(self.base):
                return self._step()
        except sqlite3.DatabaseError as error:
            if self._was_damaged or not self.removed_if_damaged(error):
                raise
        self._was_damaged = True
        self.open()
        return True

    def standing(self, base: sqlite3.Connection) -> Standing:
        """Return how the index compares with its sources."""
        found = {source.name: source for source in self.sources()}
        known = {each.name: each for each in known_sources(base)}
        if any(self.is_other(each, found.get(name)) for name, each in known.items()):
            return Standing.WRONG
        if found.keys() != known.keys():
            return Standing.BEHIND
        is_sound = all(known[name].covered == known[name].size == source.size for name, source in found.items())
        return Standing.SOUND if is_sound else Standing.BEHIND

    def _step(self) -> bool:
        found = {source.name: source for source in self.sources()}
        self._forget_others(found)
        for source in found.values():
            self.base.execute(_KNOW, (source.name, source.inode, source.size, source.changed, source.is_open))
        self.begin()
        known = {each.name: each for each in known_sources(self.base)}
        left = self.at_once
        for name, source in found.items():
            left -= self._take(known[name], source, left)
            if left <= 0:
                break
        self.settle()
        return left <= 0

    def _forget_others(self, found: Mapping[str, Source]) -> None:
        for known in known_sources(self.base):
            source = found.get(known.name)
            is_other = self.is_other(known, source)
            if is_other and source is None:
                _logger.warning("%s: is gone; %s drops what it has of it", known.name, self.path)
            if is_other and not self.forget(known):
                self.make_tables(self.base)
                return
            if is_other or source is None:
                self.base.execute("DELETE FROM segment WHERE id = ?", (known.id,))

    def _take(self, known: Known, source: Source, most: int) -> int:
        """Add at most ``most`` unread entries of a source; return how many, or ``most`` if they were long."""
        covered, size, count, faults = known.covered, source.size, 0, list[str]()
        if covered >= size:
            return 0
        try:
            for entry, end in _until(covered + self.bytes_at_once, islice(self.entries(source, covered), most)):
                try:
                    self.put(entry, known.id, covered)
                except (ValueError, OverflowError) as error:
                    faults.append(f"at byte {covered}: {error}")
                covered, count = end, count + 1
            count = most if covered - known.covered >= self.bytes_at_once else count
            is_read = count < most
        except FileNotFoundError:
            # Its writer had died before anything in it was whole, or it was taken out meanwhile.
            is_read, size = False, covered
        except DamageError as error:
            is_read = True
            if not source.is_open:  # What is being written may end in the middle of an entry.
                faults.append(str(error))
        except OSError as error:
            _logger.warning("%s: cannot be read (%s); what it holds is missing", source.path, error)
            return count
        if is_read and source.is_open:
            size = covered
        elif is_read:
            covered = size
        damage = "; ".join(faults[:_MAX_FAULTS]) or None
        self.base.execute(_COVER, (covered, size, covered, damage, known.id))
        return count


def _until(place: int, entries: Iterator[tuple[T, int]]) -> Iterator[tuple[T, int]]:
    """Yield entries with the offsets after them, up to and including the first that reaches ``place``."""
    for entry, end in entries:
        yield entry, end
        if end >= place:
            return
