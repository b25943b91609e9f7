"""Two operators at once, a browser without scripts, and a printer."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.cockpit.cockpit_browser import Cockpit, told, visiting
from tests.cockpit.shown_crawl import CRAWL, HOSTILE

pytestmark = pytest.mark.slow

HERE = f"/crawls/{CRAWL}"


def differences(page: Page) -> str:
    """Return how what was typed differs from the definition as it is now."""
    return page.get_by_label("Differences").inner_text()


def test_who_changes_a_definition_second_is_told_and_loses_nothing(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown) as first, visiting(chromium, shown, token="") as second:
        for visit in (first, second):
            page = visit.goto(f"{HERE}/definition")
            for topic in ("The crawl", "Subject"):
                page.locator("summary", has_text=re.compile(f"^{topic}")).click()
        first.page.get_by_label("Institution").fill("The first archive")
        first.page.get_by_role("button", name="Save").click()
        assert "The first archive" in told(first.page)

        second.page.get_by_label("Institution").fill("The second archive")
        second.page.get_by_label("Keywords").fill("flood\nice")
        second.page.get_by_role("button", name="Save").click()
        assert "changed" in told(second.page)
        assert second.page.locator(".note.bad[role=status]").is_visible()
        expect(second.page.get_by_label("Institution")).to_have_value("The second archive")
        expect(second.page.locator("#yaml")).to_have_value(re.compile("The second archive"))
        expect(second.page.get_by_label("Keywords")).to_have_value(re.compile("flood\nice"))

        first.goto(f"{HERE}/definition")
        expect(first.page.get_by_label("Institution")).to_have_value("The first archive")
        log = first.goto(f"{HERE}/log").locator("section").first.inner_text()
        assert "operator" in log
        assert "The second archive" not in log

        assert re.search(r"^\+operator: .?The second archive", differences(second.page), re.MULTILINE)
        second.page.get_by_role("button", name="Save").click()
        assert "The second archive" in told(second.page)


def test_a_trap_is_excluded_and_let_in_again_without_scripts(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown, java_script_enabled=False) as visit:
        page = visit.goto(f"{HERE}/exclusions")
        page.get_by_label("Exclude", exact=True).select_option("prefix")
        page.get_by_label("URL, host or pattern").fill(f"http://{HOSTILE}/cal/")
        page.get_by_role("button", name="Show what it would hit").click()
        expect(page.get_by_role("heading", name="Queued, the best first")).to_be_visible()
        assert f"http://{HOSTILE}/cal/" in page.locator("section", has_text="Queued, the best first").inner_text()
        page.get_by_role("button", name="Exclude these").click()
        assert re.match("[1-9][0-9]* URLs? that waited", told(page)), told(page)
        page.goto(f"{shown.names.cockpit}{HERE}/queue?state=blocked")
        expect(page.get_by_role("link", name=f"http://{HOSTILE}/cal/").first).to_be_visible()
        page.goto(f"{shown.names.cockpit}{HERE}/exclusions")
        page.get_by_role("button", name="Take it back").click()
        assert "1" in told(page)
        page.goto(f"{shown.names.cockpit}{HERE}/queue?state=blocked")
        expect(page.get_by_role("link", name=f"http://{HOSTILE}/cal/")).to_have_count(0)


def test_a_capture_is_shown_without_scripts(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown, java_script_enabled=False) as visit:
        page = visit.goto(f"{HERE}/pages?text=viewtopic")
        page.locator("td.url a").first.click()
        page.get_by_role("button", name="Show the page").click()
        expect(page.frame_locator("[name=replay]").locator("#aah-object-1")).to_be_visible()


def test_paper_has_what_is_told_and_no_menus(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown) as visit:
        for path, kept in ((HERE, "How it went"), (f"{HERE}/exclusions", "Rules that hold"), (f"{HERE}/log", "Log")):
            page = visit.goto(path)
            assert page.locator("nav.tabs").is_visible()
            page.emulate_media(media="print")
            for hidden in page.locator("nav, header form, form.row, button, .skip, header a[href='/new']").all():
                assert not hidden.is_visible(), hidden.evaluate("each => each.outerHTML")
            assert page.get_by_role("heading", name=kept).first.is_visible()
            page.emulate_media(media="screen")
