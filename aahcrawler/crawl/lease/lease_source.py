"""Leases as an endless supply of work: taken up to a capacity, waited for when no queue is ready."""

import asyncio
import logging
import os
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from math import inf
from time import monotonic
from typing import Protocol
from uuid import uuid4

from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.frontier.protocol import Frontier, FrontierUnavailableError, Lease


class Taker(Protocol):
    """Takes slots for a crawl."""

    @property
    def taken(self) -> int:
        """The number of slots held, including those that the frontier is just asked to fill."""

    @property
    def is_hungry(self) -> bool:
        """Whether it could have filled more than it got when it asked last."""

    def wake(self) -> None:
        """Ask again."""


class Slots:
    """Shares ``most`` slots among crawls.

    Each has its equal share for the asking. What some do not use is there for those that ask for it, until the others
    can use it again: nothing is taken away, so that this takes as long as fetching a page does.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._takers: list[Taker] = []

    def join(self, taker: Taker) -> None:
        """Let a crawl have its share."""
        self._takers.append(taker)

    def leave(self, taker: Taker) -> None:
        """Share what a crawl had among the others."""
        self._takers.remove(taker)
        self.freed()

    def available(self, taker: Taker, wanted: int) -> int:
        """Return how many more slots a crawl may take of those it wants."""
        free = self._most - sum(each.taken for each in self._takers)
        share = max(1, self._most // len(self._takers))
        kept = sum(max(0, share - each.taken) for each in self._takers if each is not taker and each.is_hungry)
        return max(0, min(wanted, free, max(free - kept, share - taker.taken)))

    def freed(self) -> None:
        """Let those know that could use them that there are slots again."""
        for each in self._takers:
            if each.is_hungry:
                each.wake()


CONCURRENT_REQUESTS = 64

LEASE = "aah_lease"
"""The key of ``Request.meta`` that holds a request's lease."""

MAX_WAIT = 1.0
"""Seconds after which the frontier is asked again: other workers and services offer URLs unheard."""

STALE = 15.0
"""Seconds since the last renewal, by this machine's clock, after which a lease is asked about before it is used."""


class StoppedError(Exception):
    """The crawl ends before a request was sent, or before its response came; nothing is known of the URL."""


class CutError(StoppedError):
    """The crawl ends while a response is under way."""


class LostLeaseError(Exception):
    """A lease was lost before its URL was asked for: the URL is somebody else's now."""


class Backlog(Protocol):
    """Links that wait in the frontier unscored, to be scored together."""

    def __len__(self) -> int:
        """Return how many pages they are from."""
        ...

    async def end(self) -> None:
        """Score them now."""
        ...


class LeaseSource:
    """Keeps at most ``capacity`` leases out at once.

    Iterating yields leases until ``stop`` is called or the frontier holds nothing that could ever be leased. Of leases
    that share a connection (``FrontierSettings``) the next one is yielded when the one before it has ended.
    Every lease must come back through ``finished``; what has not by the time of ``close`` is released there. While
    ``paused`` says so, none is yielded. Where nothing better is ready than what is unscored, and there is a ``backlog``
    to score, that is done first. ``capacity`` may change at any time. While ``held``, none is yielded either, and the
    end of what could be leased is not the end: somebody is about to change that. ``slots`` is the
    bound that this crawl shares with others, None where there are none, and ``connections`` how many a queue may have,
    where that is fewer than the frontier hands out. ``clock`` returns seconds that never run backwards.
    """

    held: bool = False
    is_paused: bool = False
    """Whether the frontier hands out nothing until an operator resumes the crawl, or its queues."""
    last_resort: Callable[[], Awaitable[bool]] | None = None
    """Asked when nothing is left that could be leased: it says whether it has found something."""
    ready_at: float | None = None
    """When the next lease may succeed as far as is known, by ``clock``; None while that is not waited for."""
    clock: Callable[[], float] = staticmethod(monotonic)

    def __init__(
        self,
        frontier: Frontier,
        executor: FrontierExecutor,
        worker: str,
        capacity: int,
        paused: Callable[[], bool] = lambda: False,
        *,
        backlog: Backlog | None = None,
        slots: Slots | None = None,
        connections: Callable[[str], int] | None = None,
    ) -> None:
        self._frontier = frontier
        self._executor = executor
        self._worker = worker
        self.capacity = capacity
        self._paused = paused
        self.backlog = backlog
        self._slots = slots
        self._connections = connections
        self._out: dict[tuple[str, str], Lease] = {}
        self._lost: set[tuple[str, str]] = set()
        self._behind: dict[str, deque[Lease]] = {}
        self._queues: dict[str, str] = {}
        self._joined: dict[str, str] = {}
        self._turns: deque[Lease] = deque()
        self._changed = asyncio.Event()
        self._asking = 0
        self._hungry = False
        self._stopped = False
        self._renewed_at = self.clock()
        self._renewing = asyncio.Lock()
        self._taking: asyncio.Future[tuple[Lease, ...]] | None = None

    @property
    def out(self) -> int:
        """The number of leases that are out."""
        return len(self._out)

    @property
    def taken(self) -> int:
        """See ``Taker.taken``."""
        return len(self._out) + self._asking

    @property
    def is_hungry(self) -> bool:
        """See ``Taker.is_hungry``."""
        return self._hungry and not self._stopped

    def wake(self) -> None:
        """See ``Taker.wake``."""
        self._changed.set()

    @property
    def leases(self) -> Sequence[Lease]:
        """All leases that are out; for any thread."""
        return tuple(self._out.values())

    async def __aiter__(self) -> AsyncIterator[Lease]:
        """Yield leases; ends when no work is left or after ``stop``."""
        while not self._has_stopped():
            self._changed.clear()
            available = 0 if self._waits() else self._available()
            leases = await self._take(available) if available > 0 else ()
            self.is_paused = self.is_paused and not leases
            while self._turns and not self._waits() and not self._has_stopped():
                yield self._turns.popleft()
            if not leases and not await self._wait():
                return

    def _available(self) -> int:
        wanted = self.capacity - len(self._out)
        if self._slots is None:
            return wanted
        available = self._slots.available(self, wanted)
        self._hungry = available < wanted
        return available

    def _waits(self) -> bool:
        return self.held or self._paused()

    def _has_stopped(self) -> bool:
        return self._stopped

    async def _take(self, available: int) -> tuple[Lease, ...]:
        # Whoever iterates may be cancelled; what the frontier hands out all the same has to be known to ``close``.
        self._asking = available
        self._taking = asyncio.ensure_future(self._lease(available))
        self._taking.add_done_callback(self._taken)
        return await asyncio.shield(self._taking)

    async def _lease(self, available: int) -> tuple[Lease, ...]:
        leases = await self._executor.call(self._frontier.lease, self._worker, available)
        unscored = tuple(lease for lease in leases if not lease.is_scored)
        if not unscored or not self.backlog:
            return leases
        # What is leased cannot be scored.
        await self._executor.call(self._frontier.release, unscored)
        await self.backlog.end()
        scored = tuple(lease for lease in leases if lease.is_scored)
        return (*scored, *await self._executor.call(self._frontier.lease, self._worker, available - len(scored)))

    def _taken(self, taking: asyncio.Future[tuple[Lease, ...]]) -> None:
        asked, self._asking = self._asking, 0
        if not taking.cancelled() and taking.exception() is None:
            self._line_up(taking.result())
            # Whoever got fewer than were asked for has nothing more ready.
            self._hungry = self._hungry and len(taking.result()) >= asked

    def _line_up(self, leases: Iterable[Lease]) -> None:
        for lease in leases:
            self._out[lease.token, lease.url] = lease
            token = self._connection(lease)
            if token in self._behind:
                self._behind[token].append(lease)
            else:
                self._behind[token], self._queues[token] = deque(), lease.queue
                self._turns.append(lease)

    def _connection(self, lease: Lease) -> str:
        """Return the token that names a lease's connection: another's where its queue may have no more of them."""
        token = self._joined.get(lease.token, lease.token)
        if token in self._behind or self._connections is None:
            return token
        busy = [other for other, queue in self._queues.items() if queue == lease.queue]
        if len(busy) < self._connections(lease.queue):
            return token
        self._joined[token] = min(busy, key=lambda other: len(self._behind[other]))
        return self._joined[token]

    async def _wait(self) -> bool:
        """Wait until a lease may succeed; False if none ever will."""
        ready = await self._executor.call(self._frontier.next_ready)
        self.is_paused = ready == inf
        self.ready_at = None if ready is None or ready == inf else self.clock() + ready
        if ready is None and not self._out and not self.held:
            return self.last_resort is not None and await self.last_resort()
        # A queue that is ready while none could be leased waits for one of our own leases.
        wait = MAX_WAIT if not ready else min(ready, MAX_WAIT)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), wait)
        return True

    def finished(self, lease: Lease) -> None:
        """Note that a lease was finished, retried or lost: what shares its connection is next."""
        key = lease.token, lease.url
        if key not in self._lost and key not in self._out:
            return
        self._lost.discard(key)
        self._out.pop(key, None)
        self._let_next_pass(lease.token)
        self._changed.set()
        if self._slots is not None:
            self._slots.freed()

    def _let_next_pass(self, token: str) -> None:
        token = self._joined.get(token, token)
        behind = self._behind.get(token)
        if behind:
            self._turns.append(behind.popleft())
        elif behind is not None:
            del self._behind[token], self._queues[token]
            self._joined = {joined: other for joined, other in self._joined.items() if other != token}

    async def give_back_behind(self, lease: Lease) -> None:
        """Release what was to share the connection of a lease: its site needs a rest."""
        waiting = self._behind.get(self._joined.get(lease.token, lease.token), deque())
        leases = tuple(waiting)
        waiting.clear()
        await self._release(leases)

    async def renew(self) -> None:
        """Let all leases that are out run on: a slow server is no dead worker."""
        leases, at = self.leases, self.clock()
        held = await self._executor.call(self._frontier.renew, leases) if leases else ()
        self.renewed(leases, held, at)

    def renewed(self, leases: Sequence[Lease], held: Sequence[bool], at: float) -> None:
        """Note of each lease whether it was still held when it was renewed, at some time by ``clock``."""
        self._renewed_at = max(at, self._renewed_at)
        for lease, is_held in zip(leases, held, strict=True):
            if not is_held:
                self._lose(lease)

    async def holds(self, lease: Lease) -> bool:
        """Say whether a lease still holds; the frontier is asked where this worker was held up since it last was."""
        async with self._renewing:
            if self.clock() - self._renewed_at > STALE:
                await self.renew()
        return (lease.token, lease.url) in self._out

    def _lose(self, lease: Lease) -> None:
        if self._out.pop((lease.token, lease.url), None) is None:
            return
        behind = self._behind.get(self._joined.get(lease.token, lease.token), deque())
        if lease in behind:
            behind.remove(lease)
        elif lease in self._turns:
            self._turns.remove(lease)
            self._let_next_pass(lease.token)
        else:
            self._lost.add((lease.token, lease.url))
        self._changed.set()

    def stop(self) -> None:
        """Lease no more."""
        self._stopped = True
        self._changed.set()

    async def close(self) -> None:
        """Release every lease that has not ended."""
        self.stop()
        if self._taking is not None:
            await asyncio.wait((self._taking,))
        await self._release(tuple(self._out.values()))

    async def _release(self, leases: tuple[Lease, ...]) -> None:
        for lease in leases:
            del self._out[lease.token, lease.url]
        if leases:
            await self._executor.call(self._frontier.release, leases)


def capacity(pages: int) -> int:
    """Return how many URLs are fetched at once for a budget of ``pages``, 0 for no bound.

    What is under way was chosen before its result was known, so it may take no more than a fiftieth of the budget.

    >>> capacity(0), capacity(160), capacity(10_000)
    (64, 3, 64)
    """
    return max(1, min(CONCURRENT_REQUESTS, pages // 50)) if pages else CONCURRENT_REQUESTS


@cache
def worker_name() -> str:
    """Return the name of this process, which no other worker has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


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
