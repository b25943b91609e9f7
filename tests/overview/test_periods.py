"""Periods cover what they count, and lists find by them what was counted."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.overview.periods import periods, published_in, span_of

MONTHS = st.dictionaries(
    st.one_of(
        st.tuples(st.integers(0, 9999), st.integers(1, 12)).map(lambda each: f"{each[0]:04}-{each[1]:02}"),
        st.integers(0, 9999).map("{:04}".format),
    ),
    st.integers(1, 1000),
    max_size=30,
)


@given(MONTHS)
def test_nothing_is_lost_and_pictures_stay_small(months: dict[str, int]) -> None:
    found = periods(months)
    assert sum(found.counts.values()) + found.earlier + found.later == sum(months.values())
    assert len(found.counts) <= 101
    assert list(found.counts) == sorted(found.counts)
    for period in found.counts:
        span_of(period)


def test_the_few_that_are_far_from_all_others_do_not_flatten_the_picture() -> None:
    months = {"0001-01": 1, **{f"2012-{month:02}": 100 for month in range(1, 13)}, "9999": 2}
    found = periods(months)
    assert (found.earlier, found.later) == (1, 2)
    assert list(found.counts) == [f"2012-{month:02}" for month in range(1, 13)]


@pytest.mark.parametrize(
    ("period", "begin", "end"),
    [
        ("2012-12", (2012, 12), (2013, 1)),
        ("2012", (2012, 1), (2013, 1)),
        ("201", (2010, 1), (2020, 1)),
        ("19", (1900, 1), (2000, 1)),
    ],
)
def test_a_period_ends_where_the_next_begins(period: str, begin: tuple[int, int], end: tuple[int, int]) -> None:
    moments = tuple(datetime(*each, 1, tzinfo=UTC).timestamp() * 1e6 for each in (begin, end))
    assert span_of(period) == moments


@pytest.mark.parametrize("wrong", ["", "2", "20122", "2012-13", "2012-3", "2012-03-04", "²012"])
def test_what_is_no_period_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="no period"):
        span_of(wrong)


def test_dates_are_found_by_the_period_that_counts_them() -> None:
    dates = ["2012", "2012-03", "2012-03-04T05:06:07+01:00", "2012-13-01", "2012 or so", "2013-01-01", "1999", None]
    with closing(sqlite3.connect("")) as base:
        base.execute("CREATE TABLE object (date TEXT)")
        base.executemany("INSERT INTO object VALUES (?)", [(date,) for date in dates])

        def found(period: str) -> list[str]:
            condition, values = published_in(period)
            return [date for (date,) in base.execute(f"SELECT date FROM object WHERE {condition}", values)]  # noqa: S608

        assert found("2012") == dates[:3]
        assert found("2012-03") == dates[1:3]
        assert found("201") == [*dates[:3], "2013-01-01"]
        assert found("19") == ["1999"]
