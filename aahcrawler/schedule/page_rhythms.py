"""Which known pages a crawl leaves alone, as they are not due: a front page hourly, an old thread yearly.

Each page is due by a revisit policy and its own visits in the log of changes. Which are left alone is decided when a
crawl begins, and kept in its folder for as long as it takes; pages that nobody knows are always visited, and so are
seeds.
"""

import json
import logging
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aahcrawler.layout import RESTING
from aahcrawler.revisits.change_log import ChangeState, Visit, visits
from aahcrawler.revisits.crawl_time import SiteLoad, site_loads
from aahcrawler.schedule.rhythms import Adaptive, Past, PastVisit
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of
from online_analysis.icd.sections import Duration

logger = logging.getLogger(__name__)
_LAST: Final = 60
"""Visits of a page that tell of it; older ones are left out of account."""
_DIGEST: Final = 8


class PageRhythm(Adaptive):
    """The rhythm of each page. Only so many are visited as fit into ``within``, those that are longest due; 0: all."""

    within: Duration = Field(default=timedelta(), examples=["1 h"])


class RestingPages(BaseModel):
    """The pages that a crawl leaves alone, by the first eight bytes of digests, so that no URL stands there.

    ``crawl`` is its number among those of its folder.
    """

    model_config = ConfigDict(frozen=True)

    crawl: int = 0
    pages: frozenset[str] = frozenset()

    def __contains__(self, url: object) -> bool:
        """Return whether a canonical URL is left alone."""
        return bool(self.pages) and isinstance(url, str) and _digest(url) in self.pages

    @classmethod
    def of(cls, folder: Path, crawl: int) -> "RestingPages":
        """Return what the crawl of this number in a folder leaves alone: nothing where that was never decided."""
        try:
            kept = cls.model_validate_json((folder / RESTING).read_bytes())
        except (OSError, ValidationError):
            return cls(crawl=crawl)
        return kept if kept.crawl == crawl else cls(crawl=crawl)

    def content(self) -> str:
        """Return what ``of`` reads back."""
        return json.dumps({"crawl": self.crawl, "pages": sorted(self.pages)}) + "\n"


def _digest(url: str) -> str:
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()


@dataclass(frozen=True, slots=True)
class DuePages:
    """Known pages: how many are due and are visited, how many are due and do not fit, and which are left alone."""

    due: int
    left_over: int
    resting: RestingPages

    def __str__(self) -> str:
        """Return it in words."""
        over = f", {self.left_over:,} more do not fit before the next run" if self.left_over else ""
        return f"known pages that are due: {self.due:,}{over}; left alone: {len(self.resting.pages):,}"


def due_pages(folder: Path, crawl: int, rhythm: PageRhythm, now: datetime, seeds: Iterable[str] = ()) -> DuePages:
    """Decide which known pages the crawl of this number visits. Without a log of changes all pages are visited."""
    try:
        seen = list(visits(folder))
    except (DamageError, OSError, sqlite3.Error) as error:
        logger.warning("all known pages are visited, as the log of changes cannot be read: %s", error)
        seen = []
    by_url: dict[str, list[Visit]] = defaultdict(list)
    for visit in seen:
        by_url[visit.url].append(visit)
    interval = cache(partial(_interval, rhythm))
    kept = frozenset(seeds)
    due: list[tuple[timedelta, str]] = []
    resting: list[str] = []
    for url, found in by_url.items():
        waiting = now - _due_at(found[-_LAST:], interval, rhythm)
        if url not in kept:
            if waiting >= timedelta():
                due.append((waiting, url))
            else:
                resting.append(url)
    fitting = _fitting(due, site_loads(seen, queue_of), rhythm.within.total_seconds())
    left = [url for _, url in due if url not in fitting]
    return DuePages(len(fitting), len(left), RestingPages(crawl=crawl, pages=frozenset(map(_digest, resting + left))))


_History = tuple[tuple[float, bool], ...]


def _due_at(found: Sequence[Visit], interval: Callable[[_History], timedelta], rhythm: PageRhythm) -> datetime:
    """Return when a page is due by its visits; those that failed tell nothing."""
    # Pages that were visited together, and found alike, need one calculation: intervals are those of quarters of the
    # least one.
    quarter = rhythm.least.total_seconds() / 4
    answered = [each for each in found if each.state is not ChangeState.FAILED] or list(found)
    history = tuple(
        (round((after.at - before.at).total_seconds() / quarter) * quarter, after.matters and not after.volatile)
        for before, after in pairwise(answered)
    )
    return answered[-1].at + interval(history)


def _interval(rhythm: PageRhythm, history: _History) -> timedelta:
    at = datetime(1970, 1, 1, tzinfo=UTC)
    past = [PastVisit(at, None)]
    for seconds, changed in history:
        at += timedelta(seconds=seconds)
        past.append(PastVisit(at, changed))
    return rhythm.interval(Past(past[0].begun_at, None, past))


def _fitting(due: Sequence[tuple[timedelta, str]], loads: Mapping[str, SiteLoad], seconds: float) -> frozenset[str]:
    """Return the pages that fit into so many seconds at the paces of their sites, those that are longest due first."""
    if not seconds:
        return frozenset(url for _, url in due)
    spent: dict[str, float] = defaultdict(float)
    fitting = []
    for _, url in sorted(due, reverse=True):
        site = queue_of(url)
        spent[site] += loads.get(site, SiteLoad(1)).pace
        if spent[site] <= seconds:
            fitting.append(url)
    return frozenset(fitting)
