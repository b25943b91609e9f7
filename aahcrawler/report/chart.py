"""Line charts and bar tables as SVG and HTML, without scripts."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from importlib import resources
from statistics import median
from typing import Final

WIDTH: Final = 640
HEIGHT: Final = 260
POINTS: Final = 400
"""The most points of a line: more cannot be told apart at this width."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 628, 30, 216
_MAX_TICKS: Final = 5
_STRIPS: Final = 60
"""The number of parts of a chart that show their values when pointed at."""
_MIN_PAUSE: Final = 60.0
_PAUSE: Final = 20
"""A step in time is a pause if it takes this many times as long as the median step, and at least a minute."""
_SPANS: Final = (
    *((seconds, 1, "s") for seconds in (1, 2, 5, 10, 15, 30)),
    *((60 * minutes, 60, "min") for minutes in (1, 2, 5, 10, 15, 30)),
    *((3600 * hours, 3600, "h") for hours in (1, 2, 3, 6, 12)),
    *((86400 * days, 86400, "days") for days in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
)
"""Steps between ticks of time: the seconds of a step, the seconds of its unit, and the name of the unit."""


class Measure(Enum):
    """What an axis counts."""

    PAGES = "pages"
    SECONDS = "time since the first page"
    NUMBER = ""
    SHARE = "%"


@dataclass(frozen=True, slots=True)
class Line:
    """A named series: one value a place of its axis."""

    name: str
    colour: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Axis:
    """The horizontal axis of a chart: a non-decreasing position for each value, and the unit of the positions."""

    places: Sequence[float]
    measure: Measure = Measure.PAGES

    def pauses(self) -> frozenset[int]:
        """Return the indexes of values that follow a pause; lines are broken there."""
        if self.measure is not Measure.SECONDS or len(self.places) < 3:
            return frozenset()
        steps = [after - before for before, after in zip(self.places, self.places[1:], strict=False)]
        least = max(_MIN_PAUSE, _PAUSE * median(steps))
        return frozenset(position for position, step in enumerate(steps, 1) if step > least)


def over_pages(count: int) -> Axis:
    """Return an axis with the positions 1, 2, 3 ... ``count``, in pages."""
    return Axis(range(1, count + 1))


def line_chart(title: str, lines: Sequence[Line], axis: Axis, measure: Measure = Measure.NUMBER) -> str:
    """Return a figure with a line for each series; ``measure`` is the unit of the values.

    Each series has one value for each position of the axis. Pointing at a part of the chart shows its values.
    """
    if not axis.places:
        return f"<p>{escape(title)}: no page yet.</p>"
    top = max(max(line.values) for line in lines) or 1.0
    rows = list(_ticks(top, measure))
    top = max(top, rows[-1][0])
    first, width = axis.places[0], (axis.places[-1] - axis.places[0]) or 1.0
    frame = _Frame(first, (_RIGHT - _LEFT) / width, (_BOTTOM - _TOP) / top)
    legend = " ".join(
        f'<tspan fill="{line.colour}" dx="{10 if place else 0}">\u25a0</tspan> <tspan>{escape(line.name)}</tspan>'
        for place, line in enumerate(lines)
    )
    last = ", ".join(f"{line.name} {format_value(line.values[-1], measure)}" for line in lines)
    columns = [tick for tick in _ticks(axis.places[-1] or 1.0, axis.measure) if tick[0] >= first]
    grid = "".join(_row(frame.y(value), name) for value, name in rows)
    grid += "".join(_column(frame.x(place), name) for place, name in columns)
    shown = _shown(len(axis.places), POINTS)
    drawn = "".join(_drawn(line, axis, shown, frame) for line in lines)
    return (
        f'<figure class="plot"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{title}; at the end {last}")}">'
        f'<text x="{_LEFT}" y="16">{legend}</text>{grid}<path class="axis" d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}"/>'
        f'<text x="{_RIGHT}" y="{HEIGHT - 8}" class="end">{escape(axis.measure.value)}</text>'
        f"{drawn}{''.join(_strips(lines, axis, measure, frame))}</svg></figure>"
    )


def format_value(value: float, measure: Measure) -> str:
    """Format a value with its unit.

    >>> format_value(0.4218, Measure.SHARE), format_value(93, Measure.SECONDS)
    ('42.2 %', '1.6 min')
    >>> format_value(12345.6, Measure.NUMBER), format_value(1, Measure.PAGES)
    ('12,346', '1 page')
    """
    match measure:
        case Measure.SHARE:
            return f"{100 * value:.1f} %"
        case Measure.SECONDS:
            _, unit, name = next((each for each in reversed(_SPANS) if value >= each[0]), _SPANS[0])
            return f"{value / unit:.1f} {name}"
        case Measure.PAGES:
            return f"{value:,.0f} page{'' if value == 1 else 's'}"
        case _:
            return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class _Frame:
    """The mapping from values to coordinates in the chart."""

    first: float
    x_scale: float
    y_scale: float

    def x(self, place: float) -> float:
        return round(_LEFT + (place - self.first) * self.x_scale, 1)

    def y(self, value: float) -> float:
        return round(_BOTTOM - value * self.y_scale, 1)


def _ticks(top: float, measure: Measure) -> Iterator[tuple[float, str]]:
    """Yield round numbers from 0 to about ``top``, each with its label."""
    if measure is Measure.SECONDS:
        span, unit, name = next((each for each in _SPANS if top / each[0] <= _MAX_TICKS), _SPANS[-1])
        yield from ((span * n, f"{span * n / unit:g} {name}") for n in range(math.floor(top / span) + 1))
        return
    least = 1.0 if measure is Measure.PAGES else 0.0
    power = 10.0 ** math.floor(math.log10(top / _MAX_TICKS))
    step = max(least, next(power * factor for factor in (1, 2, 5, 10) if top / (power * factor) <= _MAX_TICKS))
    count = math.floor(top / step + 1e-9)
    for n in range((count if measure is Measure.PAGES else math.ceil(top / step - 1e-9)) + 1):
        value = step * n
        yield value, f"{100 * value:g} %" if measure is Measure.SHARE else f"{value:,.6g}"


def _row(y: float, name: str) -> str:
    return f'<path class="rule" d="M{_LEFT} {y}H{_RIGHT}"/><text x="{_LEFT - 6}" y="{y + 4}" class="end">{name}</text>'


def _column(x: float, name: str) -> str:
    return f'<path class="rule" d="M{x} {_TOP}V{_BOTTOM}"/><text x="{x}" y="{_BOTTOM + 18}" class="mid">{name}</text>'


def _shown(count: int, most: int) -> list[int]:
    """Return about ``most`` evenly spaced indexes of a series, including the last one."""
    return sorted({*range(0, count, math.ceil(count / most)), count - 1})


def _drawn(line: Line, axis: Axis, shown: Sequence[int], frame: _Frame) -> str:
    """Draw a line, broken at pauses; a single value between two pauses is drawn as a dot."""
    pauses = sorted(axis.pauses())
    pieces: list[list[str]] = [[]]
    for position in shown:
        while pauses and pauses[0] <= position:
            del pauses[0]
            pieces.append([])
        pieces[-1].append(f"{frame.x(axis.places[position])},{frame.y(line.values[position])}")
    return "".join(
        f'<polyline points="{" ".join(points if len(points) > 1 else points * 2)}" stroke="{line.colour}"/>'
        for points in pieces
        if points
    )


def _strips(lines: Sequence[Line], axis: Axis, measure: Measure, frame: _Frame) -> Iterator[str]:
    """Yield the invisible parts of the chart that show their values when pointed at."""
    at = _shown(len(axis.places), _STRIPS)
    xs = [frame.x(axis.places[position]) for position in at]
    for place, position in enumerate(at):
        left = _LEFT if not place else (xs[place - 1] + xs[place]) / 2
        right = _RIGHT if place == len(at) - 1 else (xs[place] + xs[place + 1]) / 2
        told_at = format_value(axis.places[position], axis.measure)
        values = ", ".join(f"{line.name} {format_value(line.values[position], measure)}" for line in lines)
        yield (
            f'<g class="at"><title>{escape(f"{told_at}: {values}")}</title>'
            f'<rect x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" height="{_BOTTOM - _TOP}"/>'
            f'<path d="M{xs[place]} {_TOP}V{_BOTTOM}"/></g>'
        )


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


def html_page(title: str, heading: str, sub: str, figures: Mapping[str, str], body: str) -> str:
    """Return a self-contained HTML page without scripts: heading, a line below it, figures, and body.

    ``sub`` and ``body`` are HTML; the other texts are escaped.
    """
    css = resources.files(__package__).joinpath("report.css").read_text("utf-8")
    told = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in figures.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{css}</style></head><body><h1>{escape(heading)}</h1>"
        f'<p class="sub">{sub}</p><dl>{told}</dl>{body}</body></html>\n'
    )
