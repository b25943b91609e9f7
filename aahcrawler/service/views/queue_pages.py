"""The queue of a crawl, page by page: in order, by site, by text, by score and by state."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from math import inf
from operator import attrgetter
from typing import Final

from aahcrawler.frontier.control import Place, Queued, Timed, UrlStatus
from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.report.reason_words import Reason, worded
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.page_list import list_place
from aahcrawler.service.views.refused_links import RefusedLinks, RefusedQuery
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError, Shown
from aahcrawler.urls import queue_of
from online_analysis.url_patterns import UrlPattern, UrlPatternError

MAX_URLS: Final = 200
"""URLs of one page of the queue at most."""
LOOKED_SECONDS: Final = 0.15
"""Seconds for which URLs are looked through for one request."""
_MAX_SKIPPED = 10_000


class QueuedUrl(Shown):
    """A URL of a crawl that waits, is being fetched, or is kept from it.

    ``score`` is None where it has none yet; ``seconds`` are those until a leased one's lease runs out, or a due one is
    queued again; ``reason`` says why one is blocked or failed. Of one that failed only kind and ``via`` are known.
    """

    url: str
    site: str
    state: State
    score: float | None = None
    depth: int | None = None
    kind: str = "page"
    via: str = ""
    at_front: bool = False
    attempts: int = 0
    seconds: float | None = None
    reason: Reason | None = None


class QueuePage(Shown):
    """Some URLs of a crawl, and how they were found.

    In the order in which they are fetched, politeness aside, where ``is_ordered``. ``looked_at`` counts the URLs that
    were looked at for this page, ``of`` all of that state (of that site, where one is asked for). ``next`` is where to
    go on, empty at the end; there may be more although nothing was found yet.
    """

    urls: tuple[QueuedUrl, ...]
    looked_at: int
    of: int
    next: str = ""
    is_ordered: bool = True


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """The URLs that are wanted: of a ``site`` (a queue), with a ``text`` or pattern (``UrlPattern``), with a score.

    ``after`` is ``next`` of the page before.
    """

    state: State = State.QUEUED
    site: str = ""
    text: str = ""
    lowest: float = -inf
    highest: float = inf
    after: str = ""
    most: int = 50

    @property
    def has_bounds(self) -> bool:
        """Whether scores are bounded."""
        return self.lowest > -inf or self.highest < inf

    def admits(self, offer: Offer) -> bool:
        """Say whether the score of an offer is wanted."""
        return not self.has_bounds or self.lowest <= offer.score <= self.highest


class _Search:
    """A search within one request: its conditions, and the URLs examined so far."""

    def __init__(self, query: QueueQuery) -> None:
        self.query = query
        self.matches = _matching(query.text)
        self.looked_at = 0
        self._ends = time.monotonic() + LOOKED_SECONDS
        self._least: float | None = None

    def is_over(self) -> bool:
        """Return whether the time is up; after the first URL, a third of the time remains in any case."""
        now = time.monotonic()
        if self._least is None:
            self._least = now + LOOKED_SECONDS / 3
        return now >= max(self._ends, self._least)

    def wants(self, offer: Offer) -> bool:
        """Say whether an offer is wanted."""
        of_site = not self.query.site or offer.queue == self.query.site
        return of_site and self.query.admits(offer) and self.matches(offer.url)


def queue_page(reach: CrawlRegistry, crawl: Crawl, query: QueueQuery) -> QueuePage:
    """Return some URLs of a crawl. Raise ``ProblemError`` for what cannot be looked for, or not now.

    It takes no longer than ``LOOKED_SECONDS`` and the time of a listing: of a search there may be more to come.
    """
    query = _narrowed(query)
    search = _Search(query)
    if query.state is State.FAILED:
        return _failed(crawl, query)
    if query.state is State.DONE:
        raise ProblemError(BAD_SEARCH, "pages that were fetched are listed by /pages; ask for queued, leased, due, ...")
    with reach.frontier(crawl) as frontier:
        try:
            return _PAGES[query.state](frontier, search)
        except ValueError:
            raise ProblemError(BAD_SEARCH, "`after` is not where a page of this listing ended; leave it out") from None


def _queued(frontier: RedisControl, search: _Search) -> QueuePage:
    query = search.query
    of = _number_queued(frontier, query.site)
    if query.text and not query.site:
        return _swept(frontier, search, of)
    found: list[QueuedUrl] = []
    for queued in _walk(frontier, query):
        search.looked_at += 1
        if search.wants(queued.offer):
            found.append(_of_queued(queued))
        if len(found) >= query.most or search.is_over():
            return QueuePage(urls=tuple(found), looked_at=search.looked_at, of=of, next=str(queued.place))
    return QueuePage(urls=tuple(found), looked_at=search.looked_at, of=of)


def _walk(frontier: RedisControl, query: QueueQuery) -> Iterator[Queued]:
    """Yield URLs from the best score down to the lowest wanted one, after those at the front of the queue."""
    queues = [query.site] if query.site else None
    after = Place.parse(query.after) if query.after else None
    if query.highest < inf and after is None:
        front = takewhile(attrgetter("at_front"), frontier.walk(None, queues))
        walk: Iterator[Queued] = chain(front, frontier.walk(Place.before(query.highest), queues))
    else:
        walk = frontier.walk(after, queues)
    return takewhile(lambda queued: queued.at_front or queued.offer.score >= query.lowest, walk)


def _swept(frontier: RedisControl, search: _Search, of: int) -> QueuePage:
    """Search all URLs in storage order; of those found, the best come first."""
    found: list[UrlStatus] = []
    further = ""
    for swept in frontier.sweep(search.matches, search.query.state, search.query.after):
        search.looked_at += swept.looked_at
        found += [status for status in swept.found if status.offer is not None and search.wants(status.offer)]
        further = swept.next
        if len(found) >= search.query.most or search.is_over():
            break
    urls = sorted(map(_of_status, found), key=lambda url: -2.0 if url.score is None else -url.score)
    return QueuePage(urls=tuple(urls), looked_at=search.looked_at, of=of, next=further, is_ordered=False)


def _leased(frontier: RedisControl, search: _Search) -> QueuePage:
    leased = frontier.leased(_MAX_SKIPPED)
    wanted = [timed for timed in leased if search.wants(timed.offer)]
    start, end = _skipped(search.query)
    urls = tuple(_of_timed(timed, State.LEASED) for timed in wanted[start:end])
    return QueuePage(urls=urls, looked_at=len(leased), of=len(leased), next=str(end) if end < len(wanted) else "")


def _due(frontier: RedisControl, search: _Search) -> QueuePage:
    counts = frontier.counts()
    start, _ = _skipped(search.query)
    found: list[QueuedUrl] = []
    while not search.is_over() and start < _MAX_SKIPPED:
        part = frontier.due(search.query.most, start)
        start += len(part)
        search.looked_at += len(part)
        found += [_of_timed(timed, State.DUE) for timed in part if search.wants(timed.offer)]
        if len(part) < search.query.most:
            start = _MAX_SKIPPED
        if len(found) >= search.query.most:
            break
    further = str(start) if start < _MAX_SKIPPED else ""
    return QueuePage(urls=tuple(found), looked_at=search.looked_at, of=counts.pages[State.DUE], next=further)


def _blocked(frontier: RedisControl, search: _Search) -> QueuePage:
    counts = frontier.counts()
    of = counts.pages[State.BLOCKED] + counts.requisites[State.BLOCKED]
    found: list[QueuedUrl] = []
    after = search.query.after
    while True:
        held, after = frontier.held(after, search.query.most)
        search.looked_at += len(held)
        found += [_of_status(each) for each in held if each.offer is not None and search.wants(each.offer)]
        if not after or len(found) >= search.query.most or search.is_over():
            break
    return QueuePage(urls=tuple(found), looked_at=search.looked_at, of=of, next=after, is_ordered=False)


_PAGES: Final[dict[State, Callable[[RedisControl, _Search], QueuePage]]] = {
    State.QUEUED: _queued,
    State.LEASED: _leased,
    State.DUE: _due,
    State.BLOCKED: _blocked,
}


def _failed(crawl: Crawl, query: QueueQuery) -> QueuePage:
    found = RefusedLinks(crawl).failed(
        RefusedQuery(site=query.site, text=query.text, after=query.after, most=query.most)
    )
    urls = tuple(
        QueuedUrl(url=each.url, site=each.site, state=State.FAILED, kind=each.kind, via=each.via, reason=each.reason)
        for each in found.urls
    )
    return QueuePage(urls=urls, looked_at=len(urls), of=found.of, next=found.next, is_ordered=False)


def _number_queued(frontier: RedisControl, site: str) -> int:
    if site:
        counts = [standing.counts for standing in frontier.standings([site]).values()]
        return sum(each.pages_queued + each.requisites_queued for each in counts)
    all_of = frontier.counts()
    return all_of.pages[State.QUEUED] + all_of.requisites[State.QUEUED]


def _skipped(query: QueueQuery) -> tuple[int, int]:
    start = list_place(query.after)
    if not 0 <= start <= _MAX_SKIPPED:
        raise ValueError(query.after)
    return start, start + query.most


def _narrowed(query: QueueQuery) -> QueueQuery:
    """Turn a query for a host into one for its site, whose queue can be read by itself."""
    is_host = not query.site and query.text.strip().lower().startswith("host:")
    return replace(query, site=queue_of(f"http://{query.text.strip()[5:].lower()}/")) if is_host else query


def _matching(text: str) -> Callable[[str], bool]:
    if not text:
        return lambda _: True
    try:
        return UrlPattern.parse(text).matches
    except UrlPatternError as error:
        raise ProblemError(BAD_SEARCH, f"the text to look for {error}; write a part of URLs, or a pattern") from None


def queued_url(offer: Offer, state: State) -> QueuedUrl:
    """Return an offer as it is shown."""
    return QueuedUrl(
        url=offer.url,
        site=offer.queue,
        state=state,
        score=offer.score if offer.score >= 0 else None,
        depth=offer.depth,
        kind=offer.kind,
        via=offer.via,
    )


def _of_queued(queued: Queued) -> QueuedUrl:
    shown = queued_url(queued.offer, State.QUEUED)
    return shown.model_copy(update={"at_front": queued.at_front, "attempts": queued.attempts})


def _of_timed(timed: Timed, state: State) -> QueuedUrl:
    return queued_url(timed.offer, state).model_copy(update={"seconds": round(timed.seconds, 1)})


def _of_status(status: UrlStatus) -> QueuedUrl:
    if status.offer is None:
        raise ValueError(f"a URL that is {status.state} has kept no record")
    reason = worded(status.reason) if status.reason else None
    shown = queued_url(status.offer, status.state)
    return shown.model_copy(update={"at_front": status.at_front, "reason": reason})


def first_urls(frontier: RedisControl, site: str, most: int) -> Sequence[QueuedUrl]:
    """Return the URLs of a site that are fetched next, in their order."""
    return [_of_queued(queued) for queued in islice(frontier.walk(None, [site]), most)]
