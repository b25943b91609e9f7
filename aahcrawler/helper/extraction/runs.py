"""Make elements of objects that have none: runs of blocks up to a signature, for selectors to read.

Talk pages of wikis are plain documents on which each speaker adds a paragraph, indents it below the one it answers, and
signs it: author and date at the end of a line are the only boundary between comments.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime

from lxml import etree
from lxml.html import HtmlElement, html_parser

from aahcrawler.helper.extraction.signatures import Line, Signature, Signatures, measure
from aahcrawler.page import text
from knowledge_base.element_index import Elements
from knowledge_base.model import Run

MAX_RUNS = 2_500
"""Runs of one page; no talk page that is readable holds as many."""

MAX_HEADING = 300
_LISTS = frozenset({"dl", "ul", "ol", "menu", "dir"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_TOOLS = re.compile(r"\s*\[[^\[\]]{1,60}\]$")
_WORDS = re.compile(r"\w")
_QUOTES = frozenset({"blockquote", "q"})


def run_items(
    containers: list[HtmlElement], run: Run, now: datetime, elements: Elements | None = None
) -> list[HtmlElement]:
    """Return each run of the containers as a detached element, in document order.

    A run consists of the innermost blocks since the last signature or stop; of a block that contains other blocks only
    its own content counts. It ends with a line (of a block, or before a ``br``) that holds a signature: a part that
    ``run.signature`` finds, and a date behind it. Parts in quotations are not signatures. Unsigned blocks before a stop
    or the end, and text behind the last signature of a block, belong to no run.

    The element is a ``div`` that contains two: the first, of class ``written``, holds copies of the blocks, those
    without a signature whole; the second, of class ``signature``, holds the end cut off the last line, in which the
    part that names the author has the class ``signed``. Its attributes are ``data-date``, the date as written;
    ``data-author``, the name if no part names the author; ``data-depth``, the number of lists by which the run is
    indented at its beginning or end, whichever is less; ``data-heading``, the text of the last stop that is a heading;
    ``data-first="yes"`` for the first run below it; ``data-number``, which counts the runs; and ``data-parent``, the
    number of the answered run: the nearest one before it under the same heading that is indented less (`Replies` knows
    its fragment). ``now`` is aware.

    The containers are not changed; time is linear in their size. At most `MAX_RUNS` runs are returned.
    """
    found = _Runs(Signatures(now))
    seen: set[HtmlElement] = set()
    for container in containers:
        if seen.isdisjoint(container.iterancestors()):
            seen.add(container)
            found.read(_Walk.of(container, run, elements))
    return found.items


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a run: lines of a block; without lines, the whole block."""

    block: HtmlElement
    depth: int
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class _Stop:
    """An element that ends a run that has no signature; ``heading`` is its text if it is a heading."""

    heading: str | None


@dataclass(slots=True)
class _Walk:
    """One container, and its elements that the selectors of a run found.

    ``live`` are the parts of signatures outside of quotations. ``parted`` are the elements that contain such a part or
    a stop and so cannot be copied as a whole. ``above`` are elements that contain blocks, ``signing`` those that
    contain live parts.
    """

    container: HtmlElement
    blocks: frozenset[HtmlElement]
    signed: frozenset[HtmlElement]
    stops: frozenset[HtmlElement]
    headings: frozenset[HtmlElement]
    live: set[HtmlElement] = field(default_factory=set)
    parted: set[HtmlElement] = field(default_factory=set)
    above: set[HtmlElement] = field(default_factory=set)
    signing: set[HtmlElement] = field(default_factory=set)

    @classmethod
    def of(cls, container: HtmlElement, run: Run, elements: Elements | None) -> "_Walk":
        """Run the selectors, and find the ancestors of their results."""
        blocks, signed, stops, headings = (
            frozenset(element for selector in selectors for element in selector.elements(container, elements))
            for selectors in (run.blocks, run.signature, run.stops, run.headings)
        )
        walk = cls(container, blocks, signed, stops | headings, headings)
        walk._look()
        return walk

    def _look(self) -> None:
        path: list[HtmlElement] = []
        quotes = 0
        for event, node in etree.iterwalk(self.container, events=("start", "end")):
            if event == "start":
                path.append(node)
                quotes += node.tag in _QUOTES
                if node in self.signed and not quotes:
                    self.live.add(node)
                    _mark(path, self.signing)
                if node in self.stops or node in self.live or (not quotes and Signatures.may_end(node.text)):
                    _mark(path, self.parted)
                if node in self.blocks or node in self.stops:
                    _mark(path[:-1], self.above)
            else:
                quotes -= node.tag in _QUOTES
                path.pop()
                if not quotes and path and Signatures.may_end(node.tail):
                    _mark(path, self.parted)

    def pieces(self) -> Iterator[_Part | _Stop]:
        """Yield the innermost blocks, the lines of blocks that are parted, and the stops, in document order."""
        open_: list[_Level] = [_Level(self.container, self.container, 0)]
        while open_:
            level = open_[-1]
            child = next(level.children, None)
            if child is None:
                yield from level.lines()
                open_.pop()
            elif child in self.stops:
                yield from level.lines(behind=child)
                yield _Stop(self._heading(child))
                if child in self.headings and level.block is not self.container and level.block not in self.signing:
                    # A block without signatures belongs to the heading: its other elements are tools.
                    level.block = None
            elif child not in self.blocks and child not in self.above:
                level.inline.append(child)
            else:
                yield from level.lines(behind=child)
                if child in self.parted:
                    depth = level.depth + (child.tag in _LISTS)
                    open_.append(_Level(child, child if child in self.blocks else None, depth))
                else:
                    yield _Part(child, level.depth + _lists_begun(child))

    def _heading(self, stop: HtmlElement) -> str | None:
        """Return the text of the heading in a stop, else of the innermost stop, None if it is part of no heading."""
        heading = next((node for node in stop.iter() if node in self.headings), None)
        if heading is not None:
            return _without_tools(heading)
        inner = next(node for _, node in etree.iterwalk(stop, events=("end",)) if node in self.stops)
        above = inner.getparent()
        if _HEADINGS.isdisjoint((stop.tag, inner.tag, above.tag if above is not None else "")):
            return None
        return _without_tools(inner)


def _without_tools(heading: HtmlElement) -> str:
    """Return the text of a heading without the links with which wikis let it be edited.

    They are in brackets at its end, or have a query in their URL while all other words are one element.
    """
    shown = text.excerpt(heading, MAX_HEADING)
    links = list(heading.iter("a"))
    labels = [text.excerpt(link, MAX_HEADING) for link in links]
    if links and all("?" in (link.get("href") or "?") for link in links):
        plain = (each for each in heading.iterdescendants() if next(each.iter("a"), None) is None)
        words = max((text.excerpt(each, MAX_HEADING) for each in plain), key=len, default="")
        rest = shown.replace(words, " ", 1) if words else shown
        for label in labels:
            rest = rest.replace(label, " ", 1)
        if _WORDS.search(rest) is None:
            return words or shown
    tools = _TOOLS.search(shown)
    is_tool = tools is not None and any(label in tools[0] for label in labels)
    return shown[: tools.start()] if tools is not None and is_tool and tools.start() else shown


def _mark(path: list[HtmlElement], marked: set[HtmlElement]) -> None:
    """Add the elements of a path, from the innermost, until one that is in the set already."""
    for element in reversed(path):
        if element in marked:
            return
        marked.add(element)


def _lists_begun(element: HtmlElement) -> int:
    """Return how many lists begin with an element, that is, before its first words."""
    lists = 0
    current: HtmlElement | None = element
    while current is not None:
        lists += current.tag in _LISTS
        current = current[0] if len(current) and not (current.text or "").strip() else None
    return lists


class _Level:
    """An element that is being walked; ``block`` is the block that its own content belongs to, if any."""

    def __init__(self, element: HtmlElement, block: HtmlElement | None, depth: int) -> None:
        self.children = iter(element)
        self.block = block
        self.depth = depth
        self.lead = element.text or ""
        self.inline: list[HtmlElement] = []

    def lines(self, behind: HtmlElement | None = None) -> Iterator[_Part]:
        """Yield the lines since the last block, and begin anew with the text behind an element."""
        lead, inline = self.lead, self.inline
        self.lead, self.inline = (behind.tail if behind is not None else None) or "", []
        if self.block is not None and (inline or lead.strip()):
            yield _Part(self.block, self.depth, tuple(_split(lead, inline)))


def _split(lead: str, inline: list[HtmlElement]) -> Iterator[Line]:
    """Split inline content into lines; a line break belongs to the line that it begins."""
    line = Line(lead, [])
    for element in inline:
        if element.tag == "br":
            yield line
            line = Line("", [])
        line.elements.append(element)
    yield line


class _Runs:
    """Collects parts into runs."""

    def __init__(self, signatures: Signatures) -> None:
        self.items: list[HtmlElement] = []
        self._signatures = signatures
        self._open: list[_Part] = []
        self._above: list[tuple[int, int]] = []
        self._heading = ""
        self._first = False
        self._container: HtmlElement | None = None

    def read(self, walk: _Walk) -> None:
        """Add the runs of a container; a run never continues in the next container."""
        closed: set[HtmlElement] = set()
        self._open, self._container = [], walk.container
        for piece in walk.pieces():
            if len(self.items) >= MAX_RUNS:
                return
            if isinstance(piece, _Stop):
                self._stop(piece)
            elif not piece.lines:
                self._open.append(piece)
            elif self._close(piece, walk):
                closed.add(piece.block)
            elif piece.block not in closed or piece.block is walk.container:
                self._open.append(piece)

    def _stop(self, stop: _Stop) -> None:
        self._open = []
        if stop.heading:
            self._heading, self._first, self._above = stop.heading, True, []

    def _close(self, piece: _Part, walk: _Walk) -> bool:
        """Make a run of each signed line of a part, with the lines before it; return whether there was any."""
        start = 0
        for index, line in enumerate(piece.lines):
            signature = self._signatures.find(line, walk.live) if _is_parted(line, walk.parted) else None
            if signature is not None and len(self.items) < MAX_RUNS:
                lines = piece.lines[start : index + 1]
                self._emit([*self._open, _Part(piece.block, piece.depth, lines)], signature)
                self._open, start = [], index + 1
        return start > 0

    def _emit(self, parts: list[_Part], signature: Signature) -> None:
        depth, number = min(parts[0].depth, parts[-1].depth), len(self.items)
        while self._above and self._above[-1][0] >= depth:
            self._above.pop()
        item = _element("div")
        item.set("data-number", str(number))
        item.set("data-depth", str(depth))
        item.set("data-date", signature.date)
        if self._heading:
            item.set("data-heading", self._heading)
        if self._first:
            item.set("data-first", "yes")
        if self._above:
            item.set("data-parent", str(self._above[-1][1]))
        if signature.name:
            item.set("data-author", signature.name)
        written, signed = _element("div", "written"), _element("div", "signature")
        written.extend([self._copied(part) for part in parts])
        signed.extend(_cut(written[-1], parts[-1].lines[-1], signature))
        item.extend([written, signed])
        self._above.append((depth, number))
        self._first = False
        self.items.append(item)

    def _copied(self, part: _Part) -> HtmlElement:
        """Copy a part; the container's own lines become a paragraph."""
        if not part.lines:
            whole = deepcopy(part.block)
            whole.tail = None
            return whole
        is_container = part.block is self._container
        block = _element("p" if is_container else str(part.block.tag))
        if not is_container:
            block.attrib.update(part.block.attrib)
        for line in part.lines:
            _append_text(block, line.lead)
            block.extend([deepcopy(element) for element in line.elements])
        return block


def _is_parted(line: Line, parted: set[HtmlElement]) -> bool:
    return (
        Signatures.may_end(line.lead)
        or any(element in parted for element in line.elements)
        or any(Signatures.may_end(element.tail) for element in line.elements)
    )


def _element(tag: str, name: str = "") -> HtmlElement:
    element = html_parser.makeelement(tag)
    if name:
        element.set("class", name)
    return element


def _append_text(element: HtmlElement, more: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + more
    else:
        element.text = (element.text or "") + more


def _cut(block: HtmlElement, line: Line, signature: Signature) -> list[HtmlElement]:
    """Cut off the end of a block, from the signature in its last line on; mark the author."""
    at = len(block) - len(line.elements)
    spans = measure(line.lead, block[at:]).spans
    for original, twin in zip(signature.spans, spans, strict=True):
        if original is signature.part:
            twin.set("class", f"{twin.get('class') or ''} signed".strip())
    cut: list[HtmlElement] = []
    within: HtmlElement | None = block
    begins = 0
    while within is not None:
        piece, within, at, begins = _cut_in(within, at, begins, signature.start, spans)
        cut.append(piece)
    return cut[::-1]


def _cut_in(
    parent: HtmlElement, at: int, begins: int, start: int, spans: Mapping[HtmlElement, tuple[int, int]]
) -> tuple[HtmlElement, HtmlElement | None, int, int]:
    """Return the content behind ``start``, and the child of ``parent`` around ``start``, if any, to be cut there.

    ``begins`` is the place of the text before the child number ``at``.
    """
    piece = _element("span")
    lead = (parent.text or "") if at == 0 else ""
    if start < begins + len(lead):
        parent.text, piece.text = lead[: start - begins], lead[start - begins :]
        piece.extend(parent[at:])
        return piece, None, 0, 0
    for index, child in enumerate(parent[at:], at):
        first, last = spans[child]
        tail = child.tail or ""
        if start <= first:
            piece.extend(parent[index:])
            return piece, None, 0, 0
        if start < last + len(tail):
            kept = max(0, start - last)
            child.tail, piece.text = tail[:kept], tail[kept:]
            piece.extend(parent[index + 1 :])
            return (piece, child, 0, first) if start < last else (piece, None, 0, 0)
    return piece, None, 0, 0
