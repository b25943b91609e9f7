"""An outage of the frontier's server: a crawl pauses, keeps what it holds, and goes on when the server is back."""

import logging
import threading
from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from aahcrawler.frontier.protocol import FrontierAwayError

logger = logging.getLogger(__name__)

FIRST_REST, LONGEST_REST = 0.1, 5.0
"""Seconds between two tries; they double."""
SILENCE = 5.0
"""Seconds without an answer from which on a crawl is said to pause."""
GRACE = 15.0
"""Seconds that an answer is waited for when the crawl ends: a machine that is busy for a while ends it no other way."""
SILENT = "the frontier's server does not answer, or is cut off; see its log"

T = TypeVar("T")


def _nothing() -> None:
    """Do nothing."""


class ServerOutage:
    """Pauses a crawl while the frontier's server is away, and makes calls again until it is back.

    States: over -> lasting -> over, and from both to given up, once the crawl ends. ``reconnect`` is called before each
    new try, ``cut`` ends a call that is under way when nobody waits for it any longer. Calls are made one at a time.
    """

    def __init__(self, reconnect: Callable[[], None] = _nothing, cut: Callable[[], None] = _nothing) -> None:
        self._reconnect = reconnect
        self._cut = cut
        self._ending = threading.Event()
        self._begun: float | None = None
        self._since = 0.0
        self._was_cut = False
        self._given_up: FrontierAwayError | None = None
        self.why = ""
        """Why the crawl pauses and what to do, empty while it does not."""
        self.changed: list[Callable[[], None]] = []
        """Called after each change of ``why``, in whatever thread."""

    def retry(self, call: Callable[[], T]) -> T:
        """Make a call, and make it again for as long as the server is away; for a thread that may be held up.

        Raise what the call raises for other reasons, what ``reconnect`` raises, and ``FrontierAwayError`` once the
        crawl is ending: after one more try, or when the call was cut, and without any try from then on.
        """
        if self._given_up is not None:
            raise self._given_up
        try:
            return self._made(call)
        except FrontierAwayError as error:
            self._set_reason(str(error))
            if self._was_cut:
                raise
        return self._made_later(call)

    def look(self) -> None:
        """Notice a call that is not answered; cut it where the crawl is ending. To be called about once a second."""
        begun = self._begun
        if begun is None:
            return
        waited = monotonic() - begun
        if waited >= SILENCE and not self.why:
            self._set_reason(SILENT)
        if waited >= GRACE and self._ending.is_set():
            self._was_cut = True
            self._cut()

    def give_up(self) -> None:
        """Let nobody wait any longer: the crawl is ending."""
        self._ending.set()

    def _made_later(self, call: Callable[[], T]) -> T:
        rest = FIRST_REST
        while True:
            ended = self._ending.wait(rest)
            rest = min(2 * rest, LONGEST_REST)
            try:
                self._reconnect()
                return self._made(call)
            except FrontierAwayError as error:
                self._set_reason(str(error))
                if ended:
                    self._given_up = error
                    raise

    def _made(self, call: Callable[[], T]) -> T:
        self._begun = monotonic()
        try:
            answer = call()
        except Exception as error:
            if self._was_cut:  # A client whose connection is closed under its hands may raise anything.
                self._given_up = FrontierAwayError(SILENT)
                raise self._given_up from error
            raise
        finally:
            self._begun = None
        if self.why:
            self._set_reason("")
        return answer

    def _set_reason(self, why: str) -> None:
        if why == self.why:
            return
        if not self.why:
            self._since = monotonic()
            logger.warning("paused: %s", why)
        elif not why:
            logger.warning("the frontier's server is back after %.1f s, the crawl goes on", monotonic() - self._since)
        self.why = why
        for listener in self.changed:
            listener()
