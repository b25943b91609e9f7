"""Uses what a lesson shows of its own page, so that no page is lost while evidence is gathered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lxml.html import HtmlElement

from aahcrawler.adaptation.judging import body_text
from aahcrawler.adaptation.lessons import Example, Lesson
from aahcrawler.adaptation.noticing import bare, body_of, end_alike
from aahcrawler.helper.extraction import BODY, Extracted
from aahcrawler.helper.sketching import Sketch
from aahcrawler.webobject import Person, Value

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
    """Put fields that a lesson knows into the objects that were found; None where it is not about the same ones.

    Each of ``fields`` that the lesson knows for hardly any object is left out, and so is one that it knows nothing new
    of; where the texts that were found hold names of authors, the lesson's texts take their place as well. None where
    that leaves none, and where the texts of the lesson hold as much beyond what was written.
    """
    if BODY not in fields and _hold_signatures(found, lesson):
        fields = fields | {BODY}
    if BODY in fields and end_alike([str(each.spots[BODY].value) for each in lesson.examples if BODY in each.spots]):
        return None
    pairs = _pairs(found, lesson, fields)
    same = sum(example is not None for _, example in pairs)
    if not same or same < ALIGNED * len(found) or same < ALIGNED * len(lesson.examples):
        return None
    known = {
        name
        for name in fields
        if sum(example is not None and name in example.spots for _, example in pairs) >= ALIGNED * len(pairs)
        and any(_is_new(each, example, name) for each, example in pairs)
    }
    if not known:
        return None
    return tuple(_with(each, dict(_values(example, known))) for each, example in pairs)


def _pairs(
    found: Sequence[Extracted], lesson: Lesson, fields: frozenset[str]
) -> Sequence[tuple[Extracted, Example | None]]:
    """Return which object is which example: in their order where bodies hold too much, else by their texts."""
    if BODY in fields and len(found) == len(lesson.examples):
        inner = list(zip(found, lesson.examples, strict=True))
        if all(body_text(example) and body_text(example) in bare(body_of(each.object)) for each, example in inner):
            return inner
    taught = {text: example for example in lesson.examples if (text := body_text(example))}
    return [(each, _same(bare(body_of(each.object)), taught)) for each in found]


def _hold_signatures(found: Sequence[Extracted], lesson: Lesson) -> bool:
    """Say whether the texts that were found hold those of a lesson, and beside them the names of their authors."""
    if len(found) != len(lesson.examples):
        return False
    held = 0
    for each, example in zip(found, lesson.examples, strict=True):
        author = example.spots["author"].value if "author" in example.spots else None
        before, text, behind = bare(body_of(each.object)).partition(body_text(example) or "\0")
        held += bool(text) and isinstance(author, Person) and bare(author.name) in f"{before} {behind}"
    return held >= max(1, ALIGNED * len(found))


def _is_new(found: Extracted, example: Example | None, name: str) -> bool:
    return example is not None and name in example.spots and example.spots[name].value != found.object.first(name)


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
    properties = {**extracted.object.properties, **more}
    return replace(extracted, object=replace(extracted.object, properties=properties))
