"""What the crawls of a service hold, for other installations: sites, since when, and who has captures of a URL."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from aahcrawler.page_index import captures_in
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.web.problems import BAD_SEARCH, BAD_URL, ProblemError, Shown
from aahcrawler.urls import canonicalize

_KEPT: Final = 64
"""Crawls whose sites are kept in memory until more of them is captured."""
_MAX_CRAWLS: Final = 1_000
"""Crawls that are told to hold captures of a URL."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SITES: Final = """
SELECT site, count(*), min(at), max(at) FROM capture WHERE site != '' GROUP BY site ORDER BY site
"""


class HeldSiteShown(Shown):
    """A site of which a crawl holds captures: how many, since when, and until when."""

    crawl: str
    site: str
    captures: int
    since: datetime
    until: datetime


class HeldSitesPage(Shown):
    """Some sites by crawl and name; ``next`` is what ``after`` the following page begins, empty at the end."""

    sites: tuple[HeldSiteShown, ...]
    next: str = ""


class HeldCaptures(Shown):
    """How many captures of a URL a crawl holds, and when the first and the last of them were made."""

    crawl: str
    captures: int
    first: datetime
    last: datetime


class HeldVersionsShown(Shown):
    """The crawls that hold captures of a URL."""

    url: str
    held: tuple[HeldCaptures, ...]


def canonical(url: str) -> str:
    """Return a URL as archives spell it. Raise ``ProblemError`` for what is none."""
    found = canonicalize(url)
    if found is None:
        raise ProblemError(BAD_URL, "give a whole http or https URL")
    return found


class HoldingsDesk:
    """Says what crawls hold by their indexes of pages. It may be used by several threads at once.

    Crawls whose index cannot be asked now, or that have no folder on this machine, are left out.
    """

    def __init__(self, reach: CrawlRegistry, indexes: PageIndexes) -> None:
        self._reach, self._indexes = reach, indexes
        self._known: OrderedDict[str, tuple[int, Sequence[HeldSiteShown]]] = OrderedDict()
        self._lock = threading.Lock()

    def sites(self, after: str = "", most: int = 50) -> HeldSitesPage:
        """Return some sites, by crawl and name. Raise ``ProblemError`` where ``after`` is no place in the list."""
        first, between, site = after.partition(" ")
        if after and not (first and between):
            raise ProblemError(BAD_SEARCH, "`after` is not where a page of this listing ended; leave it out")
        rows = self._rows(first, site)
        found = tuple(islice(rows, most))
        more = next(rows, None) if len(found) == most else None
        return HeldSitesPage(sites=found, next=f"{found[-1].crawl} {found[-1].site}" if more and found else "")

    def versions(self, url: str) -> HeldVersionsShown:
        """Return which crawls hold captures of a URL."""
        return HeldVersionsShown(url=url, held=tuple(islice(self._versions(url), _MAX_CRAWLS)))

    def _rows(self, first: str, site: str) -> Iterator[HeldSiteShown]:
        for crawl in sorted(self._reach.crawls(), key=lambda each: each.id):
            if crawl.id >= first:
                yield from (each for each in self._of(crawl) if crawl.id > first or each.site > site)

    def _of(self, crawl: Crawl) -> Sequence[HeldSiteShown]:
        with suppress(ProblemError), self._indexes.asked(crawl, hurried=False) as index:
            captures = captures_in(index.base)
            with self._lock:
                known = self._known.get(crawl.id)
            if known is None or known[0] != captures:
                found = [_site(crawl.id, *row) for row in index.base.execute(_SITES)]
                with self._lock:
                    known = self._known[crawl.id] = captures, found
                    while len(self._known) > _KEPT:
                        self._known.popitem(last=False)
            return known[1]
        return ()

    def _versions(self, url: str) -> Iterator[HeldCaptures]:
        for crawl in self._reach.crawls():
            with suppress(ProblemError), self._indexes.asked(crawl, hurried=False) as index:
                statement = "SELECT count(*), min(at), max(at) FROM capture WHERE url = ?"
                captures, first, last = index.base.execute(statement, (url,)).fetchone()
                if captures:
                    yield HeldCaptures(crawl=crawl.id, captures=captures, first=_moment(first), last=_moment(last))


def _site(crawl: str, site: str, captures: int, since: int, until: int) -> HeldSiteShown:
    return HeldSiteShown(crawl=crawl, site=site, captures=captures, since=_moment(since), until=_moment(until))


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
