"""Tells how much exploring is still worth: pages that lead to good ones pay only while there is budget to fetch these.

In the first half of a budget their promise counts in full; from there on it falls with what is left, to nothing.
"""

from collections import OrderedDict
from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np

from online_analysis.aggregation import UNSPENT, BudgetLeft
from online_analysis.ranking.regression import Floats

_FULL_UNTIL = 0.5
"""The share of a budget, that is left, from which on promise falls."""
_MOST_SITES = 10_000


class RemainingBudget:
    """What is left for a crawl, and for each of the last 10,000 sites that have a bound of their own."""

    def __init__(self) -> None:
        self._crawl = 1.0
        self._sites: OrderedDict[str, float] = OrderedDict()

    def note(self, url: str, left: BudgetLeft = UNSPENT) -> None:
        """Take note of what was left when a page was fetched."""
        self._crawl = left.crawl
        host = urlsplit(url).netloc
        self._sites.pop(host, None)
        if left.site < 1.0:
            self._sites[host] = left.site
            if len(self._sites) > _MOST_SITES:
                self._sites.popitem(last=False)

    def exploration(self, url: str) -> float:
        """Return the share of its promise that a queued URL is worth now, in [0, 1]."""
        site = self._sites.get(urlsplit(url).netloc, 1.0) if self._sites else 1.0
        return min(1.0, min(self._crawl, site) / _FULL_UNTIL)

    def explorations(self, urls: Sequence[str]) -> Floats:
        """Return the shares of many."""
        if not self._sites:
            return np.full(len(urls), min(1.0, self._crawl / _FULL_UNTIL))
        return np.array([self.exploration(url) for url in urls])
