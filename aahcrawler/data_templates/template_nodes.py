"""The parts of a template, each of which makes a piece of HTML of data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from typing import Final, Protocol
from urllib.parse import quote

from aahcrawler.data_templates.data_scopes import MissingDataError, Scope, ValuePath
from aahcrawler.page import dates

_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_FAR: Final = datetime(2041, 6, 20, tzinfo=UTC)
"""A moment that is later than all dates of pages."""
_RAW: Final = frozenset(("script", "style"))


class Node(Protocol):
    """A part of a template."""

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the HTML that it makes of data. Raise ``MissingDataError`` where they lack what it is made of."""
        ...


@dataclass(frozen=True, slots=True)
class Wording:
    """A text with values between its pieces: ``pieces`` has one more than ``values``. ``in_url``: values are quoted."""

    pieces: tuple[str, ...]
    values: tuple[ValuePath, ...] = ()
    in_url: bool = False

    def text(self, scope: Scope) -> str:
        """Return the text with the values of a scope."""
        found = [scope.text(path) for path in self.values]
        quoted = [quote(each, safe="") for each in found] if self.in_url else found
        return "".join(piece + value for piece, value in zip(self.pieces, (*quoted, ""), strict=True))

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the text, escaped."""
        yield escape(self.text(scope), quote=False)


@dataclass(frozen=True, slots=True)
class Moment:
    """A value that names a moment, written as exactly as the pages show it: the day, or the minute as well, in UTC."""

    value: ValuePath
    has_time: bool

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the moment in ISO 8601; raise ``MissingDataError`` where the value names none."""
        found = moment_of(scope.text(self.value))
        if found is None:
            raise MissingDataError(".".join(self.value.keys))
        yield found.strftime("%Y-%m-%d %H:%M" if self.has_time else "%Y-%m-%d")


def moment_of(text: str) -> datetime | None:
    """Return the moment in UTC that a text names in full, whenever it is read; None where it names none.

    >>> moment_of("5 Jan 2024"), moment_of("yesterday")
    (datetime.datetime(2024, 1, 5, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    if not any(map(str.isdigit, text)) or len(text) > dates.MAX_LENGTH:
        return None
    found = dates.read(text, now=_FAR)
    return found.moment.astimezone(UTC) if found is not None and found.names_day else None


@dataclass(frozen=True, slots=True)
class Markup:
    """A value that is HTML itself."""

    value: ValuePath

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the value as it is."""
        yield scope.text(self.value)


@dataclass(frozen=True, slots=True)
class ElementNode:
    """An element with its attributes and what is in it."""

    tag: str
    attributes: Mapping[str, Wording] = field(default_factory=dict)
    children: Sequence[Node] = ()

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the element."""
        given = "".join(f' {name}="{escape(value.text(scope))}"' for name, value in self.attributes.items())
        yield f"<{self.tag}{given}>"
        if self.tag in _VOID:
            return
        if self.tag not in _RAW:
            for child in self.children:
                yield from child.html(scope)
        yield f"</{self.tag}>"


@dataclass(frozen=True, slots=True)
class Repetition:
    """An element for each item of a list."""

    items: ValuePath
    item: Node
    between: str = ""

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the elements of all items; raise ``MissingDataError`` where there is no list."""
        found = scope.value(self.items)
        if not isinstance(found, list):
            raise MissingDataError(".".join(self.items.keys))
        for place, each in enumerate(found):
            yield self.between if place else ""
            yield from self.item.html(Scope(each, scope))


@dataclass(frozen=True, slots=True)
class Condition:
    """An element that is there where a value is: no list without items, no empty text, not false."""

    value: ValuePath
    node: Node

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the element, or nothing."""
        if scope.value(self.value):
            yield from self.node.html(scope)


@dataclass(frozen=True, slots=True)
class Row:
    """Elements one after another."""

    nodes: tuple[Node, ...]
    between: str = ""

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield all of them."""
        for place, node in enumerate(self.nodes):
            yield self.between if place else ""
            yield from node.html(scope)
