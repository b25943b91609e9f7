"""Check and test as you go: what is wrong with a work now, found out in the background, the newest revision first."""

import logging
import threading
from functools import partial
from typing import Final

from aahcrawler.editor.text.entry_text import EditError
from aahcrawler.editor.works.entry_examination import SECONDS, Examined, Wanted, examined
from aahcrawler.editor.works.work_collection import Works
from aahcrawler.editor.works.work_state import WorkError

_logger = logging.getLogger(__name__)
_TURN: Final = 0.2
"""Seconds after which a thread that waits for its turn looks whether it is wanted any more."""


class Progress:
    """Examines the newest revision of a work, one at a time; an examination of an older one is ended.

    Safe for several threads. ``close`` ends what is running.
    """

    def __init__(self, works: Works, name: str, seconds: float = SECONDS) -> None:
        self._works, self._name, self._seconds = works, name, seconds
        self._condition = threading.Condition()
        self._wanted = -1
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._latest: Examined | None = None
        self._fault = ""

    def ask(self) -> int:
        """Have the work as it is now examined, unless it was or is being; return its revision. Raises `WorkError`."""
        revision = self._works.existing(self._name).now().revision
        with self._condition:
            if revision > self._wanted:
                self._wanted = revision
                self._fault = ""
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name=f"examining {self._name}", daemon=True)
                    self._thread.start()
        return revision

    @property
    def latest(self) -> Examined | None:
        """What was found out last, and of which revision; None if nothing was yet."""
        with self._condition:
            return self._latest

    @property
    def is_running(self) -> bool:
        """Whether an examination is running."""
        with self._condition:
            return self._thread is not None

    @property
    def fault(self) -> str:
        """Why nothing could be found out about the revision asked for last; empty where nothing was wrong."""
        with self._condition:
            return self._fault

    def wait(self, seconds: float) -> Examined | None:
        """Wait until nothing is running, at most some seconds; return `latest`."""
        with self._condition:
            self._condition.wait_for(lambda: self._thread is None, seconds)
            return self._latest

    def close(self) -> None:
        """End what is running, and wait for its end."""
        with self._condition:
            self._is_closed = True
            thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            revision, found, fault = -1, None, ""
            if self._works.examining.acquire(timeout=_TURN):
                try:
                    revision, found = self._found()
                except (WorkError, EditError, OSError) as error:
                    fault = str(error)
                except Exception as error:  # Whatever it is, nobody must wait for ever.
                    _logger.exception("the check of the work %s failed", self._name)
                    fault = f"the check failed ({type(error).__name__}), which is a defect; the log says more"
                finally:
                    self._works.examining.release()
            with self._condition:
                self._latest = found or self._latest
                self._fault = fault
                if fault:
                    self._wanted = -1  # Whoever asks again has it tried again.
                if fault or self._is_closed or self._wanted <= revision:
                    self._thread = None
                    self._condition.notify_all()
                    return

    def _found(self) -> tuple[int, Examined | None]:
        """Examine the newest revision; return it, and what was found out unless that is outdated."""
        work = self._works.existing(self._name)
        state = work.now()
        wanted = Wanted(state.revision, work.entry(state), self._works.folders)
        return state.revision, examined(wanted, self._seconds, partial(self._is_outdated, state.revision))

    def _is_outdated(self, revision: int) -> bool:
        with self._condition:
            return self._wanted > revision or self._is_closed
