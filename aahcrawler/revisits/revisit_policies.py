"""Revisit policies: after each visit of a page, in how many days it is worth another one.

These are the policies of the paper on changes of the Web of Data (section 4.1) with its factors, those of two other
crawlers with their defaults, an estimate of the rate by maximum likelihood, and one that follows bursts. A policy is
made for each page, and knows nothing but that page's visits, so it can be restored from a log of them.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

WEEK: Final = 7.0
MONTH: Final = 30.0
Floats = NDArray[np.float64]
PRICE: Final = 0.26
"""The price of a visit, in changes found. At this price a page with a steady rate is visited as often as it changes."""
_WINDOW: Final = 10
"""The most snapshots in the window."""
_FACTORS: Final = ((0.9, 1 / 3), (0.75, 1 / 2), (0.6, 1 / 1.5))
_SLOWER: Final = ((0.1, 3.0), (0.25, 2.0), (0.4, 1.5))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The fewest and the most days between two visits of a page, and the days after its first visit.

    The paper limits intervals to a day and six months (section 4.3); it does not say with which its policies begin.
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

    The first visit of a page is not observed, since it shows no change.
    """

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self.bounds = bounds
        self.days = bounds.within(bounds.first)
        """Days from the last visit to the next."""

    def observe(self, visit: PageVisit) -> None:
        """Learn from the next visit, and set ``days``."""
        self.days = self.bounds.within(self._after(visit))

    def observe_all(self, visits: Iterable[PageVisit]) -> None:
        """Learn from several visits, in order, and set ``days``."""
        for visit in visits:
            self.observe(visit)

    @abstractmethod
    def _after(self, visit: PageVisit) -> float:
        """Return the days until the next visit, before the bounds are applied."""


class Constant(RevisitPolicy):
    """Always the same interval: ``week`` of the paper, and ``gold`` if it is the mean time between changes."""

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
    """``state-1``, ``state-2``: by how often, at this interval, a change followed what the last visits have found."""

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
    """The mean time between changes at the most likely rate, whatever the intervals of visits.

    Changes are modelled as a Poisson process (Cho and Garcia-Molina, Estimating frequency of change, 2003, section 5).
    To keep the rate finite, half a visit with a change and half a visit without one, at the first interval, are added.
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


class RateBeliefs:
    """Estimates the rates of changes of N pages, each of which keeps a rate for a while and then jumps to another.

    A page is quiet for long and then changes often, so its rate, one of K, is a hidden state. There are M models, in
    which a rate lasts on average for a few changes, for many, or for ever; they are weighted by how well each predicted
    the visits so far. Then the rate jumps to any other, most probably to one that the page had before. A page takes O(M
    K) of memory, and a visit O(M K) of time.
    """

    def __init__(self, bounds: Bounds, priors: Floats) -> None:
        """``priors`` (N x M x K) are the probabilities of models and rates before the first visit, all above 0."""
        self._table = _table(bounds)
        self._prior_weights = priors.sum(axis=2)
        self._chances = priors / self._prior_weights[:, :, None]
        """Of each rate, by each model."""
        self._spent = np.full(priors.shape, _VISITS_KNOWN / priors.shape[2])
        """How many visits found the page at each rate, by each model, and some at all of them that were never made."""
        self.foretold = np.zeros(priors.shape[:2])
        """The logarithm of how likely the visits of each page are by each model (N x M)."""

    def observe(self, pages: NDArray[np.intp], days: Floats, changed: NDArray[np.bool_]) -> None:
        """Learn from one more visit of each of some pages, so many days after the visit before it."""
        expected = days[:, None, None] * self._table.rates
        likely = np.where(changed[:, None, None], -np.expm1(-expected), np.exp(-expected))
        stayed = self._chances[pages] * np.exp(-days[:, None, None] * self._table.jumps)
        jumped = 1 - stayed.sum(axis=2, keepdims=True)
        chances = (stayed + jumped * _shares(self._spent[pages])) * likely
        foretold = chances.sum(axis=2)
        self._chances[pages] = chances = chances / foretold[:, :, None]
        self._spent[pages] += chances
        self.foretold[pages] += np.log(foretold)

    def observe_all(self, visits: Sequence[Sequence[PageVisit]]) -> None:
        """Learn from several visits of each page, in order."""
        numbers = np.array([len(each) for each in visits])
        order = np.argsort(-numbers, kind="stable")
        for place in range(numbers.max(initial=0)):
            pages = order[: np.count_nonzero(numbers > place)]
            found = [visits[page][place] for page in pages]
            self.observe(pages, np.array([each.days for each in found]), np.array([each.changed for each in found]))

    def unchanged(self, pages: NDArray[np.intp] | None = None) -> Floats:
        """Return the probability that a page does not change within each of ``interval_levels`` after a visit (N x G).

        ``pages`` are the positions of the wanted pages; None stands for all.
        """
        of = slice(None) if pages is None else pages
        table = self._table
        foretold, chances, where_to = self.foretold[of], self._chances[of], _shares(self._spent[of])
        weights = self._prior_weights[of] * np.exp(foretold - foretold.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        found = np.zeros((len(weights), len(table.days)))
        for model, (stayed, jumped) in enumerate(zip(table.stayed_unchanged, table.jumped, strict=True)):
            now = chances[:, model]
            unchanged = now @ stayed.T + (now @ jumped.T) * (where_to[:, model] @ table.unchanged.T)
            found += weights[:, model, None] * unchanged
        return found


class JumpingRate(RevisitPolicy):
    """Estimates a rate of changes that jumps (``RateBeliefs``); waits for the interval that yields the most at a price.

    That is the interval for which the probability of a change, less ``price``, divided by the days, is greatest. If all
    pages have the same price, no visit could be moved from one page to another and be expected to find more. A lower
    price means more visits.
    """

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS, price: float = PRICE, prior: Floats | None = None) -> None:
        """``price`` lies between 0 and 1; at .26 a page with a steady rate is visited as often as it changes.

        ``prior`` (M x K) are the probabilities of models and ``rate_levels`` before the first visit, by what is known
        of other pages. Without it, all rates are equally probable, and the first interval is that of the bounds.
        """
        super().__init__(bounds)
        self._price = price
        self._beliefs = RateBeliefs(bounds, (no_prior(bounds) if prior is None else prior)[None])
        if prior is not None:
            self.days = self._best()

    def observe_all(self, visits: Iterable[PageVisit]) -> None:
        """See ``RevisitPolicy``; the days are chosen once, after the last visit."""
        if found := list(visits):
            self._beliefs.observe_all([found])
            self.days = self._best()

    def _after(self, visit: PageVisit) -> float:
        self._beliefs.observe_all([[visit]])
        return self._best()

    def _best(self) -> float:
        return float(best_days(self._beliefs.unchanged(), self.bounds, self._price)[0])


_LASTING: Final = (1.5, 6.0, 1e4)
"""The number of changes that a rate yields on average before it jumps, for each model."""
MODEL_WEIGHTS: Final = (0.25, 0.25, 0.5)
"""The probabilities of the models if nothing is known of a page."""
_VISITS_KNOWN: Final = 30.0
_LEVELS: Final = 72
"""The number of rates, so close to one another that two hundred visits of a page do not single one out."""
_INTERVALS: Final = 80
_BATCH: Final = 4096


@dataclass(frozen=True, slots=True)
class _Table:
    """What depends on the bounds alone: M models, K rates, G intervals."""

    rates: Floats
    """K rates in changes a day, from one change in four times the longest interval to six in the shortest."""
    jumps: Floats
    """M x K: the rate of jumps, a day."""
    days: Floats
    """G intervals, in days."""
    unchanged: Floats
    """G x K: the probability of no change within an interval."""
    stayed_unchanged: Floats
    """M x G x K: the probability of no change and no jump in its first half."""
    jumped: Floats
    """M x G x K: the probability of a jump in its first half."""


def no_prior(bounds: Bounds) -> Floats:
    """Return the probabilities of models and rates (M x K) if nothing is known of a page."""
    levels = len(rate_levels(bounds))
    return np.repeat(np.array(MODEL_WEIGHTS)[:, None] / levels, levels, axis=1)


def _shares(spent: Floats) -> Floats:
    shares: Floats = spent / spent.sum(axis=2, keepdims=True)
    return shares


def best_days(unchanged: Floats, bounds: Bounds, price: float = PRICE) -> Floats:
    """Return for each page the interval at which the probability of a change, less a price, a day is greatest.

    ``unchanged`` (N x G) is that of ``RateBeliefs``.
    """
    days = interval_levels(bounds)
    chosen: Floats = days[np.argmax((1 - unchanged - price) / days, axis=1)]
    return chosen


def batched_places(number: int) -> Iterator[slice]:
    """Yield slices of the positions of so many pages, each small enough for ``RateBeliefs`` to take about 50 MB."""
    return (slice(begin, begin + _BATCH) for begin in range(0, number, _BATCH))


def rate_levels(bounds: Bounds) -> Floats:
    """Return the K rates, in changes a day, that are distinguished within the bounds, the lowest first."""
    return _table(bounds).rates


def interval_levels(bounds: Bounds) -> Floats:
    """Return the G intervals to choose from, in days, from the least to the greatest of the bounds."""
    return _table(bounds).days


@cache
def _table(bounds: Bounds) -> _Table:
    rates = np.geomspace(1 / (4 * bounds.greatest), 6 / bounds.least, _LEVELS)
    jumps = rates / np.array(_LASTING)[:, None]
    days = np.geomspace(bounds.least, bounds.greatest, _INTERVALS)
    unchanged = np.exp(-rates * days[:, None])
    stayed = np.exp(-jumps[:, None, :] * (days / 2)[None, :, None])
    return _Table(rates, jumps, days, unchanged, stayed * unchanged, 1 - stayed)
