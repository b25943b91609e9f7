"""A map of topics: areas as large as the topics are frequent, those that share terms beside one another.

Topics are joined two by two, the most alike first (average linkage on the terms that they share), and the map is cut
in the order of that tree, so that whatever was joined is a rectangle of its own (a treemap: Shneiderman, 1992).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Final

from aahcrawler.overview.overview_sections import figure, part, short
from aahcrawler.report.chart import WIDTH

MOST: Final = 60
"""Topics that are drawn: the work is of the third power of their number."""
_HEIGHT: Final = 430
_LINE, _LETTER, _EDGE = 18, 8.2, 8
_LEAST: Final = 2
"""Topics of a family that is outlined."""


@dataclass(frozen=True, slots=True)
class TopicArea:
    """A topic on the map: its name, how large it is, its terms, and where it leads."""

    label: str
    weight: int
    terms: Sequence[str]
    address: str


@dataclass(frozen=True, slots=True)
class _Node:
    """Topics that were joined: their numbers, their weight, the two parts, and whether all of it shares terms."""

    members: tuple[int, ...]
    weight: int
    parts: tuple["_Node", ...] = ()
    is_family: bool = True


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float
    height: float

    def cut(self, share: float) -> tuple["_Box", "_Box"]:
        """Return the two parts of a box that is cut across its longer side."""
        if self.width >= self.height:
            first = self.width * share
            return _Box(self.x, self.y, first, self.height), _Box(
                self.x + first, self.y, self.width - first, self.height
            )
        first = self.height * share
        return _Box(self.x, self.y, self.width, first), _Box(self.x, self.y + first, self.width, self.height - first)


def topic_map(title: str, topics: Sequence[TopicArea]) -> str:
    """Return a figure with the map of topics, the first ``MOST`` of them; empty where there is none."""
    shown = [each for each in topics if each.weight > 0][:MOST]
    if not shown:
        return ""
    tree = _joined(shown)
    drawn = [_drawn(shown[member], box) for member, box in _leaves(tree, _Box(0, 0, WIDTH, _HEIGHT))]
    drawn += [
        f'<rect class="family" x="{box.x + 1.5:.1f}" y="{box.y + 1.5:.1f}" width="{max(0, box.width - 3):.1f}" '
        f'height="{max(0, box.height - 3):.1f}"/>'
        for box in _families(tree, _Box(0, 0, WIDTH, _HEIGHT))
    ]
    return figure(title, "".join(drawn), _HEIGHT, f"a map of {len(shown):,} topics", "matrix")


def _joined(topics: Sequence[TopicArea]) -> _Node:
    """Join topics to a tree; of pairs that are equally alike the ones of the least weight are joined first."""
    alike = [[_likeness(one, other) for other in topics] for one in topics]
    nodes = [_Node((number,), each.weight) for number, each in enumerate(topics)]
    while len(nodes) > 1:
        pairs = combinations(range(len(nodes)), 2)
        _, first, second = min((_order(alike, nodes[one], nodes[other]), one, other) for one, other in pairs)
        one, other = nodes[first], nodes[second]
        is_family = one.is_family and other.is_family and _mean(alike, one, other) > 0
        made = _Node(one.members + other.members, one.weight + other.weight, (one, other), is_family)
        nodes = [each for number, each in enumerate(nodes) if number not in (first, second)] + [made]
    return nodes[0]


def _order(alike: Sequence[Sequence[float]], one: _Node, other: _Node) -> tuple[float, int, tuple[int, ...]]:
    return -_mean(alike, one, other), one.weight + other.weight, one.members + other.members


def _likeness(one: TopicArea, other: TopicArea) -> float:
    """Return the cosine of the terms of two topics."""
    size = math.sqrt(len(set(one.terms)) * len(set(other.terms)))
    return len(set(one.terms) & set(other.terms)) / size if size else 0.0


def _mean(alike: Sequence[Sequence[float]], one: _Node, other: _Node) -> float:
    total = math.fsum(alike[first][second] for first in one.members for second in other.members)
    return total / (len(one.members) * len(other.members))


def _leaves(node: _Node, box: _Box) -> Iterator[tuple[int, _Box]]:
    if not node.parts:
        yield node.members[0], box
        return
    for each, its_box in _cut(node, box):
        yield from _leaves(each, its_box)


def _families(node: _Node, box: _Box) -> Iterator[_Box]:
    """Yield the boxes of the largest groups of topics all of which share terms."""
    if node.is_family and len(node.members) >= _LEAST:
        yield box
        return
    if node.parts:
        for each, its_box in _cut(node, box):
            yield from _families(each, its_box)


def _cut(node: _Node, box: _Box) -> Iterator[tuple[_Node, _Box]]:
    one, other = node.parts
    larger, smaller = (one, other) if one.weight >= other.weight else (other, one)
    return zip((larger, smaller), box.cut(larger.weight / node.weight), strict=True)


def _drawn(topic: TopicArea, box: _Box) -> str:
    told = f"{topic.label}: {topic.weight:,} objects"
    inner = f'<rect class="area" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>'
    letters, lines = int((box.width - 2 * _EDGE) / _LETTER), int((box.height - _EDGE) / _LINE)
    seen = []
    if letters >= 4 and lines >= 1:
        named = [short(each, letters) for each in _wrapped(topic.label, letters)]
        seen = named[:lines] if len(named) >= lines else [*named, f"{topic.weight:,}"]
    for number, text in enumerate(seen, 1):
        kind = "area-count" if number > 1 and number == len(seen) and text == f"{topic.weight:,}" else "area-name"
        y = box.y + number * _LINE + 2
        inner += f' <text class="{kind}" x="{box.x + _EDGE:.1f}" y="{y:.1f}">{escape(text)}</text>'
    return part(inner, told, topic.address, " ".join(seen))


def _wrapped(label: str, letters: int) -> list[str]:
    """Return a name in lines of so many letters, broken between its terms."""
    lines: list[str] = []
    for term in label.split(" "):
        if lines and len(lines[-1]) + 1 + len(term) <= letters:
            lines[-1] = f"{lines[-1]} {term}"
        else:
            lines.append(term)
    return lines
