"""Nodes made of elements: the shared model of the formats that mark up a page.

A node has the form of the equivalent JSON-LD, so that one reader serves all formats: a mapping with ``@type``, perhaps
``@id``, and the names of properties, each with a list of values. A value is a string, another node, or `ElementText`,
the text of an element. ``@element`` is the element of the node.
"""

import re
from dataclasses import dataclass, field

from lxml.html import HtmlElement

from aahcrawler.page.text import plain_text

MAX_NODES = 1_000
"""The most nodes of one format that are read from a page."""

MAX_VALUES = 20_000
"""The most values that all nodes of one format have together."""

Node = dict[str, object]

_SPOKEN = re.compile(r"Comment|UserComments|Answer|Question|\w*Posting|\w*Article|Report")


@dataclass(frozen=True, slots=True)
class ElementText:
    """The text of an element, without the comments and other works that lie in it and are declared themselves."""

    element: HtmlElement
    apart: set[HtmlElement]

    def text(self) -> str:
        """Return the plain text, a line for each block."""
        return plain_text(self.element, self.apart - {self.element})


@dataclass(slots=True)
class Collection:
    """The nodes of one format on one page, in document order."""

    roots: list[Node] = field(default_factory=list)
    apart: set[HtmlElement] = field(default_factory=set)
    _nodes: int = 0
    _values: int = 0

    def node(self, element: HtmlElement, types: list[str]) -> Node | None:
        """Return a new node, None if there are too many."""
        if self._nodes >= MAX_NODES:
            return None
        self._nodes += 1
        if any(map(_SPOKEN.fullmatch, types)):
            self.apart.add(element)
        return {"@type": types, "@element": element}

    def add(self, holder: Node, name: str, value: object) -> None:
        """Give a node one more value of a property; those that are too many are left out."""
        self._values += 1
        if self._values <= MAX_VALUES and not name.startswith("@"):
            values = holder.setdefault(name, [])
            if isinstance(values, list):
                values.append(value)

    def written(self, element: HtmlElement) -> ElementText:
        """Return the text of an element as a value."""
        return ElementText(element, self.apart)

    def linked(self, element: HtmlElement, address: str) -> Node:
        """Return a link as a value, with its URL and, if it has text, a name."""
        return {"url": address, "name": self.written(element)}


def attribute_value(element: HtmlElement) -> str | None:
    """Return the value that an element states in an attribute other than that of a link, None if it does not."""
    if (content := element.get("content")) is not None:
        return content
    if (moment := element.get("datetime")) is not None:
        return moment
    match element.tag:
        case "img" | "audio" | "video" | "source" | "embed" | "iframe" | "track":
            return element.get("src")
        case "object":
            return element.get("data")
        case "data" | "meter":
            return element.get("value")
        case "link":
            return element.get("href")
    return None
