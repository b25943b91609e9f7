"""One worker at an address at a time, fetches at a distance: on a server, in a process, and both alike."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.frontier.ip_locks import IpLocks, LocalIpLocks
from aahcrawler.frontier.redis.ip_locks import RedisIpLocks
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.frontier.conftest import Clock, address_of, started

HERE, THERE = "192.0.2.1", "2001:db8::1"


@pytest.fixture(params=[*started("redis", "cluster"), "local"])
def addresses(request: pytest.FixtureRequest, clock: Clock) -> Iterator[IpLocks]:
    if request.param == "local":
        yield LocalIpLocks(clock)
        return
    with closing(connect(address_of(request.param, request))) as client:
        client.flushall()
        yield RedisIpLocks(client, clock)


def _made(kind: str, server: EmbeddedServer, clock: Clock) -> IpLocks:
    if kind == "local":
        return LocalIpLocks(clock)
    client = connect(server.url)
    client.flushall()
    return RedisIpLocks(client, clock)


def test_fetches_of_an_address_begin_a_delay_apart(addresses: IpLocks, clock: Clock) -> None:
    assert addresses.claim(HERE, "one", 2.0, 60.0) == 0
    assert addresses.claim(THERE, "one", 2.0, 60.0) == 0
    clock.now += 0.5
    assert addresses.claim(HERE, "one", 2.0, 60.0) == 1.5
    clock.now += 1.5
    assert addresses.claim(HERE, "one", 2.0, 60.0) == 0


def test_a_visit_waits_for_others_alone(addresses: IpLocks, clock: Clock) -> None:
    addresses.claim(HERE, "one", 5.0, 60.0)
    addresses.release(HERE, "one", 5.0)
    clock.now += 1.0
    assert addresses.claim(HERE, "one", 0.05, 60.0, goes_on=True) == 0
    assert addresses.claim(HERE, "two", 0.05, 60.0, goes_on=True) > 0
    addresses.release(HERE, "one", 0.05)
    assert addresses.claim(HERE, "two", 5.0, 60.0) >= 4.0
    clock.now += 4.0
    assert addresses.claim(HERE, "two", 5.0, 60.0) == 0


def test_the_delay_begins_anew_when_a_fetch_ends(addresses: IpLocks, clock: Clock) -> None:
    addresses.claim(HERE, "one", 2.0, 60.0)
    clock.now += 10.0
    addresses.release(HERE, "one", 2.0)
    clock.now += 0.5
    assert addresses.claim(HERE, "two", 2.0, 60.0) == 1.5


def test_an_address_is_one_workers_until_it_has_ended(addresses: IpLocks, clock: Clock) -> None:
    addresses.claim(HERE, "one", 1.0, 60.0)
    clock.now += 5.0
    assert addresses.claim(HERE, "two", 1.0, 60.0) == 1.0
    assert addresses.claim(HERE, "one", 1.0, 60.0) == 0
    addresses.release(HERE, "one", 1.0)
    addresses.release(HERE, "two", 1.0)
    clock.now += 5.0
    assert addresses.claim(HERE, "two", 1.0, 60.0) > 0
    addresses.release(HERE, "one", 1.0)
    clock.now += 5.0
    assert addresses.claim(HERE, "two", 1.0, 60.0) == 0


def test_the_claim_of_a_worker_that_died_ends_by_itself(addresses: IpLocks, clock: Clock) -> None:
    addresses.claim(HERE, "one", 1.0, 60.0)
    clock.now += 59.0
    assert addresses.claim(HERE, "two", 1.0, 60.0) > 0
    clock.now += 1.0
    assert addresses.claim(HERE, "two", 1.0, 60.0) == 0


@pytest.mark.starts
def test_claims_of_dead_workers_become_pauses(clock: Clock, request: pytest.FixtureRequest) -> None:
    with closing(connect(address_of("redis", request))) as client:
        client.flushall()
        locks = RedisIpLocks(client, clock)
        assert locks.claim(HERE, "dead", 25.0, 600.0) == 0
        clock.now += 100.0
        locks.recover()
        clock.now += 1.0
        assert locks.claim(HERE, "one", 25.0, 600.0) == 24.0
        assert locks.claim(THERE, "one", 25.0, 600.0) == 0


def test_a_claim_that_is_renewed_holds_on_and_no_other(addresses: IpLocks, clock: Clock) -> None:
    addresses.claim(HERE, "one", 1.0, 30.0)
    addresses.claim(THERE, "one", 1.0, 30.0)
    clock.now += 25.0
    addresses.renew([HERE], "one", 30.0)
    addresses.renew([HERE, THERE], "two", 30.0)
    clock.now += 25.0
    assert addresses.claim(HERE, "two", 1.0, 30.0) > 0
    assert addresses.claim(THERE, "two", 1.0, 30.0) == 0
    addresses.release(HERE, "one", 1.0)
    clock.now += 10.0
    addresses.renew([HERE], "one", 30.0)
    assert addresses.claim(HERE, "two", 1.0, 30.0) == 0


def test_those_who_are_sent_away_are_told_times_of_their_own(addresses: IpLocks, clock: Clock) -> None:
    addresses.claim(HERE, "one", 2.0, 60.0)
    assert [addresses.claim(HERE, "one", 2.0, 60.0) for _ in range(3)] == [2.0, 4.0, 6.0]
    clock.now += 2.0
    assert addresses.claim(HERE, "one", 2.0, 60.0) == 0
    assert addresses.claim(HERE, "one", 2.0, 60.0) == 6.0
    assert max(addresses.claim(HERE, "one", 2.0, 60.0) for _ in range(100)) == 64.0


def test_a_clock_that_is_set_back_keeps_no_address(server: EmbeddedServer, clock: Clock) -> None:
    addresses = _made("redis", server, clock)
    addresses.claim(HERE, "one", 2.0, 60.0)
    clock.now -= 900.0
    assert addresses.claim(HERE, "two", 2.0, 60.0) == 2.0
    clock.now += 2.0
    assert addresses.claim(HERE, "two", 2.0, 60.0) == 0


def test_nothing_is_kept_of_addresses_that_are_free(server: EmbeddedServer) -> None:
    with connect(server.url) as client:
        client.flushall()
        locks = RedisIpLocks(client)
        locks.claim(HERE, "one", 0.05, 0.2)
        locks.release(HERE, "one", 0.0)
        assert 0 < client.pttl("{a:192.0.2.1}") <= 50
        locks.claim(THERE, "one", 0.0, 60.0)
        locks.release(THERE, "one", 0.0)
        assert not client.exists("{a:2001:db8::1}")


steps = st.lists(
    st.tuples(
        st.sampled_from(["claim", "claim", "go on", "release", "wait"]),
        st.sampled_from([HERE, THERE]),
        st.sampled_from(["one", "two"]),
        st.sampled_from([0.5, 1.0, 4.0]),
    ),
    max_size=40,
)


@pytest.fixture(scope="module")
def made(server: EmbeddedServer) -> Callable[[Clock], tuple[IpLocks, IpLocks]]:
    return lambda clock: (_made("redis", server, clock), _made("local", server, clock))


@given(steps=steps)
def test_any_order_of_claims(
    made: Callable[[Clock], tuple[IpLocks, IpLocks]], steps: list[tuple[str, str, str, float]]
) -> None:
    clock = Clock()
    locks, local = made(clock)
    held: dict[str, list[str]] = {HERE: [], THERE: []}
    opens, last = {HERE: 0.0, THERE: 0.0}, {HERE: "", THERE: ""}
    for what, address, worker, seconds in steps:
        if what == "wait":
            clock.now += seconds
        elif what == "release":
            locks.release(address, worker, seconds)
            local.release(address, worker, seconds)
            if worker in held[address]:
                held[address].remove(worker)
                opens[address] = max(opens[address], clock.now + seconds)
        else:
            goes_on = what == "go on"
            wait = locks.claim(address, worker, seconds, 1000.0, goes_on=goes_on)
            assert wait == local.claim(address, worker, seconds, 1000.0, goes_on=goes_on)
            if wait == 0:
                assert set(held[address]) <= {worker}
                assert opens[address] <= clock.now or (goes_on and last[address] == worker)
                held[address].append(worker)
                opens[address], last[address] = max(opens[address], clock.now + seconds), worker
            else:
                assert not goes_on or last[address] != worker
