"""What a crawl collected for its subject: relevance by depth and over time, archives, gaps, and one path of links.

The measures are those of Gossen, Risse and Demidova (Towards extracting event-centric collections from Web archives,
sections 6 and 7) and of Klein, Balakireva and Van de Sompel (Focused crawl of Web archives to build event collections,
section 5). All are computed from the captures of a folder and its log of failed URLs.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from html import escape
from itertools import accumulate
from typing import Final

from aahcrawler.archive.surt import surt
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.report.chart import WIDTH, Axis, Line, Measure, bars, format_value, line_chart, over_pages

LIVE: Final = "sites themselves"
"""The name in place of an archive for pages that were fetched from their sites."""
ERROR: Final = 400
"""The least HTTP status that is an error."""
MAX_LISTED: Final = 50
"""The most URLs of a list that are shown."""
_BLUE, _BROWN = "#4a7fb5", "#b5694a"
_MAX_NAME_LENGTH: Final = 60


@dataclass(frozen=True, slots=True)
class AtDepth:
    """The number of pages at a depth (links from a seed), and how many of them are relevant."""

    depth: int
    pages: int
    relevant: int

    @property
    def share(self) -> float:
        """The share of relevant pages."""
        return self.relevant / self.pages


@dataclass(frozen=True, slots=True)
class Contribution:
    """The pages from one archive: how many, how many relevant ones, and its share of all relevant pages.

    If no page is relevant, it is the share of all pages. The shares of all archives sum to one.
    """

    archive: str
    pages: int
    relevant: int
    share: float


@dataclass(frozen=True)
class EventCollection:
    """The captures of a crawl in the order in which it obtained them, and the URLs of pages that no source had.

    ``requests`` counts requests to sites and archives together.
    """

    captures: Sequence[PageRow] = ()
    missing: Sequence[str] = ()
    requests: int = 0

    @cached_property
    def pages(self) -> Sequence[PageRow]:
        """The pages among the captures."""
        return tuple(row for row in self.captures if row.is_page)

    @cached_property
    def relevant(self) -> Sequence[PageRow]:
        """The pages that belong to the collection."""
        return tuple(row for row in self.pages if row.relevant)

    @property
    def is_scored(self) -> bool:
        """Whether any page has a score; pages of a crawl without subject have none."""
        return any(row.score is not None for row in self.pages)

    @property
    def is_archived(self) -> bool:
        """Whether any capture was taken from an archive."""
        return any(row.memento is not None for row in self.captures)

    @cached_property
    def depths(self) -> Sequence[AtDepth]:
        """The number of pages and relevant pages at each known depth."""
        pages = Counter(row.depth for row in self.pages if row.depth is not None)
        relevant = Counter(row.depth for row in self.relevant)
        return tuple(AtDepth(depth, pages[depth], relevant[depth]) for depth in sorted(pages))

    @cached_property
    def contributions(self) -> Sequence[Contribution]:
        """The contribution of each archive, and of the live sites if they were asked; the largest first."""
        pages = Counter(map(archive_of, self.pages))
        relevant = Counter(map(archive_of, self.relevant))
        counted = relevant if relevant else pages
        made = (Contribution(name, n, relevant[name], counted[name] / counted.total()) for name, n in pages.items())
        return tuple(sorted(made, key=lambda each: (-each.share, -each.pages, each.archive)))

    @property
    def had(self) -> int:
        """The number of pages and redirects that were found in archives."""
        return sum(row.memento is not None and row.status < ERROR for row in self.captures)

    @property
    def retrieval_rate(self) -> float | None:
        """The share of the URLs requested from archives that they had; None if none was requested.

        Redirects count as found. Archived error responses are left out on both sides.
        """
        asked = self.had + len(self.missing)
        return self.had / asked if asked else None

    @property
    def requests_per_relevant(self) -> float | None:
        """Requests for each relevant page; None without relevant pages or without requests."""
        return self.requests / len(self.relevant) if self.relevant and self.requests else None

    @property
    def figures(self) -> Mapping[str, str]:
        """The measures of retrieval from archives, by name and in words; undefined ones are left out."""
        rate, per_page = self.retrieval_rate, self.requests_per_relevant
        told_of = {
            "URLs that archives had": f"{self.had:,}",
            "URLs that none had": f"{len(self.missing):,}",
            "Share of URLs that archives had": "" if rate is None else format_value(rate, Measure.SHARE),
            "Requests for each relevant page": "" if per_page is None else format_value(per_page, Measure.NUMBER),
        }
        return {name: value for name, value in told_of.items() if value}

    @property
    def accumulated(self) -> float:
        """The sum of the scores of all pages."""
        return sum(row.score or 0.0 for row in self.pages)

    def table(self) -> Iterator[Sequence[object]]:
        """Yield a row of column names, then a row for each page, in the order in which the pages were obtained."""
        yield "url", "title", "captured", "archive", "memento", "status", "depth", "score", "relevant", "linked_from"
        for row in self.pages:
            yield (
                *(row.url, row.title or "", row.fetched_at, archive_of(row), row.memento or "", row.status),
                *("" if value is None else value for value in (row.depth, row.score)),
                *({True: "yes", False: "no", None: ""}[row.relevant], row.via or ""),
            )

    @cached_property
    def chain(self) -> Sequence[PageRow]:
        """The captures on the path from a seed to the deepest relevant page.

        Among equally deep ones, to that with the best score.
        """
        ends = [row for row in self.relevant if row.depth is not None]
        if not ends:
            return ()
        known = {row.url: row for row in self.captures}
        step: PageRow | None = max(ends, key=lambda row: (row.depth or 0, row.score or 0.0))
        found: dict[str, PageRow] = {}
        while step is not None and step.url not in found:
            found[step.url] = step
            step = known.get(step.via or "")
        return tuple(reversed(found.values()))


def archive_of(row: PageRow) -> str:
    """Return the archive from which a capture was taken, ``LIVE`` if it was fetched from its site."""
    return LIVE if row.memento is None else row.archive or row.memento


def got_at(row: PageRow) -> str:
    """Return when the crawl obtained a capture, ISO 8601; an archive may have made it years before."""
    return row.obtained_at or row.fetched_at


def event_collection(captures: Iterable[PageRow], missing: Sequence[str], requests: int) -> EventCollection:
    """Order the captures of a crawl by when they were obtained, and return them as a collection."""
    return EventCollection(tuple(sorted(captures, key=got_at)), missing, requests)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A collection compared with a curated list of ``curated`` URLs.

    ``common`` counts its pages that are in the list, ``relevant`` the relevant ones among those. A slope is the mean
    score of a page: ``slope`` over the collection, ``common_slope`` over the common pages, None if there are none.
    """

    curated: int
    common: int
    relevant: int
    slope: float | None
    common_slope: float | None


def compare(collection: EventCollection, curated: Iterable[str]) -> Comparison:
    """Compare a collection with a list of URLs, ignoring scheme and a leading ``www.``."""
    wanted = {surt(each) for each in curated}
    common = [row for row in collection.pages if surt(row.url) in wanted]
    return Comparison(
        len(wanted), len(common), sum(bool(row.relevant) for row in common), _slope(collection.pages), _slope(common)
    )


def _slope(rows: Collection[PageRow]) -> float | None:
    return sum(row.score or 0.0 for row in rows) / len(rows) if rows else None


def relevance_course(rows: Sequence[PageRow]) -> str:
    """Draw relevance over pages and over time; for a crawl without subject, the number of pages over time."""
    rows = sorted(rows, key=got_at)
    if rows and all(row.score is None for row in rows):
        return line_chart("Pages", [Line("pages so far", _BLUE, range(1, len(rows) + 1))], _over_time(rows))
    relevant = list(accumulate(int(bool(row.relevant)) for row in rows))
    scores = [row.score or 0.0 for row in rows]
    members = accumulate(score if row.relevant else 0.0 for row, score in zip(rows, scores, strict=True))
    gathered = [
        Line("scores of all pages so far, added up", _BLUE, list(accumulate(scores))),
        Line("of relevant pages", _BROWN, list(members)),
    ]
    window = max(10, len(rows) // 50)
    means = _means(scores, window)
    best = max(means, default=0.0) or 1.0
    shares = [Line("so far", _BROWN, [n / (i + 1) for i, n in enumerate(relevant)])]
    recent = [
        Line(f"mean score of the last {window:,} pages, the best of them is 100 %", _BLUE, [n / best for n in means])
    ]
    pages, time = over_pages(len(rows)), _over_time(rows)
    return "".join(
        (
            line_chart("Share of relevant pages", shares, pages, Measure.SHARE),
            line_chart("How relevance comes and goes", recent, pages, Measure.SHARE),
            line_chart("Relevance gathered, over pages", gathered, pages),
            line_chart("Relevance gathered, over time", gathered, time),
        )
    )


def _means(values: Sequence[float], window: int) -> list[float]:
    """Return for each value the mean of the last ``window`` values up to it."""
    sums = [0.0, *accumulate(values)]
    return [(sums[n] - sums[max(0, n - window)]) / min(n, window) for n in range(1, len(values) + 1)]


def _over_time(rows: Sequence[PageRow]) -> Axis:
    """Return an axis of the seconds since the first page at which pages were obtained."""
    times = [datetime.fromisoformat(got_at(row)).timestamp() for row in rows]
    return Axis([each - times[0] for each in times], Measure.SECONDS)


Lead = Callable[[PageRow], str]
"""Returns the address at which a capture is shown, empty where it is shown nowhere."""


def sections(
    collection: EventCollection, comparison: Comparison | None = None, lead: Lead = lambda _: ""
) -> Iterator[tuple[str, str]]:
    """Yield heading and HTML of each section of a report on a collection; pictures need no scripts."""
    if collection.is_scored and len(collection.depths) > 1:
        yield "Pages and relevant pages by depth", _by_depth(collection.depths)
    if collection.is_archived:
        yield "Contribution of each archive", _contributed(collection.contributions)
        yield "What archives had", _retrieved(collection)
    if collection.is_scored and len(collection.chain) > 1:
        yield "From a seed to the deepest relevant page", _chain(collection.chain, lead)
    doubtful = [row.url for row in collection.captures if row.trap == v.SOFT_404]
    if collection.is_archived and doubtful:
        yield "Error pages that archives hold as pages", _listed(doubtful)
    if comparison is not None:
        yield "Beside a list of seeds", _beside(comparison)


_ROW: Final = 44
_BAR: Final = 14


def _by_depth(depths: Sequence[AtDepth]) -> str:
    most = max(each.pages for each in depths)
    room = WIDTH - 190
    drawn = []
    for place, each in enumerate(depths):
        y = place * _ROW
        words = f"depth {each.depth}: {each.relevant:,} of {format_value(each.pages, Measure.PAGES)}"
        bars_of = ((each.pages, y + 4, _BLUE), (each.relevant, y + 4 + _BAR, _BROWN))
        drawn.append(
            f'<g class="part"><title>{escape(words)}</title><text x="0" y="{y + 22}">depth {each.depth}</text>'
            + "".join(
                f'<rect x="70" y="{top}" width="{room * count / most:.1f}" height="{_BAR}" fill="{colour}"/>'
                for count, top, colour in bars_of
            )
            + f'<text x="{WIDTH - 112}" y="{y + 22}">{each.relevant:,} of {each.pages:,}, '
            f"{format_value(each.share, Measure.SHARE)}</text></g>"
        )
    label = "; ".join(f"depth {each.depth}: {each.relevant:,} of {each.pages:,} relevant" for each in depths)
    return (
        f'<figure class="plot"><figcaption>Pages, and relevant ones below them</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {_ROW * len(depths)}" role="img" aria-label="{escape(label)}">'
        f"{''.join(drawn)}</svg></figure>"
    )


def _contributed(contributions: Sequence[Contribution]) -> str:
    room = WIDTH - 80
    drawn = []
    for place, each in enumerate(contributions):
        y, width, share = place * _ROW, room * each.share, format_value(each.share, Measure.SHARE)
        drawn.append(
            f'<g class="part"><title>{escape(each.archive)}: {share}</title>'
            f'<text x="0" y="{y + 14}">{escape(_short(each.archive))}</text>'
            f'<rect x="0" y="{y + 21}" width="{width:.1f}" height="{_BAR}" fill="{_BLUE}"/>'
            f'<text x="{width + 6:.1f}" y="{y + 33}">{share}</text></g>'
        )
    label = "; ".join(f"{each.archive} {format_value(each.share, Measure.SHARE)}" for each in contributions)
    rows = "".join(
        f"<tr><th>{escape(each.archive)}</th><td>{each.pages:,}</td><td>{each.relevant:,}</td></tr>"
        for each in contributions
    )
    return (
        f'<figure class="plot"><svg viewBox="0 0 {WIDTH} {_ROW * len(contributions)}" role="img" '
        f'aria-label="{escape(label)}">{"".join(drawn)}</svg></figure>'
        f"<table><tr><th>Archive</th><td>pages</td><td>relevant</td></tr>{rows}</table>"
    )


def _retrieved(collection: EventCollection) -> str:
    shown = (*collection.figures.items(), ("Relevance gathered", format_value(collection.accumulated, Measure.NUMBER)))
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in shown)
    return f"<table>{rows}</table>"


def _listed(urls: Sequence[str]) -> str:
    shown = "".join(f"<li>{escape(url)}</li>" for url in urls[:MAX_LISTED])
    left = len(urls) - MAX_LISTED
    return f"<ul>{shown}</ul>{f'<p>{left:,} more are not listed.</p>' if left > 0 else ''}"


_BOX: Final = 74


def _chain(chain: Sequence[PageRow], lead: Lead) -> str:
    """Draw the captures of a path one below the other, each with its archive, time and score."""
    drawn = []
    for place, row in enumerate(chain):
        y = place * (_BOX + 26)
        name, archive = _short(row.title or row.url), archive_of(row)
        score = "no score" if row.score is None else f"score {row.score:.2f}"
        fate = "relevant" if row.relevant else "not relevant" if row.relevant is not None else f"status {row.status}"
        colour = _BROWN if row.relevant else "#9aa4b2"
        if place:
            drawn.append(
                f'<path d="M32 {y - 24}V{y - 4}M27 {y - 10}L32 {y - 4}L37 {y - 10}" fill="none" stroke="#5b6575"/>'
            )
        address, width = escape(lead(row)), WIDTH - 2
        drawn.append(
            f'{f"""<a class="part" href="{address}">""" if address else """<g class="part">"""}'
            f"<title>{escape(row.url)}</title>"
            f'<rect x="1" y="{y + 1}" width="{width}" height="{_BOX - 2}" rx="5" fill="transparent" stroke="{colour}"/>'
            f'<text x="12" y="{y + 22}">{escape(name)}</text><text x="12" y="{y + 42}">{escape(_short(row.url))}</text>'
            f'<text x="12" y="{y + 62}">depth {row.depth or 0}, {escape(_short(archive))}, {row.fetched_at[:10]}, '
            f"{score}, {fate}</text>{'</a>' if address else '</g>'}"
        )
    height = len(chain) * (_BOX + 26) - 26
    label = " to ".join(f"{_short(row.title or row.url)} ({archive_of(row)})" for row in chain)
    role = "group" if any(map(lead, chain)) else "img"
    return (
        f'<figure class="plot"><svg viewBox="0 0 {WIDTH} {height}" role="{role}" aria-label="{escape(label)}">'
        f"{''.join(drawn)}</svg></figure>"
    )


def _short(text: str) -> str:
    return text if len(text) <= _MAX_NAME_LENGTH else f"{text[: _MAX_NAME_LENGTH - 1]}…"


def _beside(comparison: Comparison) -> str:
    counts: Mapping[str, int] = {
        "URLs of the list": comparison.curated,
        "pages of the collection that are in it": comparison.common,
        "relevant ones of these": comparison.relevant,
    }
    slopes = (("of the collection", comparison.slope), ("of what is in both", comparison.common_slope))
    words = "; ".join(f"{name} {format_value(value, Measure.NUMBER)}" for name, value in slopes if value is not None)
    return bars(counts) + (f"<p>Relevance gathered with each page: {words}.</p>" if words else "")
