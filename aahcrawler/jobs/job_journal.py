"""What a job has to do, and its notes on what is done, in a file that outlasts the process."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, Self

from filelock import FileLock, Timeout

from aahcrawler.derived_index import IndexFile, transaction

_NEXT: Final = """
SELECT part, number, given, note IS NOT NULL FROM item WHERE (part, number) > (?, ?) ORDER BY part, number LIMIT ?
"""
_logger = logging.getLogger(__name__)


class Unit(NamedTuple):
    """Items of one part of a job that are done together: their numbers, and what was given for each."""

    part: str
    numbers: Sequence[int]
    given: Sequence[str]


class Journal(IndexFile):
    """The items of a job, in their order, and a note for each that is done.

    It lies at a path until it is removed. Without a path, where nothing can be written there, and while another process
    has it, nothing of it outlasts this object.
    """

    schema: ClassVar = (
        "CREATE TABLE job (version TEXT NOT NULL)",
        "CREATE TABLE item (number INTEGER PRIMARY KEY, part TEXT NOT NULL, given TEXT NOT NULL, note TEXT)",
        "CREATE INDEX item_by_part ON item (part, number)",
    )
    version: ClassVar = 1
    is_private: ClassVar = True

    def __init__(self, path: Path | None) -> None:
        super().__init__(path)
        self._alone = FileLock(f"{path}.lock.job", timeout=0)

    def open(self) -> Self:
        """Open it. Raises ``sqlite3.Error`` and ``OSError``."""
        if self.path is not None:
            try:
                self.path.parent.mkdir(exist_ok=True)
                self._alone.acquire()
            except (OSError, Timeout) as error:
                _logger.warning("%s: cannot be used (%s); what is done is lost if it is interrupted", self.path, error)
                self.path = None
        return super().open()

    def close(self) -> None:
        """Close it, so that others may have it."""
        super().close()
        self._alone.release()

    def take(self, version: str, items: Iterable[tuple[str, str]]) -> None:
        """Take in items, each with the part of the job that it is of, unless it has a job of the same ``version``.

        That was interrupted, and its own items are gone on with.
        """
        with transaction(self.base):
            if self.base.execute("SELECT 1 FROM job WHERE version = ?", (version,)).fetchone() is None:
                self.make_tables(self.base)
                self.base.executemany("INSERT INTO item (part, given) VALUES (?, ?)", items)
                self.base.execute("INSERT INTO job VALUES (?)", (version,))

    def units(self, most: int) -> Iterator[tuple[Unit, bool]]:
        """Yield all items in units of at most so many, part by part, each with whether it is done."""
        last: tuple[str, int] = "", -1
        while rows := self.base.execute(_NEXT, (*last, most)).fetchall():
            part = rows[0][0]
            own = list(takewhile(lambda row, part=part: row[0] == part, rows))  # type: ignore[misc]
            last = part, own[-1][1]
            yield Unit(part, [row[1] for row in own], [row[2] for row in own]), all(row[3] for row in own)

    def note(self, unit: Unit, notes: Iterable[bytes]) -> None:
        """Note that a unit is done, all of it or nothing."""
        with transaction(self.base):
            noted = zip(notes, unit.numbers, strict=True)
            self.base.executemany("UPDATE item SET note = ? WHERE number = ?", noted)

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """Yield what was given for each item, and its note, in the order in which they were taken in."""
        yield from self.base.execute("SELECT given, note FROM item ORDER BY number")
