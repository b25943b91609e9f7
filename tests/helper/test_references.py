"""What the texts of objects refer to, and which thread and forum they are parts of."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.helper import Assistance
from aahcrawler.helper.links.page_links import MAX_KEPT
from aahcrawler.webobject import Container, Reference, WebObject
from knowledge_base.model import Application, Extract, Field, FieldKind, Identity, Navigate, PageLevel
from knowledge_base.url_rules import Paging, PathGlob, UrlRule
from tests.helper.building import application, assist, css, helper_of, links, text_field, when, xpath
from tests.helper.saved_pages import html_page

SITE = "http://site.test/"
THREAD = f"{SITE}thread?id=1"
NUMBER = Identity((xpath("@id"),))
BODY = replace(text_field("body", ".text"), without=(css(".signature"),))
TITLE = replace(text_field("title", "h1"), page=True, first_only=True)
FORUM = UrlRule(PathGlob("forum"), present=(("id", "*"),), allowed=frozenset({"page"}))
PAGE = UrlRule(PathGlob("thread"), present=(("id", "*"),), allowed=frozenset({"page"}))


def board(*fields: Field, parent: Identity | None = None, kind: str = "thread") -> Application:
    posts = Extract(
        "posts", "reply", (css(".post"),), fields or (BODY, TITLE), many=True, identity=NUMBER, parent=parent
    )
    paging = (Paging(parameter="page"),)
    back = links("back", "forum", ".path a")
    thread = PageLevel(
        "thread", "terminal", when(".post"), actions=(posts, back), addresses=(PAGE,), paging=paging, type=kind
    )
    listed = (Navigate("threads", "thread"),)
    forum = PageLevel(
        "forum", "intermediate", when(".threads"), actions=listed, addresses=(FORUM,), paging=paging, type="forum"
    )
    return application("board", thread, forum)


def post(number: int, text: str) -> str:
    return f'<div class="post" id="p{number}"><div class="text">{text}</div></div>'


def read(markup: str, url: str = THREAD, of: Application | None = None) -> Assistance:
    return assist(of or board(), markup, url)


def addresses(item: WebObject, name: str) -> list[str]:
    return [value.url for value in item.properties.get(name, ()) if isinstance(value, Reference)]


def test_links_are_those_of_the_body_in_the_form_in_which_they_are_fetched() -> None:
    text = """<a href="HTTP://Else.test:80/a/../b?x=1#c">b</a> <a href="//other.test">o</a> <a href=" /about ">a</a>
        <a href="http://else.test/b?x=1">again</a> <map><area href="http://area.test/"></map>
        <p class="signature"><a href="http://mine.test/">mine</a></p>"""
    (found,) = read(post(1, text) + '<a href="http://elsewhere.test/">not of a post</a>').objects
    assert addresses(found, "links") == [
        "http://else.test/b?x=1", "http://other.test/", f"{SITE}about", "http://area.test/"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "reference",
    ["#p7", "?id=1&page=3", THREAD, "thread?id=1#p2", "javascript:x()", "mailto:a@b.test", "", "http://[", "data:,x"],
)
def test_the_thread_itself_and_what_is_no_address_are_no_links(reference: str) -> None:
    (found,) = read(post(1, f'<a href="{reference}">x</a> text')).objects
    assert "links" not in found.properties


def test_pictures_are_those_that_a_reader_sees_at_last() -> None:
    text = """<img src="/a.png"> <img src="/dot.gif" data-src="/b.png"> <img src="data:image/gif;base64,R0lG"
        data-srcset="/c.png 1x, /c2.png 2x"> <noscript><img src="/a.png"></noscript> <img alt="none">
        <p class="signature"><img src="/mine.png"></p>"""
    (found,) = read(post(1, text)).objects
    assert addresses(found, "images") == [f"{SITE}a.png", f"{SITE}b.png", f"{SITE}c.png"]


def test_media_are_what_a_body_plays() -> None:
    text = """<video src=a.mp4 poster=a.png></video><audio><source src=b.m3u8 type=application/x-mpegurl>
        <source src=b.ogg></audio><video></video><p class="signature"><audio src=mine.mp3></audio></p>"""
    (found,) = read(post(1, f"Look: {text}") + "<video src=elsewhere.mp4></video>").objects
    assert addresses(found, "media") == [f"{SITE}a.mp4", f"{SITE}b.ogg"]


def test_what_the_knowledge_base_says_of_links_and_images_counts() -> None:
    given_links = Field("links", FieldKind.URL, (css("a.cited"),), many=True)
    (found,) = read(
        post(1, '<a class="cited" href="http://one.test/">1</a> <a href="http://two.test/">2</a><img src="i.png">'),
        of=board(BODY, given_links),
    ).objects
    assert addresses(found, "links") == ["http://one.test/"]
    assert addresses(found, "images") == [f"{SITE}i.png"]


def test_objects_without_a_body_have_no_links() -> None:
    (found,) = read('<div class="post" id="p1"><a href="http://x.test/">x</a></div>').objects
    assert found.properties.keys() == {"url"}


def test_a_page_of_links_is_bounded() -> None:
    text = "".join(f'<a href="http://x.test/{n}">x</a>' for n in range(MAX_KEPT + 10))
    (found,) = read(post(1, text)).objects
    assert len(found.properties["links"]) == MAX_KEPT


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters='"<>&\x00')))
def test_whatever_is_written_as_an_address_is_an_address_or_nothing(reference: str) -> None:
    (found,) = read(post(1, f'<a href="{reference}">x</a><img src="{reference}">')).objects
    for name in ("links", "images"):
        assert all(url.startswith(("http://", "https://")) for url in addresses(found, name))


ARTICLE = """<html><head><title>Dikes</title><link rel="canonical" href="http://unknown.test/dikes"></head><body>
<article><h1>Dikes</h1><p class="byline">By <a rel="author" href="/by/ann">Ann</a>,
<time datetime="2024-03-01T10:00:00Z">1 March 2024</time></p>{text}</article></body></html>"""


def test_induced_objects_have_links_and_images_too() -> None:
    said = "<p>The storm surge broke dike number {} above the old harbour and flooded the lower town that night.</p>"
    text = (
        "".join(map(said.format, range(8)))
        + '<p><a href="http://tides.test/">Tides</a>, <a href="/dikes#top">up</a>, <img src="d.png"></p>'
    )
    (found,) = helper_of().assist(html_page("http://unknown.test/dikes?x=1", ARTICLE.format(text=text))).objects
    assert found.type == "article"
    assert addresses(found, "links") == ["http://tides.test/"]
    assert addresses(found, "images") == ["http://unknown.test/d.png"]


PATH = '<p class="path"><a href="/">Home</a> <a href="/forum?id=3">All</a> <a href="/forum?id=2">» Boats</a></p>'
SECTIONS = '<p class="path"><a href="/forum?id=2&amp;page=2">2</a></p>'


def test_a_thread_and_the_last_forum_of_its_path() -> None:
    found = read(f"<h1>The leak</h1>{PATH}{post(1, 'It leaks.')}{SECTIONS}")
    assert found.containers == (
        Container(THREAD, "thread", "The leak", f"{SITE}forum?id=2"),
        Container(f"{SITE}forum?id=2", "forum", "Boats"),
    )
    assert [item.type for item in found.objects] == ["reply"]


def test_later_pages_are_of_the_same_thread() -> None:
    found = read(f"<h1>The leak</h1>{post(31, 'It leaks.')}", f"{THREAD}&page=2")
    assert found.containers == (Container(THREAD, "thread", "The leak"),)


def test_a_thread_whose_title_stands_in_its_posts_alone() -> None:
    titled = text_field("title", ".title")
    text = '<div class="post" id="p1"><b class="title">Re: RE: The leak</b><div class="text">It leaks.</div></div>'
    assert read(text, of=board(BODY, titled)).containers == (Container(THREAD, "thread", "The leak"),)


def test_no_thread_where_nothing_is_a_part_of_it() -> None:
    assert read(f"<h1>The leak</h1>{PATH}").containers == ()
    assert read(post(1, "It leaks."), of=board(kind="")).containers == ()
    assert read(PATH + '<div class="threads"></div>', f"{SITE}forum?id=2").containers == ()


QUOTED = Identity((xpath("substring-after((.//blockquote/a)[1]/@href, '#')"),))
QUOTE = '<blockquote><a href="/go?to={0}#p{0}">said</a> x</blockquote> text'


@pytest.mark.parametrize(
    ("url", "quoted", "parent"),
    [(THREAD, 1, f"{THREAD}#p1"), (THREAD, 77, None), (f"{THREAD}&page=2", 77, f"{THREAD}#p77")],
)
def test_a_quote_on_the_first_page_is_of_a_post_of_this_page(url: str, quoted: int, parent: str | None) -> None:
    _, answer = read(post(1, "one") + post(2, QUOTE.format(quoted)), url, board(parent=QUOTED)).objects
    assert addresses(answer, "parent") == ([parent] if parent else [])
