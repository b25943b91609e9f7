"""Frames of a page."""

from datetime import UTC, datetime

from aahcrawler.page import Headers, Page
from aahcrawler.page.requisites import MAX_FRAMES, frames


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
    assert len(frames(page("".join(f"<iframe src={n}></iframe>" for n in range(5000))))) == MAX_FRAMES


def test_frames_of_a_document_within_an_attribute_are_those_of_the_page() -> None:
    inner = "<iframe src=/inner></iframe><p>x</p>"
    assert frames(page(f'<iframe src=/not srcdoc="{inner}"></iframe>')) == ("http://a.test/inner",)
