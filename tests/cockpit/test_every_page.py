"""Every page of the cockpit in a browser: accessible, within its window, without errors, and of no other host."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect
from starlette.routing import Match, Route
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.exits import NOT_WHOLE
from aahcrawler.service.cockpit.site import address
from tests.cockpit.cockpit_browser import (
    SCREEN,
    Cockpit,
    Visit,
    dumped,
    length_of,
    serving,
    shoot,
    spilt,
    told,
    violations,
    visiting,
    watching,
)
from tests.cockpit.shown_crawl import CRAWL, HOSTILE, LONG, MARKUP, THREAD
from tests.crawl.world import crawl
from tests.imports.archives import members, pages, record
from tests.sources.dated import Dated, write_archive
from tests.sources.dated import page as flood_page

pytestmark = pytest.mark.slow

HERE = f"/crawls/{CRAWL}"
PARTS = frozenset(
    {
        "/crawls/{crawl}/live",
        "/crawls/{crawl}/captures/{record}/in-small",
        "/crawls/{crawl}/captures/{record}/{picture}",
        "/crawls/{crawl}/changes.atom",
        "/crawls/{crawl}/files/archive.tar",
        "/crawls/{crawl}/files/warc/{name}",
        "/crawls/{crawl}/files/report.html",
        "/crawls/{crawl}/files/pages.csv",
        "/crawls/{crawl}/files/objects.csv",
        "/crawls/{crawl}/files/archive.wacz",
        "/crawls/{crawl}/package/{job}",
        "/collections/{name}/collection.wacz",
        "/collections/{name}/package/{job}",
        "/search/results.{how}",
        "/archive/spoken.csv",
        "/crawls/{crawl}/archive/spoken.csv",
        "/crawls/{crawl}/archive/spoken/{kind}/mentions.csv",
        "/crawls/{crawl}/archive/spoken/{kind}/ties.csv",
        "/crawls/{crawl}/archive/pictures/list.csv",
        "/crawls/{crawl}/archive/pictures/{record}/{size}",
        "/crawls/{crawl}/archive/keep/proposals.csv",
        "/crawls/{crawl}/archive/keep/decisions.jsonl",
        "/crawls/{crawl}/archive/keep/job/{job}",
        "/crawls/{crawl}/archive/keep/files/{ending}",
        "/crawls/{crawl}/archive/keep/files/{ending}/job/{job}",
        "/crawls/{crawl}/collected/pages.csv",
        "/crawls/{crawl}/collected/pages.graphml",
        "/crawls/{crawl}/collected/missing.txt",
        "/crawls/{crawl}/archive/judge/judgements.csv",
        "/crawls/{crawl}/archive/judge/judgements.jsonl",
        "/crawls/{crawl}/archive/alike.csv",
        "/crawls/{crawl}/captures/{record}/text.txt",
        "/crawls/{crawl}/archive/conversations.csv",
        "/crawls/{crawl}/archive/conversations.graphml",
        "/crawls/{crawl}/url/scores",
        "/crawls/{crawl}/exclusions/preview/{job}",
        "/crawls/{crawl}/steer/{section}/preview/{job}",
        "/draft/reference/{crawl}/{job}",
        "/draft/trial/{trial}",
        "/new/collection/sample/{name}/{job}",
        "/crawls/{crawl}/studio/jobs/{job}/part",
        "/crawls/{crawl}/studio/works/{work}/parts",
        "/crawls/{crawl}/studio/works/{work}/checks",
        "/crawls/{crawl}/studio/works/{work}/pages/{record}/chosen",
    }
)
"""What pages ask for, and what is no page itself."""
IN_STUDIO = "/crawls/{crawl}/studio/"
"""How the addresses of pages begin that are looked at with a work at hand."""
WIDE, MIDDLE, NARROW = 1280, 800, 390
WINDOW = ViewportSize(width=WIDE, height=800)
SIGHTS = ((WIDE, "light"), (MIDDLE, "light"), (NARROW, "dark"))
"""The widths of windows, and the colours in them."""
EXTENTS = [False, pytest.param(True, marks=pytest.mark.soak)]
"""Whether a walk looks at two pages of each route, in all sights, or at one, in one of them, one after another."""
_LINKS = """() => [...document.querySelectorAll("a[href]")].map(each => each.href.baseVal
  ? new URL(each.href.baseVal, document.baseURI).href : each.href)"""
_FORMS = """() => [...document.forms].filter(each => each.method === "get" && each.checkValidity()).map(each =>
  `${each.action.split("?")[0]}?${new URLSearchParams(new FormData(each))}`)"""


_LINES_OF_TABS = 'new Set([...document.querySelectorAll(".tabs li")].map(each => each.offsetTop)).size'
_SIGNS = r"""() => {
  const sign = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;
  return [document.title, document.body.innerText].filter(each => sign.test(each) || each === "ran");
}"""
"""Signs that would change how a page is read, and the title that scripts of the archive would give it."""


class Walk:
    """Goes from link to link and from search to search, and looks at some pages of each route."""

    def __init__(self, visit: Visit, *, is_full: bool) -> None:
        self.visit, self.wrong = visit, list[object]()
        self._is_full, self._looks, self._most = is_full, 0, 2 if is_full else 1
        self._taken: dict[str, set[str]] = {}
        self._ahead: list[str] = []

    @property
    def looked_at(self) -> frozenset[str]:
        """The routes of which a page was looked at."""
        return frozenset(self._taken)

    def from_page(self, path: str) -> None:
        """Look at a page and all that it leads to, each loaded in the sight in which it is looked at first."""
        self._ahead.append(path)
        while self._ahead:
            path = self._ahead.pop(0)
            if self._is_new(path):
                _see(self.visit.page, *self._sights()[0])
                self._look(self.visit.goto(path), path)
        self.visit.page.set_viewport_size(WINDOW)

    def look(self, page: Page, name: str) -> None:
        """Note what is wrong with the page that is open, and take up its links; leave it as wide as it was."""
        self._look(page, name)
        page.set_viewport_size(WINDOW)

    def _sights(self) -> Sequence[tuple[int, str]]:
        """Return in what sights the next page is looked at."""
        return SIGHTS if self._is_full else SIGHTS[self._looks % len(SIGHTS) :][:1]

    def _look(self, page: Page, name: str) -> None:
        route = self.route_of(page.url.removeprefix(self.visit.cockpit.names.cockpit))
        self._taken.setdefault(str(route), set())
        self.wrong += [(name, *each) for each in _faults(page, name, self._sights())]
        self._looks += 1
        self.wrong += [(name, each) for each in self.visit.wrong]
        self.visit.wrong.clear()
        origin = self.visit.cockpit.names.cockpit
        found: list[str] = [*page.evaluate(_LINKS), *page.evaluate(_FORMS)]
        self._ahead += [url.removeprefix(origin).partition("#")[0] for url in found if url.startswith(f"{origin}/")]

    def _is_new(self, path: str) -> bool:
        route = self.route_of(path)
        if route is None:
            self.wrong.append((path, "is linked, and no page"))
            return False
        asked = parse_qs(urlsplit(path).query)
        variant = " ".join(sorted(name if name in _FREE else f"{name}={value[0]}" for name, value in asked.items()))
        taken = self._taken.setdefault(route, set())
        if route in PARTS or variant in taken or len(taken) >= self._most:
            return False
        taken.add(variant)
        return True

    def route_of(self, path: str) -> str | None:
        """Return the path of the route of a page, None where there is none."""
        scope = {"type": "http", "method": "GET", "path": unquote(urlsplit(path).path), "headers": []}
        return next((route.path for route in got(self.visit.cockpit) if route.matches(scope)[0] is Match.FULL), None)


_FREE = frozenset(
    {"url", "iri", "text", "before", "after", "site", "words", "application", "type", "reason", "verdict"}
)


def got(cockpit: Cockpit) -> Iterator[Route]:
    """Yield the routes that are got."""
    return (route for route in cockpit.routes if "GET" in (route.methods or ()))


def _faults(page: Page, name: str, sights: Sequence[tuple[int, str]]) -> Iterator[Sequence[object]]:
    for width, colours in sights:
        _see(page, width, colours)
        is_mistaken = page.locator(".mistake").count() > 0  # Then it is as long as the topics that mistakes open.
        if width == WIDE and not is_mistaken and (length := length_of(page)) > 3 * SCREEN:
            yield width, "longer than three screens", length
        if width == WIDE and (lines := page.evaluate(_LINES_OF_TABS)) > 1:
            yield width, "tabs on several lines", lines
        yield from ((width, "wider than the window", each) for each in spilt(page))
        if width != MIDDLE:
            yield from ((width, *each) for each in violations(page))
            yield from ((width, "shown as it is", each) for each in page.evaluate(_SIGNS))
        shoot(page, f"{re.sub('[^a-z0-9]+', '-', unquote(name).lower())[:80].strip('-') or 'first'}-{width}-{colours}")


def _see(page: Page, width: int, colours: str) -> None:
    page.emulate_media(color_scheme="dark" if colours == "dark" else "light")
    if page.viewport_size != (size := ViewportSize(width=width, height=SCREEN)):
        page.set_viewport_size(size)


def test_pale_text_is_found_on_each_page_beside_good_text_of_other_pages(chromium: Browser) -> None:
    good, pale, paler = "color: #222", "color: #bbb", "background: #444"
    page = chromium.new_page()
    try:
        for styles, found in (([good], 0), ([good, pale, pale], 1), ([pale], 1), ([good, paler], 1), ([good], 0)):
            texts = "".join(f'<p style="{style}">The dike</p>' for style in styles)
            page.set_content(f'<html lang="en"><title>A</title><main style="background: #fff"><h1>B</h1>{texts}</main>')
            assert [each[0] for each in violations(page)] == ["color-contrast"] * found, styles
        page.set_content(
            f'<html lang="en"><title>A</title><main style="background: #fff"><img src="a"><p style="{good}">'
        )
        assert "image-alt" in [each[0] for each in violations(page)]
    finally:
        page.context.close()


@pytest.mark.parametrize("is_full", EXTENTS)
def test_pages_that_links_and_searches_lead_to(chromium: Browser, shown: Cockpit, is_full: bool) -> None:
    with visiting(chromium, shown) as visit:
        walk = Walk(visit, is_full=is_full)
        walk.from_page("/")
        for url in (f"http://{HOSTILE}/never/1", f"http://{HOSTILE}/", f"http://{HOSTILE}/down"):
            walk.look(visit.goto(address("crawls", CRAWL, "url", url=url)), f"url {url}")
        for text in (f"{HOSTILE}/", THREAD):
            visit.goto(address("crawls", CRAWL, "pages", text=text))
            visit.page.locator("td.url a").last.click()
            walk.look(visit.page, f"capture {text}")
            visit.page.get_by_role("link", name="Differences").first.click()
            walk.look(visit.page, f"compare {text}")
        assert not walk.wrong, dumped(walk.wrong)
        assert not visit.strange()
        every = {route.path for route in got(shown) if not route.path.startswith(IN_STUDIO)}
        assert every - walk.looked_at - PARTS == {"/sign-in", "/crawls/{crawl}/collected"}


@pytest.mark.parametrize("is_full", EXTENTS)
def test_pages_of_an_import(chromium: Browser, tmp_path: Path, is_full: bool) -> None:
    place, path = tmp_path / "archives", tmp_path / "dikes.warc.gz"
    path.write_bytes(members([*pages(3), record(40, b"HTTP/1.1 404 Gone\r\n\r\n", url="http://dikes.test/g")])[:-30])
    assert CliRunner().invoke(app, ["import", str(path), str(place / "dikes")]).exit_code == NOT_WHOLE
    with serving(place) as cockpit, visiting(chromium, cockpit) as visit:
        walk = Walk(visit, is_full=is_full)
        walk.look(visit.goto("/"), "crawls with an import")
        for part in ("", "?told=all", "/archive", "/pages?captured=2011&media=text/html", "/manage", "/definition"):
            walk.look(visit.goto(f"/crawls/dikes{part}"), f"import {part}")
        for part in ("spoken", "alike", "conversations", "pictures", "keep", "judge"):  # There is nothing to show yet.
            if is_full:
                walk.look(visit.goto(f"/crawls/dikes/archive/{part}"), f"import archive/{part}")
            else:
                visit.client.page(f"/crawls/dikes/archive/{part}")
        assert not walk.wrong, dumped(walk.wrong)
        visit.goto("/crawls/dikes/archive")
        expect(visit.page.get_by_role("link", name="2011-02: 3 captures")).to_be_visible()
        visit.page.get_by_role("link", name="2011-02: 3 captures").click()
        expect(visit.page.get_by_text("3 captures, made in 2011-02")).to_be_visible()


@pytest.mark.parametrize("is_full", EXTENTS)
def test_the_page_of_a_collection(chromium: Browser, tmp_path: Path, is_full: bool) -> None:
    home, names = "http://dikes.test/", [f"page{number}" for number in range(12)]
    body = flood_page(escape(f"{MARKUP} {LONG}"), *names)
    held = [Dated(f"{home}{name}", "2013-06-06T10:00:00Z", body) for name in names[:9]]
    named = [
        {"name": "north", "archive": str(write_archive(tmp_path / "north.warc.gz", held[::2]))},
        {"name": "south", "archive": str(write_archive(tmp_path / "south.warc.gz", held[1::2]))},
    ]
    event = {"start": "2013-06-01", "end": "2013-06-30"}
    place = tmp_path / "crawls"
    captures, output = {"sources": named}, str(place / "dikes")
    ended = crawl(tmp_path, [f"{home}page0"], id="dikes", captures=captures, event=event, output=output).ended
    assert ended.code == 0, ended.err
    with serving(place) as cockpit, visiting(chromium, cockpit) as visit:
        walk = Walk(visit, is_full=is_full)
        path = "/crawls/dikes/collected"
        visit.goto("/crawls/dikes").get_by_role("link", name="Collection", exact=True).click()
        expect(visit.page.get_by_role("heading", name="Contribution of each archive")).to_be_visible()
        walk.look(visit.page, path)
        walk.look(visit.goto("/crawls/dikes"), "a crawl with a collection")
        visit.goto(path)
        for part in ("pages.csv", "pages.graphml", "missing.txt"):
            answer = visit.context.request.get(f"{cockpit.names.cockpit}{path}/{part}")
            assert answer.status == 200
            assert (f"{home}page9" if part == "missing.txt" else f"{home}page8") in answer.text()
        assert not walk.wrong, dumped(walk.wrong)
        visit.page.locator("svg a").last.click()
        expect(visit.page.get_by_role("heading", level=1)).to_be_visible()
        assert "/captures/" in visit.page.url


def test_on_a_narrow_screen_the_tab_that_is_open_is_in_sight(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown, viewport={"width": NARROW, "height": 800}) as visit:
        for path in ("", "/log"):
            expect(visit.goto(f"{HERE}{path}").locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.9)


@pytest.mark.parametrize("is_full", EXTENTS)
def test_pages_that_acts_lead_to(chromium: Browser, shown: Cockpit, is_full: bool) -> None:
    with visiting(chromium, shown) as visit:
        walk = Walk(visit, is_full=is_full)
        page = visit.goto("/new")
        page.get_by_label("Addresses", exact=True).fill("no address\n\u202e<b>")
        page.get_by_label("Contact").fill("a@example.org")
        page.get_by_label("A subject").check()
        page.get_by_role("button", name="Start the crawl").click()
        walk.look(page, "new with mistakes")
        page.get_by_label("Addresses", exact=True).fill("http://127.0.0.1:1/\nno address")
        page.get_by_label("Words and phrases").fill("flood")
        page.locator(".more > summary").click()
        page.get_by_label("Find a field").fill("pictures")
        expect(page.locator("#more-fields .field:visible label")).to_contain_text(["Pictures of pages"])
        walk.look(page, "new with more")
        page.get_by_role("button", name="Write the definition").click()
        walk.look(page, "draft")
        page.get_by_label("A text").fill(
            "The flood of 2024 hit Lower Saxony, said Angela Merkel; see https://www.ndr.de/ " * 9
        )
        page.get_by_role("button", name="Suggest").click()
        walk.look(page, "draft with suggestions")
        page.get_by_role("button", name="Try the seeds").click()
        expect(page.get_by_text("1 of 1 seed tried.")).to_be_visible()
        walk.look(page, "draft with a trial")

        page = visit.goto(f"{HERE}/definition")
        page.locator("#yaml").fill(f"id: {CRAWL}\nseeds: [nowhere]\nlimits: {{pages: -1}}\nunknown: \u202e\n")
        expect(page.locator("#mistakes")).to_contain_text("mistakes")
        page.get_by_role("button", name="Save").click()
        assert "mistakes" in told(page)
        walk.look(page, "definition with mistakes")
        assert not walk.wrong, dumped(walk.wrong)


@pytest.mark.parametrize("is_full", EXTENTS)
def test_pages_that_steering_leads_to(chromium: Browser, shown: Cockpit, is_full: bool) -> None:
    with visiting(chromium, shown) as visit:
        walk = Walk(visit, is_full=is_full)
        for section, label, text in (("limits", "Pages", "80"), ("scope", "No addresses like", "/cal/")):
            page = visit.goto(f"{HERE}/steer/{section}")
            page.get_by_label(label, exact=True).fill(text)
            page.get_by_role("button", name="Show what it would do").click()
            expect(page.get_by_role("button", name="Change it")).to_be_visible()
            walk.look(page, f"steer {section}")
        page = visit.goto(address("crawls", CRAWL, "url", url="http://elsewhere.test/flood"))
        page.get_by_role("link", name="Change the scope").click()
        expect(page.get_by_label("Only addresses like")).to_have_value(re.compile("elsewhere"))
        page.get_by_role("button", name="Show what it would do").click()
        expect(page.get_by_role("button", name="Change it")).to_be_visible()
        walk.look(page, "steer scope to admit a URL")
        page = visit.goto(f"{HERE}/steer/weights")
        page.locator("input[name*=text]").fill("0.25")
        page.get_by_role("button", name="Show what it would do").click()
        expect(page.get_by_text("The order of the queue then")).to_be_visible()
        walk.look(page, "steer weights")
        page.locator("input[name*=text]").fill("much")
        page.get_by_role("button", name="Show what it would do").click()
        walk.look(page, "steer weights with a mistake")
        page = visit.goto(f"{HERE}/exclusions")
        page.get_by_label("URL, host or pattern").fill(f"http://{HOSTILE}/")
        page.get_by_role("button", name="Show what it would hit").click()
        expect(page.get_by_role("button", name="Exclude these")).to_be_visible()
        walk.look(page, "exclusions with a preview")
        assert not walk.wrong, dumped(walk.wrong)


@pytest.mark.parametrize("is_full", EXTENTS)
def test_pages_of_those_who_are_not_signed_in_and_of_problems(chromium: Browser, shown: Cockpit, is_full: bool) -> None:
    with watching(chromium, shown) as visit:
        walk = Walk(visit, is_full=is_full)
        walk.look(visit.goto("/"), "sign in")
        visit.page.get_by_label("Code or token").fill("wrong")
        visit.page.keyboard.press("Enter")
        expect(visit.page.get_by_role("alert")).to_be_visible()
        assert [said for said in visit.wrong if "403" not in said] == []
        visit.wrong.clear()
        walk.look(visit.page, "sign in after a wrong code")
        assert not walk.wrong, dumped(walk.wrong)
    with visiting(chromium, shown) as visit:
        walk = Walk(visit, is_full=is_full)
        for path in ("/nowhere", "/crawls/unknown", f"{HERE}/captures/none", f"{HERE}/queue?state=%E2%80%AE"):
            page = visit.goto(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert all("Failed to load resource" in said for said in visit.wrong), visit.wrong
            visit.wrong.clear()
            walk.look(page, f"problem {path}")
        assert not walk.wrong, dumped(walk.wrong)
