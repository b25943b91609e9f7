"""Jobs over captures: resumable after a kill, spread over processes, with the same result in any case."""

import logging
import os
import resource
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile
from multiprocessing import get_context, parent_process
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from aahcrawler.derived_index import IndexFile, transaction

_NEXT: Final = """
SELECT part, number, given, note IS NOT NULL FROM item WHERE (part, number) > (?, ?) ORDER BY part, number LIMIT ?
"""
_logger = logging.getLogger(__name__)


class Unit(NamedTuple):
    """Items that are processed together, all of the same part: their numbers, and the items as they were given."""

    part: str
    numbers: Sequence[int]
    given: Sequence[str]


class Journal(IndexFile):
    """The items of a job in their order, and the note on each item that is done.

    It is kept in a file at the given path until it is removed. It is kept in memory only if there is no path, if the
    path cannot be written, or while another process has the file open.
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
        """Open the journal. Raise ``sqlite3.Error`` and ``OSError``."""
        if self.path is not None:
            try:
                self.path.parent.mkdir(exist_ok=True)
                self._alone.acquire()
            except (OSError, Timeout) as error:
                _logger.warning("%s: cannot be used (%s); what is done is lost if it is interrupted", self.path, error)
                self.path = None
        return super().open()

    def close(self) -> None:
        """Close the journal, so that another process may open it."""
        super().close()
        self._alone.release()

    def take(self, version: str, items: Iterable[tuple[str, str]]) -> None:
        """Store the items of a job, each with its part.

        If the journal holds an interrupted job of the same ``version``, keep that job's items instead, to resume it.
        """
        with transaction(self.base):
            if self.base.execute("SELECT 1 FROM job WHERE version = ?", (version,)).fetchone() is None:
                self.make_tables(self.base)
                self.base.executemany("INSERT INTO item (part, given) VALUES (?, ?)", items)
                self.base.execute("INSERT INTO job VALUES (?)", (version,))

    def units(self, most: int) -> Iterator[tuple[Unit, bool]]:
        """Yield all items in units of at most ``most``, part by part, each with whether it is done."""
        last: tuple[str, int] = "", -1
        while rows := self.base.execute(_NEXT, (*last, most)).fetchall():
            part = rows[0][0]
            own = list(takewhile(lambda row, part=part: row[0] == part, rows))  # type: ignore[misc]
            last = part, own[-1][1]
            yield Unit(part, [row[1] for row in own], [row[2] for row in own]), all(row[3] for row in own)

    def note(self, unit: Unit, notes: Iterable[bytes]) -> None:
        """Note that a unit is done, with one note for each of its items, in one transaction."""
        with transaction(self.base):
            noted = zip(notes, unit.numbers, strict=True)
            self.base.executemany("UPDATE item SET note = ? WHERE number = ?", noted)

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """Yield each item with its note, in the order in which the items were given."""
        yield from self.base.execute("SELECT given, note FROM item ORDER BY number")


Note = TypeVar("Note")
Note_co = TypeVar("Note_co", covariant=True)
Made = Sequence[tuple[Note_co, bytes]]
Work = Callable[[str, Sequence[str]], Made[Note_co]]
"""Process a unit, given its part and its items; return for each item a note, and the bytes to keep.

The result may depend on these items and on the step, but not on former units.
"""
AT_ONCE: Final = 64
"""Items of a unit: a kill repeats as many at most, and a step remembers as many pages of a site."""


class JobError(Exception):
    """A job cannot be continued; the message tells cause and remedy."""


class JobStep(Protocol[Note_co]):
    """What a job does with an item. The value can be pickled; each process calls ``open`` once."""

    @property
    def version(self) -> str:
        """A short text that identifies everything besides the captures that the results depend on."""

    def open(self) -> AbstractContextManager[Work[Note_co]]:
        """Open the resources of the step; the context lends the function that processes units."""


@dataclass(frozen=True)
class Job(Generic[Note]):
    """Run a step for each item. The result depends neither on the number of processes nor on kills in between.

    Items are texts, such as record ids. They are processed in units of at most ``at_once`` items of the same part, such
    as a site. One process calls ``keep`` with the results of each unit, in the order of parts and items, and only then
    notes the unit in ``journal``: after a kill, one unit at most is kept twice. Notes are stored as JSON.

    ``seen`` is called with the number of items that were completed since the last call. Memory use does not grow with
    the number of items.
    """

    step: JobStep[Note]
    notes: TypeAdapter[Note]
    journal: Path | None = None
    keep: Callable[[Sequence[bytes]], object] = len
    processes: int = 1
    seen: Callable[[int], object] = abs
    at_once: int = AT_ONCE

    @contextmanager
    def run(self, items: Iterable[tuple[str, str]], asked: str = "") -> Iterator[Iterator[tuple[str, Note]]]:
        """Process all items, each given with its part; lend an iterator of items with their notes, in the same order.

        If a job of the same step and the same ``asked`` was interrupted, its own items are completed instead; those
        given now are processed only if there is no such job. The journal is removed when the context ends. Raise
        ``JobError``.
        """
        with Journal(self.journal) as journal:
            try:
                journal.take(f"{self.step.version} {asked}", items)
                self._do(journal)
            except sqlite3.Error as error:
                raise JobError(f"a job's notes cannot be written ({error}); make room, and run it again") from error
            yield ((given, self.notes.validate_json(note)) for given, note in journal.notes())
            journal.remove()

    def _do(self, journal: Journal) -> None:
        for unit, made in self.made(self._left(journal)):
            self.keep([kept for _, kept in made])
            journal.note(unit, (self.notes.dump_json(note) for note, _ in made))
            self.seen(len(made))

    def _left(self, journal: Journal) -> Iterator[Unit]:
        for unit, is_done in journal.units(self.at_once):
            if is_done:
                self.seen(len(unit.given))
            else:
                yield unit

    def made(self, units: Iterator[Unit]) -> Iterator[tuple[Unit, Made[Note]]]:
        """Yield the result of each unit, in their order. Raise ``JobError`` if a process of the pool died."""
        first = next(units, None)
        if first is None:
            return
        units = chain((first,), units)
        if self.processes == 1:
            with self.step.open() as work:
                for unit in units:
                    yield unit, work(unit.part, unit.given)
            return
        waiting: deque[tuple[Unit, Future[Made[Note]]]] = deque()
        with own_processes(self.processes, partial(_begin, self.step)) as pool:
            try:
                for unit in units:
                    waiting.append((unit, pool.submit(_work, unit.part, unit.given)))
                    if len(waiting) > 2 * self.processes:
                        yield waiting[0][0], waiting.popleft()[1].result()
                while waiting:
                    yield waiting[0][0], waiting.popleft()[1].result()
            except BrokenProcessPool as error:
                raise JobError("a process has ended, perhaps for want of memory; run it again to go on") from error
            finally:
                pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class _Process:
    """The step of a worker process, and the function that it opened, None before the first unit."""

    step: JobStep[Any] | None = None
    work: Work[Any] | None = None


_own = _Process()


def _begin(step: JobStep[Any]) -> None:
    _own.step = step


def _work(part: str, given: Sequence[str]) -> Made[Any]:
    if _own.work is None:
        assert _own.step is not None  # noqa: S101 - the process has begun with it
        stack = ExitStack()
        _own.work = stack.enter_context(_own.step.open())
        # The work may have processes of its own, whose queues close at 10: without them these never end.
        Finalize(None, stack.close, exitpriority=20)
    return _own.work(part, given)


def own_processes(count: int, begin: Callable[[], object] | None = None) -> ProcessPoolExecutor:
    """Return an executor of spawned processes, which inherit nothing and end when this process is killed.

    Each process first calls ``begin``, which must be picklable.
    """
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin_process, initargs=(begin,))


def _begin_process(begin: Callable[[], object] | None) -> None:
    threading.Thread(target=_wait_for_parent, daemon=True).start()
    if begin is not None:
        begin()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def bound_memory(more: int) -> None:
    """Limit this process's address space to its present size plus ``more`` bytes, unless its limit is lower already.

    Do nothing if the system does not tell the present size.
    """
    with suppress(OSError, ValueError, IndexError):
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY or taken + more < most:
            resource.setrlimit(resource.RLIMIT_AS, (taken + more, most))
