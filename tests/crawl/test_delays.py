"""How long a site is left in peace: what the definition says of it, what it asks for, and what it needs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.wire.politeness import MAX_QUEUES, SHRINKAGE, PolitenessTracker
from online_analysis.icd import Politeness
from tests.crawl.crawling import running
from tests.crawl.site import Answer, Reply, Site, html, links, serving
from tests.crawl.world import crawl, define, gaps, network

A, B = "http://a.test/page", "http://b.test/page"
EXACT = 0.99
"""Of a delay; the servers of frontier and site do not read the same clock."""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def of(clock: Clock) -> Callable[..., PolitenessTracker]:
    return lambda **fields: PolitenessTracker(Politeness(**fields), clock)


# Turns


def test_turns_of_a_queue_are_a_delay_apart(clock: Clock, of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=2.0)
    assert [politeness.reserve(A), politeness.reserve(A + "/2"), politeness.reserve(B), politeness.reserve(A)] == [
        0,
        2,
        0,
        4,
    ]
    clock.now += 10
    assert politeness.reserve(A) == 0


def test_the_delay_counts_from_the_end_of_an_answer(clock: Clock, of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=2.0)
    politeness.reserve(A)
    clock.now += 1.5
    politeness.fetch_ended(A)
    assert politeness.reserve(A) == 2.0


def test_without_a_delay_turns_come_at_once(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=0.0)
    for _ in range(3):
        assert politeness.reserve(A) == 0
        politeness.on_response(A, 200, 0.4)
        politeness.fetch_ended(A)
    assert politeness.learned(A) == 0


@pytest.mark.slow
def test_turns_that_have_come_are_forgotten(clock: Clock, of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=1.0)
    for number in range(MAX_QUEUES + 200):
        politeness.reserve(f"http://{number}.test/")
        clock.now += 0.01
    assert politeness.reserve(f"http://{MAX_QUEUES + 199}.test/") == pytest.approx(0.99)
    assert politeness.reserve("http://0.test/") == 0
    assert len(politeness._known) <= MAX_QUEUES


# What is asked for


def test_a_crawl_delay_prevails_where_it_is_longer_and_is_capped(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=2.0, max_delay=10.0)
    for asked, kept in ((1.0, 2.0), (5.0, 5.0), (3.0, 5.0), (1e300, 10.0)):
        politeness.obey_crawl_delay(A, asked)
        assert politeness.delay_of(A) == kept
    assert politeness.delay_of(B) == 2.0
    assert politeness.learned(A) == 10.0


def test_a_domain_and_a_host_have_delays_of_their_own(of: Callable[..., PolitenessTracker]) -> None:
    domains = {"a.test": {"delay": 5.0}, "fast.a.test": {"delay": 0.5}, "b.test": {"max_delay": 3.0}}
    politeness = of(delay=2.0, max_delay=60.0, domains=domains)
    for url, delay in (
        (A, 5.0),
        ("http://x.a.test/", 5.0),
        ("http://very.fast.a.test/", 0.5),
        ("http://aa.test/", 2.0),
    ):
        assert politeness.delay_of(url) == delay
    politeness.obey_crawl_delay(B, 30.0)
    assert politeness.delay_of(B) == 3.0


def test_a_domain_has_connections_of_its_own(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(connections=2, domains={"a.test": {"connections": 4}, "127.0.0.1": {"connections": 1}})
    assert [politeness.connections_of(queue) for queue in ("a.test", "b.test", "127.0.0.1:80")] == [4, 2, 1]


def test_another_definition_counts_at_once_and_what_is_known_of_sites_stays(
    of: Callable[..., PolitenessTracker],
) -> None:
    politeness = of(delay=8.0)
    politeness.obey_crawl_delay(A, 3.0)
    politeness.use(Politeness(delay=1.0))  # type: ignore[arg-type]
    assert (politeness.delay_of(A), politeness.delay_of(B)) == (3.0, 1.0)


# What is needed


def test_a_slow_site_is_left_in_peace_for_as_long_as_it_takes_to_answer(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=0.5, max_delay=6.0)
    for _ in range(20):
        politeness.on_response(A, 200, 3.0)
    assert politeness.delay_of(A) == pytest.approx(3.0)
    for _ in range(20):
        politeness.on_response(A, 200, 30.0)
    assert politeness.delay_of(A) == 6.0
    for _ in range(20):
        politeness.on_response(A, 200, 0.1)
    assert politeness.delay_of(A) == 0.5


def test_one_slow_page_of_a_fast_site_changes_little(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=0.0)
    politeness.on_response(A, 200, 0.1)
    politeness.on_response(A, 200, 3.0)
    assert politeness.delay_of(A) == 0.0


def test_a_factor_of_0_asks_slow_sites_as_often_as_others(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=0.5, delay_factor=0.0)
    politeness.on_response(A, 200, 20.0)
    assert politeness.delay_of(A) == 0.5


def test_overload_doubles_the_pause_and_good_answers_shrink_it_slowly(
    clock: Clock, of: Callable[..., PolitenessTracker]
) -> None:
    politeness = of(delay=0.0, max_delay=10.0)
    seen = []
    for _ in range(6):
        politeness.on_response(A, 429, 0.01)
        seen.append(politeness.delay_of(A))
        clock.now += seen[-1]
    assert seen == [1, 2, 4, 8, 10, 10]
    politeness.on_response(A, 500, 0.01)
    assert politeness.delay_of(A) == 10
    politeness.on_response(A, 200, 0.01)
    assert politeness.delay_of(A) == pytest.approx(10 * SHRINKAGE)
    for _ in range(30):
        politeness.on_response(A, 200, 0.01)
    assert politeness.delay_of(A) == 0


def test_answers_that_were_under_way_together_are_one_sign_of_overload(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=1.0)
    for _ in range(10):
        politeness.on_response(A, 503, 0.01)
    assert politeness.delay_of(A) == 2


def test_a_site_that_says_how_long_to_wait_is_believed(of: Callable[..., PolitenessTracker]) -> None:
    politeness = of(delay=1.0)
    politeness.on_response(A, 429, 0.01, rest_asked=30.0)
    assert politeness.delay_of(A) == 1


def test_the_next_worker_goes_on_with_what_this_one_has_learned(
    clock: Clock, of: Callable[..., PolitenessTracker]
) -> None:
    first, second = of(delay=1.0), of(delay=1.0)
    for _ in range(3):
        first.on_response(A, 429, 0.01)
        clock.now += 60
    second.restore(A, first.learned(A))
    assert first.delay_of(A) == second.delay_of(A) == 8
    second.on_response(A, 200, 0.01)
    said = second.learned(A)
    second.restore(A, said)
    assert second.delay_of(A) == said == pytest.approx(8 * SHRINKAGE)
    first.restore(A, said)
    assert first.delay_of(A) == said


@given(
    st.lists(st.tuples(st.sampled_from((200, 404, 429, 500, 503)), st.floats(0, 1e6), st.floats(0, 3600))),
    st.floats(0, 100),
    st.floats(0, 100),
)
def test_whatever_a_site_answers_the_pause_keeps_within_the_definition(
    answers: list[tuple[int, float, float]], least: float, most: float
) -> None:
    politeness = PolitenessTracker(Politeness(delay=least, max_delay=most), Clock())  # type: ignore[arg-type]
    for status, seconds, rest in answers:
        politeness.on_response(A, status, seconds, rest)
        assert politeness._bounds(A)[0] <= politeness.delay_of(A) <= max(politeness._bounds(A))


# In a crawl


def test_a_crawl_treats_each_domain_as_its_definition_says(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {"//calm.test/": html("Front", links("/1"))}
    pages["//plain.test/"] = html("Front", links(*(f"/{number}" for number in range(30))))
    with serving(Site({**pages, "/robots.txt": Reply(b"", 404)}, other=html("Page"))) as site:
        politeness = {"delay": "0", "domains": {"calm.test": {"delay": "1 s"}}}
        crawl(
            tmp_path,
            ["http://calm.test/", "http://plain.test/"],
            politeness=politeness,
            network=network(site, "calm.test", "plain.test"),
        )
    assert (len(site.of("calm.test")), len(site.of("plain.test"))) == (3, 32)
    assert min(gaps(site.of("calm.test"))) >= 1.0 * EXACT
    assert min(gaps(site.of("plain.test"))) < 1.0 * EXACT


def test_a_crawl_that_goes_on_knows_how_slow_a_site_wants_it(tmp_path: Path) -> None:
    def busy(path: str) -> Reply:
        return html("Front", links(*(f"/{n}" for n in range(9)))) if path == "/" else Reply(b"", 429)

    site = Site({"/robots.txt": Reply(b"", 404)}, other=busy)
    with serving(site):
        path = define(tmp_path, [site.url], politeness={"delay": "0", "retries": "9", "max_delay": "1 s"})
        with running("crawl", path) as first:
            first.until(lambda: len(site.paths()) > 3)
            first.interrupt()
            first.ended()
        site.other, begun = html("Page"), len(site.asked)
        with running("crawl", path) as second:
            second.until(lambda: len([each for each in site.asked[begun:] if each.path != "/robots.txt"]) > 1)
            second.interrupt()
            second.ended()
    between = gaps([each for each in site.asked[begun:] if each.path != "/robots.txt"])
    assert between[0] >= SHRINKAGE * EXACT


def test_a_crawl_slows_down_where_a_site_has_too_much_to_do(tmp_path: Path) -> None:
    asked: list[str] = []

    def now_and_then(path: str) -> Reply:
        asked.append(path)
        return Reply(b"", 429) if len(asked) in (2, 3) else html("Page", links("/1", "/2"))

    with serving(Site({"/robots.txt": Reply(b"", 404)}, other=now_and_then)) as site:
        done = crawl(tmp_path, [site.url], politeness={"delay": "0", "retries": "2"})
    assert done.summary["pages"] == 3
    between = gaps([each for each in site.asked if each.path != "/robots.txt"])
    assert between[1] >= 1 * EXACT
    assert between[2] >= 2 * EXACT
    assert between[3] >= 2 * SHRINKAGE * EXACT
