"""Finds the texts of a site's objects on its recorded pages; counts errors that are worse than gaps.

Worse are wrong values, and changes that nobody made. An object is identified by its body.
"""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.objects.versions import compare
from aahcrawler.webobject import Person, Value, WebObject
from benchmarks.recorded import RecordedSite
from benchmarks.results import Cell

WINDOW = 4
"""The number of successive words by which a text is recognised; shorter texts are recognised by all their words."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")
_UNSEEN = frozenset({"script", "style", "template"})

Words = tuple[str, ...]


def words(text: str) -> Words:
    """Return the words of a text; each Chinese or Japanese character counts as a word.

    >>> words("Two words, 3")
    ('two', 'words', '3')
    """
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


class Truth:
    """The bodies of the objects of a site."""

    def __init__(self, texts: Iterable[str]) -> None:
        """``texts`` are the bodies; those without a word are left out."""
        self.bodies = tuple(body for body in map(words, texts) if body)
        self._windows: defaultdict[Words, set[int]] = defaultdict(set)
        for number, body in enumerate(self.bodies):
            for window in _windows(body, min(WINDOW, len(body))):
                self._windows[window].add(number)
        self._sizes = sorted({len(window) for window in self._windows})

    @classmethod
    def of(cls, site: RecordedSite) -> "Truth":
        """Read the bodies of a recorded site."""
        with (site.folder / "truth.jsonl").open(encoding="utf-8") as lines:
            return cls(row["body"] or "" for row in map(json.loads, lines))

    def marked(self, found: Sequence[str]) -> list[set[int]]:
        """Return, for each word of a text, the numbers of the bodies that it may belong to."""
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
    """The bodies to which each word of a page may belong, in order, and the span of each element."""

    marks: Sequence[set[int]]
    spans: Mapping[HtmlElement, tuple[int, int]]

    @classmethod
    def of(cls, tree: HtmlElement, truth: Truth) -> "Layout":
        """Lay out a page; scripts and style sheets are no text."""
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
        return cls(truth.marked(found), spans)

    def bodies(self, element: HtmlElement) -> set[int]:
        """Return the numbers of the bodies that an element may hold a part of."""
        start, end = self.spans.get(element, (0, 0))
        return set().union(*self.marks[start:end])

    def share(self, element: HtmlElement, body: int) -> int:
        """Return the number of words of an element that may belong to a body."""
        start, end = self.spans.get(element, (0, 0))
        return sum(body in marks for marks in self.marks[start:end])

    def size(self, element: HtmlElement) -> int:
        """Return the number of words in an element."""
        start, end = self.spans.get(element, (0, 0))
        return end - start


AGREEING = 0.9
"""Two bodies are the same if the F1 of their words is at least this."""
FIELDS = ("title", "author", "date")
RAREST = 8


def wrong_values(site: RecordedSite, objects: Iterable[WebObject]) -> dict[str, Cell]:
    """Return, for each field, the share of found objects that show it but were given another value."""
    rows = _truth(site)
    shown: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for row, web_object in _pairs(rows, objects):
        for name in FIELDS:
            if row.get(name) and row.get("shown", {}).get(name):
                shown[name] += 1
                given = web_object.first(name)
                wrong[name] += given is not None and _told(given) != _expected(name, row[name])
    return {f"{name}_wrong": round(wrong[name] / shown[name], 4) if shown[name] else None for name in FIELDS}


def false_changes(pages: Iterable[tuple[Sequence[WebObject], Sequence[WebObject]]]) -> int:
    """Return how many objects count as added, edited or deleted although only a redesign lies between two readings.

    Each page is given by its objects before and after.
    """
    found = [compare(before, after) for before, after in pages]
    return sum(len(each.added) + len(each.edited) + len(each.deleted) for each in found)


def _truth(site: RecordedSite) -> Sequence[Mapping[str, Any]]:
    with (site.folder / "truth.jsonl").open(encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if row["body"]]


def _pairs(
    rows: Sequence[Mapping[str, Any]], objects: Iterable[WebObject]
) -> Iterable[tuple[Mapping[str, Any], WebObject]]:
    """Yield each true object with the object found for it."""
    bags = [Counter(words(row["body"])) for row in rows]
    places: defaultdict[str, set[int]] = defaultdict(set)
    for number, bag in enumerate(bags):
        for word in bag:
            places[word].add(number)
    taken: set[int] = set()
    for web_object in objects:
        body = web_object.first("body")
        bag = Counter(words(body)) if isinstance(body, str) else Counter()
        rare = sorted((word for word in bag if word in places), key=lambda word: len(places[word]))[:RAREST]
        near = set().union(*(places[word] for word in rare)) - taken if rare else set()
        fits = [(_agreement(bag, bags[number]), *_beside(rows[number], web_object), -number) for number in near]
        best = max(fits, default=None)
        if best is not None and best[0] >= AGREEING:
            taken.add(-best[-1])
            yield rows[-best[-1]], web_object


def _beside(row: Mapping[str, Any], web_object: WebObject) -> tuple[bool, bool]:
    """Return whether page and author agree, since several people sometimes write the same."""
    author = web_object.first("author")
    same_author = isinstance(author, Person) and _folded(author.name) == _folded(row.get("author") or "")
    return urlsplit(row["url"])[2:4] == urlsplit(web_object.source_url)[2:4], same_author


def _agreement(one: Counter[str], other: Counter[str]) -> float:
    return 2 * sum((one & other).values()) / (one.total() + other.total())


def _told(value: Value) -> str:
    match value:
        case Person(name):
            return _folded(name)
        case datetime():
            return str(value.astimezone(UTC).date())
        case _:
            return _folded(str(value))


def _expected(name: str, given: str) -> str:
    return str(datetime.fromisoformat(given).astimezone(UTC).date()) if name == "date" else _folded(given)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()
