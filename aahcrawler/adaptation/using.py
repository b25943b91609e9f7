"""Uses what a lesson shows of its own page, so that no page is lost while evidence is gathered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lxml.html import HtmlElement

from aahcrawler.adaptation.judging import body_text
from aahcrawler.adaptation.lessons import Example, Lesson
from aahcrawler.adaptation.noticing import bare, body_of
from aahcrawler.helper.extraction import BODY, Extracted
from aahcrawler.helper.sketching import Sketch
from aahcrawler.webobject import Value

MOST_OF_TEXT = 0.7
"""The share of a text that must be that of another for both to be about one object."""

ALIGNED = 0.8
"""The share of objects, found and taught, that must be the same before one adds fields to the other."""


def sketches(lesson: Lesson) -> tuple[Sketch, ...]:
    """Return the objects of a lesson as the helper names and types them."""
    return tuple(map(_sketch, lesson.examples))


def _sketch(example: Example) -> Sketch:
    body = example.spots.get(BODY)
    elements = tuple(each for each in body.elements if isinstance(each, HtmlElement)) if body is not None else ()
    properties: Mapping[str, tuple[Value, ...]] = {name: (spot.value,) for name, spot in example.spots.items()}
    own = tuple(each for each in example.elements if isinstance(each, HtmlElement))
    return Sketch(own, properties, elements, example.fragment)


def supplemented(found: Sequence[Extracted], lesson: Lesson, fields: frozenset[str]) -> tuple[Extracted, ...] | None:
    """Add fields that a lesson knows to the objects that were found; None where it is not about the same ones.

    Each of ``fields`` that the lesson knows for hardly any object is left out; None where that leaves none.
    """
    taught = {text: example for example in lesson.examples if (text := body_text(example))}
    pairs = [(each, _same(bare(body_of(each.object)), taught)) for each in found]
    same = sum(example is not None for _, example in pairs)
    if not same or same < ALIGNED * len(found) or same < ALIGNED * len(lesson.examples):
        return None
    known = {
        name
        for name in fields
        if sum(example is not None and name in example.spots for _, example in pairs) >= ALIGNED * len(pairs)
    }
    if not known:
        return None
    return tuple(_with(each, dict(_values(example, known))) for each, example in pairs)


def _same(text: str, taught: Mapping[str, Example]) -> Example | None:
    """Return the example with a text, or the only one with most of it: what was found may hold a line more."""
    if text in taught:
        return taught[text]
    alike = [example for other, example in taught.items() if _is_most(*sorted((text, other), key=len))]
    return alike[0] if len(alike) == 1 else None


def _is_most(short: str, long: str) -> bool:
    return len(short) >= MOST_OF_TEXT * len(long) and short in long


def _values(example: Example | None, names: set[str]) -> Iterator[tuple[str, tuple[Value, ...]]]:
    for name in sorted(names):
        if example is not None and name in example.spots:
            yield name, (example.spots[name].value,)


def _with(extracted: Extracted, more: Mapping[str, tuple[Value, ...]]) -> Extracted:
    properties = {**more, **extracted.object.properties}
    return replace(extracted, object=replace(extracted.object, properties=properties))
