"""Find on a page, as it was saved, what the behaviours of an application would act on in a browser."""

from collections.abc import Iterator
from dataclasses import dataclass

from lxml.html import HtmlElement

from aahcrawler.helper.detection.attempts import FAILING
from aahcrawler.page import Page
from knowledge_base.behaviours import Behaviour, Step


@dataclass(frozen=True, slots=True)
class StepTried:
    """A step that names what it acts on: how it is written, and how many such elements are on the page."""

    behaviour: str
    act: str
    written: str
    found: int


def steps_tried(behaviours: tuple[Behaviour, ...], page: Page) -> Iterator[StepTried]:
    """Yield the steps of behaviours with what each finds; those that find their elements by themselves are left out."""
    for behaviour in behaviours:
        for step in behaviour.steps:
            if step.selectors:
                written = " or ".join(each.css or each.source for each in step.selectors)
                yield StepTried(behaviour.name, step.act.value, written, len(acted_on(step, page)))


def counts(behaviours: tuple[Behaviour, ...], page: Page) -> dict[str, int]:
    """Return for each behaviour how many elements its steps find on a page; those that find none are left out."""
    found: dict[str, int] = {}
    for tried in steps_tried(behaviours, page):
        if tried.found:
            found[tried.behaviour] = found.get(tried.behaviour, 0) + tried.found
    return found


def acted_on(step: Step, page: Page) -> list[HtmlElement]:
    """Return the elements that a step names on a page; an expression that fails there names none."""
    for selector in step.selectors:
        try:
            elements = selector.elements(page.tree, page.elements)
        except FAILING:
            continue
        said = [each for each in elements if not step.words or _says(each, step.words)]
        if said:
            return said
    return []


def _says(element: HtmlElement, words: tuple[str, ...]) -> bool:
    text = " ".join((element.get("aria-label") or str(element.text_content())).split()).lower()
    return any(word in text for word in words)
