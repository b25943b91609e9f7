"""Divide a number of downloads a day over pages, so that all of them together yield the most of an objective.

The objective is a sum over pages, and each further download of a page yields less. So in the best division another
download would yield the same on every page: its price (a Lagrange multiplier; Cho and Garcia-Molina, Effective page
refresh policies, 2003, section 4). For freshness, pages that change faster than they can be kept fresh get the fewest
downloads allowed, as in that paper; for changes, downloads are divided in proportion to rates. What is known of a page
is a distribution rather than one rate, and each page has one of G intervals.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aahcrawler.revisits.revisit_policies import Floats

_STEPS: Final = 60
_NEVER: Final = 1e-300
"""The smallest probability of no change in calculations."""
_LOWEST: Final = 1e-12
"""The lowest price considered, as a fraction of the highest."""
PRICES: Final = np.geomspace(1e-4, 1e4, 65)
"""The prices at which demand is computed."""


class Objective(StrEnum):
    """What downloads should yield."""

    CHANGES = "changes"
    """As many visits as possible that find a change."""
    FRESHNESS = "freshness"
    """As many pages as possible whose archived state is what the site shows, on average over time."""


def values(unchanged: Floats, days: Floats, objective: Objective) -> Floats:
    """Return what a page yields at each of G intervals (N x G): changes found a day, or the share of time it is fresh.

    ``unchanged`` (N x G) are the probabilities of no change within each interval, falling; ``days`` (G) rise.
    """
    if objective is Objective.CHANGES:
        found: Floats = (1 - unchanged) / days
        return found
    unchanged = np.maximum(unchanged, _NEVER)
    before = np.hstack((np.ones((len(unchanged), 1)), unchanged[:, :-1]))
    lengths = np.diff(days, prepend=0.0)
    # Between two intervals the chance falls as e to a power does: its mean there is the logarithmic one.
    drops = np.log(before / unchanged)
    means = np.where(drops > 1e-9, (before - unchanged) / np.maximum(drops, 1e-9), before)
    fresh: Floats = np.cumsum(means * lengths, axis=1) / days
    return fresh


@dataclass(frozen=True, slots=True)
class Division:
    """The position of each page's interval among the G, and the price of a download, 0 if downloads are not scarce."""

    intervals: NDArray[np.intp]
    price: float


def divided(given: Floats, days: Floats, downloads: float) -> Division:
    """Return the intervals of pages (``given`` is N x G) that yield the most with this many downloads a day.

    If there are too few downloads even for the greatest intervals, each page has its greatest interval. Of pages whose
    next step yields the same, the first ones take it as long as downloads are left. So the result is worse than the
    best division by less than the largest step of one page. Time is nearly linear in the number of pages: those whose
    interval is certain are left out.
    """
    often = 1 / days
    most = _chosen(given, often, 0.0)
    if often[most].sum() <= downloads:
        return Division(most, 0.0)
    low, high = _LOWEST, 1.0 + float((np.abs(np.diff(given, axis=1)) / -np.diff(often)).max(initial=0.0))
    least = _chosen(given, often, high)
    open_ = np.flatnonzero(least != most)
    for _ in range(_STEPS):
        if not len(open_):
            break
        price = math.sqrt(low * high)
        at_price = _chosen(given[open_], often, price)
        if often[least].sum() - often[least[open_]].sum() + often[at_price].sum() > downloads:
            low, most[open_] = price, at_price
        else:
            high, least[open_] = price, at_price
        open_ = open_[least[open_] != most[open_]]
    left = downloads - float(often[least].sum())
    for page in open_:
        step = often[most[page]] - often[least[page]]
        if step <= left:
            least[page] = most[page]
            left -= step
    return Division(least, high)


def _chosen(given: Floats, often: Floats, price: float) -> NDArray[np.intp]:
    """Return the position of each page's best interval at a price; of equally good ones the longest."""
    worth = (given - price * often)[:, ::-1]
    return np.asarray(worth.shape[1] - 1 - np.argmax(worth, axis=1), np.intp)


def demand(given: Floats, days: Floats) -> tuple[float, ...]:
    """Return how many downloads a day the pages of ``given`` (N x G) are worth at each of ``PRICES``."""
    often = 1 / days
    return tuple(float(often[_chosen(given, often, float(price))].sum()) for price in PRICES)


def shared(demands: Mapping[str, Sequence[float]], downloads: float) -> Mapping[str, float]:
    """Divide downloads a day over crawls by their demand curves, so that all of them have the same price.

    If they are worth fewer downloads, each gets what it is worth at the lowest price.
    """
    if not demands:
        return {}
    curves = np.array(list(demands.values()))
    total = curves.sum(axis=0)
    # Demand falls with the price: between two prices both are taken for straight lines.
    place = float(np.interp(-downloads, -total, np.arange(len(PRICES))))
    below = min(int(place), len(PRICES) - 2)
    part = place - below
    shares = curves[:, below] * (1 - part) + curves[:, below + 1] * part
    return dict(zip(demands, map(float, shares), strict=True))
