"""Make web objects of values found by other means than an action, named as the action would name them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from lxml.html import HtmlElement

from aahcrawler.helper.extraction import fragments
from aahcrawler.helper.extraction.extraction import BODY, Extracted
from aahcrawler.helper.extraction.fragments import Composed
from aahcrawler.helper.extraction.page_location import PageLocation
from aahcrawler.webobject import Reference, Value, WebObject
from knowledge_base.element_index import Elements
from knowledge_base.model import Extract, Identity

_BY_WHOM_AND_WHEN = Identity((), fields=("author", "date"))


@dataclass(frozen=True, slots=True)
class Sketch:
    """An object as it was found: its elements, its values by the names of fields, the elements of its body.

    ``fragment`` is that of its IRI, None if it is not known.
    """

    elements: tuple[HtmlElement, ...]
    properties: Mapping[str, tuple[Value, ...]]
    body: tuple[HtmlElement, ...] = ()
    fragment: str | None = None


class PageFields(Protocol):
    """Reads the fields of an action that look at the whole page."""

    def __call__(self, action: Extract, item: HtmlElement, *, first: bool) -> Mapping[str, tuple[Value, ...]]: ...  # noqa: D102


def sketched(
    action: Extract, location: PageLocation, sketches: Sequence[Sketch], page_fields: PageFields
) -> tuple[Extracted, ...]:
    """Return the objects of sketches in their order; the same IRI comes once.

    Their type, their URL and their containers follow from the action and the page. An object that the page does not
    number is named by its author and date, one without either by its text.
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
    action: Extract, sketch: Sketch, properties: Mapping[str, tuple[Value, ...]], composed: Composed, elements: Elements
) -> str | None:
    known = sketch.fragment or _numbered(action.identity, sketch, elements)
    if known is not None:
        return known
    identity = action.identity if action.identity is not None and action.identity.fields else _BY_WHOM_AND_WHEN
    if all(name in properties for name in identity.fields):
        return composed.fragment(identity, properties)
    text = "\n".join(str(value) for value in properties.get(BODY, ()))
    return fragments.COMPOSED + sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _numbered(identity: Identity | None, sketch: Sketch, elements: Elements) -> str | None:
    if identity is None:
        return None
    numbers = (fragments.found_identity(identity, identity.selectors, element, elements) for element in sketch.elements)
    return next((number for number in numbers if number is not None), None)


def _object(
    action: Extract,
    location: PageLocation,
    sketch: Sketch,
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
