import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

import pytest

from aahcrawler.crawl.lease import lease_source as leasing
from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.crawl.lease.lease_source import LeaseSource
from aahcrawler.frontier.protocol import FrontierUnavailableError, Lease


class Shelf:
    """A frontier of equal URLs that are ready at once, as far as leasing goes."""

    def __init__(self, n: int) -> None:
        self.queued = [Lease(f"http://a.test/{i}", "a.test", 0.5, 0, "page", "", 1, str(i)) for i in range(n)]
        self.released: list[Lease] = []
        self.asked: list[int] = []

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        assert worker
        self.asked.append(n)
        taken, self.queued = self.queued[:n], self.queued[n:]
        return tuple(taken)

    def release(self, leases: Sequence[Lease]) -> None:
        self.released += leases

    def next_ready(self) -> float | None:
        return 0.0 if self.queued else None


class Gone(Shelf):
    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        raise FrontierUnavailableError(f"no server for {worker} and {n}")


@pytest.fixture
def executor() -> Iterator[FrontierExecutor]:
    executor = FrontierExecutor()
    yield executor
    executor.close()


def test_never_more_leases_are_out_than_there_is_room_for(executor: FrontierExecutor) -> None:
    shelf = Shelf(25)
    most = 0

    async def crawl() -> list[str]:
        nonlocal most
        source = LeaseSource(shelf, executor, "w", 4)  # type: ignore[arg-type]
        seen = []
        async for lease in source:
            seen.append(lease.url)
            most = max(most, source.out)
            asyncio.get_running_loop().call_later(0.001, source.finished, lease)
        return seen

    seen = asyncio.run(crawl())
    assert len(seen) == len(set(seen)) == 25
    assert most <= 4
    assert max(shelf.asked) <= 4


def test_a_queue_has_no_more_connections_than_are_its_own(executor: FrontierExecutor) -> None:
    shelf = Shelf(12)
    others = [replace(lease, queue="b.test", url=f"{lease.url}b", token=f"{lease.token}b") for lease in shelf.queued]
    shelf.queued += others
    under_way: Counter[str] = Counter()
    most: dict[str, int] = {}

    async def crawl() -> list[str]:
        source = LeaseSource(shelf, executor, "w", 9, connections=lambda queue: 2 if queue == "a.test" else 5)  # type: ignore[arg-type]
        seen = []

        def settle(lease: Lease) -> None:
            under_way[lease.queue] -= 1
            source.finished(lease)

        async for lease in source:
            seen.append(lease.url)
            under_way[lease.queue] += 1
            most[lease.queue] = max(most.get(lease.queue, 0), under_way[lease.queue])
            asyncio.get_running_loop().call_later(0.002, settle, lease)
        assert (source.out, source._behind, source._queues, source._joined) == (0, {}, {}, {})
        return seen

    assert len(set(asyncio.run(crawl()))) == 24
    assert most["a.test"] == 2
    assert 2 < most["b.test"] <= 5


def test_what_joined_a_connection_goes_back_with_it(executor: FrontierExecutor) -> None:
    shelf = Shelf(3)

    async def crawl() -> None:
        source = LeaseSource(shelf, executor, "w", 3, connections=lambda _: 1)  # type: ignore[arg-type]
        async for lease in source:
            await source.give_back_behind(lease)
            source.finished(lease)

    asyncio.run(crawl())
    assert [lease.url for lease in shelf.released] == ["http://a.test/1", "http://a.test/2"]


def test_it_waits_for_leases_that_are_out_before_it_ends(executor: FrontierExecutor) -> None:
    shelf = Shelf(1)

    async def crawl() -> int:
        source = LeaseSource(shelf, executor, "w", 2)  # type: ignore[arg-type]
        seen = 0

        def settle(lease: Lease) -> None:
            if len(lease.url) < 20:  # The page's link is queued just before the page is settled.
                shelf.queued.append(Lease(lease.url + "/next", "a.test", 0.5, 1, "page", lease.url, 1, "n"))
            source.finished(lease)

        async for lease in source:
            seen += 1
            asyncio.get_running_loop().call_later(0.05, settle, lease)
        return seen

    assert asyncio.run(crawl()) == 2


def test_stopping_ends_it_and_closing_releases_what_is_out(executor: FrontierExecutor) -> None:
    shelf = Shelf(10)

    async def crawl() -> None:
        source = LeaseSource(shelf, executor, "w", 3)  # type: ignore[arg-type]
        async for lease in source:
            source.finished(lease)
            source.stop()
        await source.close()
        await source.close()

    asyncio.run(crawl())
    assert [lease.token for lease in shelf.released] == ["1", "2"]
    assert len(shelf.queued) == 7


def test_what_is_handed_out_to_a_cancelled_iteration_is_released(executor: FrontierExecutor) -> None:
    asked = threading.Event()

    class Slow(Shelf):
        def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
            asked.set()
            time.sleep(0.1)
            return super().lease(worker, n)

    shelf = Slow(5)

    async def crawl() -> None:
        source = LeaseSource(shelf, executor, "w", 2)  # type: ignore[arg-type]
        iterating = asyncio.ensure_future(anext(aiter(source)))
        await asyncio.to_thread(asked.wait)
        iterating.cancel()
        await source.close()

    asyncio.run(crawl())
    assert [lease.token for lease in shelf.released] == ["0", "1"]


def test_a_frontier_that_is_gone_is_an_error_to_the_one_who_iterates(executor: FrontierExecutor) -> None:
    async def crawl() -> None:
        async for _ in LeaseSource(Gone(1), executor, "w", 3):  # type: ignore[arg-type]
            pass

    with pytest.raises(FrontierUnavailableError, match="no server"):
        asyncio.run(crawl())


class BatchScoring(Shelf):
    """Leases of one call share a connection."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.renewed: list[str] = []

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        taken = super().lease(worker, n)
        return tuple(replace(lease, token=taken[0].token) for lease in taken)

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        self.renewed += [lease.url for lease in leases]
        return tuple(True for _ in leases)


def test_leases_that_share_a_connection_come_one_after_another(executor: FrontierExecutor) -> None:
    shelf = BatchScoring(7)

    async def crawl() -> list[str]:
        source = LeaseSource(shelf, executor, "w", 3)  # type: ignore[arg-type]
        under_way: set[str] = set()
        seen = []

        def settle(lease: Lease) -> None:
            under_way.remove(lease.token)
            source.finished(lease)
            source.finished(lease)

        async for lease in source:
            assert lease.token not in under_way
            under_way.add(lease.token)
            seen.append(lease.url[-1])
            asyncio.get_running_loop().call_later(0.001, settle, lease)
        return seen

    assert sorted(asyncio.run(crawl())) == list("0123456")
    assert shelf.queued == shelf.released == []
    assert max(shelf.asked) == 3


def test_what_was_to_share_a_connection_goes_back_when_its_site_needs_a_rest(executor: FrontierExecutor) -> None:
    shelf = BatchScoring(5)

    async def crawl() -> list[str]:
        source = LeaseSource(shelf, executor, "w", 3)  # type: ignore[arg-type]
        seen = []
        async for lease in source:
            seen.append(lease.url[-1])
            await source.renew()
            if not shelf.released:
                await source.give_back_behind(lease)
            source.finished(lease)
        return seen

    assert asyncio.run(crawl()) == ["0", "3", "4"]
    assert [lease.url[-1] for lease in shelf.released] == ["1", "2"]
    assert [url[-1] for url in shelf.renewed] == ["0", "1", "2", "3", "4", "4"]


class Paused(Shelf):
    """An operator has paused what it holds, for some questions."""

    pauses = 2

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        return () if self.pauses else super().lease(worker, n)

    def next_ready(self) -> float | None:
        if not self.pauses:
            return super().next_ready()
        self.pauses -= 1
        return inf


def test_it_does_not_end_while_an_operator_pauses_it(
    executor: FrontierExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasing, "MAX_WAIT", 0.05)
    shelf = Paused(2)
    seen: list[bool] = []

    async def crawl() -> int:
        source = LeaseSource(shelf, executor, "w", 3)  # type: ignore[arg-type]
        watching = asyncio.create_task(watch(source))
        number = 0
        async for lease in source:
            seen.append(source.is_paused)
            number += 1
            source.finished(lease)
        watching.cancel()
        return number

    async def watch(source: LeaseSource) -> None:
        while True:
            seen.append(source.is_paused)
            await asyncio.sleep(0.01)

    assert asyncio.run(crawl()) == 2
    assert seen[-2:] == [False, False]
    assert any(seen)
