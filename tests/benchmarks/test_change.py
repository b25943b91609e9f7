"""The benchmark of revisit policies: its traces, its counts and its budgets."""

import gzip
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from aahcrawler.revisits.rate_priors import KnownPage, learned_priors
from aahcrawler.revisits.revisit_policies import DEFAULT_BOUNDS, JumpingRate
from benchmarks.change import POLICIES, SPAN, at_downloads, bursty, ideal_learner, outcome, periodic, poisson, services
from benchmarks.change_budgets import at_downloads as at_equal_downloads
from benchmarks.change_budgets import budget_rows, watched
from benchmarks.change_visits import Trace, TracedPage, total, visits_by_jumping_rate


def on_a_site(pages: Iterable[Trace]) -> list[TracedPage]:
    return [TracedPage(changes, KnownPage("a.test", "")) for changes in pages]


@pytest.mark.parametrize("make", [poisson, bursty, periodic])
def test_changes_are_in_order_within_three_years(make: object) -> None:
    for changes in make(np.random.default_rng(1), 20):  # type: ignore[operator]
        assert np.all(np.diff(changes) >= 0)
        assert len(changes) == 0 or changes[-1] < SPAN * 1.1


def test_a_change_is_seen_once_and_several_between_two_visits_are_one() -> None:
    found = outcome(on_a_site([np.array([1.0, 2.0, 20.0])]), POLICIES["week"])
    assert (found.made, found.seen, found.downloads) == (3, 2, int(SPAN // 7))
    assert found.f1 == pytest.approx(2 * found.precision * found.recall / (found.precision + found.recall))


def test_gold_finds_what_theory_says_of_a_steady_rate() -> None:
    pages = on_a_site(poisson(np.random.default_rng(2), 60))
    assert outcome(pages, POLICIES["gold"]).recall == pytest.approx(1 - np.exp(-1), abs=0.03)


@pytest.mark.parametrize("policy", ["week", "StormCrawler", "jumping rate"])
def test_policies_can_be_held_to_a_number_of_visits(policy: str) -> None:
    pages = on_a_site(bursty(np.random.default_rng(3), 8))
    assert total(at_downloads(pages, POLICIES[policy], 300)).downloads == pytest.approx(300, rel=0.15)


def test_real_traces_begin_with_the_first_record(tmp_path: Path) -> None:
    path = tmp_path / "changes.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("Terms.md\t86400 172800 345600\nOnce.md\t86400\n")
    (page,) = services(path, None)
    assert page.changes.tolist() == [1.0, 3.0]


def test_many_pages_at_a_time_are_visited_as_each_alone() -> None:
    pages = on_a_site(bursty(np.random.default_rng(7), 5))
    for _page, visits in zip(pages, visits_by_jumping_rate(pages, 200.0), strict=True):
        policy = JumpingRate()
        now = 0.0
        for visit in visits:
            assert visit.days == pytest.approx(policy.days)
            now += visit.days
            policy.observe(visit)
        assert now + policy.days > 200


def test_who_knows_how_rates_are_distributed_finds_more_than_who_does_not() -> None:
    pages = on_a_site(poisson(np.random.default_rng(8), 60))
    assert outcome(pages, ideal_learner()).f1 > outcome(pages, POLICIES["jumping rate"]).f1


def test_new_pages_find_more_where_their_siblings_are_told() -> None:
    random = np.random.default_rng(4)
    rates = [1 / 3, 1 / 90] * 20
    pages = [
        TracedPage(np.sort(random.uniform(0, SPAN, random.poisson(SPAN * rate))), KnownPage("a.test", f"{rate}"))
        for rate in rates
    ]
    known = [page.known for page in pages]
    others = watched(pages, SPAN)
    priors = learned_priors([*known, *others], DEFAULT_BOUNDS)[: len(pages)]
    made = sum(int((page.changes <= 60).sum()) for page in pages)
    told, untold = (at_equal_downloads(pages, each, 60.0, made) for each in (priors, [None] * len(pages)))
    assert told.f1 > untold.f1 + 0.03
    assert told.downloads == pytest.approx(untold.downloads, rel=0.1)


def test_each_division_reaches_the_most_of_its_objective() -> None:
    pages = poisson(np.random.default_rng(6), 60)
    rates = np.array([max(len(changes), 0.5) / SPAN for changes in pages])
    rows = {(row["division"], row["known"]): row for row in budget_rows(pages, rates, SPAN, float(rates.sum()))}
    by = {name: rows[f"by {name}", "true rates"] for name in ("changes", "freshness")}
    assert all(float(str(by["freshness"]["freshness"])) >= float(str(row["freshness"])) for row in rows.values())
    found = {key: float(str(row["changes_found_a_day"])) for key, row in rows.items()}
    assert found["by changes", "true rates"] > found["uniform", "-"] * 1.2
    assert found["by changes", "true rates"] == pytest.approx(found["proportional", "true rates"], rel=0.03)
