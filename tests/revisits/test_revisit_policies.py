"""Revisit policies: the paper's factors, bounds, and what an estimate knows after many visits."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.revisits.revisit_policies import (
    Bounds,
    ChangeStates,
    Constant,
    DynamicSnapshots,
    FixedSnapshots,
    JumpingRate,
    LikelyRate,
    Nutch,
    PageVisit,
    RevisitPolicy,
    StormCrawler,
    Window,
)

POLICIES: dict[str, Callable[[Bounds], RevisitPolicy]] = {
    "constant": lambda bounds: Constant(3.0, bounds),
    "fix": FixedSnapshots,
    "dyn": DynamicSnapshots,
    "window": Window,
    "state-1": lambda bounds: ChangeStates(1, bounds),
    "state-2": lambda bounds: ChangeStates(2, bounds),
    "Nutch": Nutch,
    "StormCrawler": StormCrawler,
    "likely rate": LikelyRate,
    "jumping rate": JumpingRate,
}


def waits(policy: RevisitPolicy, found: str) -> list[float]:
    """Return the days after each visit, which came when it was due and found a change (1) or none (0)."""
    days = []
    for each in found:
        policy.observe(PageVisit(policy.days, each == "1"))
        days.append(round(policy.days, 4))
    return days


@pytest.mark.parametrize("name", list(POLICIES))
def test_visits_taken_at_once_say_the_same(name: str) -> None:
    one, all_at_once = (POLICIES[name](Bounds()) for _ in range(2))
    visits = [PageVisit(days, changed) for days, changed in ((7.0, True), (3.0, False), (5.0, True), (2.0, True))]
    for visit in visits:
        one.observe(visit)
    all_at_once.observe_all(visits)
    assert all_at_once.days == one.days


def starting(days: float) -> Bounds:
    return Bounds(first=days)


def test_fix_looks_at_two_visits_at_one_interval() -> None:
    assert waits(FixedSnapshots(starting(8)), "1111") == [8, 4, 4, 2]
    assert waits(FixedSnapshots(starting(8)), "0000") == [8, 12, 12, 18]
    assert waits(FixedSnapshots(starting(8)), "0101") == [8, 8, 8, 8]


def test_the_factor_depends_on_the_month() -> None:
    assert waits(FixedSnapshots(starting(45)), "11") == [45, 30]
    assert waits(FixedSnapshots(starting(45)), "00") == [45, 90]


@pytest.mark.parametrize(("days", "visits"), [(61, 1), (31, 2), (8, 3), (2, 4)])
def test_dyn_looks_at_more_visits_the_closer_they_are(days: float, visits: int) -> None:
    after = waits(DynamicSnapshots(starting(days)), "1" * visits)
    assert after[:-1] == [days] * (visits - 1)
    assert after[-1] < days


def test_window_goes_by_the_share_of_changes() -> None:
    assert waits(Window(starting(90)), "1") == [30]
    assert waits(Window(starting(10)), "0") == [30]
    # Half of four visits: one of the last two found a change.
    assert waits(Window(starting(40)), "1101")[-1] == waits(Window(starting(40)), "110")[-1]


def test_states_are_counted_at_each_interval() -> None:
    # No visit before the first: nothing is known of what follows it. Then a change after a change: as long as a third.
    assert waits(ChangeStates(1, starting(90)), "11") == [90, 30]
    assert waits(ChangeStates(2, starting(90)), "111") == [90, 90, 30]
    assert waits(ChangeStates(1, starting(10)), "00") == [10, 30]


def test_other_crawlers_have_their_defaults() -> None:
    assert waits(StormCrawler(starting(8)), "100") == [4, 6, 9]
    assert waits(Nutch(starting(10)), "1") == [8]
    # 14 days, and three tenths of the ten since the last change less.
    assert waits(Nutch(starting(10)), "0") == [11]


@given(
    st.sampled_from(sorted(POLICIES)),
    st.lists(st.tuples(st.floats(1e-3, 2000), st.booleans()), max_size=40),
    st.floats(0.01, 30),
    st.floats(30, 1000),
)
def test_every_wait_is_within_the_bounds(
    name: str, visits: list[tuple[float, bool]], least: float, greatest: float
) -> None:
    policy = POLICIES[name](Bounds(least, greatest))
    for days, changed in visits:
        policy.observe(PageVisit(days, changed))
        assert least <= policy.days <= greatest


@pytest.mark.parametrize("policy", [LikelyRate(), JumpingRate()])
@pytest.mark.parametrize("mean", [4.0, 30.0])
def test_estimates_find_a_steady_rate(policy: RevisitPolicy, mean: float) -> None:
    policy = type(policy)()
    random = np.random.default_rng(3)
    for _ in range(300):
        policy.observe(PageVisit(policy.days, bool(random.random() > math.exp(-policy.days / mean))))
    assert mean / 1.6 < policy.days < mean * 1.6


def test_irregular_visits_are_taken_as_they_were() -> None:
    policy = LikelyRate()
    random = np.random.default_rng(5)
    for days in random.uniform(1, 60, 600):
        policy.observe(PageVisit(float(days), bool(random.random() > math.exp(-days / 12))))
    assert policy.days == pytest.approx(12, rel=0.15)


def test_a_burst_is_followed_and_left_again() -> None:
    policy = JumpingRate()
    for number in range(12):
        policy.observe(PageVisit(20, changed=number % 4 == 0))
    quiet = policy.days
    for _ in range(4):
        policy.observe(PageVisit(policy.days, changed=True))
    burst = policy.days
    assert burst < quiet / 3
    for _ in range(6):
        policy.observe(PageVisit(policy.days, changed=False))
    assert policy.days > 2 * burst


def test_a_higher_price_means_fewer_visits() -> None:
    cheap, dear = JumpingRate(price=0.1), JumpingRate(price=0.5)
    for policy in (cheap, dear):
        for number in range(30):
            policy.observe(PageVisit(10, number % 2 == 0))
    assert cheap.days < dear.days


def test_the_same_visits_give_the_same_wait() -> None:
    first, second = (waits(JumpingRate(), "100110001000") for _ in range(2))
    assert first == second
