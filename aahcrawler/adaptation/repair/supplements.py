"""Use the values in an example for its own page, so that no page is lost while evidence is gathered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lxml.html import HtmlElement

from aahcrawler.adaptation.detection.failure_detection import bare, body_of, body_text, end_alike
from aahcrawler.helper.extraction.extraction import BODY, Extracted, Sketch
from aahcrawler.webobject import Person, Value
from aahcrawler.wrapper_induction.examples import LabelledExample, LabelledObject

MAX_OF_TEXT = 0.7
"""The share of a text that must be that of another for both to be about one object."""

ALIGNED = 0.8
"""The share of objects, found and labelled, that must be the same before one adds fields to the other."""


def sketches(example: LabelledExample) -> tuple[Sketch, ...]:
    """Return the objects of an example as the helper names and types them."""
    return tuple(map(_sketch, example.objects))


def _sketch(labelled: LabelledObject) -> Sketch:
    body = labelled.labels.get(BODY)
    elements = tuple(each for each in body.elements if isinstance(each, HtmlElement)) if body is not None else ()
    properties: Mapping[str, tuple[Value, ...]] = {name: (label.value,) for name, label in labelled.labels.items()}
    own = tuple(each for each in labelled.elements if isinstance(each, HtmlElement))
    return Sketch(own, properties, elements, labelled.fragment)


def supplemented(
    found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]
) -> tuple[Extracted, ...] | None:
    """Add the fields of an example to the objects found; None if the example is not about the same objects.

    A field is left out if the example has it for hardly any object, or has nothing new of it. If the found texts
    contain names of authors, the example's texts replace them as well, unless these contain as much additional text.
    None if no field remains.
    """
    if BODY not in fields and _hold_signatures(found, example):
        fields = fields | {BODY}
    if BODY in fields and end_alike([str(each.labels[BODY].value) for each in example.objects if BODY in each.labels]):
        # Its texts are no better; its authors and dates may be.
        fields = fields - {BODY}
    pairs = _pairs(found, example, fields)
    same = sum(labelled is not None for _, labelled in pairs)
    if not same or same < ALIGNED * len(found) or same < ALIGNED * len(example.objects):
        return None
    known = {
        name
        for name in fields
        if sum(labelled is not None and name in labelled.labels for _, labelled in pairs) >= ALIGNED * len(pairs)
        and any(_is_new(each, labelled, name) for each, labelled in pairs)
    }
    if not known:
        return None
    return tuple(_with(each, dict(_values(labelled, known))) for each, labelled in pairs)


def _pairs(
    found: Sequence[Extracted], example: LabelledExample, fields: frozenset[str]
) -> Sequence[tuple[Extracted, LabelledObject | None]]:
    """Return the pairs of the same object: in order if bodies contain too much, else by their texts."""
    if BODY in fields and len(found) == len(example.objects):
        inner = list(zip(found, example.objects, strict=True))
        if all(body_text(labelled) and body_text(labelled) in bare(body_of(each.object)) for each, labelled in inner):
            return inner
    labelled = {text: labelled for labelled in example.objects if (text := body_text(labelled))}
    return [(each, _same(bare(body_of(each.object)), labelled)) for each in found]


def _hold_signatures(found: Sequence[Extracted], example: LabelledExample) -> bool:
    """Return whether the texts that were found hold those of an example, and beside them the names of their authors."""
    if len(found) != len(example.objects):
        return False
    held = 0
    for each, labelled in zip(found, example.objects, strict=True):
        author = labelled.labels["author"].value if "author" in labelled.labels else None
        before, text, behind = bare(body_of(each.object)).partition(body_text(labelled) or "\0")
        held += bool(text) and isinstance(author, Person) and bare(author.name) in f"{before} {behind}"
    return held >= max(1, ALIGNED * len(found))


def _is_new(found: Extracted, labelled: LabelledObject | None, name: str) -> bool:
    return labelled is not None and name in labelled.labels and labelled.labels[name].value != found.object.first(name)


def _same(text: str, labelled: Mapping[str, LabelledObject]) -> LabelledObject | None:
    """Return the object with a text, or the only one with most of it: the found text may have a line more."""
    if text in labelled:
        return labelled[text]
    alike = [labelled for other, labelled in labelled.items() if _is_most(*sorted((text, other), key=len))]
    return alike[0] if len(alike) == 1 else None


def _is_most(short: str, long: str) -> bool:
    return len(short) >= MAX_OF_TEXT * len(long) and short in long


def _values(labelled: LabelledObject | None, names: set[str]) -> Iterator[tuple[str, tuple[Value, ...]]]:
    for name in sorted(names):
        if labelled is not None and name in labelled.labels:
            yield name, (labelled.labels[name].value,)


def _with(extracted: Extracted, more: Mapping[str, tuple[Value, ...]]) -> Extracted:
    properties = {**extracted.object.properties, **more}
    return replace(extracted, object=replace(extracted.object, properties=properties))
