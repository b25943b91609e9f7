"""Frames of a page, and where it sends its readers on to."""

from datetime import UTC, datetime

import pytest

from aahcrawler.page import Headers, Page
from aahcrawler.page.shown_within import MOST_FRAMES, Refresh, frames, refresh


def page(markup: str) -> Page:
    head = Headers((("Content-Type", "text/html"),))
    return Page("http://a.test/x/", 200, head, markup.encode(), datetime(2026, 1, 1, tzinfo=UTC))


def test_documents_within_a_page_are_found_once_in_their_order() -> None:
    found = frames(
        page(
            "<iframe src=one.html></iframe><iframe src=/two></iframe><iframe src=one.html></iframe>"
            "<object data=three.pdf type=application/pdf></object>"
            "<embed src=four.swf type=application/x-shockwave-flash>"
            "<iframe src=about:blank></iframe><iframe srcdoc='<p>x</p>' src=five></iframe>"
            "<iframe data-src=six></iframe><iframe src='javascript:void(0)'></iframe><iframe src=''></iframe>"
        )
    )
    expected = ("x/one.html", "two", "x/three.pdf", "x/six")
    assert found == tuple(f"http://a.test/{path}" for path in expected)


def test_framesets_are_found_and_their_base_holds() -> None:
    markup = (
        "<head><base href=/sub/></head><frameset><frame src=a.html><frameset><frame src=b.html></frameset></frameset>"
    )
    assert frames(page(markup)) == ("http://a.test/sub/a.html", "http://a.test/sub/b.html")


def test_a_page_of_frames_alone_is_bounded() -> None:
    assert len(frames(page("".join(f"<iframe src={n}></iframe>" for n in range(5000))))) == MOST_FRAMES


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("0; url=/next", Refresh("http://a.test/next", 0)),
        ("5;URL='next.html'", Refresh("http://a.test/x/next.html", 5)),
        ('3, "http://b.test/"', Refresh("http://b.test/", 3)),
        ("0.5 ; Url = next", Refresh("http://a.test/x/next", 0)),
        (";url=next", Refresh("http://a.test/x/next", 0)),
        ("600", None),
        ("60; url=http://a.test/x/", None),
        ("0; url=javascript:alert(1)", None),
        ("soon; url=/next", None),
        ("", None),
    ],
)
def test_a_refresh_leads_on_unless_it_is_to_the_page_itself(content: str, found: Refresh | None) -> None:
    quoted = content.replace('"', "&quot;")
    assert refresh(page(f'<meta http-equiv="Refresh" content="{quoted}"><p>x</p>')) == found


def test_hostile_contents_take_no_time() -> None:
    assert refresh(page(f'<meta http-equiv=refresh content="{"0" * 500_000}{" ;" * 500_000}">')) is None
