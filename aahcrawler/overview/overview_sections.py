"""What archives hold as sections of HTML, each with a picture and, under it, its table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from aahcrawler.overview.archive_overview import KINDS, CrawlChange, Holdings, Ranked
from aahcrawler.overview.link_graph import StrongestSites
from aahcrawler.overview.overview_charts import Lead, bars, columns, matrix
from aahcrawler.overview.periods import periods, worded

STRONGEST: Final = 18
"""Sites in the picture of links."""
_SHOWN: Final = 8
"""Bars in a picture; the table has more."""
_LINKS: Final = 50


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: the end of its address, its heading, and its HTML."""

    name: str
    title: str
    html: str


@dataclass(frozen=True, slots=True)
class Leads:
    """Where parts of pictures and rows of tables lead: to the captures or objects that they count."""

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
) -> tuple[Section, ...]:
    """Return the sections of what is held; everything that came from a page is escaped. None reads links: no graph."""
    unknown = {"": "unknown"}
    return (
        _over_time("captured", "Captures over time", held.months, leads.captured, "captures"),
        _over_time("published", "Publications over time", held.published, leads.published, "web objects", held.undated),
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


def _over_time(name: str, title: str, months: Mapping[str, int], lead: Lead, what: str, undated: int = 0) -> Section:
    found = periods(months)
    without = f"<p>{undated:,} more have no date that can be read.</p>" if undated else ""
    if not found.counts:
        return Section(name, title, f"<p>None.</p>{without}")
    rows = [(worded(each), lead(each), (n,)) for each, n in found.counts.items() if n]
    for words, n in (("earlier", found.earlier), ("later", found.later)):
        if n:
            rows.append((words, "", (n,)))
    outside = found.earlier + found.later
    note = f"<p>{outside:,} that lie far from all others are in the table alone.</p>" if outside else ""
    return Section(name, title, columns(title, found.counts, lead, what) + note + without + table(("Time", what), rows))


def _by_name(name: str, title: str, ranked: Ranked, words: Mapping[str, str], lead: Lead, what: str) -> Section:
    if not ranked.counts:
        return Section(name, title, "<p>None.</p>")
    shown = dict(list(ranked.counts.items())[:_SHOWN])
    rows = [(words.get(each, each), lead(each), (n,)) for each, n in ranked.counts.items()]
    if ranked.others:
        rows.append((f"{ranked.names - len(ranked.counts):,} others", "", (ranked.others,)))
    return Section(name, title, bars(title, shown, words, lead, what) + table((title, what), rows))


def _changed(changes: Sequence[CrawlChange], lead: Callable[[int], str]) -> Section:
    last = changes[-1]
    counts = dict(zip(KINDS, last.changes(), strict=True))
    title = f"Pages of crawl {last.crawl}, beside crawl {last.crawl - 1}"
    picture = f"<p>{title}:</p>{bars(title, counts, {}, _nowhere, 'pages')}" if any(counts.values()) else ""
    rows = [
        (f"crawl {each.crawl}, {each.begun_at[:10]}", lead(each.crawl), (each.pages, *each.changes()))
        for each in changes
    ]
    return Section("changes", "What changed between crawls", picture + table(("Crawl", "pages", *KINDS), rows))


def _linked(graph: StrongestSites, lead: Lead) -> Section:
    title = "Links between sites"
    if not graph.links:
        return Section("links", title, "<p>None.</p>")
    rows = [
        (f"{each.source} → {each.target}", lead(each.source), (each.captures, each.first, each.last))
        for each in sorted(graph.links, key=lambda each: (-each.captures, each.source, each.target))[:_LINKS]
    ]
    note = (
        "<p>From sites in rows to those in columns: "
        f"the {len(graph.names):,} with the most of {graph.sites:,} sites that links lead from or to.</p>"
    )
    heads = ("From and to", "captures", "first", "last")
    return Section("links", title, matrix(title, graph, lead) + note + table(heads, rows))


def table(heads: Sequence[str], rows: Iterable[tuple[str, str, Sequence[int | str]]]) -> str:
    """Return a folded table: each row has words, the address that they lead to, and its values."""
    first, *others = (escape(each.capitalize()) for each in heads)
    head = f"<th>{first}</th>" + "".join(f'<th class="n">{each}</th>' for each in others)
    body = "".join(
        f'<tr><th scope="row">{_led(words, address)}</th>{"".join(map(_cell, others, values))}</tr>'
        for words, address, values in rows
    )
    shown = f'<table class="stack"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<details><summary>As numbers</summary><div class="scroll">{shown}</div></details>'


def _cell(head: str, value: int | str) -> str:
    return f'<td class="n" data-label="{head}">{value if isinstance(value, str) else f"{value:,}"}</td>'


def _led(words: str, address: str) -> str:
    return f'<a href="{escape(address)}">{escape(words)}</a>' if address else escape(words)
