"""How long a running crawl still takes, by the work that is left on each site and the pace at which it is done.

It is the estimate of ``crawl_time``, repeated while the crawl runs. The work is the URLs that wait on each site, and
those that former crawls visited there and this one has not yet. The pace is that of this crawl where it is known, else
that of former ones.
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
"""The fewest seconds from one estimate to the next."""
MAX_SECONDS: Final = 1e10
"""Three hundred years, in seconds; a longer time is not reported."""
_LOOK_SELDOM: Final = 300.0
_LOOK_SHARE: Final = 0.01
_STEPS: Final = 20_000
_TOLD_BY: Final = 5
"""The fewest pages of a site from which its pace is derived."""
_PAGES_OF_RATE: Final = 20
"""The fewest pages in ``LOOK_EVERY`` seconds at which the rate of the whole crawl counts."""


class TimeLeft(BaseModel):
    """The seconds of crawling that are left; None where that is unknown.

    ``waiting`` is how long the pages take that are queued now, ``known`` how long these and the pages of former crawls
    take, and ``limit`` how long it takes until the first limit is reached at the present rate. The crawl ends at
    ``limit`` at the latest, and otherwise after ``waiting``, since it finds more pages.

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
        """The most probable of the three, or the limit if that comes first."""
        likely = self.waiting if self.known is None else self.known
        told = [each for each in (likely, self.limit) if each is not None]
        return min(told, default=None)

    @property
    def source(self) -> str:
        """The evidence for ``seconds``, in words; empty if there is none."""
        if self.seconds is None:
            return ""
        if self.seconds == self.limit:
            return "at most"
        return "for the pages that wait by now" if self.known is None else "as former crawls tell"

    def after(self, seconds: float) -> "TimeLeft":
        """Return what is left so many seconds later, if nothing else has become known.

        An estimate that has run out was wrong, and is dropped; a limit stays.

        >>> str(TimeLeft(waiting=100, limit=500).after(99)), str(TimeLeft(waiting=100, limit=500).after(100))
        ('about 0:00:01 for the pages that wait by now; 0:06:41 at most', '0:06:40 at most')
        """
        passed = max(0.0, seconds)
        estimates = {"waiting": self.waiting, "known": self.known}
        left = {name: each - passed for name, each in estimates.items() if each is not None and each > passed}
        return TimeLeft(**left, limit=None if self.limit is None else max(0.0, self.limit - passed))

    def __str__(self) -> str:
        """Return the time in words, ``-`` if it is unknown."""
        if self.seconds is None:
            return "-"
        told = f"{duration(self.seconds)} {self.source}"
        if self.limit is None or self.seconds == self.limit:
            return told if self.limit is not None else f"about {told}"
        return f"about {told}; {duration(self.limit)} at most"


def pause_after(took: float) -> float:
    """Return the seconds until all sites are examined again, so that this takes a hundredth of the time at most.

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
    """Return the seconds until the first limit is reached; None if there is no limit, or no rate for one.

    ``used`` and ``rates`` have ``pages``, ``bytes`` and ``seconds``; the rates are per second.
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
    """The progress of a site at a moment: its pages that were done, and its pace, None if too few pages show it."""

    at: float
    done: int
    pace: float | None = None
    slower_than: float = 0.0

    def seen(self, at: float, counts: QueueCounts) -> "_Site":
        """Return the progress at a later moment.

        Times without queued pages, and before the first page, do not count.
        """
        pages, seconds = counts.pages_done - self.done, at - self.at
        if self.done and pages >= _TOLD_BY:
            return _Site(at, counts.pages_done, seconds / pages)
        if not self.done or not (counts.pages_queued or counts.pages_leased):
            return _Site(at, counts.pages_done, self.pace)
        return replace(self, slower_than=seconds / (pages + 1))

    def load(self, urls: int, known: SiteLoad | None) -> SiteLoad:
        """Return the load of so many URLs of the site."""
        usual = known or SiteLoad(urls)
        pace = max(usual.pace if self.pace is None else self.pace, self.slower_than)
        return SiteLoad(urls, min(usual.download if known else DOWNLOAD, pace), pace)


@dataclass(frozen=True, slots=True)
class _Moment:
    """What had been done after so many seconds of crawling."""

    seconds: float
    pages: float
    bytes: float


class CrawlCourse:
    """Estimates how long a crawl still takes. ``look`` and ``left`` may be called by different threads."""

    def __init__(self) -> None:
        self._known: KnownCrawl | None = None
        self._pages: Mapping[str, int] = {}
        self._sites: dict[str, _Site] = {}
        self._last: _Moment | None = None
        self._rates: Mapping[str, float] = {}
        self._told: tuple[float, TimeLeft] | None = None

    def recall(self, folder: Path, crawl: int, last: tuple[int, float], resting: Container[str] = ()) -> None:
        """Read the visits of a folder's former crawls; log how long this crawl takes by them.

        ``last`` is the number of the last crawl, and its seconds; ``resting`` are URLs that this crawl leaves out.
        Takes seconds for a long log of changes.
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
        """Record the progress of the crawl: ``used`` pages, bytes and seconds, and each site's queue."""
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
        """Return the time that is left after so many seconds of crawling."""
        if self._told is None:
            return TimeLeft()
        at, told = self._told
        return told.after(seconds - at)

    def _rate(self, now: _Moment) -> None:
        """Update the rate of the crawl by what was done since the last look."""
        last, self._last = self._last, now
        passed = 0.0 if last is None else now.seconds - last.seconds
        if last is None or passed <= 0:
            return
        self._rates = {"pages": max(0.0, now.pages - last.pages) / passed, "bytes": now.bytes / now.seconds}

    def _unvisited(self, name: str, done: int) -> int:
        """Return how many URLs of a site former crawls visited, less the share of them that this crawl has done."""
        known = self._known.sites.get(name) if self._known is not None else None
        pages = self._pages.get(name, 0)
        return round(known.urls * max(0.0, 1 - done / pages)) if known is not None and pages else 0

    def _seconds(self, loads: list[SiteLoad]) -> float | None:
        """Return how long loads take: at least as long as the whole crawl has needed for as many URLs so far."""
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
