"""Captures that mean ill, in the frame of a browser that is signed in; and texts of theirs on the cockpit's pages."""

import re

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from aahcrawler.service.cockpit.site import COOKIE
from tests.cockpit.cockpit_browser import OPERATOR, READER, Cockpit, spilt, visiting, watching
from tests.cockpit.shown_crawl import CRAWL, HOSTILE, MARKUP, THREAD
from tests.crawl.site import Site

pytestmark = pytest.mark.slow

HERE = f"/crawls/{CRAWL}"
CLICKED = ("#out", "#blank", "#js", "#send", "#ticket")


def _open_capture(page: Page, url: str) -> None:
    """Go from the list of pages to a capture of a URL."""
    page.get_by_label("In the title or URL").fill(url)
    page.get_by_role("button", name="Show").click()
    page.locator("td.url a").first.click()
    page.frame_locator("[name=replay]").locator("body").wait_for()


def test_a_capture_reaches_nothing_from_its_frame(chromium: Browser, shown: Cockpit, archived_site: Site) -> None:
    with visiting(chromium, shown) as visit:
        answered: list[Response] = []

        def note(answer: Response) -> None:
            answered.append(answer)

        visit.context.on("response", note)
        page, asked = visit.goto(f"{HERE}/pages"), len(archived_site.asked)
        _open_capture(page, f"{HOSTILE}/attack")
        at, acts = page.url, _acts(shown)
        frame = page.frame("replay")
        assert frame is not None
        expect(frame.locator("#text")).to_be_visible()
        for name in CLICKED:
            frame = page.frame("replay")
            assert frame is not None
            if frame.locator(name).count():
                frame.locator(name).click(force=True, no_wait_after=True)
                page.wait_for_timeout(100)
                # Where the frame goes on from the capture, it may do so only now.
                page.reload()
                page.frame_locator("[name=replay]").locator("#text").wait_for()
        assert (page.url, len(visit.context.pages)) == (at, 1)
        assert page.title().startswith("Capture")
        assert len(archived_site.asked) == asked, "the network"
        for answer in answered:
            inside = answer.frame.parent_frame is not None
            assert not (inside and answer.url.startswith(shown.names.cockpit)), f"the cockpit: {answer.url}"
            if answer.url.startswith(shown.names.replay):
                sent = answer.request.all_headers().get("cookie", "")
                assert COOKIE not in sent.replace("aah-replay", "")
        assert _acts(shown) == acts
        assert not visit.strange()
        assert not [url for url in visit.asked if url.startswith(("file:", "ws"))]


def _acts(cockpit: Cockpit) -> str:
    file = cockpit.place / CRAWL / "steering.jsonl"
    return file.read_text("utf-8") if file.exists() else ""


def test_scripts_of_captures_find_no_cookie_and_no_way_up(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown) as visit:
        page = visit.goto(f"{HERE}/pages")
        _open_capture(page, f"{HOSTILE}/attack")
        frame = page.frame("replay")
        assert frame is not None
        frame.locator("#text").wait_for()
        assert frame.title() == "Attack"
        # What the browser itself runs in the frame sees what a script of the page would: not even that finds anything.
        assert frame.evaluate("document.cookie") == ""
        assert frame.evaluate("(() => { try { return parent.document.title } catch (e) { return e.name } })()") == (
            "SecurityError"
        )
        assert page.evaluate("document.cookie") == ""
        (cookie,) = (each for each in visit.context.cookies() if each["name"] == COOKIE)
        assert cookie["domain"] == "127.0.0.1"


def test_no_secret_is_in_a_url(chromium: Browser, shown: Cockpit) -> None:
    with watching(chromium, shown) as visit:
        page, code = visit.goto("/"), shown.sign_in.code
        page.get_by_label("Code or token").fill(code)
        page.get_by_role("button", name="Sign in").click()
        _open_capture(visit.goto(f"{HERE}/pages"), THREAD)
        page.frame_locator("[name=replay]").locator("#aah-object-1").wait_for()
        page.goto(f"{shown.names.cockpit}{HERE}/definition")
        page.locator("summary", has_text=re.compile("^The crawl")).click()
        page.get_by_label("Title").fill("Another")
        expect(page.locator("#yaml")).to_have_value(re.compile(r"^title: \"Another\"$", re.MULTILINE))
        cookies = {cookie["value"]: cookie for cookie in visit.context.cookies()}
        (session,) = (shown.sign_in.session(value) for value, each in cookies.items() if each["name"] == COOKIE)
        assert session is not None
        assert len(cookies) == 2
        assert all(each["httpOnly"] for each in cookies.values())
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        secrets = (code, code.replace("-", ""), READER, OPERATOR, session.form_secret, *cookies)
        assert len(visit.asked) > 15
        assert not [url for url in visit.asked for secret in secrets if secret in url]


def test_texts_of_captures_are_shown_as_texts(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown, viewport={"width": 390, "height": 800}) as visit:
        for path in (f"{HERE}/objects?words=flood&type=article", f"{HERE}/log?text=onerror", HERE):
            page = visit.goto(path)
            text = page.locator("main").inner_text()
            assert "‹U+202E›gnp.exe‹U+202C›" in text, path
            assert path == HERE or MARKUP in text, path
            assert page.locator("main img, main script").count() == 0
            assert spilt(page) == []
            assert page.title().endswith("AAHCrawler cockpit")
        assert not visit.wrong
