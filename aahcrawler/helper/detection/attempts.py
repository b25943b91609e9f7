"""Run parts of the knowledge base on pages, and report those that fail or would take too much work."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import thread_time
from typing import Final, TypeVar

from lxml import etree

from aahcrawler.helper.assistance import FailedAction, Failure
from aahcrawler.page import Page
from aahcrawler.page.failed_stages import PageGivenUpError, is_of_machine, told
from knowledge_base.xpath_limits import TooCostlyError

T = TypeVar("T")

FAILING: Final = (
    *(etree.LxmlError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError),
    *(TypeError, ValueError),
)
"""The exceptions of expressions and values that fail on a page."""

PAGE_SECONDS = 300.0
"""Processor time after which a page is given up: what its parts may do is counted, so none gets there."""


class Watchdog:
    """Gives up a page that takes far too long in spite of all limits.

    Nothing that is learned and nothing that is switched on or off depends on it. ``clock`` gives the processor time of
    the calling thread in seconds.
    """

    def __init__(self, clock: Callable[[], float] = thread_time, seconds: float = PAGE_SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._end = clock() + seconds

    def begin(self) -> None:
        """Begin with a page."""
        self._end = self._clock() + self._seconds

    def check(self) -> None:
        """Raise ``PageGivenUpError`` where the page has taken too long."""
        if self._clock() > self._end:
            raise PageGivenUpError(f"it took more than {self._seconds:g} seconds of processor time")


@dataclass
class Attempts:
    """The parts of one application tried on one page; ``failures`` collects their failures."""

    page: Page
    application: str
    watchdog: Watchdog
    failures: list[FailedAction] = field(default_factory=list)

    def attempt(self, work: Callable[[], T], *, level: str = "", action: str) -> T | None:
        """Do the work of a part; None if it cannot be done on this page, or not with what it may cost.

        ``level`` and ``action`` are the names that a failure is reported under. Raises ``PageGivenUpError``.
        """
        self.watchdog.check()
        try:
            return work()
        except TooCostlyError as error:
            self.fail(level, action, Failure.SLOW, str(error))
        except Exception as error:
            if is_of_machine(error):
                raise
            self.fail(level, action, Failure.ERROR, told(error))
        return None

    def fail(
        self, level: str, action: str, failure: Failure, detail: str = "", objects: int = 0, *, spared: bool = False
    ) -> None:
        """Record that an action did not do its work here, and how many objects it yields nevertheless.

        ``spared`` says that repair, or learning from it, was left out.
        """
        self.failures.append(FailedAction(self.application, level, action, failure, detail, objects, spared))
