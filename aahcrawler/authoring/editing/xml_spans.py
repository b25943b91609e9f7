"""Find the byte offsets of elements in an XML file, for changing a part of it and leaving the rest as it is."""

import re
from dataclasses import dataclass, field
from xml.parsers import expat

_START_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=/>]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>""")


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
