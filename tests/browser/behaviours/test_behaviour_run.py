"""When behaviours end: with a page that answers as a test says, so that no browser is needed."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence

import pytest

from aahcrawler.browser.behaviours.behaviour_run import PageLostError, PutBack, Spent, put_back, run_behaviours
from aahcrawler.browser.visits.rendered_page import BehaviourInfo, VisitBounds
from knowledge_base.behaviours import Act, Behaviour, BehaviourStep
from knowledge_base.selectors import compile_selector

Answer = Mapping[str, object] | Exception
NEW = {"came": True}


class ScriptedPage:
    """Answers each act by what a test gives for it, the last answer again and again."""

    def __init__(self, answers: Mapping[str, Sequence[Answer]], spent: Callable[["ScriptedPage"], Spent]) -> None:
        self._answers = {act: list(given) for act, given in answers.items()}
        self._spent = spent
        self.acts: list[str] = []

    async def evaluate(self, expression: str, frame: str = "") -> object:  # noqa: ARG002
        found = re.match(r"globalThis\.aahActs\?\.(\w+)", expression)
        if found is None:
            return True
        self.acts.append(found[1])
        given = self._answers.get(found[1], [{}])
        answer = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(answer, TimeoutError):
            await asyncio.sleep(3600)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def frames(self) -> Sequence[str]:
        return ("one", "two")

    async def wait_for_quiet(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.001))

    def spent(self) -> Spent:
        return self._spent(self)


def acted(
    act: Act,
    answers: Mapping[str, Sequence[Answer]],
    bounds: VisitBounds | None = None,
    spent: Callable[[ScriptedPage], Spent] = lambda _: Spent(),
) -> tuple[BehaviourInfo, ScriptedPage]:
    page = ScriptedPage(answers, spent)
    behaviour = Behaviour("it", (BehaviourStep(act, (compile_selector(css=".more"),), most=6),))
    (note,) = asyncio.run(run_behaviours(page, [behaviour], bounds or VisitBounds()))
    return note, page


def test_clicks_end_with_the_last_button_or_where_nothing_comes_of_them() -> None:
    click: Sequence[Answer] = [{"key": "one"}, {"key": "two"}, {"key": ""}]
    note, _ = acted(Act.CLICK, {"click": click, "measure": [NEW]})
    assert (note.steps, note.ended) == (2, "nothing more")
    note, page = acted(Act.CLICK, {"click": click, "measure": [{"came": False}]})
    assert (note.steps, page.acts.count("spend")) == (2, 2)


def test_a_step_is_taken_as_often_as_it_says_and_as_the_bounds_allow() -> None:
    answers: Mapping[str, Sequence[Answer]] = {"click": [{"key": "one"}], "measure": [NEW]}
    assert acted(Act.CLICK, answers)[0] == BehaviourInfo("it", 6, "steps")
    assert acted(Act.CLICK, answers, VisitBounds(steps=3))[0] == BehaviourInfo("it", 3, "steps")


@pytest.mark.parametrize(
    ("spent", "ended"),
    [
        (lambda page: Spent(bytes=30 * page.acts.count("click")), "bytes"),
        (lambda page: Spent(requests=4 * page.acts.count("click")), "requests"),
    ],
)
def test_what_the_page_costs_ends_it(spent: Callable[[ScriptedPage], Spent], ended: str) -> None:
    answers: Mapping[str, Sequence[Answer]] = {"click": [{"key": "one"}], "measure": [NEW]}
    note, _ = acted(Act.CLICK, answers, VisitBounds(bytes=50, requests=8), spent)
    assert (note.steps, note.ended) == (2, ended)


def test_a_click_whose_request_is_refused_is_told_where_nothing_came_of_it() -> None:
    answers: Mapping[str, Sequence[Answer]] = {"click": [{"key": "one"}, {"key": ""}], "measure": [{"came": False}]}
    note, _ = acted(Act.CLICK, answers, spent=lambda page: Spent(refused_methods=page.acts.count("click")))
    assert note.ended == "refused"
    answers = {**answers, "measure": [NEW]}
    note, _ = acted(Act.CLICK, answers, spent=lambda page: Spent(refused_methods=page.acts.count("click")))
    assert note.ended == "nothing more"


def test_a_page_that_hangs_ends_by_its_time_and_one_that_is_lost_at_once() -> None:
    note, _ = acted(Act.CLICK, {"click": [TimeoutError()]}, VisitBounds(seconds=0.2))
    assert (note.steps, note.ended) == (0, "time")
    note, page = acted(Act.CLICK, {"click": [PageLostError()]})
    assert (note.ended, page.acts.count("click")) == ("lost", 1)


def test_a_crash_is_not_hidden() -> None:
    with pytest.raises(ConnectionError):
        acted(Act.CLICK, {"click": [ConnectionError("it crashed")]})


def test_scrolling_ends_where_nothing_comes_any_more_and_goes_back_once_where_content_vanishes() -> None:
    end = {"found": 1, "moved": 900, "atEnd": True}
    note, page = acted(
        Act.SCROLL, {"scroll": [end], "nudge": [{"moved": 400}], "measure": [{}, NEW, {"grew": True}, {}]}
    )
    assert (note.ended, page.acts.count("rewind"), page.acts.count("nudge")) == ("nothing more", 0, 1)
    assert note.steps == 3
    vanishing = {**end, "vanishing": True}
    note, page = acted(Act.SCROLL, {"scroll": [{**vanishing, "atEnd": False}, vanishing], "measure": [{}]})
    assert (note.ended, page.acts.count("rewind")) == ("nothing more", 1)
    assert acted(Act.SCROLL, {"scroll": [{"found": 0}]})[0] == BehaviourInfo("it", 0, "nothing more")


def test_all_frames_are_played_and_one_that_is_gone_is_passed_over() -> None:
    note, page = acted(Act.PLAY, {"play": [{"started": 1}, PageLostError(), {"started": 1}]})
    assert (note.ended, page.acts.count("play"), page.acts.count("pause")) == ("done", 3, 1)


def test_what_is_gone_is_put_back_when_it_is_asked_for() -> None:
    page = ScriptedPage({"putBack": [{"returned": 7, "dropped": 2}]}, lambda _: Spent())
    assert asyncio.run(put_back(page, 1.0)) == PutBack(returned=7, dropped=2)


def test_a_list_that_turns_out_late_to_take_away_what_it_showed_is_gone_through_anew() -> None:
    end, gone = {"found": True, "atEnd": True}, {"vanishing": True}
    note, page = acted(Act.SCROLL, {"scroll": [end, {**end, **gone}], "measure": [{}, gone], "nudge": [{"moved": 1}]})
    assert note.ended == "nothing more"
    assert page.acts.count("rewind") == 1
    assert page.acts.index("rewind") < page.acts.index("nudge")
