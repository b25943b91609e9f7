"""Locates on a recorded page the content that was put into the site, from the texts alone."""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lxml import etree
from lxml.html import HtmlElement

from benchmarks.recorded import RecordedSite

WINDOW = 4
"""Words in a row by which a text is recognised; shorter texts are recognised by all of their words."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")
_UNSEEN = frozenset({"script", "style", "template"})

Words = tuple[str, ...]


def words(text: str) -> Words:
    """Return the words of a text, each sign of Chinese and Japanese for itself.

    >>> words("Two words, 3")
    ('two', 'words', '3')
    """
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def folded(text: str) -> str:
    """Return a text with single blanks for all white space."""
    return " ".join(text.split())


class Truth:
    """The bodies of the objects of a site with their titles, which are empty where there is none."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        """Take pairs of body and title; objects without a body are left out."""
        found = [(words(body), words(title), folded(body)) for body, title in texts]
        self.bodies = tuple(body for body, _, _ in found if body)
        self.titles = tuple(title for body, title, _ in found if body)
        self.written = tuple(written for body, _, written in found if body)
        self._windows: defaultdict[Words, set[int]] = defaultdict(set)
        for number, body in enumerate(self.bodies):
            for window in _windows(body, min(WINDOW, len(body))):
                self._windows[window].add(number)
        self._sizes = sorted({len(window) for window in self._windows})

    @classmethod
    def of(cls, site: RecordedSite) -> "Truth":
        """Read the bodies of a recorded site."""
        with (site.folder / "truth.jsonl").open(encoding="utf-8") as lines:
            return cls((row["body"] or "", row["title"] or "") for row in map(json.loads, lines))

    def marked(self, found: Sequence[str]) -> list[set[int]]:
        """Return for each word of a text the numbers of the bodies that it may belong to."""
        marks: list[set[int]] = [set() for _ in found]
        for size in self._sizes:
            for start, window in enumerate(_windows(found, size)):
                bodies = self._windows.get(window)
                if bodies and (size == WINDOW or any(len(self.bodies[number]) == size for number in bodies)):
                    for mark in marks[start : start + size]:
                        mark.update(bodies)
        return marks


def _windows(found: Sequence[str], size: int) -> Iterable[Words]:
    return (tuple(found[start : start + size]) for start in range(len(found) - size + 1))


@dataclass(frozen=True, slots=True)
class Layout:
    """The words of a page in their order, the bodies that each belongs to, and the span of each element."""

    words: Sequence[str]
    marks: Sequence[set[int]]
    spans: Mapping[HtmlElement, tuple[int, int]]

    @classmethod
    def of(cls, tree: HtmlElement, truth: Truth) -> "Layout":
        """Lay out a page; the content of scripts and style sheets is no text."""
        found: list[str] = []
        starts: dict[HtmlElement, int] = {}
        spans: dict[HtmlElement, tuple[int, int]] = {}
        for event, element in etree.iterwalk(tree, events=("start", "end")):
            if event == "start":
                starts[element] = len(found)
                if element.tag not in _UNSEEN:
                    found += words(element.text or "")
            else:
                spans[element] = (starts[element], len(found))
                found += words(element.tail or "")
        return cls(found, truth.marked(found), spans)

    def bodies(self, element: HtmlElement) -> set[int]:
        """Return the numbers of the bodies of which an element may hold a part."""
        start, end = self.spans.get(element, (0, 0))
        return set().union(*self.marks[start:end])

    def share(self, element: HtmlElement, body: int) -> int:
        """Return the number of words of an element that may belong to a body."""
        start, end = self.spans.get(element, (0, 0))
        return sum(body in marks for marks in self.marks[start:end])

    def text(self, element: HtmlElement) -> Sequence[str]:
        """Return the words of an element."""
        start, end = self.spans.get(element, (0, 0))
        return self.words[start:end]

    def size(self, element: HtmlElement) -> int:
        """Return the number of words in an element."""
        start, end = self.spans.get(element, (0, 0))
        return end - start
