"""Find the byte offsets of elements in an XML file, for changing a part of it and leaving the rest as it is."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat


@dataclass(slots=True)
class Span:
    """An element: ``begin`` is the offset of its start tag, ``end`` that of its end tag, in bytes."""

    tag: str
    name: str
    begin: int
    end: int = 0
    parts: list["Span"] = field(default_factory=list)

    def all(self, tag: str) -> Iterator["Span"]:
        """Yield the elements directly in it that have a tag."""
        return (part for part in self.parts if part.tag == tag)

    def named(self, tag: str, name: str) -> "Span | None":
        """Return the first of them with a name."""
        return next((part for part in self.all(tag) if part.name == name), None)


def root_of(text: bytes) -> Span:
    """Return the root element of a file. Raises ``xml.parsers.expat.ExpatError`` if it is not well-formed."""
    parser = expat.ParserCreate()
    open_ones: list[Span] = []
    closed: list[Span] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        span = Span(tag, attributes.get("name", ""), parser.CurrentByteIndex)
        if open_ones:
            open_ones[-1].parts.append(span)
        open_ones.append(span)

    def end(_tag: str) -> None:
        span = open_ones.pop()
        span.end = parser.CurrentByteIndex
        closed.append(span)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(text, True)
    return closed[-1]


def inserted(text: bytes, at: int, lines: bytes) -> bytes:
    """Insert whole lines at an offset, or above its line if only blanks are before it on the line."""
    line = text.rfind(b"\n", 0, at) + 1
    if not text[line:at].strip():
        return text[:line] + lines + text[line:]
    return text[:at] + b"\n" + lines + text[at:]
