"""Decides what is to be believed: a teacher's lesson, and an action that was learned of lessons.

Being alike is not enough. A lesson has to be about all objects of the page, clearly better than what else it could
have been, and about texts that somebody wrote; an action has to find the same on every page that it was learned of,
and nothing where there is nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from statistics import median

from lxml.etree import _Element as Element

from aahcrawler.adaptation.lessons import Example, Lesson, Method, Spot
from aahcrawler.adaptation.noticing import bare, body_of
from aahcrawler.helper.adapter import Question
from aahcrawler.helper.extraction import BODY, Extracted
from aahcrawler.induction.asides import asides_hold_content
from aahcrawler.induction.headings import Names
from aahcrawler.induction.outline import Outline, weight
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person

LEAST_CONFIDENCE = 0.5
LEAST_MARGIN = 0.1
CAUTIOUS_CONFIDENCE = 0.65
CAUTIOUS_MARGIN = 0.2
BODIED = 0.9
"""The share of a page's objects that must have a body."""
DISTINCT = 0.7
"""The share of bodies that differ from all others; people do write the same now and then."""
MOST_LINKED = 0.7
"""The share of a body's characters that may be links, in the middle one of all bodies."""
SIGNED = 0.6
"""The share of objects with an author or a date, where several are found by their shape alone."""
CAUTIOUSLY_SIGNED = 0.8
MOST_FILLED_IN = 0.5
"""The share of a body's characters that may be those of a form, such as the one to answer with."""
MOST_HEADED = 0.7
"""The share of a body's characters that may be headings."""
RUNNING = 40
"""The weight of a piece of text (see `aahcrawler.induction.outline.weight`) that is no label and no caption."""
LEFT_OUT = 0.2
"""The share of objects that may have neighbours like them which the lesson passes over."""
BRIEF = 20
LEAST_ARTICLE = 200
"""Characters of an article on a page that shows no sign of holding one."""
ALIKE = 0.9
PIECE, MOST_PIECES = 12, 0.75
"""Characters of the pieces that texts are compared by, and the share of them that two have in common."""
MUCH_MORE, DOUBLE = 1.25, 2.0

_OUTSIDE = frozenset({"nav", "footer", "aside", "form", "select"})
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NO_TEXT = frozenset({*HEADINGS, "a", "form", "script", "style"})
AUTHOR, DATE = "author", "date"
_WHO_OR_WHEN = frozenset({AUTHOR, DATE})


class Doubt(StrEnum):
    """Why a lesson is not believed."""

    ABSENT = "absent"
    """It has no objects."""
    CLOSE = "close"
    """Something else on the page could be meant as well, or nothing."""
    NO_BODIES = "no-bodies"
    REPEATED = "repeated"
    """Many objects have the same text."""
    LINKS = "links"
    """The texts are lists of links."""
    OUTSIDE = "outside"
    """They stand in menus, forms or footers."""
    ANONYMOUS = "anonymous"
    """Nobody has written them at any time."""
    PARTIAL = "partial"
    """Others like them are left out."""
    MANY = "many"
    """The page can have one such object only."""


def doubt(lesson: Lesson, question: Question, *, cautious: bool) -> Doubt | None:
    """Say why a lesson is not believed, None where it is.

    ``cautious`` is for pages that may well hold no such object: more is asked of the lesson then, unless it remembers
    the objects.
    """
    examples = lesson.examples
    if not examples:
        return Doubt.ABSENT
    remembered = lesson.method is Method.MEMORY
    cautious = cautious and not remembered
    if _is_close(lesson, cautious=cautious):
        return Doubt.CLOSE
    if len(examples) > 1 and not question.action.many:
        return Doubt.MANY
    return _doubtful_texts(question, examples) or (
        None if remembered else _doubtful_shape(question, lesson, cautious=cautious)
    )


def _is_close(lesson: Lesson, *, cautious: bool) -> bool:
    least = CAUTIOUS_CONFIDENCE if cautious else LEAST_CONFIDENCE
    margin = CAUTIOUS_MARGIN if cautious else LEAST_MARGIN
    return lesson.confidence < least or lesson.confidence - lesson.runner_up < margin


def _doubtful_texts(question: Question, examples: Sequence[Example]) -> Doubt | None:
    if all(wanted.name != BODY for wanted in question.action.fields):
        return None
    bodies = [text for example in examples if (text := body_text(example)) and text != _author_of(example)]
    if len(bodies) < BODIED * len(examples):
        return Doubt.NO_BODIES
    if len(bodies) > 2 and len(set(bodies)) < DISTINCT * len(bodies):
        return Doubt.REPEATED
    return None


def _doubtful_shape(question: Question, lesson: Lesson, *, cautious: bool) -> Doubt | None:
    examples = lesson.examples
    spots = [spot for example in examples if (spot := example.spots.get(BODY)) is not None]
    if spots and median(map(_linked, spots)) > MOST_LINKED:
        return Doubt.LINKS
    if spots and median(map(_filled_in, spots)) > MOST_FILLED_IN:
        return Doubt.OUTSIDE
    if spots and median(map(_headed, spots)) > MOST_HEADED:
        return Doubt.NO_BODIES
    if spots and not question.action.many and not any(map(_runs_on, spots)):
        return Doubt.NO_BODIES
    if _are_outside(lesson):
        return Doubt.OUTSIDE
    # Whoever writes without signing stands beside those who sign, in the same elements.
    alike = question.action.many and question.action.run is None
    return _doubtful_signatures(question, lesson, cautious=cautious) or (
        Doubt.PARTIAL if alike and _left_out(examples) > LEFT_OUT * len(examples) else None
    )


def _doubtful_signatures(question: Question, lesson: Lesson, *, cautious: bool) -> Doubt | None:
    examples = lesson.examples
    signs = _WHO_OR_WHEN & {wanted.name for wanted in question.action.fields}
    if not signs:
        return None
    if cautious and lesson.method is Method.RELAXED and DATE in signs:
        # What is named like an author may be the heading of an empty list of comments; a date is a date.
        signs = frozenset({DATE})
    signed = sum(not example.spots.keys().isdisjoint(signs) for example in examples)
    if question.action.many:
        return Doubt.ANONYMOUS if signed < (CAUTIOUSLY_SIGNED if cautious else SIGNED) * len(examples) else None
    if cautious and not signed and sum(len(body_text(each)) for each in examples) < LEAST_ARTICLE:
        return Doubt.ANONYMOUS
    return None


def body_text(example: Example) -> str:
    """Return the text of an example's body without white space, empty where it has none."""
    spot = example.spots.get(BODY)
    return bare(spot.value) if spot is not None and isinstance(spot.value, str) else ""


def _author_of(example: Example) -> str:
    """Return the name of an example's author as texts are compared, empty where it has none."""
    author = example.spots[AUTHOR].value if AUTHOR in example.spots else ""
    return bare(author.name) if isinstance(author, Person) else bare(str(author))


def _linked(spot: Spot) -> float:
    return _share(spot, "a")


def _filled_in(spot: Spot) -> float:
    return _share(spot, "form")


def _headed(spot: Spot) -> float:
    """Return the share of a text that is a heading, or all where it stands in one."""
    if any(above.tag in HEADINGS for element in spot.elements for above in element.iterancestors()):
        return 1.0
    return sum(_share(spot, heading) for heading in HEADINGS)


def _runs_on(spot: Spot) -> bool:
    """Say whether there is any running text, in no heading, link or form."""
    return any(weight(piece) >= RUNNING for element in spot.elements for piece in _pieces(element))


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


def _share(spot: Spot, tag: str) -> float:
    """Return the share of a text that stands within elements of a tag."""
    text = sum(len(bare(plain_text(element, spot.without))) for element in spot.elements)
    within = sum(len(bare(plain_text(part))) for element in spot.elements for part in _parts(element, tag))
    return within / text if text else 0.0


def _parts(element: Element, tag: str) -> Iterable[Element]:
    return (element,) if element.tag == tag else element.iter(tag)


def _are_outside(lesson: Lesson) -> bool:
    """Say whether most objects stand in menus and the like.

    Where a template calls blocks asides those are none, and induction has told asides apart already. A form around
    several objects is there to choose among them.
    """
    outside = _OUTSIDE if len(lesson.examples) == 1 else _OUTSIDE - {"form"}
    around = [
        {above.tag for element in example.elements[:1] for above in element.iterancestors()} & outside
        for example in lesson.examples
    ]
    if 2 * sum(map(bool, around)) <= len(around):
        return False
    if any(tags - {"aside"} for tags in around):
        return True
    induced = lesson.method is Method.INDUCED
    return not induced and not asides_hold_content(Outline(lesson.page.tree), Names.of(lesson.page))


def _left_out(examples: Sequence[Example]) -> int:
    """Count the neighbours of a page's objects that look like them, hold text and are no part of the lesson."""
    own = {element for example in examples for element in example.elements}
    looks = Counter(map(_look, own))
    parents = dict.fromkeys(parent for element in own if (parent := element.getparent()) is not None)
    return sum(
        _look(child) in looks and child not in own and len(bare(plain_text(child))) > BRIEF and _holds_none(child, own)
        for parent in parents
        for child in parent
    )


def _look(element: Element) -> tuple[str, frozenset[str]]:
    """Return name and classes of an element; numbers in classes tell one object from another."""
    tag = element.tag if isinstance(element.tag, str) else ""
    words = (word.rstrip("0123456789-_") for word in (element.get("class") or "").split())
    return tag, frozenset(filter(None, words))


def _holds_none(element: Element, own: set[Element]) -> bool:
    return all(inner not in own for inner in element.iter())


def reproduces(found: Sequence[Extracted], lesson: Lesson) -> bool:
    """Say whether an action found what a lesson says: the same texts, none missing and hardly any beyond."""
    wanted = Counter(filter(None, map(body_text, lesson.examples)))
    bodies = Counter(bare(body_of(each.object)) for each in found)
    if not wanted:
        return len(found) == len(lesson.examples)
    same = sum((wanted & bodies).values())
    same += _nearly(list((wanted - bodies).elements()), list((bodies - wanted).elements()))
    total = sum(wanted.values())
    return same >= ALIKE * total and len(found) - same <= (1 - ALIKE) * total


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
    return short in long or sum(piece in short for piece in pieces) >= MOST_PIECES * len(pieces)


def loses_nothing(before: Sequence[Extracted], after: Sequence[Extracted]) -> bool:
    """Say whether a field that was read before is still read, in as many objects or nearly so."""
    had, has = _filled(before), _filled(after)
    return all(has[name] >= ALIKE * count for name, count in had.items())


def _filled(extracted: Sequence[Extracted]) -> Counter[str]:
    return Counter(name for each in extracted for name in each.object.properties if name != "parent")


def adds_to(lesson: Lesson, found: Sequence[Extracted]) -> bool:
    """Say whether a lesson knows all that an action found, and more."""
    wanted = Counter(filter(None, map(body_text, lesson.examples)))
    bodies = Counter(text for each in found if (text := bare(body_of(each.object))))
    same = sum((wanted & bodies).values())
    same += _nearly(list((bodies - wanted).elements()), list((wanted - bodies).elements()))
    return same >= ALIKE * sum(bodies.values()) and sum(wanted.values()) > sum(bodies.values())


def encloses(lesson: Lesson, found: Sequence[Extracted], fields: frozenset[str]) -> bool:
    """Say whether a lesson is about the objects that an action found, and knows their fields and more of their texts.

    An action that misses fields may cut texts short as well. More is much more than a line about author and date.
    """
    if not fields or not found or len(lesson.examples) != len(found):
        return False
    parts = [bare(body_of(each.object)) for each in found]
    wholes = list(map(body_text, lesson.examples))
    if not all(part and part in whole for part, whole in zip(parts, wholes, strict=True)):
        return False
    more = sum(map(len, wholes)) / sum(map(len, parts))
    if more < (DOUBLE if any(map(_holds_its_signature, lesson.examples)) else MUCH_MORE):
        return False
    return all(sum(name in example.spots for example in lesson.examples) >= ALIKE * len(found) for name in fields)


def _holds_its_signature(example: Example) -> bool:
    """Say whether the line that tells author or date is part of what is taken for the body."""
    body = set(example.spots[BODY].elements) if BODY in example.spots else set()
    signs = (element for name in _WHO_OR_WHEN if name in example.spots for element in example.spots[name].elements)
    return any(element in body or not body.isdisjoint(element.iterancestors()) for element in signs)
