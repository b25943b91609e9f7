"""What of a page differs between two captures of it."""

from datetime import UTC, datetime

import pytest

from aahcrawler.page import Headers, Page
from aahcrawler.revisits.page_comparison import MAX_PLACES, Difference, compared, content_of
from aahcrawler.revisits.visit_record import ChangeKind, Place

URL = "http://a.test/page"
BODY = """<!doctype html><html><body><nav><a href="/a">Home</a> <a href="/b">News of today</a></nav>
<main><h1>The harbour</h1><div class="text"><p>It froze over in <b>January</b>.</p><p>Nobody <!-- ? -->came.</p>
<p>See <a href="/ships?sid=0123456789abcdef0123">the ships</a>.</p></div>
<p class="stats">Read 1,204 times, 3 hours ago</p></main>
<aside class="sidebar"><p>Weather: rain</p></aside><footer>Made in 0.31 s</footer><script>var x = 1</script>
</body></html>"""


def page(body: str, media_type: str = "text/html; charset=utf-8") -> Page:
    headers = Headers((("Content-Type", media_type),))
    return Page(URL, 200, headers, body.encode(), datetime(2026, 1, 1, tzinfo=UTC))


def difference(*changes: tuple[str, str]) -> Difference:
    after = BODY
    for old, new in changes:
        assert old in after
        after = after.replace(old, new)
    return of_pages(BODY, after)


def of_pages(former: str, now: str, media_type: str = "text/html") -> Difference:
    found = compared(content_of(page(former, media_type)), content_of(page(now, media_type)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "change",
    [
        ("rain", "sunshine"),
        ("0.31 s", "0.29 s"),
        ("News of today", "News of tomorrow"),
        ("var x = 1", "var x = 2"),
        ('class="text"', 'class="text" data-token="x"'),
        ("?sid=0123456789abcdef0123", "?sid=fedcba98765432109876"),
        ("<b>January</b>", "<i>January</i>"),
        (" <!-- ? -->", "  <!-- another comment -->"),
        ('"/b"', '"/c"'),
    ],
)
def test_what_surrounds_the_content_is_of_the_template(change: tuple[str, str]) -> None:
    assert difference(change) == Difference(ChangeKind.TEMPLATE, ())


@pytest.mark.parametrize("change", [("/ships?", "/boats?"), ("the ships</a>.", 'the ships</a><a href="/x"></a>.')])
def test_links_of_the_content_are_told_from_its_text(change: tuple[str, str]) -> None:
    assert difference(change) == Difference(ChangeKind.LINKS, ())


def test_an_edit_is_a_change_of_content_at_its_place() -> None:
    found = difference(("Nobody", "Everybody"))
    assert found == Difference(ChangeKind.CONTENT, (Place("html/body/main/div.text/p", numbers=False, alone=False),))


@pytest.mark.parametrize(
    ("change", "numbers"),
    [
        (("1,204", "98"), True),
        (("3 hours", "14 hours"), True),
        (("Read 1,204 times, 3 hours ago", "Nobody reads this"), False),
    ],
)
def test_a_place_where_numbers_alone_differ_is_told_as_such(change: tuple[str, str], numbers: bool) -> None:
    (place,) = difference(change).places or ()
    assert place == Place("html/body/main/p.stats", numbers=numbers, alone=True)


def test_a_line_more_is_no_other_number() -> None:
    (place,) = difference(("<p>Nobody", "<p>Nobody</p><p>5</p><p>")).places or ()
    assert not place.numbers


def test_a_page_that_differs_in_many_places_tells_none() -> None:
    sections = "".join(f'<div class="x{chr(97 + number)}"><p>Words</p></div>' for number in range(MAX_PLACES + 1))
    found = of_pages(*(f"<body>{sections.replace('Words', word)}" for word in ("One", "Two")))
    assert found == Difference(ChangeKind.CONTENT, None)


def test_a_page_of_nothing_but_menus_is_compared_by_them() -> None:
    assert of_pages(*(f"<body><nav><li>{word}</li></nav>" for word in ("One", "Two"))).kind is ChangeKind.CONTENT


def test_content_that_stands_before_a_body_is_opened_counts() -> None:
    former = "<html><title>One</title><script>1</script><article><p>It froze over.</p></article></html>"
    assert of_pages(former, former.replace("over", "")).kind is ChangeKind.CONTENT
    assert of_pages(former, former.replace("One", "Two")).kind is ChangeKind.TEMPLATE


def test_of_a_page_without_text_nobody_can_tell() -> None:
    former, now = (content_of(page(f"<body><div id=app></div><script>{word}</script>")) for word in ("1", "2"))
    assert compared(former, now) is None


def test_other_texts_are_compared_line_by_line() -> None:
    assert of_pages("a\nb\n", "a \r\nb", "text/plain").kind is ChangeKind.TEMPLATE
    assert of_pages("a\nb", "a\nc", "text/plain").kind is ChangeKind.CONTENT


def test_values_of_json_are_told_by_the_names_that_lead_to_them() -> None:
    said = '{"made": "2026-01-01T10:00:00Z", "rows": [{"id": 1, "level": 5}, {"id": 2, "level": 7}]}'
    again = '{"rows": [{"level": 5, "id": 1}, {"level": 7, "id": 2}],"made": "2026-01-02T10:00:00Z"}'
    found = of_pages(said, again, "application/json")
    assert found == Difference(ChangeKind.CONTENT, (Place("json/made", numbers=True, alone=True),))
    found = of_pages(said, again.replace("7", "8"), "application/json")
    assert found.places is not None
    assert [place.path for place in found.places] == ["json/made", "json/rows/item/level"]
    assert of_pages("{", "[", "application/json").kind is ChangeKind.CONTENT, "what is no JSON is compared as lines"
