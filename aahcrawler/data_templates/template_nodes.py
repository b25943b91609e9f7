"""The parts of a template, each of which makes a piece of HTML of data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from html import escape
from typing import Any, Final, Protocol
from urllib.parse import quote

from lxml import etree, html

from aahcrawler.page import dates

MAX_LEAVES: Final = 2_000
"""The most values of one scope that are looked at."""
DEEPEST: Final = 12

Keys = tuple[str, ...]


class MissingDataError(LookupError):
    """The data lack what those of all pages had from which the template was learned: they are of another kind."""


@dataclass(frozen=True, slots=True)
class ValuePath:
    """The way to a value: how many scopes outwards it begins, and the names that lead on from there."""

    outwards: int
    keys: Keys


@dataclass(frozen=True)
class Scope:
    """A value of JSON from which paths begin: all answers of a page, or one item of a list within an outer scope."""

    data: Any
    outer: "Scope | None" = None

    def value(self, path: ValuePath) -> Any:
        """Return what a path leads to, None where it leads nowhere."""
        scope: Scope | None = self
        for _ in range(path.outwards):
            scope = scope.outer if scope is not None else None
        found = scope.data if scope is not None else None
        for key in path.keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def text(self, path: ValuePath) -> str:
        """Return the value at a path as it is written; raise ``MissingDataError`` where none is to be written."""
        text = scalar_text(self.value(path))
        if not text.strip():
            raise MissingDataError(".".join(path.keys))
        return text

    @cached_property
    def leaves(self) -> Mapping[ValuePath, str]:
        """The values that can be written, by their paths, those of this scope before those of outer ones."""
        found: dict[ValuePath, str] = {}
        for path, value in self._values():
            if text := scalar_text(value).strip():
                found[path] = text
            if len(found) == MAX_LEAVES:
                break
        return found

    @cached_property
    def lists(self) -> Mapping[ValuePath, Sequence[Any]]:
        """The lists by their paths."""
        return {path: value for path, value in self._values() if isinstance(value, list)}

    def _values(self) -> Iterator[tuple[ValuePath, Any]]:
        scope: Scope | None = self
        outwards = 0
        while scope is not None:
            yield from ((ValuePath(outwards, keys), value) for keys, value in _within(scope.data, ()))
            scope, outwards = scope.outer, outwards + 1


def _within(value: Any, keys: Keys) -> Iterator[tuple[Keys, Any]]:
    if isinstance(value, Mapping) and len(keys) < DEEPEST:
        for key, each in value.items():
            yield from _within(each, (*keys, str(key)))
    else:
        yield keys, value


def scalar_text(value: Any) -> str:
    """Return a string or a number as it is written, of a list how many items it has; empty for all else.

    >>> scalar_text(3.0), scalar_text("a"), scalar_text([1, 2]), scalar_text(True)
    ('3', 'a', '2', '')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return str(len(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def displayed_text(text: str) -> str:
    """Return the text that a browser shows of a value, which may be HTML, its blanks folded."""
    if "<" not in text and "&" not in text:
        return folded(text)
    try:
        return folded(str(html.fragment_fromstring(text, create_parent="div").text_content()))
    except (ValueError, etree.ParserError):
        return folded(text)


def folded(text: str) -> str:
    """Return a text with its blanks folded."""
    return " ".join(text.split())


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
    found = dates.read_date(text, now=_FAR)
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
