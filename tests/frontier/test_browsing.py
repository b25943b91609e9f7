"""What people who look through a frontier may rely on, one sentence a test, over every frontier."""

from collections.abc import Callable
from itertools import islice
from typing import Protocol

import pytest

from aahcrawler.frontier.control import (
    Blocking,
    Browsing,
    Pausing,
    Place,
    Post,
    Posting,
    Queued,
    Revisit,
    Revisiting,
    Rule,
    RuleKind,
    Standing,
    Wish,
)
from aahcrawler.frontier.protocol import UNSCORED, Frontier, Kind, Offer, Outcome, QueueCounts, Rescore, State
from tests.frontier.conftest import Clock


class Browsed(Frontier, Posting, Pausing, Blocking, Revisiting, Browsing, Protocol):
    pass


Make = Callable[..., Browsed]


def offer(path: str, score: float = 0.5, *, queue: str = "a.test", kind: Kind = "page") -> Offer:
    return Offer(f"http://{queue}/{path}", queue, score, kind=kind)


def many(number: int) -> list[Offer]:
    """Return URLs of a large queue, of many small ones and of two kinds, many of them with the same scores."""
    large = [offer(f"l{at}", at % 7 / 10, kind="requisite" if at % 11 == 0 else "page") for at in range(number)]
    small = [offer(f"s{at}", at % 5 / 10, queue=f"q{at % 17}.test") for at in range(number // 4)]
    return [*large, *small, offer("unscored", UNSCORED)]


def key(queued: Queued) -> tuple[float, bool]:
    return -queued.offer.score, queued.offer.kind == "page"


def in_steps(frontier: Browsed, size: int) -> list[str]:
    """Walk through all of a frontier, beginning anew behind the last URL after every few."""
    urls: list[str] = []
    after = None
    while found := list(islice(frontier.walk(after), size)):
        urls += [queued.offer.url for queued in found]
        after = Place.parse(str(found[-1].place))
    return urls


def test_a_walk_has_everything_that_is_queued_once_and_the_best_first(make_frontier: Make) -> None:
    frontier = make_frontier()
    offers = many(700)
    frontier.offer(offers)
    walked = list(frontier.walk())
    assert sorted(queued.offer.url for queued in walked) == sorted(offer.url for offer in offers)
    assert [key(queued) for queued in walked] == sorted(map(key, walked))
    assert [queued.place for queued in walked] == sorted(queued.place for queued in walked)
    large = [queued.offer for queued in frontier.walk(queues=["a.test"])]
    assert large == [queued.offer for queued in walked if queued.offer.queue == "a.test"]
    assert in_steps(frontier, 97) == [queued.offer.url for queued in walked]


def test_a_walk_may_begin_at_a_score_and_shows_the_front_first(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a", 0.9), offer("b", 0.5), offer("c", 0.5, kind="requisite"), offer("d", 0.1)])
    frontier.post([Post(offer("e", 0.2, queue="e.test"), b"k" * 12, b"c" * 4, Wish.FRONT)])
    assert [(queued.offer.url[-1], queued.at_front) for queued in frontier.walk()] == [
        ("e", True),
        *((each, False) for each in "acbd"),
    ]
    assert [queued.offer.url[-1] for queued in frontier.walk(Place.before(0.5))] == ["c", "b", "d"]
    assert list(frontier.walk(queues=["unknown.test"])) == []


def test_a_sweep_finds_everything_that_is_wanted_in_parts(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer(many(3000))
    looked_at, found, after = 0, list[str](), ""
    while True:
        swept = next(frontier.sweep(lambda url: "/l1" in url, State.QUEUED, after))
        looked_at += swept.looked_at
        found += [status.offer.url for status in swept.found if status.offer is not None]
        after = swept.next
        if not after:
            break
    assert looked_at == 3751
    assert sorted(found) == sorted(f"http://a.test/l{at}" for at in range(3000) if str(at).startswith("1"))
    assert sum(swept.looked_at for swept in frontier.sweep(bool, State.DUE)) == 0


def test_a_url_knows_how_many_of_its_queue_are_ahead(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer(many(400))
    order = [queued.offer.url for queued in frontier.walk(queues=["a.test"])]
    for place in (0, 1, 50, 200, len(order) - 1):
        assert frontier.ahead(order[place]) == place
    assert frontier.ahead("http://a.test/never") is None
    (lease,) = frontier.lease("worker", 1)
    assert frontier.ahead(lease.url) is None


def test_what_is_leased_or_due_says_for_how_long(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(lease_seconds=60.0)
    frontier.offer([offer(name, queue=f"{name}.test") for name in "abc"])
    first, second = frontier.lease("worker", 2)
    clock.now += 20.0
    assert [timed.seconds for timed in frontier.leased(1)] == [40.0]
    assert len(frontier.leased(10)) == 2
    for lease, seconds in ((first, 100.0), (second, 50.0)):
        frontier.finish(lease, State.DONE)
        assert frontier.again([Revisit(Offer(lease.url, lease.queue, 0.7), seconds)]) == (True,)
    assert frontier.leased(10) == []
    assert [(timed.offer.queue, timed.seconds) for timed in frontier.due(5)] == [
        (second.queue, 50.0),
        (first.queue, 100.0),
    ]
    assert [timed.offer.queue for timed in frontier.due(5, skipped=1)] == [first.queue]


def test_what_was_blocked_is_shown_bit_by_bit_with_its_reason(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer(f"p{at}", queue=f"q{at % 9}.test") for at in range(900)])
    frontier.block([Rule(RuleKind.PATTERN, "/p")])
    urls: list[str] = []
    after = ""
    while True:
        found, after = frontier.held(after, 100)
        urls += [status.offer.url for status in found if status.offer is not None]
        assert {status.reason for status in found} <= {"pattern /p"}
        if not after:
            break
    assert len(urls) == len(set(urls)) == 900


def test_a_queue_tells_what_it_waits_for(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a", 0.4), offer("b", 0.6), offer("c", UNSCORED, queue="c.test")])
    lease = next(lease for lease in frontier.lease("worker", 2) if lease.queue == "a.test")
    assert frontier.standings()["a.test"] == Standing(QueueCounts(1, 1, 0, 0), 0.4, out=1)
    frontier.finish(lease, State.DONE, Outcome(delay=3.0, learned=2.0))
    clock.now += 1.0
    frontier.pause_queue("a.test")
    assert frontier.standings(["a.test", "unknown.test"]) == {
        "a.test": Standing(QueueCounts(1, 0, 1, 0), 0.4, 2.0, 3.0, 2.0, is_paused=True)
    }
    assert frontier.standings()["c.test"].best is None


def test_a_walk_beside_changes_goes_on(make_frontier: Make) -> None:
    frontier = make_frontier(balance=50)
    frontier.offer(many(600))
    walk = frontier.walk()
    before = [next(walk).offer.url for _ in range(300)]
    for lease in frontier.lease("worker", 200):
        frontier.finish(lease, State.DONE)
    frontier.rescore([Rescore(f"http://a.test/l{at}", 0.95) for at in range(0, 600, 3)])
    rest = [queued.offer.url for queued in walk]
    assert len(set(before) | set(rest)) > 400


@pytest.mark.parametrize("text", ["", "x", "1.2", "1.a.00", "1.1.zz"])
def test_what_is_no_place_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Place.parse(text)
