"""How long crawls take, by the paces of their sites."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.revisits.change_log import ChangeState, Visit
from aahcrawler.revisits.crawl_time import (
    SiteLoad,
    around_seconds,
    packed_seconds,
    simulated_seconds,
    site_loads,
    warm_up_seconds,
)

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def visit(url: str, at: float, crawl: int = 1, seconds: float | None = 0.5) -> Visit:
    return Visit(url, START + timedelta(seconds=at), seconds, 200, ChangeState.UNCHANGED, crawl=crawl)


def site(url: str) -> str:
    return url[0]


def test_the_pace_of_a_site_is_learned_and_pauses_are_no_part_of_it() -> None:
    steady = [visit(f"a/{n}", 2.0 * n) for n in range(50)]
    paused = [*steady, *(visit(f"a/{n}", 50_000 + 2.0 * n) for n in range(50))]
    loads = site_loads(paused, site)
    assert loads["a"].urls == 100
    assert loads["a"].pace == pytest.approx(2.0 + 38 / 98)
    assert loads["a"].delay == pytest.approx(loads["a"].pace - 0.5)


def test_a_load_is_what_the_newest_crawl_visited_or_what_is_wanted() -> None:
    visits = [visit(f"{where}/{n}", n, crawl) for crawl in (1, 2) for where in "ab" for n in range(10 * crawl)]
    assert {name: load.urls for name, load in site_loads(visits, site).items()} == {"a": 20, "b": 20}
    wanted = site_loads(visits, site, {"a": 3, "c": 7})
    assert {name: load.urls for name, load in wanted.items()} == {"a": 3, "c": 7}
    assert (wanted["c"].download, wanted["c"].delay) == (2.0, 1.0)


def test_the_newest_crawls_tell_and_the_first_one_only_where_it_is_alone() -> None:
    paces = {1: 9.0, 2: 4.0, 3: 2.0, 4: 2.0, 5: 2.0, 6: 2.0, 7: 2.0}
    visits = [visit("a/x", 1000.0 * crawl + pace * n, crawl) for crawl, pace in paces.items() for n in range(10)]
    assert site_loads(visits[:10], site)["a"].pace == pytest.approx(9.0)
    assert site_loads(visits[:20], site)["a"].pace == pytest.approx(4.0)
    assert site_loads(visits, site)["a"].pace == pytest.approx(2.0)


def test_what_the_first_pages_wait_for_is_no_pace_and_is_the_same_for_a_longer_crawl() -> None:
    crawls = {2: 9.0, 3: 5.0, 4: 7.0}
    begins = {crawl: 1000.0 * crawl for crawl in crawls}
    slow = [visit("a/0", begins[crawl], crawl) for crawl in crawls]
    first = [visit(f"a/{n}", 0.0 + n, 1) for n in range(10)]
    others = [
        visit(f"a/{n}", begins[crawl] + wait + 2.0 * n, crawl) for crawl, wait in crawls.items() for n in range(9)
    ]
    seen = [*first, *sorted([*slow, *others], key=lambda each: each.at)]
    loads = site_loads(seen, site)
    assert loads["a"].pace == pytest.approx(2.0)
    # Of ten visits nine gaps are in the queue; the first one took five seconds longer at the median.
    assert warm_up_seconds(seen, site) == pytest.approx(5.0)
    paused = [*seen, *(visit(f"a/{n}", 9000.0 + 50_000 * (n > 5) + 2.0 * n, 5) for n in range(10))]
    assert warm_up_seconds(paused, site) <= 5.0
    assert warm_up_seconds([], site) == 0.0


def test_what_a_crawl_takes_around_its_visits_is_measured_unless_it_was_interrupted() -> None:
    visits = [visit(f"a/{n}", 10.0 * n, 3) for n in range(5)]
    assert around_seconds(visits, 3, 44.0) == pytest.approx(3.5)
    assert around_seconds(visits, 3, 12.0) is None
    assert around_seconds(visits, 4, 44.0) is None


def test_sites_are_visited_beside_one_another() -> None:
    loads = [SiteLoad(100, 0.5, 2.0), SiteLoad(10, 0.5, 2.0)]
    assert simulated_seconds(loads) == pytest.approx(99 * 2.0 + 0.5)
    # One answer at a time is awaited: both sites' answers, and between those of the last what the site has to itself.
    assert simulated_seconds([SiteLoad(10, 1.0, 1.0)] * 6, slots=2) == pytest.approx(30.0)
    assert simulated_seconds([]) == 0.0


SITES = st.lists(st.tuples(st.integers(1, 40), st.floats(0.01, 5), st.floats(0, 5)), min_size=1, max_size=8)


@given(SITES, st.integers(1, 8))
def test_a_crawl_takes_no_less_than_its_slowest_site_and_no_more_than_all_in_turn(
    sites: list[tuple[int, float, float]], slots: int
) -> None:
    loads = [SiteLoad(urls, download, download + delay) for urls, download, delay in sites]
    found = simulated_seconds(loads, slots)
    alone = [(load.urls - 1) * load.pace + load.download for load in loads]
    assert max(alone) - 1e-6 <= found <= sum(load.urls * load.pace for load in loads) + 1e-6
    assert found >= sum(load.urls * load.download for load in loads) / slots - 1e-6


def test_very_many_urls_are_no_more_work() -> None:
    assert simulated_seconds([SiteLoad(10**9, 0.5, 2.0)]) == pytest.approx(2e9, rel=0.01)


def test_the_paper_packs_sites_into_threads() -> None:
    # Three downloads fit into the delay: three threads, and the last one begins two delays later.
    one = SiteLoad(6, 3.0, 4.0)
    assert packed_seconds([one], 10) == pytest.approx(6 * 3 / 3 + 2 * 1.0)
    assert packed_seconds([one], 1) == pytest.approx(18.0)
    # A long site has a thread to itself, two short ones share one.
    loads = [SiteLoad(10, 1.0, 2.0), SiteLoad(5, 1.0, 2.0), SiteLoad(5, 1.0, 2.0)]
    assert packed_seconds(loads, 2) == pytest.approx(10.0)
    assert packed_seconds(loads, 1) == pytest.approx(20.0)
    assert packed_seconds([], 4) == 0.0
