"""What every frontier promises to those who post scored URLs, one sentence a test."""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Protocol

import pytest

from aahcrawler.frontier.control import Effect, Post, Posted, Posting, UrlStatus, Wish
from aahcrawler.frontier.protocol import Frontier, FrontierSettings, Offer, Offered, Rescore, State, Update
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.frontier.conftest import Clock
from tests.frontier.test_contract import offer, paths


class PostingFrontier(Frontier, Posting, Protocol):
    """All that these tests ask."""


Make = Callable[..., PostingFrontier]
DAY = 86_400.0


def post(path: str, score: float = 0.5, wish: Wish = Wish.SCORE, *, key: str = "", said: str = "", **more: Any) -> Post:
    """Return a post whose key is made of what it says, where none is given."""
    content = said or f"{path} {score} {wish}"
    known_by = blake2b((key or content).encode(), digest_size=12).digest()
    return Post(offer(path, score, **more), known_by, blake2b(content.encode(), digest_size=4).digest(), wish)


def effects(frontier: PostingFrontier, *posts: Post) -> list[Effect]:
    return [posted.effect for posted in frontier.post(posts)]


@pytest.mark.parametrize(
    ("update", "score"),
    [(Update.FIRST, 0.4), (Update.LAST, 0.6), (Update.MAX, 0.6), (Update.SUM, 1.0), (Update.AVG, 0.5)],
)
def test_a_post_is_scored_like_any_offer_and_the_same_one_once(
    make_frontier: Make, update: Update, score: float
) -> None:
    frontier = make_frontier(update=update)
    frontier.offer([offer("x", 0.4)])
    assert frontier.post([post("x", 0.6)]) == (Posted(Effect.RESCORED, State.QUEUED),)
    for _ in range(3):
        assert frontier.post([post("x", 0.6)]) == (Posted(Effect.RESCORED, State.QUEUED, repeated=True),)
    assert frontier.lease("worker", 1)[0].score == pytest.approx(score)


def test_another_key_is_another_opinion(make_frontier: Make) -> None:
    frontier = make_frontier(update=Update.SUM)
    frontier.post([post("x", 0.5, key="one", said="x"), post("x", 0.5, key="two", said="x")])
    assert frontier.lease("worker", 1)[0].score == pytest.approx(1.0)


def test_a_repeated_post_does_not_undo_what_came_after_it(make_frontier: Make) -> None:
    frontier = make_frontier(update=Update.LAST)
    frontier.post([post("x", 0.9), post("x", 0.1), post("x", 0.9)])
    assert frontier.lease("worker", 1)[0].score == pytest.approx(0.1)


def test_a_key_that_is_used_for_something_else_changes_nothing(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.post([post("x", 0.5, key="k")])
    assert frontier.post([post("x", 0.9, key="k"), post("y", 0.9, key="k")]) == (Posted(Effect.MISUSED, None),) * 2
    assert (frontier.iterate(9)[0].score, frontier.status("http://a.test/y")) == (0.5, None)


def test_posts_are_remembered_for_a_day_at_least_and_two_at_most(make_frontier: Make, clock: Clock) -> None:
    frontier = make_frontier(update=Update.SUM)
    clock.now = 10 * DAY + 1
    frontier.post([post("x", 0.25)])
    clock.now += DAY
    assert frontier.post([post("x", 0.25), post("y")])[0].repeated
    clock.now += DAY
    assert [posted.repeated for posted in frontier.post([post("x", 0.25), post("y")])] == [False, True]
    assert frontier.iterate(1)[0].score == 0.5


@pytest.mark.one_partition
def test_the_front_comes_before_everything_whatever_its_score(make_frontier: Make) -> None:
    frontier = make_frontier(update=Update.SUM)
    frontier.offer([offer(f"{i}", 1.0, queue=f"{i}.test") for i in range(5)] * 9)
    frontier.offer([offer("image", 0.9, queue="b.test", kind="requisite"), offer("low", 0.0, queue="b.test")])
    frontier.post([post("low", 0.0, Wish.FRONT, queue="b.test"), post("new", 0.1, Wish.FRONT, queue="c.test")])
    assert [best.url[-3:] for best in frontier.iterate(2)] == ["new", "low"]
    assert paths(frontier, 2) == ["new", "low"]


def test_what_is_at_the_front_stays_there_through_later_scores_and_retries(make_frontier: Make) -> None:
    frontier = make_frontier(update=Update.LAST, balance=5)
    frontier.post([post("x", 0.1, Wish.FRONT)])
    frontier.offer([offer("x", 0.2), offer("y", 0.9)])
    (lease, other) = frontier.lease("worker", 2)
    assert (lease.url[-1], lease.score) == ("x", 0.2)
    frontier.retry(lease)
    frontier.release([other])
    assert frontier.status(lease.url) == UrlStatus(State.QUEUED, offer("x", 0.2), at_front=True)
    assert frontier.lease("worker", 1)[0].url == lease.url


def test_a_requisite_at_the_front_becomes_a_page(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("x", 0.9, kind="requisite"), offer("y", 0.9)])
    assert effects(frontier, post("x", 0.1, Wish.FRONT)) == [Effect.RESCORED]
    assert frontier.lease("worker", 1)[0].kind == "page"


def test_what_is_blocked_is_never_leased(make_frontier: Make) -> None:
    frontier = make_frontier(balance=9)
    frontier.offer([offer("x", 0.9), offer("y"), offer("image", 0.7, kind="requisite")])
    blocked = [post(path, 0.0, Wish.BLOCK) for path in ("x", "image", "unseen")]
    assert frontier.post(blocked) == (Posted(Effect.BLOCKED, State.BLOCKED),) * 3
    assert frontier.offer([offer("x"), offer("unseen")]) == (Offered.KNOWN,) * 2
    assert effects(frontier, post("unseen", 1.0, Wish.FRONT)) == [Effect.KNOWN]
    assert paths(frontier) == ["y"]
    counts = frontier.counts()
    assert (counts.pages[State.BLOCKED], counts.requisites[State.BLOCKED]) == (2, 1)
    assert counts.reasons == {"blacklisted": 3}
    assert frontier.status("http://a.test/x") == UrlStatus(State.BLOCKED, offer("x", 0.9), reason="blacklisted")


def test_blocking_the_last_url_of_a_queue_leaves_nothing_to_wait_for(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("x")])
    frontier.post([post("x", 0.0, Wish.BLOCK)])
    assert (frontier.next_ready(), frontier.counts().queues) == (None, 0)


def test_what_is_leased_or_has_ended_is_known_and_can_be_posted_again_later(make_frontier: Make) -> None:
    frontier = make_frontier()
    frontier.offer([offer("x", 0.3)])
    (lease,) = frontier.lease("worker", 1)
    for wish in Wish:
        assert frontier.post([post("x", 0.9, wish)]) == (Posted(Effect.KNOWN, State.LEASED),)
    frontier.release([lease])
    assert frontier.post([post("x", 0.9)]) == (Posted(Effect.RESCORED, State.QUEUED),)
    frontier.finish(frontier.lease("worker", 1)[0], State.DONE)
    assert frontier.post([post("x", 0.8)]) == (Posted(Effect.KNOWN, State.DONE),)
    assert frontier.post([post("x", 0.9)]) == (Posted(Effect.RESCORED, State.DONE, repeated=True),)


def test_a_standing_tells_what_was_offered_and_the_present_score(make_frontier: Make) -> None:
    frontier = make_frontier(update=Update.AVG)
    frontier.offer([Offer("http://a.test/ü", "a.test", 0.2, 3, via="http://a.test/")])
    frontier.offer([Offer("http://a.test/ü", "a.test", 0.4, 2)])
    expected = Offer("http://a.test/ü", "a.test", 0.3, 2, via="http://a.test/")
    assert frontier.status("http://a.test/ü") == UrlStatus(State.QUEUED, expected)
    frontier.lease("worker", 1)
    assert frontier.status("http://a.test/ü") == UrlStatus(State.LEASED, expected)
    assert frontier.status("http://a.test/other") is None


@pytest.mark.parametrize("wish", [Wish.SCORE, Wish.FRONT])
def test_re_scoring_leaves_alone_what_was_scored_from_outside(make_frontier: Make, wish: Wish) -> None:
    frontier = make_frontier(update=Update.AVG)
    frontier.offer([offer("x", 0.4)])
    frontier.post([post("x", 0.8, wish), post("new", 0.5, wish)])
    assert frontier.rescore([Rescore("http://a.test/x", 0.1), Rescore("http://a.test/new", 0.1)]) == (False, False)
    frontier.offer([offer("new", 0.7)])
    assert [(best.url[-1], best.score) for best in frontier.iterate(2)] == [("x", 0.6), ("w", 0.6)]
    (lease,) = frontier.lease("worker", 1)
    frontier.release([lease])
    assert frontier.rescore([Rescore(lease.url, 0.1)]) == (False,)


@pytest.mark.parametrize(("update", "score"), [(Update.FIRST, 0.9), (Update.MAX, 0.3), (Update.LAST, 0.5)])
def test_a_post_that_changed_no_score_keeps_nobody_from_setting_it(
    make_frontier: Make, update: Update, score: float
) -> None:
    frontier = make_frontier(update=update)
    frontier.offer([offer("x", 0.5)])
    frontier.post([post("x", score)])
    assert frontier.rescore([Rescore("http://a.test/x", 0.1)]) == (True,)
    assert frontier.iterate(1)[0].score == 0.1


def test_thousands_of_posts_at_once(make_frontier: Make) -> None:
    frontier = make_frontier()
    posts = [post(f"{i}", i / 2500) for i in range(2500)]
    assert set(effects(frontier, *posts, *posts)) == {Effect.ADDED}
    assert frontier.counts().pages[State.QUEUED] == 2500


def test_removing_a_crawl_forgets_its_posts(server: EmbeddedServer) -> None:
    with connect(server.url) as client:
        client.flushall()
        frontier = RedisFrontier(client, "crawl", FrontierSettings())
        frontier.post([post("x")])
        frontier.remove()
        assert client.keys("{p0}:c:*") == []


def test_only_pages_with_whole_keys_are_posts() -> None:
    with pytest.raises(ValueError, match="12 bytes"):
        Post(offer("x"), b"short", b"1234")
    with pytest.raises(ValueError, match="only pages"):
        post("x", kind="requisite")
