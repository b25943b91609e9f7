"""Any order of operations of two crawls on one server, compared with the model step by step."""

import struct
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
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

from aahcrawler.frontier.control import Post, Revisit, Rule, RuleKind, Wish
from aahcrawler.frontier.protocol import UNSCORED, FrontierSettings, Lease, Offer, Outcome, Rescore, State, Update
from aahcrawler.frontier.redis import keyspace
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
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
        lambda target, score, depth, kind, via, path: Offer(target[0], target[1], score, depth, kind, via, path),
        st.sampled_from(URLS),
        scores | st.just(UNSCORED),
        st.integers(0, 5),
        st.sampled_from(["page", "page", "requisite"]),
        st.sampled_from(["", "http://via.test/ü"]),
        st.text("LNRIESFDM", max_size=3),
    ),
    max_size=6,
)
rescores = st.lists(
    st.builds(lambda target, score: Rescore(target[0], score), st.sampled_from(URLS), scores), max_size=6
)
delays = st.sampled_from([0.0, 0.5, 2.0, 10.0])
learned = st.sampled_from([None, None, 0.0, 1.5])
crawls = st.sampled_from([0, 1])
numbers = st.integers(0, 1000)
ruled = st.lists(
    st.sampled_from(
        [
            Rule(RuleKind.URL, "http://a.test/1"),
            Rule(RuleKind.PREFIX, "http://a.test/"),
            Rule(RuleKind.HOST, "b.test"),
            Rule(RuleKind.PATTERN, "*/2"),
        ]
    ),
    min_size=1,
    max_size=2,
)
known = st.lists(st.sampled_from([url for url, _queue in URLS]), max_size=3, unique=True)
revisits = st.lists(
    st.builds(
        lambda target, score, seconds: Revisit(Offer(target[0], target[1], score, 3, path="L"), seconds),
        st.sampled_from(URLS),
        scores,
        st.sampled_from([0.0, 2.0, 100.0]),
    ),
    max_size=4,
)


@dataclass
class Pair:
    """The same crawl on the server and in the model, and every lease either gave out."""

    real: RedisControl
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
        real = RedisControl(self.client, name, chosen, self.clock)
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

    @rule(crawl=crawls, scores=rescores)
    def rescore(self, crawl: int, scores: Sequence[Rescore]) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        assert pair.real.rescore(scores) == pair.model.rescore(scores)

    @rule(crawl=crawls, n=st.integers(1, 6), worker=st.sampled_from(["worker", "worker", "another"]))
    def lease(self, crawl: int, n: int, worker: str) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        got, expected = pair.real.lease(worker, n), pair.model.lease(worker, n)
        assert [replace(lease, token="") for lease in got] == [replace(lease, token="") for lease in expected]
        for lease in got:
            assert self.rests.get(lease.queue, 0.0) <= self.clock.now
        pair.leases.extend(zip(got, expected, strict=True))

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls, number=numbers, state=st.sampled_from(ENDED), delay=delays, learned=learned, links=offers)
    def finish(
        self, crawl: int, number: int, state: State, delay: float, learned: float | None, links: Sequence[Offer]
    ) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        if pair.leases:
            real, model = pair.any_lease(number)
            was = pair.model.urls[real.url].token == model.token and pair.model.state(real.url)
            outcome = Outcome(f"{state}!", {"ended": 1.0, "waited": delay}, delay, learned)
            held = pair.real.finish(real, state, outcome, links)
            assert held == pair.model.finish(model, state, outcome, links)
            if held and was is State.LEASED:
                self._rest(real.queue, delay)

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls, number=numbers, delay=delays, learned=learned)
    def retry(self, crawl: int, number: int, delay: float, learned: float | None) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        if pair.leases:
            real, model = pair.any_lease(number)
            outcome = Outcome("", {"retries": 1.0}, delay, learned)
            assert pair.real.retry(real, outcome) == pair.model.retry(model, outcome)

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls, number=numbers, n=st.integers(1, 3), delay=delays)
    def release(self, crawl: int, number: int, n: int, delay: float) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        chosen = pair.leases[-6:][number % 6 :][:n]
        pair.real.release([real for real, _ in chosen], delay=delay)
        pair.model.release([model for _, model in chosen], delay=delay)

    @precondition(lambda self: any(pair.leases for pair in self.pairs))
    @rule(crawl=crawls)
    def renew(self, crawl: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        chosen = pair.leases[-3:]
        assert pair.real.renew([real for real, _ in chosen]) == pair.model.renew([model for _, model in chosen])

    @rule(crawl=crawls, delay=st.sampled_from([0.0, 0.5, 2.0]))
    def remember_delay(self, crawl: int, delay: float) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        for real, model in pair.leases[-1:]:
            pair.real.remember_delay(real, delay)
            pair.model.remember_delay(model, delay)

    @rule(crawl=crawls, paused=st.booleans())
    def pause(self, crawl: int, paused: bool) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        for frontier in (pair.real, pair.model):
            (frontier.pause if paused else frontier.resume)()
        assert pair.real.is_paused() == pair.model.is_paused() == paused

    @rule(crawl=crawls, queue=st.sampled_from(["a.test", "b.test", "c.test"]), paused=st.booleans())
    def pause_queue(self, crawl: int, queue: str, paused: bool) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        for frontier in (pair.real, pair.model):
            (frontier.pause_queue if paused else frontier.resume_queue)(queue)
        assert pair.real.paused_queues() == pair.model.paused_queues()

    @rule(crawl=crawls, rules=ruled, unblock=st.booleans())
    def block(self, crawl: int, rules: Sequence[Rule], unblock: bool) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        if unblock:
            assert pair.real.unblock(rules) == pair.model.unblock(rules)
        else:
            assert pair.real.block(rules) == pair.model.block(rules)
        assert pair.real.rules() == pair.model.rules()

    @rule(crawl=crawls, urls=known, unblock=st.booleans())
    def block_urls(self, crawl: int, urls: Sequence[str], unblock: bool) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        if unblock:
            assert pair.real.unblock_urls(urls) == pair.model.unblock_urls(urls)
        else:
            assert pair.real.block_urls(urls, "scope") == pair.model.block_urls(urls, "scope")

    @rule(crawl=crawls, revisits=revisits)
    def again(self, crawl: int, revisits: Sequence[Revisit]) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        assert pair.real.again(revisits) == pair.model.again(revisits)

    @rule(crawl=crawls, states=st.sets(st.sampled_from([State.QUEUED, State.DUE, State.BLOCKED]), min_size=1))
    def scan(self, crawl: int, states: set[State]) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        found, expected = list(pair.real.scan(states)), list(pair.model.scan(states))
        assert len(found) == len(expected)
        assert all(status in expected for status in found)

    @rule(crawl=crawls)
    def snapshot(self, crawl: int) -> None:
        pair = self.pairs[crawl % len(self.pairs)]
        copy = RedisControl(self.client, "copy", pair.model.settings, self.clock)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "frontier"
            assert pair.real.snapshot(path) == copy.restore(path) == len(pair.model.urls)
        whole = deepcopy(pair.model)
        whole.recover()
        assert copy.counts() == whole.counts()
        assert copy.queue_counts() == whole.queue_counts()
        assert copy.iterate(20) == whole.iterate(20)
        assert copy.stats() == whole.stats()
        assert (copy.is_paused(), copy.rules()) == (whole.is_paused(), whole.rules())
        for url in pair.model.urls:
            assert copy.status(url) == whole.status(url)
        assert (copy.next_ready() is None) == (whole.next_ready() is None)
        copy.remove()
        assert not self.client.keys("{p0}:c:copy:*")

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
            assert pair.real.stats() == pair.model.stats()
            assert pair.real.iterate(20) == pair.model.iterate(20)
            for url in pair.model.urls:
                assert pair.real.state(url) == pair.model.state(url)
                assert pair.real.status(url) == pair.model.status(url)
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
        out = [name[:6] for name in self.client.zrange("{p0}:s:slots", 0, -1)]
        assert all(out.count(queue) <= most for queue in out)

    @invariant()
    def heads_are_the_best(self) -> None:
        for name in ("one%3A%7Bx%7D", "two"):
            own = f"{{p0}}:c:{name}:".encode()
            for kind, head in ((b"p", slice(2, 15)), (b"r", slice(16, 29))):
                expected = set()
                for queue, record in self.client.hgetall(own + b"queues").items():
                    kept = struct.unpack(">5sd", record[head])
                    queued = self._queued(own + kind + b":" + queue, chunked=record[head.start - 1] >= 2)
                    assert kept == ((queued[0][0][:5], queued[0][1]) if queued else (bytes(5), 0.0))
                    if record[head.start - 1] % 2:
                        expected.add((kept[0] + queue, kept[1]))
                assert set(self.client.zrange(own + b"ready:" + kind, 0, -1, withscores=True)) == expected

    def _queued(self, key: bytes, *, chunked: bool) -> list[tuple[bytes, float]]:
        """Return a queue's members with their scores, chunk by chunk: none is empty, and each begins where it says."""
        if not chunked:
            return list(self.client.zrange(key, 0, -1, withscores=True))
        queued: list[tuple[bytes, float]] = []
        for number, entry in enumerate(self.client.zrange(key, 0, -1)):
            chunk = self.client.zrange(key + b":" + entry[-5:], 0, -1, withscores=True)
            begins = int(chunk[0][1] + 2e15).to_bytes(7, "big") + chunk[0][0]
            assert entry[:-5] <= begins if number else entry[:-5] == bytes(20)
            queued += chunk
        assert queued == sorted(queued, key=lambda each: (each[1], each[0]))
        return queued

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
def test_any_order_of_operations(
    server: EmbeddedServer, machine: type[FrontierMachine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyspace, "_LOAD", 2)
    monkeypatch.setattr(keyspace, "_CHUNK", 3)
    machine.server_url = server.url
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=settings().max_examples // 2,
            suppress_health_check=list(HealthCheck),
        ),
    )
