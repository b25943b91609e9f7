"""Estimate how long a crawl of known URLs will take, from the durations of each site's former visits.

There are two estimates: that of the paper on changes of the Web of Data (section 5), by mean times of domains and bins
of threads, and a simulation of the queues of a polite crawl with delays learned from the change log.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import fmean, median
from typing import Final, Protocol

DOWNLOAD: Final = 2.0
DELAY: Final = 1.0
"""For an unknown site, the seconds that a download takes, and those between two downloads: the paper's defaults."""
SLOTS: Final = 64
"""The most fetches that run at the same time."""
_MAX_GAP: Final = 20.0
"""A gap between two visits counts at most as this many usual gaps: what exceeds that was a pause of the crawl."""
_LAST_CRAWLS: Final = 5
"""The pace of a site is derived from at most so many of the last crawls."""
_FEW_GAPS: Final = 3
_MAX_STEPS: Final = 200_000
AROUND: Final = 3.0
"""Seconds of a crawl before its first visit and after its last, as long as they were never measured."""


class Timed(Protocol):
    """A visit with the seconds that its response took, None if not measured."""

    @property
    def url(self) -> str:
        """The URL that was visited."""

    @property
    def at(self) -> datetime:
        """When the request was sent."""

    @property
    def seconds(self) -> float | None:
        """Seconds that the response took, None if not measured."""

    @property
    def crawl(self) -> int:
        """The number of the visit's crawl."""


@dataclass(frozen=True, slots=True)
class SiteLoad:
    """The work of visiting so many URLs of one site.

    ``download`` is the seconds that a response takes, ``pace`` those from one visit to the next: the delay, the
    response and everything else that a page needs.
    """

    urls: int
    download: float = DOWNLOAD
    pace: float = DOWNLOAD + DELAY

    @property
    def delay(self) -> float:
        """The seconds between two visits during which the site is not asked for anything."""
        return max(0.0, self.pace - self.download)


def site_loads(
    visits: Iterable[Timed], site_of: Callable[[str], str], wanted: Mapping[str, int] | None = None
) -> Mapping[str, SiteLoad]:
    """Return the load of each site by the visits of former crawls, given the oldest first.

    The newest crawls of each site are used; the first crawl, in which everything is new and takes longer, is used only
    if it is the only one. ``wanted`` gives the number of URLs of each site; without it, a site has as many as the
    newest crawl has visited. A site that was visited at most once has the defaults. ``site_of`` returns the site of a
    URL: visits of one site wait for one another.
    """
    by_site: dict[str, dict[int, list[Timed]]] = defaultdict(lambda: defaultdict(list))
    newest = 0
    for visit in visits:
        by_site[site_of(visit.url)][visit.crawl].append(visit)
        newest = max(newest, visit.crawl)
    if wanted is None:
        wanted = {site: len(crawls[newest]) for site, crawls in by_site.items() if newest in crawls}
    loads: dict[str, SiteLoad] = {}
    for site, urls in wanted.items():
        crawls = by_site.get(site, {})
        loads[site] = _load(urls, [crawls[each] for each in _telling(crawls)])
    return loads


def _telling(crawls: Iterable[int]) -> Sequence[int]:
    """Return the crawls from which others are estimated: the newest ones; the first one only if it is the only one."""
    numbers = sorted(crawls)
    return numbers[1:][-_LAST_CRAWLS:] or numbers


def warm_up_seconds(visits: Iterable[Timed], site_of: Callable[[str], str]) -> float:
    """Return by how many seconds crawls, from first visit to last, exceeded the time of their queues; the median.

    Not all sites begin at once, and second pages wait until the analysers are loaded.
    """
    by_crawl: dict[int, list[Timed]] = defaultdict(list)
    for visit in visits:
        by_crawl[visit.crawl].append(visit)
    beyond: list[float] = []
    for number in _telling(by_crawl):
        own = by_crawl[number]
        queues = simulated_seconds(site_loads(own, site_of).values())
        beyond.append(max(0.0, _length(own, site_of) - queues))
    return median(beyond) if beyond else 0.0


def _length(visits: Sequence[Timed], site_of: Callable[[str], str]) -> float:
    """Return the seconds of a crawl from its first visit to its last, without pauses."""
    by_site: dict[str, list[Timed]] = defaultdict(list)
    for visit in visits:
        by_site[site_of(visit.url)].append(visit)
    begin = min(each.at for each in visits)
    lengths: list[float] = []
    for found in by_site.values():
        gaps, longest = _gaps(found)
        offset = min((found[0].at - begin).total_seconds(), longest)
        lengths.append(offset + sum(gaps) + (found[-1].seconds or 0.0))
    return max(lengths)


def _gaps(visits: Sequence[Timed]) -> tuple[list[float], float]:
    """Return the gaps between visits of a site in one crawl, in seconds, and the most that a gap counts.

    What exceeds that was a pause of the crawl.
    """
    gaps = [(after.at - before.at).total_seconds() for before, after in pairwise(visits)]
    longest = _MAX_GAP * max(median(gaps), 0.001) if gaps else _MAX_GAP * (DOWNLOAD + DELAY)
    return [min(each, longest) for each in gaps], longest


def around_seconds(visits: Iterable[Timed], crawl: int, seconds: float) -> float | None:
    """Return how many of a crawl's seconds, such as those of starting and ending, were not between its visits.

    None for a crawl without visits, and for an interrupted one, whose visits span more time than it ran.
    """
    own = [each for each in visits if each.crawl == crawl]
    if not own:
        return None
    ends = max(each.at.timestamp() + (each.seconds or 0.0) for each in own)
    around = seconds - (ends - min(each.at.timestamp() for each in own))
    return around if around >= 0 else None


def _load(urls: int, crawls: Sequence[Sequence[Timed]]) -> SiteLoad:
    """Return the load of a site by its visits in several crawls, each of which weighs the same, however long it was."""
    downloads, paces = list[float](), list[float]()
    for visits in crawls:
        timed = [each.seconds for each in visits if each.seconds is not None]
        gaps = _gaps(visits)[0]
        # The first page waits until what judges it is loaded: that is no pace (``warm_up_seconds``).
        steady = gaps[1:] if len(gaps) > _FEW_GAPS else gaps
        downloads += [fmean(timed)] if timed else []
        paces += [fmean(steady)] if steady else []
    download = median(downloads) if downloads else DOWNLOAD
    return SiteLoad(urls, download, median(paces) if paces else download + DELAY)


def simulated_seconds(loads: Iterable[SiteLoad], slots: int = SLOTS, steps: int = _MAX_STEPS) -> float:
    """Return how long visits take if each site is visited at its pace, with at most ``slots`` fetches at a time.

    Among sites that could be visited, those with the most URLs left go first. If there are more than ``steps`` visits,
    several are simulated as one.
    """
    sites = [load for load in loads if load.urls > 0]
    step = 1 + sum(load.urls for load in sites) // steps
    ready = [(0.0, -load.urls * load.pace, number, load.urls) for number, load in enumerate(sites)]
    heapq.heapify(ready)
    answers: list[float] = []
    end = 0.0
    while ready:
        at, _, number, left = heapq.heappop(ready)
        load, taken = sites[number], min(step, left)
        if len(answers) >= slots:
            at = max(at, heapq.heappop(answers))
        heapq.heappush(answers, at + taken * load.download)
        free_at = at + taken * load.pace
        end = max(end, free_at if left > taken else at + (taken - 1) * load.pace + load.download)
        if left > taken:
            heapq.heappush(ready, (free_at, -(left - taken) * load.pace, number, left - taken))
    return end


@dataclass(frozen=True, slots=True)
class KnownCrawl:
    """The work of a crawl of known URLs: the load of each site by former visits, and what comes on top.

    ``beside`` is the seconds that belong to no queue: starting, warming up, ending.
    """

    sites: Mapping[str, SiteLoad]
    beside: float = AROUND

    @classmethod
    def of(
        cls,
        visits: Sequence[Timed],
        site_of: Callable[[str], str],
        last: tuple[int, float],
        wanted: Mapping[str, int] | None = None,
    ) -> "KnownCrawl":
        """Return the work by former visits, the oldest first; ``last`` is the number and seconds of the last crawl.

        ``site_of`` and ``wanted`` are those of ``site_loads``.
        """
        around = around_seconds(visits, *last)
        beside = warm_up_seconds(visits, site_of) + (AROUND if around is None else around)
        return cls(site_loads(visits, site_of, wanted), beside)

    @property
    def seconds(self) -> float:
        """How long it takes from its start to its end."""
        return self.beside + simulated_seconds(self.sites.values())


def packed_seconds(loads: Iterable[SiteLoad], threads: int) -> float:
    """Return the paper's estimate for a number of threads: the size of the bins into which all sites are packed.

    A site gets as many threads as downloads fit into its delay, or fewer if all sites together would need too many.
    """
    sites = [load for load in loads if load.urls > 0]
    if not sites:
        return 0.0
    wanted = [_threads_of(load, threads) for load in sites]
    for most in range(max(wanted), 0, -1):
        allowed = [min(each, most) for each in wanted]
        times = [_domain_seconds(load, each) for load, each in zip(sites, allowed, strict=True)]
        if _packed_threads(allowed, times) <= threads:
            return max(times)
    # One thread for each site is too many: sites share threads, in bins that are as long as it takes.
    return max(*times, sum(times) / threads)


def _threads_of(load: SiteLoad, most: int) -> int:
    """Return how many downloads of a site run at the same time if one begins after each delay."""
    return max(1, min(most, int(load.download / load.delay))) if load.delay else 1


def _domain_seconds(load: SiteLoad, threads: int) -> float:
    return load.urls * load.download / threads + load.delay * (threads - 1)


def _packed_threads(threads: Sequence[int], times: Sequence[float]) -> int:
    """Return how many threads are needed to pack all sites, by first fit, into bins as long as the longest site."""
    longest = max(times)
    bins: list[tuple[float, int]] = []
    """A heap of bins: how full each is, and the most threads of a site in it."""
    for number, time in sorted(zip(threads, times, strict=True), reverse=True):
        if bins and bins[0][0] + time <= longest:
            filled, most = bins[0]
            heapq.heapreplace(bins, (filled + time, max(most, number)))
        else:
            heapq.heappush(bins, (time, number))
    return sum(most for _, most in bins)
