"""Run parts of the knowledge base on pages; report those that fail, switch off those that take too long."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import local
from time import perf_counter, thread_time
from typing import Final, TypeVar

from lxml import etree

from aahcrawler.helper.assistance import FailedAction, Failure
from aahcrawler.page import Page

T = TypeVar("T")

FAILING: Final = (etree.XPathError, ValueError, OverflowError, RecursionError)
"""The exceptions of expressions and values that fail on a page."""

ACTION_SECONDS = 2.0
"""Processor time that one part may take on one page of up to ``REGULAR_BYTES``."""

REGULAR_BYTES = 1_000_000
"""Larger pages allow more time, in proportion to their size."""


RESOLUTION = 0.01
"""Seconds by which the processor time of a part may be wrong."""


class ProcessorClock(local):
    """Tells the processor time of the calling thread in seconds, up to ``RESOLUTION`` late.

    Most parts take less than asking the kernel does, so it is asked only when that much time has passed by the clock.
    """

    def __init__(self) -> None:
        self._asked = perf_counter()
        self._told = thread_time()

    def __call__(self) -> float:
        """Return the processor time that the thread has used, in seconds."""
        now = perf_counter()
        if now - self._asked > RESOLUTION:
            self._asked, self._told = now, thread_time()
        return self._told


class Stopwatch:
    """Times parts of the knowledge base, and remembers for the life of one helper which ones are switched off.

    ``clock`` gives the processor time of the calling thread in seconds, so that a busy machine switches off nothing.
    """

    def __init__(self, clock: Callable[[], float] | None = None, seconds: float = ACTION_SECONDS) -> None:
        self.clock = clock or ProcessorClock()
        self._seconds = seconds
        self._off: set[Hashable] = set()

    def is_off(self, part: Hashable) -> bool:
        """Return whether a part took too long on an earlier page."""
        return part in self._off

    def switch_off(self, part: Hashable) -> None:
        """Run a part no more."""
        self._off.add(part)

    def limit(self, page: Page) -> float:
        """Return the seconds that a part may take on a page."""
        return self._seconds * max(1.0, len(page.body) / REGULAR_BYTES)


@dataclass
class Attempts:
    """The parts of one application tried on one page; ``failures`` collects their failures."""

    page: Page
    application: str
    stopwatch: Stopwatch
    failures: list[FailedAction] = field(default_factory=list)

    def attempt(self, part: Hashable, work: Callable[[], T], *, level: str = "", action: str) -> T | None:
        """Do the work of a part; None if it cannot be done on this page or is switched off.

        A part that exceeds its time has done its work on this page, is reported once and does none on later pages.
        ``level`` and ``action`` are the names it is reported under.
        """
        if self.stopwatch.is_off(part):
            return None
        start = self.stopwatch.clock()
        try:
            return work()
        except FAILING as error:
            self.fail(level, action, Failure.ERROR, f"{type(error).__name__}: {error}")
            return None
        finally:
            took = self.stopwatch.clock() - start
            if took > self.stopwatch.limit(self.page):
                self.stopwatch.switch_off(part)
                self.fail(level, action, Failure.SLOW, f"{took:.1f} seconds")

    def fail(self, level: str, action: str, failure: Failure, detail: str = "", objects: int = 0) -> None:
        """Record that an action did not do its work here, and how many objects it yields nevertheless."""
        self.failures.append(FailedAction(self.application, level, action, failure, detail, objects))
