"""Leases as an endless supply of work: taken when there is room, waited for when no queue is ready."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import ParamSpec, TypeVar

from aahcrawler.crawl.room import Room
from aahcrawler.frontier.protocol import Frontier, Lease

LEASE = "aah_lease"
"""The key of ``Request.meta`` that holds a request's lease."""

LONGEST_WAIT = 1.0
"""Seconds after which the frontier is asked again: other workers and services offer URLs unheard."""

P = ParamSpec("P")
T = TypeVar("T")


class FrontierLane:
    """One thread that all calls to a frontier go through, so that a slow server never blocks the event loop.

    Calls are carried out in the order in which they were made. With a ``room``, those that the server refuses because
    it cannot write to its disk are made again until it can.
    """

    def __init__(self, room: Room | None = None) -> None:
        self._room = room
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="frontier")

    async def call(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation in the lane and return what it returns, or raise what it raises."""
        loop = asyncio.get_running_loop()

        def once() -> Awaitable[T]:
            return loop.run_in_executor(self._executor, lambda: operation(*args, **kwargs))

        return await (once() if self._room is None else self._room.held(once))

    def close(self) -> None:
        """Wait for the calls that were made and end the thread."""
        self._executor.shutdown()


class LeaseSource:
    """Keeps at most ``capacity`` leases out at once.

    Iterating yields leases until ``stop`` is called or the frontier holds nothing that could ever be leased. Of leases
    that share a connection (``FrontierSettings``) the next one is yielded when the one before it has been settled.
    Every lease must come back through ``settled``; what has not by the time of ``close`` is released there. While
    ``paused`` says so, none is yielded.
    """

    def __init__(
        self,
        frontier: Frontier,
        lane: FrontierLane,
        worker: str,
        capacity: int,
        paused: Callable[[], bool] = lambda: False,
    ) -> None:
        self._frontier = frontier
        self._lane = lane
        self._worker = worker
        self._capacity = capacity
        self._paused = paused
        self._out: dict[tuple[str, str], Lease] = {}
        self._behind: dict[str, deque[Lease]] = {}
        self._turns: deque[Lease] = deque()
        self._changed = asyncio.Event()
        self._stopped = False
        self._taking: asyncio.Future[tuple[Lease, ...]] | None = None

    @property
    def out(self) -> int:
        """How many leases are out."""
        return len(self._out)

    async def __aiter__(self) -> AsyncIterator[Lease]:
        """Yield leases; ends when no work is left or after ``stop``."""
        while not self._has_stopped():
            self._changed.clear()
            room = 0 if self._paused() else self._capacity - len(self._out)
            leases = await self._take(room) if room else ()
            while self._turns and not self._paused() and not self._has_stopped():
                yield self._turns.popleft()
            if not leases and not await self._wait():
                return

    def _has_stopped(self) -> bool:
        return self._stopped

    async def _take(self, room: int) -> tuple[Lease, ...]:
        # Whoever iterates may be cancelled; what the frontier hands out all the same has to be known to ``close``.
        self._taking = asyncio.ensure_future(self._lane.call(self._frontier.lease, self._worker, room))
        self._taking.add_done_callback(self._taken)
        return await asyncio.shield(self._taking)

    def _taken(self, taking: asyncio.Future[tuple[Lease, ...]]) -> None:
        if not taking.cancelled() and taking.exception() is None:
            self._line_up(taking.result())

    def _line_up(self, leases: Iterable[Lease]) -> None:
        for lease in leases:
            self._out[lease.token, lease.url] = lease
            if lease.token in self._behind:
                self._behind[lease.token].append(lease)
            else:
                self._behind[lease.token] = deque()
                self._turns.append(lease)

    async def _wait(self) -> bool:
        """Wait until a lease may succeed; False if none ever will."""
        ready = await self._lane.call(self._frontier.next_ready)
        if ready is None and not self._out:
            return False
        # A queue that is ready while none could be leased waits for one of our own leases.
        wait = LONGEST_WAIT if not ready else min(ready, LONGEST_WAIT)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), wait)
        return True

    def settled(self, lease: Lease) -> None:
        """Note that a lease was finished, retried or lost: what shares its connection is next."""
        if self._out.pop((lease.token, lease.url), None) is None:
            return
        behind = self._behind.get(lease.token)
        if behind:
            self._turns.append(behind.popleft())
        else:
            self._behind.pop(lease.token, None)
        self._changed.set()

    async def give_back_behind(self, lease: Lease) -> None:
        """Release what was to share the connection of a lease: its site needs a rest."""
        waiting = self._behind.get(lease.token, deque())
        leases = tuple(waiting)
        waiting.clear()
        await self._release(leases)

    async def renew(self) -> None:
        """Let all leases that are out run on: a slow server is no dead worker."""
        leases = tuple(self._out.values())
        if leases:
            await self._lane.call(self._frontier.renew, leases)

    def stop(self) -> None:
        """Lease no more."""
        self._stopped = True
        self._changed.set()

    async def close(self) -> None:
        """Release everything that was leased and not settled."""
        self.stop()
        if self._taking is not None:
            await asyncio.wait((self._taking,))
        await self._release(tuple(self._out.values()))

    async def _release(self, leases: tuple[Lease, ...]) -> None:
        for lease in leases:
            del self._out[lease.token, lease.url]
        if leases:
            await self._lane.call(self._frontier.release, leases)
