"""Pictures of what web objects speak of: topics over time and as a map, and praise and blame over time.

Topics are merged pairwise, the most similar first (average linkage on shared terms). The map is divided in the order of
that tree, so that each merged group is a rectangle (a treemap: Shneiderman, 1992).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from typing import Final

from aahcrawler.overview.overview_sections import Chosen, Lead, brushed, figure, part, short, shortened
from aahcrawler.overview.periods import periods, worded
from aahcrawler.report.chart import WIDTH

_NAMES: Final = 220
_ROW: Final = 30
_TOP: Final = 8
_LABELS: Final = 4
_MIDDLE, _HALF, _LEFT = 110, 90, 80


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a picture: its label, its counts by month or year, and the address that the label links to."""

    label: str
    months: Mapping[str, int]
    address: str


def shares(
    title: str,
    rows: Sequence[Row],
    published: Mapping[str, int],
    lead: Callable[[int, str], str],
    chosen: Chosen | None = None,
) -> str:
    """Return a figure with a row for each topic or partner, and a disk for its share of the objects of each period.

    ``lead`` returns the address for a row, by index, and a period; with ``chosen`` readers can select a span of time.
    Empty if no object has a date.
    """
    whole = periods(published).counts
    if not whole or not rows:
        return ""
    width = (WIDTH - _NAMES - 12) / len(whole)
    gathered = [_gathered(row.months, whole) for row in rows]
    largest = max((n / whole[name] for counts in gathered for name, n in counts.items() if whole[name]), default=0) or 1
    bottom = _TOP + _ROW * len(rows)
    drawn = _grounds(list(whole), _NAMES, width, bottom, chosen)
    for place, (row, counts) in enumerate(zip(rows, gathered, strict=True)):
        y = _TOP + place * _ROW + _ROW / 2
        shown = short(row.label, 24)
        drawn.append(f'<path class="rule" d="M{_NAMES} {y}H{WIDTH - 12}"/>')
        drawn.append(part(f'<text x="0" y="{y + 5}">{escape(shown)}</text>', row.label, row.address, shown))
        for at, (name, n) in enumerate(counts.items()):
            if not n or not whole[name]:
                continue
            share = n / whole[name]
            x, most = _NAMES + (at + 0.5) * width, min(width, _ROW) / 2 - 1
            radius = max(1.5, most * math.sqrt(min(1.0, share / largest)))
            told = f"{row.label}, {worded(name)}: {n:,} of {whole[name]:,} objects, {100 * share:.0f} %"
            place_of = f'x="{x - width / 2:.1f}" y="{y - _ROW / 2}" width="{width:.1f}" height="{_ROW}"'
            disk = f'<rect class="room" {place_of}/><circle class="held" cx="{x:.1f}" cy="{y}" r="{radius:.1f}"/>'
            drawn.append(part(disk, told, lead(place, name)))
    drawn += _times(list(whole), _NAMES, width, bottom + 18)
    told, is_brushed = f"{len(rows):,} rows", chosen is not None
    return figure(title, "".join(drawn), bottom + 28, told, "matrix", is_brushed=is_brushed)


@dataclass(frozen=True, slots=True)
class Spread:
    """A row of a picture of counts by month or year: all of them, the part ``within``, and the address of the label."""

    label: str
    months: Mapping[str, int]
    within: Mapping[str, int]
    address: str


def spread(title: str, rows: Sequence[Spread]) -> str:
    """Return a figure with a row for each group, and a ring for its pages of each period, filled to what is ``within``.

    Empty if there is no month at all.
    """
    summed: Counter[str] = Counter()
    for row in rows:
        summed.update(row.months)
    whole = periods(summed).counts
    if not whole:
        return ""
    width = (WIDTH - _NAMES - 12) / len(whole)
    most = min(width, _ROW) / 2 - 1
    gathered = [(_gathered(row.months, whole), _gathered(row.within, whole)) for row in rows]
    largest = max(max(counts.values()) for counts, _ in gathered) or 1
    bottom, drawn = _TOP + _ROW * len(rows), list[str]()
    labels = shortened([row.label for row in rows], 24)
    for place, (row, (counts, within)) in enumerate(zip(rows, gathered, strict=True)):
        y = _TOP + place * _ROW + _ROW / 2
        drawn.append(f'<path class="rule" d="M{_NAMES} {y}H{WIDTH - 12}"/>')
        name = f'<text x="0" y="{y + 5}">{escape(labels[place])}</text>'
        drawn.append(part(name, row.label, row.address, labels[place]))
        for at, (period, n) in enumerate(counts.items()):
            if not n:
                continue
            x, radius, inner = (
                _NAMES + (at + 0.5) * width,
                *(most * math.sqrt(k / largest) for k in (n, within[period])),
            )
            told = f"{row.label}, {worded(period)}: {n:,} proposed, {within[period]:,} kept"
            disk = f'<circle class="offered" cx="{x:.1f}" cy="{y}" r="{max(2.0, radius):.1f}"/>'
            if inner:
                disk += f'<circle class="held" cx="{x:.1f}" cy="{y}" r="{max(2.0, inner):.1f}"/>'
            drawn.append(part(disk, told, ""))
    drawn += _times(list(whole), _NAMES, width, bottom + 18)
    told = f"{sum(summed.values()):,} pages in {len(rows):,} groups"
    return figure(title, "".join(drawn), bottom + 28, told, "matrix")


def balance(title: str, months: Mapping[str, tuple[int, int]], lead: Lead, chosen: Chosen | None = None) -> str:
    """Return a figure of sentences by period: praising ones upwards, blaming ones downwards; empty if none has a date.

    With ``chosen``, readers can select a span of time.
    """
    sums = {name: praise + blame for name, (praise, blame) in months.items() if name}
    names = list(periods(sums).counts)
    if not names:
        return ""
    up = _gathered({name: praise for name, (praise, _) in months.items()}, dict.fromkeys(names, 0))
    down = _gathered({name: blame for name, (_, blame) in months.items()}, dict.fromkeys(names, 0))
    top = max(*up.values(), *down.values()) or 1
    width = (WIDTH - _LEFT - 12) / len(names)
    drawn = []
    for sign, n, words in ((-1, top, "praise"), (1, top, "blame")):
        y = _MIDDLE + sign * _HALF
        drawn.append(f'<path class="rule" d="M{_LEFT} {y}H{WIDTH - 12}"/>')
        drawn.append(f'<text class="end" x="{_LEFT - 6}" y="{y + 5}">{n:,}</text>')
        drawn.append(f'<text class="end" x="{_LEFT - 6}" y="{_MIDDLE + sign * _HALF / 2 + 5}">{words}</text>')
    for place, name in enumerate(names):
        x = _LEFT + place * width
        above, below = _HALF * up[name] / top, _HALF * down[name] / top
        told = f"{worded(name)}: {up[name]:,} sentences praise, {down[name]:,} blame"
        inner = (
            f'<rect class="room" x="{x:.1f}" y="{_MIDDLE - _HALF}" width="{width:.1f}" height="{2 * _HALF}"/>'
            f'<rect class="held" x="{x + width * 0.1:.1f}" y="{_MIDDLE - above:.1f}" width="{width * 0.8:.1f}" '
            f'height="{above:.1f}"/><rect class="blame" x="{x + width * 0.1:.1f}" y="{_MIDDLE}" '
            f'width="{width * 0.8:.1f}" height="{below:.1f}"/>'
        )
        drawn.append(part(inner, told, lead(name) if up[name] + down[name] else "", of_time=brushed(name, chosen)))
    drawn.append(f'<path class="axis" d="M{_LEFT} {_MIDDLE}H{WIDTH - 12}"/>')
    drawn += _times(names, _LEFT, width, _MIDDLE + _HALF + 18)
    told = f"{sum(up.values()):,} sentences praise, {sum(down.values()):,} blame"
    return figure(title, "".join(drawn), _MIDDLE + _HALF + 28, told, is_brushed=chosen is not None)


def _gathered(months: Mapping[str, int], names: Mapping[str, int]) -> dict[str, int]:
    """Add up counts by the given periods, which have one length; counts outside of them are left out."""
    counts = dict.fromkeys(names, 0)
    length = len(next(iter(names), ""))
    for month, n in months.items():
        if month[:length] in counts:
            counts[month[:length]] += n
    return counts


def _grounds(names: Sequence[str], left: float, width: float, bottom: float, chosen: Chosen | None) -> list[str]:
    """Return the background of each period, on which a span of time is selected; none if that is not possible."""
    if chosen is None:
        return []
    return [
        f'<g{brushed(name, chosen)}><rect class="room" x="{left + at * width:.1f}" y="{_TOP}" width="{width:.1f}" '
        f'height="{bottom - _TOP}"/></g>'
        for at, name in enumerate(names)
    ]


def _times(names: Sequence[str], left: float, width: float, y: float) -> list[str]:
    step = math.ceil(len(names) / _LABELS)
    return [
        f'<text class="mid" x="{left + (place + 0.5) * width:.1f}" y="{y}">{worded(names[place])}</text>'
        for place in range(0, len(names), step)
    ]


MAX_TOPICS: Final = 60
"""Topics that are drawn; the work grows with the third power of their number."""
_HEIGHT: Final = 430
_LINE, _LETTER, _EDGE = 18, 8.2, 8
_MIN_FAMILY: Final = 2
"""Topics of the smallest group that is outlined."""


@dataclass(frozen=True, slots=True)
class TopicArea:
    """A topic on the map: its label, its size, its terms, and the address that it links to."""

    label: str
    weight: int
    terms: Sequence[str]
    address: str


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the tree of merged topics: their numbers, their weight, its two parts, and whether all share terms."""

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
        """Divide a box across its longer side; the first part has ``share`` of it."""
        if self.width >= self.height:
            first = self.width * share
            return _Box(self.x, self.y, first, self.height), _Box(
                self.x + first, self.y, self.width - first, self.height
            )
        first = self.height * share
        return _Box(self.x, self.y, self.width, first), _Box(self.x, self.y + first, self.width, self.height - first)


def topic_map(title: str, topics: Sequence[TopicArea]) -> str:
    """Return a figure with the map of the first ``MAX_TOPICS`` topics; empty if there is none."""
    shown = [each for each in topics if each.weight > 0][:MAX_TOPICS]
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
    """Merge topics to a tree; of equally similar pairs, the one with the lowest weight is merged first."""
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
    """Return the cosine similarity of two topics' terms."""
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
    """Yield the boxes of the largest groups of topics that all share terms."""
    if node.is_family and len(node.members) >= _MIN_FAMILY:
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
    """Break a label between its terms into lines of at most ``letters`` characters."""
    lines: list[str] = []
    for term in label.split(" "):
        if lines and len(lines[-1]) + 1 + len(term) <= letters:
            lines[-1] = f"{lines[-1]} {term}"
        else:
            lines.append(term)
    return lines
