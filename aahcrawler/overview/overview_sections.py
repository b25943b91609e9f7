"""Overviews as sections of HTML, each with a picture and a table of the same values."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Self

from aahcrawler.overview.archive_overview import KINDS, CrawlChange, Holdings, Ranked
from aahcrawler.overview.link_graph import StrongestSites
from aahcrawler.overview.periods import periods, worded
from aahcrawler.report.chart import WIDTH, Measure, format_value
from aahcrawler.report.event_collection import LIVE, EventCollection
from online_analysis.icd import Icd

Lead = Callable[[str], str]
"""Returns the address to which a name links, empty for none."""
_HEIGHT: Final = 240
_LEFT, _TOP, _BOTTOM = 64, 20, 206
_LABELS: Final = 8
_ROW: Final = 46
_MAX_LABEL: Final = 46
"""Characters of a name above its bar, so that it fits on a phone."""
_CELL: Final = 22
_MATRIX_LEFT: Final = 200
_MATRIX_TOP: Final = 34


Chosen = Callable[[str], bool | None]
"""Returns whether a period is in the selected span of time; None if no span is selected."""


def columns(title: str, counts: Mapping[str, int], lead: Lead, what: str, chosen: Chosen | None = None) -> str:
    """Return a figure with a column for each period; ``what`` names what is counted.

    With ``chosen``, readers can select a span of time by drawing over the figure.
    """
    top = _round(max(counts.values()))
    width = (WIDTH - _LEFT - 12) / len(counts)
    step = math.ceil(len(counts) / _LABELS)
    drawn = []
    for place, (name, n) in enumerate(counts.items()):
        x, height = _LEFT + place * width, (_BOTTOM - _TOP) * n / top
        told = f"{worded(name)}: {n:,} {what}"
        mark = f'<rect class="held" x="{x + width * 0.1:.1f}" y="{_BOTTOM - height:.1f}" width="{width * 0.8:.1f}" '
        whole = f'<rect class="room" x="{x:.1f}" y="{_TOP}" width="{width:.1f}" height="{_BOTTOM - _TOP}"/>'
        inner = f'{whole}{mark}height="{height:.1f}"/>'
        drawn.append(part(inner, told, lead(name) if n else "", of_time=brushed(name, chosen)))
        if place % step == 0:
            x_label = f'<text class="mid" x="{x + width / 2:.1f}" y="{_BOTTOM + 18}">{escape(worded(name))}</text>'
            drawn.append(x_label)
    grid = "".join(
        f'<path class="rule" d="M{_LEFT} {y:.1f}H{WIDTH - 12}"/>'
        f'<text class="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{n:,}</text>'
        for n in ({0, top // 2, top} if top > 1 else {0, 1})
        for y in (_BOTTOM - (_BOTTOM - _TOP) * n / top,)
    )
    shown = f"{grid}{''.join(drawn)}"
    return figure(title, shown, _HEIGHT, f"{sum(counts.values()):,} {what}", is_brushed=chosen is not None)


def bars(title: str, counts: Mapping[str, int], names: Mapping[str, str], lead: Lead, what: str) -> str:
    """Return a figure with a horizontal bar below each name; ``names`` maps names to words that are shown instead."""
    largest = max(counts.values())
    drawn = []
    labels = shortened([names.get(name, name) for name in counts], _MAX_LABEL)
    for place, ((name, n), label) in enumerate(zip(counts.items(), labels, strict=True)):
        y, width = place * _ROW, max(2.0, (WIDTH - 110) * n / largest)
        inner = (
            f'<rect class="room" x="0" y="{y}" width="{WIDTH}" height="{_ROW}"/>'
            f'<text x="0" y="{y + 18}">{escape(label)}</text>'
            f'<rect class="held" x="0" y="{y + 25}" width="{width:.1f}" height="{_ROW - 30}"/>'
        )
        drawn.append(part(inner, f"{names.get(name, name)}: {n:,} {what}", lead(name), label))
        drawn.append(f'<text x="{width + 6:.1f}" y="{y + 39}">{n:,}</text>')
    return figure(title, "".join(drawn), _ROW * len(counts), f"{sum(counts.values()):,} {what} shown")


def _no_lead(_source: str, _target: str) -> str:
    return ""


def matrix(
    title: str,
    graph: StrongestSites,
    lead: Lead,
    what: str = "capture",
    of: str = "sites",
    between: Callable[[str, str], str] = _no_lead,
) -> str:
    """Return a figure of the links between the strongest sites: a row for each source, a column for each target.

    ``what`` names what a link counts, in the singular, and ``of`` what is linked. ``between`` returns the address of a
    list of what leads from one to the other.
    """
    places = {name: place for place, name in enumerate(graph.names)}
    most = max((edge.captures for edge in graph.links), default=1)
    size = len(places)
    right, bottom = _MATRIX_LEFT + size * _CELL, _MATRIX_TOP + size * _CELL
    drawn = []
    for (name, place), label in zip(places.items(), shortened(graph.names, 18), strict=True):
        middle = place * _CELL + _CELL / 2
        row, column = _MATRIX_TOP + middle, _MATRIX_LEFT + middle
        drawn.append(f'<path class="rule" d="M{_MATRIX_LEFT} {row}H{right}M{column} {_MATRIX_TOP}V{bottom}"/>')
        inner = f'<text class="end" x="{_MATRIX_LEFT - 34}" y="{row + 5}">{escape(label)}</text>'
        drawn.append(part(inner, name, lead(name), label))
        drawn.append(f'<text class="end" x="{_MATRIX_LEFT - 8}" y="{row + 5}">{place + 1}</text>')
        drawn.append(f'<text class="mid" x="{column}" y="{_MATRIX_TOP - 10}">{place + 1}</text>')
    for edge in graph.links:
        radius = max(1.5, (_CELL / 2 - 1) * math.sqrt(edge.captures / most))
        ends = ((_MATRIX_LEFT, edge.target), (_MATRIX_TOP, edge.source))
        x, y = (start + places[name] * _CELL + _CELL / 2 for start, name in ends)
        inner = f'<circle class="held" cx="{x}" cy="{y}" r="{radius:.1f}"/>'
        address = between(edge.source, edge.target)
        if address:
            room = _CELL / 2
            inner = f'<rect class="room" x="{x - room}" y="{y - room}" width="{_CELL}" height="{_CELL}"/>{inner}'
        counted = f"{edge.captures:,} {what}{'' if edge.captures == 1 else 's'}"
        dates = f", {edge.first} to {edge.last}" if edge.first else ""
        drawn.append(part(inner, f"{edge.source} to {edge.target}: {counted}{dates}", address))
    told = f"{len(graph.links):,} links between the {size:,} strongest {of}"
    return figure(title, "".join(drawn), bottom + 8, told, "matrix")


def figure(title: str, drawn: str, height: float, told: str, kind: str = "counts", *, is_brushed: bool = False) -> str:
    """Wrap a drawing as a figure; ``format_value`` describes it in words.

    If ``is_brushed``, readers can select a span of time on it; its parts then carry the attributes of ``brushed``.
    """
    labelled = f'role="group" aria-label="{escape(f"{title}: {told}")}"'
    # On a phone a matrix is wider than the screen: its figure is scrolled, by keyboard as well.
    scrolled = f' tabindex="0" aria-label="{escape(title)}"' if kind == "matrix" else ""
    brush = " data-brush" if is_brushed else ""
    svg = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" {labelled}{brush}>{drawn}</svg>'
    return f'<figure class="plot {kind}"{scrolled}>{svg}</figure>'


def brushed(period: str, chosen: Chosen | None) -> str:
    """Return the attributes that give a part's period; empty if no span can be selected on its figure."""
    if chosen is None:
        return ""
    ends = period.ljust(4, "0"), period.ljust(4, "9")
    is_within = ' class="part brushed"' if chosen(period) else ' class="part"'
    return f'{is_within} data-begin="{ends[0]}" data-end="{ends[1]}"'


def part(inner: str, told: str, address: str, seen: str = "", of_time: str = "") -> str:
    """Return a part of a figure with its description. If it links to ``address``, the link is named by the description.

    ``seen`` is the visible text if it differs from the description; ``of_time`` are the attributes of ``brushed``.
    """
    marks = of_time or ' class="part"'
    content = f"<title>{escape(told)}</title>{inner}"
    if address:
        label = told if seen in told else f"{seen} {told}"
        return f'<a{marks} href="{escape(address)}" aria-label="{escape(label)}">{content}</a>'
    return f"<g{marks}>{content}</g>"


def short(name: str, most: int) -> str:
    """Return a name, truncated to ``most`` characters."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


def shortened(names: Sequence[str], most: int) -> list[str]:
    """Return names of at most ``most`` characters, all different: long names lose their middle.

    >>> shortened(["floods.example.org", "floods-of-2013.example.org", "floods-of-2014.example.org", "a"], 18)
    ['floods.example.org', 'floods-of-2…le.org', 'floods-of….org (2)', 'a']
    """
    made: list[str] = []
    for name in names:
        label, number = _without_middle(name, most), 1
        while label in made:
            number += 1
            mark = f" ({number})"
            label = _without_middle(name, most - len(mark)) + mark
        made.append(label)
    return made


def _without_middle(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    end = most // 3
    return f"{name[: most - end - 1]}…{name[-end:]}"


def _round(most: int) -> int:
    """Return the next even number with one digit followed by zeros, for the top of an axis; 1 for 1."""
    if most <= 1:
        return 1
    power = int(10 ** (len(str(most)) - 1))
    return next(n for n in (power, 2 * power, 4 * power, 6 * power, 8 * power, 10 * power) if n >= most)


STRONGEST: Final = 18
"""Sites in the picture of links."""
_SHOWN: Final = 8
"""Bars in a picture; the table has more."""
_LINKS: Final = 50


@dataclass(frozen=True, slots=True)
class OverviewSection:
    """A section of the page: its anchor, its heading, and its HTML."""

    name: str
    title: str
    html: str


@dataclass(frozen=True, slots=True)
class Leads:
    """Functions that return the address of a list of the captures or objects counted in a part of a picture."""

    captured: Lead
    published: Lead
    site: Lead
    application: Lead
    media: Lead
    crawl: Callable[[int], str]


def _nowhere(_: object) -> str:
    return ""


NOWHERE: Final = Leads(_nowhere, _nowhere, _nowhere, _nowhere, _nowhere, _nowhere)
"""Leads of a page that lies by itself."""


def sections(
    held: Holdings, changes: Sequence[CrawlChange], graph: StrongestSites | None, leads: Leads = NOWHERE
) -> tuple[OverviewSection, ...]:
    """Return the sections of an overview. Everything that came from a page is escaped.

    ``graph`` is None if the links were not read; the section on them is then left out.
    """
    unknown = {"": "unknown"}
    return (
        over_time("captured", "Captures over time", held.months, leads.captured, "captures"),
        over_time("published", "Publications over time", held.published, leads.published, "web objects", held.undated),
        _by_name("sites", "Sites", held.sites, unknown, leads.site, "captures"),
        _by_name("applications", "Applications", held.applications, unknown, leads.application, "captures"),
        _by_name("media", "Media types", held.media, unknown, leads.media, "captures"),
        *(
            ()
            if held.languages is None
            else (_by_name("languages", "Languages", held.languages, {"": "not told"}, _nowhere, "pages read"),)
        ),
        *((_changed(changes, leads.crawl),) if changes else ()),
        *(() if graph is None else (_linked(graph, leads.site),)),
    )


def over_time(
    name: str,
    title: str,
    months: Mapping[str, int],
    lead: Lead,
    what: str,
    undated: int = 0,
    chosen: Chosen | None = None,
) -> OverviewSection:
    """Return a section with counts by month or year, and the number of undated ones.

    The table shows the ``chosen`` span.
    """
    found = periods(months)
    without = f"<p>{undated:,} more have no date that can be read.</p>" if undated else ""
    if not found.counts:
        return OverviewSection(name, title, f"<p>None.</p>{without}")
    rows = [
        (worded(each), lead(each), (n,))
        for each, n in found.counts.items()
        if n and (chosen is None or chosen(each) is not False)
    ]
    for words, n in (("earlier", found.earlier), ("later", found.later)):
        if n:
            rows.append((words, "", (n,)))
    outside = found.earlier + found.later
    note = f"<p>{outside:,} that lie far from all others are in the table alone.</p>" if outside else ""
    return OverviewSection(
        name, title, columns(title, found.counts, lead, what, chosen) + note + without + table(("Time", what), rows)
    )


def _by_name(name: str, title: str, ranked: Ranked, words: Mapping[str, str], lead: Lead, what: str) -> OverviewSection:
    if not ranked.counts:
        return OverviewSection(name, title, "<p>None.</p>")
    shown = dict(list(ranked.counts.items())[:_SHOWN])
    rows = [(words.get(each, each), lead(each), (n,)) for each, n in ranked.counts.items()]
    if ranked.others:
        rows.append((f"{ranked.names - len(ranked.counts):,} others", "", (ranked.others,)))
    return OverviewSection(name, title, bars(title, shown, words, lead, what) + table((title, what), rows))


def _changed(changes: Sequence[CrawlChange], lead: Callable[[int], str]) -> OverviewSection:
    last = changes[-1]
    counts = dict(zip(KINDS, last.changes(), strict=True))
    title = f"Pages of crawl {last.crawl}, beside crawl {last.crawl - 1}"
    picture = f"<p>{title}:</p>{bars(title, counts, {}, _nowhere, 'pages')}" if any(counts.values()) else ""
    rows = [
        (f"crawl {each.crawl}, {each.begun_at[:10]}", lead(each.crawl), (each.pages, *each.changes()))
        for each in changes
    ]
    return OverviewSection("changes", "What changed between crawls", picture + table(("Crawl", "pages", *KINDS), rows))


def _linked(graph: StrongestSites, lead: Lead) -> OverviewSection:
    title = "Links between sites"
    if not graph.links:
        return OverviewSection("links", title, "<p>None.</p>")
    rows = [
        (f"{each.source} → {each.target}", lead(each.source), (each.captures, each.first, each.last))
        for each in sorted(graph.links, key=lambda each: (-each.captures, each.source, each.target))[:_LINKS]
    ]
    note = (
        "<p>From sites in rows to those in columns: "
        f"the {len(graph.names):,} with the most of {graph.sites:,} sites that links lead from or to.</p>"
    )
    heads = ("From and to", "captures", "first", "last")
    return OverviewSection("links", title, matrix(title, graph, lead) + note + table(heads, rows))


def table(heads: Sequence[str], rows: Iterable[tuple[str, str, Sequence[int | str]]]) -> str:
    """Return a folded table; each row has a text, the address that it links to (or empty), and its values."""
    return f"<details><summary>As numbers</summary>{open_table(heads, rows)}</details>"


def open_table(heads: Sequence[str], rows: Iterable[tuple[str, str, Sequence[int | str]]]) -> str:
    """Return the same table as ``table``, not folded."""
    first, *others = (escape(each.capitalize()) for each in heads)
    head = f"<th>{first}</th>" + "".join(f'<th class="n">{each}</th>' for each in others)
    body = "".join(
        f'<tr><th scope="row">{_led(words, address)}</th>{"".join(map(_cell, others, values))}</tr>'
        for words, address, values in rows
    )
    shown = f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll">{shown}</div>'


def _cell(head: str, value: int | str) -> str:
    return f'<td class="n" data-label="{head}">{value if isinstance(value, str) else f"{value:,}"}</td>'


def _led(words: str, address: str) -> str:
    return f'<a href="{escape(address)}">{escape(words)}</a>' if address else escape(words)


@dataclass(frozen=True, slots=True)
class EventLine:
    """A collection about an event, as a row of a table. Days are ISO 8601, empty if there are none.

    ``begin`` and ``end`` are those of the event; ``first`` and ``last`` those of the relevant captures, or of all pages
    if none is relevant. ``archives`` is the number of archives that pages were taken from; ``retrieval_rate`` is that
    of ``EventCollection``.
    """

    name: str
    begin: str
    end: str
    pages: int
    relevant: int
    first: str
    last: str
    archives: int
    retrieval_rate: float | None

    @classmethod
    def of(cls, icd: Icd, collection: EventCollection) -> Self:
        """Return the row of a collection that was made by a definition."""
        event = icd.event
        days = sorted(row.fetched_at[:10] for row in collection.relevant or collection.pages)
        return cls(
            icd.title or icd.id,
            "" if event is None else f"{event.start:%Y-%m-%d}",
            "" if event is None else f"{event.end:%Y-%m-%d}",
            len(collection.pages),
            len(collection.relevant),
            days[0] if days else "",
            days[-1] if days else "",
            sum(each.archive != LIVE for each in collection.contributions),
            collection.retrieval_rate,
        )


def is_collection(icd: Icd) -> bool:
    """Return whether a crawl collects for an event, or from archives."""
    return icd.event is not None or not icd.captures.is_live


def event_table(lines: Sequence[EventLine], leads: Sequence[str] = ()) -> str:
    """Return a table of collections as HTML; ``leads`` are the addresses that the rows link to, empty for none."""
    head = ("Collection", "event", "pages", "relevant", "captured", "archives", "archives had")
    rows = (
        (
            each.name,
            lead,
            (
                _span(each.begin, each.end),
                each.pages,
                each.relevant,
                _span(each.first, each.last),
                each.archives,
                "–" if each.retrieval_rate is None else format_value(each.retrieval_rate, Measure.SHARE),
            ),
        )
        for each, lead in zip(lines, leads or [""] * len(lines), strict=True)
    )
    return open_table(head, rows)


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
