"""Title and date of the one text of a page of a known application, where the page contradicts what an action found."""

from datetime import UTC, datetime

from aahcrawler.helper.application.application_reading import SOURCE, corrected
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from tests.page.building import page_of

TEXT = "<p>" + "The harbour froze in the second week of January, and everybody walked across it. " * 4 + "</p>"
BODY = f"<h1>The ice broke early</h1><p>4 March 2021</p>{TEXT}<h2>Who sold the lighthouse?</h2><p>9 May 2023</p>"


def _page(head: str = "") -> Page:
    title = "<title>The ice broke early - Harbour News</title>"
    return page_of(f"<html><head>{title}{head}</head><body>{BODY}</body></html>", url="http://a.test/2021/03/04/ice")


def _object(title: str, day: datetime, part_of: str | None = None, kind: str = "post") -> Extracted:
    return Extracted(
        WebObject("http://a.test/o", kind, "http://a.test/", {"title": (title,), "date": (day,)}, part_of), ()
    )


RIGHT = _object("The ice broke early", datetime(2021, 3, 4, 10, tzinfo=UTC))
WRONG = _object("Who sold the lighthouse?", datetime(2023, 5, 9, tzinfo=UTC))


def test_what_the_page_does_not_contradict_stays() -> None:
    assert corrected(_page(), (RIGHT,)) == (RIGHT,)


def test_title_and_date_of_something_else_are_replaced_and_said_to_be() -> None:
    [found] = corrected(_page(), (WRONG,))
    assert found.object.first("title") == "The ice broke early"
    assert found.object.first("date") == datetime(2021, 3, 4, tzinfo=UTC)
    assert found.object.inferred == {"title": SOURCE, "date": SOURCE}


def test_a_declared_date_is_believed_before_the_address() -> None:
    declared = '<meta property="article:published_time" content="2020-05-09T12:00:00Z">'
    [found] = corrected(_page(declared), (_object("The ice broke early", datetime(2020, 5, 9, tzinfo=UTC)),))
    assert found.object.inferred == {}


def test_a_date_that_stands_beside_the_heading_stays_whatever_is_declared() -> None:
    declared = '<meta property="article:published_time" content="2020-12-24T12:00:00Z">'
    assert corrected(_page(declared), (RIGHT,)) == (RIGHT,)


def test_one_of_many_and_comments_stay() -> None:
    comment = _object("Who sold the lighthouse?", datetime(2023, 5, 9, tzinfo=UTC), "http://a.test/o", "comment")
    assert corrected(_page(), (WRONG, WRONG, comment)) == (WRONG, WRONG, comment)
    assert corrected(_page(), (comment,)) == (comment,)
