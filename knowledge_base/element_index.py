"""Indexes the elements of a page by their classes and ids, so that a search need not visit all elements."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import count, islice, pairwise

from lxml import etree
from lxml.html import HtmlElement

from knowledge_base.xpath_limits import Limits

MAX_INDEXED = 50_000
"""Elements of a document beyond which it has no index: hostile or broken, and searched within bounds by others."""

CLASS, ID = "class", "id"
_BLANKS = re.compile("[ \t\r\n]+")
"""The separators between the words of an attribute in XPath; other white space is part of a word."""


_MAX_KEPT_LENGTH = 200
"""Characters of a class whose words are remembered: pages of a site have the same few."""


def _split(value: str) -> frozenset[str]:
    return frozenset(_BLANKS.split(value))


_words = lru_cache(16_384)(_split)
_size = etree.XPath("count(descendant-or-self::*)")


class Elements:
    """An index of the elements of one document by the words of their class and by their id.

    The document is scanned once, at the first look-up; it must not change after that.
    """

    def __init__(self, root: HtmlElement, length: int = 0) -> None:
        """Take the document element, and the length of the page's source in bytes."""
        self._root = root
        self.limits = Limits(root, length)
        self._spans: dict[HtmlElement, tuple[int, int] | None] = {}
        self._ends: dict[HtmlElement, int] = {}
        self._found: dict[tuple[str, str], Sequence[int]] = {}

    @cached_property
    def _all(self) -> list[HtmlElement]:
        found = list(islice(self._root.iter("*"), MAX_INDEXED + 1))
        return found if len(found) <= MAX_INDEXED else []

    @cached_property
    def _places(self) -> dict[HtmlElement, int]:
        return dict(zip(self._all, count(), strict=False))

    @cached_property
    def _values(self) -> dict[str, dict[str, list[int]]]:
        """The places of elements by attribute and its value as written."""
        found: dict[str, dict[str, list[int]]] = {CLASS: {}, ID: {}}
        for attribute, places in found.items():
            for place, value in enumerate([element.get(attribute) for element in self._all]):
                if value is None:
                    continue
                if value in places:
                    places[value].append(place)
                else:
                    places[value] = [place]
        return found

    def size(self, element: HtmlElement) -> int:
        """Return the number of elements in a subtree, its root included."""
        span = self._spans[element] if element in self._spans else self._spanned(element)
        return int(_size(element)) if span is None else span[1] - span[0] + 1

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        """The class values that contain each word."""
        found: dict[str, list[str]] = {}
        for value in self._values[CLASS]:
            for word in _words(value) if len(value) <= _MAX_KEPT_LENGTH else _split(value):
                found.setdefault(word, []).append(value)
        return found

    def may_hold(self, attribute: str, value: str) -> bool:
        """Return whether some element may have a class word, or an id; always True for large documents."""
        return not self._all or bool(self._of(attribute, value))

    def order(self, found: Sequence[HtmlElement]) -> list[HtmlElement] | None:
        """Return elements in document order, each once; None where one is not in the document."""
        places = self._places
        if any(element not in places for element in found):
            return None
        return sorted(set(found), key=places.__getitem__)

    def within(self, context: HtmlElement, attribute: str, value: str) -> Sequence[HtmlElement] | None:
        """Return the descendants of an element with a class word or an id, in document order.

        None where the element is not in the document.
        """
        span = self._spans[context] if context in self._spans else self._spanned(context)
        if span is None:
            return None
        places = self._of(attribute, value)
        if not places:
            return ()
        first, end = bisect_left(places, span[0]), bisect_left(places, span[1])
        return [self._all[place] for place in places[first:end]]

    def anywhere(self, context: HtmlElement, attribute: str, value: str) -> Sequence[HtmlElement] | None:
        """Return all elements of the document with a class word or an id.

        None where the context is not in the document.
        """
        return [self._all[place] for place in self._of(attribute, value)] if context in self._places else None

    def are_apart(self, found: Sequence[HtmlElement]) -> bool:
        """Return whether none of some elements contains another; they must be in document order."""
        spans = [self._spans[each] if each in self._spans else self._spanned(each) for each in found]
        return all(a is not None and b is not None and a[1] < b[0] for a, b in pairwise(spans))

    def _of(self, attribute: str, value: str) -> Sequence[int]:
        found = self._found.get((attribute, value))
        if found is None:
            values = self._values[attribute]
            if attribute == ID:
                found = values.get(value, ())
            else:
                held = self._words.get(value, ())
                found = values[held[0]] if len(held) == 1 else sorted(place for each in held for place in values[each])
            self._found[attribute, value] = found
        return found

    def _spanned(self, context: HtmlElement) -> tuple[int, int] | None:
        """Return the places of the first descendant of an element and of the first element after it."""
        start = self._places.get(context)
        span = (start + 1, self._end(context)) if start is not None else None
        self._spans[context] = span
        return span

    def _end(self, element: HtmlElement) -> int:
        """Return the place of the first element after an element's subtree; each result is computed once."""
        last: list[HtmlElement] = []
        step: HtmlElement | None = element
        end = len(self._all)
        while step is not None:
            if step in self._ends:
                end = self._ends[step]
                break
            following = _behind(step)
            if following is not None:
                end = self._ends[step] = self._places[following]
                break
            last.append(step)
            step = step.getparent()
        self._ends.update(dict.fromkeys(last, end))
        return end


def _behind(element: HtmlElement) -> HtmlElement | None:
    """Return the next sibling element, skipping comments."""
    following = element.getnext()
    while following is not None and not isinstance(following.tag, str):
        following = following.getnext()
    return following
