"""Marked pages: choosing on them says a number and nothing else, whatever the page itself tries."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Frame, expect
from playwright.sync_api import Page as Tab
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from aahcrawler.page import Headers, Page
from aahcrawler.replay.page_marks import Mark, MarkedPage, MarkedPages, MarkKind, marked_markup, numbered_elements
from aahcrawler.replay.replay_app import FixedFolders, ReplayAccess, replay_app
from tests.browsing import patient
from tests.replay.serving import serving
from tests.replay.test_hostile_captures import EVIL, HOSTILE

MOMENT, URL = "20260102030405", "http://a.test/dir/page"
TELLS = "onclick=\"parent.postMessage(99,'*')\" onmouseover=\"parent.postMessage(99,'*')\""
CLOBBERS = "".join(
    f'<img name="{name}" alt=""><form name="{name}"><input name="getAttribute"><input name="parentElement"></form>'
    for name in ("querySelector", "addEventListener", "createElement", "documentElement", "body", "currentScript")
)
FORUM = f"""<!DOCTYPE html><html data-aah-n="7" lang="en"><head><title>Wet ropes</title>
<script>parent.postMessage(99, '*')</script></head>
<body {TELLS} data-aah-n="99"><h1 id="head" data-aah-n="99">Wet ropes</h1>
<ul id="topics"><li id="one" data-aah-n="-1"><a id="link" href="/topic/1" target="_top" {TELLS}>Knots</a></li>
<li id="two" data-aah-number="5">Anchors</li></ul><!-- no element -->
<form id="form" action="{EVIL}/form"><button id="send" formaction="{EVIL}/send">Send</button></form>
<iframe id="framed" srcdoc="<script>parent.parent.postMessage(99,'*')</script><a href='/in'>in</a>"></iframe>
<svg width="9" height="9" onload="parent.postMessage(99,'*')"><script>parent.postMessage(99,'*')</script>
<a xlink:href="/x" id="drawn"><rect id="rect" width="9" height="9"/></a></svg>
<style>* {{ outline: none !important; display: block !important }} #aah-chosen {{ display: none }}</style>
{CLOBBERS}</body></html>"""


def page_of(html: str, media_type: str = "text/html; charset=utf-8", url: str = URL) -> Page:
    return Page(url, 200, Headers((("Content-Type", media_type),)), html.encode(), datetime(2026, 1, 2, tzinfo=UTC))


def number(html: str, element_id: str) -> int:
    """Return the number of an element as the crawler counts it."""
    elements = numbered_elements(page_of(html).tree)
    return next(at for at, each in enumerate(elements) if each.get("id") == element_id)


def test_numbers_are_those_of_the_tree_as_it_was_parsed() -> None:
    html = "<p>a<script>1</script><noscript><b id=bold data-aah-n=3>b</b></noscript><i id=last>c</i>"
    shown = marked_markup(MarkedPage("test", MOMENT, page_of(html)), "http://cockpit.test", "once").decode()
    for name in ("bold", "last"):
        (element,) = re.findall(rf'<[bi] id="{name}"[^>]*>', shown)
        assert re.findall('data-aah[^=]*="([^"]*)"', element) == [str(number(html, name))]
    assert shown.count("<script") == 1
    assert "data-aah-n" not in marked_markup(MarkedPage("test", MOMENT, page_of("")), "", "").decode().partition(
        "</script>"
    )[2].replace('data-aah-n="', "", 3)


def test_a_response_in_json_is_shown_as_its_tree() -> None:
    page = page_of('{"posts": [{"id": 7, "cooked": "<b>bold</b>"}]}', "application/json")
    marks = (Mark(4, MarkKind.FIELD, "body"),)
    shown = marked_markup(MarkedPage("test", MOMENT, page, marks), "", "").decode()
    assert re.search(r'<div [^>]*data-aah-n="4"[^>]*outline[^>]*>.*body.*<b>cooked: </b>&lt;b&gt;bold', shown)


def test_an_address_holds_for_a_time_and_its_page_is_made_anew() -> None:
    now = [0.0]
    pages = MarkedPages(lambda: now[0])
    path = pages.issue(lambda: MarkedPage("test", MOMENT, page_of("<p>x")))
    first, second = pages.page(path), pages.page(path)
    assert first is not None
    assert second is not None
    assert first.page is not second.page
    assert pages.page("/marked/") is None
    now[0] = 13 * 3600.0
    assert pages.page(path) is None


_WRITES_A_SCRIPT = """() => {
  const made = Document.prototype.createElement.call(document, "script");
  Node.prototype.appendChild.call(made, new Text("parent.postMessage(1, '*')"));
  Node.prototype.appendChild.call(document.childNodes[document.childNodes.length - 1], made);
}"""


class _Cockpit:
    """A page of another host name that frames a marked page as the studio does, and notes all that it is told."""

    def __init__(self, door: ReplayAccess, replay: str, path: str) -> None:
        self._door, self._replay, self._path = door, replay, path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ticket = self._door.tickets.issue(self._path)
        page = (
            '<title>Cockpit</title><button id="before">Before</button><iframe name="shown" width="1000" height="700" '
            f'sandbox="allow-same-origin allow-scripts"></iframe><form method="post" action="{self._replay}/enter" '
            f'target="shown"><input type="hidden" name="ticket" value="{ticket}"></form><script>window.told = [];'
            "addEventListener('message', event => told.push([event.data, event.origin, event.source === frames[0]]));"
            "document.forms[0].submit()</script>"
        )
        response = HTMLResponse(page) if Request(scope).url.path == "/" else Response(status_code=404)
        await response(scope, receive, send)


@dataclass
class _Studio:
    """A tab that shows a marked page in its frame."""

    tab: Tab
    frame: Frame
    replay: str
    asked: Sequence[str]

    def told(self, least: int = 0) -> list[object]:
        """Return what was said, without origin and source, which are those of the frame or the test fails.

        Wait until so much at least was said.
        """
        self.tab.wait_for_function("least => told.length >= least", arg=least)
        said: list[list[object]] = self.tab.evaluate("told")
        assert all(each[1:] == [self.replay, True] for each in said), said
        return [each[0] for each in said]


@contextmanager
def _shown(browser: Browser, folder: Path, html: str, *marks: Mark) -> Iterator[_Studio]:
    with serving(replay_app(FixedFolders({}), ("localhost",))) as taken:
        free = taken.port
    origin = f"http://127.0.0.1:{free}"
    door, pages = ReplayAccess.new(origin), MarkedPages()
    path = pages.issue(lambda: MarkedPage("test", MOMENT, page_of(html), marks))
    app = replay_app(FixedFolders({"test": folder}), ("localhost",), door=door, marked=pages)
    with serving(app) as replay, serving(_Cockpit(door, f"http://localhost:{replay.port}", path), free):
        context = patient(browser.new_context())
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        tab = context.new_page()
        tab.goto(origin)
        frame = tab.frame("shown")
        assert frame is not None
        frame.wait_for_url(f"**{path}")
        frame.wait_for_load_state()
        yield _Studio(tab, frame, f"http://localhost:{replay.port}", asked)
        assert not [url for url in asked if not url.startswith((origin, f"http://localhost:{replay.port}/", "about:"))]
        assert (tab.title(), len(context.pages)) == ("Cockpit", 1)
        context.close()


@pytest.mark.slow
def test_a_click_says_the_number_and_leads_nowhere(chromium: Browser, tmp_path: Path) -> None:
    with _shown(chromium, tmp_path, FORUM, Mark(number(FORUM, "one"), MarkKind.ITEM, "an item")) as studio:
        url = studio.frame.url
        names = ("head", "link", "two", "send", "rect")
        for name in names:
            studio.frame.locator(f"#{name}").click(force=True, no_wait_after=True)
        assert studio.told(5) == [number(FORUM, name) for name in names]
        studio.frame.get_by_text("an item").click()
        assert studio.told(6)[-1] == number(FORUM, "one")
        assert studio.frame.locator("#one").evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
        assert studio.frame.url == url
        # A click that no person made is none.
        studio.frame.evaluate("HTMLElement.prototype.click.call(document.getElementById('two'))")
        assert len(studio.told()) == 6


@pytest.mark.slow
def test_the_keyboard_goes_through_a_page_and_leaves_it(chromium: Browser, tmp_path: Path) -> None:
    with _shown(chromium, tmp_path, FORUM) as studio:
        studio.tab.locator("#before").focus()
        keys = studio.tab.keyboard
        keys.press("Tab")
        for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "Enter", "ArrowLeft", "Enter"):
            keys.press(key)
        assert studio.told(2) == [number(FORUM, "two"), number(FORUM, "topics")]
        for key in ("ArrowUp", "Enter", "Escape", "Shift+Tab"):
            keys.press(key)
        assert studio.told(5)[2:] == [number(FORUM, "head"), -1, -2]


@pytest.mark.slow
def test_a_hostile_page_says_nothing_and_reaches_nothing(chromium: Browser, tmp_path: Path) -> None:
    nested = HOSTILE.replace('"ran"', "'ran'; parent.postMessage(1, '*'); top.postMessage(1, '*')")
    for html in (HOSTILE, nested, f"<table><svg><style><img title='</style>{FORUM}'>", f"{'<div>' * 3000}{FORUM}"):
        with _shown(chromium, tmp_path, html) as studio:
            studio.tab.wait_for_timeout(300)
            assert studio.told() == []
            assert studio.frame.title() != "ran"
            # Not even what the browser itself writes into the page as the page's own script would runs.
            studio.frame.evaluate(_WRITES_A_SCRIPT)
            assert studio.told() == []
            assert not [url for url in studio.asked if url.startswith(EVIL)]


@pytest.mark.slow
def test_marks_are_part_of_the_page_and_links_lead_nowhere(chromium: Browser, tmp_path: Path) -> None:
    mark = Mark(number(FORUM, "link"), MarkKind.LINK, "leads to: thread")
    with _shown(chromium, tmp_path, FORUM, mark) as studio:
        page = marked_markup(MarkedPage("test", MOMENT, page_of(FORUM), (mark,)), "", "").decode()
        assert "leads to: thread" in page.partition("</script>")[2]
        expect(studio.frame.get_by_text("leads to: thread")).to_be_visible()
        assert studio.frame.locator("#link").get_attribute("href") == "#aah-nowhere"


@pytest.mark.slow
@pytest.mark.parametrize("size", [3_000, pytest.param(30_000, marks=pytest.mark.soak)])
def test_a_huge_page_can_be_chosen_on(chromium: Browser, tmp_path: Path, size: int) -> None:
    html = f"<title>Huge</title>{'<p><b>word</b> and more' * size}<p id=last>End"
    marks = (Mark(number, MarkKind.FIELD, "body") for number in range(3 * size // 10))
    with _shown(chromium, tmp_path, html, *marks) as studio:
        studio.frame.locator("#last").click()
        assert studio.told(1) == [number(html, "last")]
