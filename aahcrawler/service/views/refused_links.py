"""Links that a crawl refused and URLs that failed, by reason and by site, from the log of them (``refusals``).

The log can only be read from its beginning, and that of a large crawl is long. So an index of it is kept in the crawl's
folder (SQLite), which takes in some more whenever it is asked, and may be removed at any time.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.derived_index import coverage
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.list_place import list_place
from aahcrawler.service.views.refusals_index import FAILED, LINKS, RefusalsIndex, Row, Wanted
from aahcrawler.service.views.worded_reasons import CountedReason, Reason, counted, worded, worded_error
from aahcrawler.service.web.problems import BAD_SEARCH, DAMAGED, UNAVAILABLE, ProblemError

INDEXED_SECONDS: Final = 0.15
"""Seconds for which the log is read on for one request."""
MOST: Final = 200


class _Shown(BaseModel):
    model_config = ConfigDict(frozen=True)


class RefusedUrl(_Shown):
    """A link that was not followed: why, on which page it stands, and the score that it had there."""

    url: str
    site: str
    reason: Reason
    via: str
    score: float
    depth: int
    kind: str


class FailedUrl(_Shown):
    """A URL that was not fetched, or answered with an error, and why; ``via`` is the page that linked to it."""

    url: str
    site: str
    reason: Reason
    kind: str
    via: str


class Coverage(_Shown):
    """How much of the log was read so far, in bytes; the rest is read when it is asked again."""

    read: int
    of: int

    @property
    def is_whole(self) -> bool:
        """Whether everything was read."""
        return self.read >= self.of


class RefusedPage(_Shown):
    """Some refused links, each once for each reason, and how many there are by reason, as far as the log was read."""

    urls: tuple[RefusedUrl, ...]
    reasons: tuple[CountedReason, ...]
    coverage: Coverage
    next: str = ""


class FailedPage(_Shown):
    """Some URLs that failed, how many there are by reason, and ``of`` all, as far as the log was read."""

    urls: tuple[FailedUrl, ...]
    reasons: tuple[CountedReason, ...]
    of: int
    coverage: Coverage
    next: str = ""


@dataclass(frozen=True, slots=True)
class RefusedQuery:
    """The links that are wanted: for a reason, of a site, with a text; ``after`` is ``next`` of the page before."""

    reason: str = ""
    site: str = ""
    text: str = ""
    after: str = ""
    most: int = 50


class RefusedLinks:
    """The refused links and failed URLs of a crawl. Each call reads on in the log, for a short time."""

    def __init__(self, crawl: Crawl, seconds: float = INDEXED_SECONDS) -> None:
        self._crawl, self._seconds = crawl, seconds

    def refused(self, query: RefusedQuery) -> RefusedPage:
        """Return some refused links, in the order in which they were met. Raise ``ProblemError``."""
        with self._index() as index:
            rows = index.rows(LINKS, _wanted(query))
            reasons = counted(index.counts(LINKS, query.site))
            reached = _coverage(index)
        return RefusedPage(urls=tuple(map(_refused, rows)), reasons=reasons, coverage=reached, next=_next(rows, query))

    def failed(self, query: RefusedQuery) -> FailedPage:
        """Return some URLs that failed, each with the last reason. Raise ``ProblemError``."""
        with self._index() as index:
            rows = index.rows(FAILED, _wanted(query))
            reasons = counted(index.counts(FAILED, query.site), worded_error)
            reached = _coverage(index)
        return FailedPage(
            urls=tuple(map(_failed, rows)),
            reasons=reasons,
            of=sum(each.count for each in reasons),
            coverage=reached,
            next=_next(rows, query),
        )

    def about(self, url: str) -> tuple[Sequence[RefusedUrl], FailedUrl | None, Coverage]:
        """Return for which reasons links to a canonical URL were refused, why it failed, and how much was read."""
        with self._index() as index:
            links, failed = index.about(url)
            reached = _coverage(index)
        return tuple(map(_refused, links)), (_failed(failed) if failed is not None else None), reached

    @contextmanager
    def _index(self) -> Iterator[RefusalsIndex]:
        folder = self._crawl.folder
        if folder is None:
            raise ProblemError(
                UNAVAILABLE, f"{self._crawl.id} has no folder on this machine, which keeps refused links"
            )
        index = RefusalsIndex(folder, self._crawl.number)
        try:
            with index:
                index.catch_up(self._seconds)
                if damaged := "; ".join(coverage(index.base).damaged):
                    told = f"the log of refused links cannot be read on: {damaged}; move these files elsewhere"
                    raise ProblemError(DAMAGED, told)
                yield index
        except sqlite3.Error as error:
            index.removed_if_damaged(error)
            raise ProblemError(UNAVAILABLE, "the index of refused links is busy; try again in a moment") from error


def _wanted(query: RefusedQuery) -> Wanted:
    try:
        return Wanted(query.reason, query.site, query.text, list_place(query.after), query.most)
    except ValueError:
        raise ProblemError(BAD_SEARCH, "`after` is not where a page of this listing ended; leave it out") from None


def _refused(row: Row) -> RefusedUrl:
    _, url, site, why, via, score, depth, kind = row
    return RefusedUrl(url=url, site=site, reason=worded(why), via=via, score=score, depth=depth, kind=kind)


def _failed(row: Row) -> FailedUrl:
    _, url, site, why, kind, via = row
    return FailedUrl(url=url, site=site, reason=worded_error(why), kind=kind, via=via)


def _coverage(index: RefusalsIndex) -> Coverage:
    reached = coverage(index.base)
    return Coverage(read=reached.covered, of=reached.size)


def _next(rows: Sequence[Row], query: RefusedQuery) -> str:
    return str(rows[-1][0]) if rows and len(rows) == query.most else ""
