"""A SQLite file whose tables can be rebuilt, stored at a given path or, if that is read-only, in a temporary folder."""

import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import ClassVar, Final, Self

from filelock import FileLock

from aahcrawler.segments import private

_SETTINGS: Final = (
    "journal_mode = WAL",
    "synchronous = NORMAL",
    "cache_size = -32768",
    # Each time that the write-ahead log is brought into the file, the disk is waited for.
    "wal_autocheckpoint = 8192",
)
_PATIENCE: Final = 10.0
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_logger = logging.getLogger(__name__)


class IndexFile:
    """The SQLite file of an index. Without a path, a temporary one that is deleted with this object.

    A subclass gives its tables as ``schema``, SQL statements exactly as SQLite stores them, and their ``version``. A
    file that is damaged or has another version is rebuilt. If the path cannot be written to, the index is copied to a
    temporary folder and continues there while this object is open.
    """

    schema: ClassVar[tuple[str, ...]]
    version: ClassVar[int]
    is_private: ClassVar[bool] = False
    """Whether only the owner may read the file."""
    is_checked: ClassVar[bool] = False
    """Whether opening checks the whole file for damage, which takes long for a large file."""
    may_lie_elsewhere: ClassVar[bool] = True

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._held: tuple[int, sqlite3.Connection] | None = None
        self._spare: tempfile.TemporaryDirectory[str] | None = None

    def begin(self) -> None:
        """Drop cached values of the tables, which other processes may change. Runs at the start of each transaction."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The SQL statements that create the tables."""
        return self.schema

    @property
    def edition(self) -> int:
        """A number for the format of the tables' content; an index with another number is rebuilt."""
        return self.version

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def base(self) -> sqlite3.Connection:
        """The connection to the open index. Raises ``sqlite3.ProgrammingError`` if it is not open."""
        if self._held is None:
            raise sqlite3.ProgrammingError("the index is not open")
        return self._held[1]

    @property
    def is_temporary(self) -> bool:
        """Whether the file is in a temporary folder because its path is read-only."""
        return self._spare is not None

    @property
    def can_be_written(self) -> bool:
        """Whether permissions allow writing to the file.

        This is checked beforehand because SQLite may begin a transaction on a read-only file, which fails at its first
        change.
        """
        places = () if self.path is None else (self.path, self.path.parent)
        return all(os.access(place, os.W_OK) for place in places if place.exists())

    def open(self) -> Self:
        """Open the file for building.

        Creates it anew if it is missing, damaged, deleted since it was last opened, or of another version.
        """
        if self._held is not None:
            if self._held[0] == self._inode():
                return self
            self.abandon()
        is_bound = self.path is None or self.is_temporary or not self.may_lie_elsewhere
        if is_bound or self.can_be_written:
            try:
                return self._open()
            except (OSError, sqlite3.OperationalError):
                if is_bound:
                    raise
        self._go_elsewhere()
        return self._open()

    def _go_elsewhere(self) -> None:
        spare = tempfile.TemporaryDirectory(prefix="aah-index-")
        path = Path(spare.name) / (self.path or Path()).name
        with suppress(OSError):  # What cannot be read is made anew.
            self.bring(path)
        self._spare, self.path = spare, path

    def bring(self, path: Path) -> None:
        """Copy the index's file, as far as it exists, to another path. Raises ``OSError``."""
        for suffix in ("", "-wal"):
            if self.path is not None and (file := self.path.with_name(self.path.name + suffix)).exists():
                shutil.copyfile(file, path.with_name(path.name + suffix))

    def close(self) -> None:
        """Close the file, and delete it if it is temporary."""
        self.abandon()
        if self._spare is not None:
            self._spare.cleanup()

    def abandon(self) -> None:
        """Close the file, if it is open, without committing pending changes."""
        if self._held is not None:
            with suppress(sqlite3.Error):
                self._held[1].close()
            self._held = None

    def remove(self) -> None:
        """Delete the file; the next opening rebuilds it."""
        self.abandon()
        if self.path is not None:
            remove_base(self.path)

    @contextmanager
    def asked(self) -> Iterator[sqlite3.Connection]:
        """Open a read-only connection that sees the index at one moment, for the ``with`` block.

        Raises ``sqlite3.Error``, also if the index has another version or was never opened for building.
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
        """Delete the file if ``error`` shows that it is damaged; return whether it did."""
        # The higher bits say more exactly what it is; errors that are not SQLite's own have no code at all.
        is_damage = getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
        if is_damage:
            _logger.warning("%s: is made anew (%s)", self.path, error)
            with suppress(OSError):
                self.remove()
        return is_damage

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
        """Open the file if it is undamaged; otherwise create it, under a lock."""
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
        """Open a writable connection; with ``is_new`` create the tables. Raises ``_UnfitError`` if that fails."""
        if self.path is not None and self.is_private:
            os.close(private(str(self.path), os.O_RDWR | os.O_CREAT))
        base = connection(self.path or "")
        try:
            self._check(base)
            for setting in _SETTINGS:
                base.execute(f"PRAGMA {setting}")
            with transaction(base):  # Which fails where nothing can be written.
                if not self._is_fit(base):
                    if not is_new:
                        raise _UnfitError("it is of another version")
                    self.make_tables(base)
        except BaseException as error:
            with suppress(sqlite3.Error):
                base.close()
            if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
                _logger.warning("%s: is made anew (%s)", self.path, error)
                raise _UnfitError(str(error)) from error
            raise
        return base

    def _check(self, base: sqlite3.Connection) -> None:
        """Raise ``sqlite3.DatabaseError`` if the file is damaged."""
        problem = base.execute("PRAGMA quick_check(1)").fetchone()[0] if self.is_checked else "ok"
        if problem != "ok":
            raise sqlite3.DatabaseError(problem)

    def _is_fit(self, base: sqlite3.Connection) -> bool:
        tables = {sql for (sql,) in base.execute("SELECT sql FROM sqlite_master")}
        return base.execute("PRAGMA user_version").fetchone()[0] == self.edition and tables >= {*self.tables}

    def make_tables(self, base: sqlite3.Connection) -> None:
        """Drop all tables and create them anew, in one transaction."""
        virtual_first = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY sql NOT LIKE 'CREATE VIRTUAL%'"
        for (name,) in base.execute(virtual_first).fetchall():
            if not name.startswith("sqlite_"):
                base.execute(f'DROP TABLE IF EXISTS "{name}"')
        for statement in (*self.tables, f"PRAGMA user_version = {self.edition}"):
            base.execute(statement)


class _UnfitError(Exception):
    """Raised when a file is damaged or holds another index or version."""


def connection(path: Path | str) -> sqlite3.Connection:
    """Open a SQLite file in manual transaction mode. Any thread may use the connection, but only one at a time."""
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


@contextmanager
def transaction(base: sqlite3.Connection) -> Iterator[None]:
    """Run the ``with`` block as one transaction that excludes other writers; an error rolls it back."""
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
    """Delete a SQLite file together with its journal files."""
    for suffix in _SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
