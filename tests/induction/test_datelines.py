"""When an article was published: what is shown beside its heading, and what is declared."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from aahcrawler.induction.datelines import dateline, published
from aahcrawler.induction.prepared_page import PreparedPage
from tests.page.building import page_of

TITLE = "The ice broke early"
TEXT = "<p>" + "The harbour froze in the second week of January, and everybody walked across it. " * 4 + "</p>"
CERTAIN = '<meta property="article:published_time" content="{}">'
VAGUE = '<meta name="date" content="{}">'


def _published(head: str, below: str, above: str = "") -> datetime | None:
    page = page_of(f"<html><head>{head}</head><body>{above}<h1>{TITLE}</h1>{below}{TEXT}</body></html>")
    return published(page, page.once(PreparedPage.of), TITLE)


@pytest.mark.parametrize(
    ("head", "shown", "day"),
    [
        pytest.param("", "<p>4 March 2021</p>", "2021-03-04", id="shown alone"),
        pytest.param(CERTAIN.format("2021-03-04"), "<p>9 March 2021</p>", "2021-03-04", id="declared for certain"),
        pytest.param(VAGUE.format("2021-03-09"), "<p>4 March 2021</p>", "2021-03-04", id="shown before vague"),
        pytest.param(VAGUE.format("2021-03-09"), "", "2021-03-09", id="vague alone"),
        pytest.param(
            CERTAIN.format("2021-03-09") + '<meta name="parsely-pub-date" content="2021-03-04">',
            "<p>4 March 2021</p>",
            "2021-03-04",
            id="of two declared ones the one that is shown",
        ),
        pytest.param(
            "", "<p>Updated 9 March 2021</p><p>Published 4 March 2021</p>", "2021-03-04", id="that of a change is last"
        ),
        pytest.param("", "<p>4 March</p>", None, id="without a year"),
        pytest.param("", "<p>Friday, 20:21</p>", None, id="a clock is no year"),
        pytest.param("", f"{TEXT}{TEXT}<p>4 March 2021</p>", None, id="below the text"),
        pytest.param(CERTAIN.format("2021-11-01"), "<p>11/01/2021</p>", "2021-11-01", id="day and month exchanged"),
    ],
)
def test_the_day_of_publication(head: str, shown: str, day: str | None) -> None:
    found = _published(head, shown)
    assert (found.date().isoformat() if found is not None else None) == day


def test_a_date_may_stand_above_the_heading() -> None:
    found = _published("", "", above="<p>4 March 2021</p>")
    assert found == datetime(2021, 3, 4, tzinfo=UTC)


def test_a_moment_that_is_declared_in_utc_is_told_in_the_zone_by_which_it_is_shown() -> None:
    found = _published(CERTAIN.format("2021-03-05T02:41:00Z"), "<p>4/3/2021 22:41</p><p>14/3/2021</p>")
    assert found is not None
    assert found.isoformat() == "2021-03-04T22:41:00-04:00"


def test_a_moment_keeps_the_offset_that_the_page_names() -> None:
    found = _published(CERTAIN.format("2021-03-04T00:30:00+02:00"), "")
    assert found == datetime(2021, 3, 4, 0, 30, tzinfo=timezone(timedelta(hours=2)))
    assert found.date().isoformat() == "2021-03-04"


def test_headings_that_only_begin_like_the_title_have_no_dateline() -> None:
    page = page_of(
        f"<html><body><h2>{TITLE} and nobody at all had seen it coming</h2><p>4 March 2021</p></body></html>"
    )
    assert not dateline(page.once(PreparedPage.of), TITLE)
