"""The base of indexes that can be built again."""

import logging
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from enum import Enum, auto
from itertools import islice
from math import inf
from os import O_CREAT, O_RDWR, close
from pathlib import Path
from time import monotonic
from typing import ClassVar, Final, Generic, Self, TypeVar

from filelock import FileLock

from aahcrawler.derived_index.index_sources import SEGMENT, Known, Source, known_sources
from aahcrawler.segments import DamageError, private

_KNOW: Final = """
INSERT INTO segment (name, inode, covered, size, changed, is_open) VALUES (?, ?, 0, ?, ?, ?)
ON CONFLICT DO UPDATE SET size = max(excluded.size, covered), changed = excluded.changed, is_open = excluded.is_open
WHERE size != excluded.size OR is_open != excluded.is_open
"""
_COVER: Final = "UPDATE segment SET covered = ?, size = max(?, ?), damage = coalesce(?, damage) WHERE id = ?"
_SETTINGS: Final = (
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "cache_size = -32768",
    # Each time that the write-ahead log is brought into the file, the disk is waited for.
    "wal_autocheckpoint = 8192",
)
_MOST_FAULTS: Final = 3
_PATIENCE: Final = 10.0
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_logger = logging.getLogger(__name__)
T = TypeVar("T")


class Standing(Enum):
    """How an index stands to its sources."""

    SOUND = auto()
    """It holds all that they hold."""
    BEHIND = auto()
    """They hold more."""
    WRONG = auto()
    """Something was taken out of them that it holds: it has to be begun anew."""


class DerivedIndex(ABC, Generic[T]):
    """An index at a path, or without one a private one that ends with this object.

    A subclass names its tables, the statements of ``schema`` word for word as SQLite keeps them, and their ``version``;
    it finds its ``sources``, yields the ``entries`` of one and says how one is ``put`` into the tables.

    All that changes the index is in transactions, each of which takes in some entries and notes how far that is:
    a crash at any moment costs none and takes in none twice. Several processes may catch up, and others ask, at once.
    An index that is damaged or of another version is made anew, as is one whose sources have lost something, in one
    transaction: nobody is shown what was taken out, once it has been noticed. Where nothing can be written at
    its path, it lies in a temporary folder as long as this object is open.

    Methods raise ``sqlite3.Error`` and ``OSError`` where the index or its sources cannot be used. Not for two threads
    at once, but for ``asked``.
    """

    schema: ClassVar[tuple[str, ...]]
    version: ClassVar[int]
    at_once: ClassVar[int] = 250
    """Entries that are taken in in one transaction."""
    is_private: ClassVar[bool] = False
    """Whether its owner alone may read the file."""
    is_checked: ClassVar[bool] = False
    """Whether all of the file is checked when it is opened, which takes long where it is large."""
    may_lie_elsewhere: ClassVar[bool] = True

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._held: tuple[int, sqlite3.Connection] | None = None
        self._spare: tempfile.TemporaryDirectory[str] | None = None
        self._was_damaged = False

    # What subclasses say

    @abstractmethod
    def sources(self) -> Iterable[Source]:
        """Find the sources, in the order in which they are to be taken in."""

    @abstractmethod
    def entries(self, source: Source, begin: int) -> Iterator[tuple[T, int]]:
        """Yield the entries of a source from a byte on, each with the byte behind it.

        Raise ``DamageError`` behind the last whole one, ``FileNotFoundError`` for a source that is gone.
        """

    @abstractmethod
    def put(self, entry: T, source: int, place: int) -> None:
        """Take in an entry at a byte of the source with that number; raise ``ValueError`` for one without sense."""

    def begin(self) -> None:
        """Forget what was remembered of the tables: others may have changed them. Each transaction begins so."""

    def settle(self) -> None:
        """Write what ``put`` has left to be written. Each transaction ends so."""

    def is_other(self, known: Known, source: Source | None) -> bool:
        """Return whether a source is gone, or not the one taken in; those that are closed do not change any more."""
        if source is None:
            return known.covered > 0
        if source.inode != known.inode or source.size < known.covered:
            return True
        return not known.was_open and (source.size, source.changed) != (known.size, known.changed)

    def forget(self, known: Known) -> bool:  # noqa: ARG002
        """Take a source that is another out of the tables; return False where the index has to be begun anew."""
        return False

    @property
    def edition(self) -> int:
        """What the tables hold, as a number: an index that was made as another edition is made anew."""
        return self.version

    # The file

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def base(self) -> sqlite3.Connection:
        """The connection of an index that is open."""
        if self._held is None:
            raise sqlite3.ProgrammingError("the index is not open")
        return self._held[1]

    @property
    def is_temporary(self) -> bool:
        """Whether it lies elsewhere, since nothing can be written at its path."""
        return self._spare is not None

    def open(self) -> Self:
        """Open it for building; it is made where it is missing, damaged, removed meanwhile or of another version."""
        if self._held is not None:
            if self._held[0] == self._inode():
                return self
            self.abandon()
        try:
            return self._open()
        except (OSError, sqlite3.OperationalError):
            if self.path is None or self.is_temporary or not self.may_lie_elsewhere:
                raise
        self._spare = tempfile.TemporaryDirectory(prefix="aah-index-")
        self.path = Path(self._spare.name) / self.path.name
        return self._open()

    def close(self) -> None:
        """Close it, and remove it where it is temporary."""
        self.abandon()
        if self._spare is not None:
            self._spare.cleanup()

    def abandon(self) -> None:
        """Close it without committing what is pending, if it is open."""
        if self._held is not None:
            with suppress(sqlite3.Error):
                self._held[1].close()
            self._held = None

    def remove(self) -> None:
        """Remove it: it is made anew when it is next opened."""
        self.abandon()
        if self.path is not None:
            remove_base(self.path)

    @contextmanager
    def asked(self) -> Iterator[sqlite3.Connection]:
        """Open it for questions, which change nothing, as it is at one moment.

        Raise ``sqlite3.Error``, also for one of another version, and one that was never opened for building.
        """
        where = f"{(self.path or Path()).resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(where, uri=True, timeout=_PATIENCE)) as base:
            base.row_factory = sqlite3.Row
            base.execute("PRAGMA query_only = 1")
            base.execute("BEGIN")
            if base.execute("PRAGMA user_version").fetchone()[0] != self.edition:
                raise sqlite3.OperationalError("the index is of another version, or has only just been begun")
            yield base

    def removed_if_damaged(self, error: sqlite3.Error) -> bool:
        """Return whether an error tells of damage in the file, which is removed then."""
        # The higher bits say more exactly what it is; errors that are not SQLite's own have no code at all.
        is_damage = getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
        if is_damage:
            _logger.warning("%s: is made anew (%s)", self.path, error)
            with suppress(OSError):
                self.remove()
        return is_damage

    # Catching up

    def catch_up(self, seconds: float = inf) -> bool:
        """Take in what was added, a step at least, for about so many seconds; return whether nothing is left.

        Where another process keeps the index busy, leave it to that one.
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
        """Take in some entries in a transaction; return whether there may be more."""
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
        """Return how the index, open or asked, stands to its sources."""
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
                self._begin_anew(self.base)
                return
            if is_other or source is None:
                self.base.execute("DELETE FROM segment WHERE id = ?", (known.id,))

    def _take(self, known: Known, source: Source, most: int) -> int:
        """Take in the new part of a source, and return how many entries that were."""
        covered, size, count, faults = known.covered, source.size, 0, list[str]()
        if covered >= size:
            return 0
        try:
            for entry, end in islice(self.entries(source, covered), most):
                try:
                    self.put(entry, known.id, covered)
                except (ValueError, OverflowError) as error:
                    faults.append(f"at byte {covered}: {error}")
                covered, count = end, count + 1
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
        damage = "; ".join(faults[:_MOST_FAULTS]) or None
        self.base.execute(_COVER, (covered, size, covered, damage, known.id))
        return count

    # Opening

    def _inode(self) -> int:
        if self.path is None:
            return 0
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return -1

    def _open(self) -> Self:
        for is_last in (False, True):
            base = self._prepared()
            self._held = self._inode(), base
            try:
                self.begin()
                break
            except sqlite3.DatabaseError as error:
                if is_last or not self.removed_if_damaged(error):
                    raise
        return self

    def _prepared(self) -> sqlite3.Connection:
        """Open the file if it is sound; else, alone, make it."""
        if self.path is None:
            return self._connected(is_new=True)
        if self.path.exists():
            with suppress(_UnfitError):
                return self._connected(is_new=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self.path}.lock", timeout=_PATIENCE):
            with suppress(_UnfitError):
                return self._connected(is_new=True)
            remove_base(self.path)
            return self._connected(is_new=True)

    def _connected(self, *, is_new: bool) -> sqlite3.Connection:
        """Open a connection that can write; with ``is_new`` make the tables. Raise ``_UnfitError`` for damage."""
        if self.path is not None and self.is_private:
            close(private(str(self.path), O_RDWR | O_CREAT))
        base = connection(self.path or "")
        try:
            self._check(base)
            for setting in _SETTINGS:
                base.execute(f"PRAGMA {setting}")
            with transaction(base):  # Which fails where nothing can be written.
                if not self._is_fit(base):
                    if not is_new:
                        raise _UnfitError("it is of another version")
                    self._begin_anew(base)
        except BaseException as error:
            with suppress(sqlite3.Error):
                base.close()
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                _logger.warning("%s: is made anew (%s)", self.path, error)
                raise _UnfitError(str(error)) from error
            raise
        return base

    def _check(self, base: sqlite3.Connection) -> None:
        """Raise ``sqlite3.DatabaseError`` for damage."""
        problem = base.execute("PRAGMA quick_check(1)").fetchone()[0] if self.is_checked else "ok"
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)

    def _is_fit(self, base: sqlite3.Connection) -> bool:
        tables = {sql for (sql,) in base.execute("SELECT sql FROM sqlite_master")}
        return base.execute("PRAGMA user_version").fetchone()[0] == self.edition and tables >= {SEGMENT, *self.schema}

    def _begin_anew(self, base: sqlite3.Connection) -> None:
        """Make the tables in a transaction, after all that there are have been dropped."""
        virtual_first = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY sql NOT LIKE 'CREATE VIRTUAL%'"
        for (name,) in base.execute(virtual_first).fetchall():
            if not name.startswith("sqlite_"):
                base.execute(f'DROP TABLE IF EXISTS "{name}"')
        for statement in (SEGMENT, *self.schema, f"PRAGMA user_version = {self.edition}"):
            base.execute(statement)


class _UnfitError(Exception):
    """Raised where a file holds no such index, or one that is damaged."""


def connection(path: Path | str) -> sqlite3.Connection:
    """Open a SQLite file, whose transactions the caller begins; any thread may use it, one at a time."""
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


@contextmanager
def transaction(base: sqlite3.Connection) -> Iterator[None]:
    """Do all or nothing of what is done to a base within a ``with`` statement, while nobody else writes to it."""
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            base.execute("ROLLBACK")
        raise
    if base.in_transaction:
        base.execute("COMMIT")


def remove_base(path: Path) -> None:
    """Remove a SQLite file, and what SQLite keeps beside it."""
    for suffix in _SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
