"""Visits pages with known changes by the jumping rate, many at a time, which learn from one another or not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aahcrawler.revisits.rate_priors import Ground, KnownPage, RatePrior, learned_priors
from aahcrawler.revisits.revisit_policies import (
    DEFAULT_BOUNDS,
    PRICE,
    Floats,
    PageVisit,
    RateBeliefs,
    best_days,
    no_prior,
)

Trace = NDArray[np.float64]
"""Times of one page's changes, in days since its first visit."""
Prior = RatePrior | None
_LEARNED_AT: Final = 30.0 * 2.0 ** np.arange(6)
"""Days after which pages learn from one another, ever more rarely, as it is costly."""


@dataclass(frozen=True, slots=True)
class TracedPage:
    """A page: the days of its changes, and what is known of it before its visits."""

    changes: Trace
    known: KnownPage


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy found of some pages."""

    made: int
    seen: int
    downloads: int

    @property
    def recall(self) -> float:
        """The share of changes that were seen."""
        return self.seen / max(self.made, 1)

    @property
    def precision(self) -> float:
        """The changes seen per download."""
        return self.seen / max(self.downloads, 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.seen / max(self.made + self.downloads, 1)


def outcomes(pages: Sequence[TracedPage], visits: Sequence[Sequence[PageVisit]], days: float) -> list[Outcome]:
    """Return what visits in the first days found of each page."""
    return [
        Outcome(int((page.changes <= days).sum()), sum(visit.changed for visit in each), len(each))
        for page, each in zip(pages, visits, strict=True)
    ]


def total(found: Sequence[Outcome]) -> Outcome:
    """Return what was found of all pages together."""
    return Outcome(*(sum(getattr(each, name) for each in found) for name in ("made", "seen", "downloads")))


def visits_by_jumping_rate(
    pages: Sequence[TracedPage],
    days: float,
    price: float = PRICE,
    priors: Sequence[Prior] | None = None,
    *,
    learning: bool = False,
) -> list[list[PageVisit]]:
    """Return the visits of each page in its first days, as ``JumpingRate`` at this price makes them.

    All pages begin at once, each with its prior, if any. With ``learning``, all get new priors from time to time, by
    the visits of the others.
    """
    crowd = _Crowd(pages, price, priors or [None] * len(pages))
    if learning:
        for moment in _LEARNED_AT[days > _LEARNED_AT]:
            crowd.visit_until(float(moment))
            crowd.learn(float(moment))
    crowd.visit_until(days)
    return crowd.visits


class _Crowd:
    """Pages of one crawl: their visits so far, the beliefs about their rates, and when each is visited next."""

    def __init__(self, pages: Sequence[TracedPage], price: float, priors: Sequence[Prior]) -> None:
        self._pages = pages
        self._price = price
        self.visits: list[list[PageVisit]] = [[] for _ in pages]
        self._last, self._known = np.zeros(len(pages)), np.zeros(len(pages), np.intp)
        self._believe(priors)
        self._next = self._days

    def _believe(self, priors: Sequence[Prior]) -> None:
        told = np.array([prior is not None and prior.ground is not Ground.NOTHING for prior in priors], np.bool_)
        nothing = no_prior(DEFAULT_BOUNDS)
        self._beliefs = RateBeliefs(
            DEFAULT_BOUNDS, np.array([nothing if prior is None else prior.chances for prior in priors])
        )
        self._beliefs.observe_all(self.visits)
        told |= np.array([bool(each) for each in self.visits], np.bool_)
        self._days: Floats = np.where(told, self._best(np.arange(len(told))), DEFAULT_BOUNDS.first)

    def _best(self, pages: NDArray[np.intp]) -> Floats:
        return best_days(self._beliefs.unchanged(pages), DEFAULT_BOUNDS, self._price)

    def visit_until(self, days: float) -> None:
        """Make all visits that are due until then."""
        due = np.flatnonzero(self._next <= days)
        while len(due):
            waited = self._next[due] - self._last[due]
            changed = np.zeros(len(due), np.bool_)
            for place, page in enumerate(due.tolist()):
                passed = int(np.searchsorted(self._pages[page].changes, self._next[page], side="right"))
                changed[place] = passed > self._known[page]
                self._known[page] = passed
                self.visits[page].append(PageVisit(float(waited[place]), bool(changed[place])))
            self._beliefs.observe(due, waited, changed)
            self._last[due] = self._next[due]
            self._next[due] += self._best(due)
            due = due[self._next[due] <= days]

    def learn(self, now: float) -> None:
        """Give each page a prior by the visits of the others, and plan its next visit anew."""
        known = [replace(page.known, visits=tuple(each)) for page, each in zip(self._pages, self.visits, strict=True)]
        self._believe(learned_priors(known, DEFAULT_BOUNDS))
        self._next = np.maximum(self._last + self._days, now)
