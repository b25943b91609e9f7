"""What behaviours do in a real browser: what is there at the end, in which order, and what is never clicked."""

import asyncio
import os
import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, async_playwright

from aahcrawler.browser.visits.visit_order import VisitBounds
from knowledge_base.behaviours import Act, Behaviour, Step
from knowledge_base.selectors import compile_selector
from tests.browser.behaviours import behaviour_sites as sites
from tests.browser.behaviours.acting_chromium import acted
from tests.browsing import chromium_executable
from tests.shipped import shipped

pytestmark = [pytest.mark.starts, pytest.mark.slow]

GENERAL = shipped().behaviours


@pytest.fixture(scope="module")
def run() -> Iterator[tuple[asyncio.Runner, Browser]]:
    executable = chromium_executable()
    with asyncio.Runner() as runner:
        playwright = runner.run(async_playwright().start())
        rights = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = runner.run(playwright.chromium.launch(executable_path=executable, args=rights))
        yield runner, browser
        runner.run(browser.close())
        runner.run(playwright.stop())


Run = tuple[asyncio.Runner, Browser]


@pytest.mark.parametrize("front", ["scrolled", "removed", "overwritten", "rewritten", "cloaked", "late", "more"])
def test_all_of_a_list_is_there_at_the_end_once_and_in_order(run: Run, front: str) -> None:
    runner, browser = run
    dom, notes, _ = runner.run(acted(browser, sites.site(front), GENERAL))
    numbers = [int(found) for found in re.findall(r"words of post number (\d+)", dom)]
    assert numbers == list(range(sites.POSTS))
    assert {note.name: note.ended for note in notes}["everything"] == "nothing more"


def test_a_button_without_end_is_ended_by_the_bounds_and_leaves_something_to_others(run: Run) -> None:
    runner, browser = run
    dom, notes, _ = runner.run(acted(browser, sites.site("endless"), GENERAL, VisitBounds(steps=20)))
    ends = {note.name: note for note in notes}
    assert ends["everything"].ended == "steps"
    assert 10 <= dom.count("The words of post") <= 20
    assert ends["folded parts"].ended == "done"


def test_boxes_over_the_page_are_rejected_or_closed_and_never_agreed_to(run: Run) -> None:
    runner, browser = run
    dom, _, page = runner.run(acted(browser, sites.site("covered", rejected=""), GENERAL))
    assert page.requests == ["GET /", "GET /rejected"]
    assert "newsletter" not in dom
    dom, _, page = runner.run(acted(browser, sites.site("agreed"), GENERAL))
    assert page.requests == ["GET /"]
    assert "Accept all" in dom


def test_slides_that_take_the_place_of_one_another_are_all_kept(run: Run) -> None:
    runner, browser = run
    step = Step(Act.CLICK, (compile_selector(css="#next"),))
    dom, notes, _ = runner.run(acted(browser, sites.site("slides"), [Behaviour("slides", (step,))]))
    shown = dom[: dom.index("<script>")]
    assert all(f"/{number}.svg" in shown and f"number {number}<" in shown for number in range(5))
    assert notes[0].steps <= 6
    assert notes[0].ended == "nothing more"


def test_what_is_folded_is_opened_and_nothing_is_clicked_that_changes_or_leaves_anything(run: Run) -> None:
    runner, browser = run
    dom, notes, page = runner.run(acted(browser, sites.site("folded"), GENERAL))
    assert sorted(page.requests) == ["GET /", "GET /more?from=1", "POST /posted"]
    assert '<details open="">' in dom
    assert {note.name: note.ended for note in notes}["everything"] == "refused"
