"""The ranker's model: two regressions on the features of URLs, one for their worth and one for their promise.

**Worth** is the square root of a page's document score, counted in units: a page as good as the best tenth of those
fetched is worth 1. A crawl wants many relevant pages rather than a few that are nothing else, so that the difference
between irrelevant and relevant counts for more than that between good and better. The prior of a page's worth is the
same of the analysers' score of the links to it; the regression learns the difference.
**Promise** is the worth of a page that leads to good pages: by how much the URLs that it was the first to show exceed
the n-th best of all queued URLs, which would be fetched without it, where n pages have been fetched. It is counted up
to a bound, as a crawl cannot fetch everything at once. Before anything is known of it, the names that hubs have promise
some (``link_statistics``). Promise counts the less, the less budget is left.
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np

from online_analysis.aggregation import UNSPENT, BudgetLeft, Reason
from online_analysis.ranking.link_statistics import (
    COLUMNS,
    Floats,
    Group,
    LinkStatistics,
    Ridge,
    Rows,
    Weights,
    rows_of,
)

_FULL_UNTIL = 0.5
"""The share of a budget, that is left, from which on promise falls."""
_MAX_SITES = 10_000


class RemainingBudget:
    """What is left of the budget of a crawl, and of each of the last 10,000 sites with a budget of their own."""

    def __init__(self) -> None:
        self._crawl = 1.0
        self._sites: OrderedDict[str, float] = OrderedDict()

    def note(self, url: str, left: BudgetLeft = UNSPENT) -> None:
        """Record what was left when a page was fetched."""
        self._crawl = left.crawl
        host = urlsplit(url).netloc
        self._sites.pop(host, None)
        if left.site < 1.0:
            self._sites[host] = left.site
            if len(self._sites) > _MAX_SITES:
                self._sites.popitem(last=False)

    def exploration(self, url: str) -> float:
        """Return the share of its promise that a queued URL is worth now, in [0, 1]."""
        site = self._sites.get(urlsplit(url).netloc, 1.0) if self._sites else 1.0
        return min(1.0, min(self._crawl, site) / _FULL_UNTIL)

    def explorations(self, urls: Sequence[str]) -> Floats:
        """Return the shares of many."""
        if not self._sites:
            return np.full(len(urls), min(1.0, self._crawl / _FULL_UNTIL))
        origins = ["/".join(url.split("/", 3)[:3]) for url in urls]
        shares = {origin: self.exploration(origin) for origin in set(origins)}  # Of many URLs there are few.
        return np.array([shares[origin] for origin in origins])


_PENALTY = 2.0
_PROMISE_COUNTS = 0.2
_MAX_PROMISE = 6.0
_PROMISE_OF_HUBS = 1.0
_GOOD = 0.9
_NEAREST_HORIZON = 20
_LOW, _HIGH = 0.1, 0.5


@dataclass(slots=True, eq=False)
class Lesson:
    """A fetched page, its worth, and the URLs that it was the first to show."""

    sighting: LinkStatistics
    relevance: float
    shown: list[LinkStatistics] = field(default_factory=list)


class Belief:
    """A linear model: its intercept and the weight of each column. It predicts nothing before it is fitted."""

    def __init__(self) -> None:
        self.mean = 0.0
        self.weights = Weights(COLUMNS)

    def learn(self, ridge: Ridge, targets: Floats) -> None:
        """Fit the model to the rows of a regression."""
        self.mean = float(targets.mean())
        ridge.fit(targets - self.mean, self.weights)

    def of(self, rows: Rows) -> Floats:
        """Return the predictions for rows."""
        return self.mean + rows.times(self.weights.all)

    def effect(self, group: Group) -> float:
        """Return the contribution of a group of features."""
        return sum(value * float(self.weights.all[column]) for column, value in zip(*group, strict=True))


class Model:
    """Learns from lessons; predicts nothing before. ``budget`` tells how much promises still count."""

    def __init__(self, budget: RemainingBudget) -> None:
        self._budget = budget
        self._unit = 1.0
        self._relevance = Belief()
        self._promise = Belief()

    def learn(self, lessons: Sequence[Lesson], waiting: Sequence[LinkStatistics]) -> None:
        """Learn from all lessons, and predict the worth of all queued URLs anew."""
        worths = np.array([lesson.relevance for lesson in lessons])
        self._unit = _quantile(worths, _GOOD) or float(worths.max()) or 1.0
        worths = np.sqrt(worths / self._unit)
        for lesson, worth in zip(lessons, worths.tolist(), strict=True):
            lesson.sighting.value = worth
        taught = [lesson.sighting for lesson in lessons]
        ridge = Ridge(rows_of(taught, self._unit), _PENALTY)
        self._relevance.learn(
            ridge, np.where([each.is_linked for each in taught], worths - self._analyser_means(taught), 0.0)
        )
        if waiting:
            rows = rows_of(waiting, self._unit)
            values = self._value(waiting, rows)
            promises = self._promises(lessons, values) - _hubs(taught)
            self._promise.learn(ridge, promises)
            self._score(waiting, rows, values)

    def predict(self, sightings: Sequence[LinkStatistics]) -> None:
        """Predict the worth of URLs."""
        if sightings:
            rows = rows_of(sightings, self._unit)
            self._score(sightings, rows, self._value(sightings, rows))

    def novelty(self, sighting: LinkStatistics) -> float:
        """Return the share of a URL's features that no fetched page has had, in [0, 1]."""
        row = sighting.row(self._unit)
        squares = row.values * row.values
        total = float(squares.sum())
        return float(squares[self._relevance.weights.all[row.columns] == 0.0].sum()) / total if total else 0.0

    def _value(self, sightings: Sequence[LinkStatistics], rows: Rows) -> Floats:
        values = self._relevance.of(rows) + self._analyser_means(sightings)
        for sighting, value in zip(sightings, values.tolist(), strict=True):
            sighting.value = value
        return values

    def _analyser_means(self, sightings: Sequence[LinkStatistics]) -> Floats:
        """Return the worth that the analysers saw in the links to URLs."""
        return np.sqrt(np.array([sighting.analyser_mean for sighting in sightings]) / self._unit)

    def _promises(self, lessons: Sequence[Lesson], values: Floats) -> Floats:
        horizon = max(_NEAREST_HORIZON, len(lessons))
        marginal = float(np.partition(values, -horizon)[-horizon]) if len(values) > horizon else 0.0
        for lesson in lessons:
            lesson.shown = [sighting for sighting in lesson.shown if sighting.value]
        shown = np.array([sighting.value for lesson in lessons for sighting in lesson.shown])
        owners = np.repeat(np.arange(len(lessons)), [len(lesson.shown) for lesson in lessons])
        return np.minimum(_MAX_PROMISE, np.bincount(owners, np.maximum(0.0, shown - marginal), len(lessons)))

    def _score(self, sightings: Sequence[LinkStatistics], rows: Rows, values: Floats) -> None:
        counts = _PROMISE_COUNTS * self._budget.explorations([each.url for each in sightings])
        values = values + counts * (self._promise.of(rows) + _hubs(sightings))
        for sighting, score in zip(sightings, _bounded(values * np.abs(values) * self._unit).tolist(), strict=True):
            sighting.score = score

    def explain(self, sighting: LinkStatistics) -> tuple[Reason, ...]:
        """Return the parts of a URL's present score; the effects, shares of its worth, add up to it."""
        reasons = [
            Reason("score of links", sighting.analyser_mean, math.sqrt(sighting.analyser_mean / self._unit)),
            Reason("mean surplus of all pages", self._relevance.mean, self._relevance.mean),
        ]
        promise = self._promise.mean + _PROMISE_OF_HUBS * sighting.is_hub
        counts = _PROMISE_COUNTS * self._budget.exploration(sighting.url)
        for name, group in sighting.groups(self._unit).items():
            promise += self._promise.effect(group)
            reasons.append(Reason(name, float(len(group.columns)), self._relevance.effect(group)))
        reasons.append(Reason("promise", promise, counts * promise))
        worth = math.fsum(reason.effect for reason in reasons)
        scale = abs(worth) * self._unit
        scaled = [Reason(reason.name, reason.value, reason.effect * scale) for reason in reasons]
        return (*scaled, Reason("bounds", worth * scale, bounded(worth * scale) - worth * scale))


def bounded(value: float) -> float:
    """Map a value into (0, 1), keeping the order: values between 0.1 and 0.5 stay unchanged.

    >>> bounded(0.3), bounded(0.5), bounded(5.0)
    (0.3, 0.5, 0.95)
    """
    return float(_bounded(np.array([value]))[0])


def _bounded(values: Floats) -> Floats:
    low, high = np.minimum(values, _LOW), np.maximum(values, _HIGH)
    return np.where(
        values < _LOW, _LOW * np.exp(low / _LOW - 1.0), np.where(values > _HIGH, 1.0 - _HIGH * _HIGH / high, values)
    )


def _quantile(values: Floats, share: float) -> float:
    """Return the value that a share of all do not exceed, between the two that are nearest (as ``numpy.quantile``)."""
    ordered = np.sort(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    below, above = float(ordered[low]), float(ordered[min(low + 1, len(ordered) - 1)])
    beyond, difference = place - low, above - below
    return below + difference * beyond if beyond < 0.5 else above - difference * (1 - beyond)


def _hubs(sightings: Sequence[LinkStatistics]) -> Floats:
    return _PROMISE_OF_HUBS * np.array([sighting.is_hub for sighting in sightings], np.float64)
