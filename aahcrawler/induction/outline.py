"""A table of a page's elements, read in one pass: places, extents, and amounts of text."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple, TypeVar

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.page.text import UNREAD, fold

T = TypeVar("T")

MAX_ELEMENTS = 60_000
"""The most elements of a page that are read."""

MAX_DEPTH = 200
"""The depth to which nested elements are read; of deeper ones only the text is."""

RUNNING = 40
"""The least weight of a piece of running text: menus and captions have less."""

MIN_SHORT, SHORT, VERSE = 4, 20, 80
"""The fewest short lines of one element that are a text, the least weight of each that is an element of its own, and
of all of them together."""

_MAX_KEPT_LENGTH = 300
"""The longest value of a class attribute whose words are cached: pages of a template have the same values."""
_LINES = frozenset({"dd", "div", "li", "p"})
CONTROLS = frozenset({"form", "button", "select", "textarea", "input", "option", "label", "svg", "iframe", "object"})
_SKIPPED = UNREAD | {"svg", "select", "math", "iframe", "object", "textarea", "button"}
_DENSE_SCRIPT = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DIGIT = re.compile(r"\d")
_UNMADE: Any = object()
_TAIL_NUMBER = re.compile(r"(?P<prefix>.*?[^\d])??(?P<number>\d{1,19})")


def weight(text: str) -> int:
    """Return the length of a text in letters of an alphabet; one Chinese character counts three.

    >>> weight("abc"), weight("\u6f22\u5b57")
    (3, 6)
    """
    return len(text) if text.isascii() else len(text) + 2 * len(_DENSE_SCRIPT.findall(text))


class TextPiece(NamedTuple):
    """A run of text between tags, with white space folded. ``owner`` is the place of its parent element."""

    owner: int
    text: str
    weight: int
    linked: bool
    before: int
    """The number of elements that begin before the piece."""


class Outline:
    """The elements below the body in document order; a place is an index into them.

    The extent of the element at ``place`` is ``range(place, ends[place])``. Time and memory are linear in the size of
    the page. Elements beyond ``MAX_ELEMENTS``, and those whose text no reader sees, are left out. The text of elements
    deeper than ``MAX_DEPTH`` belongs to the innermost element above them that is not deeper.
    """

    def __init__(self, tree: Element) -> None:
        body = next(tree.iter("body"), tree)
        self.elements: list[Element] = []
        self.parents: list[int] = []
        self.ends: list[int] = []
        self.depths: list[int] = []
        self.pieces: list[TextPiece] = []
        self._walk(body)
        self.places = {element: place for place, element in enumerate(self.elements)}
        self.tags: list[str] = [str(element.tag) for element in self.elements]
        self.tokens: list[tuple[str, ...]] = [_tokens(element) for element in self.elements]
        self.frequency = Counter(token for tokens in self.tokens for token in tokens)
        self._count_text()
        self._made: dict[tuple[object, int], Any] = {}

    def once(self, place: int, make: Callable[["Outline", int], T]) -> T:
        """Return the result of a function of a place, computed once, because candidates for records share places."""
        made: T = self._made.get((make, place), _UNMADE)
        if made is _UNMADE:
            made = self._made[make, place] = make(self, place)
        return made

    def _walk(self, body: Element) -> None:
        elements, ends, open_places = self.elements, self.ends, list[int]()
        add_element, add_parent, add_depth = elements.append, self.parents.append, self.depths.append
        add_piece = self.pieces.append
        links = number = 0
        walk = iterwalk(body, events=("start", "end", "comment", "pi"))
        for event, element in walk:
            if event == "start":
                tag = element.tag
                if tag in _SKIPPED or number >= MAX_ELEMENTS:
                    walk.skip_subtree()
                    open_places.append(-1)
                    continue
                if len(open_places) >= MAX_DEPTH:
                    open_places.append(open_places[-1])
                else:
                    add_element(element)
                    add_parent(open_places[-1] if open_places else -1)
                    add_depth(len(open_places))
                    open_places.append(number)
                    number += 1
                    ends.append(number)
                links += tag == "a"
                text = element.text
            else:
                if event == "end":
                    place = open_places.pop()
                    if place >= 0:
                        ends[place] = number
                        links -= element.tag == "a"
                text = element.tail if open_places and element is not body else None
            if text and not text.isspace() and (shown := fold(text)):
                piece = (open_places[-1], shown, weight(shown), links > 0, number)
                add_piece(tuple.__new__(TextPiece, piece))  # Its own maker takes twice as long.

    def _count_text(self) -> None:
        self._before = [piece.before for piece in self.pieces]
        size = len(self.elements)
        free, linked, running = [0] * size, [0] * size, [0] * size
        for piece in self.pieces:
            (linked if piece.linked else free)[piece.owner] += piece.weight
            if not piece.linked and piece.weight >= RUNNING:
                running[piece.owner] += piece.weight
        self._free = (0, *accumulate(free))
        self._linked = (0, *accumulate(linked))
        self._running = (0, *accumulate(running))

    def count_short_lines(self) -> bool:
        """If an element contains several short lines without links (verses), count these as running text as well.

        They are separated by line breaks, or are elements of their own. Return whether there are any.
        """
        lines = [piece for piece in self.pieces if not piece.linked]
        broken = Counter(piece.owner for piece in lines)
        groups: dict[int, list[TextPiece]] = defaultdict(list)
        for piece in lines:
            if broken[piece.owner] >= MIN_SHORT:
                groups[piece.owner].append(piece)
            elif piece.weight >= SHORT and self.tags[piece.owner] in _LINES:
                groups[self.parents[piece.owner]].append(piece)
        running = [after - before for before, after in pairwise(self._running)]
        found = [
            group
            for group in groups.values()
            if len(group) >= MIN_SHORT and sum(piece.weight for piece in group) >= VERSE
        ]
        for piece in chain.from_iterable(found):
            running[piece.owner] += piece.weight if piece.weight < RUNNING else 0
        self._running = (0, *accumulate(running))
        return bool(found)

    def count_as_running(self, first: int, end: int) -> None:
        """Count the text in a range of places, except links, as running text, however short it is."""
        running = [after - before for before, after in pairwise(self._running)]
        for piece in self.pieces_of(self.parents[first]):
            if first <= piece.owner < end and not piece.linked and piece.weight < RUNNING:
                running[piece.owner] += piece.weight
        self._running = (0, *accumulate(running))

    def rename(self, old: str, new: str) -> None:
        """Treat all elements with one tag as if they had another."""
        self.tags = [new if tag == old else tag for tag in self.tags]

    def free(self, place: int) -> int:
        """Return the weight of the text within an element that is not in a link."""
        return self._free[self.ends[place]] - self._free[place]

    def linked(self, place: int) -> int:
        """Return the weight of the text in links within an element."""
        return self._linked[self.ends[place]] - self._linked[place]

    def running(self, place: int) -> int:
        """Return the weight of the long pieces of text within an element, without links."""
        return self._running[self.ends[place]] - self._running[place]

    def children(self, place: int) -> Iterator[int]:
        """Yield the places of an element's children."""
        child, end = place + 1, self.ends[place]
        while child < end:
            yield child
            child = self.ends[child]

    def ancestors(self, place: int) -> Iterator[int]:
        """Yield the places above an element, the nearest first."""
        place = self.parents[place]
        while place >= 0:
            yield place
            place = self.parents[place]

    def contains(self, outer: int, inner: int) -> bool:
        """Return whether an element is another one or contains it."""
        return outer <= inner < self.ends[outer]

    def common(self, first: int, second: int) -> int:
        """Return the place of the innermost element that contains both; -1 if there is none."""
        while first >= 0 and not self.contains(first, second):
            first = self.parents[first]
        return first

    def pieces_of(self, place: int, without: "Extents | None" = None) -> Iterator[TextPiece]:
        """Yield the text within an element, in document order, except that in some extents."""
        pieces, number, end = self.pieces, self.number_of_piece(place), self.ends[place]
        last = self.number_of_piece(end)
        while number < last:
            piece = pieces[number]
            number += 1
            if not place <= piece.owner < end:
                continue
            past = without.end_at(piece.owner) if without is not None else 0
            if past:
                number = max(number, self.number_of_piece(past - 1))
            else:
                yield piece

    def leading_word(self, place: int) -> str:
        """Return the last word of the text before an element in its parent, in lower case; empty if there is none."""
        number = self.number_of_piece(place) - 1
        if (
            number < 0
            or self.pieces[number].linked
            or not self.contains(self.parents[place], self.pieces[number].owner)
        ):
            return ""
        return self.pieces[number].text.split()[-1].strip(":").casefold()

    def number_of_piece(self, place: int) -> int:
        """Return the number of the first piece of text after the beginning of an element."""
        return bisect_right(self._before, place)

    def is_within(self, place: int, tags: Iterable[str]) -> bool:
        """Return whether an element has one of the tags or is within an element that has."""
        while place >= 0:
            if self.tags[place] in tags:
                return True
            place = self.parents[place]
        return False


class Extents:
    """Extents of places, which may overlap."""

    def __init__(self, extents: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(extents):
            if not self._ends or start >= self._ends[-1]:
                self._starts.append(start)
                self._ends.append(end)
            self._ends[-1] = max(self._ends[-1], end)

    def cover(self, place: int) -> bool:
        """Return whether a place is in one of them."""
        return bool(self._starts) and self.end_at(place) > 0

    def end_at(self, place: int) -> int:
        """Return the end of the extent that contains a place; 0 if none does."""
        number = bisect_right(self._starts, place) - 1
        return self._ends[number] if number >= 0 and place < self._ends[number] else 0


def _tokens(element: Element) -> tuple[str, ...]:
    """Return the words of an element's class that contain no digits, sorted."""
    given = element.get("class")
    if not given:
        return ()
    return _words(given) if len(given) <= _MAX_KEPT_LENGTH else _words.__wrapped__(given)


@lru_cache(maxsize=20_000)
def _words(given: str) -> tuple[str, ...]:
    return tuple(sorted({word for word in given.split()[:12] if len(word) < 60 and not _DIGIT.search(word)}))


@lru_cache(maxsize=20_000)
def _split_number(text: str) -> tuple[str, str] | None:
    found = _TAIL_NUMBER.fullmatch(text)
    return (found["prefix"] or "", found["number"]) if found else None


def numbered(text: str | None) -> tuple[str, str] | None:
    """Split an identifier that ends with a number into the part before and the number; None for others.

    >>> numbered("post_123"), numbered("content"), numbered("123")
    (('post_', '123'), None, ('', '123'))
    """
    return _split_number(text) if text and len(text) <= 80 else None
