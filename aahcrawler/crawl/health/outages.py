"""Errors that are of no site: of this machine, of the frontier's server, of proxies.

What is behind them waits, and no attempt is counted.
"""

import errno
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from aahcrawler.frontier.protocol import FrontierAwayError, FrontierFullError, FrontierUnavailableError
from aahcrawler.segments import DiskFullError, SegmentError
from aahcrawler.wire.errors import SpoolError

logger = logging.getLogger(__name__)

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

EXHAUSTED = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""What the operating system says when this machine, and not a page, is the cause."""


def is_local(error: Exception) -> bool:
    """Say whether an error is this machine's (no frontier, no disk, no files), not one that a page may provoke."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    return isinstance(error, FrontierUnavailableError | SegmentError | SpoolError)


def is_full(error: BaseException | None) -> bool:
    """Say whether an error, or its cause, is a full disk, quota or file."""
    if isinstance(error, DiskFullError | FrontierFullError):
        return True
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return error is not None and is_full(error.__cause__)


FIRST_SERVER_REST, MAX_SERVER_REST = 0.1, 5.0
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
        rest = FIRST_SERVER_REST
        while True:
            ended = self._ending.wait(rest)
            rest = min(2 * rest, MAX_SERVER_REST)
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


FIRST_PROXY_REST, MAX_PROXY_REST = 1.0, 30.0
"""Seconds between two tries; they double."""


@dataclass(slots=True)
class _Away:
    why: str
    rest: float
    until: float
    since: float


class ProxyOutage:
    """Knows which proxies are away. While the ``general`` one is, by its name, the crawl pauses."""

    def __init__(self, general: str, clock: Callable[[], float] = monotonic) -> None:
        self._general = general
        self._clock = clock
        self._away: dict[str, _Away] = {}
        self.changed: list[Callable[[], None]] = []
        """Called after each change of ``why``."""

    @property
    def why(self) -> str:
        """Why the crawl pauses and what to do, empty while it does not."""
        away = self._away.get(self._general)
        return f"{away.why}; what waits is fetched when it is back" if away else ""

    @property
    def is_resting(self) -> bool:
        """Whether nothing is to be tried for now."""
        away = self._away.get(self._general)
        return away is not None and self._clock() < away.until

    def began(self, proxy: str, why: str) -> float:
        """Take note that a proxy could not be used; return for how many seconds what is behind it should rest."""
        now, away = self._clock(), self._away.get(proxy)
        if away is None:
            away = self._away[proxy] = _Away(why, FIRST_PROXY_REST, now + FIRST_PROXY_REST, now)
            logger.warning("%s: %s", "paused" if proxy == self._general else "hosts behind a proxy wait", why)
            self._notify()
        elif now >= away.until:
            away.why, away.rest = why, min(2 * away.rest, MAX_PROXY_REST)
            away.until = now + away.rest
        return max(away.until - now, FIRST_PROXY_REST)

    def over(self, proxy: str) -> None:
        """Take note that something came through a proxy."""
        away = self._away.pop(proxy, None)
        if away is not None:
            logger.warning("%s is back after %.1f s, the crawl goes on", proxy, self._clock() - away.since)
            self._notify()

    def _notify(self) -> None:
        for listener in self.changed:
            listener()
