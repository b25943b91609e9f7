"""Tells what is left of the budgets of a crawl and of the sites that have one of their own."""

from urllib.parse import urlsplit

from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.domain_budgets import BYTES, PAGES
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Lease
from online_analysis.aggregation import BudgetLeft


class Budget:
    """Reads the budgets from the definition of the moment, and the counts of all workers."""

    def __init__(self, context: CurrentContext, stats: Stats) -> None:
        self._context = context
        self._stats = stats

    def left(self, lease: Lease) -> BudgetLeft:
        """Return what is left for the crawl, and for the domain of a leased page: of several bounds the least."""
        return BudgetLeft(self._of_crawl(), self._of_site(lease))

    def _of_crawl(self) -> float:
        limits, stats = self._context.now.icd.limits, self._stats
        return min(
            _share(limits.pages, stats["pages"]),
            _share(limits.bytes, stats["bytes"]),
            _share(limits.time.total_seconds(), stats["seconds"]),
        )

    def _of_site(self, lease: Lease) -> float:
        icd, stats = self._context.now.icd, self._stats
        bound = icd.limits.pages_per_domain
        name, own = icd.politeness.of(urlsplit(lease.url).hostname or "")
        return min(
            _share(bound, bound - lease.left) if lease.left is not None else 1.0,
            _share(own.pages or 0, stats[f"{PAGES}:{name}"]),
            _share(own.bytes or 0, stats[f"{BYTES}:{name}"]),
        )


def _share(bound: float, used: float) -> float:
    """Return which share of a bound is left; 0 is no bound.

    >>> _share(100, 25), _share(100, 101), _share(0, 7)
    (0.75, 0.0, 1.0)
    """
    return min(1.0, max(0.0, 1.0 - used / bound)) if bound else 1.0
