"""Changes of an application's file as values, and the order that the schema wants for what is added."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from lxml import etree
from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.editor.text.entry_text import MAX_ELEMENT_LENGTH, EntryText
from aahcrawler.editor.text.places import parent_of, tag_of
from knowledge_base.loader import SCHEMA

_XS = "{http://www.w3.org/2001/XMLSchema}"
_MAX_PLACE_LENGTH = 2_000
_MAX_VALUE_LENGTH = 20_000


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


class _Edit(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    place: str = Field(max_length=_MAX_PLACE_LENGTH, description="The element that is changed; empty for the root.")


class Put(_Edit):
    """Puts another element in the place of one."""

    kind: Literal["put"] = "put"
    xml: str = Field(max_length=MAX_ELEMENT_LENGTH)

    def apply(self, text: EntryText) -> EntryText:
        """Return the text with the other element. Raises `EditError`."""
        return text.put(self.place, self.xml)


class Add(_Edit):
    """Adds an element to the one at ``place``, as its last or before the one at the place ``before``."""

    kind: Literal["add"] = "add"
    xml: str = Field(max_length=MAX_ELEMENT_LENGTH)
    before: str = Field(default="", max_length=_MAX_PLACE_LENGTH)

    def apply(self, text: EntryText) -> EntryText:
        """Return the text with the new element. Raises `EditError`."""
        return text.add(self.place, self.xml, self.before)


class Remove(_Edit):
    """Removes an element."""

    kind: Literal["remove"] = "remove"

    def apply(self, text: EntryText) -> EntryText:
        """Return the text without the element. Raises `EditError`."""
        return text.remove(self.place)


class SetAttribute(_Edit):
    """Sets an attribute of an element, or removes it where ``value`` is None."""

    kind: Literal["set"] = "set"
    attribute: str = Field(max_length=100)
    value: str | None = Field(max_length=_MAX_VALUE_LENGTH)

    def apply(self, text: EntryText) -> EntryText:
        """Return the text with the attribute. Raises `EditError`."""
        return text.set(self.place, self.attribute, self.value)


class Confirm(_Edit):
    """Removes the comment that marks an element as a guess."""

    kind: Literal["confirm"] = "confirm"

    def apply(self, text: EntryText) -> EntryText:
        """Return the text without the comment. Raises `EditError`."""
        return text.confirm(self.place)


Edit = Annotated[Put | Add | Remove | SetAttribute | Confirm, Field(discriminator="kind")]
"""Any change; ``kind`` tells which."""


def apply(text: EntryText, edits: Sequence[Edit]) -> EntryText:
    """Return a text with changes, each made on what those before it left. Raises `EditError`."""
    for edit in edits:
        text = edit.apply(text)
    return text
