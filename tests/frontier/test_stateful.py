"""Any order of operations of two crawls on one server, compared with the model step by step."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from aahcrawler.frontier.connection import connect
from aahcrawler.frontier.embedded import EmbeddedServer
from aahcrawler.frontier.posting import Post, Wish
from aahcrawler.frontier.protocol import FrontierSettings, Lease, Offer, Outcome, State, Update
from aahcrawler.frontier.redis_frontier import RedisFrontier
from tests.frontier.conftest import Clock
from tests.frontier.model import ModelFrontier, ModelServer

URLS = [(f"http://{queue}/{i}", queue) for queue in ("a.test", "b.test") for i in range(5)]
ENDED = (State.DONE, State.FAILED, State.BLOCKED)
LEASE_SECONDS = 30.0

frontier_settings = st.builds(
    FrontierSettings,
    update=st.sampled_from(list(Update)),
    balance=st.sampled_from([1, 1, 2, 5]),
    pages=st.sampled_from([0, 0, 3, 6]),
    pages_per_queue=st.sampled_from([0, 0, 1, 2]),
    lease_seconds=st.just(LEASE_SECONDS),
    attempts=st.sampled_from([1, 2, 3]),
    connections=st.sampled_from([1, 1, 2, 3]),
)
scores = st.sampled_from([0.0, 0.25, 0.5, 0.333333, 0.9999996, 1.0])
offers = st.lists(
    st.builds(
        lambda target, score, depth, kind, via: Offer(target[0], target[1], score, depth, kind, via),
        st.sampled_from(URLS),
        scores,
        st.integers(0, 5),
        st.sampled_from(["page", "page", "requisite"]),
        st.sampled_from(["", "http://via.test/ü"]),
    ),
    max_size=6,
)
delays = st.sampled_from([0.0, 0.5, 2.0, 10.0])
crawls = st.sampled_from([0, 1])
numbers = st.integers(0, 1000)


@dataclass
class Pair:
    """The same crawl on the server and in the model, and every lease either gave out."""

    real: RedisFrontier
    model: ModelFrontier
    leases: list[tuple[Lease, Lease]]

    def any_lease(self, number: int) -> tuple[Lease, Lease]:
        recent = self.leases[-6:]
        return recent[number % len(recent)]


class FrontierMachine(RuleBasedStateMachine):
    server_url: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.client: Any = connect(self.server_url)
        self.client.flushall()
        self.pairs: list[Pair] = []
        self.rests: dict[str, float] = {}

    @initialize(settings=frontier_settings, other=frontier_settings)
    def begin(self, settings: FrontierSettings, other: FrontierSettings) -> None:
        shared = ModelServer(self.clock)
        self.pairs = [self._pair("one:{x}", settings, shared), self._pair("two", other, shared)]

    def _pair(self, name: str, chosen: FrontierSettings, shared: ModelServer) -> Pair:
        real = RedisFrontier(self.client, name, chosen, self.clock)
        return Pair(real, ModelFrontier(shared, name, chosen), [])

    def teardown(self) -> None:
        self.client.close()

    @rule(crawl=crawls, offers=offers)
    def offer(self, crawl: int, offers: Sequence[Offer]) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        assert pair.real.offer(offers) == pair.model.offer(offers)

    @rule(crawl=crawls, offers=offers, wish=st.sampled_from(Wish), number=st.integers(0, 40))
    def post(self, crawl: int, offers: Sequence[Offer], wish: Wish, number: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        posts = [
            Post(offer, b"%012d" % (number + at), b"%04d" % round(offer.score * 100), wish)
            for at, offer in enumerate(offers)
            if offer.kind == "page"
        ]
        assert pair.real.post(posts) == pair.model.post(posts)

    @rule(crawl=crawls, n=st.integers(1, 6))
    def lease(self, crawl: int, n: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        got, expected = pair.real.lease("worker", n), pair.model.lease("worker", n)
        assert [replace(lease, token="") for lease in got] == [replace(lease, token="") for lease in expected]
        for lease in got:
            assert self.rests.get(lease.queue, 0.0) <= self.clock.now
        pair.leases.extend(zip(got, expected, strict=True))

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls, number=numbers, state=st.sampled_from(ENDED), delay=delays, links=offers)
    def finish(self, crawl: int, number: int, state: State, delay: float, links: Sequence[Offer]) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        if pair.leases:
            real, model = pair.any_lease(number)
            was = pair.model.urls[real.url].token == model.token and pair.model.state(real.url)
            outcome = Outcome(f"{state}!", {"ended": 1.0, "waited": delay})
            held = pair.real.finish(real, state, delay=delay, links=links, outcome=outcome)
            assert held == pair.model.finish(model, state, delay=delay, links=links, outcome=outcome)
            if held and was is State.LEASED:
                self._rest(real.queue, delay)

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls, number=numbers, delay=delays)
    def retry(self, crawl: int, number: int, delay: float) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        if pair.leases:
            real, model = pair.any_lease(number)
            outcome = Outcome(tally={"retries": 1.0})
            got = pair.real.retry(real, delay=delay, outcome=outcome)
            assert got == pair.model.retry(model, delay=delay, outcome=outcome)

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls, number=numbers, n=st.integers(1, 3))
    def release(self, crawl: int, number: int, n: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        chosen = pair.leases[-6:][number % 6 :][:n]
        pair.real.release([real for real, _ in chosen])
        pair.model.release([model for _, model in chosen])

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls)
    def renew(self, crawl: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        chosen = pair.leases[-3:]
        assert pair.real.renew([real for real, _ in chosen]) == pair.model.renew([model for _, model in chosen])

    @rule(crawl=crawls)
    def recover(self, crawl: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        assert pair.real.recover() == pair.model.recover()

    @rule(seconds=st.sampled_from([0.25, 0.5, 2.0, 10.0, LEASE_SECONDS, 86_400.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def forget_scripts(self) -> None:
        self.client.script_flush()

    @rule(crawl=crawls)
    def next_ready(self, crawl: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        got, expected = pair.real.next_ready(), pair.model.next_ready()
        assert (got is None) == (expected is None)
        if got is not None and expected is not None:
            assert got <= expected

    @invariant()
    def agrees(self) -> None:
        for pair in self.pairs:
            counts = pair.real.counts()
            assert counts == pair.model.counts()
            assert pair.real.queue_counts() == pair.model.queue_counts()
            assert pair.real.tallies() == pair.model.tallies()
            assert pair.real.iterate(20) == pair.model.iterate(20)
            for url in pair.model.urls:
                assert pair.real.state(url) == pair.model.state(url)
                assert pair.real.standing(url) == pair.model.standing(url)
            assert sum(counts.pages.values()) + sum(counts.requisites.values()) == len(pair.model.urls)

    @invariant()
    def bounds_hold(self) -> None:
        for pair in self.pairs:
            bound, per_queue = pair.model.settings.pages, pair.model.settings.pages_per_queue
            pages = pair.real.counts().pages
            assert not bound or pages[State.LEASED] + pages[State.DONE] <= bound
            for counts in pair.real.queue_counts().values():
                assert not per_queue or counts.pages_leased + counts.pages_done <= per_queue

    @invariant()
    def no_more_connections_than_allowed(self) -> None:
        most = max((pair.model.settings.connections for pair in self.pairs), default=0)
        out = [name.split(b"\0")[0] for name in self.client.zrange("{p0}:s:slots", 0, -1)]
        assert all(out.count(queue) <= most for queue in out)

    @invariant()
    def heads_are_the_best(self) -> None:
        for name in ("one%3A%7Bx%7D", "two"):
            own = f"{{p0}}:c:{name}:".encode()
            for kind, head in ((b"p", slice(2, 15)), (b"r", slice(16, 29))):
                expected = set()
                for queue, record in self.client.hgetall(own + b"queues").items():
                    kept = struct.unpack(">5sd", record[head])
                    best = self.client.zrange(own + kind + b":" + queue, 0, 0, withscores=True)
                    assert kept == ((best[0][0][:5], best[0][1]) if best else (bytes(5), 0.0))
                    if record[head.start - 1]:
                        expected.add((kept[0] + queue, kept[1]))
                assert set(self.client.zrange(own + b"ready:" + kind, 0, -1, withscores=True)) == expected

    def _rest(self, queue: str, delay: float) -> None:
        self.rests[queue] = max(self.rests.get(queue, 0.0), self.clock.now + delay)


class OneCrawlMachine(FrontierMachine):
    """Nothing but this crawl moves its queues: what it is told of the next lease is exact."""

    @initialize(settings=frontier_settings)
    def begin(self, settings: FrontierSettings) -> None:
        self.pairs = [self._pair("one:{x}", settings, ModelServer(self.clock))]

    @rule()
    def next_lease(self) -> None:
        assert self.pairs[0].real.next_ready() == self.pairs[0].model.next_ready()


@pytest.mark.parametrize("machine", [FrontierMachine, OneCrawlMachine])
def test_any_order_of_operations(server: EmbeddedServer, machine: type[FrontierMachine]) -> None:
    machine.server_url = server.url
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=35, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
