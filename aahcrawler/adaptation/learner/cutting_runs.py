"""How objects that no element holds are cut out of their container: which parts sign them, and what heads them."""

from collections.abc import Sequence
from dataclasses import replace

from lxml.html import HtmlElement

from aahcrawler.adaptation.learner.features import Features
from aahcrawler.adaptation.learner.items import Budget, ItemSearch, Plot, found_by
from aahcrawler.adaptation.learner.learned import LearnedRun
from aahcrawler.adaptation.learner.paths import Written
from aahcrawler.adaptation.learner.samples import comparable
from aahcrawler.adaptation.lessons import Lesson, Spot
from aahcrawler.page.text import excerpt, fold
from knowledge_base.model import Run
from knowledge_base.selectors import Selector

AUTHOR, TITLE = "author", "title"
LONGEST = 300
LEAST_PAGES = 2


def cut(run: Run, lessons: Sequence[Lesson], containers: Sequence[Plot], known: Features, budget: Budget) -> LearnedRun:
    """Return how a failed action cuts its containers, with what it misses of headings and signatures of the lessons.

    ``containers`` hold, for each lesson, the one item that was found for it, or none. A part that no expression
    finds exactly stays as it was.
    """
    learned = LearnedRun.of(run)
    titled = _parts(lessons, containers, TITLE)
    if any(plot.items for plot in titled):
        heading = _finding(titled, known, budget)
        learned = replace(learned, headings=(*heading, *learned.headings))
    signed = _parts(lessons, containers, AUTHOR)
    if not _all_found(run.signature, signed):
        learned = replace(learned, signature=(*learned.signature, *_finding(signed, known, budget)))
    return learned


def _parts(lessons: Sequence[Lesson], containers: Sequence[Plot], name: str) -> tuple[Plot, ...]:
    """Return the elements whose whole text is a value of a field, within the container of each page that has one."""
    found: list[Plot] = []
    for lesson, container in zip(lessons, containers, strict=True):
        for root in container.items[:1]:
            within = set(root.iterdescendants())
            spots = (example.spots[name] for example in lesson.examples if name in example.spots)
            shown = (spot.elements[0] for spot in spots if _says(spot))
            items = dict.fromkeys(each for each in shown if isinstance(each, HtmlElement) and each in within)
            found.append(Plot(root, container.size, tuple(items)))
    return tuple(found)


def _says(spot: Spot) -> bool:
    """Say whether all that the one element of a spot shows is its value."""
    return len(spot.elements) == 1 and fold(excerpt(spot.elements[0], LONGEST)) == comparable(spot.value)


def _finding(parts: tuple[Plot, ...], known: Features, budget: Budget) -> tuple[Written, ...]:
    """Return the expressions that find these elements and no others; none where there are none such."""
    if sum(bool(plot.items) for plot in parts) < LEAST_PAGES:
        # What one page calls its own headings may name nothing but their words.
        return ()
    items = ItemSearch(parts, known, True, budget).run()
    if items is None or any(found.items != plot.items for found, plot in zip(items.plots, parts, strict=True)):
        return ()
    return items.expressions[:1]


def _all_found(selectors: Sequence[Selector], parts: Sequence[Plot]) -> bool:
    """Say whether expressions find each of some elements, or what stands around it or in it."""
    for plot in parts:
        found = {each for selector in selectors for each in found_by(Written.of(selector), plot.root)}
        for item in plot.items:
            if found.isdisjoint((*item.iter(), *item.iterancestors())):
                return False
    return True
