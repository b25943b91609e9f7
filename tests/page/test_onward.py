"""Where an answer sends its readers on to."""

from datetime import UTC, datetime

import pytest

from aahcrawler.page import Headers, Page
from aahcrawler.page.onward import Refresh, location, refresh

URL = "http://a.test/x/"


def page(markup: str = "", status: int = 200, media_type: str = "text/html", **fields: str) -> Page:
    head = Headers((("Content-Type", media_type), *fields.items()))
    return Page(URL, status, head, markup.encode(), datetime(2026, 1, 1, tzinfo=UTC))


CONTENTS = [
    ("0; url=/next", Refresh("http://a.test/next", 0)),
    ("0 /next", Refresh("http://a.test/next", 0)),
    ("0\t/next", Refresh("http://a.test/next", 0)),
    ("0 ; /next", Refresh("http://a.test/next", 0)),
    ("0;/next", Refresh("http://a.test/next", 0)),
    ("5,/next", Refresh("http://a.test/next", 5)),
    (".5; /next", Refresh("http://a.test/next", 0)),
    ("1.5.7; /next", Refresh("http://a.test/next", 1)),
    ("5;URL='next.html'", Refresh("http://a.test/x/next.html", 5)),
    ("0;url='/next", Refresh("http://a.test/next", 0)),
    ("0;'/next' or so", Refresh("http://a.test/next", 0)),
    ('3, "http://b.test/"', Refresh("http://b.test/", 3)),
    ("0.5 ; Url = next", Refresh("http://a.test/x/next", 0)),
    ("0; urn", Refresh("http://a.test/x/urn", 0)),
    ("0; url", Refresh("http://a.test/x/url", 0)),
    ("0; URL  =  ?a=1", Refresh("http://a.test/x/?a=1", 0)),
    (";url=next", None),
    ("url=/next", None),
    ("-1; /next", None),
    ("0url=/next", None),
    ("0:/next", None),
    ("600", None),
    ("5;", None),
    ("60; url=http://a.test/x/", None),
    ("0; url=#here", None),
    ("0; url=javascript:alert(1)", None),
    ("0; url=mailto:me@a.test", None),
    ("soon; url=/next", None),
    ("", None),
]


@pytest.mark.parametrize(("content", "found"), CONTENTS)
def test_a_refresh_leads_on_unless_it_is_to_the_page_itself(content: str, found: Refresh | None) -> None:
    quoted = content.replace('"', "&quot;")
    assert refresh(page(f'<meta http-equiv="Refresh" content="{quoted}"><p>x</p>')) == found
    assert refresh(page("<p>x</p>", Refresh=content)) == found


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ("<noscript><meta http-equiv=refresh content='0;/next'></noscript>", "http://a.test/next"),
        ("<body><p>x<meta http-equiv=REFRESH content='0;/next'>", "http://a.test/next"),
        ("<base href=/b/><meta http-equiv=refresh content='0;next'>", "http://a.test/b/next"),
        ("<meta http-equiv=refresh><meta http-equiv=refresh content='0;/next'>", "http://a.test/next"),
        ("<meta http-equiv=refresh content='0;/one'><meta http-equiv=refresh content='0;/two'>", "http://a.test/one"),
        ("<meta http-equiv=refresh content=300><meta http-equiv=refresh content='0;/two'>", None),
        ("<meta name=refresh content='0;/next'>", None),
    ],
)
def test_the_first_element_that_says_when_counts(markup: str, found: str | None) -> None:
    onward = refresh(page(markup))
    assert (None if onward is None else onward.url) == found


def test_a_header_counts_before_elements_and_on_any_type() -> None:
    element = "<base href=/b/><meta http-equiv=refresh content='0;/other'>"
    assert refresh(page(element, Refresh="0;next")) == Refresh("http://a.test/x/next", 0)
    assert refresh(page(element, Refresh="soon")) == Refresh("http://a.test/other", 0)
    assert refresh(page("text", media_type="text/plain", Refresh="2;/next")) == Refresh("http://a.test/next", 2)


def test_the_query_of_a_refresh_is_in_the_encoding_of_its_document() -> None:
    written = "<meta charset=windows-1251><meta http-equiv=refresh content='0;/ё?ё'>".encode("windows-1251")
    told = Page(URL, 200, Headers((("Content-Type", "text/html"),)), written, datetime(2026, 1, 1, tzinfo=UTC))
    assert refresh(told) == Refresh("http://a.test/%D1%91?%B8", 0)


@pytest.mark.parametrize(
    ("status", "field", "target"),
    [
        (301, "/caf\xc3\xa9", "http://a.test/caf%C3%A9"),
        (302, "/caf\xe9?q=\xe9", "http://a.test/caf%E9?q=%E9"),
        (302, "http://b\xc3\xbccher.test/", "http://xn--bcher-kva.test/"),
        (302, "http://b\xfccher.test/", None),
        (303, " next ", "http://a.test/x/next"),
        (307, "", None),
        (308, "http://a.test/x/", "http://a.test/x/"),
        (300, "/next", "http://a.test/next"),
        (302, "mailto:me@a.test", None),
        (304, "/next", None),
        (200, "/next", None),
        (201, "/next", None),
    ],
)
def test_a_location_is_read_as_the_bytes_that_came(status: int, field: str, target: str | None) -> None:
    assert location(URL, status, Headers((("Location", field),))) == target


@pytest.mark.parametrize(
    ("status", "fields", "is_content"),
    [
        (200, {}, True),
        (300, {}, True),
        (302, {}, True),
        (302, {"Location": ""}, True),
        (302, {"Location": "/next"}, False),
        (302, {"Location": URL}, False),
        (304, {}, False),
        (404, {}, False),
    ],
)
def test_a_redirect_that_names_no_place_is_what_was_asked_for(
    status: int, fields: dict[str, str], is_content: bool
) -> None:
    assert page("<a href=/next>x</a>", status, **fields).is_content is is_content


def test_hostile_contents_take_no_time() -> None:
    assert refresh(page(f'<meta http-equiv=refresh content="{"0" * 500_000}{" ;" * 500_000}">')) is None
    assert refresh(page(f'<meta http-equiv=refresh content="{"0" * 500_000}{" " * 500_000}">')) is None
