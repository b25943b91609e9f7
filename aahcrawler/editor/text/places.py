"""The elements of an XML file: where their bytes are, and the places that name them.

A place is such as ``level[thread]/extract[posts]/field[title]/select[2]``.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

_START_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>""")
_SEGMENT = re.compile(r"([^\[\]/]+)(?:\[([^\[\]/]+)\])?")
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_DRAWN = re.compile(r"[^\[\]/\s](?:[^\[\]/]*[^\[\]/\s])?")


@dataclass(slots=True)
class Span:
    """An element: ``begin`` is the offset of its start tag, ``end`` that of its end tag, in bytes.

    ``opened`` is the offset behind its start tag and ``close`` that behind the whole element; an element that closes
    itself has ``opened`` for ``end`` and ``close``. ``comments`` are the offsets of comments directly in it.
    """

    tag: str
    name: str
    begin: int
    end: int = 0
    parts: list["Span"] = field(default_factory=list)
    opened: int = 0
    close: int = 0
    comments: list[tuple[int, int]] = field(default_factory=list)


def root_of(text: bytes) -> Span:
    """Return the root element of a file. Raises ``xml.parsers.expat.ExpatError`` if it is not well-formed."""
    parser = expat.ParserCreate()
    open_ones: list[Span] = []
    closed: list[Span] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        span = Span(tag, attributes.get("name", ""), parser.CurrentByteIndex)
        span.opened = _behind_start_tag(text, span.begin)
        if open_ones:
            open_ones[-1].parts.append(span)
        open_ones.append(span)

    def end(_tag: str) -> None:
        span = open_ones.pop()
        span.end = parser.CurrentByteIndex
        span.close = span.end if text.endswith(b"/>", span.begin, span.opened) else text.index(b">", span.end) + 1
        closed.append(span)

    def comment(_words: str) -> None:
        if open_ones:
            begin = parser.CurrentByteIndex
            open_ones[-1].comments.append((begin, text.index(b"-->", begin) + 3))

    parser.StartElementHandler, parser.EndElementHandler, parser.CommentHandler = start, end, comment
    parser.Parse(text, True)
    return closed[-1]


def _behind_start_tag(text: bytes, begin: int) -> int:
    found = _START_TAG.match(text, begin)
    if found is None:  # A declared encoding in which ASCII is not itself.
        raise expat.ExpatError("the tags cannot be found in this encoding")
    return found.end()


@dataclass(slots=True)
class Node:
    """An element of a file with its place; ``number`` counts all elements of its parent from 0."""

    span: Span
    place: str
    parent: "Node | None"
    number: int = 0
    children: list["Node"] = field(default_factory=list)

    def all(self) -> Iterator["Node"]:
        """Yield the node and all below it in the order of the file."""
        yield self
        for child in self.children:
            yield from child.all()

    def below(self, place: str) -> "Node | None":
        """Return the node at a place as seen from this one; None if there is none, or several could be meant."""
        found: Node | None = self
        for segment in place.split("/") if place else ():
            found = found._child(segment) if found is not None else None  # noqa: SLF001 (of the same class)
        return found

    def _child(self, segment: str) -> "Node | None":
        parts = _SEGMENT.fullmatch(segment)
        alike = [child for child in self.children if parts and child.span.tag == parts[1]]
        if parts is None or not alike:
            return None
        key = parts[2]
        if key is None:
            return alike[0] if len(alike) == 1 else None
        if _NUMBER.fullmatch(key):
            return alike[int(key) - 1] if int(key) <= len(alike) else None
        named = [child for child in alike if child.span.name == key]
        return named[0] if len(named) == 1 else None


def nodes_of(root: Span) -> Node:
    """Return the node of a file's root element, whose place is empty."""
    return _with_children(Node(root, "", None))


def step_to(tag: str, name: str, number: int) -> str:
    """Return the last part of an element's place: with its name, empty where it shares it, or else with its number.

    Names that a place cannot hold, or that look like a number, count as none.

    >>> step_to("level", "thread", 2), step_to("level", "a/b", 2), step_to("level", "7", 2)
    ('level[thread]', 'level[2]', 'level[2]')
    """
    tells = _DRAWN.fullmatch(name) and not _NUMBER.fullmatch(name)
    return f"{tag}[{name if tells else number}]"


def tag_of(place: str) -> str:
    """Return the tag of the element at a place.

    >>> tag_of("level[thread]/when[2]")
    'when'
    """
    return place.rpartition("/")[2].partition("[")[0]


def parent_of(place: str) -> str:
    """Return the place of the element around another one, which is empty for the root's."""
    return place.rpartition("/")[0]


def is_within(place: str, other: str) -> bool:
    """Return whether a place is another one or below it.

    >>> is_within("level[a]/when[1]", "level[a]"), is_within("level[ab]", "level[a]"), is_within("level[a]", "")
    (True, False, True)
    """
    return not other or place == other or place.startswith(f"{other}/")


def _with_children(node: Node) -> Node:
    names = Counter((part.tag, part.name) for part in node.span.parts)
    numbers: Counter[str] = Counter()
    for position, part in enumerate(node.span.parts):
        numbers[part.tag] += 1
        is_alone = names[part.tag, part.name] == 1
        step = step_to(part.tag, part.name if is_alone else "", numbers[part.tag])
        place = f"{node.place}/{step}".removeprefix("/")
        node.children.append(_with_children(Node(part, place, node, position)))
    return node
