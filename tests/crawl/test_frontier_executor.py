"""How calls get to the thread of the frontier, and answers back."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from aahcrawler.crawl.health.outages import ServerOutage
from aahcrawler.crawl.lease.frontier_executor import TOGETHER, FrontierExecutor
from aahcrawler.frontier.protocol import FrontierAwayError

T = TypeVar("T")


def run(body: Callable[[FrontierExecutor], Awaitable[T]], server_outage: ServerOutage | None = None) -> T:
    async def whole() -> T:
        executor = FrontierExecutor(server_outage=server_outage)
        try:
            return await body(executor)
        finally:
            executor.close()

    return asyncio.run(whole())


@pytest.mark.parametrize("calls", [1, 2, TOGETHER, 3 * TOGETHER + 1])
def test_calls_are_carried_out_in_their_order_by_one_thread(calls: int) -> None:
    made: list[tuple[int, str]] = []

    def make(number: int) -> int:
        made.append((number, threading.current_thread().name))
        return -number

    async def body(executor: FrontierExecutor) -> list[int]:
        return await asyncio.gather(*(executor.call(make, number) for number in range(calls)))

    assert run(body) == [-number for number in range(calls)]
    assert [number for number, _ in made] == list(range(calls))
    assert len({thread for _, thread in made}) == 1


def test_each_call_gets_its_own_answer_or_error() -> None:
    def divide(number: int) -> float:
        return 6 / number

    async def body(executor: FrontierExecutor) -> list[float | BaseException]:
        return await asyncio.gather(*(executor.call(divide, each) for each in (1, 0, 2)), return_exceptions=True)

    one, error, two = run(body)
    assert (one, two) == (6.0, 3.0)
    assert isinstance(error, ZeroDivisionError)


def test_an_answer_does_not_wait_for_the_calls_that_follow() -> None:
    first_is_told = threading.Event()

    async def body(executor: FrontierExecutor) -> bool:
        first = asyncio.ensure_future(executor.call(lambda: "first"))
        second = asyncio.ensure_future(executor.call(first_is_told.wait, 60))
        await first
        first_is_told.set()
        return await second

    assert run(body)


def test_while_the_server_is_away_later_calls_wait_behind_the_first() -> None:
    made: list[str] = []

    def away_at_first(name: str) -> None:
        made.append(name)
        if len(made) == 1:
            raise FrontierAwayError("away")

    async def body(executor: FrontierExecutor) -> None:
        await asyncio.gather(*(executor.call(away_at_first, name) for name in "abc"))

    run(body, ServerOutage())
    assert made == ["a", "a", "b", "c"]


def test_what_is_cancelled_before_its_turn_is_left_out() -> None:
    made: list[str] = []
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        go.wait(60)

    async def body(executor: FrontierExecutor) -> None:
        holding = asyncio.ensure_future(executor.call(hold))
        await asyncio.to_thread(held.wait)
        left_out, kept = (asyncio.ensure_future(executor.call(made.append, name)) for name in ("left out", "kept"))
        await asyncio.sleep(0)
        left_out.cancel()
        await asyncio.sleep(0)
        go.set()
        await asyncio.gather(holding, kept)

    run(body)
    assert made == ["kept"]


def test_closing_waits_for_the_calls_that_were_made_and_takes_no_more() -> None:
    made: list[int] = []

    async def body() -> None:
        executor = FrontierExecutor()
        calls = [asyncio.ensure_future(executor.call(made.append, number)) for number in range(3)]
        await asyncio.sleep(0)
        executor.close()
        assert made == [0, 1, 2]
        await asyncio.gather(*calls)
        with pytest.raises(RuntimeError, match="closed"):
            await executor.call(made.append, 3)

    asyncio.run(body())
    assert made == [0, 1, 2]
