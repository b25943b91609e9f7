"""Several partitions as one frontier."""

import re
from collections import Counter

import pytest

from aahcrawler.frontier.protocol import FrontierSettings, FrontierUnavailableError, Offer, Outcome, State, Update
from aahcrawler.frontier.redis.frontier import RedisFrontier, partition_of
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.frontier.conftest import started

PARTITIONS = 4
QUEUES = [f"{number}.test" for number in range(40)]


@pytest.fixture(params=started("redis", "cluster"))
def address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    found: str = (
        request.getfixturevalue("three_nodes") if request.param == "cluster" else request.getfixturevalue("server").url
    )
    with connect(found) as client:
        client.flushall()
    monkeypatch.setenv("AAH_PARTITIONS", str(PARTITIONS))
    return found


def offers(score: float = 0.5) -> list[Offer]:
    return [Offer(f"http://{queue}/", queue, score) for queue in QUEUES]


def test_queues_are_spread_and_every_key_has_a_tag(address: str) -> None:
    frontier = RedisFrontier(address, "crawl", FrontierSettings())
    frontier.offer(offers())
    for lease in frontier.lease("worker", 20):
        frontier.finish(lease, State.DONE, Outcome(delay=1.0))
    counts = frontier.counts()
    assert (counts.pages[State.QUEUED], counts.pages[State.DONE], counts.queues) == (20, 20, 20)
    assert set(frontier.queue_counts()) == set(QUEUES)
    with connect(address) as client:
        tags = Counter(key[: key.index(b"}") + 1] for key in client.scan_iter(match="*"))
        frontier.remove()
        left = [key for key in client.scan_iter(match="*") if b":c:" in key]
    assert set(tags) == {f"{{p{number}}}".encode() for number in range(PARTITIONS)}
    assert left == []


def test_the_number_of_partitions_stays_what_it_was_at_first(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RedisFrontier(address, "crawl", FrontierSettings()).offer(offers())
    monkeypatch.setenv("AAH_PARTITIONS", "1")
    assert RedisFrontier(address, "crawl", FrontierSettings()).counts().pages[State.QUEUED] == len(QUEUES)


@pytest.mark.parametrize("said", ["0", "many", "-1", "2000"])
def test_a_number_that_cannot_be_is_refused(address: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AAH_PARTITIONS", said)
    with pytest.raises(FrontierUnavailableError, match=rf"AAH_PARTITIONS is {re.escape(repr(said))}; give a number"):
        RedisFrontier(address, "crawl", FrontierSettings())


def test_partitions_are_leased_from_in_turn(address: str) -> None:
    frontier = RedisFrontier(address, "crawl", FrontierSettings())
    best = {partition_of(queue, PARTITIONS): queue for queue in QUEUES}
    frontier.offer([Offer(f"http://{q}/", q, 1.0 if q in best.values() else 0.5) for q in QUEUES])
    leased = [frontier.lease("worker", 1)[0] for _ in range(PARTITIONS)]
    assert {lease.queue for lease in leased} == set(best.values())
    rest = frontier.lease("worker", 100)
    assert len(rest) == len(QUEUES) - PARTITIONS
    assert frontier.lease("worker", 1) == ()


def test_pages_are_bounded_over_all_partitions(address: str) -> None:
    frontier = RedisFrontier(address, "crawl", FrontierSettings(pages=7))
    frontier.offer(offers())
    leases = [*frontier.lease("worker", 2), *frontier.lease("worker", 100)]
    assert len(leases) == 7
    frontier.finish(leases[0], State.BLOCKED)
    frontier.finish(leases[1], State.DONE)
    assert (frontier.next_ready(), len(frontier.lease("worker", 100))) == (0, 1)
    for lease in leases[2:]:
        frontier.finish(lease, State.DONE)
    frontier.go_by(FrontierSettings(pages=0))
    assert len(frontier.lease("worker", 100)) == len(QUEUES) - 8


def test_links_to_other_partitions_count_once_and_not_for_a_lost_lease(address: str) -> None:
    frontier = RedisFrontier(address, "crawl", FrontierSettings(update=Update.SUM))
    frontier.offer([Offer("http://0.test/", "0.test", 2.0)])
    (lost,) = frontier.lease("worker", 1)
    frontier.recover()
    assert not frontier.finish(lost, State.DONE, links=offers())
    assert frontier.counts().queues == 1
    (held,) = frontier.lease("worker", 1)
    for _ in range(2):
        assert frontier.finish(held, State.DONE, links=offers())
    assert [offer.score for offer in frontier.iterate(100)] == [0.5] * (len(QUEUES) - 1)
    frontier.offer(offers())
    assert {offer.score for offer in frontier.iterate(100)} == {1.0}


def test_a_cluster_that_cannot_be_reached_says_so() -> None:
    with pytest.raises(FrontierUnavailableError):
        connect("redis+cluster://127.0.0.1:1")


def test_one_partition_is_the_default(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AAH_PARTITIONS", raising=False)
    with connect(server.url) as client:
        client.flushall()
        RedisFrontier(client, "crawl", FrontierSettings()).offer(offers())
        assert {key[:4] for key in client.keys("*")} == {b"{p0}"}
