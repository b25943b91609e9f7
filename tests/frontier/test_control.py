"""What operators may rely on, one sentence a test, over every frontier."""

import re
from collections.abc import Callable
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Protocol

import pytest

from aahcrawler.frontier.control import (
    Blocking,
    Effect,
    Pausing,
    Post,
    Posted,
    Posting,
    Revisit,
    Revisiting,
    Rule,
    RuleKind,
    UrlStatus,
    Wish,
)
from aahcrawler.frontier.protocol import Frontier, FrontierSettings, Kind, Lease, Offer, Offered, Outcome, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.frontier.conftest import Clock


class Controlled(Frontier, Posting, Pausing, Blocking, Revisiting, Protocol):
    pass


Make = Callable[..., Controlled]

HOST = Rule(RuleKind.HOST, "a.test")
PREFIX = Rule(RuleKind.PREFIX, "http://a.test/x")
URL = Rule(RuleKind.URL, "http://a.test/x1")
PATTERN = Rule(RuleKind.PATTERN, "*1")


def offer(path: str, score: float = 0.5, *, queue: str = "a.test", kind: Kind = "page") -> Offer:
    return Offer(f"http://{queue}/{path}", queue, score, kind=kind)


def urls(leases: tuple[Lease, ...]) -> list[str]:
    return [lease.url.partition("//")[2] for lease in leases]


def finish_all(frontier: Controlled, n: int = 10) -> list[str]:
    leases = frontier.lease("worker", n)
    for lease in leases:
        frontier.finish(lease, State.DONE)
    return urls(leases)


# Pauses


@pytest.mark.one_partition
def test_a_paused_crawl_leases_nothing_settles_what_is_out_and_never_ends(make_frontier: Make, clock: Clock) -> None:
    frontier, other = make_frontier("one", lease_seconds=5.0), make_frontier("two")
    assert frontier.next_ready() is None
    frontier.pause()
    assert (frontier.is_paused(), frontier.next_ready()) == (True, None)
    frontier.resume()
    frontier.offer([offer("a"), offer("b", queue="b.test")])
    (lease,) = frontier.lease("worker", 1)
    frontier.pause()
    assert (frontier.lease("worker", 5), frontier.next_ready()) == ((), inf)
    assert frontier.renew([lease]) == (True,)
    assert frontier.finish(lease, State.DONE, links=[offer("c")])
    clock.now += 100.0
    assert (frontier.lease("worker", 5), frontier.next_ready()) == ((), inf)
    assert not other.is_paused()
    frontier.resume()
    assert (frontier.is_paused(), frontier.next_ready()) == (False, 0.0)
    assert len(frontier.lease("worker", 5)) == 2


def test_a_paused_queue_is_leased_from_in_no_crawl(make_frontier: Make) -> None:
    one, two = make_frontier("one"), make_frontier("two")
    one.offer([offer("a", 0.9), offer("b", queue="b.test")])
    two.offer([offer("c")])
    one.pause_queue("a.test")
    assert one.paused_queues() == two.paused_queues() == {"a.test"}
    assert (finish_all(one), finish_all(two)) == (["b.test/b"], [])
    assert one.next_ready() == two.next_ready() == inf
    two.resume_queue("a.test")
    assert one.paused_queues() == frozenset()
    assert one.next_ready() == two.next_ready() == 0
    assert (finish_all(one), finish_all(two)) == (["a.test/a"], ["a.test/c"])


def test_a_queue_can_be_paused_before_it_is_known_and_while_it_is_fetched(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.pause_queue("a.test")
    frontier.offer([offer("a"), offer("b")])
    assert frontier.lease("worker", 1) == ()
    frontier.resume_queue("a.test")
    (lease,) = frontier.lease("worker", 1)
    frontier.pause_queue("a.test")
    assert frontier.finish(lease, State.DONE, Outcome(delay=2.0))
    assert (frontier.lease("worker", 1), frontier.next_ready()) == ((), inf)
    frontier.resume_queue("a.test")
    assert (frontier.lease("worker", 1), frontier.next_ready()) == ((), 2.0)


# Rules


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (HOST, {"a.test/x1", "a.test/x2", "a.test/y1", "w.a.test/x1"}),
        (PREFIX, {"a.test/x1", "a.test/x2"}),
        (URL, {"a.test/x1"}),
        (PATTERN, {"a.test/x1", "a.test/y1", "w.a.test/x1"}),
    ],
)
def test_what_a_rule_names_is_blocked_and_put_back_to_where_it_was(
    make_frontier: Make, rule: Rule, named: set[str]
) -> None:
    frontier = make_frontier(balance=9)
    offers = [offer("x1", 0.9), offer("x2", 0.8), offer("y1", 0.7), offer("z", 0.6, queue="ba.test")]
    offers.append(Offer("http://w.a.test/x1", "a.test", 0.5, 3, via="http://a.test/", path="LL"))
    frontier.offer(offers)
    before = list(frontier.iterate(9))
    assert frontier.block([rule]) == len(named)
    assert frontier.rules() == {rule}
    counts = frontier.counts()
    assert (counts.pages[State.BLOCKED], counts.reasons) == (len(named), {rule.reason: len(named)})
    held = {status.offer.url[7:]: status for status in frontier.scan({State.BLOCKED}) if status.offer}
    assert held.keys() == named
    assert {status.reason for status in held.values()} == {rule.reason}
    assert named.isdisjoint(each.url[7:] for each in frontier.iterate(9))
    assert frontier.unblock([rule]) == len(named)
    assert (list(frontier.iterate(9)), frontier.rules(), frontier.counts().reasons) == (before, frozenset(), {})


def test_what_is_offered_under_a_rule_is_kept_and_not_leased(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.block([HOST])
    assert frontier.offer([offer("a", 0.9), offer("b", queue="b.test")]) == (Offered.BLOCKED, Offered.ADDED)
    assert frontier.offer([offer("a", 0.9)]) == (Offered.KNOWN,)
    (lease,) = frontier.lease("worker", 5)
    assert frontier.finish(lease, State.DONE, links=[offer("linked", kind="requisite")])
    assert frontier.next_ready() is None
    assert frontier.status("http://a.test/a") == UrlStatus(State.BLOCKED, offer("a", 0.9), reason="host a.test")
    assert frontier.unblock([HOST]) == 2
    assert sorted(finish_all(frontier) + finish_all(frontier)) == ["a.test/a", "a.test/linked"]


def test_what_is_posted_under_a_rule_is_blocked(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.block([HOST])
    posts = [Post(offer("a"), b"k" * 12, b"same", Wish.FRONT), Post(offer("b", queue="b.test"), b"l" * 12, b"same")]
    assert frontier.post(posts) == (Posted(Effect.BLOCKED, State.BLOCKED), Posted(Effect.ADDED, State.QUEUED))
    assert urls(frontier.lease("worker", 5)) == ["b.test/b"]
    frontier.unblock([HOST])
    assert frontier.iterate(1)[0].url == "http://a.test/a"


@pytest.mark.one_partition
def test_a_url_that_is_leased_meanwhile_is_blocked_when_it_would_be_leased_again(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a", 0.9), offer("b", queue="b.test")])
    (lease,) = frontier.lease("worker", 1)
    assert frontier.block([HOST]) == 0
    frontier.release([lease])
    assert urls(frontier.lease("worker", 1)) == ["b.test/b"]
    assert frontier.state("http://a.test/a") is State.BLOCKED
    frontier.unblock([HOST])
    assert frontier.lease("worker", 1)[0].attempt == 1


def test_a_url_that_two_rules_name_stays_blocked_by_the_other_one(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("x1"), offer("x2")])
    assert frontier.block([HOST, URL]) == 2
    assert frontier.unblock([URL]) == 0
    assert frontier.counts().reasons == {"host a.test": 2}
    assert frontier.unblock_urls(["http://a.test/x1"]) == (False,)
    assert frontier.unblock([HOST, URL]) == 2


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (RuleKind.URL, "http://A.test/"),
        (RuleKind.PREFIX, "a.test/"),
        (RuleKind.HOST, "a.test/x"),
        (RuleKind.PATTERN, "*"),
        (RuleKind.PATTERN, "host:a.test"),
    ],
)
def test_rules_that_name_nothing_are_refused(kind: RuleKind, text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        Rule(kind, text)


def test_many_are_blocked_and_put_back_piece_by_piece(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer(f"{i}", i / 5000) for i in range(2500)])
    assert frontier.block([HOST]) == 2500
    assert (frontier.next_ready(), frontier.counts().queues) == (None, 0)
    assert frontier.unblock([HOST]) == 2500
    assert frontier.iterate(1)[0].url == "http://a.test/2499"


# Single URLs


def test_urls_are_blocked_for_a_reason_and_put_back(make_frontier: Make) -> None:
    frontier = make_frontier(balance=2)
    frontier.offer([offer("leased", 0.9), offer("done", 0.8), offer("image", 0.1, kind="requisite"), offer("queued")])
    leased, done = frontier.lease("worker", 2)
    frontier.finish(done, State.DONE)
    names = [f"http://a.test/{name}" for name in ("leased", "done", "image", "queued", "unseen")]
    assert frontier.block_urls(names, "too_deep") == (False, False, True, True, False)
    assert frontier.block_urls(names, "too_deep") == (False,) * 5
    counts = frontier.counts()
    assert counts.reasons == {"too_deep": 2}
    assert (counts.pages[State.BLOCKED], counts.requisites[State.BLOCKED]) == (1, 1)
    assert frontier.offer([offer("queued", 1.0)]) == (Offered.KNOWN,)
    frontier.finish(leased, State.BLOCKED)
    assert frontier.unblock_urls(names) == (False, False, True, True, False)
    assert [each.url[14:] for each in frontier.iterate(9)] == ["queued", "image"]


def test_what_was_blacklisted_while_it_was_queued_can_be_put_back(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a")])
    frontier.post([Post(offer(path), path.encode() * 12, b"same", Wish.BLOCK) for path in "ab"])
    assert frontier.unblock_urls(["http://a.test/a", "http://a.test/b"]) == (True, False)
    assert frontier.counts().reasons == {"blacklisted": 1}
    assert finish_all(frontier) == ["a.test/a"]


# Revisits


def test_a_page_that_is_done_is_leased_again_when_it_is_due(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(pages=1, attempts=2)
    frontier.offer([offer("a", 0.3), offer("b", 0.1)])
    assert finish_all(frontier) == ["a.test/a"]
    visits = [Revisit(offer("a", 0.7), 60.0), Revisit(offer("b"), 60.0), Revisit(offer("unseen"))]
    assert frontier.again(visits) == (True, False, False)
    assert frontier.state("http://a.test/a") is State.DUE
    counts = frontier.counts()
    assert (counts.pages[State.DUE], counts.pages[State.DONE]) == (1, 0)
    assert (frontier.lease("worker", 1), frontier.next_ready()) == ((), 60.0)
    assert frontier.offer([offer("a")]) == (Offered.KNOWN,)
    assert list(frontier.scan({State.DUE})) == [UrlStatus(State.DUE, offer("a", 0.7))]
    clock.now += 60.0
    (lease,) = frontier.lease("worker", 5)
    assert (lease.url, lease.score, lease.attempt) == ("http://a.test/a", 0.7, 1)
    frontier.finish(lease, State.DONE)
    assert frontier.next_ready() is None


def test_the_time_of_a_page_that_is_due_can_be_changed(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a"), offer("b", queue="b.test")])
    finish_all(frontier)
    frontier.again([Revisit(offer("a"), 60.0), Revisit(offer("b", queue="b.test"), 30.0)])
    assert frontier.again([Revisit(offer("b", 0.9, queue="b.test"), 90.0)]) == (True,)
    assert frontier.next_ready() == 60.0
    clock.now += 90.0
    assert finish_all(frontier) == ["b.test/b", "a.test/a"]


def test_a_page_that_is_due_can_be_blocked_and_is_due_again_afterwards(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a")])
    finish_all(frontier)
    frontier.again([Revisit(offer("a"), 60.0)])
    assert frontier.block([HOST]) == 1
    assert (frontier.next_ready(), frontier.state("http://a.test/a")) == (None, State.BLOCKED)
    assert frontier.unblock([HOST]) == 1
    assert (frontier.next_ready(), frontier.state("http://a.test/a")) == (60.0, State.DUE)
    frontier.block([HOST])
    clock.now += 100.0
    frontier.unblock([HOST])
    assert finish_all(frontier) == ["a.test/a"]
    frontier.block([HOST])
    assert frontier.again([Revisit(offer("a"))]) == (False,)


def test_requisites_are_not_fetched_again(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("image", kind="requisite")])
    finish_all(frontier)
    assert frontier.again([Revisit(offer("image"))]) == (False,)
    with pytest.raises(ValueError, match="only pages"):
        Revisit(offer("image", kind="requisite"))


# Going through


def test_everything_that_waits_is_gone_through(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer(f"{i}", i / 1000, queue=f"{i % 7}.test") for i in range(700)])
    assert sorted(each.offer.score for each in frontier.scan({State.QUEUED}) if each.offer) == [
        i / 1000 for i in range(700)
    ]
    assert list(frontier.scan({State.BLOCKED, State.DUE})) == []


# On a server


def test_a_worker_that_has_not_heard_of_a_rule_leases_nothing_that_it_names(server: EmbeddedServer) -> None:
    with connect(server.url) as client:
        client.flushall()
        operator = RedisControl(client, "one", FrontierSettings())
        worker = RedisFrontier(client, "one", FrontierSettings(balance=3))
        operator.block([URL])
        worker.offer([offer("x1", 0.9), offer("x2"), offer("x3")])
        assert operator.state(URL.text) is State.QUEUED
        assert urls(worker.lease("worker", 1)) == ["a.test/x2"]
        assert operator.state(URL.text) is State.BLOCKED
        assert operator.unblock([URL]) == 1


def test_a_service_that_has_not_heard_of_a_rule_blocks_what_it_names_and_asks_for_rules_once(
    server: EmbeddedServer,
) -> None:
    with connect(server.url) as client:
        client.flushall()
        service = RedisFrontier(client, "one", FrontierSettings())
        operator = RedisControl(client, "one", FrontierSettings())
        operator.block([HOST])
        assert service.post([Post(offer("a"), b"k" * 12, b"same")]) == (Posted(Effect.BLOCKED, State.BLOCKED),)
        operator.unblock([HOST])
        assert service.post([Post(offer("b"), b"l" * 12, b"same")]) == (Posted(Effect.ADDED, State.QUEUED),)
        client.config_resetstat()
        service.post([Post(offer("c"), b"m" * 12, b"same")])
        assert "cmdstat_hkeys" not in client.info("commandstats")


def test_removing_a_crawl_removes_what_operators_have_said(server: EmbeddedServer) -> None:
    with connect(server.url) as client:
        client.flushall()
        control = RedisControl(client, "one", FrontierSettings())
        control.offer([offer("x1"), offer("y", queue="b.test")])
        lease = control.lease("worker", 1)[0]
        control.finish(lease, State.DONE)
        control.again([Revisit(offer("x1"), 60.0)])
        control.block([PATTERN, Rule(RuleKind.HOST, "b.test")])
        control.pause()
        control.remove()
        assert client.keys("*:c:one:*") == []


def test_pauses_and_rules_survive_a_restart_of_the_server(folder: Path) -> None:
    with EmbeddedServer(folder) as first, closing(RedisControl(first.url, "one", FrontierSettings())) as control:
        control.offer([offer("a"), offer("b", queue="b.test")])
        control.pause()
        control.pause_queue("b.test")
        control.block([HOST])
    with EmbeddedServer(folder) as second, closing(RedisControl(second.url, "one", FrontierSettings())) as control:
        assert control.is_paused()
        assert control.paused_queues() == {"b.test"}
        assert control.rules() == {HOST}
        control.resume()
        assert control.lease("worker", 5) == ()
        control.resume_queue("b.test")
        assert urls(control.lease("worker", 5)) == ["b.test/b"]


def test_without_rules_and_pauses_a_script_makes_no_more_calls(server: EmbeddedServer) -> None:
    """What operators have said is read with the counts, which every script reads."""
    with connect(server.url) as client:
        client.flushall()
        control = RedisControl(client, "one", FrontierSettings())
        offers = [offer(f"{i}", queue=f"{i}.test") for i in range(3)]
        control.offer(offers)
        client.config_resetstat()
        control.lease("worker", 3)
        calls = client.info("commandstats")
        assert calls["cmdstat_hgetall"]["calls"] == 1
        assert "cmdstat_hmget" not in calls


def test_delays_and_what_was_learned_survive_workers_and_a_restart_of_the_server(folder: Path) -> None:
    with EmbeddedServer(folder) as first:
        one = RedisControl(first.url, "one", FrontierSettings())
        two = RedisControl(first.url, "two", FrontierSettings())
        with closing(one), closing(two):
            one.offer([offer("a"), offer("b")])
            two.offer([offer("c")])
            (lease,) = one.lease("worker", 1)
            one.finish(lease, State.DONE, Outcome(delay=30.0, learned=7.0))
            assert two.lease("another", 1) == ()
    with EmbeddedServer(folder) as second, closing(RedisControl(second.url, "two", FrontierSettings())) as two:
        wait = two.next_ready()
        assert wait is not None
        assert 15.0 < wait <= 30.0
        assert two.lease("another", 1) == ()
        two.offer([offer("x", queue="b.test")])
        assert two.lease("another", 1)[0].learned == 0.0
    with EmbeddedServer(folder) as third:
        clock = Clock(10_000_000_000.0)
        with closing(RedisControl(third.url, "one", FrontierSettings(), clock)) as one:
            assert one.lease("worker", 1)[0].learned == 7.0
