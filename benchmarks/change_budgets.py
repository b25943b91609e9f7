"""The effect of priors and budgets: pages with known siblings, and downloads divided over pages by an objective."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aahcrawler.revisits.rate_priors import STATED, KnownPage, RatePrior, learned_priors
from aahcrawler.revisits.revisit_policies import (
    DEFAULT_BOUNDS,
    Constant,
    JumpingRate,
    PageVisit,
    RevisitPolicy,
    interval_levels,
)
from aahcrawler.revisits.visit_budget import Objective, divided, values
from benchmarks.results import Row

Trace = NDArray[np.float64]
_LAST: Final = 60
_YEAR: Final = 365.0


@dataclass(frozen=True, slots=True)
class TracedPage:
    """A page: when it changes, in days, and what is known of it before its visits."""

    changes: Trace
    known: KnownPage


@dataclass(frozen=True, slots=True)
class Found:
    """What visits achieved on some pages: changes made, changes seen, and downloads."""

    made: int
    seen: int
    downloads: int

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and of changes seen for each download."""
        return 2 * self.seen / (self.made + self.downloads)


def stated_of(random: np.random.Generator, changes: Trace, span: float) -> str:
    """Return the word of a sitemap that is nearest to how often a page changes; for half of all pages any word."""
    words = [word for word in STATED if word not in {"always", "never"}]
    if random.random() < 0.5:
        return str(random.choice(words))
    days = span / max(len(changes), 0.5)
    return min(words, key=lambda word: abs(math.log(STATED[word] / days)))


def watched(pages: Sequence[TracedPage], span: float) -> list[KnownPage]:
    """Return what is known of pages that the jumping rate has visited for the whole span."""
    return [replace(page.known, visits=tuple(_visits(page.changes, JumpingRate(), span)[-_LAST:])) for page in pages]


def _visits(changes: Trace, policy: RevisitPolicy, until: float) -> list[PageVisit]:
    visits: list[PageVisit] = []
    known, last, now = 0, 0.0, policy.days
    while now <= until:
        passed = int(np.searchsorted(changes, now, side="right"))
        visits.append(PageVisit(now - last, passed > known))
        policy.observe(visits[-1])
        known, last = passed, now
        now += policy.days
    return visits


def newcomers(pages: Sequence[TracedPage], priors: Sequence[RatePrior | None], days: float, price: float) -> Found:
    """Visit pages from their first day on, each with a prior or without one."""
    policies = [JumpingRate(price=price, prior=None if prior is None else prior.shares) for prior in priors]
    return _found(pages, policies, days)


def _found(pages: Sequence[TracedPage], policies: Sequence[RevisitPolicy], days: float) -> Found:
    found = [_visits(page.changes, policy, days) for page, policy in zip(pages, policies, strict=True)]
    made = sum(int((page.changes <= days).sum()) for page in pages)
    return Found(made, sum(visit.changed for each in found for visit in each), sum(map(len, found)))


def at_downloads(pages: Sequence[TracedPage], priors: Sequence[RatePrior | None], days: float, downloads: int) -> Found:
    """Return what is found at the price that makes about so many visits, within 2 %."""
    least, most = 0.001, 0.95
    found = newcomers(pages, priors, days, 0.26)
    for _ in range(12):
        if abs(found.downloads - downloads) <= 0.02 * downloads:
            break
        price = math.sqrt(least * most)
        found = newcomers(pages, priors, days, price)
        least, most = (price, most) if found.downloads > downloads else (least, price)
    return found


def _told(pages: Sequence[TracedPage], others: Sequence[KnownPage]) -> list[RatePrior]:
    return learned_priors([*(page.known for page in pages), *others], DEFAULT_BOUNDS)[: len(pages)]


def prior_rows(name: str, worlds: Sequence[Sequence[TracedPage]], span: float) -> Iterator[Row]:
    """Yield what visits of every second page find in its first days, where the others have been watched before.

    Those with priors and those without make as many visits as there are changes in that time; ``gold`` knows them.
    """
    split = [(pages[1::2], _told(pages[1::2], watched(pages[::2], span))) for pages in worlds]
    for days in (30.0, 90.0, 365.0, span):
        for policy in ("gold", "jumping rate, no priors", "jumping rate, priors"):
            found = []
            for pages, priors in split:
                told = priors if policy.endswith(", priors") else [None] * len(pages)
                made = [int((page.changes <= days).sum()) for page in pages]
                if policy == "gold":
                    golden = [Constant(days / max(number, 0.5)) for number in made]
                    found.append(_found(pages, golden, days))
                else:
                    found.append(at_downloads(pages, told, days, sum(made)))
            yield {
                "trace": name,
                "policy": policy,
                "days": round(days),
                "recall": round(float(np.mean([each.seen / each.made for each in found])), 3),
                "precision": round(float(np.mean([each.seen / max(each.downloads, 1) for each in found])), 3),
                "f1": round(float(np.mean([each.f1 for each in found])), 3),
                "downloads": round(float(np.mean([each.downloads for each in found]))),
            }


def budget_rows(pages: Sequence[Trace], rates: Trace, span: float, downloads: float) -> Iterator[Row]:
    """Yield what divisions of as many downloads reach on pages after their first year.

    ``rates`` are the true ones, in changes a day; what is ``learned`` is what weekly visits of that year have shown.
    """
    days = interval_levels(DEFAULT_BOUNDS)
    learned = np.array([_learned(changes) for changes in pages])
    true = np.exp(-rates[:, None] * days)
    divisions: dict[tuple[str, str], Trace] = {
        ("uniform", "-"): np.full(len(pages), len(pages) / downloads),
        ("proportional", "true rates"): _proportional(rates, downloads),
    }
    for known, unchanged in (("true rates", true), ("learned", learned)):
        for objective in Objective:
            given = values(unchanged, days, objective)
            divisions[f"by {objective}", known] = days[divided(given, days, downloads).intervals]
    for (division, known), intervals in divisions.items():
        reached = [_reached(changes, each, span) for changes, each in zip(pages, intervals, strict=True)]
        fresh, seen, made = np.array(reached).T
        yield {
            "division": division,
            "known": known,
            "freshness": round(float(fresh.mean()), 3),
            "changes_found_a_day": round(float(seen.sum() / (span - _YEAR)), 2),
            "downloads_a_day": round(float(made.sum() / (span - _YEAR)), 2),
        }


def _learned(changes: Trace) -> Trace:
    """Return the chances of no change that weekly visits of a year leave."""
    policy = JumpingRate(DEFAULT_BOUNDS)
    known = 0
    for week in range(1, 53):
        passed = int(np.searchsorted(changes, 7.0 * week, side="right"))
        policy.observe(PageVisit(7.0, passed > known))
        known = passed
    return np.minimum.accumulate(policy.unchanged())


def _proportional(rates: Trace, downloads: float) -> Trace:
    """Return intervals in proportion to the time between changes, within the bounds, for so many downloads."""
    low, high = 1e-3, 1e6
    for _ in range(100):
        factor = math.sqrt(low * high)
        intervals = np.clip(factor / rates, DEFAULT_BOUNDS.least, DEFAULT_BOUNDS.greatest)
        low, high = (factor, high) if (1 / intervals).sum() > downloads else (low, factor)
    return np.asarray(intervals, np.float64)


def _reached(changes: Trace, interval: float, span: float) -> tuple[float, int, int]:
    """Return the part of the time after the first year for which a copy is fresh, changes found and downloads."""
    moments = np.append(np.arange(_YEAR, span, interval), span)
    passed = np.searchsorted(changes, moments, side="right")
    following = np.append(changes, np.inf)[passed[:-1]]
    fresh = np.minimum(following, moments[1:]) - moments[:-1]
    return float(fresh.sum() / (span - _YEAR)), int((np.diff(passed) > 0)[:-1].sum()), len(moments) - 2
