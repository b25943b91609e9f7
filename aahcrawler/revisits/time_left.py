"""How long a running crawl still takes, by what it has to do on each site and at what pace it does it.

It is the estimate of ``crawl_time``, made anew as the crawl goes on: what waits on each site, and what former crawls
visited there and this one has not yet, at the pace of this crawl where that is known, else at that of former ones.
"""

import logging
import sqlite3
from collections import Counter
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.frontier.protocol import QueueCounts
from aahcrawler.revisits.change_log import timed_visits
from aahcrawler.revisits.crawl_time import DOWNLOAD, KnownCrawl, SiteLoad, simulated_seconds
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of
from online_analysis.icd import Limits

logger = logging.getLogger(__name__)
LOOK_EVERY: Final = 10.0
"""Seconds from one estimate to the next."""
MAX_SECONDS: Final = 1e10
"""Seconds, three hundred years, beyond which no time is told."""
_LOOK_SELDOM: Final = 300.0
_LOOK_SHARE: Final = 0.01
_STEPS: Final = 20_000
_TOLD_BY: Final = 5
"""Pages of a site by which its pace is told."""
_PAGES_OF_RATE: Final = 20
"""Pages that tell how fast a crawl is."""


class TimeLeft(BaseModel):
    """Seconds of crawling that are left; None where nobody can tell.

    ``waiting`` are those until the pages that wait by now are fetched, ``known`` those until what former crawls visited
    is as well, and ``limit`` those until the first limit is reached at the present rate. It ends at ``limit`` at most,
    and else later than at ``waiting`` where it finds more pages.

    >>> str(TimeLeft(waiting=432)), str(TimeLeft(waiting=100, limit=60))
    ('about 0:07:12 for the pages that wait by now', '0:01:00 at most')
    >>> str(TimeLeft(waiting=100, known=720, limit=1200)), str(TimeLeft())
    ('about 0:12:00 as former crawls tell; 0:20:00 at most', '-')
    """

    model_config = ConfigDict(frozen=True)

    waiting: float | None = Field(default=None, ge=0)
    known: float | None = Field(default=None, ge=0)
    limit: float | None = Field(default=None, ge=0)

    @property
    def seconds(self) -> float | None:
        """The likeliest of them, the limit where that comes first."""
        likely = self.waiting if self.known is None else self.known
        told = [each for each in (likely, self.limit) if each is not None]
        return min(told, default=None)

    @property
    def source(self) -> str:
        """What tells the likeliest of them, in words; empty where nothing does."""
        if self.seconds is None:
            return ""
        if self.seconds == self.limit:
            return "at most"
        return "for the pages that wait by now" if self.known is None else "as former crawls tell"

    def after(self, seconds: float) -> "TimeLeft":
        """Return what is left when so many seconds have passed, and nobody has looked again."""
        passed = max(0.0, seconds)
        told = {name: each if each is None else max(0.0, each - passed) for name, each in self}
        return TimeLeft.model_validate(told)

    def __str__(self) -> str:
        """Return it in words, ``-`` where nothing can be said."""
        if self.seconds is None:
            return "-"
        told = f"{duration(self.seconds)} {self.source}"
        if self.limit is None or self.seconds == self.limit:
            return told if self.limit is not None else f"about {told}"
        return f"about {told}; {duration(self.limit)} at most"


def pause_after(took: float) -> float:
    """Return the seconds until all sites are looked at again, which took so many: a hundredth of the time at most.

    >>> pause_after(0.001), pause_after(0.5), pause_after(60.0)
    (10.0, 50.0, 300.0)
    """
    return min(max(LOOK_EVERY, took / _LOOK_SHARE), _LOOK_SELDOM)


def duration(seconds: float) -> str:
    """Return seconds as hours, minutes and seconds.

    >>> duration(100_000.4), duration(-1)
    ('1 day, 3:46:40', '0:00:00')
    """
    return str(timedelta(seconds=round(min(max(0.0, seconds), MAX_SECONDS))))


def until_limit(limits: Limits, used: Mapping[str, float], rates: Mapping[str, float]) -> float | None:
    """Return the seconds until the first limit is reached; None where there is none, or no rate for any.

    ``used`` and ``rates`` have ``pages``, ``bytes`` and ``seconds``, the rates by the second.
    """
    told = []
    if limits.time:
        told.append(limits.time.total_seconds() - used["seconds"])
    for name, bound in (("pages", limits.pages), ("bytes", limits.bytes)):
        if bound and (used[name] >= bound or rates.get(name)):
            told.append(0.0 if used[name] >= bound else (bound - used[name]) / rates[name])
    return None if not told else max(0.0, min(told))


@dataclass(frozen=True, slots=True)
class _Site:
    """How far a site was at a moment: its pages that were done; and its pace, None where too few have told it."""

    at: float
    done: int
    pace: float | None = None
    slower_than: float = 0.0

    def seen(self, at: float, counts: QueueCounts) -> "_Site":
        """Return it as it is now. Times in which nothing was left, and before its first page, tell nothing."""
        pages, seconds = counts.pages_done - self.done, at - self.at
        if self.done and pages >= _TOLD_BY:
            return _Site(at, counts.pages_done, seconds / pages)
        if not self.done or not (counts.pages_queued or counts.pages_leased):
            return _Site(at, counts.pages_done, self.pace)
        return replace(self, slower_than=seconds / (pages + 1))

    def load(self, urls: int, known: SiteLoad | None) -> SiteLoad:
        """Return what so many URLs are of work."""
        usual = known or SiteLoad(urls)
        pace = max(usual.pace if self.pace is None else self.pace, self.slower_than)
        return SiteLoad(urls, min(usual.download if known else DOWNLOAD, pace), pace)


@dataclass(frozen=True, slots=True)
class _Moment:
    """What was done by a moment, in seconds of crawling."""

    seconds: float
    pages: float
    bytes: float


class CrawlCourse:
    """Says of a crawl how long it still takes. ``look`` and ``left`` may be called by different threads."""

    def __init__(self) -> None:
        self._known: KnownCrawl | None = None
        self._pages: Mapping[str, int] = {}
        self._sites: dict[str, _Site] = {}
        self._last: _Moment | None = None
        self._rates: Mapping[str, float] = {}
        self._told: tuple[float, TimeLeft] | None = None

    def recall(self, folder: Path, crawl: int, last: tuple[int, float], resting: Container[str] = ()) -> None:
        """Go by what the crawls of a folder before this one tell; log how long it takes by them.

        ``last`` is the number of the last one, and its seconds; ``resting`` are URLs that this one leaves alone. That
        takes seconds where the log of changes is long.
        """
        try:
            seen = timed_visits(folder, crawl)
        except (DamageError, OSError, sqlite3.Error) as error:
            logger.warning("how long the crawl takes is not known, as the log of changes cannot be read: %s", error)
            return
        if not seen:
            return
        newest = max(each.crawl for each in seen)
        pages = [each for each in {each.url: each for each in seen}.values() if each.is_page]
        if resting:
            wanted = Counter(queue_of(each.url) for each in pages if each.url not in resting)
            known = KnownCrawl.of(seen, queue_of, last, wanted)
        else:
            wanted = Counter(queue_of(each.url) for each in pages if each.crawl == newest)
            known = KnownCrawl.of(seen, queue_of, last)
        self._pages, self._known = wanted, known
        logger.info("the crawl takes about %s, as former ones tell", duration(known.seconds))

    def look(self, limits: Limits, used: Mapping[str, float], queues: Mapping[str, QueueCounts]) -> None:
        """Take in how far the crawl is: ``pages`` and ``bytes`` after so many ``seconds``, and the sites' pages."""
        now = _Moment(used["seconds"], used["pages"], used["bytes"])
        self._rate(now)
        known = self._known.sites if self._known is not None else {}
        most = limits.pages_per_domain
        waits: list[SiteLoad] = []
        all_loads: list[SiteLoad] = []
        for name, counts in queues.items():
            site = self._sites.get(name, _Site(now.seconds, counts.pages_done)).seen(now.seconds, counts)
            self._sites[name] = site
            left = counts.pages_queued + counts.pages_leased
            if most:
                left = min(left, max(counts.pages_leased, most - counts.pages_done))
            waits.append(site.load(left, known.get(name)))
            all_loads.append(site.load(max(left, self._unvisited(name, counts.pages_done)), known.get(name)))
        all_loads += [load for name, load in known.items() if name not in queues]
        bound = until_limit(limits, {"seconds": now.seconds, "pages": now.pages, "bytes": now.bytes}, self._rates)
        told = TimeLeft(waiting=self._seconds(waits), known=self._seconds_known(all_loads, now.seconds), limit=bound)
        self._told = now.seconds, told

    def left(self, seconds: float) -> TimeLeft:
        """Return what is left after so many seconds of crawling."""
        if self._told is None:
            return TimeLeft()
        at, told = self._told
        return told.after(seconds - at)

    def _rate(self, now: _Moment) -> None:
        """Learn how fast the crawl is by what it did since the last look."""
        last, self._last = self._last, now
        passed = 0.0 if last is None else now.seconds - last.seconds
        if last is None or passed <= 0:
            return
        self._rates = {"pages": max(0.0, now.pages - last.pages) / passed, "bytes": now.bytes / now.seconds}

    def _unvisited(self, name: str, done: int) -> int:
        """Return how many URLs of a site former crawls visited, less the part that this one is through with."""
        known = self._known.sites.get(name) if self._known is not None else None
        pages = self._pages.get(name, 0)
        return round(known.urls * max(0.0, 1 - done / pages)) if known is not None and pages else 0

    def _seconds(self, loads: list[SiteLoad]) -> float | None:
        """Return how long loads take; more than the crawl as a whole has needed for as many so far."""
        left = sum(load.urls for load in loads)
        if not left:
            return None
        rate = self._rates.get("pages", 0.0)
        by_rate = left / rate if rate * LOOK_EVERY >= _PAGES_OF_RATE else 0.0
        return max(simulated_seconds(loads, steps=_STEPS), by_rate)

    def _seconds_known(self, loads: list[SiteLoad], passed: float) -> float | None:
        if self._known is None or not self._known.sites:
            return None
        left = self._seconds(loads)
        return None if left is None else left + max(0.0, self._known.beside - passed)
