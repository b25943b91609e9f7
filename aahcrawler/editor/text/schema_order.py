"""The order in which the schema wants the elements within another one, and which of them must be there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lxml import etree

from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.editor.text.places import parent_of, tag_of
from knowledge_base.loader import SCHEMA

_XS = "{http://www.w3.org/2001/XMLSchema}"


@dataclass(frozen=True, slots=True)
class _Allowed:
    """An element that may be in another one: its rank in the order there, whether one must be, and its own type."""

    rank: int
    needed: bool
    type: etree._Element | None


class SchemaOrder:
    """What a schema says of the order of elements."""

    def __init__(self, schema: etree._Element) -> None:
        self._types = {each.get("name") or "": each for each in schema.iterchildren(f"{_XS}complexType")}
        self._roots = {each.get("name") or "": self._type(each) for each in schema.iterchildren(f"{_XS}element")}

    def before(self, text: EntryText, parent: str, tag: str) -> str:
        """Return the place in ``parent`` before which a new element of a tag comes, empty if it comes last."""
        allowed = self._within(text, parent)
        if tag not in allowed:
            return ""
        later = (place for place in text.children(parent) if _rank(allowed, place) > allowed[tag].rank)
        return next(later, "")

    def is_needed(self, text: EntryText, place: str) -> bool:
        """Return whether an element is the last of its tag within another one that needs one of them."""
        known = text.place(place)
        if not known:
            return True
        tag, parent = tag_of(known), parent_of(known)
        needed = self._within(text, parent).get(tag)
        alike = [each for each in text.children(parent) if tag_of(each) == tag]
        return needed is not None and needed.needed and len(alike) == 1

    def _within(self, text: EntryText, parent: str) -> Mapping[str, _Allowed]:
        root = text.element("")
        found = self._roots.get(str(root.tag)) if root is not None else None
        known = text.place(parent)
        for segment in known.split("/") if known else ():
            allowed = _children(found, self._type).get(tag_of(segment))
            found = allowed.type if allowed is not None else None
        return _children(found, self._type)

    def _type(self, element: etree._Element) -> etree._Element | None:
        inline = element.find(f"{_XS}complexType")
        return inline if inline is not None else self._types.get(element.get("type") or "")


def _children(
    of: etree._Element | None, type_of: Callable[[etree._Element], etree._Element | None]
) -> Mapping[str, _Allowed]:
    found: dict[str, _Allowed] = {}
    groups = of.iterchildren(f"{_XS}sequence", f"{_XS}choice") if of is not None else ()
    for group in groups:
        for rank, particle in enumerate(group):
            is_choice = particle.tag == f"{_XS}choice" or group.tag == f"{_XS}choice"
            elements = [particle] if particle.tag == f"{_XS}element" else list(particle.iterchildren(f"{_XS}element"))
            for each in elements:
                needed = not is_choice and each.get("minOccurs", "1") != "0"
                shown = 0 if group.tag == f"{_XS}choice" else rank
                found[each.get("name") or ""] = _Allowed(shown, needed, type_of(each))
    return found


def _rank(allowed: Mapping[str, _Allowed], place: str) -> int:
    known = allowed.get(tag_of(place))
    return known.rank if known is not None else -1


@cache
def schema_order(file: Path = SCHEMA) -> SchemaOrder:
    """Return the order of the schema of the knowledge base."""
    return SchemaOrder(etree.parse(file).getroot())
