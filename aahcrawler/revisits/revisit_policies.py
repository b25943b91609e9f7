"""Revisit policies: after each visit of a page, in how many days it is worth another one.

These are the policies of the paper on changes of the Web of Data (section 4.1) with its factors, those of two other
crawlers with their defaults, an estimate of the rate by maximum likelihood, and one that follows bursts. A policy is
made for each page, and knows nothing but that page's visits, so it can be restored from a log of them.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

WEEK: Final = 7.0
MONTH: Final = 30.0
Floats = NDArray[np.float64]
_WINDOW: Final = 10
"""The most snapshots in the window."""
_FACTORS: Final = ((0.9, 1 / 3), (0.75, 1 / 2), (0.6, 1 / 1.5))
_SLOWER: Final = ((0.1, 3.0), (0.25, 2.0), (0.4, 1.5))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The fewest and the most days between two visits of a page, and the days after its first visit.

    The paper's limits are a day and six months (section 4.3); it does not say where its policies begin.
    """

    least: float = 1.0
    greatest: float = 182.5
    first: float = WEEK

    def within(self, days: float) -> float:
        """Return the allowed number of days nearest to ``days``."""
        return min(max(days, self.least), self.greatest)


DEFAULT_BOUNDS: Final = Bounds()


@dataclass(frozen=True, slots=True)
class PageVisit:
    """What a visit found: days since the visit before it, and whether the page had changed since."""

    days: float
    changed: bool


class RevisitPolicy(ABC):
    """Decides after each visit of one page how many days to wait.

    The first visit is not observed, because it shows no change.
    """

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.bounds = bounds
        self.days = bounds.within(bounds.first)
        """Days from the last visit to the next."""

    def observe(self, visit: PageVisit) -> None:
        """Use what the next visit found, and set ``days``."""
        self.days = self.bounds.within(self._after(visit))

    def observe_all(self, visits: Iterable[PageVisit]) -> None:
        """Use what several visits found, in order, and set ``days``."""
        for visit in visits:
            self.observe(visit)

    @abstractmethod
    def _after(self, visit: PageVisit) -> float:
        """Return the days until the next visit, before the bounds are applied."""


class Constant(RevisitPolicy):
    """The same interval always: ``week`` of the paper, and ``gold`` if it is the mean time between changes."""

    def __init__(self, days: float, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        super().__init__(Bounds(bounds.least, bounds.greatest, days))

    def _after(self, visit: PageVisit) -> float:  # noqa: ARG002
        return self.days


class FixedSnapshots(RevisitPolicy):
    """``fix``: two visits at one interval that both found changes shorten it, two that found none lengthen it."""

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        super().__init__(bounds)
        self._found: list[bool] = []

    def _snapshots(self) -> int:
        return 2

    def _after(self, visit: PageVisit) -> float:
        self._found.append(visit.changed)
        last = self._found[-self._snapshots() :]
        if len(last) < self._snapshots() or any(last) != all(last):
            return self.days
        self._found.clear()
        if last[0]:
            return self.days / (1.5 if self.days > MONTH else 2.0)
        return self.days * (1.5 if self.days < MONTH else 2.0)


class DynamicSnapshots(FixedSnapshots):
    """``dyn``: like ``fix``, with more visits the closer they are: one over two months apart, four within a week."""

    def _snapshots(self) -> int:
        return next((number for number, days in enumerate((2 * MONTH, MONTH, WEEK), 1) if self.days > days), 4)


class Window(RevisitPolicy):
    """``window``: by the share of changes in the last ten visits, or in half of all visits if these are fewer."""

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        super().__init__(bounds)
        self._found: list[bool] = []

    def _after(self, visit: PageVisit) -> float:
        self._found.append(visit.changed)
        last = self._found[-min(_WINDOW, max(1, len(self._found) // 2)) :]
        return self.days * _factor(sum(last) / len(last))


class ChangeStates(RevisitPolicy):
    """``state-1``, ``state-2``: by how often, at this interval, a change followed what the last visits had found."""

    def __init__(self, order: int, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        super().__init__(bounds)
        self._order = order
        self._found: tuple[bool, ...] = ()
        self._counts: Counter[tuple[float, tuple[bool, ...], bool]] = Counter()

    def _after(self, visit: PageVisit) -> float:
        at = round(self.days, 6)
        if len(self._found) == self._order:
            self._counts[at, self._found, visit.changed] += 1
        self._found = (*self._found, visit.changed)[-self._order :]
        changed, same = (self._counts[at, self._found, found] for found in (True, False))
        return self.days * _factor(changed / (changed + same)) if changed + same else self.days


def _factor(share: float) -> float:
    """Return the paper's factor for an interval, given the share or probability of changes at its visits."""
    faster = next((factor for least, factor in _FACTORS if share > least), None)
    return faster or next((factor for most, factor in _SLOWER if share < most), 1.0)


class Nutch(RevisitPolicy):
    """Apache Nutch's AdaptiveFetchSchedule with its defaults: factors 1.4 and 0.8, earlier the longer unchanged."""

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        super().__init__(bounds)
        self._interval, self._unchanged = self.days, 0.0

    def _after(self, visit: PageVisit) -> float:
        self._unchanged = 0.0 if visit.changed else self._unchanged + visit.days
        self._interval *= 0.8 if visit.changed else 1.4
        self._interval = self.bounds.within(max(self._interval, self._unchanged))
        return self._interval - 0.3 * self._unchanged


class StormCrawler(RevisitPolicy):
    """StormCrawler's AdaptiveScheduler with its default factors: .5 after a change, 1.5 after none."""

    def _after(self, visit: PageVisit) -> float:
        return self.days * (0.5 if visit.changed else 1.5)


class LikelyRate(RevisitPolicy):
    """The mean time between changes at the most likely rate, for visits at any intervals.

    Changes are modelled as a Poisson process (Cho and Garcia-Molina, Estimating frequency of change, 2003, section 5).
    Half a visit that found a change and half a visit that found none, at the first interval, keep the rate finite.
    """

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        super().__init__(bounds)
        self._changed: Counter[float] = Counter({self.days: 0.5})
        self._unchanged = self.days / 2

    def _after(self, visit: PageVisit) -> float:
        if visit.changed:
            self._changed[round(visit.days, 3)] += 1
        else:
            self._unchanged += visit.days
        lengths = np.array(list(self._changed))
        counts = np.array(list(self._changed.values()))
        # The derivative of the likelihood falls as the rate rises: its root is between these two.
        least, most = 1 / (100 * self.bounds.greatest), 100 / self.bounds.least
        for _ in range(20):
            rate = math.sqrt(least * most)
            if np.dot(counts, lengths / np.expm1(np.minimum(rate * lengths, 700))) > self._unchanged:
                least = rate
            else:
                most = rate
        return 1 / rate


class JumpingRate(RevisitPolicy):
    """Follows a rate of changes that jumps, and waits as long as brings the most changes at a price for each visit.

    A page is quiet for long and then changes often, so its rate is modelled as a hidden state: it lasts for a few
    changes, for many, or for ever (three models, weighted by how well each predicted the visits so far), and then jumps
    to any rate, more probably to one that the page had before. The interval is chosen at which the probability of a
    change, less ``price``, is greatest per day. With the same price for all pages, moving a visit from one page to
    another would not be expected to find more; a lower price means more visits.
    """

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS, price: float = 0.26, prior: Floats | None = None) -> None:
        """``price`` is between 0 and 1: .26 visits a steady page as often as it changes.

        ``prior`` gives the probabilities of ``rate_levels`` before the first visit, based on other pages; without it
        all are equal, and the first interval is that of the bounds.
        """
        super().__init__(bounds)
        self._price = price
        self._table = _table(bounds)
        levels = len(self._table.rates)
        shares = np.full(levels, 1 / levels) if prior is None else prior
        self._chances = np.tile(shares, (len(_LASTING), 1))
        """Of each rate, by each model."""
        self._weights = np.array(_WEIGHTS)
        self._spent = np.full((len(_LASTING), levels), _VISITS_KNOWN / levels)
        """How many visits found the page at each rate, by each model, and some at all of them that were never made."""
        if prior is not None:
            self.days = self._best()

    def observe_all(self, visits: Iterable[PageVisit]) -> None:
        """See ``RevisitPolicy``; ``days`` is computed once."""
        earlier: PageVisit | None = None
        for visit in visits:
            if earlier is not None:
                self._believe(earlier)
            earlier = visit
        if earlier is not None:
            self.observe(earlier)

    def _after(self, visit: PageVisit) -> float:
        self._believe(visit)
        return self._best()

    def _believe(self, visit: PageVisit) -> None:
        table = self._table
        missed = np.exp(-table.rates * visit.days)
        stayed = self._chances * np.exp(-table.jumps * visit.days)
        jumped = 1 - stayed.sum(axis=1, keepdims=True)
        chances = (stayed + jumped * self._where_to()) * (1 - missed if visit.changed else missed)
        foretold = chances.sum(axis=1)
        self._chances = chances / foretold[:, None]
        self._weights = self._weights * foretold
        self._weights /= self._weights.sum()
        self._spent += self._chances

    def _best(self) -> float:
        days = self._table.days
        return float(days[np.argmax((1 - self.unchanged() - self._price) / days)])

    def unchanged(self) -> Floats:
        """Return the probability of no change within each of ``interval_levels`` after the page's last visit."""
        table = self._table
        unchanged = np.einsum("mgk,mk->mg", table.stayed_unchanged, self._chances)
        unchanged += np.einsum("mgk,mk->mg", table.jumped, self._chances) * (self._where_to() @ table.unchanged.T)
        chances: Floats = self._weights @ unchanged
        return chances

    def _where_to(self) -> Floats:
        shares: Floats = self._spent / self._spent.sum(axis=1, keepdims=True)
        return shares


_LASTING: Final = (1.5, 6.0, 1e4)
"""How many changes occur on average before the rate jumps, in each model."""
_WEIGHTS: Final = (0.25, 0.25, 0.5)
_VISITS_KNOWN: Final = 30.0
_LEVELS: Final = 36
_INTERVALS: Final = 40


@dataclass(frozen=True, slots=True)
class _Table:
    """What depends only on the bounds: M models, K rates, G intervals."""

    rates: Floats
    """K changes a day, from one in four times the longest interval to six in the shortest."""
    jumps: Floats
    """M x K jumps a day."""
    days: Floats
    """G intervals."""
    unchanged: Floats
    """G x K: the probability of no change within an interval."""
    stayed_unchanged: Floats
    """M x G x K: the probability of no change and no jump in its first half."""
    jumped: Floats
    """M x G x K: the probability of a jump in its first half."""


def rate_levels(bounds: Bounds) -> Floats:
    """Return the rates, in changes a day, that are distinguished within the bounds: K of them, the lowest first."""
    return _table(bounds).rates


def interval_levels(bounds: Bounds) -> Floats:
    """Return the intervals in days, from the least to the greatest of the bounds, from which one is chosen."""
    return _table(bounds).days


@cache
def _table(bounds: Bounds) -> _Table:
    rates = np.geomspace(1 / (4 * bounds.greatest), 6 / bounds.least, _LEVELS)
    jumps = rates / np.array(_LASTING)[:, None]
    days = np.geomspace(bounds.least, bounds.greatest, _INTERVALS)
    unchanged = np.exp(-rates * days[:, None])
    stayed = np.exp(-jumps[:, None, :] * (days / 2)[None, :, None])
    return _Table(rates, jumps, days, unchanged, stayed * unchanged, 1 - stayed)
