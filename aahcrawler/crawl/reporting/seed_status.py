"""What became of each seed, for ``crawl.json``, the terminal and the exit code."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from aahcrawler.scope import ExternalUrl, Scope
from aahcrawler.seeds import SeedResult, Verdict, seed_results
from aahcrawler.urls import queue_of
from online_analysis.icd import Icd

MOST_LINES = 20
"""Seeds that the terminal names; ``aah report --seeds`` lists all."""


class Seeded(Protocol):
    """A crawl with its definition and its counts by name."""

    @property
    def icd(self) -> Icd:
        """The definition."""

    @property
    def stats(self) -> "Counted":
        """Every count."""


class Counted(Protocol):
    """Counts by name."""

    @property
    def counts(self) -> Mapping[str, float]:
        """The counts."""


def results(crawl: Seeded) -> Sequence[SeedResult]:
    """Return what became of each seed of a crawl, in the order of the definition."""
    scope = Scope(crawl.icd)
    canonical = {seed: scope.spelling.url(seed) or "" for seed in crawl.icd.seeds}

    def refusal(url: str) -> str | None:
        return scope.admit(ExternalUrl(url, queue_of(url)))

    return seed_results(canonical, crawl.stats.counts, lambda url: queue_of(url) if url else "", refusal)


def described(result: SeedResult) -> dict[str, object]:
    """Return a result as ``crawl.json`` has it."""
    return {
        "url": result.url,
        "verdict": result.verdict.value,
        "advice": result.advice,
        **({"detail": result.detail} if result.detail else {}),
        **({"ended_at": result.ended_at} if result.ended_at else {}),
        "pages": result.pages,
        "objects": result.objects,
    }


def lines(found: Sequence[SeedResult]) -> Iterator[str]:
    """Yield a line for each seed that is not simply fetched, at most ``MOST_LINES`` and one that counts the others."""
    told = [each for each in found if each.verdict is not Verdict.FETCHED or each.detail]
    for each in told[:MOST_LINES]:
        detail = f" ({each.detail})" if each.detail else ""
        where = f", at {each.ended_at}" if each.ended_at else ""
        yield f"seed {each.url}: {each.verdict.value}{detail}{where}; {each.advice}"
    if others := told[MOST_LINES:]:
        yield f"and {len(others):,} other seeds: aah report --seeds"
