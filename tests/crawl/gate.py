"""Replies of a site that wait until a test has seen what it waits for, however fast or slow the machine is."""

from collections.abc import Callable
from threading import Event, Lock

from tests.crawl.site import Answer, Reply


class Gate:
    """Lets the first ``free`` replies pass, and holds those after them until it is opened.

    One that is to see replies ``together`` opens itself when it holds so many.
    """

    def __init__(self, free: int = 0, together: int = 0) -> None:
        self._free = free
        self._together = together
        self._held: list[Event] = []
        self._is_open = False
        self._lock = Lock()

    @property
    def held(self) -> int:
        """How many replies are being held; that nobody waits for one any more is not noticed."""
        return len(self._held)

    @property
    def is_open(self) -> bool:
        """Whether nothing is held any more."""
        return self._is_open

    def holding(self, answer: Answer) -> Callable[[str], Reply]:
        """Return an answer that passes this gate first."""

        def held(path: str) -> Reply:
            self._pass()
            return answer if isinstance(answer, Reply) else answer(path)

        return held

    def let_pass(self, more: int = 0) -> None:
        """Let those pass that are being held, and so many more of those that come."""
        with self._lock:
            self._free = more
            held, self._held = self._held, []
        for event in held:
            event.set()

    def open(self) -> None:
        """Hold nothing any more."""
        with self._lock:
            self._is_open = True
        self.let_pass()

    def _pass(self) -> None:
        event = Event()
        with self._lock:
            self._free -= 1
            if self._is_open or self._free >= 0:
                return
            self._held.append(event)
            is_together = len(self._held) == self._together
        if is_together:
            self.open()
        event.wait()
