"""The studio in a browser: every page of it, choosing by click, by key and without scripts, and pages that mean ill."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree
from playwright.sync_api import Browser, Page, expect

from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.layout import LEARNED
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.wrapper import Support, Wrapper
from knowledge_base.file_selection import SHIPPED
from knowledge_base.parsing.extraction_actions import extract
from knowledge_base.xml_reader import Notes
from tests.cockpit.cockpit_browser import EDITOR, Cockpit, Visit, dumped, told, visiting
from tests.cockpit.keyboard import Keyboard
from tests.cockpit.shown_crawl import CRAWL, FORUM, HOSTILE, THREAD
from tests.cockpit.test_every_page import EXTENTS, IN_STUDIO, PARTS, Walk, got
from tests.shipped import shipped

pytestmark = pytest.mark.slow

STUDIO = f"/crawls/{CRAWL}/studio"
WORK = f"{STUDIO}/works/phpbb"
LEARNED_POSTS = b"""<extract name="posts" type="reply" many="yes"><item css="div.post"/>
<identity trim="p" prefix="p"><select xpath="@id"/></identity>
<field name="author" kind="person"><select css=".author"/></field>
<field name="body"><select css=".content"/></field></extract>"""


@dataclass(frozen=True, slots=True)
class Studio:
    """A cockpit with a work on phpBB, a learned repair and an entry of one's own."""

    cockpit: Cockpit
    own: OwnFolder


@pytest.fixture(scope="module")
def studio(shown: Cockpit) -> Studio:
    own = OwnFolder(shown.place / "knowledge-base")
    xml = (SHIPPED / "applications" / "phpbb.xml").read_bytes()
    own.save("phpbb", xml, None, "Ada", "copied")
    own.save("phpbb", xml.replace(b"<about>", b"<about>Ours. "), None, "Bo", "said whose it is")
    kind = next(kind for kind in shipped().kinds if kind.name == "web-forum")
    action = extract(etree.fromstring(LEARNED_POSTS), None, kind, Notes(Path("learned")))
    url = f"http://{FORUM}{THREAD}"
    Overlay(shown.place / CRAWL / LEARNED).keep(
        LearnedAction(
            site=FORUM,
            application="phpBB",
            level="thread",
            name="learned-posts-1",
            method=Method.INDUCED,
            pages=(url,),
            confidence=0.9,
            date=datetime(2026, 1, 2, tzinfo=UTC),
            action="posts",
            failure="nothing-found",
            before=0,
            after=3,
            wrapper=Wrapper(action, Support(1, 0, 3)),
        )
    )
    return Studio(shown, own)


@pytest.fixture(scope="module")
def visit(chromium: Browser, studio: Studio) -> Iterator[Visit]:
    """Yield a browser of somebody who may edit."""
    with visiting(chromium, studio.cockpit, EDITOR) as visit:
        yield visit


@pytest.fixture
def editing(visit: Visit) -> Iterator[Visit]:
    """Yield that browser, with a work of phpBB as it was saved last."""
    with visit.client.at_work(STUDIO, "phpbb"):
        yield visit
        assert not visit.strange()


def _open(visit: Visit, url: str) -> Page:
    """Go to a captured page within the work."""
    host = url.partition("/")[0]
    page = visit.goto(f"{WORK}/pages?host={host}")
    page.locator("main section a").filter(has_text=re.compile(f"{re.escape(url)}$")).first.click()
    page.frame_locator("[name=marked]").locator("body").wait_for()
    return page


@pytest.mark.parametrize("is_full", EXTENTS)
def test_every_page_of_the_studio(editing: Visit, studio: Studio, is_full: bool) -> None:
    walk = Walk(editing, is_full=is_full)
    for path in (STUDIO, f"{STUDIO}/begin?host={HOSTILE}", f"{STUDIO}/entries/phpbb", f"{STUDIO}/repairs"):
        walk.look(editing.goto(path), path)
    editing.page.get_by_role("link", name="Look at it").click()
    expect(editing.page.get_by_role("heading", name="With the repair")).to_be_visible()
    walk.look(editing.page, "repair")
    page = editing.goto(WORK)
    expect(page.get_by_text(re.compile(r"Counted on \d"))).to_be_visible()
    walk.look(page, "work")
    walk.look(editing.goto(f"{WORK}/xml"), "text")
    walk.look(editing.goto(f"{WORK}/pages?host={FORUM}"), "pages")
    page = _open(editing, f"{FORUM}{THREAD}")
    page.frame_locator("[name=marked]").get_by_text("date", exact=True).first.click()
    expect(page.get_by_role("heading", name="What is it?")).to_be_visible()
    walk.look(page, "page with a choice")
    page.locator("#chosen").get_by_role("link", name="its date").first.click()
    expect(page.get_by_role("link", name="Look at it").first).to_be_visible()
    walk.look(page, "page with rules")
    page.get_by_role("link", name="Look at it").first.click()
    expect(page.get_by_role("button", name="Keep it", exact=True)).to_be_visible()
    walk.look(page, "page with values")
    editing.goto(WORK).get_by_role("button", name="Try it", exact=True).click()
    expect(page.get_by_role("link", name="Back to the work")).to_be_visible()
    walk.look(page, "trial")
    assert not walk.wrong, dumped(walk.wrong)
    every = {route.path for route in got(studio.cockpit) if route.path.startswith(IN_STUDIO)}
    assert every - walk.looked_at - PARTS == set()


def test_what_is_chosen_is_kept_and_taken_back(editing: Visit) -> None:
    page = _open(editing, f"{FORUM}{THREAD}")
    page.frame_locator("[name=marked]").get_by_text("date", exact=True).first.click()
    page.locator("#chosen").get_by_role("link", name="its date").first.click()
    page.get_by_role("link", name="Look at it").first.click()
    expect(page.get_by_text(re.compile("The values on .* pages"))).to_be_visible()
    page.get_by_role("button", name="Keep it", exact=True).click()
    assert told(page).startswith("The date of reply is")
    page = editing.goto(WORK)
    page.get_by_role("button", name="Undo").click()
    assert told(page).startswith("Took back: the date of reply")
    expect(page.get_by_role("button", name="Redo")).to_be_visible()


def test_an_element_is_chosen_by_keys_alone(editing: Visit) -> None:
    page, keys = _open(editing, f"{FORUM}{THREAD}"), Keyboard(editing.page)
    page.locator("#main").focus()
    keys.tab_to("iframe", "")
    keys.press("ArrowDown", "ArrowRight", "ArrowDown", "Enter")
    expect(page.get_by_role("heading", name="What is it?")).to_be_visible()
    expect(page.locator("#chosen code").first).to_be_visible()
    page.locator("iframe").focus()
    keys.press("Escape")
    assert keys.focused()["tag"] == "input"
    assert keys.focused()["name"] == "Find by the text that you see"


def test_without_scripts_an_element_is_found_by_its_text(chromium: Browser, studio: Studio, editing: Visit) -> None:
    del editing  # It holds the work.
    with visiting(chromium, studio.cockpit, EDITOR, java_script_enabled=False) as visit:
        page = visit.goto(f"{WORK}/pages?host={FORUM}")
        page.locator("main section a").filter(has_text=re.compile(f"{re.escape(THREAD)}$")).first.click()
        page.get_by_role("button", name="Show the page").click()
        expect(page.frame_locator("[name=marked]").get_by_text("title", exact=True).first).to_be_visible()
        page.get_by_label("Find by the text that you see").fill("Missing minutes")
        page.get_by_role("button", name="Find").click()
        page.locator("#chosen").get_by_role("link", name=re.compile("^Choose the")).first.click()
        page.locator("#chosen").get_by_role("link", name="its title").first.click()
        page.get_by_role("link", name="Look at it").first.click()
        expect(page.get_by_role("button", name="Keep it", exact=True)).to_be_visible()


def test_a_frame_says_numbers_of_its_page_and_nothing_else_is_heard(editing: Visit) -> None:
    page = _open(editing, f"{FORUM}{THREAD}")
    frame = page.frame("marked")
    assert frame is not None
    frame.wait_for_url("**/marked/**")
    before = len(editing.asked)
    for said in ("'3'", "3.5", "-3", "1e9", "{element: 3}", "[3]", "null", "'<b>'"):
        frame.evaluate(f"parent.postMessage({said}, '*')")
    page.evaluate("window.postMessage(3, '*')")
    page.wait_for_timeout(300)
    assert not [url for url in editing.asked[before:] if "chosen" in url]
    frame.evaluate("parent.postMessage(3, '*')")
    expect(page.get_by_role("heading", name="What is it?")).to_be_visible()
    expect(page.locator("#chosen")).not_to_have_attribute("aria-busy", "true")
    assert [url for url in editing.asked[before:] if "chosen" in url]


def test_a_page_that_means_ill_reaches_nothing(editing: Visit, studio: Studio) -> None:
    asked, acts = len(editing.asked), studio.cockpit.place / CRAWL / "steering.jsonl"
    noted = acts.read_text("utf-8") if acts.exists() else ""
    page = _open(editing, f"{HOSTILE}/attack")
    frame = page.frame("marked")
    assert frame is not None
    expect(frame.locator("#text")).to_be_visible()
    at = page.url
    for name in ("#out", "#blank", "#js", "#send", "#ticket", "#text"):
        frame.locator(name).click(force=True, no_wait_after=True)
        page.wait_for_timeout(100)
    assert (page.url, len(editing.context.pages), frame.title()) == (at, 1, "Attack")
    expect(page.locator("#chosen")).to_contain_text("The flood came over the dyke.")
    assert frame.evaluate("Object.getOwnPropertyDescriptor(Document.prototype, 'cookie').get.call(document)") == ""
    own = (f"{studio.cockpit.names.cockpit}{WORK}", f"{studio.cockpit.names.cockpit}/static/", "about:", "data:")
    assert not [url for url in editing.asked[asked:] if not url.startswith((studio.cockpit.names.replay, *own))]
    assert (acts.read_text("utf-8") if acts.exists() else "") == noted
    assert not editing.strange()
