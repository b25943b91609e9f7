"""Repair from memory: find the objects formerly extracted at a URL again (ARCOMEM, section 4.1, recrawl)."""

from collections.abc import Sequence

from aahcrawler.adaptation.repair.alignment import Stretch, WordTable, placed, words
from aahcrawler.adaptation.repair.remembered_objects import Remembered, objects
from aahcrawler.adaptation.repair.remembered_runs import of_runs
from aahcrawler.adaptation.repair.value_places import ShownValues
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from aahcrawler.wrapper_induction.examples import LabelledExample, Method
from knowledge_base.model import Extract

BODY = "body"
FEWEST_WORDS = 8
"""The number of words below which their absence does not prove that content is gone."""
MOST_BY_CHANCE = 0.1
"""So much of a text is on some pages by chance: short answers that many people give."""
LEAST_FOUND = 0.2
"""The share of the remembered content below which the page has other content now."""


class MemoryStrategy:
    """Labels the objects that a former crawl extracted at the URL of a page."""

    def label(self, question: Question) -> LabelledExample | None:
        """Return the objects found again; None if no former crawl found any of the action at the URL."""
        return None if question.former is None else recall(question.page, question.action, question.former.objects)


def recall(page: Page, action: Extract, former: Sequence[WebObject]) -> LabelledExample | None:
    """Find the former objects of an action on their page again.

    ``former`` are all objects that the page had. New objects of the same shape as those found again are part of the
    example. An example without objects means that none of the remembered content is on the page any more. None if
    nothing is remembered of the action, or too little of it is left to decide.
    """
    types = {action.type, action.first_type or action.type, *(name for name, _ in action.instead)}
    known = [
        (each, body, len(words(body)))
        for each in former
        if each.type in types and isinstance(body := each.first(BODY), str) and words(body)
    ]
    if not known or not page.is_html:
        return None
    prepared = PreparedPage.of(page)
    table = WordTable(prepared.outline)
    lengths = [length for _, _, length in known]
    stretches = placed([table.find(body) for _, body, _ in known], lengths)
    share = _share(stretches, lengths)
    if share < MOST_BY_CHANCE:
        return LabelledExample(page, Method.MEMORY, (), 0.9) if sum(lengths) >= FEWEST_WORDS and page.complete else None
    if share < LEAST_FOUND:
        return None
    found = [Remembered(each, stretch) for (each, _, _), stretch in zip(known, stretches, strict=True) if stretch]
    found.sort(key=lambda each: each.stretch.first)
    if action.run is not None:
        labelled = of_runs(found, table, ShownValues(page, prepared, action))
    else:
        labelled = objects(page, prepared, action, table, found)
    notes = (f"{len(found)} of {len(known)} remembered objects are on the page, {len(labelled)} objects in all",)
    return LabelledExample(page, Method.MEMORY, labelled, round(share, 3), 0.0, notes)


def _share(stretches: Sequence[Stretch | None], lengths: Sequence[int]) -> float:
    """Return the share of all remembered words that were found again."""
    total = sum(lengths)
    return sum(length * each.share for length, each in zip(lengths, stretches, strict=True) if each is not None) / total
