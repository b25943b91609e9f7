"""Requests that arrive together share a step; each has its own answer."""

import asyncio
from collections.abc import Sequence

import pytest

from aahcrawler.service.api.intake import JointSteps


class Steps:
    """Notes the steps that were taken; the first one goes on until it is let go."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, list[int]]] = []
        self.free = asyncio.Event()

    async def take(self, name: str, numbers: Sequence[int]) -> list[str | Exception]:
        """Answer even numbers, and refuse odd ones."""
        self.taken.append((name, list(numbers)))
        await self.free.wait()
        if name == "broken":
            raise ConnectionError("gone")
        return [ValueError(str(number)) if number % 2 else f"{name} {number}" for number in numbers]


def test_what_arrives_during_a_step_is_answered_in_the_next_one() -> None:
    async def ask() -> None:
        steps = Steps()
        joint = JointSteps(steps.take, most=3)
        asked = [asyncio.create_task(joint.ask("a", number)) for number in range(0, 12, 2)]
        other = asyncio.create_task(joint.ask("b", 2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        steps.free.set()
        assert await asyncio.gather(*asked) == [f"a {number}" for number in range(0, 12, 2)]
        assert await other == "b 2"
        assert [numbers for name, numbers in steps.taken if name == "a"] == [[0, 2, 4], [6, 8, 10]]

    asyncio.run(ask())


def test_a_refusal_is_that_of_its_request_alone_and_a_failure_that_of_all() -> None:
    async def ask() -> None:
        steps = Steps()
        steps.free.set()
        joint = JointSteps(steps.take)
        told = await asyncio.gather(*(joint.ask("a", number) for number in (2, 3, 4)), return_exceptions=True)
        assert told[0] == "a 2"
        assert isinstance(told[1], ValueError)
        assert told[2] == "a 4"
        failed = await asyncio.gather(*(joint.ask("broken", number) for number in (2, 4)), return_exceptions=True)
        assert [type(each) for each in failed] == [ConnectionError, ConnectionError]
        assert await joint.ask("a", 6) == "a 6"

    asyncio.run(ask())


def test_a_client_that_has_gone_holds_up_nobody() -> None:
    async def ask() -> None:
        steps = Steps()
        joint = JointSteps(steps.take)
        first, gone, last = (asyncio.create_task(joint.ask("a", number)) for number in (0, 2, 4))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        gone.cancel()
        steps.free.set()
        assert (await first, await last) == ("a 0", "a 4")
        with pytest.raises(asyncio.CancelledError):
            await gone

    asyncio.run(ask())
