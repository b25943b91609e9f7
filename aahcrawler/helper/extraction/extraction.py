"""Extract web objects from a page by an action: its items, their fragments, their fields, and what went wrong."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction.field_reader import (
    FieldReader,
    FoundValues,
    Owners,
    PageLocation,
    literals_on,
    named_address,
    nesting,
)
from aahcrawler.helper.extraction.runs import run_items
from aahcrawler.page import Page, text
from aahcrawler.page.dates import LACKS_YEAR
from aahcrawler.webobject import Person, Reference, Value, WebObject
from knowledge_base.element_index import Elements
from knowledge_base.model import Application, Extract, Field, FieldKind, Identity, PageLevel
from knowledge_base.selectors import Selector, SourceLiterals
from knowledge_base.url_rules import ParsedUrl
from knowledge_base.xpath_limits import TooCostlyError

COMPOSED = "c-"
"""The prefix of a composed fragment, unless the knowledge base names another one."""

_MAX_VALUE_LENGTH = 100
_DIGEST_BYTES = 6


def find_fragment(
    identity: Identity, selectors: Iterable[Selector], item: HtmlElement, elements: Elements | None = None
) -> str | None:
    """Return the fragment of an object's IRI by the first expression that finds one, None if none does.

    ``elements`` are those of the page, if known.
    """
    for selector in selectors:
        for node in selector.nodes(item, elements)[:1]:
            fragment = identity.fragment(node if isinstance(node, str) else text.fold(text.plain_text(node)))
            if fragment is not None:
                return fragment
    return None


class Composed:
    """Makes fragments of the values of fields, different ones for the objects of one page.

    Another object of the same author and second gets ``-2`` behind its fragment, the next ``-3``: the order of
    objects on a page counts, and only there.
    """

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()

    def fragment(self, identity: Identity, properties: Mapping[str, Sequence[Value]]) -> str | None:
        """Return the fragment made of the first value of each field; None if none of the fields has a value."""
        values = [values[0] for name in identity.fields if (values := properties.get(name))]
        if not values:
            return None
        fragment = (identity.prefix or COMPOSED) + "-".join(map(write_value, values))
        self._times[fragment] += 1
        return fragment if self._times[fragment] == 1 else f"{fragment}-{self._times[fragment]}"


def write_value(value: Value) -> str:
    """Return a value as a part of a fragment: a person's name, the digits of a time in UTC, ``_`` for white space.

    A long text is cut and gets a digest of the whole, which tells it from others with the same beginning.

    >>> write_value(Person("Ada L. & co")), write_value(datetime(2024, 5, 1, 9, 30, tzinfo=UTC))
    ('Ada_L._%26_co', '20240501093000')
    """
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y%m%d%H%M%S")
    shown = value.name if isinstance(value, Person) else value.url if isinstance(value, Reference) else str(value)
    joined = "_".join(shown.split())
    if len(joined) > _MAX_VALUE_LENGTH:
        digest = hashlib.blake2b(joined.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()
        joined = f"{joined[: _MAX_VALUE_LENGTH - len(digest) - 1]}-{digest}"
    return quote(joined, safe="")


MAX_OBJECTS = 2_000
"""The most objects of one action on one page; no template shows as many."""

MAX_NESTING = 12
DEEP = 100
"""The depth from which nested markup counts for more: expressions visit the ancestors of each element."""

MAX_ELEMENTS = 400_000
"""The most elements that are visited for the objects of one action; an element within several objects counts for each.
"""

BODY, TITLE = "body", "title"
_BYLINES = frozenset({FieldKind.PERSON, FieldKind.DATETIME})
_deep = etree.XPath("boolean(self::*" + (2 * DEEP - 1) * "/*" + ")")
"""Tests whether a page is nested so deeply that each of its elements counts as several."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """An object, and the elements from which its body was read.

    ``without`` are elements within these that do not belong to the body.
    """

    object: WebObject
    body: tuple[HtmlElement, ...]
    without: tuple[HtmlElement, ...] = ()


class Replies:
    """Remembers the fragments of a page's runs, for the runs that answer them."""

    def __init__(self) -> None:
        self._fragments: dict[str, str] = {}

    def parent(self, item: HtmlElement, fragment: str | None) -> str | None:
        """Record the fragment of a run, and return that of the run it answers, None if there is none."""
        if fragment is not None:
            self._fragments[item.get("data-number", "")] = fragment
        return self._fragments.get(item.get("data-parent", ""))


@dataclass
class Extraction:
    """One extraction action on one page. ``failure`` is set once `objects` has been read to its end."""

    action: Extract
    location: PageLocation
    reader: FieldReader
    failure: Failure | None = None
    detail: str = ""
    owners: Owners | None = None
    _composed: Composed = field(default_factory=Composed)
    _replies: Replies = field(default_factory=Replies)

    def objects(self) -> Iterator[Extracted]:
        """Yield the objects in document order; the same IRI comes once."""
        seen: set[str] = set()
        bodies = 0
        tree, elements = self.location.page.tree, self.location.page.elements
        allowance = _allowance(elements.size(tree))
        weight = max(1, _depth(tree) // DEEP) if _deep(tree) else 1
        for number, item in enumerate(self.items()):
            allowance -= weight * elements.size(item)
            if self.reader.budget < 0 or allowance < 0 or number >= MAX_OBJECTS:
                self.failure, self.detail = Failure.TOO_MUCH, f"after {number} objects"
                return
            try:
                extracted = self._read(item, first=number == 0 and self.location.is_first)
            except TooCostlyError:
                if self.location.page.complete:
                    raise
                # What the end of a page that was cut lacks is looked for in dearer ways, in vain.
                self.failure, self.detail = Failure.TOO_MUCH, f"after {number} objects"
                return
            if extracted is not None and extracted.object.iri not in seen:
                seen.add(extracted.object.iri)
                bodies += BODY in extracted.object.properties
                yield extracted
        if not seen and self.action.always:
            self.failure = Failure.NOTHING_FOUND
        elif seen and not bodies and any(wanted.name == BODY for wanted in self.action.fields):
            self.failure = Failure.INCOMPLETE

    def items(self) -> list[HtmlElement]:
        """Return the elements of the objects; where the action has a run, elements that were made of runs."""
        page = self.location.page
        for selector in self.reader.narrowed(self.action.items):
            items = selector.elements(page.tree, page.elements)
            if items:
                items = items if self.action.many else items[:1]
                if self.action.run is not None:
                    items = run_items(items, self.action.run, page.fetched_at, page.elements)
                    self.reader.keep_whole(self.action.fields)
                self.owners = nesting(items)
                return items
        return []

    @cached_property
    def _naming(self) -> Sequence[Selector]:
        """The expressions for the fragment of an object that can find anything on the page."""
        return self._usable(self.action.identity)

    @cached_property
    def _answering(self) -> Sequence[Selector]:
        """The expressions for the fragment of the answered object that can find anything on the page."""
        return self._usable(self.action.parent)

    def _usable(self, identity: Identity | None) -> Sequence[Selector]:
        if identity is None:
            return ()
        # Items of runs hold markup that is not in the source of the page.
        is_made = self.action.run is not None
        return identity.selectors if is_made else tuple(self.reader.narrowed(identity.selectors))

    def _read(self, item: HtmlElement, *, first: bool) -> Extracted | None:
        identity = self.action.identity
        fragment = (
            find_fragment(identity, self._naming, item, self.location.page.elements) if identity is not None else None
        )
        if identity is not None and fragment is None and not identity.fields:
            return None
        properties, body, inferred = self._properties(item, first=first)
        if identity is not None and fragment is None:
            fragment = self._composed.fragment(identity, properties)
            if fragment is None:
                return None
        own = self.location.own.url
        properties["url"] = (Reference(f"{self.location.url}#{fragment}" if fragment else own),)
        answered = self.action.parent
        parent = (
            find_fragment(answered, self._answering, item, self.location.page.elements)
            if answered is not None
            else None
        )
        if self.action.run is not None:
            parent = self._replies.parent(item, fragment)
        if parent is not None:
            properties["parent"] = (Reference(f"{own}#{parent}"),)
        iri = f"{own}#{fragment}" if fragment else own
        part_of = own if fragment else None
        found = WebObject(iri, self._type(first), self.location.page.url, properties, part_of, inferred)
        return Extracted(found, body.elements, body.without)

    def _properties(
        self, item: HtmlElement, *, first: bool
    ) -> tuple[dict[str, tuple[Value, ...]], FoundValues, dict[str, str]]:
        """Return the values of the fields by name, the elements of the body, and what values were inferred from."""
        properties: dict[str, tuple[Value, ...]] = {}
        inferred: dict[str, str] = {}
        body, of_body = FoundValues(), None
        beside: list[HtmlElement] = []
        for wanted in self.action.fields:
            if wanted.name in properties or (wanted.first_only and not first):
                continue
            found = self._found(wanted, item, first=first)
            if wanted.name == BODY and (found.values or not body.elements):
                body, of_body = found, wanted
            elif wanted.name == TITLE or wanted.kind in _BYLINES:
                beside += found.elements
            if found.values:
                properties[wanted.name] = found.values
                inferred |= {wanted.name: LACKS_YEAR} if found.lacks_year else {}
        if of_body is not None and beside and body.values:
            body = self.reader.without_bylines(of_body, body, beside)
            properties[BODY] = body.values
        return properties, body, inferred

    def _found(self, wanted: Field, item: HtmlElement, *, first: bool) -> FoundValues:
        """Read a field. If a page has several objects, only its first one gets the values that the page declares."""
        found = self.reader.read(wanted, item, self.owners)
        if not found.values and wanted.declared and (first or not self.action.many):
            return self.reader.declared(wanted)
        return found

    def _type(self, first: bool) -> str:
        if first and self.action.first_type:
            return self.action.first_type
        return self._usual_type

    @cached_property
    def _usual_type(self) -> str:
        page = self.location.page
        shown = (type_ for type_, sign in self.action.instead if sign.shows(page.tree, page.elements))
        return next(shown, self.action.type)


def _depth(tree: HtmlElement) -> int:
    """Return the greatest depth at which elements of the page are nested."""
    depth = deepest = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _allowance(size: int) -> int:
    """Return the most elements that all items may have together; an element counts once for each item it lies in."""
    return min(MAX_NESTING * size, max(MAX_ELEMENTS, 2 * size))


_BY_WHOM_AND_WHEN = Identity((), fields=("author", "date"))


@dataclass(frozen=True, slots=True)
class ObjectSketch:
    """An object as it was found: its elements, its values by the names of fields, the elements of its body.

    ``fragment`` is that of its IRI, None if it is not known.
    """

    elements: tuple[HtmlElement, ...]
    properties: Mapping[str, tuple[Value, ...]]
    body: tuple[HtmlElement, ...] = ()
    fragment: str | None = None


class PageFields(Protocol):
    """Reads the fields of an action that are found on the whole page instead of within an item."""

    def __call__(self, action: Extract, item: HtmlElement, *, first: bool) -> Mapping[str, tuple[Value, ...]]: ...  # noqa: D102


def sketched(
    action: Extract, location: PageLocation, sketches: Sequence[ObjectSketch], page_fields: PageFields
) -> tuple[Extracted, ...]:
    """Return the objects of sketches in their order, each IRI once.

    Type, URL and containers follow from the action and the page. An object without a number on the page is named by its
    author and date; one without these, by its text.
    """
    composed = Composed()
    found: dict[str, Extracted] = {}
    for number, sketch in enumerate(sketches if action.many else sketches[:1]):
        first = number == 0 and location.is_first
        names = {wanted.name for wanted in action.fields if first or not wanted.first_only}
        values = {name: given for name, given in sketch.properties.items() if name in names and given}
        properties = {**page_fields(action, sketch.elements[0], first=first), **values}
        elements = location.page.elements
        fragment = _fragment(action, sketch, properties, composed, elements) if action.identity is not None else None
        extracted = _object(action, location, sketch, properties, fragment, first=first)
        found.setdefault(extracted.object.iri, extracted)
    return tuple(found.values())


def _fragment(
    action: Extract,
    sketch: ObjectSketch,
    properties: Mapping[str, tuple[Value, ...]],
    composed: Composed,
    elements: Elements,
) -> str | None:
    known = sketch.fragment or _numbered(action.identity, sketch, elements)
    if known is not None:
        return known
    identity = action.identity if action.identity is not None and action.identity.fields else _BY_WHOM_AND_WHEN
    if all(name in properties for name in identity.fields):
        return composed.fragment(identity, properties)
    text = "\n".join(str(value) for value in properties.get(BODY, ()))
    return COMPOSED + sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _numbered(identity: Identity | None, sketch: ObjectSketch, elements: Elements) -> str | None:
    if identity is None:
        return None
    numbers = (find_fragment(identity, identity.selectors, element, elements) for element in sketch.elements)
    return next((number for number in numbers if number is not None), None)


def _object(
    action: Extract,
    location: PageLocation,
    sketch: ObjectSketch,
    properties: Mapping[str, tuple[Value, ...]],
    fragment: str | None,
    *,
    first: bool,
) -> Extracted:
    own = location.own.url
    given = dict(properties)
    given["url"] = (Reference(f"{location.url}#{fragment}" if fragment else own),)
    parent = _numbered(action.parent, sketch, location.page.elements)
    if parent is not None:
        given["parent"] = (Reference(f"{own}#{parent}"),)
    iri = f"{own}#{fragment}" if fragment else own
    kind = action.first_type if first and action.first_type else _type(action, location)
    return Extracted(WebObject(iri, kind, location.page.url, given, own if fragment else None), sketch.body)


def _type(action: Extract, location: PageLocation) -> str:
    return next(
        (name for name, sign in action.instead if sign.shows(location.page.tree, location.page.elements)), action.type
    )


MIN_TEXT = 1_000_000
"""The characters that may be read for the objects of a page, however small the page is."""


@dataclass(frozen=True, slots=True)
class ExtractionOutcome:
    """The objects of an action, in document order with distinct IRIs, and the reason if some are missing.

    ``learned`` names the learned action that found them; it is empty if the action of the file did. Objects found after
    a failure are not ``verified`` if a former crawl knew others that the page still shows. With ``spared``, repair or
    learning was skipped after failures on earlier pages.
    """

    extracted: tuple[Extracted, ...] = ()
    failure: Failure | None = None
    detail: str = ""
    learned: str = ""
    verified: bool = True
    spared: bool = False


@dataclass(frozen=True)
class Runner:
    """Runs extraction actions of one level on one page."""

    location: PageLocation
    reader: FieldReader = field(repr=False)

    @classmethod
    def at(cls, location: PageLocation) -> "Runner":
        """Run actions on a page whose location is known."""
        return cls(location, FieldReader(location, max(MIN_TEXT, 4 * len(location.page.body))))

    @classmethod
    def of(
        cls,
        page: Page,
        application: Application,
        level: PageLevel,
        literals: SourceLiterals | None = None,
    ) -> "Runner":
        """Run actions on a page of a level. Raises `lxml.etree.XPathError` where its own URL cannot be told."""
        own: ParsedUrl | None = named_address(page, application, level) if level.own else None
        return cls.at(PageLocation.of(page, application, level, literals or literals_on(page), own))

    def again(self) -> "Runner":
        """Return a runner that may read as much text of the page again."""
        return Runner.at(self.location)

    def run(self, action: Extract) -> ExtractionOutcome:
        """Run an action. Raises `lxml.etree.XPathError` and ``ValueError`` for expressions that fail on this page."""
        extraction = Extraction(action, self.location, self.reader)
        extracted = tuple(extraction.objects())
        return ExtractionOutcome(extracted, extraction.failure, extraction.detail)

    def make(self, action: Extract, sketches: tuple[ObjectSketch, ...]) -> tuple[Extracted, ...]:
        """Return the objects that an action would have made of values that were found by other means."""
        return sketched(action, self.location, sketches, self._page_fields)

    def _page_fields(self, action: Extract, item: HtmlElement, *, first: bool) -> Mapping[str, tuple[Value, ...]]:
        found: dict[str, tuple[Value, ...]] = {}
        for wanted in action.fields:
            if wanted.page and wanted.name not in found and (first or not wanted.first_only):
                values = self.reader.read(wanted, item, None).values
                if values:
                    found[wanted.name] = values
        return found
