"""Budgets are divided so that no other division brings more."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aahcrawler.revisits.revisit_policies import Floats
from aahcrawler.revisits.visit_budget import PRICES, Objective, demand, divided, shared, values

DAYS = np.array([1.0, 2.0, 5.0, 12.0, 40.0])
FINE = np.geomspace(1, 182.5, 200)


def unchanged(rates: Floats, days: Floats) -> Floats:
    return np.exp(-rates[:, None] * days)


@pytest.mark.parametrize("objective", list(Objective))
@settings(max_examples=30, deadline=None)
@given(
    rates=st.lists(st.floats(0.005, 5), min_size=1, max_size=5),
    budget=st.floats(0.05, 5),
)
def test_no_other_division_brings_more_than_one_step_of_a_page(
    objective: Objective, rates: list[float], budget: float
) -> None:
    worth = values(unchanged(np.array(rates), DAYS), DAYS, objective)
    found = divided(worth, DAYS, budget)
    often = 1 / DAYS
    reached = worth[np.arange(len(rates)), found.intervals].sum()
    least = len(rates) * often[-1]
    if budget < least:
        assert (found.intervals == len(DAYS) - 1).all()
        return
    assert often[found.intervals].sum() <= budget * (1 + 1e-9)
    best = max(
        sum(worth[page, place] for page, place in enumerate(places))
        for places in product(range(len(DAYS)), repeat=len(rates))
        if sum(often[place] for place in places) <= budget * (1 + 1e-9)
    )
    largest_step = np.abs(np.diff(worth, axis=1)).max()
    assert best - largest_step - 1e-9 <= reached <= best + 1e-9


def test_changes_are_divided_in_proportion_to_rates() -> None:
    rates = np.array([0.02, 0.05, 0.1])
    found = divided(values(unchanged(rates, FINE), FINE, Objective.CHANGES), FINE, rates.sum())
    assert FINE[found.intervals] * rates == pytest.approx(1, abs=0.06)


def test_what_changes_too_fast_is_given_up_for_freshness() -> None:
    # Cho and Garcia-Molina, Effective page refresh policies, table 2: five pages that change 1 to 5 times a day
    # and five downloads a day are best divided as 1.15, 1.36, 1.35, 1.14 and 0.
    days = np.geomspace(0.5, 1000, 4000)
    rates = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = divided(values(unchanged(rates, days), days, Objective.FRESHNESS), days, 5.0)
    assert 1 / days[found.intervals] == pytest.approx([1.15, 1.36, 1.35, 1.14, 0.0], abs=0.02)


def test_freshness_is_the_part_of_time_before_the_first_change() -> None:
    rates = np.array([0.1])
    expected = -np.expm1(-0.1 * DAYS) / (0.1 * DAYS)
    assert values(unchanged(rates, DAYS), DAYS, Objective.FRESHNESS)[0] == pytest.approx(expected)


def test_a_budget_for_all_is_no_limit() -> None:
    worth = values(unchanged(np.array([0.1, 0.2]), DAYS), DAYS, Objective.CHANGES)
    assert (divided(worth, DAYS, 2.0).intervals == 0).all()
    assert divided(worth, DAYS, 2.0).price == 0


def test_equal_pages_get_nearly_the_same() -> None:
    worth = values(unchanged(np.full(50, 0.1), DAYS), DAYS, Objective.CHANGES)
    found = divided(worth, DAYS, 15.0)
    assert (1 / DAYS)[found.intervals].sum() == pytest.approx(15, abs=0.3)
    assert (divided(worth, DAYS, 15.0).intervals == found.intervals).all()


def test_crawls_share_a_budget_as_if_their_pages_were_of_one() -> None:
    random = np.random.default_rng(1)
    rates = [np.exp(random.normal(mean, 1, 200)) for mean in (-4, -2)]
    worth = [values(unchanged(each, FINE), FINE, Objective.CHANGES) for each in rates]
    shares = shared({str(place): demand(each, FINE) for place, each in enumerate(worth)}, 20.0)
    together = divided(np.concatenate(worth), FINE, 20.0).intervals
    expected = [(1 / FINE)[part].sum() for part in (together[:200], together[200:])]
    assert list(shares.values()) == pytest.approx(expected, rel=0.1)
    assert sum(shares.values()) == pytest.approx(20.0)


def test_crawls_that_are_worth_less_than_the_budget_get_what_they_are_worth() -> None:
    curve = tuple(10.0 / (1 + place) for place in range(len(PRICES)))
    assert shared({"a": curve}, 1000.0) == {"a": 10.0}
    assert shared({}, 5.0) == {}
