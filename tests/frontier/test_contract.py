"""What every frontier promises, one sentence a test."""

from collections.abc import Callable

import pytest

from aahcrawler.frontier.protocol import (
    LEASE_RAN_OUT,
    RETRIES_USED_UP,
    UNSCORED,
    Frontier,
    FrontierSettings,
    Kind,
    Offer,
    Offered,
    Outcome,
    Rescore,
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


@pytest.mark.one_partition
def test_equal_queues_take_turns_in_the_order_of_offers(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer(name, queue=f"{name}.test") for name in "zyx"])
    assert paths(frontier) == ["z", "y", "x"]


def test_the_first_path_and_the_first_parent_come_back_with_the_lease(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([Offer("http://a.test/ü", "a.test", 0.5, 3, via="http://a.test/", path="LLR")])
    frontier.offer([Offer("http://a.test/ü", "a.test", 0.5, 2, via="http://b.test/", path="LL")])
    (lease,) = frontier.lease("worker", 1)
    assert (lease.url, lease.depth, lease.via, lease.path) == ("http://a.test/ü", 2, "http://a.test/", "LLR")


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
    one.finish(lease, State.DONE, Outcome(delay=2.0))
    assert (paths(two), two.next_ready()) == ([], 2.0)
    clock.now += 1.75
    assert paths(two) == []
    clock.now += 0.25
    assert paths(two) == ["b"]


def test_connections_start_a_delay_apart(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(connections=2)
    frontier.offer([offer(name) for name in "abcd"])
    first, second = frontier.lease("worker", 10)
    frontier.finish(first, State.DONE, Outcome(delay=5.0))
    frontier.finish(second, State.DONE, Outcome(delay=5.0))
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
        assert frontier.finish(lease, State.BLOCKED, outcome, [offer("b")])
    assert frontier.stats() == {"pages": 1.0, "bytes": 1.5}
    assert frontier.counts().reasons == {"robots": 1}
    assert paths(frontier) == ["b"]


def test_a_lost_lease_changes_nothing(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(lease_seconds=10.0)
    frontier.offer([offer("a")])
    (lost,) = frontier.lease("worker", 1)
    clock.now += 10.0
    (held,) = frontier.lease("other", 1)
    assert held.attempt == 2
    assert not frontier.finish(lost, State.DONE, Outcome(stats={"pages": 1.0}), [offer("b")])
    assert frontier.retry(lost) is State.LEASED
    frontier.release([lost])
    assert frontier.renew([lost, held]) == (False, True)
    assert (frontier.state("http://a.test/b"), frontier.stats()) == (None, {})
    assert frontier.finish(held, State.DONE)


def test_a_url_fails_after_its_last_attempt(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(attempts=2, lease_seconds=10.0, balance=2)
    frontier.offer([offer("retried"), offer("lost")])
    for expected in (State.QUEUED, State.FAILED):
        assert frontier.retry(frontier.lease("worker", 2)[0]) is expected
        clock.now += 10.0
    assert len(frontier.lease("worker", 2)) == 1  # A lease may run out three times.
    clock.now += 10.0
    assert frontier.lease("worker", 2) == ()
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


@pytest.mark.one_partition
def test_pages_of_a_queue_are_bounded(make_frontier: Make) -> None:
    frontier = make_frontier(pages_per_queue=1, balance=10)
    frontier.offer([offer("a"), offer("b"), offer("c", queue="c.test")])
    assert paths(frontier) == ["a", "c"]
    assert frontier.queue_counts()["a.test"].pages_queued == 1


@pytest.mark.one_partition
def test_a_lease_tells_how_many_pages_are_left_to_its_queue(make_frontier: Make) -> None:
    frontier = make_frontier(pages_per_queue=3, balance=2)
    frontier.offer([offer(name) for name in "abcd"])
    assert [lease.left for lease in frontier.lease("w", 2)] == [1, 1]
    unbound = make_frontier(crawl="another")
    unbound.offer([offer("a", queue="c.test")])
    assert [lease.left for lease in unbound.lease("w", 1)] == [None]


@pytest.mark.one_partition
def test_settings_that_change_hold_queues_back_and_let_them_go(make_frontier: Make) -> None:
    frontier = make_frontier(pages_per_queue=1, balance=10)
    frontier.offer([offer(name) for name in "abcd"] + [offer("e", queue="e.test")])
    assert paths(frontier) == ["a", "e"]
    frontier.go_by(FrontierSettings(pages_per_queue=3, balance=10, connections=2))
    assert frontier.next_ready() == 0
    assert paths(frontier) == ["b", "c"]
    frontier.go_by(FrontierSettings(pages_per_queue=3, balance=10, connections=9))
    assert paths(frontier) == []
    frontier.go_by(FrontierSettings(pages=5, balance=10, connections=9))
    assert paths(frontier) == ["d"]
    frontier.offer([offer("f", queue="f.test")])
    assert paths(frontier) == []


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
    assert frontier.finish(lease, State.DONE, links=[offer(f"again/{i}") for i in range(2000)])
    assert frontier.counts().pages[State.QUEUED] == 5000
    assert [best.url[-4:] for best in frontier.iterate(2)] == ["4999", "4998"]


def rescore(path: str, score: float, *, queue: str = "a.test") -> Rescore:
    return Rescore(f"http://{queue}/{path}", score)


@pytest.mark.parametrize("update", Update)
def test_a_score_that_is_set_replaces_all_offers_so_far(make_frontier: Make, update: Update) -> None:
    frontier = make_frontier(update=update)
    frontier.offer([offer("x", 0.4), offer("x", 0.8), offer("y", 0.5)])
    assert frontier.rescore([rescore("x", 0.1)]) == (True,)
    assert [(best.url[-1], best.score) for best in frontier.iterate(2)] == [("y", 0.5), ("x", 0.1)]
    frontier.offer([offer("x", 0.3)])
    after = {Update.FIRST: 0.1, Update.LAST: 0.3, Update.MAX: 0.3, Update.SUM: 0.4, Update.AVG: 0.2}[update]
    assert frontier.iterate(2)[1].score == pytest.approx(after)


@pytest.mark.parametrize("update", Update)
def test_a_url_whose_score_is_taken_waits_behind_all_others_until_it_is_offered_with_one(
    make_frontier: Make, update: Update
) -> None:
    frontier = make_frontier(update=update)
    frontier.offer([offer("late", 0.9), offer("worthless", 0.0)])
    assert frontier.rescore([rescore("late", UNSCORED)]) == (True,)
    assert [best.url[-4:] for best in frontier.iterate(2)] == ["less", "late"]
    frontier.offer([offer("late", 0.3)])
    assert [best.url[-4:] for best in frontier.iterate(2)] == ["late", "less"]
    assert frontier.iterate(1)[0].score == 0.3


def test_priorities_change_at_once_within_and_between_queues(make_frontier: Make) -> None:
    frontier = make_frontier(balance=2)
    frontier.offer([offer("a", 0.9), offer("b", 0.8), offer("c", 0.7, queue="b.test"), offer("d", 0.1, queue="b.test")])
    assert frontier.rescore([rescore("a", 0.2), rescore("d", 1.5, queue="b.test"), rescore("b", 0.3)]) == (True,) * 3
    assert paths(frontier) == ["d", "c", "b", "a"]


def test_only_queued_pages_are_re_scored(make_frontier: Make) -> None:
    frontier = make_frontier(balance=3)
    frontier.offer([offer("done"), offer("failed"), offer("leased"), offer("image", 0.1, kind="requisite")])
    done, failed, _ = frontier.lease("worker", 3)
    frontier.offer([offer("queued")])
    frontier.finish(done, State.DONE)
    frontier.finish(failed, State.FAILED)
    before = frontier.counts()
    known = [rescore(path, 0.9) for path in ("done", "failed", "leased", "image", "unseen", "queued")]
    assert frontier.rescore(known) == (False, False, False, False, False, True)
    assert frontier.counts() == before


def test_a_retried_url_keeps_the_score_that_was_set(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a", 0.2)])
    frontier.rescore([rescore("a", 0.7)])
    (lease,) = frontier.lease("worker", 1)
    assert lease.score == 0.7
    assert frontier.rescore([rescore("a", 0.1)]) == (False,)
    frontier.retry(lease)
    assert frontier.iterate(1)[0].score == 0.7


def test_many_scores_at_once_the_last_of_one_url_counts(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer(f"{i}", 0.5) for i in range(2500)])
    scores = [rescore(f"{i}", i / 2500) for i in range(2500)]
    assert frontier.rescore([*scores, rescore("unseen", 1.0), rescore("7", 1.25)]) == (True,) * 2500 + (False, True)
    assert [best.url.rpartition("/")[2] for best in frontier.iterate(2)] == ["7", "2499"]
    assert frontier.rescore([]) == ()


def test_a_re_scored_url_of_another_crawl_is_left_alone(make_frontier: Make) -> None:
    one, two = make_frontier("one"), make_frontier("two")
    one.offer([offer("a", 0.5)])
    two.offer([offer("a", 0.5)])
    one.rescore([rescore("a", 0.9)])
    assert (one.iterate(1)[0].score, two.iterate(1)[0].score) == (0.9, 0.5)


@pytest.mark.parametrize("update", Update)
def test_what_is_unscored_waits_behind_all_others_for_its_first_score(make_frontier: Make, update: Update) -> None:
    frontier = make_frontier(update=update, balance=3)
    frontier.offer([offer("late", UNSCORED), offer("known", 0.4), offer("worthless", 0.0)])
    assert frontier.offer([offer("known", UNSCORED), offer("late", UNSCORED)]) == (Offered.RESCORED,) * 2
    leases = frontier.lease("worker", 3)
    assert [(lease.url[14:], lease.score, lease.is_scored) for lease in leases] == [
        ("known", 0.4, True),
        ("worthless", 0.0, True),
        ("late", 0.0, False),
    ]
    frontier.release(leases)
    frontier.offer([offer("late", 0.25)])
    assert [(best.url[14:], best.score) for best in frontier.iterate(2)] == [("known", 0.4), ("late", 0.25)]


def test_tallies_are_added_up(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.count({"seconds": 1.5})
    frontier.count({"seconds": 1.0, "pages": 2})
    assert frontier.stats() == {"seconds": 2.5, "pages": 2.0}


def test_a_shorter_delay_never_cuts_a_longer_one_short(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(connections=2)
    frontier.offer([offer(name) for name in "abc"])
    first, second = frontier.lease("worker", 2)
    frontier.finish(first, State.FAILED, Outcome(delay=10.0))
    frontier.finish(second, State.FAILED, Outcome(delay=1.0))
    clock.now += 9.0
    assert (paths(frontier), frontier.next_ready()) == ([], 1.0)


def test_a_connection_another_crawl_holds_may_come_back_before_a_rest_ends(make_frontier: Make) -> None:
    one, two = make_frontier("one", lease_seconds=5.0), make_frontier("two")
    two.offer([offer("done", queue="b.test"), offer("next", queue="b.test"), offer("a")])
    one.offer([offer("held")])
    one.lease("worker", 1)
    (lease,) = two.lease("worker", 10)
    two.finish(lease, State.DONE, Outcome(delay=50.0))
    assert two.next_ready() == 5.0


def test_a_queue_rests_after_another_crawl_lost_its_lease(make_frontier: Make, clock: Clock) -> None:
    one, two = make_frontier("one", lease_seconds=5.0), make_frontier("two")
    one.offer([offer("a"), offer("b")])
    two.offer([offer("c")])
    one.finish(one.lease("worker", 1)[0], State.DONE, Outcome(delay=3.0))
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


@pytest.mark.one_partition
def test_the_connections_to_a_queue_are_those_of_one_worker(make_frontier: Make) -> None:
    one, two = make_frontier("one", connections=3), make_frontier("two", connections=3)
    one.offer([offer(name) for name in "abc"])
    two.offer([offer("d"), offer("e", 0.1, queue="b.test")])
    held = [*one.lease("worker", 1), *two.lease("worker", 1)]
    assert one.lease("another", 5) == ()
    assert [lease.url[-1] for lease in two.lease("another", 5)] == ["e"]
    assert one.lease("worker", 1) != ()
    for lease, frontier in zip(held, (one, two), strict=True):
        frontier.release([lease])
    assert one.lease("another", 5) == ()
    one.recover()
    assert len(one.lease("another", 5)) == 3


def test_what_was_learned_of_a_queue_is_told_to_whoever_leases_from_it_next(make_frontier: Make) -> None:
    one, two = make_frontier("one"), make_frontier("two")
    one.offer([offer("a"), offer("b")])
    two.offer([offer("c"), offer("d")])
    (first,) = one.lease("worker", 1)
    one.finish(first, State.DONE, Outcome(learned=2.5))
    (second,) = two.lease("another", 1)
    assert (first.learned, second.learned) == (0.0, 2.5)
    two.retry(second)
    (third,) = one.lease("worker", 1)
    assert third.learned == 2.5
    one.retry(third, Outcome(learned=0.0))
    assert two.lease("another", 1)[0].learned == 0.0


def test_what_is_given_back_may_rest(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier()
    frontier.offer([offer("a")])
    frontier.release(frontier.lease("worker", 1), delay=4.0)
    assert (paths(frontier), frontier.next_ready()) == ([], 4.0)
    clock.now += 4.0
    assert frontier.lease("worker", 1)[0].attempt == 1


def test_a_queue_rests_after_a_death_even_where_nothing_of_it_was_done_yet(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier()
    frontier.offer([offer("x"), offer("y", queue="b.test")])
    first, second = frontier.lease("worker", 2)
    frontier.remember_delay(first, 25.0)
    clock.now += 10.0
    assert frontier.recover() == 2
    (again,) = frontier.lease("worker", 2)
    assert again.url == second.url
    clock.now += 25.0
    (again,) = frontier.lease("worker", 2)
    assert again.url == first.url
    frontier.remember_delay(second, 99.0)
    frontier.finish(again, State.FAILED)
