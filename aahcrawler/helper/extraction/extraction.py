"""Runs the extraction actions of a page level: from elements to web objects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction import fragments
from aahcrawler.helper.extraction.field_reader import FieldReader, Found
from aahcrawler.helper.extraction.field_values import Owners, nesting
from aahcrawler.helper.extraction.fragments import Composed
from aahcrawler.helper.extraction.page_location import PageLocation
from aahcrawler.helper.extraction.runs import Replies, run_items
from aahcrawler.page.dates import LACKS_YEAR
from aahcrawler.webobject import Reference, Value, WebObject
from knowledge_base.model import Extract, Field, FieldKind, Identity
from knowledge_base.selectors import Selector
from knowledge_base.xpath_limits import TooCostlyError

MAX_OBJECTS = 2_000
"""Objects of one action on one page; no template shows as many."""

MAX_NESTING = 12
DEEP = 100
"""The depth from which nested markup counts for more: expressions visit the ancestors of each element."""

MAX_ELEMENTS = 400_000
"""The most elements visited for the objects of one action; those within several objects count for each."""

BODY, TITLE = "body", "title"
_BYLINES = frozenset({FieldKind.PERSON, FieldKind.DATETIME})
_deep = etree.XPath("boolean(self::*" + (2 * DEEP - 1) * "/*" + ")")
"""A test whether elements are nested so deeply that they count for more than others."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """An object and the elements its body was read from, none if it has none.

    ``without`` are elements within these that do not belong to the body.
    """

    object: WebObject
    body: tuple[HtmlElement, ...]
    without: tuple[HtmlElement, ...] = ()


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
        """Return the elements of the objects, made ones where the action has a run."""
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
            fragments.found_identity(identity, self._naming, item, self.location.page.elements)
            if identity is not None
            else None
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
            fragments.found_identity(answered, self._answering, item, self.location.page.elements)
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
    ) -> tuple[dict[str, tuple[Value, ...]], Found, dict[str, str]]:
        """Return the values of the fields by name, the elements of the body, and what values were inferred from."""
        properties: dict[str, tuple[Value, ...]] = {}
        inferred: dict[str, str] = {}
        body, of_body = Found(), None
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

    def _found(self, wanted: Field, item: HtmlElement, *, first: bool) -> Found:
        """Read a field. Of several objects, only the first one of a first page gets the page's declared values."""
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
    """Return the depth of the page's elements."""
    depth = deepest = 0
    for event, _ in etree.iterwalk(tree, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _allowance(size: int) -> int:
    """Return how many elements may be visited: items may lie within one another, but not all in all others."""
    return min(MAX_NESTING * size, max(MAX_ELEMENTS, 2 * size))
