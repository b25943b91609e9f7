"""One thread that all calls to a frontier go through, and how calls get there and answers back."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

from aahcrawler.crawl.health.disk_space import DiskSpace
from aahcrawler.crawl.health.outages import ServerOutage

TOGETHER = 8
"""Calls that are handed over at once at most: to wake a thread for each costs as much as many a call."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class _Call(Generic[T]):
    """A call on its way to the thread, and its answer on the way back."""

    made: Callable[[], T]
    future: asyncio.Future[T]
    answer: T | None = None
    error: Exception | None = None

    def make(self, server_outage: ServerOutage) -> None:
        try:
            self.answer = server_outage.retry(self.made)
        except Exception as error:  # Whoever called gets it.
            self.error = error

    def resolve(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.answer)  # type: ignore[arg-type]  # None where that is the answer


class FrontierExecutor:
    """Runs all calls to a frontier in one thread, so that a slow server never blocks the event loop.

    Calls are carried out in the order in which they were made; one that is cancelled before that is left out. While the
    server is away, the first of them waits, and all others behind it. With a ``disk_space``, those that the server
    refuses because it cannot write to its disk are made again until it can. Calls that are made while the event loop is
    busy are handed over together.
    """

    def __init__(self, disk_space: DiskSpace | None = None, server_outage: ServerOutage | None = None) -> None:
        self._disk_space = disk_space
        self._server_outage = server_outage or ServerOutage()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="frontier")
        self._waiting: list[_Call[Any]] = []
        self._made: deque[_Call[Any]] = deque()
        self._is_notified = True
        self._closed = False

    async def call(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation in the thread and return what it returns, or raise what it raises."""
        loop, made = asyncio.get_running_loop(), partial(operation, *args, **kwargs)

        def once() -> Awaitable[T]:
            return self._line_up(made, loop)

        return await (once() if self._disk_space is None else self._disk_space.retry(once))

    def close(self) -> None:
        """Wait for the calls that were made and end the thread. Raise ``RuntimeError`` for later ones."""
        self._closed = True
        if self._waiting:
            self._hand_over(self._waiting[0].future.get_loop())
        self._executor.shutdown()

    def _line_up(self, made: Callable[[], T], loop: asyncio.AbstractEventLoop) -> asyncio.Future[T]:
        if self._closed:
            raise RuntimeError("the frontier's executor is closed")
        future: asyncio.Future[T] = loop.create_future()
        if not self._waiting:
            # What else runs in this iteration of the loop may have something to ask as well.
            loop.call_soon(self._hand_over, loop)
        self._waiting.append(_Call(made, future))
        if len(self._waiting) >= TOGETHER:
            self._hand_over(loop)
        return future

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        calls, self._waiting = self._waiting, []
        if calls:
            self._executor.submit(self._make, calls, loop)

    def _make(self, calls: Sequence[_Call[Any]], loop: asyncio.AbstractEventLoop) -> None:
        for call in calls:
            if call.future.cancelled():
                continue
            call.make(self._server_outage)
            self._made.append(call)
            if self._is_notified:
                self._is_notified = False
                with suppress(RuntimeError):  # The loop has ended, and with it all who wait.
                    loop.call_soon_threadsafe(self._resolve_all)

    def _resolve_all(self) -> None:
        self._is_notified = True
        while self._made:
            self._made.popleft().resolve()
