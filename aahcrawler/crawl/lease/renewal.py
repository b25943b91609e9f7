"""Leases are renewed by a thread of their own, so that they hold while the event loop waits for a slow disk."""

import asyncio
import logging
import threading
from collections.abc import Callable
from time import monotonic

from aahcrawler.crawl.lease.lease_source import LeaseSource
from aahcrawler.frontier.protocol import Frontier, FrontierUnavailableError

logger = logging.getLogger(__name__)

RENEW_EVERY = 5.0
"""Seconds between two renewals; leases run for half a minute at least."""
MAX_STALL = 600.0
"""Seconds without a sign of life from the event loop after which its leases are left to run out."""


class LeaseRenewer:
    """Renews what a source has leased until it is closed, and what else is to be renewed by ``also``.

    A server that is away is left to those who wait for it.
    """

    def __init__(
        self,
        frontier: Frontier,
        source: LeaseSource,
        also: Callable[[], None] = lambda: None,
        every: float = RENEW_EVERY,
    ) -> None:
        self._frontier = frontier
        self._source = source
        self._also = also
        self._every = every
        self._closed = threading.Event()
        self._alive_at = monotonic()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to renew; call it in the event loop that uses the source."""
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._keep, args=(loop,), name="lease-keeper", daemon=True)
        self._thread.start()

    def alive(self) -> None:
        """Give a sign of life of the event loop."""
        self._alive_at = monotonic()

    def close(self) -> None:
        """Renew no more. What is under way may still end a little later."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def _keep(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._closed.wait(self._every):
            if monotonic() - self._alive_at > MAX_STALL:
                continue
            try:
                self._renew(loop)
            except FrontierUnavailableError:
                continue
            except Exception as error:  # A client whose connection is closed under its hands may raise anything.
                logger.warning("leases were not renewed: %r", error)

    def _renew(self, loop: asyncio.AbstractEventLoop) -> None:
        leases, at = self._source.leases, self._source.clock()
        held = self._frontier.renew(leases) if leases else ()
        try:
            loop.call_soon_threadsafe(self._source.renewed, leases, held, at)
        except RuntimeError:  # The loop has ended.
            self._closed.set()
        self._also()
