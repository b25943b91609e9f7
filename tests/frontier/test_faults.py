"""Answers that are lost on their way, and clocks that jump."""

import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import exceptions

from aahcrawler.frontier.protocol import FrontierAwayError, FrontierSettings, Offer, Outcome, State
from aahcrawler.frontier.redis import url_records
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer

HOUR = 3600_000_000
CLOCK = "{p0}:s:clock"


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[Any]:
    with connect(server.url) as client:
        client.flushall()
        yield client


def frontier_on(client: Any, **settings: Any) -> RedisFrontier:
    frontier = RedisFrontier(client, "crawl", FrontierSettings(**settings))
    frontier.offer([Offer(f"http://{host}.test/{n}", f"{host}.test", 0.5) for host in "abc" for n in range(3)])
    return frontier


def lose_answer(monkeypatch: pytest.MonkeyPatch, frontier: RedisFrontier, script: str) -> list[Callable[[], Any]]:
    """Let the next call of a script be carried out, and its answer be lost; return what makes that call again."""
    calls: list[Callable[[], Any]] = []
    original = frontier._partitions[0]._scripts[script]

    def lost(**arguments: Any) -> Any:
        monkeypatch.setitem(frontier._partitions[0]._scripts, script, original)
        calls.append(lambda: original(**arguments))
        calls[0]()
        raise exceptions.ConnectionError("cut off")

    monkeypatch.setitem(frontier._partitions[0]._scripts, script, lost)
    return calls


def test_leases_whose_answer_was_lost_are_given_again(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frontier = frontier_on(client)
    (first,) = frontier.lease("worker", 1)
    calls = lose_answer(monkeypatch, frontier, "lease")
    with pytest.raises(FrontierAwayError):
        frontier.lease("worker", 2)
    assert frontier.counts().pages[State.LEASED] == 3
    again = frontier.lease("worker", 2)
    assert {lease.queue for lease in (first, *again)} == {"a.test", "b.test", "c.test"}
    assert all(frontier.renew(again))
    assert frontier.finish(again[0], State.DONE)
    # The call that was cut off may come late, after it was made again, and after later ones.
    assert url_records.unpack_leases(calls[0]()) == list(again[1:])
    assert len(frontier.lease("worker", 2)) == 1
    assert url_records.unpack_leases(calls[0]()) == []
    assert frontier.counts().pages[State.LEASED] == 3


def test_two_workers_have_leases_of_their_own(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    frontier = frontier_on(client)
    lose_answer(monkeypatch, frontier, "lease")
    with pytest.raises(FrontierAwayError):
        frontier.lease("worker", 1)
    (others,) = frontier.lease("another", 1)
    (own,) = frontier.lease("worker", 1)
    assert own.queue != others.queue


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_leases_and_delays_outlive_a_clock_that_jumps(jump: int, client: Any) -> None:
    frontier = frontier_on(client, lease_seconds=3000.0)
    done, held, _ = frontier.lease("worker", 3)
    begun = time.monotonic()
    frontier.finish(done, State.DONE, Outcome(delay=2000.0))
    wall, now = struct.unpack(">dd", client.get(CLOCK))
    client.set(CLOCK, struct.pack(">dd", wall - jump, now))
    left = frontier.next_ready() or 0
    assert 2000 - (time.monotonic() - begun) - 0.1 < left < 2000.1, "no time is gained by the jump"
    assert frontier.lease("worker", 3) == ()
    assert frontier.renew([held]) == (True,)
    assert frontier.finish(held, State.DONE)


def test_time_does_not_run_back(client: Any) -> None:
    frontier = frontier_on(client)
    _, now = struct.unpack(">dd", client.get(CLOCK))
    for wall in (0.0, 1e18, 1e15):
        client.set(CLOCK, struct.pack(">dd", wall, now))
        frontier.next_ready()
        earlier, now = now, struct.unpack(">dd", client.get(CLOCK))[1]
        assert earlier <= now <= earlier + 10_000_000
