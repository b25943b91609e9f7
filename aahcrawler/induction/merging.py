"""Merge declared objects with the records that show the same object."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lxml.etree import _Element as Element

from aahcrawler.induction.record_sets import Record
from aahcrawler.page.claims import Claim
from aahcrawler.page.text import fold
from aahcrawler.webobject import Reference, WebObject

COMPARED = 200
"""The number of characters by which two texts are compared."""


def paired(declared: Sequence[Claim], records: Sequence[Record]) -> dict[int, int]:
    """Return the record of each declared object that has one, both by their places; each record once.

    They are the same if the declaration is on the record, within it or directly around it alone, else if their texts
    are the same.
    """
    holders = {element: number for number, record in enumerate(records) for element in record.elements}
    inside = _inside(holders)
    by_text: dict[str, int] = {}
    for each, record in enumerate(records):
        if record.body is not None and (text := _compared(record.body.plain())):
            by_text.setdefault(text, each)
    found: dict[int, int] = {}
    taken: set[int] = set()
    for place, claim in enumerate(declared):
        if claim.item is None:
            continue
        body = claim.object.first("body")
        element = claim.item.element
        same_text = by_text.get(_compared(body)) if isinstance(body, str) else None
        standing = _record_at(element, holders, inside) if element is not None else None
        number = next((one for one in (standing, same_text) if one is not None and one not in taken), None)
        if number is not None:
            found[place] = number
            taken.add(number)
    return found


def merged(
    found: Sequence[WebObject],
    declared: Sequence[Claim],
    pairs: Mapping[int, int],
    induced: Mapping[int, WebObject],
) -> list[WebObject]:
    """Return the found objects, declared ones completed by their records.

    An object that declares no URL of its own gets the record's, and so do references to it.
    """
    renamed: dict[str, str] = {}
    by_iri: dict[str, tuple[Claim, WebObject]] = {}
    for place, number in pairs.items():
        if number in induced:
            claim = declared[place]
            by_iri[claim.object.iri] = (claim, induced[number])
            if not claim.own:
                renamed[claim.object.iri] = induced[number].iri
            else:
                renamed[induced[number].iri] = claim.object.iri
    result: list[WebObject] = []
    for each in found:
        known = by_iri.get(each.iri)
        whole = completed(each, known[1]) if known is not None else each
        part_of = renamed.get(whole.part_of, whole.part_of) if whole.part_of else None
        result.append(_renamed(replace(whole, iri=renamed.get(whole.iri, whole.iri), part_of=part_of), renamed))
    return result


def completed(declared: WebObject, induced: WebObject) -> WebObject:
    """Return a declared object with the properties that only the induced one has."""
    properties = {**induced.properties, **declared.properties}
    return replace(declared, properties=properties, part_of=declared.part_of)


def _renamed(each: WebObject, renamed: Mapping[str, str]) -> WebObject:
    properties = {
        name: tuple(
            Reference(renamed.get(value.url, value.url)) if isinstance(value, Reference) else value for value in values
        )
        if name in ("parent", "url")
        else values
        for name, values in each.properties.items()
    }
    return replace(each, properties=properties)


def _inside(holders: Mapping[Element, int]) -> dict[Element, int | None]:
    """Return for elements directly around records which record they hold, None if they hold several."""
    found: dict[Element, int | None] = {}
    for element, number in holders.items():
        above = element.getparent()
        if above is not None:
            found[above] = number if found.get(above, number) == number else None
    return found


def _record_at(element: Element, holders: Mapping[Element, int], inside: Mapping[Element, int | None]) -> int | None:
    around = (holders[above] for above in (element, *element.iterancestors()) if above in holders)
    exact = holders.get(element)
    return exact if exact is not None else inside.get(element) if element in inside else next(around, None)


def _compared(text: str) -> str:
    return fold(text)[:COMPARED].casefold()
