"""Very large pages: their beginning is read, all of their links are found, and what was not read is said."""

from collections.abc import Callable

import pytest

from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.links.page_links import READ_STEPS, TEXT_STEP, read_bytes
from aahcrawler.page import markup
from knowledge_base.model import PageLevel
from knowledge_base.url_rules import PathGlob, UrlRule
from tests.helper.building import application as made
from tests.helper.building import article, helper_of, sign, when
from tests.helper.saved_pages import html_page
from tests.pace import at_most
from tests.page.building import PARAGRAPH

SIZE, LARGEST = 3_400_000, 9_500_000
"""Bytes: a page of more text than is read, and of about as many as are kept."""
END = '<p><a href="/last">the last page</a> <a href="/login">log in</a> <img src="/last.png"></p>'
FILLINGS: dict[str, Callable[[int], str]] = {
    "one word": lambda size: "a" * size,
    "one word again and again": lambda size: "harbour " * (size // 8),
    "paragraphs": lambda size: f"<p>{PARAGRAPH}</p>" * (size // len(PARAGRAPH)),
    "empty elements": lambda size: "<b></b>" * (size // 7),
    "characters of four bytes": lambda size: "😀" * (size // 4),
    "links": lambda size: "".join(f'<a href="/page/{number}">page {number}</a> ' for number in range(size // 40)),
}
TAGGED = {"paragraphs": 1_400_000, "empty elements": 700_000, "links": 1_000_000}
"""Bytes that are more than is read of what has tags."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, SIZE) for name in FILLINGS if name not in TAGGED),
        *TAGGED.items(),
        *(pytest.param(name, LARGEST, marks=pytest.mark.soak) for name in FILLINGS),
    ],
)
def test_a_very_large_page_takes_little_time_and_keeps_its_links(name: str, size: int) -> None:
    head = "<!doctype html><html lang=en><head><title>Ice</title></head><body><h1>Ice</h1><p><a href='/first'>first</a>"
    page = html_page("http://a.test/", f"{head}{FILLINGS[name](size)}{'' if name == 'links' else END}</body></html>")
    helper = helper_of()
    helper.assist(html_page("http://a.test/other", f"{head}<p>{PARAGRAPH}</p>"))
    with at_most(2.0):
        found = helper.assist(page)
    urls = {link.url for link in found.document.outlinks}
    assert urls >= {"http://a.test/first", *({"http://a.test/last"} if name != "links" else ())}
    assert len(urls) > 5000 or "http://a.test/last.png" in found.requisites
    (failed,) = found.failed_actions
    assert failed.failure is Failure.TOO_MUCH
    assert f"first {len(page.beginning(read_bytes(page.body)).body):,} of {len(page.body):,} bytes" in str(failed)


@pytest.mark.slow
def test_of_a_known_application_what_its_file_says_holds_beyond_the_beginning() -> None:
    rule = UrlRule(PathGlob("/post/*"))
    level = PageLevel("post", "terminal", when("article"), actions=(article(),), addresses=(rule,))
    application = made("ice", level, patterns=(sign("#ice-sign"),))
    body = "<article><div class=body>The ice.</div></article>" + "<p>x</p>" * READ_STEPS
    late = '<a href="/post/2">next</a><a href="/about">about</a><a href="http://b.test/post/3">b</a>'
    page = html_page("http://a.test/post/1", f"<html><body><i id=ice-sign></i>{body}{late}</body></html>")
    found = helper_of(application).assist(page)
    assert [each.first("body") for each in found.objects] == ["The ice."]
    assert [link.url for link in found.document.outlinks] == ["http://a.test/post/2"]
    assert found.failed_actions[-1].application == "ice"


@pytest.mark.slow
def test_pages_as_they_are_in_the_world_are_read_whole() -> None:
    body = f"<h1>Ice</h1>{f'<p>{PARAGRAPH}</p>' * (800_000 // len(PARAGRAPH))}"
    found = helper_of().assist(html_page("http://a.test/", f"<html><title>Ice</title><body>{body}"))
    assert not found.failed_actions


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be", "shift_jis"])
def test_a_beginning_ends_between_characters_and_before_a_tag_that_is_near(encoding: str) -> None:
    body = ("<p>氷の港" * 5000).encode(encoding)
    page = html_page("http://a.test/", body)
    page.__dict__["encoding"] = encoding
    for size in range(20_000, 20_012):
        beginning = page.beginning(size)
        assert len(beginning.body) <= size
        assert "�" not in beginning.text
        assert page.text.startswith(beginning.text)
        assert not beginning.complete
    assert page.beginning(len(body)) is page


@pytest.mark.parametrize(
    ("filling", "is_whole"),
    [
        ("<i></i>" * (READ_STEPS // 3), True),
        ("<i></i>" * READ_STEPS, False),
        ("<a href=z>word</a>" * READ_STEPS, False),
        (f"<p>{PARAGRAPH}</p>" * (1_000_000 // len(PARAGRAPH)), True),
        ("harbour " * 190_000, True),
        (f"<script>{'a<b;' * READ_STEPS * 2}</script>", True),
        (f"<script>{'a' * SIZE}</script>", True),
        (f"<div hidden>{'harbour ' * (SIZE // 8)}</div>", False),
        (f"<STYLE>{'a>b{} ' * READ_STEPS}</style>", True),
        (f"<!-- {'<i></i>' * READ_STEPS} -->", True),
        ("<!-- <" * READ_STEPS, True),
        ("<script>a<b" * READ_STEPS, True),
    ],
)
def test_work_is_counted_before_it_is_done(filling: str, *, is_whole: bool) -> None:
    body = f"<html><body>{filling}</body></html>".encode()
    assert (read_bytes(body) == len(body)) is is_whole
    assert read_bytes(body) >= len(body) // 10


def test_what_follows_many_bytes_of_script_is_read() -> None:
    story = f"<h1>Ice</h1><p class=by>By Ann Vos, 3 May 2022</p>{f'<p>{PARAGRAPH}</p>' * 5}"
    state = "<script>var state = '" + "harbour " * (SIZE // 8) + "'</script>"
    found = helper_of().assist(html_page("http://a.test/ice", f"<html><title>Ice</title><body>{state}{story}"))
    assert not found.failed_actions
    assert [each.first("title") for each in found.objects] == ["Ice"]


@pytest.mark.parametrize("end", ["", "</div>", "<p>x</p>" * 9])
def test_text_is_counted_wherever_the_next_tag_is(end: str) -> None:
    body = f"<div>{'a' * SIZE}{end}".encode()
    assert READ_STEPS * TEXT_STEP // 2 < read_bytes(body) <= READ_STEPS * TEXT_STEP


@pytest.mark.slow
@pytest.mark.parametrize(
    "filling",
    [
        "<span><a href=z>w" * 1_000 + "<i></i>" * 10_000,
        "<font>" * 1_500 + "".join(f"<a href=z{number}>w</a>" for number in range(10_000)),
        "<div>" * 1_500 + "".join(f"<li><a href=z{number}>w</a>" for number in range(8_000)),
    ],
)
def test_deep_nesting_costs_no_more_than_size(filling: str) -> None:
    with at_most(2.0):
        found = helper_of().assist(html_page("http://a.test/", f"<html><body>{filling}"))
    assert found.document.outlinks


def test_the_text_of_a_link_is_not_that_of_the_links_in_it() -> None:
    page = html_page(
        "http://a.test/", "<body><p><span><a href=/1>One <b>and</b> <span><a href=/2>two</a></span></a></span>"
    )
    assert [(link.url[-1], link.anchor) for link in helper_of().assist(page).document.outlinks] == [
        ("1", "One and"),
        ("2", "two"),
    ]


@pytest.mark.slow
def test_links_beside_one_another_are_read_in_linear_time() -> None:
    page = html_page("http://a.test/", "<body>" + "".join(f"<a href=z{number}>word</a>" for number in range(20_000)))
    with at_most(2.0):
        found = helper_of().assist(page)
    assert len(found.document.outlinks) == 10_000


@pytest.mark.slow
def test_tags_beyond_the_most_that_are_parsed_are_said_to_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "MAX_TAGS", READ_STEPS + 10_000)
    lines = '<p><a href="/first">first</a>' + "w<br>" * (READ_STEPS + 10_000)
    found = helper_of().assist(html_page("http://a.test/", f"{lines}<a href=/last>last</a>"))
    assert [link.url for link in found.document.outlinks] == ["http://a.test/first"]
    (failed,) = found.failed_actions
    assert "and the links of the first" in str(failed)
