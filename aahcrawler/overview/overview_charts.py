"""Pictures of what archives hold, as SVG text: columns over time, bars by name, and a matrix of links.

Each part may be a link to what it counts, and tells its number to who points at it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Final

from aahcrawler.overview.link_graph import StrongestSites
from aahcrawler.overview.periods import worded
from aahcrawler.report.chart import WIDTH

Lead = Callable[[str], str]
"""Returns the address of what a name stands for, empty where there is none."""
_HEIGHT: Final = 240
_LEFT, _TOP, _BOTTOM = 64, 20, 206
_LABELS: Final = 8
_ROW: Final = 30
_NAMES: Final = 220
_LONGEST: Final = 30
_CELL: Final = 22
_MATRIX_LEFT: Final = 200
_MATRIX_TOP: Final = 34


def columns(title: str, counts: Mapping[str, int], lead: Lead, what: str) -> str:
    """Return a figure with a column for each period of time; ``what`` names what is counted."""
    top = _round(max(counts.values()))
    width = (WIDTH - _LEFT - 12) / len(counts)
    step = math.ceil(len(counts) / _LABELS)
    drawn = []
    for place, (name, n) in enumerate(counts.items()):
        x, height = _LEFT + place * width, (_BOTTOM - _TOP) * n / top
        told = f"{worded(name)}: {n:,} {what}"
        mark = f'<rect class="held" x="{x + width * 0.1:.1f}" y="{_BOTTOM - height:.1f}" width="{width * 0.8:.1f}" '
        whole = f'<rect class="room" x="{x:.1f}" y="{_TOP}" width="{width:.1f}" height="{_BOTTOM - _TOP}"/>'
        drawn.append(_part(f'{whole}{mark}height="{height:.1f}"/>', told, lead(name) if n else ""))
        if place % step == 0:
            x_label = f'<text class="mid" x="{x + width / 2:.1f}" y="{_BOTTOM + 18}">{escape(worded(name))}</text>'
            drawn.append(x_label)
    grid = "".join(
        f'<path class="rule" d="M{_LEFT} {y:.1f}H{WIDTH - 12}"/>'
        f'<text class="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{n:,}</text>'
        for n in ({0, top // 2, top} if top > 1 else {0, 1})
        for y in (_BOTTOM - (_BOTTOM - _TOP) * n / top,)
    )
    return _figure(title, f"{grid}{''.join(drawn)}", _HEIGHT, f"{sum(counts.values()):,} {what}")


def bars(title: str, counts: Mapping[str, int], names: Mapping[str, str], lead: Lead, what: str) -> str:
    """Return a figure with a bar for each name; ``names`` has words for those that are not shown as they are."""
    largest = max(counts.values())
    drawn = []
    for place, (name, n) in enumerate(counts.items()):
        shown, y = names.get(name, name), place * _ROW
        width = max(2.0, (WIDTH - _NAMES - 80) * n / largest)
        inner = (
            f'<rect class="room" x="0" y="{y}" width="{WIDTH}" height="{_ROW}"/>'
            f'<text x="0" y="{y + 20}">{escape(_short(shown))}</text>'
            f'<rect class="held" x="{_NAMES}" y="{y + 6}" width="{width:.1f}" height="{_ROW - 12}"/>'
        )
        drawn.append(_part(inner, f"{shown}: {n:,} {what}", lead(name), _short(shown)))
        drawn.append(f'<text x="{_NAMES + width + 6:.1f}" y="{y + 20}">{n:,}</text>')
    return _figure(title, "".join(drawn), _ROW * len(counts), f"{sum(counts.values()):,} {what} shown")


def matrix(title: str, graph: StrongestSites, lead: Lead) -> str:
    """Return a figure of the links between the strongest sites: from those in rows to those in columns."""
    places = {name: place for place, name in enumerate(graph.names)}
    most = max((edge.captures for edge in graph.links), default=1)
    size = len(places)
    right, bottom = _MATRIX_LEFT + size * _CELL, _MATRIX_TOP + size * _CELL
    drawn = []
    for name, place in places.items():
        middle = place * _CELL + _CELL / 2
        row, column = _MATRIX_TOP + middle, _MATRIX_LEFT + middle
        drawn.append(f'<path class="rule" d="M{_MATRIX_LEFT} {row}H{right}M{column} {_MATRIX_TOP}V{bottom}"/>')
        inner = f'<text class="end" x="{_MATRIX_LEFT - 34}" y="{row + 5}">{escape(_short(name, 18))}</text>'
        drawn.append(_part(inner, name, lead(name), _short(name, 18)))
        drawn.append(f'<text class="end" x="{_MATRIX_LEFT - 8}" y="{row + 5}">{place + 1}</text>')
        drawn.append(f'<text class="mid" x="{column}" y="{_MATRIX_TOP - 10}">{place + 1}</text>')
    for edge in graph.links:
        radius = max(1.5, (_CELL / 2 - 1) * math.sqrt(edge.captures / most))
        x, y = (start + places[name] * _CELL + _CELL / 2 for start, name in _ends(edge.source, edge.target))
        inner = f'<circle class="held" cx="{x}" cy="{y}" r="{radius:.1f}"/>'
        captures = f"{edge.captures:,} capture{'' if edge.captures == 1 else 's'}"
        drawn.append(_part(inner, f"{edge.source} to {edge.target}: {captures}, {edge.first} to {edge.last}", ""))
    told = f"{len(graph.links):,} links between the {size:,} strongest sites"
    return _figure(title, "".join(drawn), bottom + 8, told, "matrix")


def _ends(source: str, target: str) -> Sequence[tuple[int, str]]:
    return (_MATRIX_LEFT, target), (_MATRIX_TOP, source)


def _figure(title: str, drawn: str, height: float, told: str, kind: str = "counts") -> str:
    labelled = f'role="group" aria-label="{escape(f"{title}: {told}")}"'
    return f'<figure class="plot {kind}"><svg viewBox="0 0 {WIDTH} {height:.0f}" {labelled}>{drawn}</svg></figure>'


def _part(inner: str, told: str, address: str, seen: str = "") -> str:
    """Return a part that tells something; a link is named by that, behind the text ``seen`` where that is cut short."""
    content = f"<title>{escape(told)}</title>{inner}"
    if address:
        label = f"{seen} {told}" if seen.endswith("…") else told
        return f'<a class="part" href="{escape(address)}" aria-label="{escape(label)}">{content}</a>'
    return f'<g class="part">{content}</g>'


def _short(name: str, most: int = _LONGEST) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def _round(most: int) -> int:
    """Return the next number of one digit and noughts that is even, 1 for 1."""
    if most <= 1:
        return 1
    power = int(10 ** (len(str(most)) - 1))
    return next(n for n in (power, 2 * power, 4 * power, 6 * power, 8 * power, 10 * power) if n >= most)
