"""Jobs over captures: resumable, by several processes, with the same result whatever happens to them."""

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


Note = TypeVar("Note")
Note_co = TypeVar("Note_co", covariant=True)
Made = Sequence[tuple[Note_co, bytes]]
Work = Callable[[str, Sequence[str]], Made[Note_co]]
"""Does a unit of a job, some items of one part, and returns for each a note on it, and what is to be kept of it.

That may depend on these items and on the step, but not on units before.
"""
AT_ONCE: Final = 64
"""Items of a unit: what a kill costs, and what one part's memory of its pages reaches over."""


class JobError(Exception):
    """Raised where a job cannot go on; the message tells cause and remedy."""


class JobStep(Protocol[Note_co]):
    """What a job does, as a value that can be pickled: each process opens it once."""

    @property
    def version(self) -> str:
        """All that its results depend on beside the captures, as a short text."""

    def open(self) -> AbstractContextManager[Work[Note_co]]:
        """Open what the work needs."""


@dataclass(frozen=True)
class Job(Generic[Note]):
    """Does a step for each item. What comes out depends neither on the number of processes nor on kills in between.

    Items are texts, such as ids of records. They are done in units of at most ``at_once`` of one part, such as a site.
    ``keep`` is given what is to be kept of a unit, in one process, in the order of parts and items; only then is the
    unit noted in ``journal``, so that after a kill one unit at most is kept twice. Notes are kept as JSON.

    ``seen`` is told how many more items are done. Memory use does not grow with their number.
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
        """Do all items, each given with its part, and give each with its note, in their order; then forget the job.

        A job of the same step and for which the same is ``asked`` that was interrupted is gone on with: its items are
        those that it had. Once it is at its end, what is given now is done. Raises ``JobError``.
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
        """Yield what is made of each unit, in their order. Raises ``JobError``."""
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
    """What a process that shares a job with others does, once it has opened it."""

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
    """Return an executor with processes that inherit nothing, and that end when this one is killed.

    Each calls ``begin``, which can be pickled, before all else.
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
    """Let this process take so many bytes of address space beside what it has; no more than it may have anyway.

    Where the system does not tell what it has, nothing is bounded.
    """
    with suppress(OSError, ValueError, IndexError):
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        if most == resource.RLIM_INFINITY or taken + more < most:
            resource.setrlimit(resource.RLIMIT_AS, (taken + more, most))
