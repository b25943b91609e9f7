"""The text of a page without spaces and signs, and which element holds which part of it."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.page.text import UNREAD, bare

Span = tuple[int, int]
MOST_PLACES: Final = 200
"""Places of one text that are looked at."""


class PageText:
    """The letters and digits of a document in small letters, as ``bare`` gives them, in document order.

    What no reader sees is left out. The tree must not change meanwhile.
    """

    def __init__(self, tree: Element) -> None:
        self._spans: dict[Element, Span] = {}
        self._elements: list[Element] = []
        self._starts: list[int] = []
        pieces: list[str] = []
        size = 0
        walk = iterwalk(tree, events=("start", "end", "comment", "pi"))
        for event, node in walk:
            if event == "start" and node.tag not in UNREAD:
                self._elements.append(node)
                self._starts.append(size)
                self._spans[node] = (size, size)
                text = node.text
            else:
                if event == "start":
                    walk.skip_subtree()
                    continue
                if node in self._spans:
                    self._spans[node] = (self._spans[node][0], size)
                text = node.tail if node is not tree else None
            if text and (piece := bare(text)):
                pieces.append(piece)
                size += len(piece)
        self.text = "".join(pieces)

    def span(self, element: Element) -> Span:
        """Return where the text of an element stands; nothing at the beginning for one that is not read."""
        return self._spans.get(element, (0, 0))

    def places(self, words: str, begin: int = 0, end: int | None = None) -> list[Span]:
        """Return where a bare text stands between two places: the first ones, which do not overlap."""
        found: list[Span] = []
        at = self.text.find(words, begin, end) if words else -1
        while at >= 0 and len(found) < MOST_PLACES:
            found.append((at, at + len(words)))
            at = self.text.find(words, at + len(words), end)
        return found

    def holder(self, span: Span) -> Element | None:
        """Return the smallest element that holds a part of the text, the innermost of several."""
        at = bisect_right(self._starts, span[0]) - 1
        element: Element | None = self._elements[at] if at >= 0 else None
        while element is not None and not _within(span, self.span(element)):
            element = element.getparent()
        return element

    def around(self, element: Element) -> Iterator[Element]:
        """Yield an element and those around it up to, and without, the body."""
        found: Element | None = element
        while found is not None and found.tag not in ("body", "html"):
            yield found
            found = found.getparent()


def _within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
