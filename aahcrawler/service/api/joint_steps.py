"""Answers requests that arrive together in one step, so that they share what a step costs."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

MOST = 200
"""Requests of one step."""

Q = TypeVar("Q")
A = TypeVar("A")


class JointSteps(Generic[Q, A]):
    """Takes one step after another, each of what has arrived under one name during the step before.

    A request that comes alone waits for nothing. ``step`` gets a name and requests in the order in which they arrived,
    and returns as many answers; an answer that is an exception is raised for its request alone. What ``step`` raises is
    raised for all of them. Names do not wait for one another. For one event loop.
    """

    def __init__(
        self, step: Callable[[str, Sequence[Q]], Awaitable[Sequence[A | Exception]]], most: int = MOST
    ) -> None:
        self._step = step
        self._most = most
        self._waiting: dict[str, deque[tuple[Q, asyncio.Future[A]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, name: str, request: Q) -> A:
        """Return the answer to a request."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(name)
        if waiting is None:
            self._waiting[name] = deque([(request, future)])
            task = asyncio.create_task(self._take_steps(name))
            self._tasks.add(task)  # The loop itself holds tasks weakly.
            task.add_done_callback(self._tasks.discard)
        else:
            waiting.append((request, future))
        return await future

    async def _take_steps(self, name: str) -> None:
        waiting = self._waiting[name]
        while waiting:
            part = [waiting.popleft() for _ in range(min(len(waiting), self._most))]
            await self._answer(name, [(request, future) for request, future in part if not future.done()])
        del self._waiting[name]

    async def _answer(self, name: str, part: Sequence[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            answers = await self._step(name, [request for request, _ in part])
        except Exception as error:  # Whatever it is, the requests must not wait for ever.
            answers = [error] * len(part)
        for (_, future), answer in zip(part, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
