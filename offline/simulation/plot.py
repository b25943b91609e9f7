"""A chart of how the relevant pages of a world are found, strategy by strategy."""

from collections.abc import Sequence
from html import escape

from offline.simulation.measures import Row
from offline.simulation.strategies import SHIPPED

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 900, 480, 56, 230, 48, 48
_HUE_STEP = 137.5
"""Degrees; neighbours in the list are far from one another on the circle of colours."""


def chart(rows: Sequence[Row]) -> str:
    """Return an SVG file: the share of relevant pages found (up) by the share of the budget spent (to the right).

    The names stand in the order in which the lines end. Strategies that were not judged are left out.
    """
    courses = [
        (row.strategy, row.measures.course, _colour(position))
        for position, row in enumerate(rows)
        if row.measures is not None
    ]
    ranked = sorted(courses, key=lambda course: -course[1][-1])
    lines = "".join(_line(*course) for course in reversed(ranked))
    names = "".join(_name(position, *course) for position, course in enumerate(ranked))
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">'
        f'<title>Relevance over time</title><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
        f'<text x="{_LEFT}" y="24" font-size="16">Relevant pages found by pages fetched</text>'
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#555"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">all</text>'
        f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{right}" y="{bottom + 20}" text-anchor="end">as many pages as are relevant</text>'
        f"{lines}{names}</svg>\n"
    )


def _colour(position: int) -> str:
    return f"hsl({position * _HUE_STEP % 360:.0f},70%,38%)"


def _line(name: str, course: Sequence[float], colour: str) -> str:
    across, up = (_WIDTH - _RIGHT - _LEFT) / max(1, len(course) - 1), _HEIGHT - _BOTTOM - _TOP
    points = " ".join(f"{_LEFT + x * across:.1f},{_HEIGHT - _BOTTOM - y * up:.1f}" for x, y in enumerate(course))
    width = 3 if name == SHIPPED else 1.2
    return f'<polyline fill="none" stroke-width="{width}" stroke="{colour}" points="{points}"/>'


def _name(position: int, name: str, course: Sequence[float], colour: str) -> str:
    weight = ' font-weight="bold"' if name == SHIPPED else ""
    x, y = _WIDTH - _RIGHT + 12, _TOP + 8 + 16 * position
    return f'<text x="{x}" y="{y}" fill="{colour}"{weight}>{course[-1]:.3f} {escape(name)}</text>'
