"""Learn a template from pages of one kind and their data: what is fixed, what is a value, what is repeated."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import SequenceMatcher
from functools import cached_property
from html import escape
from itertools import groupby
from time import monotonic
from typing import Any, Final, Protocol
from urllib.parse import quote

from lxml import etree, html
from lxml.html import HtmlElement

from aahcrawler.page import dates

MAX_LEAVES: Final = 2_000
"""The most values of one scope that are considered."""
MAX_KEYS: Final = 12

Keys = tuple[str, ...]


class MissingDataError(LookupError):
    """Raised when data lack something that the data of all learned pages had: they are of another kind."""


@dataclass(frozen=True, slots=True)
class ValuePath:
    """The path to a value: how many scopes outwards it begins, and the names that lead on from there."""

    outwards: int
    keys: Keys


@dataclass(frozen=True)
class Scope:
    """A JSON value from which paths begin: all responses of a page, or one item of a list within an outer scope."""

    data: Any
    outer: "Scope | None" = None

    def value(self, path: ValuePath) -> Any:
        """Return the value at a path; None if there is none."""
        scope: Scope | None = self
        for _ in range(path.outwards):
            scope = scope.outer if scope is not None else None
        found = scope.data if scope is not None else None
        for key in path.keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def text(self, path: ValuePath) -> str:
        """Return the value at a path as text. Raises ``MissingDataError`` if it has none."""
        text = scalar_text(self.value(path))
        if not text.strip():
            raise MissingDataError(".".join(path.keys))
        return text

    @cached_property
    def leaves(self) -> Mapping[ValuePath, str]:
        """The values that have a text, by their paths; those of this scope come before those of outer ones."""
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
    if isinstance(value, Mapping) and len(keys) < MAX_KEYS:
        for key, each in value.items():
            yield from _within(each, (*keys, str(key)))
    else:
        yield keys, value


def scalar_text(value: Any) -> str:
    """Return a string or number as text, for a list the number of its items; empty for all other values.

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
    """Return the text that a browser shows for a value, which may be HTML, with blanks folded."""
    if "<" not in text and "&" not in text:
        return folded(text)
    try:
        return folded(str(html.fragment_fromstring(text, create_parent="div").text_content()))
    except (ValueError, etree.ParserError):
        return folded(text)


def folded(text: str) -> str:
    """Return a text with runs of white space replaced by single blanks."""
    return " ".join(text.split())


_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_FAR: Final = datetime(2041, 6, 20, tzinfo=UTC)
"""A moment later than all dates on pages."""
_RAW: Final = frozenset(("script", "style"))


class Node(Protocol):
    """A part of a template."""

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the HTML of this part for some data. Raises ``MissingDataError`` if they lack a value that it needs."""
        ...


@dataclass(frozen=True, slots=True)
class Wording:
    """A text with values in between: ``pieces`` has one more item than ``values``.

    ``in_url``: values are URL-quoted.
    """

    pieces: tuple[str, ...]
    values: tuple[ValuePath, ...] = ()
    in_url: bool = False

    def text(self, scope: Scope) -> str:
        """Return the text, filled with the values in a scope."""
        found = [scope.text(path) for path in self.values]
        quoted = [quote(each, safe="") for each in found] if self.in_url else found
        return "".join(piece + value for piece, value in zip(self.pieces, (*quoted, ""), strict=True))

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the text, escaped."""
        yield escape(self.text(scope), quote=False)


@dataclass(frozen=True, slots=True)
class Moment:
    """A value that gives a moment, shown in UTC as exactly as the pages show it: as a day, or with the minute."""

    value: ValuePath
    has_time: bool

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the moment in ISO 8601. Raises ``MissingDataError`` if the value gives none."""
        found = moment_of(scope.text(self.value))
        if found is None:
            raise MissingDataError(".".join(self.value.keys))
        yield found.strftime("%Y-%m-%d %H:%M" if self.has_time else "%Y-%m-%d")


def moment_of(text: str) -> datetime | None:
    """Return the moment in UTC that a text gives independently of when it is read; None if it gives none.

    >>> moment_of("5 Jan 2024"), moment_of("yesterday")
    (datetime.datetime(2024, 1, 5, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    if not any(map(str.isdigit, text)) or len(text) > dates.MAX_LENGTH:
        return None
    found = dates.read_date(text, now=_FAR)
    return found.moment.astimezone(UTC) if found is not None and found.names_day else None


@dataclass(frozen=True, slots=True)
class Markup:
    """A value that is itself HTML."""

    value: ValuePath

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the value unchanged."""
        yield scope.text(self.value)


@dataclass(frozen=True, slots=True)
class ElementNode:
    """An element with its attributes and children."""

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
    """An element that is repeated for each item of a list."""

    items: ValuePath
    item: Node
    between: str = ""

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the elements of all items. Raises ``MissingDataError`` if there is no list."""
        found = scope.value(self.items)
        if not isinstance(found, list):
            raise MissingDataError(".".join(self.items.keys))
        for place, each in enumerate(found):
            yield self.between if place else ""
            yield from self.item.html(Scope(each, scope))


@dataclass(frozen=True, slots=True)
class Condition:
    """An element that is present if a value is: not an empty list, an empty text, or false."""

    value: ValuePath
    node: Node

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield the element, or nothing."""
        if scope.value(self.value):
            yield from self.node.html(scope)


@dataclass(frozen=True, slots=True)
class Row:
    """Elements that follow one another."""

    nodes: tuple[Node, ...]
    between: str = ""

    def html(self, scope: Scope) -> Iterator[str]:
        """Yield all of them."""
        for place, node in enumerate(self.nodes):
            yield self.between if place else ""
            yield from node.html(scope)


_MAX_ELEMENTS: Final = 20_000
_MAX_LISTS: Final = 4
"""How many of the lists that have as many items as there are elements are tried."""
_MAX_DEPTH: Final = 60
MAX_LEARNING_SECONDS: Final = 3.0
"""The most seconds that learning may take."""
_ADDRESSES: Final = frozenset(("href", "src", "action", "poster"))
_TELLING: Final = _ADDRESSES | {"id", "datetime", "title", "alt", "content"}
"""Attributes that matter to a reader: each counts as unexplained if no data explain it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An element of one page, and the scope of the data it shows."""

    element: HtmlElement
    scope: Scope


@dataclass(frozen=True, slots=True)
class Learned:
    """A part of a template, and how many texts and attributes of the pages it does not explain."""

    node: Node
    unexplained: int = 0


@dataclass(frozen=True, slots=True)
class _Slot:
    """Neighbouring elements of one kind, for each page; empty for a page without them."""

    runs: tuple[tuple[HtmlElement, ...], ...]


class TemplateLearner:
    """Learns one template within ``MAX_LEARNING_SECONDS``, from ``_MAX_ELEMENTS`` elements; the rest is left out."""

    def __init__(self) -> None:
        self._left = _MAX_ELEMENTS
        self._until = monotonic() + MAX_LEARNING_SECONDS

    def element(self, seen: Sequence[Seen], depth: int = 0) -> Learned:
        """Return the template of elements that are at the same place on each page."""
        self._left = 0 if monotonic() > self._until else self._left - len(seen)
        tag = str(seen[0].element.tag)
        attributes, unexplained = _attributes(seen)
        whole = _whole(seen)
        if whole is not None or tag in {"script", "style"}:
            return Learned(ElementNode(tag, attributes, () if whole is None else (whole,)), unexplained)
        children = list(self._children(seen, depth))
        unexplained += sum(child.unexplained for child in children)
        return Learned(ElementNode(tag, attributes, tuple(child.node for child in children)), unexplained)

    def _children(self, seen: Sequence[Seen], depth: int) -> Iterator[Learned]:
        if self._left <= 0 or depth > _MAX_DEPTH:
            yield Learned(Wording(("",)), 1)
            return
        scopes = [each.scope for each in seen]
        yield _text([each.element.text or "" for each in seen], scopes)
        for slot in _slots([_runs(each.element) for each in seen]):
            yield self._slot(slot, scopes, depth + 1)
            tails = [(run[-1].tail or "") if run else "" for run in slot.runs]
            if any(tails):
                yield _text(tails, scopes)

    def _slot(self, slot: _Slot, scopes: Sequence[Scope], depth: int) -> Learned:
        """Return the candidate that explains most of a slot: fixed elements, an optional one, or a list."""
        best: Learned | None = None
        for candidate in self._candidates(slot, scopes, depth):
            if best is None or candidate.unexplained < best.unexplained:
                best = candidate
            if not best.unexplained:
                break
        return best or Learned(Wording(("",)), sum(1 for run in slot.runs for _ in run))

    def _candidates(self, slot: _Slot, scopes: Sequence[Scope], depth: int) -> Iterator[Learned]:
        numbers = {len(run) for run in slot.runs}
        if len(numbers) == 1:
            yield self._row(slot, scopes, depth)
        elif numbers == {0, 1}:
            yield from self._optional(slot, scopes, depth)
        yield from self._repeated(slot, scopes, depth)

    def _row(self, slot: _Slot, scopes: Sequence[Scope], depth: int) -> Learned:
        """Return the template of elements that follow one another in the same way on all pages."""
        found = [
            self.element([Seen(*pair) for pair in zip(elements, scopes, strict=True)], depth)
            for elements in zip(*slot.runs, strict=True)
        ]
        row = Row(tuple(each.node for each in found), _between(slot))
        return Learned(row, sum(each.unexplained for each in found))

    def _optional(self, slot: _Slot, scopes: Sequence[Scope], depth: int) -> Iterator[Learned]:
        there = [(run[0], scope) for run, scope in zip(slot.runs, scopes, strict=True) if run]
        path = _condition([bool(run) for run in slot.runs], scopes)
        if path is not None and there:
            found = self.element([Seen(*each) for each in there], depth)
            yield Learned(Condition(path, found.node), found.unexplained)

    def _repeated(self, slot: _Slot, scopes: Sequence[Scope], depth: int) -> Iterator[Learned]:
        for path in _lists(slot, scopes):
            items = [
                Seen(element, Scope(item, scope))
                for run, scope in zip(slot.runs, scopes, strict=True)
                for element, item in zip(run, scope.lists.get(path, ()), strict=True)
            ]
            if items and self._left > 0:
                found = self.element(items, depth)
                yield Learned(Repetition(path, found.node, _between(slot)), found.unexplained)


def _attributes(seen: Sequence[Seen]) -> tuple[Mapping[str, Wording], int]:
    """Return the attributes that all elements have, and how many relevant ones could not be explained."""
    found: dict[str, Wording] = {}
    unexplained = 0
    for name in seen[0].element.attrib:
        values = [each.element.get(name) for each in seen]
        given = [value for value in values if value is not None]
        wording = None
        if len(seen) == 1 and name not in _TELLING:
            wording = Wording((given[0],))
        elif len(given) == len(values):
            wording = learned_wording(given, [each.scope for each in seen], in_url=name in _ADDRESSES)
        if wording is not None:
            found[str(name)] = wording
        elif name in _TELLING:
            unexplained += 1
    return found, unexplained


def _whole(seen: Sequence[Seen]) -> Markup | None:
    """Return the value that the elements show as their whole text, as HTML; None if there is no such value."""
    if not any(len(each.element) for each in seen):
        return None
    texts = [folded(str(each.element.text_content())) for each in seen]
    if not all(texts) or (len(seen) > 1 and len(set(texts)) == 1):
        return None
    for path, value in seen[0].scope.leaves.items():
        if len(value) < len(texts[0]) or displayed_text(value) != texts[0]:
            continue
        if all(displayed_text(each.scope.leaves.get(path, "")) == text for each, text in zip(seen, texts, strict=True)):
            return Markup(path)
    return None


def _text(texts: Sequence[str], scopes: Sequence[Scope]) -> Learned:
    if not any(map(str.strip, texts)):
        return Learned(Wording((" " if any(texts) else "",)))
    found = learned_wording(texts, scopes) or learned_moment(texts, scopes)
    return Learned(Wording(("",)), 1) if found is None else Learned(found)


def _runs(parent: HtmlElement) -> list[tuple[str, tuple[HtmlElement, ...]]]:
    """Return the children of an element, with neighbours of one kind grouped."""
    elements = [child for child in parent if isinstance(child.tag, str)]
    return [(kind, tuple(run)) for kind, run in groupby(elements, _kind)]


def _kind(element: HtmlElement) -> str:
    words = (element.get("class") or "").split()
    tag = str(element.tag)
    return f"{tag}.{words[0]}" if words else tag


def _slots(pages: Sequence[Sequence[tuple[str, tuple[HtmlElement, ...]]]]) -> list[_Slot]:
    """Align the runs of all pages, in an order that fits all of them."""
    order: list[str] = []
    for page in pages:
        order = _merged(order, [kind for kind, _ in page])
    rows = [_placed(order, page) for page in pages]
    return [_Slot(tuple(each)) for each in zip(*rows, strict=True)]


def _merged(order: Sequence[str], kinds: Sequence[str]) -> list[str]:
    merged: list[str] = []
    for _, start, end, begin, stop in SequenceMatcher(None, order, kinds, autojunk=False).get_opcodes():
        merged += order[start:end]
        merged += kinds[begin:stop] if order[start:end] != kinds[begin:stop] else []
    return merged


def _placed(order: Sequence[str], page: Sequence[tuple[str, tuple[HtmlElement, ...]]]) -> list[tuple[HtmlElement, ...]]:
    placed: list[tuple[HtmlElement, ...]] = [()] * len(order)
    kinds = [kind for kind, _ in page]
    for block in SequenceMatcher(None, order, kinds, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            placed[block.a + offset] = page[block.b + offset][1]
    return placed


def _between(slot: _Slot) -> str:
    """Return the text between the elements of a slot: a blank, or nothing."""
    return " " if any(each.tail for run in slot.runs for each in run[:-1]) else ""


def _condition(there: Sequence[bool], scopes: Sequence[Scope]) -> ValuePath | None:
    paths = (path for scope in scopes for path in (*scope.leaves, *scope.lists))
    for path in dict.fromkeys(paths):
        if all(bool(scope.value(path)) == is_there for scope, is_there in zip(scopes, there, strict=True)):
            return path
    return None


def _lists(slot: _Slot, scopes: Sequence[Scope]) -> list[ValuePath]:
    """Return the lists that have, on every page, as many items as the slot has elements."""
    paths = dict.fromkeys(path for scope in scopes for path in scope.lists)
    fitting = [
        path
        for path in paths
        if all(len(scope.lists.get(path, ())) == len(run) for scope, run in zip(scopes, slot.runs, strict=True))
    ]
    return fitting[:_MAX_LISTS]


_BLANKS: Final = re.compile(r"\s+")
_MAX_VALUES: Final = 6
"""The most values in one text."""
_MAX_TRIED: Final = 40
_MAX_TEXT_LENGTH: Final = 2_000
"""Longer texts are compared with values as a whole only."""


def learned_wording(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool = False) -> Wording | None:
    """Return the wording that makes each text from the data of its page; None if there is none.

    A text that is the same everywhere is its own wording.
    """
    folded = [_BLANKS.sub(" ", text) for text in texts]
    if len(folded) == 1:
        return _alone(folded[0], scopes[0], in_url=in_url)
    return _split(folded, scopes, in_url=in_url, left=_MAX_VALUES)


def _alone(text: str, scope: Scope, *, in_url: bool) -> Wording | None:
    """Return the wording of a text seen on one page only: a value, if the text equals one.

    Any other text may belong to that page alone, unless it has no letters or digits.
    """
    wanted = text.strip()
    path = next((path for path, value in scope.leaves.items() if value == wanted), None) if len(wanted) > 1 else None
    if path is None:
        return None if any(map(str.isalnum, text)) else Wording((text,))
    before, _, after = text.partition(wanted)
    return Wording((before, after), (path,), in_url)


def _split(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool, left: int) -> Wording | None:
    if len(set(texts)) == 1:
        return _same(texts[0], scopes, in_url=in_url)
    if not left:
        return None
    for path in _lies_within(texts, scopes, in_url=in_url):
        values = [_as_in(scope, path, in_url=in_url) for scope in scopes]
        cut = [text.partition(value) for text, value in zip(texts, values, strict=True)]
        before = _split([each[0] for each in cut], scopes, in_url=in_url, left=left - 1)
        if before is None:
            continue
        after = _split([each[2] for each in cut], scopes, in_url=in_url, left=left - 1 - len(before.values))
        if after is not None:
            return Wording((*before.pieces, *after.pieces), (*before.values, path, *after.values), in_url)
    return None


def _same(text: str, scopes: Sequence[Scope], *, in_url: bool) -> Wording:
    """Return the wording of a text that all pages show: a value that they have in common by chance, or the text."""
    wanted = text.strip()
    for path, value in scopes[0].leaves.items() if len(wanted) > 1 else ():
        if value == wanted and all(scope.leaves.get(path) == wanted for scope in scopes):
            before, _, after = text.partition(wanted)
            return Wording((before, after), (path,), in_url)
    return Wording((text,), (), in_url)


def _lies_within(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool) -> Iterator[ValuePath]:
    """Yield the paths whose values occur in all texts, those with the longest values first."""
    first, scope = texts[0], scopes[0]
    if len(first) > _MAX_TEXT_LENGTH:
        possible = [path for path, value in scope.leaves.items() if displayed_text(value) == first.strip()]
    else:
        possible = [path for path in scope.leaves if _as_in(scope, path, in_url=in_url) in first]
    possible.sort(key=lambda path: -len(scope.leaves[path]))
    for path in possible[:_MAX_TRIED]:
        values = [_as_in(each, path, in_url=in_url) for each in scopes]
        if all(value and value in text for value, text in zip(values, texts, strict=True)):
            yield path


def _as_in(scope: Scope, path: ValuePath, *, in_url: bool) -> str:
    text = scope.leaves.get(path, "")
    return quote(text, safe="") if in_url else displayed_text(text)


def learned_moment(texts: Sequence[str], scopes: Sequence[Scope]) -> Moment | None:
    """Return the value that gives the moments shown in the texts; None if they show none, or if no value gives them."""
    shown_at = [moment_of(text) for text in texts]
    if None in shown_at or len(set(shown_at)) == 1:
        return None
    has_time = any(each and (each.hour or each.minute) for each in shown_at)
    for path in scopes[0].leaves:
        values = [moment_of(scope.leaves.get(path, "")) for scope in scopes]
        if all(_is_at(value, at, has_time=has_time) for value, at in zip(values, shown_at, strict=True)):
            return Moment(path, has_time)
    return None


def _is_at(value: datetime | None, at: datetime | None, *, has_time: bool) -> bool:
    if value is None or at is None:
        return False
    return value.replace(second=0, microsecond=0) == at.replace(second=0) if has_time else value.date() == at.date()
