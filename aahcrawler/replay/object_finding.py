"""Finds the elements of a page that show its web objects, by the objects' texts.

A text that occurs once on the page is at that place. Of several occurrences, the author near them and the order of the
objects decide. Where doubt remains, the object counts as not found, so that no wrong element is ever named.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.page.text import UNREAD, bare

Span = tuple[int, int]
MAX_PLACES: Final = 200
"""The most places of one text that are looked at."""


class PageText:
    """The letters and digits of a document in lower case, as ``bare`` gives them, in document order.

    Invisible text is left out. The tree must not change meanwhile.
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
        """Return the extent of an element's text; an empty one at the beginning for an element that is left out."""
        return self._spans.get(element, (0, 0))

    def places(self, words: str, begin: int = 0, end: int | None = None) -> list[Span]:
        """Return the non-overlapping occurrences of a bare text between two places, the first ones."""
        found: list[Span] = []
        at = self.text.find(words, begin, end) if words else -1
        while at >= 0 and len(found) < MAX_PLACES:
            found.append((at, at + len(words)))
            at = self.text.find(words, at + len(words), end)
        return found

    def holder(self, span: Span) -> Element | None:
        """Return the smallest element that contains a part of the text, the innermost of several."""
        at = bisect_right(self._starts, span[0]) - 1
        element: Element | None = self._elements[at] if at >= 0 else None
        while element is not None and not _within(span, self.span(element)):
            element = element.getparent()
        return element

    def around(self, element: Element) -> Iterator[Element]:
        """Yield an element and its ancestors below the body."""
        found: Element | None = element
        while found is not None and found.tag not in ("body", "html"):
            yield found
            found = found.getparent()


def _within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


_MAX_LINES: Final = 2_000
_SHORT: Final = 24
"""A text of at most this many letters must be all that an element holds."""
_SHORT_NAME: Final = 5
_GAP: Final = 4_000
"""The most letters, in all, that a page may have between the lines of one body."""
_QUOTES: Final = frozenset({"blockquote", "q", "cite"})


@dataclass(frozen=True, slots=True)
class ShownObject:
    """A web object of a capture. ``number`` is its position in the list of those shown; unknown texts are empty."""

    number: int
    type: str
    title: str = ""
    author: str = ""
    date: str = ""
    body: str = ""

    @property
    def words(self) -> str:
        """The bare text by which it is found: its body, or else its title."""
        return bare(self.body) or bare(self.title)


def find_objects(tree: Element, objects: Sequence[ShownObject]) -> dict[int, Element]:
    """Return the element of each object that was found, by the object's number.

    ``objects`` are in the order in which the page shows them. The tree must be as it was parsed.
    """
    if not objects:
        return {}
    return _Search(PageText(tree)).found(objects)


class _Search:
    def __init__(self, page: PageText) -> None:
        self._page = page
        self._taken: dict[int, Span] = {}
        self._spans = _Spans()

    def found(self, objects: Sequence[ShownObject]) -> dict[int, Element]:
        # A longer text may quote a shorter one, so it has to be found first. Sorting is stable.
        by_words = sorted(objects, key=lambda each: (-len(each.words), each.words))
        for words, group in groupby(by_words, key=lambda each: each.words):
            alike = list(group)
            if words:
                self._place(alike, self._places(words, alike[0]))
        elements = {}
        for each in objects:
            span = self._taken.get(each.number)
            if span is not None and (element := self._whole(each, span)) is not None:
                elements[each.number] = element
        return elements

    def _places(self, words: str, sample: ShownObject) -> list[Span]:
        """Return the occurrences of a text that are not within an occurrence of a longer one."""
        places = self._page.places(words)
        alone = [place for place in places if self._is_all(place)]
        if len(words) <= _SHORT or alone:
            places = alone
        elif not places and (gapped := self._gapped(sample.body)) is not None:
            places = [gapped]
        places = [place for place in places if not self._spans.within(place)]
        if not sample.body:
            headings = (each for each in places if any(str(near.tag) in _HEADINGS for near in self._near(each)))
            return list(headings) or places
        return places

    def _place(self, alike: list[ShownObject], places: list[Span]) -> None:
        """Assign places to objects with the same text, where there is no doubt."""
        places = [place for place in places if not self._is_quoted(place)]
        if self._settled(alike, places):
            return
        unquoted = [place for place in places if not self._is_quoted(place, by_class=True)]
        if self._settled(alike, unquoted):
            return
        by_author: dict[str, list[ShownObject]] = {}
        for each in alike:
            by_author.setdefault(bare(each.author), []).append(each)
        if "" in by_author:
            return
        near = {place: self._region(place, unquoted) for place in unquoted}
        for author, group in by_author.items():
            self._settled(group, [place for place in unquoted if self._tells(near[place], author, place)])

    def _settled(self, alike: list[ShownObject], places: list[Span]) -> bool:
        if len(alike) != len(places) or (len(alike) > 1 and len({each.author for each in alike}) > 1):
            # Several authors are told apart by name even if the numbers agree.
            return False
        for each, place in zip(alike, places, strict=True):
            self._taken[each.number] = place
            self._spans.add(place)
        return True

    def _region(self, place: Span, places: list[Span]) -> Element:
        """Return the largest element around a place that contains none of the other places."""
        holder = self._page.holder(place)
        region = holder
        for element in self._page.around(holder) if holder is not None else ():
            span = self._page.span(element)
            if any(_overlap(span, other) for other in places if other != place):
                break
            region = element
        assert region is not None  # noqa: S101 - the document element holds all of the text
        return region

    def _whole(self, each: ShownObject, span: Span) -> Element | None:
        """Return the smallest element with text, author and title of an object that contains nothing of another object.

        Where there is none, author or title are left out.
        """
        holder = self._page.holder(span)
        if holder is None or holder.tag in ("body", "html"):
            return None
        wanted = [words for words in (bare(each.author), bare(each.title)) if words]
        best, count = holder, sum(self._tells(holder, words, span) for words in wanted)
        for element in self._page.around(holder):
            if self._spans.within(self._page.span(element)) > 1:
                return None if element is holder else best
            held = sum(self._tells(element, words, span) for words in wanted)
            if held > count:
                best, count = element, held
        return best

    def _tells(self, element: Element, words: str, body: Span) -> bool:
        """Return whether an element contains a name or a title outside of a body.

        A short one must be the whole text of an element.
        """
        begin, end = self._page.span(element)
        places = (*self._page.places(words, begin, body[0]), *self._page.places(words, body[1], end))
        return any(len(words) > _SHORT_NAME or self._is_all(place) for place in places)

    def _gapped(self, body: str) -> Span | None:
        """Return the one place where all lines of a text follow one another, possibly with other text between them."""
        lines = [words for line in body.split("\n")[:_MAX_LINES] if (words := bare(line))]
        if len(lines) < 2 or sum(map(len, lines)) <= _SHORT:
            return None
        found = [span for begin in self._page.places(lines[0]) if (span := self._from(begin, lines))]
        return found[0] if len(found) == 1 else None

    def _from(self, begin: Span, lines: list[str]) -> Span | None:
        end, most = begin[1], begin[1] + sum(map(len, lines)) + _GAP
        for words in lines[1:]:
            at = self._page.text.find(words, end, most)
            if at < 0:
                return None
            end = at + len(words)
        return begin[0], end

    def _is_all(self, place: Span) -> bool:
        """Return whether some element contains this text and nothing else."""
        holder = self._page.holder(place)
        return holder is not None and self._page.span(holder) == place

    def _is_quoted(self, place: Span, *, by_class: bool = False) -> bool:
        """Return whether a text is in a quotation: by its element or, less reliably, by a class name."""
        return any(
            element.tag in _QUOTES or (by_class and "quote" in (element.get("class") or "").lower())
            for element in self._near(place)
        )

    def _near(self, place: Span) -> Iterator[Element]:
        holder = self._page.holder(place)
        return self._page.around(holder) if holder is not None else iter(())


_HEADINGS: Final = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


class _Spans:
    """Non-overlapping spans of a text."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def add(self, span: Span) -> None:
        """Add a span."""
        insort(self._begins, span[0])
        insort(self._ends, span[1])

    def within(self, span: Span) -> int:
        """Return how many of them overlap another span."""
        return bisect_left(self._begins, span[1]) - bisect_right(self._ends, span[0])


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
