from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import ResponseError

from aahcrawler.frontier.protocol import FrontierSettings, FrontierUnavailableError, Lease, Offer, Outcome, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.server.embedded import EmbeddedServer

OFFER = Offer("http://a.test/", "a.test", 0.5)


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Any]:
    with connect(server.url) as client:
        client.flushall()
        yield client
        client.config_set("maxmemory", 0)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(FrontierUnavailableError, match="redis://HOST:PORT"):
        connect("http://localhost/")


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FrontierUnavailableError, match="cannot be reached"):
        RedisFrontier(f"unix://{tmp_path}/none", "crawl", FrontierSettings())


@pytest.mark.parametrize("said", ["unauthenticated multibulk length", "unauthenticated bulk length"])
def test_long_calls_without_a_password_are_refused_as_others_are(said: str) -> None:
    """Redis 7.0 says so of them before it asks for a password."""
    with pytest.raises(FrontierUnavailableError, match="accepts no user name and password"), unavailable():
        raise ResponseError(f"Protocol error: {said}")


def test_a_server_out_of_memory_says_so_and_keeps_everything(client: Any) -> None:
    frontier = RedisFrontier(client, "crawl", FrontierSettings())
    frontier.offer([OFFER])
    client.config_set("maxmemory", 1)
    with pytest.raises(FrontierUnavailableError, match="memory"):
        frontier.offer([Offer("http://a.test/2", "a.test", 0.9)])
    client.config_set("maxmemory", 0)
    assert [lease.url for lease in frontier.lease("worker", 5)] == ["http://a.test/"]


def test_another_format_is_refused(client: Any) -> None:
    client.set("{p0}:c:old:format", 99)
    with pytest.raises(FrontierUnavailableError, match="format 99"):
        RedisFrontier(client, "old", FrontierSettings())


def test_a_node_of_a_cluster_asks_for_the_address_of_a_cluster(three_nodes: str) -> None:
    with connect(three_nodes) as cluster, pytest.MonkeyPatch.context() as patch:
        cluster.flushall()
        patch.setenv("AAH_PARTITIONS", "8")
        RedisFrontier(cluster, "crawl", FrontierSettings())
    with (
        connect(three_nodes.replace("redis+cluster", "redis")) as node,
        pytest.raises(FrontierUnavailableError, match=r"redis\+cluster://"),
    ):
        RedisFrontier(node, "crawl", FrontierSettings())


@pytest.mark.parametrize(
    "offer",
    [
        Offer("http://a.test/", "a.test", float("nan")),
        Offer("http://a.test/", "", 0.5),
        Offer("http://a.test/\n", "a.test", 0.5),
        Offer("http://a.test/", "a.test", 0.5, depth=-1),
        Offer("http://a.test/", "a.test\0", 0.5),
        Offer("http://a.test/", "a.test", 0.5, path="?"),
    ],
)
def test_offers_that_cannot_be_kept_are_refused_before_any_is_sent(client: Any, offer: Offer) -> None:
    frontier = RedisFrontier(client, "crawl", FrontierSettings())
    with pytest.raises(ValueError, match=r"a\.test"):
        frontier.offer([OFFER, offer])
    assert frontier.state(OFFER.url) is None


def test_misuse_is_refused(client: Any) -> None:
    frontier = RedisFrontier(client, "crawl", FrontierSettings())
    frontier.offer([OFFER])
    (lease,) = frontier.lease("worker", 1)
    with pytest.raises(ValueError, match="done, failed or blocked"):
        frontier.finish(lease, State.QUEUED)
    with pytest.raises(ValueError, match="seconds"):
        frontier.finish(lease, State.DONE, Outcome(delay=-1))
    with pytest.raises(ValueError, match="at least 1"):
        FrontierSettings(balance=0)
    unknown = Lease("http://never.test/", "never.test", 0, 0, "page", "", 1, "1-1")
    with pytest.raises(LookupError, match=r"never\.test"):
        frontier.retry(unknown)


def test_the_servers_own_clock_serves_where_none_is_given(client: Any) -> None:
    frontier = RedisFrontier(client, "crawl", FrontierSettings(lease_seconds=100.0))
    frontier.offer([OFFER])
    (lease,) = frontier.lease("worker", 1)
    assert 90 < (frontier.next_ready() or 0) <= 100
    frontier.finish(lease, State.DONE, Outcome(delay=50.0), [Offer("http://a.test/2", "a.test", 0.5)])
    assert 40 < (frontier.next_ready() or 0) <= 50
