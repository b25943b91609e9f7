"""Compare the results of an expression for a field with the labelled value of each object."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto

from lxml.etree import XPathError
from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.extraction import BODY
from aahcrawler.helper.extraction.field_reader import FieldReader, Owners, PageLocation, as_date, literals_on, stripped
from aahcrawler.page import Page
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Person, Reference, Value
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject
from knowledge_base.model import Extract, Field, FieldKind
from knowledge_base.selectors import Selector
from knowledge_base.url_rules import ParsedUrl

MAX_FOUND = 32
"""The most nodes of one expression within one object that are examined before its value is read."""

MAX_LINE_LENGTH = 300
TITLE = "title"

NEAR = 0.8
"""The share of words that two texts must have in common to be nearly the same."""

MIN_NEAR_LENGTH = 30
"""Shorter texts are either the same or different."""

_NEAR_DIGITS = re.compile(r"(?:[^\W\d_]+\W{1,3}){0,2}\d.*\d(?:\s?[apAP]\.?[mM]\b\.?|\s?[^\W\d_]{1,9}\b)?")
_DIGITS = re.compile(r"\d.*\d(?:\s?[apAP]\.?[mM]\b\.?)?")


class SampleOutcome(Enum):
    """The results of reading a field of one object."""

    RIGHT = auto()
    NEAR = auto()
    """The text read is a little longer or shorter; the example may have included too much of it."""
    WRONG = auto()
    MISSING = auto()
    """Nothing was read, but the example has a value."""
    BEYOND = auto()
    """A value was read, but the example has none."""
    ABSENT = auto()
    """Nothing was read, and the example has no value."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleReading:
    """A page for reading fields, identified by ``number``. ``owners`` is None without nested items."""

    page: Page
    reader: FieldReader
    owners: Owners | None
    number: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One object and the place of one of its fields; ``label`` is None if the example does not have the field.

    ``size`` is the number of elements in the item.
    """

    reading: SampleReading
    item: HtmlElement
    size: int
    label: Label | None
    first: bool = False

    def expected(self, wanted: Field) -> object | None:
        """Return the expected value of the field; None without a label."""
        return expected_at(self.label, wanted, self.reading.page) if self.label is not None else None

    def outcome(self, wanted: Field) -> SampleOutcome:
        """Read a field that has one expression, and compare the result with the example."""
        target = self.target
        if target is not None and not wanted.join and not wanted.without and self._finds(wanted, target):
            return SampleOutcome.RIGHT if self.reads(wanted) else SampleOutcome.MISSING
        return self.compare(wanted, self.values(wanted))

    def compare(self, wanted: Field, values: Sequence[Value]) -> SampleOutcome:
        """Compare the values read with the example's; for a field with many values, one match is enough."""
        expected = self.expected(wanted)
        if expected is None:
            return SampleOutcome.BEYOND if values else SampleOutcome.ABSENT
        return outcome_of(values, expected)

    @property
    def target(self) -> HtmlElement | None:
        """The one element whose whole text is the value; None if the value has another form."""
        label = self.label
        if label is None or label.attribute or label.without or len(label.elements) != 1:
            return None
        element = label.elements[0]
        return element if isinstance(element, HtmlElement) else None

    def reads(self, wanted: Field) -> bool:
        """Return whether reading the label's text as this field gives the value."""
        if self.label is None:
            return False
        text = text_of(self.label)
        if wanted.kind is FieldKind.DATETIME:
            return as_date(text, wanted.date, self.reading.page) == self.expected(wanted)
        return stripped(text, wanted.strip) == self.expected(wanted)

    def _finds(self, wanted: Field, target: HtmlElement) -> bool:
        """Return whether the target is the first of the item's own elements that the expression finds."""
        context = self.reading.page.tree if wanted.page else self.item
        owners = None if wanted.page else self.reading.owners
        selector = wanted.selectors[0]
        if selector.attribute:
            return False
        try:
            for node in selector.found(context)[:MAX_FOUND]:
                if isinstance(node, str):
                    return False
                if owners is None or owners.of(node) is context:
                    return node is target
        except XPathError:
            return False
        return False

    def values(self, wanted: Field) -> tuple[Value, ...]:
        """Return the values that the field reads, with text instead of markup."""
        reader = self.reading.reader
        reader.budget = max(reader.budget, 1)
        plain = replace(wanted, kind=FieldKind.TEXT) if wanted.kind is FieldKind.HTML else wanted
        try:
            return reader.read(plain, self.item, self.reading.owners).values
        except XPathError:
            return ()

    def date_text(self, wanted: Field) -> str:
        """Return the shortest part of the label's text that is read as its date; empty if none is."""
        label = self.label
        parts = {part for text in _pieces(label) for part in _parts(text)} if label is not None else set()
        for part in sorted(parts, key=lambda each: (len(each), each)):
            if label is not None and as_date(part, wanted.date, self.reading.page) == label.value:
                return part
        return ""


def expected_at(label: Label, wanted: Field, page: Page) -> object:
    """Return the expected value of a field at a label: the value shown if it can be read, else the label's own.

    Markup is compared by its text.
    """
    if wanted.kind is FieldKind.HTML:
        return text_of(label)
    if isinstance(label.value, datetime):
        return as_date(text_of(label), wanted.date, page) or label.value
    value = comparable(label.value)
    return stripped(value, wanted.strip) if isinstance(value, str) else value


def refined(example: LabelledExample, schema: Extract) -> LabelledExample:
    """Return an example without those parts of its values that the schema leaves out.

    The element of the title is also removed from a body that contains it.
    """
    if schema.run is not None:
        return example
    without = {field.name: field.without for field in schema.fields}
    objects: list[LabelledObject] = []
    for each in example.objects:
        title = each.labels.get(TITLE)
        labels = {
            name: _refined(label, without.get(name, ()), title if name == BODY else None)
            for name, label in each.labels.items()
        }
        objects.append(replace(each, labels=labels))
    return replace(example, objects=tuple(objects))


def _refined(label: Label, without: Sequence[Selector], title: Label | None) -> Label:
    if label.attribute:
        return label
    parts = list(label.without)
    for element in label.elements:
        if isinstance(element, HtmlElement):
            parts += [part for part in _parts_found(without, element) if part not in parts]
    parts += [part for part in _around(title) if part not in parts and _lies_in(part, label.elements)]
    if len(parts) == len(label.without):
        return label
    left = "\n".join(filter(None, (plain_text(element, parts) for element in label.elements)))
    value = left if left and isinstance(label.value, str) else label.value
    return replace(label, value=value, without=tuple(parts)) if left else label


def _around(title: Label | None) -> Iterator[Element]:
    """Yield the element of a title, or the one around it that contains nothing else."""
    if title is None or title.attribute or len(title.elements) != 1:
        return
    element = title.elements[0]
    text = fold(plain_text(element))
    parent = element.getparent()
    while parent is not None and fold(plain_text(parent)) == text:
        element, parent = parent, parent.getparent()
    yield element


def _lies_in(part: Element, elements: Sequence[Element]) -> bool:
    return not set(part.iterancestors()).isdisjoint(elements)


def _parts_found(selectors: Sequence[Selector], element: HtmlElement) -> Iterator[HtmlElement]:
    for selector in selectors:
        try:
            yield from selector.elements(element)
        except XPathError:
            continue


def page_location(page: Page) -> PageLocation:
    """Return a location that takes a page for the first of its thread, and its own URL for the thread's."""
    return PageLocation(page, page.url, ParsedUrl.parse(page.url), True, literals_on(page))


def text_of(label: Label) -> str:
    """Return the text at a label, in one line."""
    if label.attribute:
        return fold(" ".join(element.get(label.attribute) or "" for element in label.elements))
    return fold(" ".join(plain_text(element, label.without) for element in label.elements))


_GOOD = (SampleOutcome.WRONG, SampleOutcome.NEAR, SampleOutcome.RIGHT)


def outcome_of(values: Sequence[Value], expected: object) -> SampleOutcome:
    """Return how well the best of the values agrees with the expected one."""
    return max((compared(value, expected) for value in values), key=_GOOD.index, default=SampleOutcome.MISSING)


def compared(value: Value, expected: object) -> SampleOutcome:
    """Return how well a value that was read agrees with the expected one."""
    here = comparable(value)
    if here == expected:
        return SampleOutcome.RIGHT
    near = isinstance(here, str) and isinstance(expected, str) and _is_near(here, expected)
    return SampleOutcome.NEAR if near else SampleOutcome.WRONG


def _is_near(one: str, other: str) -> bool:
    """Return whether two long texts share nearly all of their words (characters, in scripts without spaces)."""
    short, long = sorted((one, other), key=len)
    if len(short) < MIN_NEAR_LENGTH or len(short) < NEAR * len(long):
        return False
    words = (short.split(), long.split()) if short.count(" ") * 12 > len(short) else (list(short), list(long))
    common = (Counter(words[0]) & Counter(words[1])).total()
    return common >= NEAR * max(map(len, words))


def comparable(value: Value) -> object:
    """Return a form that is equal for values with the same meaning: a person's name, text in one line."""
    match value:
        case Person():
            return fold(value.name)
        case Reference():
            return value.url
        case str():
            return fold(value)
        case _:
            return value


def _pieces(label: Label) -> Iterator[str]:
    if label.attribute:
        yield text_of(label)
        return
    for element in label.elements:
        whole = fold(plain_text(element, label.without))
        if len(whole) <= MAX_LINE_LENGTH:
            yield whole
        for text in list(element.itertext())[:MAX_FOUND]:
            if any(map(str.isdigit, text)) and len(text) <= MAX_LINE_LENGTH:
                yield fold(text)


def _parts(text: str) -> Iterator[str]:
    """Yield a text, then the text around its numbers, with fewer and fewer words before them."""
    yield text
    for pattern in (_NEAR_DIGITS, _DIGITS):
        found = pattern.search(text)
        words = found[0] if found else ""
        for _ in range(3):
            if words:
                yield words
            words = words.partition(" ")[2]


def firsts(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return one sample of each page: the first with a value, else the first."""
    found: dict[int, Sample] = {}
    for sample in samples:
        known = found.get(sample.reading.number)
        if known is None or (known.label is None and sample.label is not None):
            found[sample.reading.number] = sample
    return tuple(found.values())
