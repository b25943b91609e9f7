"""What the cockpit is for, done with the keys alone: no pointer, and no field filled but by typing."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from aahcrawler.crawls import running_process
from tests.browsing import patient
from tests.cockpit.cockpit_browser import Cockpit, told, visiting
from tests.cockpit.keyboard import Keyboard
from tests.cockpit.shown_crawl import CRAWL, EDITED, THREAD
from tests.crawl.crawling import running, until
from tests.crawl.site import Reply, Site, html, links
from tests.crawl.site import serving as serving_site
from tests.crawl.world import LOOPBACK, define
from tests.service.forked_crawls import FORKING

pytestmark = pytest.mark.slow

ENDLESS, MADE = "endless", "the-harbour"
TRAP = "/calendar/"
_FAR = 12
"""How far the crawl without end has to have come before tests look at it."""
_YAML = """
network: {allow_private: [127.0.0.0/8]}
traps: {pages: 0, soft_404: ignore, duplicates: follow}
"""
_CODE = re.compile(r"the code (\S+) \(good for one sign-in\)")


@dataclass(frozen=True, slots=True)
class Driven:
    """A cockpit that ``aah cockpit`` serves, whose terminal shows a code, and the site that its crawls fetch."""

    origin: str
    code: str
    place: Path
    site: Site


def endless(path: str) -> Reply:
    """Return a page about the harbour that leads on, one beside the way, and a day of a calendar without end.

    The crawl of branch b is waited for; the one that runs beside all tests is to take little of the processor, once it
    has come as far as they need.
    """
    branch, _, rest = path.strip("/").partition("/")
    number = int(rest) if rest.isdecimal() else 0
    pause = {"a": 0.2 if number <= _FAR else 3.0, "b": 0}.get(branch, 0.2)
    if branch == "calendar":
        return Reply(html(f"Day {number}", links(f"{TRAP}{number + 1}", f"{TRAP}{number + 2}")).body, pause=pause)
    onward = links(f"/{branch}/{number + 1}", f"/aside/{number}", f"{TRAP}{number}") if branch in "ab" else ""
    text = f"<p>The flood at the harbour and the dike, page {number}.</p>" if branch != "aside" else "<p>Weather.</p>"
    return Reply(html(f"Harbour {path}", text + onward).body, pause=pause)


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """Yield a cockpit and a crawl without end that runs beside it."""
    place = tmp_path_factory.mktemp("driven") / "crawls"
    place.mkdir()
    with serving_site(Site({"/robots.txt": Reply(b"", 404)}, other=endless)) as site, _running(place, site) as driven:
        yield driven


@contextmanager
def _running(place: Path, site: Site) -> Iterator[Driven]:
    icd = define(
        place.parent,
        [f"{site.url}a/1"],
        id=ENDLESS,
        title="Without end",
        network={"allow_private": LOOPBACK},
        traps={"pages": 0, "soft_404": "ignore", "duplicates": "follow"},
        output=str(place / ENDLESS),
    )
    with running("crawl", icd), running("cockpit", "--port", "0", place, code=FORKING) as cockpit:
        lines = [cockpit.process.stdout.readline() for _ in range(2)]
        found, code = re.search(r"at (http://\S+)/ until", lines[0]), _CODE.search(lines[1])
        assert found, lines
        assert code, lines
        try:
            yield Driven(found[1], code[1], place, site)
        finally:
            _end(place / MADE)


def _end(folder: Path) -> None:
    process = running_process(folder)
    if process is not None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def page(chromium: Browser, driven: Driven) -> Iterator[Page]:
    """Yield a page of a browser that was signed in with the code that the terminal showed, which is typed."""
    page = patient(chromium.new_context(viewport={"width": 1280, "height": 800})).new_page()
    page.goto(driven.origin)
    page.keyboard.type(driven.code.lower())
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Crawls")).to_be_visible()
    yield page
    page.context.close()


def test_the_first_key_leads_past_the_menus(page: Page, driven: Driven) -> None:
    keys = Keyboard(page)
    page.goto(f"{driven.origin}/crawls/{ENDLESS}/queue")
    keys.tab_to("a", "Skip to the content")
    keys.press("Enter", "Tab")
    assert keys.focused()["name"].startswith("Look up one URL")
    assert keys.focused()["seen"]


def test_a_crawl_is_begun_from_a_pasted_list_and_seen_to_run_and_end(page: Page, driven: Driven) -> None:
    keys = Keyboard(page)
    page.goto(driven.origin)
    keys.go("a", "New crawl")
    keys.tab_to("textarea", "Addresses")
    page.keyboard.insert_text(f"{driven.site.url}b/1\nno address\n")
    keys.tab_to("input", "The whole site")
    keys.press("ArrowRight")
    for tag, name, text in (
        ("textarea", "Words and phrases", "harbour\nflood"),
        ("input", "Pages at most", "40"),
        ("input", "Contact", "archive@example.org"),
    ):
        keys.tab_to(tag, name)
        keys.write(text)
    for name in ("More", "The crawl"):
        keys.tab_to("summary", name)
        keys.press("Enter")
    keys.tab_to("input", "Title")
    keys.write("The harbour")
    keys.go("button", "Write the definition")
    assert "no address" in page.locator(".note.warn").inner_text()
    keys.tab_to("summary", "Politeness")
    keys.press("Enter")
    keys.tab_to("input", "Delay")
    keys.write("0 s")
    keys.tab_to("textarea", "The definition as text")
    expect(page.locator("#yaml")).to_have_value(re.compile(r"delay: 0 s\b"))
    keys.press("Control+End")
    page.keyboard.type(_YAML)
    expect(page.locator("#f-network-allow_private")).to_have_value(re.compile(r"127\.0\.0\.0/8"))
    keys.go("button", "Save and start the crawl", back=True)
    assert "The harbour" in told(page)
    now = page.locator("#now")
    expect(now.locator(".state")).to_have_text("stopped")
    expect(now).to_contain_text("limits.pages reached")
    assert int(now.locator("dd").first.inner_text().split()[0]) >= 40
    assert driven.site.paths().count("/b/20") == 1


def test_why_a_page_waits_is_found_out_and_it_is_fetched(page: Page, driven: Driven) -> None:
    keys = Keyboard(page)
    until(lambda: f"/a/{_FAR}" in driven.site.paths())
    page.goto(f"{driven.origin}/crawls/{ENDLESS}")
    keys.go("a", "Queue")
    keys.tab_to("input", "In the URL")
    keys.write("/aside/")
    with page.expect_navigation():
        keys.press("Enter")
    keys.tab_to("a", driven.site.url)
    path = f"/{keys.focused()['name'].removeprefix(driven.site.url)}"
    with page.expect_navigation():
        keys.press("Enter")
    story = page.locator("section").filter(has=page.get_by_role("heading", name="What became of it"))
    expect(story).to_contain_text(re.compile("fetched before it|It is the next one of its site"))
    assert path not in driven.site.paths()
    keys.go("button", "Fetch it now")
    assert "as soon as its site's delay allows" in told(page)
    until(lambda: path in driven.site.paths())


def test_a_trap_is_excluded_after_a_preview_and_let_in_again(page: Page, driven: Driven) -> None:
    keys = Keyboard(page)
    until(lambda: f"/a/{_FAR}" in driven.site.paths())
    page.goto(f"{driven.origin}/crawls/{ENDLESS}")
    keys.go("a", "Exclusions")
    keys.tab_to("select", "Exclude")
    keys.press("End", "Home", "ArrowDown", "ArrowUp")
    keys.tab_to("input", "URL, host or pattern")
    keys.write(f"{driven.site.url}calendar/")
    with page.expect_navigation():
        keys.press("Enter")
    exclude = page.get_by_role("button", name="Exclude these")
    expect(exclude).to_be_visible()
    assert re.search(r"keep [1-9][\d,]* queued URLs? from being fetched", page.locator("main").inner_text())
    keys.go("button", "Exclude these")
    assert re.match(r"[1-9][\d,]* URLs that waited are blocked", told(page))
    keys.go("button", "Take it back")
    assert re.match(r"[1-9]", told(page)), told(page)
    expect(page.get_by_role("button", name="Take it back")).to_have_count(0)


def test_a_thread_is_read_as_it_was_with_its_replies_outlined(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown) as visit:
        page = visit.goto(f"/crawls/{CRAWL}")
        keys = Keyboard(page)
        keys.go("a", "Pages")
        keys.tab_to("input", "In the title or URL")
        keys.write(THREAD.partition("?")[2])
        with page.expect_navigation():
            keys.press("Enter")
        keys.go("a", page.locator("td.url a").first.inner_text())
        keys.go("a", "Objects")
        frame = page.frame("replay")
        assert frame is not None
        frame.wait_for_selector("#aah-object-2")
        assert frame.locator("[id^=aah-object-]").count() > 4
        label = frame.locator("#aah-object-2")
        assert label.inner_text().startswith("reply")
        assert label.evaluate("each => getComputedStyle(each.parentElement).outlineStyle") == "solid"
        assert EDITED in frame.locator("body").inner_text()
        keys.tab_to("iframe", "The page as it was captured")
        before = frame.evaluate("scrollY")
        for _ in range(4):
            keys.press("Tab")
        keys.press("End")
        until(lambda: frame.evaluate("scrollY") > before)
        keys.tab_to("a", "reply")
        assert not visit.wrong
        assert not visit.strange()
