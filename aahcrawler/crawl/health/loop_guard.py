"""Hold an event loop for a bounded time: work that takes longer is given up, so that it is done elsewhere."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, TypeVar

T = TypeVar("T")

SECONDS: Final = 1.0
"""Processor time of the loop's thread: a busy machine gives up no more than a quiet one."""
_LOOK_EVERY: Final = 0.1


class LoopHeldError(BaseException):
    """Raised within work that holds the loop for too long.

    It is no ``Exception``, so that neither a stage of the work nor a library keeps it.
    """


class LoopGuard:
    """Gives up work in the main thread between two steps of Python; in other threads it just does it.

    What runs in foreign code is given up when that returns: expressions are bounded by their cost. A signal is sent for
    every tenth of a second of processor time that this process takes (``ITIMER_VIRTUAL``).
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._end = 0.0
        self._is_on = False

    def within(self, work: Callable[[], T]) -> T:
        """Return the result of work; raise ``LoopHeldError`` where it takes too long."""
        if threading.current_thread() is not threading.main_thread():
            return work()
        before = signal.getsignal(signal.SIGVTALRM)
        try:
            try:
                self._begin()
                return work()
            finally:
                self._is_on = False
        finally:
            # Nothing is raised from here on, whatever was under way when the clock struck.
            self._is_on = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def _begin(self) -> None:
        self._end = time.thread_time() + self._seconds
        self._is_on = True
        signal.signal(signal.SIGVTALRM, self._look)
        signal.setitimer(signal.ITIMER_VIRTUAL, _LOOK_EVERY, _LOOK_EVERY)

    def _look(self, _: int, __: FrameType | None) -> None:
        now = time.thread_time()
        if self._is_on and now > self._end:
            self._end = now + self._seconds  # Whoever swallows it is told once more.
            raise LoopHeldError
