"""How long a running crawl still takes: by what waits, by what former crawls visited, and by limits."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aahcrawler.frontier.protocol import QueueCounts
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.time_left import MAX_SECONDS, CrawlCourse, TimeLeft, duration, until_limit
from aahcrawler.revisits.visit_record import VisitRecord, milliseconds
from online_analysis.icd import Limits

NO_LIMITS = Limits(time=timedelta(), bytes=0)
START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def used(seconds: float, pages: float = 0, received: float = 0) -> Mapping[str, float]:
    return {"seconds": seconds, "pages": pages, "bytes": received}


def queue(queued: int, done: int, leased: int = 0) -> QueueCounts:
    return QueueCounts(queued, leased, done, 0)


@pytest.mark.parametrize(
    ("limits", "rates", "left"),
    [
        ({}, {"pages": 10.0}, None),
        ({"time": timedelta(minutes=10)}, {}, 500.0),
        ({"time": timedelta(seconds=50)}, {"pages": 1.0}, 0.0),
        ({"pages": 1234}, {}, 0.0),
        ({"pages": 1000}, {"pages": 1.0}, 0.0),
        ({"pages": 2234, "time": timedelta(minutes=10)}, {"pages": 10.0}, 100.0),
        ({"pages": 2234}, {}, None),
        ({"bytes": 2_000_000}, {"bytes": 10_000.0}, 100.0),
    ],
)
def test_the_first_limit_counts(limits: Mapping[str, int], rates: Mapping[str, float], left: float | None) -> None:
    bounds = NO_LIMITS.model_copy(update=limits)
    assert until_limit(bounds, used(100.0, 1234, 1_000_000), rates) == left


def test_nothing_is_said_before_the_first_look_and_when_nothing_waits() -> None:
    course = CrawlCourse()
    assert course.left(10.0) == TimeLeft()
    course.look(NO_LIMITS, used(10.0, 3), {"a": queue(0, 3)})
    assert str(course.left(10.0)) == "-"


def test_what_waits_takes_as_long_as_the_slowest_site_at_its_pace() -> None:
    course = CrawlCourse()
    course.look(NO_LIMITS, used(0.0), {"a": queue(500, 0), "b": queue(20, 0)})
    # Nobody knows the sites: two seconds for an answer and one between two.
    assert course.left(0.0).waiting == pytest.approx(499 * 3 + 2)
    course.look(NO_LIMITS, used(10.0, 3), {"a": queue(499, 1), "b": queue(18, 2)})
    assert course.left(10.0).waiting == pytest.approx(498 * 3 + 2)  # What comes before the first page is no pace.
    course.look(NO_LIMITS, used(20.0, 13), {"a": queue(490, 11), "b": queue(18, 2)})
    found = course.left(20.0)
    assert found.waiting == pytest.approx(489 * 1.0 + 1.0, abs=1.0)
    assert course.left(50.0).waiting == pytest.approx((found.waiting or 0.0) - 30.0)
    assert course.left(1e6) == TimeLeft()  # It was wrong, and nothing else is known.


def test_a_site_that_is_silent_is_slow_and_one_that_was_idle_is_not() -> None:
    course = CrawlCourse()
    course.look(NO_LIMITS, used(0.0), {"b": queue(0, 5)})
    course.look(NO_LIMITS, used(600.0, 5), {"b": queue(0, 5)})
    course.look(NO_LIMITS, used(601.0, 5), {"b": queue(11, 5)})
    assert course.left(601.0).waiting == pytest.approx(10 * 3.0 + 2.0)
    slow = CrawlCourse()
    slow.look(NO_LIMITS, used(0.0), {"a": queue(10, 1)})
    slow.look(NO_LIMITS, used(60.0), {"a": queue(10, 1)})
    assert (slow.left(60.0).waiting or 0.0) > 500


def test_many_sites_take_as_long_as_the_crawl_needs_for_as_many_pages() -> None:
    course = CrawlCourse()
    course.look(NO_LIMITS, used(0.0), {f"{n}": queue(2, 0) for n in range(1000)})
    course.look(NO_LIMITS, used(10.0, 100), {f"{n}": queue(2, 0) for n in range(1000)})
    assert course.left(10.0).waiting == pytest.approx(2000 / 10)


def test_no_more_pages_of_a_site_are_counted_than_its_limit_allows() -> None:
    course = CrawlCourse()
    course.look(NO_LIMITS.model_copy(update={"pages_per_domain": 12}), used(0.0), {"a": queue(5000, 2)})
    assert course.left(0.0).waiting == pytest.approx(9 * 3.0 + 2.0)


def log_of(folder: Path, crawls: int = 2, pages: int = 101, pace: float = 4.0) -> None:
    for crawl in range(1, crawls + 1):
        begun = START + timedelta(days=crawl)
        log = ChangeLog(folder / "changes", "t", crawl, partial(datetime.fromisoformat, begun.isoformat()))
        for number in range(pages):
            at = milliseconds(begun + timedelta(seconds=pace * number))
            log.visited(
                VisitRecord(
                    url=f"https://a.test/{number}",
                    at=at,
                    seconds=0.5,
                    status=200,
                    payload="sha1:A",
                    template="a.test x",
                )
            )
        log.close()


def test_a_recrawl_is_told_before_its_first_page_and_kept_up(tmp_path: Path) -> None:
    log_of(tmp_path)
    course = CrawlCourse()
    course.recall(tmp_path, 3, (2, 407.5))
    course.look(NO_LIMITS, used(0.0), {"a.test": queue(1, 0)})
    found = course.left(0.0)
    # A hundred gaps and the last answer, and what the last crawl took around that.
    assert found.known == pytest.approx(400.5 + 7.0, abs=0.5)
    assert found.seconds == found.known
    assert found.source == "as former crawls tell"
    # Half of it is done, in half the time.
    course.look(NO_LIMITS, used(2.0, 1), {"a.test": queue(3, 1, 1)})
    course.look(NO_LIMITS, used(100.0, 50), {"a.test": queue(3, 50, 1)})
    half = course.left(100.0)
    assert half.known == pytest.approx(50 * 2.0 + 0.5, abs=3.0)
    # New pages that wait beyond the known ones count as well.
    course.look(NO_LIMITS, used(200.0, 101), {"a.test": queue(300, 101)})
    assert course.left(200.0).known == pytest.approx(course.left(200.0).waiting)


def test_pages_that_are_left_alone_take_no_time(tmp_path: Path) -> None:
    log_of(tmp_path)
    resting = frozenset(f"https://a.test/{number}" for number in range(91))
    course = CrawlCourse()
    course.recall(tmp_path, 3, (2, 400.5), resting)
    course.look(NO_LIMITS, used(0.0), {})
    assert course.left(0.0).known == pytest.approx(9 * 4.0 + 0.5, abs=0.5)


def test_a_first_crawl_and_a_damaged_log_tell_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    course = CrawlCourse()
    course.recall(tmp_path, 1, (0, 0.0))
    assert not caplog.records
    log_of(tmp_path)
    next(iter(sorted((tmp_path / "changes").iterdir()))).write_bytes(b"no gzip at all")
    course.recall(tmp_path, 3, (2, 400.0))
    assert "how long the crawl takes is not known" in caplog.text
    course.look(NO_LIMITS, used(0.0), {"a.test": queue(1, 0)})
    assert course.left(0.0).known is None


def test_a_time_beyond_all_measure_is_told_as_three_hundred_years() -> None:
    assert duration(1e300) == duration(MAX_SECONDS)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 50), st.integers(0, 10**6), st.floats(0, 1e6)), max_size=5)
)
def test_an_estimate_is_never_negative_whatever_the_counts(looks: list[tuple[int, int, int, float]]) -> None:
    course = CrawlCourse()
    for queued, leased, done, seconds in looks:
        course.look(NO_LIMITS, used(seconds, done), {"a": queue(queued, done, leased)})
        assert all(each is None or each >= 0 for _, each in course.left(seconds))
