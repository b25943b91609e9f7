"""What behaviours do in a real browser: what is there at the end, in which order, and what is never clicked."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from aahcrawler.browser.visits.rendered_page import VisitBounds, VisitOrder
from knowledge_base.behaviours import Act, Behaviour, BehaviourStep
from knowledge_base.selectors import compile_selector
from tests.browser.behaviours.behaviour_sites import POSTS, site
from tests.browser.visiting import HOME, Visited, Visitor, ordered, visitor
from tests.shipped import shipped

__all__ = ["visitor"]
pytestmark = [pytest.mark.starts, pytest.mark.slow]

_OWN = (HOME, f"{HOME}favicon.ico")
LISTS = ("scrolled", "removed", "windowed", "overwritten", "rewritten", "cloaked", "late", "more", "threads")
OTHERS = ("covered", "agreed", "slides", "folded", "endless")


def order(behaviours: Sequence[Behaviour], **bounds: int) -> VisitOrder:
    return replace(ordered(), behaviours=behaviours, bounds=VisitBounds(seconds=60, **bounds))


@pytest.fixture(scope="module")
def visited(visitor: Visitor) -> dict[str, Visited]:
    general = order(shipped().behaviours)
    next_ = Behaviour("slides", (BehaviourStep(Act.CLICK, (compile_selector(css="#next"),)),))
    orders = dict.fromkeys((*LISTS, *OTHERS), general)
    orders["slides"] = order((next_,))
    orders["endless"] = order(shipped().behaviours, steps=20)
    seen = visitor.visit_all({name: (site(name), given) for name, given in orders.items()})
    # What a page has removed is put back in so many seconds: nothing else is to take of them.
    return {**seen, "emptied": visitor.visit(site("emptied"), general)}


def ends(visited: Visited) -> dict[str, str]:
    return {note.name: note.ended for note in visited.rendered.behaviours}


def asked(visited: Visited) -> list[str]:
    return sorted(f"{each.method} {each.url.removeprefix(HOME)}" for each in visited.web.asked if each.url not in _OWN)


@pytest.mark.parametrize("name", LISTS)
def test_all_of_a_list_is_there_at_the_end_once_and_in_order(visited: dict[str, Visited], name: str) -> None:
    numbers = [int(found) for found in re.findall(r"words of post number (\d+)", visited[name].dom)]
    assert numbers == list(range(POSTS))
    assert visited[name].dom.count(">Post 7</a>") == 1
    assert ends(visited[name])["everything"] == "nothing more"


def test_a_long_list_comes_back_whole_and_in_time(visited: dict[str, Visited]) -> None:
    assert re.findall(r"words of post number (\d+)", visited["emptied"].dom) == [str(number) for number in range(1000)]
    assert visited["emptied"].dom.count("data-aah-kept") == 980
    assert not {"not put back", "endless script"} & {*visited["emptied"].rendered.refused}


def test_a_button_without_end_is_ended_by_the_bounds_and_leaves_something_to_others(
    visited: dict[str, Visited],
) -> None:
    endless = visited["endless"]
    assert ends(endless)["everything"] == "steps"
    assert ends(endless)["folded parts"] == "done"
    assert 10 <= endless.dom.count("The words of post") <= 20


def test_boxes_over_the_page_are_rejected_or_closed_and_never_agreed_to(visited: dict[str, Visited]) -> None:
    assert asked(visited["covered"]) == ["GET rejected"]
    assert "newsletter" not in visited["covered"].dom
    assert asked(visited["agreed"]) == []
    assert "Accept all" in visited["agreed"].dom


def test_slides_that_take_the_place_of_one_another_are_all_kept(visited: dict[str, Visited]) -> None:
    shown = visited["slides"].dom.partition("<script>")[0]
    assert all(f"/{number}.svg" in shown and f"number {number}<" in shown for number in range(5))
    assert ends(visited["slides"]) == {"slides": "nothing more"}


def test_what_is_folded_is_opened_and_nothing_is_clicked_that_changes_or_leaves_anything(
    visited: dict[str, Visited],
) -> None:
    folded = visited["folded"]
    assert asked(folded) == ["GET more?from=1"]
    assert '<details open="">' in folded.dom
    assert ends(folded)["everything"] == "refused"
    assert folded.rendered.leads_to == ()
