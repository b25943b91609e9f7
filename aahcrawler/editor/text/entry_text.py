"""The text of an application's file, of which single elements are changed while every other byte stays."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from xml.parsers import expat

from lxml import etree
from lxml.etree import _Comment as Comment

from aahcrawler.editor.text.places import Node, Span, nodes_of, root_of
from knowledge_base.loader import MAX_FILE_SIZE

MAX_ELEMENT_LENGTH = 256 * 1024
"""Characters of a new element at most."""
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
GUESS = "guess:"
"""How the comment before an element that nobody has confirmed begins."""
MAX_DEPTH = 60
"""Elements within one another at most."""
_ENCODING = re.compile(rb"""^(?:\xef\xbb\xbf)?<\?xml[^>]*?\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_ATTRIBUTE_NAME = re.compile(r"(?!xml)[A-Za-z_][A-Za-z0-9_.-]*(:[A-Za-z_][A-Za-z0-9_.-]*)?", re.IGNORECASE)
_BLANKS = b" \t"


class EditError(Exception):
    """A file cannot be changed in the wanted way; the message says why in plain words."""


def checked(text: str) -> str:
    """Return a text that a file may hold. Raises `EditError` for one with control characters."""
    bad = _FORBIDDEN.search(text)
    if bad is not None:
        raise EditError(f"the sign U+{ord(bad[0]):04X} cannot stand in XML; take it out")
    return text


def parsed(xml: str) -> tuple[tuple[Comment, ...], etree._Element]:
    """Return the one element of a text, and the comments in front of it. Raises `EditError` for anything else."""
    if len(xml) > MAX_ELEMENT_LENGTH:
        raise EditError(f"the new element is longer than {MAX_ELEMENT_LENGTH:,} characters; add it in parts")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True)
    try:
        around = etree.fromstring(f"<around>{checked(xml)}</around>".encode(), parser)
    except etree.XMLSyntaxError as error:
        raise EditError(f"the new element is not well-formed XML: {error.msg}") from error
    comments = tuple(each for each in around if isinstance(each, Comment))
    elements = [each for each in around if not isinstance(each, Comment)]
    if len(elements) != 1 or around[-1] is not elements[0]:
        raise EditError("write one element; comments may stand before it")
    if not all(_is_blank(text) for text in (around.text, *(child.tail for child in around))):
        raise EditError("write one element; there is text beside it")
    return comments, elements[0]


def lines_of(comments: tuple[Comment, ...], element: etree._Element, indent: str | None, unit: str = "  ") -> str:
    """Return comments and element, each on lines of its own behind ``indent``; on one line where that is None.

    The first line is not indented, and no line break ends the last.
    """
    _lay_out(element, indent, unit)
    element.tail = None
    written = []
    for each in (*comments, element):
        each.tail = None
        written.append(etree.tostring(each, encoding="unicode"))
    return ("" if indent is None else f"\n{indent}").join(written)


def _lay_out(element: etree._Element, indent: str | None, unit: str) -> None:
    children = list(element)
    if not children or not all(_is_blank(text) for text in (element.text, *(child.tail for child in children))):
        return
    deeper = None if indent is None else indent + unit
    element.text = "" if deeper is None else f"\n{deeper}"
    for child in children:
        child.tail = element.text
        if isinstance(child.tag, str):
            _lay_out(child, deeper, unit)
    children[-1].tail = "" if indent is None else f"\n{indent}"


def _is_blank(text: str | None) -> bool:
    return not (text or "").strip(" \t\r\n")


@dataclass(frozen=True, slots=True)
class Splice:
    """The bytes of the text before, from ``begin`` to ``end``, in whose place ``length`` others are."""

    begin: int
    end: int
    length: int


class EntryText:
    """A file and the places of its elements; every change gives another `EntryText`.

    A place names each element on the way from the root, whose own place is empty: by its tag and, in brackets, its
    ``name``, or its number from 1 among the elements of that tag beside it where it has none or shares it. A number
    also names an element that has a name, and a tag alone the only element of that tag. ``splice`` says which bytes the
    change replaced that made this text, None where it was read.
    """

    def __init__(self, data: bytes, splice: Splice | None = None) -> None:
        self.data = data
        self.splice = splice
        self._document = _parsed(data)
        self._root = nodes_of(_spans(data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EntryText) and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.data)

    def places(self) -> Iterator[str]:
        """Yield the place of every element in the order of the file, the root's first."""
        return (node.place for node in self._root.all())

    def place(self, place: str) -> str | None:
        """Return a place as `places` spells it, None if no element is there."""
        node = self._root.below(place)
        return None if node is None else node.place

    def children(self, place: str) -> tuple[str, ...]:
        """Return the places of the elements directly in another one, in the order of the file."""
        node = self._root.below(place)
        return tuple(child.place for child in node.children) if node is not None else ()

    def element(self, place: str) -> etree._Element | None:
        """Return a copy of the element at a place, comments in it included; None if there is none."""
        node = self._root.below(place)
        if node is None:
            return None
        copy = deepcopy(self._original(node))
        copy.tail = None
        return copy

    def line(self, place: str) -> int:
        """Return the line on which an element begins, from 1; 0 if there is none at the place."""
        node = self._root.below(place)
        return 0 if node is None else self.data.count(b"\n", 0, node.span.begin) + 1

    def place_at(self, line: int) -> str:
        """Return the place of the last element that begins on or before a line; that of the root where none does."""
        end = len(b"".join(self.data.splitlines(keepends=True)[:line]))
        return next((node.place for node in reversed(list(self._root.all())) if node.span.begin < end), "")

    def text(self, place: str) -> str:
        """Return an element as it stands in the file. Raises `EditError` where there is none."""
        span = self._node(place).span
        return self.data[span.begin : span.close].decode(self._encoding)

    def guesses(self) -> Mapping[str, str]:
        """Return the places of all elements that a comment marks as a guess, with its words."""
        found = {}
        for node in self._root.all():
            marks = self._guess_marks(node)
            if marks:
                words = (self.data[begin + 4 : end - 3].decode(self._encoding).strip() for begin, end in marks)
                found[node.place] = " ".join(word[len(GUESS) :].strip() for word in words)
        return found

    def put(self, place: str, xml: str) -> "EntryText":
        """Put another element in the place of one; comments before it stay. Raises `EditError`."""
        node = self._node(place)
        comments, element = parsed(xml)
        if comments:
            raise EditError("the comments before an element stay as they are; write the new element alone")
        old = self.data[node.span.begin : node.span.close]
        flat = bool(node.children) and b"\n" not in old and node.parent is not None
        indent = None if flat else self._indent(node.span.begin, node)
        return self._with(node.span.begin, node.span.close, lines_of((), element, indent, self._unit))

    def add(self, parent: str, xml: str, before: str = "") -> "EntryText":
        """Add an element, as the last one in ``parent`` or before the one at the place ``before``. Raises `EditError`.

        It comes before the comments that belong to the element behind it. The new element's own comments may stand
        before it.
        """
        node = self._node(parent)
        new = parsed(xml)
        if before:
            successor = self._node(before)
            if successor.parent is not node:
                raise EditError(
                    f"{before} is not directly in {parent or 'the root'}; name an element beside the new one"
                )
            return self._added_before(successor, *new)
        if node.span.opened == node.span.close:
            return self._opened(node, *new)
        return self._appended(node, *new)

    def remove(self, place: str) -> "EntryText":
        """Remove an element, and the comment that marks it as a guess. Raises `EditError`."""
        node = self._node(place)
        if node.parent is None:
            raise EditError("the root element cannot be removed")
        marks = self._guess_marks(node)
        return self._without(marks[0][0] if marks else node.span.begin, node.span.close)

    def confirm(self, place: str) -> "EntryText":
        """Remove the comment that marks an element as a guess; without one, nothing changes. Raises `EditError`."""
        marks = self._guess_marks(self._node(place))
        return self._without(marks[0][0], marks[-1][1]) if marks else self

    def set(self, place: str, attribute: str, value: str | None) -> "EntryText":
        """Set an attribute of an element, or remove it with None, within its start tag. Raises `EditError`."""
        if not _ATTRIBUTE_NAME.fullmatch(attribute):
            raise EditError(f"{attribute!r} cannot be the name of an attribute here")
        span = self._node(place).span
        attributes = list(_ATTRIBUTE.finditer(self.data, span.begin + 1, span.opened))
        there = next((each for each in attributes if each[2] == attribute.encode()), None)
        if value is None:
            return self if there is None else self._with(there.start(), there.end(), "")
        if there is not None:
            quote = there[3][:1].decode()
            return self._with(there.start(3), there.end(3), f"{quote}{_escaped(value, quote)}{quote}")
        at = attributes[-1].end() if attributes else span.begin + 1 + len(span.tag.encode(self._encoding))
        space = attributes[-1][1].decode() if attributes and b"\n" in attributes[-1][1] else " "
        return self._with(at, at, f'{space}{attribute}="{_escaped(value, chr(34))}"')

    def followed(self, place: str, before: "EntryText") -> str | None:
        """Return where an element of the text that one change made this of is now; None if it is gone.

        Below an element that was put in the place of another, those at the same places count as the same.
        """
        node, splice = before._root.below(place), self.splice  # noqa: SLF001 (of the same class)
        if node is None or splice is None:
            return self.place(place)
        above: list[str] = []
        while True:
            begin = _moved(node.span, splice)
            if begin is not None:
                now = self._by_begin.get(begin)
                there = now.below("/".join(reversed(above))) if now is not None else None
                return there.place if there is not None else None
            if node.parent is None or not splice.length:
                return None
            above.append(node.place.removeprefix(node.parent.place).removeprefix("/"))
            node = node.parent

    @cached_property
    def _by_begin(self) -> Mapping[int, Node]:
        return {node.span.begin: node for node in self._root.all()}

    @cached_property
    def _encoding(self) -> str:
        declared = _ENCODING.match(self.data)
        return declared[1].decode() if declared else "utf-8"

    @cached_property
    def _break(self) -> str:
        first = self.data.find(b"\n")
        return "\r\n" if first > 0 and self.data[first - 1 : first] == b"\r" else "\n"

    @cached_property
    def _unit(self) -> str:
        """What one step of indentation is in this file."""
        for node in self._root.children:
            blanks = self._blanks_before(node.span.begin)
            if blanks:
                return "\t" if blanks.startswith("\t") else blanks
        return "  "

    def _node(self, place: str) -> Node:
        node = self._root.below(place)
        if node is None:
            raise EditError(f"there is no {place} in the file (any more)")
        return node

    def _original(self, node: Node) -> etree._Element:
        if node.parent is None:
            return self._document
        above = self._original(node.parent)
        return [child for child in above if isinstance(child.tag, str)][node.number]

    def _guess_marks(self, node: Node) -> list[tuple[int, int]]:
        """Return the comments right before an element that mark it as a guess."""
        marks: list[tuple[int, int]] = []
        for begin, end in self._comments_before(node):
            if not self.data[begin + 4 : end].lstrip().startswith(GUESS.encode()):
                break
            marks.insert(0, (begin, end))
        return marks

    def _comments_before(self, node: Node) -> Iterator[tuple[int, int]]:
        """Yield the comments between an element and what is before it, the nearest first."""
        at = node.span.begin
        for begin, end in reversed(node.parent.span.comments if node.parent is not None else []):
            if end <= at:
                if self.data[end:at].strip():
                    return
                yield begin, end
                at = begin

    def _lead(self, node: Node) -> int:
        """Return where an element begins together with the comments that belong to it."""
        at, marks = node.span.begin, self._guess_marks(node)
        for begin, end in self._comments_before(node):
            lines = self.data.count(b"\n", end, at)
            is_of_what_is_before = lines == 1 and self._blanks_before(begin) is None
            if (begin, end) not in marks and (lines > 1 or is_of_what_is_before):
                break
            at = begin
        return at

    def _blanks_before(self, at: int) -> str | None:
        """Return the blanks before an offset on its line; None if anything else is there."""
        line = self.data[self.data.rfind(b"\n", 0, at) + 1 : at]
        return None if line.strip(_BLANKS) else line.decode()

    def _indent(self, at: int, node: Node) -> str | None:
        return "" if node.parent is None else self._blanks_before(at)

    def _is_spaced(self, node: Node) -> bool:
        """Return whether an empty line is before an element."""
        lead = self._lead(node)
        before = self.data[:lead].rstrip()
        return self.data.count(b"\n", len(before), lead) > 1

    def _added_before(self, node: Node, comments: tuple[etree._Comment, ...], element: etree._Element) -> "EntryText":
        lead = self._lead(node)
        indent = self._blanks_before(lead)
        written = lines_of(comments, element, indent, self._unit)
        if indent is None:
            return self._with(lead, lead, written)
        line = lead - len(indent)
        between = "\n\n" if self._is_spaced(node) else "\n"
        return self._with(line, line, f"{indent}{written}{between}")

    def _appended(self, node: Node, comments: tuple[etree._Comment, ...], element: etree._Element) -> "EntryText":
        end = node.span.end
        last = node.children[-1] if node.children else None
        own, closing = self._indent(node.span.begin, node), self._blanks_before(end)
        beside = self._blanks_before(last.span.begin) if last is not None else None
        if last is not None and beside is None:
            closing = None
        indent = beside if beside is not None else None if last is not None or own is None else own + self._unit
        written = lines_of(comments, element, indent, self._unit)
        if indent is None:
            return self._with(end, end, written)
        spaced = "\n" if last is not None and self._is_spaced(last) else ""
        if closing is not None and b"\n" in self.data[node.span.opened : end]:
            return self._with(end - len(closing), end - len(closing), f"{spaced}{indent}{written}\n")
        return self._with(end, end, f"{spaced}\n{indent}{written}" + ("" if last is not None else f"\n{own}"))

    def _opened(self, node: Node, comments: tuple[etree._Comment, ...], element: etree._Element) -> "EntryText":
        """Add the first element to one that closes itself."""
        span = node.span
        own = self._indent(span.begin, node)
        written = lines_of(comments, element, None if own is None else own + self._unit, self._unit)
        if own is not None:
            written = f"\n{own}{self._unit}{written}\n{own}"
        at = len(self.data[: span.opened - 2].rstrip())
        return self._with(at, span.close, f">{written}</{span.tag}>")

    def _without(self, begin: int, end: int) -> "EntryText":
        """Remove bytes, and their lines where nothing else is on these."""
        line_end = self.data.find(b"\n", end)
        if self._blanks_before(begin) is None or line_end < 0 or self.data[end:line_end].strip():
            return self._with(begin, end, "")
        begin, end = self.data.rfind(b"\n", 0, begin) + 1, line_end + 1
        above = len(self.data[:begin].rstrip())
        is_spaced = self.data.count(b"\n", above, begin) > 1
        next_line = self.data[end : self.data.find(b"\n", end) + 1 or None].strip()
        if is_spaced and (not next_line or next_line.startswith(b"</")):
            begin = self.data.rfind(b"\n", 0, begin - 1) + 1
        return self._with(begin, end, "")

    def _with(self, begin: int, end: int, new: str) -> "EntryText":
        if self._break != "\n":
            new = new.replace("\n", self._break)
        data = new.encode(self._encoding, "xmlcharrefreplace")
        text = self.data[:begin] + data + self.data[end:]
        return EntryText(text, Splice(begin, end, len(data)))


def _parsed(data: bytes) -> etree._Element:
    """Return the root of a file that may be edited. Raises `EditError`."""
    if len(data) > MAX_FILE_SIZE:
        raise EditError(f"the file is larger than {MAX_FILE_SIZE:,} bytes")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data:
        raise EditError("the file is not in UTF-8; save it as UTF-8")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, LookupError) as error:
        raise EditError(f"this is not well-formed XML: {error}") from error
    if root.getroottree().docinfo.doctype:
        raise EditError("DOCTYPE and entity declarations are not allowed; write the text itself")
    return root


def _spans(data: bytes) -> Span:
    try:
        root = root_of(data)
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise EditError(f"this is not well-formed XML: {error}") from error
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [part for span in level for part in span.parts]
    if level:
        raise EditError(f"more than {MAX_DEPTH} elements are within one another")
    return root


def _moved(span: Span, splice: Splice) -> int | None:
    """Return where an element begins after a change; None if it was taken out or is in what was replaced."""
    if span.close <= splice.begin:
        return span.begin
    if span.begin >= splice.end:
        return span.begin + splice.length - (splice.end - splice.begin)
    is_around = span.begin <= splice.begin and splice.end <= span.close
    is_it = span.begin == splice.begin and splice.end == span.close
    return span.begin if is_around and (splice.length or not is_it) else None


def _escaped(value: str, quote: str) -> str:
    written = (
        checked(value).replace("&", "&amp;").replace("<", "&lt;").replace(quote, {'"': "&quot;", "'": "&apos;"}[quote])
    )
    return written.replace("\t", "&#9;").replace("\n", "&#10;").replace("\r", "&#13;")
