"""Runs a learned action as the helper would on the pages of its lessons, and says how far it agrees with them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lxml.etree import XPathError

from aahcrawler.adaptation.learner.learned import Agreement, Learned, Support
from aahcrawler.adaptation.learner.samples import Outcome, expected_at, judged, whereabouts
from aahcrawler.adaptation.lessons import Example, Lesson, Spot
from aahcrawler.helper.extraction import BODY, Extraction
from aahcrawler.helper.fields import FieldReader
from aahcrawler.page import Page, markup
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Value, WebObject
from knowledge_base.model import Extract, Field, FieldKind

LEAST_AGREEING = 0.65
LEAST_BODIES = 0.75
LEAST_RUNS = 0.6
PLENTY = 1 << 40


def proven(learned: Learned, failed: Extract, lessons: Sequence[Lesson]) -> Learned | None:
    """Return the action with its support; None where it does not hold on the lessons that it was learned of."""
    action = learned.extract()
    pages = absent = examples = 0
    dissenting: list[str] = []
    tallies: defaultdict[str, Counter[Outcome]] = defaultdict(Counter)
    for lesson in lessons:
        found = run(action, lesson.page)
        agrees = found is not None and _agrees(found, lesson.examples, failed)
        compared = _compare(found or [], lesson, failed) if agrees and failed.run is None else {}
        if not agrees or not _has_bodies(compared):
            dissenting.append(lesson.page.url)
            if not lesson.examples:
                return None
        elif not lesson.examples:
            absent += 1
        else:
            pages += 1
            examples += len(lesson.examples)
            for name, tally in compared.items():
                tallies[name].update(tally)
    full = sum(bool(lesson.examples) for lesson in lessons)
    if pages < LEAST_AGREEING * full:
        return None
    agreements = tuple(_agreement(name, tally) for name, tally in tallies.items())
    return replace(learned, support=Support(pages, absent, examples, tuple(dissenting), agreements))


def run(action: Extract, page: Page) -> list[WebObject] | None:
    """Return what an action extracts from a page; None where it fails on it."""
    where = whereabouts(page)
    extraction = Extraction(action, where, FieldReader(where, PLENTY))
    try:
        return [each.object for each in extraction.objects()]
    except XPathError:
        return None


def _agrees(found: Sequence[WebObject], examples: Sequence[Example], failed: Extract) -> bool:
    if failed.run is None or not examples:
        return len(found) == len(examples)
    bodies = Counter(fold(body) for each in found if isinstance(body := each.first(BODY), str))
    wanted = Counter(
        fold(spot.value) for each in examples if (spot := each.spots.get(BODY)) and isinstance(spot.value, str)
    )
    same = sum((bodies & wanted).values())
    return same >= LEAST_RUNS * sum(wanted.values()) and len(found) * LEAST_RUNS <= len(examples)


def _has_bodies(compared: Mapping[str, Counter[Outcome]]) -> bool:
    """Say whether enough of the bodies of a page are right."""
    body = compared.get(BODY)
    if body is None:
        return True
    return body[Outcome.RIGHT] + body[Outcome.NEAR] >= LEAST_BODIES * (body.total() - body[Outcome.BEYOND])


def _compare(found: Sequence[WebObject], lesson: Lesson, failed: Extract) -> Mapping[str, Counter[Outcome]]:
    """Return how often each field of the objects of a page is what the lesson says."""
    tallies: defaultdict[str, Counter[Outcome]] = defaultdict(Counter)
    fields = {field.name: field for field in reversed(failed.fields)}
    for number, (each, example) in enumerate(zip(found, lesson.examples, strict=True)):
        for name, field in fields.items():
            spot = example.spots.get(name)
            if field.first_only and (number or spot is None):
                continue
            outcome = _outcome(each.properties.get(name, ()), spot, field, lesson.page)
            if outcome is not None:
                tallies[name][outcome] += 1
    return tallies


def _outcome(values: Sequence[Value], spot: Spot | None, field: Field, page: Page) -> Outcome | None:
    if spot is None:
        return Outcome.BEYOND if values else None
    if field.kind is FieldKind.HTML:
        written = [value for value in values if isinstance(value, str)]
        values = [plain_text(markup.parse(value.encode("utf-8", "replace"))) for value in written]
    return judged(values, expected_at(spot, field, page))


def _agreement(name: str, tally: Counter[Outcome]) -> Agreement:
    right, wrong, near = tally[Outcome.RIGHT], tally[Outcome.WRONG], tally[Outcome.NEAR]
    return Agreement(name, right, wrong, tally[Outcome.MISSING], tally[Outcome.BEYOND], near)
