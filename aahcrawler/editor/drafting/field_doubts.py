"""Compute how doubtful the fields of an action are, and find alternative expressions."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from lxml import etree
from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.editor.drafting import annotated_xml
from aahcrawler.editor.drafting.extract_action import FieldDoubt, GenericReadings, Proposal, foreign_words
from aahcrawler.editor.drafting.labelling import with_wider_bodies
from aahcrawler.page import Page, dates
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject
from aahcrawler.wrapper_induction.induce import propose, run
from aahcrawler.wrapper_induction.samples import SampleOutcome, comparable, compared, text_of
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import DateFormat, Extract, Field

MAX_OTHERS = 3
"""Other expressions of one field that are offered."""
MAX_NAME_LENGTH, MAX_DATE_LENGTH = 60, 80
MIN_SHARE = 0.6
"""The share of the objects that have to have an element for it to be offered for a field."""
MAX_ELEMENTS = 400
_DATED = ("datetime", "title", "content", "data-time", "data-timestamp")
_MISSING, _UNLIKE, _ALONE, _RIVAL = 0.5, 0.6, 0.3, 0.04
_WINDOW = "head > title"
_HEADINGS = ("h1", "h2", "h3")

Labelled = Callable[[LabelledObject, Page], Iterator[tuple[object, Label]]]
"""Yields, for one object, labels for a field that could be meant, each with what those of other objects share."""


def field_doubts(proposal: Proposal, generic: GenericReadings) -> Mapping[str, FieldDoubt]:
    """Return the doubt of each field that occurs on a page, with alternative fields."""
    action = proposal.wrapper.action
    pages = [example.page for example in proposal.examples]
    unlike = _unlike(action, pages, generic, beside=proposal.objects.beside)
    found: dict[str, FieldDoubt] = {}
    for field in action.fields:
        if field.name in found:
            continue
        labels = [each.labels.get(field.name) for example in proposal.examples for each in example.objects]
        wanted = len(proposal.examples) if field.first_only else len(labels)
        given = sum(label is not None for label in labels)
        others = tuple(_others(proposal, field))[:MAX_OTHERS]
        doubt = _MISSING * (1 - min(given / max(wanted, 1), 1)) + _UNLIKE * unlike.get(field.name, 0.0)
        found[field.name] = FieldDoubt(doubt + _ALONE / max(given, 1) + _RIVAL * len(others), others)
    return found


def _unlike(action: Extract, pages: Sequence[Page], generic: GenericReadings, *, beside: bool) -> Mapping[str, float]:
    """Return, for each field, the share of values that generic reading finds, too, but with another value."""
    same: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for page in pages:
        read, known = run(action, page) or [], generic.wanted(page, action, beside=beside)
        for one, other in zip(read, known, strict=False) if len(read) == len(known) else ():
            for name in ("title", "author", "date", "body"):
                there = other.first(name)
                if there is not None:
                    total[name] += 1
                    same[name] += _agrees(one, name, there)
    return {name: 1 - same[name] / total[name] for name in total}


def _agrees(read: WebObject, name: str, there: Value) -> bool:
    here = read.first(name)
    return here is not None and compared(here, comparable(there)) is not SampleOutcome.WRONG


def _others(proposal: Proposal, field: Field) -> Iterator[tuple[str, etree._Element]]:
    """Yield other fields that could be meant, as they would be written, each with what it reads."""
    known = {_bare(each) for each in _written(proposal.wrapper.action, field.name)}
    for said, examples in _variants(proposal, field):
        schema = _schema(proposal, field)
        found = propose(examples, schema, foreign_words([example.page for example in examples]))
        for element in _written(found[0].action, field.name) if found is not None else ():
            if _bare(element) not in known:
                known.add(_bare(element))
                yield said, _cited(element)
    if field.name == "title" and [each.css for each in field.selectors] != [_WINDOW]:
        yield "the title of the browser's window is meant", _cited(_window_title(field))


def _variants(proposal: Proposal, field: Field) -> Iterator[tuple[str, Sequence[LabelledExample]]]:
    match field.name:
        case "body":
            yield from _wider(proposal.examples)
        case "author":
            yield from _relabelled(proposal.examples, "author", _names)
        case "date":
            yield from _relabelled(proposal.examples, "date", _dates)
        case "title":
            yield from _headings(proposal.examples)


def _wider(examples: Sequence[LabelledExample]) -> Iterator[tuple[str, Sequence[LabelledExample]]]:
    current = list(examples)
    for _ in range(2):
        wider = [with_wider_bodies(example) for example in current]
        if not any(wider):
            return
        current = [new or old for new, old in zip(wider, current, strict=True)]
        yield f'the element around it holds the whole text: "{_shown(current, "body")}"', current


def _relabelled(
    examples: Sequence[LabelledExample], name: str, labels: Labelled
) -> Iterator[tuple[str, Sequence[LabelledExample]]]:
    """Yield examples with another element of each object as the field's value, the most frequent alternatives first."""
    found: dict[object, dict[Element, Label]] = {}
    total = 0
    for example in examples:
        for each in example.objects:
            total += 1
            for sort, label in labels(each, example.page):
                found.setdefault(sort, {}).setdefault(each.elements[0], label)
    chosen = {each.labels[name].elements for example in examples for each in example.objects if name in each.labels}
    for own in sorted(found.values(), key=len, reverse=True)[: 2 * MAX_OTHERS]:
        if len(own) >= MIN_SHARE * total and any(label.elements not in chosen for label in own.values()):
            changed = [_with(example, name, own) for example in examples]
            yield f'another part of each is meant: "{_shown(changed, name)}"', changed


def _with(example: LabelledExample, name: str, own: Mapping[Element, Label]) -> LabelledExample:
    objects = []
    for each in example.objects:
        others = {key: known for key, known in each.labels.items() if key != name}
        label = own.get(each.elements[0])
        objects.append(replace(each, labels={**others, name: label} if label is not None else others))
    return replace(example, objects=tuple(objects))


def _names(labelled: LabelledObject, page: Page) -> Iterator[tuple[object, Label]]:
    """Yield the short texts of an object that could be names: those of links, and of elements that are named."""
    for element in _beside_body(labelled):
        shown = fold(plain_text(element))
        is_name = 1 < len(shown) <= MAX_NAME_LENGTH and any(map(str.isalpha, shown)) and not len(element)
        if is_name and (element.tag == "a" or element.get("class")) and not _moment(shown, page):
            yield (element.tag, element.get("class")), Label((element,), Person(shown))


def _dates(labelled: LabelledObject, page: Page) -> Iterator[tuple[object, Label]]:
    for element in _beside_body(labelled):
        written = {name: element.get(name) or "" for name in _DATED}
        attribute = next((name for name, value in written.items() if value and _moment(value, page)), "")
        shown = written[attribute] if attribute else fold(plain_text(element))
        read = dates.read_date(shown, now=page.fetched_at) if len(shown) <= MAX_DATE_LENGTH else None
        if read is not None and (attribute or not len(element)):
            yield (element.tag, element.get("class"), attribute), Label((element,), read.moment, attribute)


def _moment(text: str, page: Page) -> bool:
    return len(text) <= MAX_DATE_LENGTH and dates.read_date(text, now=page.fetched_at) is not None


def _beside_body(labelled: LabelledObject) -> Iterator[HtmlElement]:
    """Yield the elements of an object that are not within its body, in document order."""
    body = labelled.labels.get("body")
    within = set(body.elements[0].iterdescendants()) if body is not None else set()
    for number, element in enumerate(labelled.elements[0].iter()):
        if number == MAX_ELEMENTS:
            return
        if isinstance(element, HtmlElement) and isinstance(element.tag, str) and element not in within:
            yield element


def _headings(examples: Sequence[LabelledExample]) -> Iterator[tuple[str, Sequence[LabelledExample]]]:
    """Yield examples with other headings of their pages as titles of the first objects."""
    for tag in _HEADINGS:
        changed = []
        for example in examples:
            first = next(iter(example.page.tree.iter(tag)), None)
            shown = fold(plain_text(first)) if first is not None else ""
            if first is None or not shown or not example.objects:
                continue
            label = Label((first,), shown)
            begun, *others = example.objects
            objects = (replace(begun, labels={**begun.labels, "title": label}), *others)
            changed.append(replace(example, objects=objects))
        if len(changed) == len(examples):
            yield f'another heading is meant: "{_shown(changed, "title")}"', changed


def _schema(proposal: Proposal, field: Field) -> Extract:
    action = proposal.wrapper.action
    wanted = replace(field, selectors=(), without=(), page=False, join=False)
    order = {"date": replace(wanted, date=DateFormat(field.date.order))}.get(field.name, wanted)
    return replace(action, items=(), identity=None, fields=(order,), many=action.many, always=False)


def _written(action: Extract, name: str) -> list[etree._Element]:
    """Return the first field of a name as a file has it; nothing without any expression."""
    fields = [each for each in action.fields if each.name == name and each.selectors][:1]
    return Wrapper(replace(action, fields=tuple(fields))).xml().findall("field")


def _bare(element: etree._Element) -> bytes:
    return etree.tostring(element, with_tail=False)


def _cited(element: etree._Element) -> etree._Element:
    for each in element.iter("select", "without"):
        each.set("cite", annotated_xml.UNPROVEN)
    return element


def _window_title(field: Field) -> etree._Element:
    element = etree.Element("field", {"name": "title", "page": "yes"})
    if field.first_only:
        element.set("first-only", "yes")
    etree.SubElement(element, "select", {"css": _WINDOW})
    return element


def _shown(examples: Sequence[LabelledExample], name: str) -> str:
    labels = (each.labels.get(name) for example in examples for each in example.objects)
    return next((text_of(label)[:60] for label in labels if label is not None), "")
