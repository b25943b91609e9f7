"""A span of time is drawn over a picture, by keyboard as well, or written; the address holds it."""

import re

import pytest
from playwright.sync_api import Browser, expect

from aahcrawler.service.cockpit.site import COOKIE
from tests.cockpit.cockpit_browser import READER, Cockpit, visiting
from tests.cockpit.shown_crawl import CRAWL

SPOKEN = f"/crawls/{CRAWL}/archive/spoken"


def test_a_span_that_is_none_is_refused(shown: Cockpit) -> None:
    cookie = f"{COOKIE}={shown.entered(READER)}"
    for path in (SPOKEN, "/archive/spoken", f"/crawls/{CRAWL}/archive/pictures"):
        assert shown.ask("GET", f"{path}?since=2020-13", Cookie=cookie).status == 400
        assert shown.ask("GET", f"{path}?since=2020-1&until=x", Cookie=cookie).status == 400
        assert shown.ask("GET", f"{path}?since=2020-12-31&until=", Cookie=cookie).status == 200


@pytest.mark.slow
def test_a_span_is_drawn_by_mouse_and_by_keyboard(chromium: Browser, shown: Cockpit) -> None:
    with visiting(chromium, shown) as visit:
        page = visit.goto("/archive/spoken")
        line = page.locator("#times svg[data-brush]")
        parts = line.locator("[data-begin]")
        first, last = parts.first.bounding_box(), parts.last.bounding_box()
        assert first is not None
        assert last is not None
        ends = parts.first.get_attribute("data-begin"), parts.last.get_attribute("data-end")
        page.mouse.move(first["x"] + 2, first["y"] + 20)
        page.mouse.down()
        page.mouse.move(last["x"] + last["width"] / 2, last["y"] + 20, steps=4)
        page.mouse.up()
        page.wait_for_url(re.compile("since="))
        assert (
            page.get_by_label("Published from").input_value(),
            page.get_by_label("to", exact=True).input_value(),
        ) == ends
        expect(page.get_by_text("the address of this page holds that")).to_be_visible()
        page.get_by_role("link", name="All times").click()
        bar = page.locator("#times svg[data-brush] a").first
        bar.focus()
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        expect(page.locator("#times .brushed")).to_have_count(3)
        page.keyboard.press("Shift+ArrowLeft")
        expect(page.locator("#times .brushed")).to_have_count(2)
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("since="))
        expect(page.locator("#times .brushed")).to_have_count(2)
        assert not visit.wrong
