"""The parts of an entry, by the places that its text names."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.editor.text.places import parent_of
from knowledge_base.parsing.attributes import has_expression
from knowledge_base.selectors import BadExpressionError, Selector, compile_selector

_NOT_SHOWN = frozenset({"cite", "literal", "strength"})


@dataclass(frozen=True, slots=True)
class Part:
    """An element of an entry. ``number`` counts from 0 those of its tag within the same parent."""

    place: str
    parent: str
    tag: str
    number: int
    element: etree._Element

    def text(self, attribute: str) -> str:
        """Return an attribute without the blanks around it, empty where it is missing."""
        return (self.element.get(attribute) or "").strip()

    @property
    def words(self) -> str:
        """What the part looks for, as it is written."""
        given = ((str(name), str(value)) for name, value in self.element.attrib.items())
        return " ".join(f'{name}="{value}"' for name, value in given if name not in _NOT_SHOWN)

    @property
    def selector(self) -> Selector | None:
        """The compiled expression, None where there is none or it cannot be compiled."""
        if not has_expression(self.element):
            return None
        try:
            return compile_selector(xpath=self.text("xpath"), css=self.text("css"), attribute=self.text("attribute"))
        except BadExpressionError:
            return None


class EntryParts:
    """All parts of an entry, in document order."""

    def __init__(self, text: EntryText) -> None:
        self.all = tuple(_parts(text))
        self._by_place = {part.place: part for part in self.all}
        self._children: dict[str, list[Part]] = {}
        for part in self.all:
            if part.place:
                self._children.setdefault(part.parent, []).append(part)

    def at(self, place: str) -> Part | None:
        """Return the part at a place."""
        return self._by_place.get(place)

    def children(self, part: Part, *tags: str) -> tuple[Part, ...]:
        """Return the parts within a part that have one of some tags."""
        return tuple(each for each in self._children.get(part.place, ()) if each.tag in tags)

    def around(self, part: Part, *tags: str) -> Part | None:
        """Return the nearest part around a part that has one of some tags."""
        place = part.place
        while place:
            place = parent_of(place)
            found = self._by_place.get(place)
            if found is not None and found.tag in tags:
                return found
        return None


def _parts(text: EntryText) -> Iterator[Part]:
    counted: Counter[tuple[str, str]] = Counter()
    for place in text.places():
        element = text.element(place)
        if element is None:
            continue
        parent, tag = parent_of(place), str(element.tag)
        yield Part(place, parent, tag, counted[parent, tag], element)
        counted[parent, tag] += 1
