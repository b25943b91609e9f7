"""Strategies compared over worlds: shares of gaps, signs, and what is chosen without the world that is judged."""

import pytest

from benchmarks.priorities import Measured, gap_table, held_out, sign_test
from offline.simulation.strategies import FIRST, ORACLE


def world(name: str, **harvests: float) -> Measured:
    """Return a world of two samples; harvests are the same at R and at R/3."""
    all_of = {FIRST: 0.2, ORACLE: 0.8, **harvests}
    return Measured(name, {each: {"a#0": (value, value), "a#1": (value, value)} for each, value in all_of.items()})


WORLDS = [world("w", old=0.5, new=0.8), world("x", old=0.5, new=0.2), world("y", old=0.5, new=0.35)]


def test_a_row_has_the_gap_of_each_world_their_mean_and_lowest() -> None:
    _, new = gap_table(WORLDS, ["old", "new"], "old")
    assert (new["w R"], new["x R"], new["y R/3"]) == (1.0, 0.0, 0.25)
    assert new["mean R"] == pytest.approx(5 / 12)
    assert new["lowest R"] == 0
    assert new["better/worse R"] == "2/4"


def test_signs_against_oneself_are_even() -> None:
    old, _ = gap_table(WORLDS, ["old", "new"], "old")
    assert (old["better/worse R"], old["p R"]) == ("0/0", 1.0)


def test_the_choice_for_a_world_does_not_look_at_it() -> None:
    found = {row["held out"]: row for row in held_out(WORLDS, ["old", "new"])}
    assert found["w"]["chosen on the others"] == "old"
    assert found["x"]["chosen on the others"] == "new"
    assert found["x"]["R"] == 0


def test_the_sign_test_is_two_sided() -> None:
    assert sign_test(18, 0) == sign_test(0, 18) == pytest.approx(2 / 2**18)
    assert sign_test(15, 2) == pytest.approx(0.00235, abs=1e-4)
    assert sign_test(0, 0) == 1.0
