"""What the parts of an extraction action find on a page, within the elements that it takes for objects."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.extraction import Extraction
from aahcrawler.helper.extraction.outcome import Runner
from aahcrawler.page import Page
from aahcrawler.studio.entry_parts import EntryParts, Part
from aahcrawler.studio.read_objects import written
from knowledge_base.model import Application, Extract, Field, PageLevel
from knowledge_base.selectors import Node

MOST_ITEMS = 200
"""Objects of one action that parts are shown for."""
MOST_NODES = 16
"""Results of one expression within one object that are shown."""
LONGEST_VALUE = 2_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a part finds.

    ``element`` is None where it is no element of the page, as with what is made of the runs of a talk page. ``value``
    is the value as it is read, empty where the part reads none; ``item`` the number of the object that it belongs to.
    """

    element: HtmlElement | None
    value: str = ""
    item: int | None = None


@dataclass
class ExtractMatches:
    """An extraction action on a page: its objects, and what each part of it finds in them.

    ``part`` is the action in the entry, ``action`` the same in the model. A variant's action has the parts of its
    level's as well, so that items and fields may be found that stand elsewhere in the entry.
    """

    page: Page
    application: Application
    level: PageLevel
    action: Extract
    parts: EntryParts
    part: Part

    @cached_property
    def extraction(self) -> Extraction:
        """The action on this page."""
        runner = Runner.of(self.page, self.application, self.level)
        return Extraction(self.action, runner.location, runner.reader)

    @cached_property
    def items(self) -> tuple[HtmlElement, ...]:
        """The elements of the objects, at most 200; none where the expressions fail on this page."""
        try:
            return tuple(self.extraction.items()[:MOST_ITEMS])
        except (XPathError, ValueError):
            return ()

    def of_item(self, part: Part) -> tuple[Finding, ...]:
        """Return what an ``item`` finds, whether or not one before it wins. Raise ``XPathError``."""
        selector = part.selector
        if selector is None:
            return ()
        found = selector.elements(self.page.tree, self.page.elements)
        kept = found if self.action.many else found[:1]
        return tuple(Finding(element, item=number) for number, element in enumerate(kept))

    def of_field(self, part: Part) -> Iterator[tuple[Part, tuple[Finding, ...]]]:
        """Yield each ``select`` of a field with the values that it reads, where no earlier one reads any.

        Raise ``XPathError`` where an expression fails on this page.
        """
        selects = self.parts.children(part, "select")
        wanted = self._field(part, selects)
        read: dict[int, list[Finding]] = {number: [] for number in range(len(selects))}
        for place, item in enumerate(self.items if wanted is not None else ()):
            if wanted is None or (wanted.first_only and (place or not self.extraction.location.is_first)):
                break
            for number, selector in enumerate(wanted.selectors):
                found = self._read(replace(wanted, selectors=(selector,)), item, place)
                if found:
                    read[number] += found
                    break
        for number, select in enumerate(selects):
            yield select, tuple(read[number])

    def within(self, part: Part) -> tuple[Finding, ...]:
        """Return what any other expression finds within the objects, such as that of their numbers.

        Raise ``XPathError``.
        """
        selector = part.selector
        if selector is None:
            return ()
        elements = None if self.action.run is not None else self.page.elements
        return tuple(
            finding_of(node, selector.attribute, place, self._is_made)
            for place, item in enumerate(self.items)
            for node in selector.found(item, elements)[:MOST_NODES]
            if not isinstance(node, str) or node
        )

    @property
    def _is_made(self) -> bool:
        return self.action.run is not None

    def _field(self, part: Part, selects: Sequence[Part]) -> Field | None:
        """Return a field of the entry as the model has it, None where the text has changed since."""
        sources = tuple(select.selector.source if select.selector is not None else "" for select in selects)
        alike = (each for each in self.action.fields if each.name == part.text("name"))
        return next((each for each in alike if tuple(sign.source for sign in each.selectors) == sources), None)

    def _read(self, wanted: Field, item: HtmlElement, place: int) -> list[Finding]:
        found = self.extraction.reader.read(wanted, item, self.extraction.owners)
        if not found.values:
            return []
        elements: Sequence[HtmlElement | None] = found.elements if found.elements and not self._is_made else (None,)
        values = " · ".join(map(written, found.values))[:LONGEST_VALUE]
        return [Finding(element, values if not number else "", place) for number, element in enumerate(elements)]


def finding_of(node: Node, attribute: str, item: int | None = None, is_made: bool = False) -> Finding:
    """Return what an expression finds: an element, or a value with the element that it stands at, if that is known."""
    if isinstance(node, HtmlElement):
        value = (node.get(attribute) or "") if attribute else ""
        return Finding(None if is_made else node, value[:LONGEST_VALUE], item)
    parent = getattr(node, "getparent", lambda: None)()
    at = parent if isinstance(parent, HtmlElement) and not is_made else None
    return Finding(at, str(node)[:LONGEST_VALUE], item)
