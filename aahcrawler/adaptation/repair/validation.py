"""Validates the labelled examples of repair strategies, and the actions that were learned of them.

Similarity is not enough. An example has to be about all objects of the page, clearly better than its runner-up, and
about texts that people wrote; an action has to find the same on every page that it was learned from, and nothing where
there is nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from statistics import median

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.adaptation.detection.failure_detection import bare, body_of, body_text, end_alike, same
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.extraction.extraction import BODY, Extracted, ObjectSketch
from aahcrawler.induction.headings import Names
from aahcrawler.induction.outline import Outline, weight
from aahcrawler.induction.prepared_page import asides_hold_content
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person, Value
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method

MIN_CONFIDENCE = 0.5
MIN_MARGIN = 0.1
CAUTIOUS_CONFIDENCE = 0.65
CAUTIOUS_MARGIN = 0.2
BODIED = 0.9
"""The share of a page's objects that must have a body."""
DISTINCT = 0.7
"""The share of bodies that differ from all others; people do write the same now and then."""
MAX_LINKED = 0.7
"""The share of a body's characters that may be links, in the middle one of all bodies."""
SIGNED = 0.6
"""The share of objects with an author or a date that is required if several are found by their shape alone."""
CAUTIOUSLY_SIGNED = 0.8
MAX_FILLED_IN = 0.5
"""The share of a body's characters that may be those of a form, such as the one to answer with."""
MAX_HEADED = 0.7
"""The share of a body's characters that may be headings."""
RUNNING = 40
"""The weight of a piece of text (see `aahcrawler.induction.outline.weight`) that is no label and no caption."""
LEFT_OUT = 0.2
"""The share of objects that may have neighbours like them which the example passes over."""
BRIEF = 20
MIN_ARTICLE = 200
"""Characters of an article on a page that shows no sign of holding one, and of one among many links."""
MAX_BESIDE = 2
"""How many times as much text as a short article the links beside it may have before they are what the page is for."""
ALIKE = 0.9
PIECE, MAX_PIECES = 12, 0.75
"""Characters of the pieces that texts are compared by, and the share of them that two have in common."""
MUCH_MORE, DOUBLE = 1.25, 2.0

_OUTSIDE = frozenset({"nav", "footer", "aside", "form", "select"})
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NO_TEXT = frozenset({*HEADINGS, "a", "form", "script", "style"})
AUTHOR, DATE = "author", "date"
_WHO_OR_WHEN = frozenset({AUTHOR, DATE})
_VALUES = frozenset({"title", AUTHOR, DATE})


class ExampleDoubt(StrEnum):
    """The reasons why an example is not valid."""

    ABSENT = "absent"
    """The example has no objects."""
    CLOSE = "close"
    """Something else on the page could be meant as well, or nothing."""
    NO_BODIES = "no-bodies"
    REPEATED = "repeated"
    """Many objects have the same text."""
    LINKS = "links"
    """The texts are lists of links."""
    OUTSIDE = "outside"
    """Objects lie in menus, forms or footers."""
    ANONYMOUS = "anonymous"
    """Nobody has written them at any time."""
    PARTIAL = "partial"
    """Others like them are left out."""
    MANY = "many"
    """The page can have one such object only."""


def doubt(example: LabelledExample, question: Question, *, cautious: bool) -> ExampleDoubt | None:
    """Say why an example is not valid, None if it is.

    ``cautious`` is for pages that may well hold no such object: more is asked of the example then, unless it remembers
    the objects.
    """
    objects = example.objects
    if not objects:
        return ExampleDoubt.ABSENT
    remembered = example.method is Method.MEMORY
    cautious = cautious and not remembered
    if _is_close(example, cautious=cautious):
        return ExampleDoubt.CLOSE
    if len(objects) > 1 and not question.action.many:
        return ExampleDoubt.MANY
    return _doubtful_texts(question, objects) or (
        None if remembered else _doubtful_shape(question, example, cautious=cautious)
    )


def _is_close(example: LabelledExample, *, cautious: bool) -> bool:
    least = CAUTIOUS_CONFIDENCE if cautious else MIN_CONFIDENCE
    margin = CAUTIOUS_MARGIN if cautious else MIN_MARGIN
    return example.confidence < least or example.confidence - example.runner_up < margin


def _doubtful_texts(question: Question, objects: Sequence[LabelledObject]) -> ExampleDoubt | None:
    if all(wanted.name != BODY for wanted in question.action.fields):
        return None
    bodies = [text for labelled in objects if (text := body_text(labelled)) and text != _author_of(labelled)]
    if len(bodies) < BODIED * len(objects):
        return ExampleDoubt.NO_BODIES
    if len(bodies) > 2 and len(set(bodies)) < DISTINCT * len(bodies):
        return ExampleDoubt.REPEATED
    return None


def _doubtful_shape(question: Question, example: LabelledExample, *, cautious: bool) -> ExampleDoubt | None:
    objects = example.objects
    labels = [label for labelled in objects if (label := labelled.labels.get(BODY)) is not None]
    if labels and median(_share(each, "a") for each in labels) > MAX_LINKED:
        return ExampleDoubt.LINKS
    if labels and median(_share(each, "form") for each in labels) > MAX_FILLED_IN:
        return ExampleDoubt.OUTSIDE
    if labels and median(map(_headed, labels)) > MAX_HEADED:
        return ExampleDoubt.NO_BODIES
    if labels and not question.action.many and not any(map(_runs_on, labels)):
        return ExampleDoubt.NO_BODIES
    if not question.action.many and labels and _introduces_links(objects[0], labels[0]):
        return ExampleDoubt.LINKS
    if _are_outside(example):
        return ExampleDoubt.OUTSIDE
    # Posts without an author are beside those with one, in the same elements.
    alike = question.action.many and question.action.run is None
    return _doubtful_signatures(question, example, cautious=cautious) or (
        ExampleDoubt.PARTIAL if alike and _left_out(objects) > LEFT_OUT * len(objects) else None
    )


def _doubtful_signatures(question: Question, example: LabelledExample, *, cautious: bool) -> ExampleDoubt | None:
    objects = example.objects
    signs = _WHO_OR_WHEN & {wanted.name for wanted in question.action.fields}
    if not signs:
        return None
    if cautious and example.method is Method.RELAXED and DATE in signs:
        # An element named like an author may be the heading of an empty list of comments; a date is unambiguous.
        signs = frozenset({DATE})
    signed = sum(not labelled.labels.keys().isdisjoint(signs) for labelled in objects)
    if question.action.many:
        return ExampleDoubt.ANONYMOUS if signed < (CAUTIOUSLY_SIGNED if cautious else SIGNED) * len(objects) else None
    if cautious and not signed and sum(len(body_text(each)) for each in objects) < MIN_ARTICLE:
        return ExampleDoubt.ANONYMOUS
    return None


def _author_of(labelled: LabelledObject) -> str:
    """Return the name of an object's author as texts are compared, empty if it has none."""
    author = labelled.labels[AUTHOR].value if AUTHOR in labelled.labels else ""
    return bare(author.name) if isinstance(author, Person) else bare(str(author))


def _headed(label: Label) -> float:
    """Return the share of a text that is a heading, or all if it lies in one."""
    if any(above.tag in HEADINGS for element in label.elements for above in element.iterancestors()):
        return 1.0
    return sum(_share(label, heading) for heading in HEADINGS)


def _introduces_links(labelled: LabelledObject, label: Label) -> bool:
    """Return whether the text of a page's one object is short beside the links around it, as a line above a list is."""
    text = len(body_text(labelled))
    if text >= MIN_ARTICLE:
        return False
    own = {each for element in label.elements for each in element.iter()}
    links = (link for element in labelled.elements for link in element.iter("a") if link not in own)
    return sum(len(bare(plain_text(link))) for link in links) > MAX_BESIDE * text


def _runs_on(label: Label) -> bool:
    """Return whether there is any running text, in no heading, link or form."""
    return any(weight(piece) >= RUNNING for element in label.elements for piece in _pieces(element))


def _pieces(element: Element) -> Iterator[str]:
    """Yield the pieces of running text within an element."""
    if not isinstance(element.tag, str) or element.tag in _NO_TEXT:
        return
    if element.text:
        yield fold(element.text)
    for child in element:
        yield from _pieces(child)
        if child.tail:
            yield fold(child.tail)


def _share(label: Label, tag: str) -> float:
    """Return the share of a text within elements of a tag."""
    text = sum(len(bare(plain_text(element, label.without))) for element in label.elements)
    within = sum(len(bare(plain_text(part))) for element in label.elements for part in _parts(element, tag))
    return within / text if text else 0.0


def _parts(element: Element, tag: str) -> Iterable[Element]:
    return (element,) if element.tag == tag else element.iter(tag)


def _are_outside(example: LabelledExample) -> bool:
    """Return whether most objects lie in menus and the like.

    In templates that use ``aside`` for any block, asides do not count, and induction has excluded real ones already. A
    form around several objects serves to choose among them.
    """
    outside = _OUTSIDE if len(example.objects) == 1 else _OUTSIDE - {"form"}
    around = [
        {above.tag for element in labelled.elements[:1] for above in element.iterancestors()} & outside
        for labelled in example.objects
    ]
    if 2 * sum(map(bool, around)) <= len(around):
        return False
    if any(tags - {"aside"} for tags in around):
        return True
    induced = example.method is Method.INDUCED
    return not induced and not asides_hold_content(Outline(example.page.tree), Names.of(example.page))


def _left_out(objects: Sequence[LabelledObject]) -> int:
    """Count the neighbours of a page's objects that look like them, hold text and are no part of the example."""
    own = {element for labelled in objects for element in labelled.elements}
    looks = Counter(map(_look, own))
    parents = dict.fromkeys(parent for element in own if (parent := element.getparent()) is not None)
    return sum(
        _look(child) in looks and child not in own and len(bare(plain_text(child))) > BRIEF and _holds_none(child, own)
        for parent in parents
        for child in parent
    )


def _look(element: Element) -> tuple[str, frozenset[str]]:
    """Return name and classes of an element, without numbers, which distinguish objects."""
    tag = element.tag if isinstance(element.tag, str) else ""
    words = (word.rstrip("0123456789-_") for word in (element.get("class") or "").split())
    return tag, frozenset(filter(None, words))


def _holds_none(element: Element, own: set[Element]) -> bool:
    return all(inner not in own for inner in element.iter())


def reproduces(found: Sequence[Extracted], example: LabelledExample) -> bool:
    """Return whether an action found the texts of an example, none missing and hardly any more."""
    wanted = Counter(filter(None, map(body_text, example.objects)))
    bodies = Counter(bare(body_of(each.object)) for each in found)
    if not wanted:
        return len(found) == len(example.objects)
    same = sum((wanted & bodies).values())
    same += _nearly(list((wanted - bodies).elements()), list((bodies - wanted).elements()))
    total = sum(wanted.values())
    return same >= ALIKE * total and len(found) - same <= (1 - ALIKE) * total


def denies(found: Sequence[Extracted], example: LabelledExample) -> bool:
    """Return whether an action found another text or value than memory knows for any object of its page.

    A value that it did not find is no contradiction. Examples that are not from memory may be wrong themselves.
    """
    if example.method is not Method.MEMORY:
        return False
    if len(found) != len(example.objects):
        return True
    pairs = list(zip(found, example.objects, strict=True))
    if not all(_is_nearly(body_text(labelled), bare(body_of(now.object))) for now, labelled in pairs):
        return True
    return any(
        (value := now.object.first(name)) is not None and not same(value, label.value)
        for now, labelled in pairs
        for name, label in labelled.labels.items()
        if name in _VALUES
    )


def _nearly(wanted: Sequence[str], found: list[str]) -> int:
    """Count texts that were found with a little more or less, at their ends or within."""
    count = 0
    for text in wanted:
        match = next((other for other in found if _is_nearly(text, other)), None)
        if match is not None:
            found.remove(match)
            count += 1
    return count


def _is_nearly(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if not short or len(short) < ALIKE * len(long):
        return False
    pieces = [long[start : start + PIECE] for start in range(0, len(long), PIECE)]
    return short in long or sum(piece in short for piece in pieces) >= MAX_PIECES * len(pieces)


def loses_nothing(before: Sequence[Extracted], after: Sequence[Extracted]) -> bool:
    """Return whether a field that was read before is still read, in as many objects or nearly so."""
    had, has = _filled(before), _filled(after)
    return all(has[name] >= ALIKE * count for name, count in had.items())


def _filled(extracted: Sequence[Extracted]) -> Counter[str]:
    return Counter(name for each in extracted for name in each.object.properties if name != "parent")


def adds_to(example: LabelledExample, found: Sequence[Extracted]) -> bool:
    """Return whether an example knows all that an action found, and more."""
    wanted = Counter(filter(None, map(body_text, example.objects)))
    bodies = Counter(text for each in found if (text := bare(body_of(each.object))))
    same = sum((wanted & bodies).values())
    same += _nearly(list((bodies - wanted).elements()), list((wanted - bodies).elements()))
    return same >= ALIKE * sum(bodies.values()) and sum(wanted.values()) > sum(bodies.values())


def encloses(example: LabelledExample, found: Sequence[Extracted], fields: frozenset[str]) -> bool:
    """Return whether an example has the objects that an action found, their fields and more of their texts.

    An action that misses fields may cut texts short as well. More is much more than a line about author and date.
    """
    if not fields or not found or len(example.objects) != len(found):
        return False
    parts = [bare(body_of(each.object)) for each in found]
    wholes = list(map(body_text, example.objects))
    if not all(part and part in whole for part, whole in zip(parts, wholes, strict=True)):
        return False
    more = sum(map(len, wholes)) / sum(map(len, parts))
    if more < (DOUBLE if any(map(_holds_its_signature, example.objects)) else MUCH_MORE):
        return False
    return all(sum(name in labelled.labels for labelled in example.objects) >= ALIKE * len(found) for name in fields)


def _holds_its_signature(labelled: LabelledObject) -> bool:
    """Return whether the line with author or date is part of the supposed body."""
    body = set(labelled.labels[BODY].elements) if BODY in labelled.labels else set()
    signs = (element for name in _WHO_OR_WHEN if name in labelled.labels for element in labelled.labels[name].elements)
    return any(element in body or not body.isdisjoint(element.iterancestors()) for element in signs)


MAX_OF_TEXT = 0.7
"""The share of a text that must be that of another for both to be about one object."""

ALIGNED = 0.8
"""The share of objects, found and labelled, that must be the same before one adds fields to the other."""


def sketches(example: LabelledExample) -> tuple[ObjectSketch, ...]:
    """Return the objects of an example as the helper names and types them."""
    return tuple(map(_sketch, example.objects))


def _sketch(labelled: LabelledObject) -> ObjectSketch:
    body = labelled.labels.get(BODY)
    elements = tuple(each for each in body.elements if isinstance(each, HtmlElement)) if body is not None else ()
    properties: Mapping[str, tuple[Value, ...]] = {name: (label.value,) for name, label in labelled.labels.items()}
    own = tuple(each for each in labelled.elements if isinstance(each, HtmlElement))
    return ObjectSketch(own, properties, elements, labelled.fragment)


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
