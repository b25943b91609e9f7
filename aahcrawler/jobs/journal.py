"""What a job has to do, and its notes on what is done, in a file that outlasts the process."""

import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple, Self

from filelock import FileLock, Timeout

from aahcrawler.derived_index import connection, remove_base, transaction

_SCHEMA: Final = (
    "CREATE TABLE job (version TEXT NOT NULL)",
    "CREATE TABLE item (number INTEGER PRIMARY KEY, part TEXT NOT NULL, given TEXT NOT NULL, note TEXT)",
    "CREATE INDEX item_by_part ON item (part, number)",
)
_NEXT: Final = """
SELECT part, number, given, note IS NOT NULL FROM item WHERE (part, number) > (?, ?) ORDER BY part, number LIMIT ?
"""
_logger = logging.getLogger(__name__)


class Unit(NamedTuple):
    """Items of one part of a job that are done together: their numbers, and what was given for each."""

    part: str
    numbers: Sequence[int]
    given: Sequence[str]


class Journal:
    """The items of a job, in their order, and a note for each that is done.

    It lies at a path, whose folder exists, until it is removed. Without a path, where nothing can be written there,
    and while another process has it, it is a temporary file: then nothing of it outlasts this object.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = None if path is None else FileLock(f"{path}.lock", timeout=0)
        self._path = path
        try:
            if self._lock is not None:
                self._lock.acquire()
        except (OSError, Timeout) as error:
            _logger.warning("%s: cannot be written (%s); what is done is lost if it is interrupted", path, error)
            self._lock, self._path = None, None
        self._base = connection(self._path or "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()
        if self._lock is not None:
            self._lock.release()

    def begin(self, version: str, items: Iterable[tuple[str, str]]) -> bool:
        """Take in items, each with the part of the job that it is of; return False where there is such a job already.

        That is one of the same ``version`` that was interrupted: its own items are gone on with.
        """
        try:
            if self._base.execute("SELECT 1 FROM job WHERE version = ?", (version,)).fetchone() is not None:
                return False
        except sqlite3.DatabaseError:  # It is new, or damaged.
            pass
        self.remove()
        self._base = connection(self._path or "")
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = NORMAL")
        with transaction(self._base):
            for statement in _SCHEMA:
                self._base.execute(statement)
            self._base.executemany("INSERT INTO item (part, given) VALUES (?, ?)", items)
            self._base.execute("INSERT INTO job VALUES (?)", (version,))
        return True

    def units(self, most: int) -> Iterator[tuple[Unit, bool]]:
        """Yield all items in units of at most so many, part by part, each with whether it is done."""
        last: tuple[str, int] = "", -1
        while rows := self._base.execute(_NEXT, (*last, most)).fetchall():
            part = rows[0][0]
            own = list(takewhile(lambda row, part=part: row[0] == part, rows))  # type: ignore[misc]
            last = part, own[-1][1]
            yield Unit(part, [row[1] for row in own], [row[2] for row in own]), all(row[3] for row in own)

    def note(self, unit: Unit, notes: Iterable[bytes]) -> None:
        """Note that a unit is done, all of it or nothing."""
        with transaction(self._base):
            noted = zip(notes, unit.numbers, strict=True)
            self._base.executemany("UPDATE item SET note = ? WHERE number = ?", noted)

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """Yield what was given for each item, and its note, in the order in which they were taken in."""
        yield from self._base.execute("SELECT given, note FROM item ORDER BY number")

    def remove(self) -> None:
        """Forget all of it."""
        self._base.close()
        if self._path is not None:
            remove_base(self._path)
