"""How long a crawl of known URLs will take, by what each site's visits took before.

Two estimates: that of the paper on changes of the Web of Data (section 5), by mean times of domains and bins of
threads, and a simulation of the queues of polite crawls, whose paces are learned from the log of changes.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import Final

from aahcrawler.revisits.change_log import Visit

DOWNLOAD: Final = 2.0
DELAY: Final = 1.0
"""Seconds of a download, and between two, for a site that nobody knows: the paper's defaults."""
SLOTS: Final = 64
"""Fetches at once."""
_LONGEST_GAP: Final = 20.0
"""How many times the usual gap between two visits counts at most: a longer one is a pause of the crawl."""
_LAST_CRAWLS: Final = 5
"""Crawls at most that tell the pace of a site: it is as its server and this machine are by now."""
_MOST_STEPS: Final = 200_000


@dataclass(frozen=True, slots=True)
class SiteLoad:
    """URLs of one site that are to be visited.

    ``download`` are the seconds that an answer takes, ``pace`` those from one visit to the next: the delay, the answer
    and all that a page needs besides.
    """

    urls: int
    download: float = DOWNLOAD
    pace: float = DOWNLOAD + DELAY

    @property
    def delay(self) -> float:
        """The seconds that the site has to itself between two visits."""
        return max(0.0, self.pace - self.download)


def site_loads(
    visits: Iterable[Visit], site_of: Callable[[str], str], wanted: Mapping[str, int] | None = None
) -> Mapping[str, SiteLoad]:
    """Return the load of each site by the visits of former crawls, the oldest first.

    Of each site its newest crawls tell; the first one, in which all is new and takes longer, where it is alone. Without
    ``wanted`` a site has as many URLs as the newest crawl of all has visited; else as many as it says. One that was
    visited at most once has defaults. ``site_of`` names the site of a URL: visits of one wait for one another.
    """
    moments: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    downloads: dict[tuple[str, int], list[float]] = defaultdict(list)
    newest = 0
    for visit in visits:
        site = site_of(visit.url)
        moments[site][visit.crawl].append(visit.at.timestamp())
        newest = max(newest, visit.crawl)
        if visit.seconds is not None:
            downloads[site, visit.crawl].append(visit.seconds)
    if wanted is None:
        wanted = {site: len(found[newest]) for site, found in moments.items() if newest in found}
    loads: dict[str, SiteLoad] = {}
    for site, urls in wanted.items():
        found = moments.get(site, {})
        telling = sorted(found)[1:][-_LAST_CRAWLS:] or list(found)
        gaps = [after - before for crawl in telling for before, after in pairwise(found[crawl])]
        loads[site] = _load(urls, [each for crawl in telling for each in downloads[site, crawl]], gaps)
    return loads


def around_seconds(visits: Iterable[Visit], crawl: int, seconds: float) -> float | None:
    """Return how much of a crawl's seconds was before its first visit and after its last: starting, robots.txt, ending.

    None for one without visits, and one that was interrupted: its visits are farther apart than it crawled.
    """
    own = [each for each in visits if each.crawl == crawl]
    if not own:
        return None
    ends = max(each.at.timestamp() + (each.seconds or 0.0) for each in own)
    around = seconds - (ends - min(each.at.timestamp() for each in own))
    return around if around >= 0 else None


def _load(urls: int, downloads: Sequence[float], gaps: Sequence[float]) -> SiteLoad:
    download = fmean(downloads) if downloads else DOWNLOAD
    if not gaps:
        return SiteLoad(urls, download, download + DELAY)
    longest = _LONGEST_GAP * max(median(gaps), 0.001)
    return SiteLoad(urls, download, fmean(min(gap, longest) for gap in gaps))


def simulated_seconds(loads: Iterable[SiteLoad], slots: int = SLOTS) -> float:
    """Return how long visits take where each site is visited at its pace and so many answers are awaited at once.

    Sites with the most left go first where several could be visited. Of very many URLs several are one step.
    """
    sites = [load for load in loads if load.urls > 0]
    step = 1 + sum(load.urls for load in sites) // _MOST_STEPS
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


def packed_seconds(loads: Iterable[SiteLoad], threads: int) -> float:
    """Return the paper's estimate for so many threads: the size of the bins that all sites are packed into.

    A site has as many threads as downloads fit into its delay, fewer where all of them together are too many.
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
    """Return how many downloads of a site are under way where each begins a delay after the one before."""
    return max(1, min(most, int(load.download / load.delay))) if load.delay else 1


def _domain_seconds(load: SiteLoad, threads: int) -> float:
    return load.urls * load.download / threads + load.delay * (threads - 1)


def _packed_threads(threads: Sequence[int], times: Sequence[float]) -> int:
    """Return how many threads the bins have that are as long as the longest site, by first fit."""
    longest = max(times)
    bins: list[tuple[float, int]] = []
    """How full each bin is, and the most threads of a site in it, as a heap."""
    for number, time in sorted(zip(threads, times, strict=True), reverse=True):
        if bins and bins[0][0] + time <= longest:
            filled, most = bins[0]
            heapq.heapreplace(bins, (filled + time, max(most, number)))
        else:
            heapq.heappush(bins, (time, number))
    return sum(most for _, most in bins)
