"""Sites divided over units: few move, both units take turns at the same moments, and no claim stops a unit."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.schedule.division import (
    NEVER,
    AlternatingAdaptive,
    AnchoredInterval,
    Watched,
    divided,
    rhythm_of_part,
    turn_of,
    units_of,
)
from aahcrawler.schedule.rhythms import WHOLE, Adaptive, Due, Past, PastVisit, Rhythm, Rhythmic, Turn

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SITES = [f"site{number}.example" for number in range(2000)]
TURNS = [Turn(0, 2), Turn(1, 2)]


def rhythmic(**fields: object) -> Rhythmic:
    return Rhythmic.model_validate(fields)


def made(rhythm: Rhythm, days: int, added_at: datetime = START) -> list[datetime]:
    """Return the visits of so many days, each at its moment."""
    past, found = Past(added_at), list[datetime]()
    now = added_at
    while now < added_at + days * DAY:
        due = rhythm.due(past, now)
        now = max(now, due.at)
        found.append(due.at)
        past = Past(added_at, due.at, [*past.visits, PastVisit(now, None)])
        now += timedelta(seconds=1)
    return [each for each in found if each < added_at + days * DAY]


def test_each_site_has_two_units_in_proportion_to_weights_and_few_move() -> None:
    weights = {"north": 2.0, "south": 1.0, "west": 1.0}
    before = {site: units_of(site, weights) for site in SITES}
    assert all(len(set(pair)) == 2 for pair in before.values())
    firsts = Counter(pair[0] for pair in before.values())
    assert firsts["north"] / len(SITES) == pytest.approx(0.5, abs=0.05)
    after = {site: units_of(site, {**weights, "east": 1.0}) for site in SITES}
    moved = [site for site in SITES if set(after[site]) != set(before[site])]
    assert all("east" in after[site] for site in moved)
    assert len(set(before[moved[0]]) & set(after[moved[0]])) == 1
    without = {site: units_of(site, {"north": 2.0, "south": 1.0}) for site in SITES}
    assert all(set(without[site]) == set(pair) for site, pair in before.items() if "west" not in pair)
    assert units_of("alone.example", {"north": 1.0}) == ("north",)


@pytest.mark.parametrize(
    "watched",
    [
        rhythmic(every="6 h"),
        rhythmic(every="1 day"),
        rhythmic(at=("02:00",), zone="Europe/Prague"),
        rhythmic(at=("02:00", "02:30", "14:00"), on=("mon", "tue", "sat"), zone="Europe/Prague"),
    ],
)
def test_two_units_in_turn_visit_as_often_as_one_and_never_at_the_same_moment(watched: Rhythmic) -> None:
    whole = made(rhythm_of_part(watched.rhythm, "a", WHOLE), 60)
    parts = [made(rhythm_of_part(watched.rhythm, "a", turn), 60) for turn in TURNS]
    # The first visit of a fixed interval is made at once, beside the moments that all units have.
    assert {*parts[0], *parts[1]} - {START} == set(whole) - {START}
    assert not set(parts[0]) & set(parts[1])
    assert abs(len(parts[0]) - len(parts[1])) <= 2
    in_order = sorted((at, unit) for unit, part in enumerate(parts) for at in part if at != START)
    assert all(before[1] != after[1] for before, after in pairwise(in_order)), "they take turns"


@given(st.integers(1, 2000), st.integers(0, 1), st.integers(1, 10_000), st.integers(0, 10_000))
def test_moments_that_passed_are_one_visit_that_counts_them(minutes: int, number: int, last: int, passed: int) -> None:
    every = timedelta(minutes=minutes)
    rhythm = AnchoredInterval(every, every / 3, Turn(number, 2))
    newest = rhythm.due(Past(START, START + timedelta(minutes=last)), START + timedelta(minutes=last))
    now = newest.at + timedelta(minutes=passed)
    due = rhythm.due(Past(START, START + timedelta(minutes=last)), now)
    assert due.at <= now < due.at + 2 * every
    assert due.moments == (due.at - newest.at) / (2 * every) + 1


def test_adaptive_rhythms_meet_between_and_no_claim_keeps_a_unit_from_visiting() -> None:
    adaptive = Adaptive(least=DAY, greatest=DAY, first=DAY)
    own = Past(START, START, [PastVisit(START, None)])
    alone = AlternatingAdaptive(adaptive, TURNS[1])
    assert alone.due(Past(START), START) == Due(START + DAY)
    assert alone.due(own, START) == Due(START + 2 * DAY)
    late = AlternatingAdaptive(adaptive, TURNS[1], START + 30 * HOUR)
    assert late.due(own, START + 31 * HOUR) == Due(START + 54 * HOUR)
    for hours in range(1, 200):
        lying = AlternatingAdaptive(adaptive, TURNS[1], START + hours * HOUR)
        assert lying.due(own, START + hours * HOUR).at <= START + 3 * DAY
    future = AlternatingAdaptive(adaptive, TURNS[1], START + 500 * DAY)
    assert future.due(own, START + HOUR) == Due(START + 2 * DAY)
    assert rhythm_of_part(adaptive, "a", WHOLE) is adaptive


def test_what_other_units_visit_is_never_due() -> None:
    elsewhere = rhythm_of_part(rhythmic(every="1 h").rhythm, "a", None)
    assert elsewhere.due(Past(START), START + 1000 * DAY) == Due(NEVER)
    assert turn_of(rhythm_of_part(rhythmic(every="1 h").rhythm, "a", TURNS[1])) == TURNS[1]


def test_a_proposal_counts_what_each_unit_has_to_do_and_lets_long_crawls_stand_by() -> None:
    weights, parallel = {"north": 2.0, "south": 2.0}, {"north": 2}
    crawls = [
        Watched("short", "a.example", frozenset({"north"}), HOUR, 600.0, 24.0),
        Watched("long", "b.example", frozenset(), HOUR, 7200.0, 24.0),
        Watched("unknown", "", frozenset(), HOUR, None, 24.0),
    ]
    found = divided(crawls, weights, parallel)
    assert found.stand_by == ["long"]
    short = found.placed[0]
    assert set(short.units) == {"north", "south"}
    assert short.moves_to == ["south"]
    loads = {each.unit: each for each in found.loads}
    long_at = found.placed[1].units[0]
    assert loads[long_at].seconds == pytest.approx(12 * 600 + 24 * 7200)
    assert sum(each.seconds for each in found.loads) == pytest.approx(24 * 600 + 24 * 7200)
    assert loads["north"].busy == pytest.approx(loads["north"].seconds / (2 * 86_400))
    assert loads["south"].busy is None
