"""Runs an induced action on the pages of its examples, as the helper would, and measures their agreement."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lxml.etree import XPathError

from aahcrawler.helper.extraction.extraction import BODY, Extraction
from aahcrawler.helper.extraction.field_reader import FieldReader
from aahcrawler.page import Page, markup
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Value, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject
from aahcrawler.wrapper_induction.samples import SampleOutcome, expected_at, outcome_of, page_location
from aahcrawler.wrapper_induction.wrapper import Agreement, Support, Wrapper
from knowledge_base.model import Extract, Field, FieldKind

MIN_AGREEING = 0.65
MIN_BODIES = 0.75
MIN_RUNS = 0.6
PLENTY = 1 << 40


def proven(wrapper: Wrapper, schema: Extract, examples: Sequence[LabelledExample]) -> Wrapper | None:
    """Return the action with its support; None if it fails on the examples that it was induced from."""
    action = wrapper.action
    pages = absent = objects = 0
    dissenting: list[str] = []
    tallies: defaultdict[str, Counter[SampleOutcome]] = defaultdict(Counter)
    for example in examples:
        found = run(action, example.page)
        agrees = found is not None and _agrees(found, example.objects, schema)
        compared = _compare(found or [], example, schema) if agrees and schema.run is None else {}
        if not agrees or not _has_bodies(compared):
            dissenting.append(example.page.url)
            if not example.objects:
                return None
        elif not example.objects:
            absent += 1
        else:
            pages += 1
            objects += len(example.objects)
            for name, tally in compared.items():
                tallies[name].update(tally)
    full = sum(bool(example.objects) for example in examples)
    if pages < MIN_AGREEING * full:
        return None
    agreements = tuple(_agreement(name, tally) for name, tally in tallies.items())
    return replace(wrapper, support=Support(pages, absent, objects, tuple(dissenting), agreements))


def run(action: Extract, page: Page) -> list[WebObject] | None:
    """Return the objects that an action extracts from a page; None if it fails on it."""
    location = page_location(page)
    extraction = Extraction(action, location, FieldReader(location, PLENTY))
    try:
        return [each.object for each in extraction.objects()]
    except XPathError:
        return None


def _agrees(found: Sequence[WebObject], objects: Sequence[LabelledObject], schema: Extract) -> bool:
    if schema.run is None or not objects:
        return len(found) == len(objects)
    bodies = Counter(fold(body) for each in found if isinstance(body := each.first(BODY), str))
    wanted = Counter(
        fold(label.value) for each in objects if (label := each.labels.get(BODY)) and isinstance(label.value, str)
    )
    same = sum((bodies & wanted).values())
    return same >= MIN_RUNS * sum(wanted.values()) and len(found) * MIN_RUNS <= len(objects)


def _has_bodies(compared: Mapping[str, Counter[SampleOutcome]]) -> bool:
    """Return whether enough of the bodies of a page are right."""
    body = compared.get(BODY)
    if body is None:
        return True
    return body[SampleOutcome.RIGHT] + body[SampleOutcome.NEAR] >= MIN_BODIES * (
        body.total() - body[SampleOutcome.BEYOND]
    )


def _compare(
    found: Sequence[WebObject], example: LabelledExample, schema: Extract
) -> Mapping[str, Counter[SampleOutcome]]:
    """Return how often each field of the objects of a page agrees with the example."""
    tallies: defaultdict[str, Counter[SampleOutcome]] = defaultdict(Counter)
    fields = {field.name: field for field in reversed(schema.fields)}
    for number, (each, labelled) in enumerate(zip(found, example.objects, strict=True)):
        for name, field in fields.items():
            label = labelled.labels.get(name)
            if field.first_only and (number or label is None):
                continue
            outcome = _outcome(each.properties.get(name, ()), label, field, example.page)
            if outcome is not None:
                tallies[name][outcome] += 1
    return tallies


def _outcome(values: Sequence[Value], label: Label | None, field: Field, page: Page) -> SampleOutcome | None:
    if label is None:
        return SampleOutcome.BEYOND if values else None
    if field.kind is FieldKind.HTML:
        written = [value for value in values if isinstance(value, str)]
        values = [plain_text(markup.parse(value.encode("utf-8", "replace"))) for value in written]
    return outcome_of(values, expected_at(label, field, page))


def _agreement(name: str, tally: Counter[SampleOutcome]) -> Agreement:
    right, wrong, near = tally[SampleOutcome.RIGHT], tally[SampleOutcome.WRONG], tally[SampleOutcome.NEAR]
    return Agreement(name, right, wrong, tally[SampleOutcome.MISSING], tally[SampleOutcome.BEYOND], near)
