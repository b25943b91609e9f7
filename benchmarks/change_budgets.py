"""Measures what priors and budgets bring: pages with watched siblings, and downloads divided by an objective."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from aahcrawler.revisits.rate_priors import STATED, KnownPage, RatePrior, learned_priors
from aahcrawler.revisits.revisit_policies import (
    DEFAULT_BOUNDS,
    PRICE,
    Constant,
    PageVisit,
    RateBeliefs,
    interval_levels,
    no_prior,
)
from aahcrawler.revisits.visit_budget import Objective, divided, values
from benchmarks.change_visits import Outcome, Prior, Trace, TracedPage, outcomes, total, visits_by_jumping_rate
from benchmarks.results import Row

_LAST: Final = 60
_YEAR: Final = 365.0


def stated_of(random: np.random.Generator, changes: Trace, span: float) -> str:
    """Return the ``changefreq`` nearest to how often a page changes; for half of all pages, any ``changefreq``."""
    words = [word for word in STATED if word not in {"always", "never"}]
    if random.random() < 0.5:
        return str(random.choice(words))
    days = span / max(len(changes), 0.5)
    return min(words, key=lambda word: abs(math.log(STATED[word] / days)))


def watched(pages: Sequence[TracedPage], span: float) -> list[KnownPage]:
    """Return what is known of pages that the jumping rate has visited for the whole time."""
    visits = visits_by_jumping_rate(pages, span)
    return [replace(page.known, visits=tuple(each[-_LAST:])) for page, each in zip(pages, visits, strict=True)]


def at_downloads(pages: Sequence[TracedPage], priors: Sequence[Prior], days: float, downloads: int) -> Outcome:
    """Return the outcome at the price with which about so many visits are made, within 2 %."""
    least, most, price = 0.001, 0.95, PRICE
    for _ in range(13):
        found = total(outcomes(pages, visits_by_jumping_rate(pages, days, price, priors), days))
        if abs(found.downloads - downloads) <= 0.02 * downloads:
            break
        least, most = (price, most) if found.downloads > downloads else (least, price)
        price = math.sqrt(least * most)
    return found


def _told(pages: Sequence[TracedPage], others: Sequence[KnownPage]) -> list[RatePrior]:
    return learned_priors([*(page.known for page in pages), *others], DEFAULT_BOUNDS)[: len(pages)]


def prior_rows(name: str, worlds: Sequence[Sequence[TracedPage]], span: float) -> Iterator[Row]:
    """Yield what visits find of every second page in its first days, after the other pages have been watched.

    With priors and without, as many visits are made as there are changes in that time; ``gold`` knows the changes.
    """
    split = [(pages[1::2], _told(pages[1::2], watched(pages[::2], span))) for pages in worlds]
    for days in (30.0, 90.0, 365.0, span):
        for policy in ("gold", "jumping rate, no priors", "jumping rate, priors"):
            found = []
            for pages, priors in split:
                told: Sequence[Prior] = priors if policy.endswith(", priors") else [None] * len(pages)
                made = [int((page.changes <= days).sum()) for page in pages]
                if policy == "gold":
                    found.append(total(outcomes(pages, [_golden(page.changes, days) for page in pages], days)))
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


def _golden(changes: Trace, days: float) -> list[PageVisit]:
    policy = Constant(days / max(int((changes <= days).sum()), 0.5))
    moments = np.arange(policy.days, days * (1 + 1e-9), policy.days)
    changed = np.diff(np.searchsorted(changes, moments, side="right"), prepend=0) > 0
    return [PageVisit(policy.days, bool(each)) for each in changed]


def budget_rows(pages: Sequence[Trace], rates: Trace, span: float, downloads: float) -> Iterator[Row]:
    """Yield what divisions of the same number of downloads achieve on pages after their first year.

    ``rates`` are the true rates, in changes a day; those that are ``learned`` come from weekly visits in that year.
    """
    days = interval_levels(DEFAULT_BOUNDS)
    learned = _learned(pages)
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


def _learned(pages: Sequence[Trace]) -> Trace:
    """Return the chances of no change that weekly visits of a year leave of each page."""
    weeks = 7.0 * np.arange(1, 53)
    found = [np.diff(np.searchsorted(changes, weeks, side="right"), prepend=0) > 0 for changes in pages]
    beliefs = RateBeliefs(DEFAULT_BOUNDS, np.array([no_prior(DEFAULT_BOUNDS)] * len(pages)))
    beliefs.observe_all([[PageVisit(7.0, bool(changed)) for changed in each] for each in found])
    return np.minimum.accumulate(beliefs.unchanged(), axis=1)


def _proportional(rates: Trace, downloads: float) -> Trace:
    """Return intervals proportional to the time between changes, within the bounds, for so many downloads."""
    low, high = 1e-3, 1e6
    for _ in range(100):
        factor = math.sqrt(low * high)
        intervals = np.clip(factor / rates, DEFAULT_BOUNDS.least, DEFAULT_BOUNDS.greatest)
        low, high = (factor, high) if (1 / intervals).sum() > downloads else (low, factor)
    return np.asarray(intervals, np.float64)


def _reached(changes: Trace, interval: float, span: float) -> tuple[float, int, int]:
    """Return the share of the time after the first year in which a copy is fresh, and the changes and downloads."""
    moments = np.append(np.arange(_YEAR, span, interval), span)
    passed = np.searchsorted(changes, moments, side="right")
    following = np.append(changes, np.inf)[passed[:-1]]
    fresh = np.minimum(following, moments[1:]) - moments[:-1]
    return float(fresh.sum() / (span - _YEAR)), int((np.diff(passed) > 0)[:-1].sum()), len(moments) - 2
