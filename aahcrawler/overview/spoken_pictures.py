"""Pictures of what objects speak of: how much of each month topics have, and praise and blame over time."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
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
    """A row of a picture: what it is called, its counts by month or year, and where it leads as a whole."""

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
    """Return a figure with a row for each topic, and a disk for its share of the objects of each period.

    ``lead`` gives the address of what a row, by its number, has in a period; with ``chosen`` a span of time can be
    drawn over it. Empty where no object has a date.
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
    told, is_brushed = f"{len(rows):,} topics", chosen is not None
    return figure(title, "".join(drawn), bottom + 28, told, "matrix", is_brushed=is_brushed)


@dataclass(frozen=True, slots=True)
class Spread:
    """A row of a picture of counts: by month or year, those ``within`` them, and where it leads as a whole."""

    label: str
    months: Mapping[str, int]
    within: Mapping[str, int]
    address: str


def spread(title: str, rows: Sequence[Spread]) -> str:
    """Return a figure with a row for each group: a ring for its pages of each period, filled as far as they are kept.

    Empty where nothing has a month.
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
    """Return a figure of sentences that praise, upwards, and that blame, downwards; empty where none has a date.

    With ``chosen`` a span of time can be drawn over it.
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
    """Return counts by the periods of some names, all of one length; what lies in none of them is left out."""
    counts = dict.fromkeys(names, 0)
    length = len(next(iter(names), ""))
    for month, n in months.items():
        if month[:length] in counts:
            counts[month[:length]] += n
    return counts


def _grounds(names: Sequence[str], left: float, width: float, bottom: float, chosen: Chosen | None) -> list[str]:
    """Return the ground of each period, over which a span of time is drawn; none where that cannot be done."""
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
