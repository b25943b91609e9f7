"""Line charts and bars as SVG and HTML text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, MARGIN = 640, 220, 44
POINTS = 400
"""More points than this are not to be seen at this width."""


@dataclass(frozen=True, slots=True)
class Line:
    """A named series; one value a page, in the order of fetching."""

    name: str
    colour: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Axis:
    """Where the values of a series stand from left to right: as many rising numbers; ``end`` names the last one."""

    places: Sequence[float]
    end: str


def over_pages(count: int) -> Axis:
    """Return the axis of 1, 2, 3 ... pages."""
    return Axis(range(count), f"{count:,} page{'' if count == 1 else 's'}")


def line_chart(title: str, lines: Sequence[Line], axis: Axis) -> str:
    """Return an SVG chart of series that are as long as their axis."""
    if not axis.places:
        return f"<p>{escape(title)}: no page yet.</p>"
    top = max(max(line.values) for line in lines) or 1.0
    drawn = "".join(_polyline(line, axis.places, top) for line in lines)
    legend = " ".join(f'<tspan fill="{line.colour}">{escape(line.name)}</tspan>' for line in lines)
    bottom, right = HEIGHT - MARGIN, WIDTH - 8
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f'<text x="{MARGIN}" y="14">{legend}</text>'
        f'<path class="axis" d="M{MARGIN} 24V{bottom}H{right}"/>'
        f'<text x="{MARGIN - 4}" y="32" class="end">{top:.3g}</text>'
        f'<text x="{MARGIN - 4}" y="{bottom}" class="end">0</text>'
        f'<text x="{right}" y="{bottom + 16}" class="end">{escape(axis.end)}</text>{drawn}</svg>'
    )


def _polyline(line: Line, places: Sequence[float], top: float) -> str:
    step = max(1, len(line.values) // POINTS)
    shown = [*range(0, len(line.values), step)]
    if shown and shown[-1] != len(line.values) - 1:
        shown.append(len(line.values) - 1)
    x_scale = (WIDTH - 8 - MARGIN) / ((places[-1] - places[0]) or 1.0)
    y_scale = (HEIGHT - MARGIN - 24) / top
    points = " ".join(
        f"{MARGIN + (places[i] - places[0]) * x_scale:.1f},{HEIGHT - MARGIN - line.values[i] * y_scale:.1f}"
        for i in shown
    )
    return f'<polyline points="{points}" stroke="{line.colour}"/>'


def bars(counts: Mapping[str, int], empty: str = "None.") -> str:
    """Return a table of counts, each with a bar as long as its share of the largest."""
    if not counts:
        return f"<p>{escape(empty)}</p>"
    largest = max(counts.values()) or 1
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{number:,}</td>"
        f'<td class="bar"><span style="width:{100 * number / largest:.1f}%"></span></td></tr>'
        for name, number in counts.items()
    )
    return f"<table>{rows}</table>"
