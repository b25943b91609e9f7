"""Which pages are looked at in a browser, by what they show and what looks before gained."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from aahcrawler.crawl.browsing.routes import MAX_PAUSE, PATIENCE, Reason, Routes, Shown
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.application.scripted import Scripted, scripted
from aahcrawler.page import Headers, Page
from knowledge_base.loader import load
from online_analysis.icd import BrowserSection
from tests.crawl.client_side import FRAMED, SHELL, article

AUTO = BrowserSection()
MUCH, LITTLE, NOTHING = Shown(4_000, 40), Shown(4_000, 40), Shown()


def page(body: bytes, url: str = "http://a.test/t/1") -> Page:
    return Page(url, 200, Headers((("Content-Type", "text/html; charset=utf-8"),)), body, datetime.now(UTC))


def told(found: Scripted) -> Callable[[Page], Scripted]:
    return lambda _: found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (SHELL, Scripted.SHELL),
        (FRAMED, Scripted.FRAME),
        (article(1).body, Scripted.NO),
        (b"<body><div id=app></div><footer>Imprint</footer>", Scripted.NO),
        (
            b"<body><nav><a href=/a>A</a></nav><form><input name=q></form><div id=x></div><script src=a></script>",
            Scripted.NO,
        ),
    ],
)
def test_a_page_whose_content_is_missing_is_told_from_others(body: bytes, expected: Scripted) -> None:
    assert scripted(page(body)) == expected


SCRIPT = "<script src=/app.js></script>"
LINKS = "".join(f"<p><a href=/t/{number}>Thread</a></p>" for number in range(6))
MENUS = "<header><a href=/>Board</a><nav><a href=/f>Forums</a></nav></header>"


@pytest.mark.parametrize(
    "body",
    [
        f"<app-root><div class=splash><img src=/logo.svg><p>Wird geladen ...</p></div></app-root>{SCRIPT}",
        f"<div id=__next><div class=spinner><svg></svg><p>読み込み中…</p></div></div>{SCRIPT}",
        f"<noscript><iframe src=https://tags.test/ns.html></iframe></noscript><div id=root></div>{SCRIPT}",
        f"<div id=app><noscript>Use <a href=https://apps.test/>an app</a>.</noscript></div>{SCRIPT}",
    ],
    ids=["splash", "spinner", "tags", "noscript"],
)
def test_shells_may_show_that_something_is_on_its_way(body: str) -> None:
    assert scripted(page(body.encode())) is Scripted.SHELL


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{MENUS}<main><div class=skeleton></div></main>{SCRIPT}", Scripted.FRAME),
        (f"{MENUS}<main><div id=content><p>Loading…</p></div></main>{SCRIPT}", Scripted.FRAME),
        (f"{MENUS}<main><h1>Threads</h1><table><tbody id=rows></tbody></table></main>{SCRIPT}", Scripted.FRAME),
        (f"{MENUS}<main><h1>Threads</h1><p>None yet.</p></main>{SCRIPT}", Scripted.NO),
        (f"{MENUS}<main><img src=/1.jpg><div id=lightbox></div></main>{SCRIPT}", Scripted.NO),
        (f"{MENUS}<main>{LINKS}</main><div id=toast></div>{SCRIPT}", Scripted.NO),
    ],
    ids=["skeleton", "loading", "table", "empty", "picture", "links"],
)
def test_frames_lack_content_beside_their_menus(body: str, expected: Scripted) -> None:
    assert scripted(page(body.encode())) is expected


def test_one_page_with_several_addresses_lacks_nothing() -> None:
    routes = Routes()
    for number in range(20):
        topic = f"<link rel=canonical href=http://a.test/t/{number}><p>{'Words. ' * 30}{number}<div id=b></div>{SCRIPT}"
        for post in range(5):
            shown = page(topic.encode(), f"http://a.test/t/{number}?p={post}")
            assert routes.choose("a.test", shown, AUTO, scripted) is Reason.PLAIN


def test_shells_among_many_pages_with_content_are_found() -> None:
    routes = Routes()
    pages = [page(f"<p>{'Words. ' * 30}{number}".encode(), f"http://a.test/t/{number}") for number in range(100)]
    assert {routes.choose("a.test", each, AUTO, scripted) for each in pages} == {Reason.PLAIN}
    assert routes.choose("a.test", page(SHELL, "http://a.test/t/200"), AUTO, scripted) is Reason.SHELL


def test_a_page_that_a_browser_has_shown_is_not_looked_at_again() -> None:
    assert scripted(page(SHELL).as_rendered(SHELL)) is Scripted.NO


def test_the_definition_comes_first() -> None:
    routes, plain = Routes(), page(article(1).body, "http://a.test/print/1")
    assert routes.choose("a.test", plain, AUTO, scripted) is Reason.PLAIN
    assert routes.choose("a.test", plain, BrowserSection(use="always"), scripted) is Reason.ASKED
    assert routes.choose("a.test", plain, BrowserSection(pages=("/print/",)), scripted) is Reason.ASKED
    both = BrowserSection(use="always", pages=("/print/",), never=("/print/",))
    assert routes.choose("a.test", plain, both, scripted) is Reason.FORBIDDEN
    assert routes.choose("a.test", page(SHELL), BrowserSection(use="never"), scripted) is Reason.FORBIDDEN


def test_what_may_lack_content_is_looked_at_once_for_each_shape_until_that_gains_something() -> None:
    routes, frames = Routes(), [page(FRAMED, f"http://a.test/t/{number}") for number in range(8)]
    assert routes.choose("a.test", frames[0], AUTO, scripted) is Reason.FRAME
    assert not routes.learn("a.test", frames[0].url, LITTLE, MUCH)
    assert routes.choose("a.test", frames[1], AUTO, scripted) is Reason.VAIN
    assert routes.choose("a.test", page(FRAMED, "http://a.test/u/anna"), AUTO, scripted) is Reason.FRAME
    reasons = [routes.choose("a.test", each, AUTO, scripted) for each in frames[2:]]
    assert Reason.FRAME in reasons, "it is looked at again from time to time"
    assert routes.learn("a.test", frames[0].url, NOTHING, MUCH)
    assert {routes.choose("a.test", each, AUTO, scripted) for each in frames} == {Reason.FRAME}


def test_shells_that_stay_empty_are_looked_at_more_and_more_rarely_but_never_given_up() -> None:
    routes, looked = Routes(), []
    for number in range(4 * MAX_PAUSE):
        shell = page(SHELL, f"http://a.test/t/{number}")
        if routes.choose("a.test", shell, AUTO, told(Scripted.SHELL)).is_look:
            looked.append(number)
            routes.learn("a.test", shell.url, NOTHING, NOTHING)
    assert looked[:PATIENCE] == [*range(PATIENCE)]
    assert max(later - sooner for sooner, later in pairwise(looked)) <= MAX_PAUSE + 1
    assert len(looked) < 15


def test_pages_that_all_show_the_same_text_beside_an_empty_place_may_lack_content() -> None:
    routes, menu = Routes(), "".join(f"<p>Chapter {number} of the board</p>" for number in range(40)).encode()
    body = b"<body>" + menu + b"<div id=app></div><script src=/a.js></script>"
    reasons = [routes.choose("a.test", page(body, f"http://a.test/t/{number}"), AUTO, scripted) for number in range(4)]
    assert reasons == [Reason.PLAIN, Reason.PLAIN, Reason.FRAME, Reason.FRAME]
    assert routes.choose("a.test", page(body, "http://a.test/t/1"), AUTO, scripted) is Reason.FRAME
    for number in range(20):
        other = body.replace(b"Chapter", b"Section %d" % number)
        assert routes.choose("a.test", page(other, f"http://a.test/s/{number}"), AUTO, scripted) is Reason.PLAIN
    assert routes.choose("a.test", page(body, "http://a.test/t/9"), AUTO, scripted) is Reason.PLAIN, "they are few"


def test_a_page_to_which_a_script_adds_comments_is_looked_at_even_if_that_adds_a_word() -> None:
    helper = ApplicationAwareHelper(load())
    story = article(1).body + b'<section id="isso-thread"></section><script src=e.js></script>'
    assert helper.scripted(page(article(1).body)) is Scripted.NO
    assert helper.scripted(page(story)) is Scripted.PART
    filled = story.replace(b"></section>", b"><p>Anna: it was worse in May, when the mill was lost.</section>")
    assert helper.scripted(page(filled)) is Scripted.NO, "the server has the comments"
    routes = Routes()
    for number in range(3):
        url = f"http://a.test/story/{number}"
        assert routes.choose("a.test", page(story, url), AUTO, helper.scripted) is Reason.PART
        assert routes.learn("a.test", url, Shown(4_000, 40), Shown(4_060, 40))
