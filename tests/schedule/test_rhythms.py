"""When crawls are due."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.schedule.rhythms import Adaptive, Due, FixedInterval, Past, PastVisit, Rhythmic

START = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday
DAY = timedelta(days=1)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def times(*at: str, zone: str = "UTC", on: tuple[str, ...] = ()) -> Rhythmic:
    return Rhythmic.model_validate({"at": at, "zone": zone, "on": on})


def test_a_fixed_interval_is_due_at_once_and_then_whenever_visits_end() -> None:
    rhythm = FixedInterval(DAY)
    assert rhythm.due(Past(START), START) == Due(START)
    assert rhythm.due(Past(START, START), START + timedelta(hours=5)) == Due(START + DAY)
    assert rhythm.due(Past(START, START), START + DAY) == Due(START + DAY)


def test_moments_that_were_missed_are_made_up_for_by_one_visit() -> None:
    assert FixedInterval(DAY).due(Past(START, START), START + 3.5 * DAY) == Due(START + 3 * DAY, 3)
    assert times("12:00").rhythm.due(Past(START, START), START + 3.5 * DAY) == Due(START + 3 * DAY, 3)


@given(st.lists(st.integers(0, 5 * 86_400), min_size=1), st.integers(60, 2 * 86_400))
def test_visits_of_a_fixed_interval_stand_for_each_moment_once(waits: list[int], every: int) -> None:
    rhythm, now, last, stood_for = FixedInterval(timedelta(seconds=every)), START, None, 0
    for wait in waits:
        now += timedelta(seconds=wait)
        due = rhythm.due(Past(START, last), now)
        if due.at <= now:
            last, stood_for = due.at, stood_for + due.moments
    newest = rhythm.due(Past(START), now)
    assert stood_for == newest.moments or (last is not None and last < newest.at <= now)
    assert last == START + (stood_for - 1) * timedelta(seconds=every)


@pytest.mark.parametrize(
    ("rhythm", "after", "due"),
    [
        (times("06:00", "18:00"), "2026-03-02 12:00", "2026-03-02 18:00"),
        (times("06:00", "18:00"), "2026-03-02 18:00", "2026-03-03 06:00"),
        (times("06:00", on=("wed", "Saturday")), "2026-03-02 12:00", "2026-03-04 06:00"),
        (times("06:00", zone="Europe/Prague"), "2026-03-02 12:00", "2026-03-03 05:00"),
        (times("06:00", zone="Europe/Prague"), "2026-03-28 12:00", "2026-03-29 04:00"),
        # The clock is put forward at 2 and back at 3: no 02:30, and two of them.
        (times("02:30", zone="Europe/Prague"), "2026-03-28 12:00", "2026-03-29 01:30"),
        (times("02:30", zone="Europe/Prague"), "2026-03-29 01:30", "2026-03-30 00:30"),
        (times("02:30", zone="Europe/Prague"), "2026-10-24 12:00", "2026-10-25 00:30"),
        (times("02:30", zone="Europe/Prague"), "2026-10-25 00:30", "2026-10-26 01:30"),
        # Where the day begins on the day before by the clock of UTC.
        (times("00:15", zone="Pacific/Auckland"), "2026-03-02 12:00", "2026-03-03 11:15"),
    ],
)
def test_times_of_the_day_are_those_of_their_zone(rhythm: Rhythmic, after: str, due: str) -> None:
    assert rhythm.rhythm.due(Past(moment(after)), moment(after)) == Due(moment(due))


@given(st.integers(0, 700 * 24 * 60), st.sampled_from(["Europe/Prague", "America/New_York"]))
def test_each_day_has_each_of_its_times_once(minutes: int, zone: str) -> None:
    rhythm, now = times("01:30", "02:30", zone=zone).rhythm, START + timedelta(minutes=minutes)
    end = now + 10 * DAY
    due = rhythm.due(Past(now), end)
    days = (end.astimezone(ZoneInfo(zone)).date() - now.astimezone(ZoneInfo(zone)).date()).days
    assert 2 * days - 2 <= due.moments <= 2 * days + 2


def test_an_adaptive_rhythm_follows_what_visits_find() -> None:
    rhythm = Adaptive.model_validate(
        {"least": "1 h", "greatest": "60 days", "first": "1 day", "policy": "stormcrawler"}
    )
    assert rhythm.due(Past(START), START) == Due(START)
    first = PastVisit(START, None)
    assert rhythm.due(Past(START, START, [first]), START).at == START + DAY
    changed = [first, PastVisit(START + DAY, changed=True)]
    assert rhythm.due(Past(START, START, changed), START).at == START + 1.5 * DAY
    unchanged = [first, PastVisit(START + DAY, changed=False)]
    assert rhythm.due(Past(START, START, unchanged), START).at == START + 2.5 * DAY
    # A visit that failed tells nothing: the next one is due after the same time.
    failed = [*unchanged, PastVisit(START + 3 * DAY, None)]
    assert rhythm.due(Past(START, START, failed), START).at == START + 4.5 * DAY


def test_an_adaptive_rhythm_keeps_its_bounds() -> None:
    rhythm = Adaptive.model_validate({"least": "12 h", "greatest": "2 days", "first": "1 day"})
    never = [PastVisit(START + days * DAY, changed=False) for days in range(20)]
    always = [PastVisit(START + days * DAY / 2, changed=True) for days in range(20)]
    assert rhythm.interval(Past(START, None, never)) == 2 * DAY
    assert rhythm.interval(Past(START, None, always)) == DAY / 2


def test_times_of_day_that_are_given_later_were_not_due_before() -> None:
    rhythm, changed_at = times("06:00", "09:00", "12:00").rhythm, START + timedelta(hours=1)
    past = Past(START - DAY, START - timedelta(hours=6), (), changed_at)
    assert rhythm.due(past, changed_at) == Due(START + timedelta(hours=18))
