"""One machine, many domains: fetches from it keep their distance, and are one worker's at a time."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.crawl.fetch.ip_claims import ClaimHolder, IpAddressBusyError, IpClaims
from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.frontier.ip_locks import IpLocks, LocalIpLocks
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.crawl.crawling import aah, running
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.world import apart, crawl, define, network

A, B = "http://a.test/", "http://b.test/"
EXACT = 0.99


@pytest.fixture
def executor() -> Iterator[FrontierExecutor]:
    made = FrontierExecutor()
    yield made
    made.close()


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def turns(
    executor: FrontierExecutor, delay: float, clock: Clock, shared: IpLocks | None = None, worker: str = "one"
) -> IpClaims:
    return IpClaims(ClaimHolder(worker, 60.0), lambda _: delay, executor, shared or LocalIpLocks(clock))


def test_what_cannot_be_had_soon_is_busy(executor: FrontierExecutor) -> None:
    clock = Clock()

    async def run() -> None:
        of = turns(executor, 30.0, clock)
        first, second = of.of(A), of.of(B)
        await first.enter("192.0.2.1", 80)
        await second.enter("192.0.2.2", 80)
        with pytest.raises(IpAddressBusyError) as busy:
            await of.of(B).enter("192.0.2.1", 443)
        assert busy.value.seconds == 30.0
        clock.now += 100.0
        await first.leave()
        with pytest.raises(IpAddressBusyError):
            await of.of(B).enter("192.0.2.1", 443)
        clock.now += 30.0
        await of.of(B).enter("192.0.2.1", 443)

    asyncio.run(run())


def test_what_can_be_had_soon_is_waited_for(executor: FrontierExecutor) -> None:
    async def run() -> float:
        loop = asyncio.get_running_loop()
        of = IpClaims(ClaimHolder("one", 60.0), lambda _: 0.2, executor, LocalIpLocks(loop.time))
        began = loop.time()
        await of.of(A).enter("192.0.2.1", 80)
        await of.of(B).enter("192.0.2.1", 80)
        return loop.time() - began

    assert asyncio.run(run()) >= 0.2 * EXACT


def test_another_address_of_the_same_request_ends_the_claim_of_the_first(executor: FrontierExecutor) -> None:
    clock = Clock()

    async def run() -> None:
        shared = LocalIpLocks(clock)
        one, two = (turns(executor, 1.0, clock, shared, worker) for worker in ("one", "two"))
        turn = one.of(A)
        for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
            await turn.enter(address, 80)
        clock.now += 5.0
        await two.of(B).enter("192.0.2.1", 80)
        with pytest.raises(IpAddressBusyError):
            await two.of(B).enter("192.0.2.2", 80)
        await turn.leave()
        await turn.leave()
        clock.now += 5.0
        await two.of(B).enter("192.0.2.2", 80)

    asyncio.run(run())


def test_without_a_delay_nothing_is_claimed(executor: FrontierExecutor) -> None:
    async def run() -> None:
        of = turns(executor, 0.0, Clock())
        for _ in range(100):
            await of.of(A).enter("192.0.2.1", 80)

    asyncio.run(run())


def test_domains_of_one_address_are_fetched_from_a_delay_apart(tmp_path: Path) -> None:
    hosts = [f"{name}.test" for name in "abcdef"]
    with serving(Site({"/robots.txt": Reply(b"", 404), "/": html("Front", links("/1"))}, other=html("Page"))) as site:
        done = crawl(
            tmp_path,
            [f"http://{host}/" for host in hosts],
            politeness={"delay": "150 ms"},
            network=network(site, *hosts),
        )
    assert done.summary["pages"] == 12
    assert done.summary["retries"] == 0
    assert done.summary["address_busy"] > 0
    assert apart(site.asked, 0.15)


def test_what_is_claimed_stays_claimed_while_it_is_renewed(executor: FrontierExecutor) -> None:
    clock = Clock()

    async def run() -> None:
        addresses = LocalIpLocks(clock)
        one, two = (turns(executor, 1.0, clock, addresses, worker) for worker in ("one", "two"))
        turn = one.of(A)
        await turn.enter("192.0.2.1", 80)
        for _ in range(3):
            clock.now += 50.0
            one.renew()
        with pytest.raises(IpAddressBusyError):
            await two.of(B).enter("192.0.2.1", 80)
        await turn.leave()
        one.renew()
        clock.now += 50.0
        await two.of(B).enter("192.0.2.1", 80)

    asyncio.run(run())


def test_two_workers_ask_one_address_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two crawls of different domains on one machine, each in a process of its own, that share a server."""
    hosts = {"one": ["a.test", "b.test"], "two": ["c.test", "d.test"]}
    with (
        EmbeddedServer(tmp_path / "server") as server,
        serving(Site({"/robots.txt": Reply(b"", 404), "/": html("Front", links("/1"))}, other=html("Page"))) as site,
    ):
        monkeypatch.setenv(REDIS_URL, server.url)
        where = network(site, *hosts["one"], *hosts["two"])
        definitions = [
            define(
                tmp_path / name,
                [f"http://{host}/" for host in of],
                id=name,
                politeness={"delay": "200 ms"},
                network=where,
            )
            for name, of in hosts.items()
        ]
        with running("crawl", definitions[0]) as first:
            second = aah("crawl", definitions[1])
            assert (first.ended().code, second.code) == (0, 0)
    assert apart(site.asked, 0.2)
    assert len(site.asked) == 12
