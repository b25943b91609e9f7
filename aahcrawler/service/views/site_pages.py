"""The sites of a crawl: each has a queue of its own, and waits for something, or for nothing."""

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from threading import Lock
from typing import Final, Literal

from aahcrawler.crawls import frontier_settings
from aahcrawler.frontier.control import Rule, RuleBook, Standing
from aahcrawler.frontier.protocol import FrontierSettings, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.report.reason_words import CountedReason, counted
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.queue_pages import QueuedUrl, first_urls
from aahcrawler.service.views.refused_links import FailedPage, RefusedLinks, RefusedPage, RefusedQuery
from aahcrawler.service.web.problems import NO_SITE, ProblemError, Shown

MAX_SITES: Final = 500

"""Sites of one page at most."""
SiteOrder = Literal["queued", "done", "best", "name", "wait"]
_FIRST = 20
"""URLs of a site that are shown with it."""
_SLACK = 1.0
_MAX_PATTERNS = 100


class SiteView(Shown):
    """A site with its counts.

    ``best`` is the score of its best queued URL. ``delay`` are the seconds between two fetches from it, as far as they
    are known, and ``asked_delay`` those that the site asks for. It opens in ``opens_in`` seconds; ``waits_for`` says in
    words why nothing is fetched from it now, empty where it is its turn as soon as it is the best.
    """

    name: str
    queued: int
    leased: int
    done: int
    requisites_queued: int
    best: float | None
    delay: float
    asked_delay: float
    opens_in: float
    is_paused: bool
    waits_for: str


class SitesPage(Shown):
    """Some sites, ``of`` all that were asked for, and where to go on; empty at the end."""

    sites: tuple[SiteView, ...]
    of: int
    next: str = ""


class SitePage(Shown):
    """One site: its counts, what is fetched next from it, what was not fetched and why, and the rules that name it.

    ``avoided`` counts links by patterns of URLs of this site whose pages led to no content.
    """

    site: SiteView
    urls: tuple[QueuedUrl, ...]
    refused: RefusedPage | None
    failed: FailedPage | None
    avoided: tuple[CountedReason, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SiteQuery:
    """The sites that are wanted: with a text in their names, and with queued URLs if that is asked; in an order."""

    text: str = ""
    order: SiteOrder = "queued"
    queued_only: bool = False
    after: int = 0
    most: int = 50


def sites_page(reach: CrawlRegistry, crawl: Crawl, query: SiteQuery) -> SitesPage:
    """Return some sites of a crawl. Raise ``ProblemError`` where its frontier cannot be reached."""
    with reach.frontier(crawl) as frontier:
        waits = _waits(frontier, crawl)
        standings = frontier.standings()
    text = query.text.lower()
    wanted = [
        (name, standing)
        for name, standing in standings.items()
        if text in name and (not query.queued_only or standing.counts.pages_queued or standing.counts.requisites_queued)
    ]
    wanted.sort(key=_ORDERS[query.order])
    end = query.after + query.most
    sites = tuple(_shown(name, standing, waits) for name, standing in wanted[query.after : end])
    return SitesPage(sites=sites, of=len(wanted), next=str(end) if end < len(wanted) else "")


def site_page(reach: CrawlRegistry, crawl: Crawl, name: str) -> SitePage:
    """Return one site of a crawl. Raise ``ProblemError`` for one that it never met."""
    with reach.frontier(crawl) as frontier:
        standing = frontier.standings([name]).get(name)
        if standing is None:
            raise ProblemError(
                NO_SITE, f"{crawl.id} was never offered a URL of this site, which is what somebody registered"
            )
        waits = _waits(frontier, crawl)
        urls = tuple(first_urls(frontier, name, _FIRST))
        tallies = frontier.stats()
    links = RefusedLinks(crawl) if crawl.folder is not None else None
    query = RefusedQuery(site=name, most=_FIRST)
    return SitePage(
        site=_shown(name, standing, waits),
        urls=urls,
        refused=links.refused(query) if links is not None else None,
        failed=links.failed(query) if links is not None else None,
        avoided=counted(dict(_avoided(tallies, name)))[:_MAX_PATTERNS],
        rules=tuple(sorted(rule.reason for rule in waits.rules if name in rule.text)),
    )


def wait_of(frontier: RedisControl, crawl: Crawl, name: str) -> str:
    """Return in words what a site waits for; empty if it is fetched from as soon as its URL is the best."""
    standing = frontier.standings([name]).get(name)
    return _waits(frontier, crawl).of(name, standing) if standing is not None else ""


@dataclass(frozen=True, slots=True)
class _Waits:
    """What may keep a crawl from fetching from a site: settings, pauses, limits and rules."""

    settings: FrontierSettings
    is_paused: bool
    is_used_up: bool
    rules: frozenset[Rule]
    book: RuleBook

    def of(self, name: str, standing: Standing) -> str:
        """Return in words what a site waits for."""
        return next(self._of(name, standing), "")

    def _of(self, name: str, standing: Standing) -> Iterator[str]:
        counts, settings = standing.counts, self.settings
        rule = self.book.matching(f"http://{name}/")
        if rule is not None and not counts.pages_queued:
            yield f"blocked by the rule {rule.reason}"
        if not counts.pages_queued + counts.requisites_queued:
            yield (
                f"nothing is queued; {counts.pages_leased:,} being fetched"
                if counts.pages_leased
                else "nothing is queued"
            )
        if self.is_paused:
            yield "the crawl is paused"
        if standing.is_paused:
            yield "the site is paused"
        if self.is_used_up and not counts.requisites_queued:
            yield "limits.pages is reached"
        bound = settings.pages_per_queue
        if bound and counts.pages_leased + counts.pages_done >= bound and not counts.requisites_queued:
            yield f"limits.pages_per_domain is reached ({bound:,})"
        if standing.out >= settings.connections:
            yield "it is being fetched from"
        if standing.opens_in > max(standing.delay, standing.learned) + _SLACK:
            yield f"it rests for {standing.opens_in:,.0f} s more, after an error or because the site asks for it"
        if standing.opens_in > 0:
            yield f"its delay, for {standing.opens_in:,.1f} s more"


def _waits(frontier: RedisControl, crawl: Crawl) -> _Waits:
    settings, pages, rules = frontier_settings(crawl.icd), frontier.counts().pages, frontier.rules()
    taken = pages[State.LEASED] + pages[State.DONE] + pages[State.DUE]
    is_used_up = bool(settings.pages) and taken >= settings.pages
    return _Waits(settings, frontier.is_paused(), is_used_up, rules, RuleBook(rules))


def _shown(name: str, standing: Standing, waits: _Waits) -> SiteView:
    counts = standing.counts
    return SiteView(
        name=name,
        queued=counts.pages_queued,
        leased=counts.pages_leased,
        done=counts.pages_done,
        requisites_queued=counts.requisites_queued,
        best=standing.best,
        delay=standing.delay,
        asked_delay=standing.learned,
        opens_in=round(standing.opens_in, 3),
        is_paused=standing.is_paused,
        waits_for=waits.of(name, standing),
    )


def _avoided(tallies: Mapping[str, float], site: str) -> Iterator[tuple[str, float]]:
    for name, number in tallies.items():
        group, _, pattern = name.partition(":")
        if group == "avoided" and site in pattern.partition("/")[0]:
            yield pattern, number


_Entry = tuple[str, Standing]
_ORDERS: Final[Mapping[SiteOrder, Callable[[_Entry], tuple[float, str]]]] = {
    "queued": lambda entry: (-entry[1].counts.pages_queued, entry[0]),
    "done": lambda entry: (-entry[1].counts.pages_done, entry[0]),
    "best": lambda entry: (inf if entry[1].best is None else -entry[1].best, entry[0]),
    "wait": lambda entry: (-entry[1].opens_in, entry[0]),
    "name": lambda entry: (0.0, entry[0]),
}


"""Hosts that are shown, those with most pages."""
_ROWS: Final = 5_000
_MAX_FOLDERS: Final = 20
_RESTS: Final = 50
"""How many times as long as a count takes it holds while its crawl goes on."""
_OLDEST: Final = 900.0
_COUNTED: Final = """
SELECT substr(url, instr(url, '://') + 3, instr(substr(url, instr(url, '://') + 3), '/') - 1) AS host,
  coalesce(application, '') AS application, count(DISTINCT url) AS n
FROM capture INDEXED BY capture_at WHERE status = 200 AND NOT is_requisite GROUP BY host, application
ORDER BY n DESC, host, application LIMIT ?
"""


class HostView(Shown):
    """A host, without ``www.``: its pages, those of them that nothing was recognised of, and the others by software."""

    host: str
    pages: int
    unknown: int
    applications: dict[str, int]


class HostsView(Shown):
    """The hosts of a folder, most pages of unknown software first. ``more`` says that there are others."""

    hosts: tuple[HostView, ...]
    more: bool
    progress: Progress


def recognised_hosts(asked: Asked) -> HostsView:
    """Return the hosts that pages were captured of; their captures are counted anew each time."""
    rows = asked.base.execute(_COUNTED, (_ROWS,)).fetchall()
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for host, application, number in rows:
        known = counted[str(host).removeprefix("www.")]
        known[application] = known.get(application, 0) + int(number)
    hosts = sorted(
        (_shown_host(host, known) for host, known in counted.items()),
        key=lambda each: (-each.unknown, -each.pages, each.host),
    )
    return HostsView(
        hosts=tuple(hosts[:MAX_SITES]), more=len(hosts) > MAX_SITES or len(rows) == _ROWS, progress=asked.progress
    )


@dataclass(frozen=True, slots=True)
class _Count:
    indexed: int
    at: float
    cost: float
    shown: HostsView


class HostCounts:
    """Caches the hosts of folders. They are counted again once the indexes have grown, but not all the time.

    Thread-safe. A count takes time in proportion to the captures.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._kept: OrderedDict[Path, _Count] = OrderedDict()

    def of(self, asked: Asked) -> HostsView:
        """Return the hosts of a folder; while its crawl runs, up to fifty times the duration of a count old."""
        with self._lock:
            found, now = self._kept.get(asked.folder), self._clock()
        if found is not None and now - found.at < (
            _OLDEST if asked.progress.indexed == found.indexed else _RESTS * found.cost
        ):
            return found.shown.model_copy(update={"progress": asked.progress})
        shown = recognised_hosts(asked)
        with self._lock:
            self._kept[asked.folder] = _Count(asked.progress.indexed, now, self._clock() - now, shown)
            self._kept.move_to_end(asked.folder)
            if len(self._kept) > _MAX_FOLDERS:
                self._kept.popitem(last=False)
        return shown


def _shown_host(host: str, known: dict[str, int]) -> HostView:
    named = {name: number for name, number in known.items() if name}
    return HostView(host=host, pages=sum(known.values()), unknown=known.get("", 0), applications=named)
