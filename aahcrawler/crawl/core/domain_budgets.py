"""The budgets of single domains: how many pages and bytes a definition grants each."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Lease
from online_analysis.icd import Politeness

PAGES: Final = "domain_pages"
BYTES: Final = "domain_bytes"


class DomainBudgetError(Exception):
    """A URL was leased whose domain has used up a budget; ``reason`` names the count."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DomainBudgets:
    """Counts what domains with budgets have used, for all workers at once, and tells when that is all.

    The counts are the crawl's, so they outlive a restart. What is being fetched when a budget is used up still counts:
    as many answers as the domain has connections, and what other workers did within the last second.
    """

    def __init__(self, context: CurrentContext, stats: Stats) -> None:
        self._context = context
        self._stats = stats

    def check(self, lease: Lease) -> None:
        """Raise ``DomainBudgetError`` where a leased URL's domain may not have any more."""
        name, own = self._politeness.of(urlsplit(lease.url).hostname or "")
        if own.pages is not None and lease.kind == "page" and self._stats[f"{PAGES}:{name}"] >= own.pages:
            raise DomainBudgetError(PAGES)
        if own.bytes is not None and self._stats[f"{BYTES}:{name}"] >= own.bytes:
            raise DomainBudgetError(BYTES)

    def used(self, url: str, counts: Mapping[str, float]) -> dict[str, float]:
        """Return what an answer takes from its domain's budgets, as counts of the crawl; nothing where it has none."""
        name, own = self._politeness.of(urlsplit(url).hostname or "")
        if own.pages is None and own.bytes is None:
            return {}
        return {
            of_domain: counts[name_of]
            for of_domain, name_of in ((f"{PAGES}:{name}", "pages"), (f"{BYTES}:{name}", "bytes"))
            if counts.get(name_of)
        }

    @property
    def _politeness(self) -> Politeness:
        return self._context.now.icd.politeness
