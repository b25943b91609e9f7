"""The requests of a visit at their IP addresses: at once for the page's own, one worker's at a time, no deadlock."""

import asyncio
from collections.abc import Iterator

import pytest

from aahcrawler.crawl.fetch import ip_claims
from aahcrawler.crawl.fetch.ip_claims import APART, ClaimHolder, IpAddressBusyError, IpClaims, VisitClaims
from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.frontier.ip_locks import IpLocks, LocalIpLocks

A, B = "http://a.test/", "http://b.test/"
AT = {A: "192.0.2.1", B: "192.0.2.2"}


@pytest.fixture
def executor() -> Iterator[FrontierExecutor]:
    made = FrontierExecutor()
    yield made
    made.close()


def claims_of(executor: FrontierExecutor, locks: IpLocks, worker: str = "one", delay: float = 30.0) -> IpClaims:
    return IpClaims(ClaimHolder(worker, 60.0), lambda _: delay, executor, locks)


async def fetched_page(claims: IpClaims, url: str) -> None:
    """Claim an IP address as the fetch of a leased page does."""
    claim = claims.of(url)
    await claim.enter(AT[url], 80)
    await claim.leave()


def test_a_visit_goes_on_at_once_where_its_page_was_and_ends_with_the_sites_pause(executor: FrontierExecutor) -> None:
    async def run() -> float:
        loop = asyncio.get_running_loop()
        locks = LocalIpLocks(loop.time)
        claims, other = claims_of(executor, locks), claims_of(executor, locks, "two")
        await fetched_page(claims, A)
        began = loop.time()
        visit = VisitClaims(claims, A)
        for _ in range(5):
            claim = visit.of(A)
            await claim.enter(AT[A], 80)
            with pytest.raises(IpAddressBusyError):
                await other.of(A).enter(AT[A], 80)
            await claim.leave()
        took = loop.time() - began
        await visit.end()
        with pytest.raises(IpAddressBusyError) as busy:
            await other.of(A).enter(AT[A], 80)
        assert busy.value.seconds > 15.0, "half of what it was at first may have passed"
        return took

    assert asyncio.run(run()) < 15.0


def test_after_a_visit_other_sites_are_free_in_a_moment(executor: FrontierExecutor) -> None:
    async def run() -> None:
        locks = LocalIpLocks(asyncio.get_running_loop().time)
        visit = VisitClaims(claims_of(executor, locks), A)
        claim = visit.of(B)
        await claim.enter(AT[B], 80)
        await claim.leave()
        await visit.end()
        await asyncio.sleep(APART)
        await claims_of(executor, locks, "two").of(B).enter(AT[B], 80)

    asyncio.run(run())


def test_all_requests_of_a_visit_wait_for_so_long_together(
    executor: FrontierExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ip_claims, "MAX_WAITED", 0.5)

    async def run() -> float:
        loop = asyncio.get_running_loop()
        locks = LocalIpLocks(loop.time)
        await claims_of(executor, locks, "two").of(B).enter(AT[B], 80)
        visit, began = VisitClaims(claims_of(executor, locks), A), loop.time()
        ended = await asyncio.gather(*(visit.of(B).enter(AT[B], 80) for _ in range(6)), return_exceptions=True)
        assert [type(each) for each in ended] == [IpAddressBusyError] * 6
        assert [type(each) for each in await asyncio.gather(visit.of(B).enter(AT[B], 80), return_exceptions=True)] == [
            IpAddressBusyError
        ]
        return loop.time() - began

    assert asyncio.run(run()) < 15.0


def test_two_workers_whose_pages_load_from_each_other_both_come_to_their_end(executor: FrontierExecutor) -> None:
    async def run() -> tuple[float, list[object], list[object]]:
        loop = asyncio.get_running_loop()
        locks, holding = LocalIpLocks(loop.time), {AT[A]: "", AT[B]: ""}
        under_way = dict.fromkeys(holding, 0)

        async def ask(visit: VisitClaims, worker: str, url: str) -> None:
            claim = visit.of(url)
            await claim.enter(AT[url], 80)
            try:
                assert under_way[AT[url]] == 0 or holding[AT[url]] == worker
                holding[AT[url]] = worker
                under_way[AT[url]] += 1
                await asyncio.sleep(0.02)
                under_way[AT[url]] -= 1
            finally:
                await claim.leave()

        async def visited(worker: str, own: str, others: str) -> list[object]:
            claims = claims_of(executor, locks, worker, delay=0.3)
            await fetched_page(claims, own)
            visit, slots = VisitClaims(claims, own), asyncio.Semaphore(6)

            async def one(url: str) -> None:
                async with slots:
                    await ask(visit, worker, url)

            ended = await asyncio.gather(*map(one, [own, others] * 20), return_exceptions=True)
            await visit.end()
            return [type(each) for each in ended if each is not None]

        began = loop.time()
        one, two = await asyncio.gather(visited("one", A, B), visited("two", B, A))
        return loop.time() - began, one, two

    took, *ended = asyncio.run(run())
    assert took < 20.0
    for each in ended:
        assert {*each} <= {IpAddressBusyError}
        assert len(each) <= 20


def test_without_a_delay_a_visit_claims_nothing(executor: FrontierExecutor) -> None:
    async def run() -> None:
        locks = LocalIpLocks(asyncio.get_running_loop().time)
        await claims_of(executor, locks, "two").of(A).enter(AT[A], 80)
        visit = VisitClaims(claims_of(executor, locks, delay=0.0), A)
        await visit.of(A).enter(AT[A], 80)
        assert visit.delay_of(A) == 0

    asyncio.run(run())
