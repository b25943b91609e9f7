"""What every frontier promises, one sentence a test."""

from collections.abc import Callable

import pytest

from aahcrawler.frontier.protocol import (
    LEASE_RAN_OUT,
    RETRIES_USED_UP,
    Frontier,
    Kind,
    Offer,
    Offered,
    Outcome,
    State,
    Update,
)
from tests.frontier.conftest import Clock

Make = Callable[..., Frontier]


def offer(path: str, score: float = 0.5, *, queue: str = "a.test", depth: int = 0, kind: Kind = "page") -> Offer:
    return Offer(f"http://{queue}/{path}", queue, score, depth, kind)


def paths(frontier: Frontier, n: int = 10) -> list[str]:
    return [lease.url.rpartition("/")[2] for lease in frontier.lease("worker", n)]


@pytest.mark.parametrize(
    ("update", "score"),
    [(Update.FIRST, 0.4), (Update.LAST, 0.6), (Update.MAX, 0.9), (Update.SUM, 1.9), (Update.AVG, 0.633333)],
)
def test_update_functions(make_frontier: Make, update: Update, score: float) -> None:
    frontier = make_frontier(update=update)
    answers = frontier.offer([offer("x", 0.4), offer("x", 0.9), offer("x", 0.6)])
    assert answers == (Offered.ADDED, Offered.RESCORED, Offered.RESCORED)
    assert frontier.lease("worker", 1)[0].score == pytest.approx(score)


def test_the_best_comes_first_and_of_equals_the_requisite_then_the_earliest(make_frontier: Make) -> None:
    frontier = make_frontier(balance=10)
    frontier.offer([offer("c"), offer("b"), offer("image", kind="requisite"), offer("a"), offer("best", 0.9)])
    assert paths(frontier) == ["best", "image", "c", "b", "a"]


def test_equal_queues_take_turns_in_the_order_of_offers(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer(name, queue=f"{name}.test") for name in "zyx"])
    assert paths(frontier) == ["z", "y", "x"]


def test_redirects_and_the_first_parent_come_back_with_the_lease(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([Offer("http://a.test/ü", "a.test", 0.5, 3, via="http://a.test/", redirects=4)])
    frontier.offer([Offer("http://a.test/ü", "a.test", 0.5, 2, via="http://b.test/")])
    (lease,) = frontier.lease("worker", 1)
    assert (lease.url, lease.depth, lease.via, lease.redirects) == ("http://a.test/ü", 2, "http://a.test/", 4)


def test_a_batch_is_one_connection_until_its_last_url(make_frontier: Make) -> None:
    frontier = make_frontier(balance=2)
    frontier.offer([offer("a"), offer("b"), offer("c")])
    first, second = frontier.lease("worker", 10)
    frontier.finish(first, State.DONE)
    assert paths(frontier) == []
    frontier.finish(second, State.DONE)
    assert paths(frontier) == ["c"]


def test_a_queue_rests_for_its_delay_in_every_crawl(make_frontier: Make, clock: Clock) -> None:
    one, two = make_frontier("one"), make_frontier("two")
    one.offer([offer("a")])
    two.offer([offer("b")])
    (lease,) = one.lease("worker", 1)
    assert paths(two) == []
    one.finish(lease, State.DONE, delay=2.0)
    assert (paths(two), two.next_ready()) == ([], 2.0)
    clock.now += 1.75
    assert paths(two) == []
    clock.now += 0.25
    assert paths(two) == ["b"]


def test_connections_start_a_delay_apart(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(connections=2)
    frontier.offer([offer(name) for name in "abcd"])
    first, second = frontier.lease("worker", 10)
    frontier.finish(first, State.DONE, delay=5.0)
    frontier.finish(second, State.DONE, delay=5.0)
    clock.now += 5.0
    assert paths(frontier) == ["c"]
    clock.now += 5.0
    assert paths(frontier) == ["d"]


def test_finished_urls_are_never_resurrected(make_frontier: Make) -> None:
    frontier = make_frontier(balance=3)
    frontier.offer([offer("a"), offer("b"), offer("c")])
    for lease, state in zip(frontier.lease("worker", 3), (State.DONE, State.FAILED, State.BLOCKED), strict=True):
        frontier.finish(lease, state)
        assert frontier.offer([offer(lease.url.rpartition("/")[2], 1.0)]) == (Offered.KNOWN,)
        assert frontier.state(lease.url) is state
    assert frontier.next_ready() is None


def test_finish_takes_links_counts_and_reason_together_and_once(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a")])
    (lease,) = frontier.lease("worker", 1)
    outcome = Outcome("robots", {"pages": 1.0, "bytes": 1.5})
    for _ in range(2):
        assert frontier.finish(lease, State.BLOCKED, links=[offer("b")], outcome=outcome)
    assert frontier.tallies() == {"pages": 1.0, "bytes": 1.5}
    assert frontier.counts().reasons == {"robots": 1}
    assert paths(frontier) == ["b"]


def test_a_lost_lease_changes_nothing(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(lease_seconds=10.0)
    frontier.offer([offer("a")])
    (lost,) = frontier.lease("worker", 1)
    clock.now += 10.0
    (held,) = frontier.lease("other", 1)
    assert held.attempt == 2
    assert not frontier.finish(lost, State.DONE, links=[offer("b")], outcome=Outcome(tally={"pages": 1.0}))
    assert frontier.retry(lost, delay=0.0) is State.LEASED
    frontier.release([lost])
    assert frontier.renew([lost, held]) == (False, True)
    assert (frontier.state("http://a.test/b"), frontier.tallies()) == (None, {})
    assert frontier.finish(held, State.DONE)


def test_a_url_fails_after_its_last_attempt(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(attempts=2, lease_seconds=10.0, balance=2)
    frontier.offer([offer("retried"), offer("lost")])
    for expected in (State.QUEUED, State.FAILED):
        assert frontier.retry(frontier.lease("worker", 2)[0], delay=0.0) is expected
        clock.now += 10.0
    frontier.lease("worker", 2)
    assert frontier.counts().reasons == {RETRIES_USED_UP: 1, LEASE_RAN_OUT: 1}


def test_released_and_recovered_urls_keep_their_attempts(make_frontier: Make) -> None:
    frontier = make_frontier(attempts=1)
    frontier.offer([offer("a")])
    frontier.release(frontier.lease("worker", 1))
    for _ in range(3):
        assert frontier.lease("worker", 1)[0].attempt == 1
        assert frontier.recover() == 1


def test_renewed_leases_run_on(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(lease_seconds=10.0)
    frontier.offer([offer("a")])
    (lease,) = frontier.lease("worker", 1)
    clock.now += 9.0
    assert frontier.renew([lease]) == (True,)
    clock.now += 9.0
    assert paths(frontier) == []
    assert frontier.next_ready() == 1.0


def test_pages_are_bounded_and_a_blocked_one_gives_its_place_back(make_frontier: Make) -> None:
    frontier = make_frontier(pages=2, balance=10)
    frontier.offer([offer("a", 0.9), offer("b", 0.8), offer("c", 0.7), offer("image", 0.1, kind="requisite")])
    leases = frontier.lease("worker", 10)
    assert [lease.url[-1] for lease in leases] == ["a", "b", "e"]
    for lease, state in zip(leases, (State.BLOCKED, State.DONE, State.DONE), strict=True):
        frontier.finish(lease, state)
    (last,) = frontier.lease("worker", 10)
    frontier.finish(last, State.DONE, links=[offer("d", 1.0)])
    assert (paths(frontier), frontier.next_ready()) == ([], None)


def test_pages_of_a_queue_are_bounded(make_frontier: Make) -> None:
    frontier = make_frontier(pages_per_queue=1, balance=10)
    frontier.offer([offer("a"), offer("b"), offer("c", queue="c.test")])
    assert paths(frontier) == ["a", "c"]
    assert frontier.queue_counts()["a.test"].pages_queued == 1


def test_a_page_offer_upgrades_a_queued_requisite_and_never_the_other_way(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a", 0.9, kind="requisite"), offer("b", 0.2)])
    assert frontier.offer([offer("a", 0.1), offer("b", 0.8, kind="requisite")]) == (Offered.RESCORED, Offered.KNOWN)
    assert [(best.url[-1], best.score, best.kind) for best in frontier.iterate(9)] == [
        ("b", 0.2, "page"),
        ("a", 0.1, "page"),
    ]


def test_many_offers_at_once(make_frontier: Make) -> None:
    frontier = make_frontier(balance=5000)
    frontier.offer([offer("seed", 1.0)])
    (lease,) = frontier.lease("worker", 1)
    assert frontier.finish(lease, State.DONE, links=[offer(f"{i}", i / 5000) for i in range(5000)])
    assert set(frontier.offer([offer(f"{i}", 0.0) for i in range(5000)])) == {Offered.RESCORED}
    assert frontier.counts().pages[State.QUEUED] == 5000
    assert [best.url[-4:] for best in frontier.iterate(2)] == ["4999", "4998"]


def test_tallies_are_added_up(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.count({"seconds": 1.5})
    frontier.count({"seconds": 1.0, "pages": 2})
    assert frontier.tallies() == {"seconds": 2.5, "pages": 2.0}


def test_a_shorter_delay_never_cuts_a_longer_one_short(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(connections=2)
    frontier.offer([offer(name) for name in "abc"])
    first, second = frontier.lease("worker", 2)
    frontier.finish(first, State.FAILED, delay=10.0)
    frontier.finish(second, State.FAILED, delay=1.0)
    clock.now += 9.0
    assert (paths(frontier), frontier.next_ready()) == ([], 1.0)


def test_a_connection_another_crawl_holds_may_come_back_before_a_rest_ends(make_frontier: Make) -> None:
    one, two = make_frontier("one", lease_seconds=5.0), make_frontier("two")
    two.offer([offer("done", queue="b.test"), offer("next", queue="b.test"), offer("a")])
    one.offer([offer("held")])
    one.lease("worker", 1)
    (lease,) = two.lease("worker", 10)
    two.finish(lease, State.DONE, delay=50.0)
    assert two.next_ready() == 5.0


def test_a_queue_rests_after_another_crawl_lost_its_lease(make_frontier: Make, clock: Clock) -> None:
    one, two = make_frontier("one", lease_seconds=5.0), make_frontier("two")
    one.offer([offer("a"), offer("b")])
    two.offer([offer("c")])
    one.finish(one.lease("worker", 1)[0], State.DONE, delay=3.0)
    clock.now += 3.0
    one.lease("worker that dies", 1)
    clock.now += 5.0
    assert (paths(two), two.next_ready()) == ([], 3.0)
    clock.now += 3.0
    assert paths(two) == ["c"]


def test_a_renewed_lease_keeps_its_connection_from_other_crawls(make_frontier: Make, clock: Clock) -> None:
    one, two = make_frontier("one", lease_seconds=5.0), make_frontier("two")
    one.offer([offer("a")])
    two.offer([offer("b")])
    leases = one.lease("worker", 1)
    clock.now += 4.0
    one.renew(leases)
    clock.now += 4.0
    assert paths(two) == []
    clock.now += 1.0
    assert paths(two) == ["b"]
