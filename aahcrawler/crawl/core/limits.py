"""What the limits of a definition leave to a crawl, and to the sites that have a budget of their own."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Counts, Kind, Lease, State
from aahcrawler.page import Headers
from online_analysis.aggregation import BudgetLeft
from online_analysis.icd import Limits, Politeness


def most_bytes(limits: Limits, stats: Stats, kind: Kind) -> int | None:
    """Return how many bytes the limits leave for an answer, None where they set no bound.

    >>> most_bytes(Limits(bytes=100), Stats({"bytes": 40}), "page"), most_bytes(Limits(), Stats(), "page")
    (60, None)
    """
    left = [int(limits.bytes - stats["bytes"])] if limits.bytes else []
    if kind == "requisite":
        left.append(int(limits.requisite_bytes - stats["requisite_bytes"]))
        left += [limits.requisite_file_bytes] if limits.requisite_file_bytes else []
    return max(0, min(left)) if left else None


def is_too_large(limits: Limits, kind: Kind, headers: Headers, received: int = 0) -> bool:
    """Tell whether a file has more bytes than a requisite may: by what its head declares, or by what was received.

    >>> is_too_large(Limits(requisite_file_bytes=9), "requisite", Headers((("Content-Length", "10"),)))
    True
    >>> is_too_large(Limits(requisite_file_bytes=9), "page", Headers((("Content-Length", "10"),)))
    False
    """
    most, declared = limits.requisite_file_bytes, headers.get("Content-Length").strip()
    length = int(declared[:15]) if declared.isascii() and declared.isdigit() else 0
    return kind == "requisite" and 0 < most < max(length, received)


def reached(limits: Limits, stats: Stats, seconds: float) -> str:
    """Name the limit on bytes or time that is used up after so many seconds of crawling, empty while none is.

    >>> reached(Limits(bytes=100), Stats({"bytes": 100}), 0.0), reached(Limits(), Stats({"bytes": 100}), 1e9)
    ('limits.bytes reached', '')
    """
    if limits.bytes and stats["bytes"] >= limits.bytes:
        return "limits.bytes reached"
    if limits.time and seconds >= limits.time.total_seconds():
        return "limits.time reached"
    return ""


def used_up(limits: Limits, counts: Counts) -> str:
    """Name the limit on pages that keeps queued pages from being fetched, empty where none does."""
    if not counts.pages.get(State.QUEUED):
        return ""
    is_all = limits.pages and counts.pages.get(State.DONE, 0) >= limits.pages
    return "limits.pages reached" if is_all else "limits.pages_per_domain reached"


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
        if own.pages is not None and lease.is_page and self._stats[f"{PAGES}:{name}"] >= own.pages:
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


class Budget:
    """Reads the budgets from the definition of the moment, and the counts of all workers."""

    def __init__(self, context: CurrentContext, stats: Stats) -> None:
        self._context = context
        self._stats = stats

    def left(self, lease: Lease) -> BudgetLeft:
        """Return what is left for the crawl, and for the domain of a leased page: of several bounds the least."""
        return BudgetLeft(self._of_crawl(), self._of_site(lease))

    def _of_crawl(self) -> float:
        limits, stats = self._context.now.icd.limits, self._stats
        return min(
            _share(limits.pages, stats["pages"]),
            _share(limits.bytes, stats["bytes"]),
            _share(limits.time.total_seconds(), stats["seconds"]),
        )

    def _of_site(self, lease: Lease) -> float:
        icd, stats = self._context.now.icd, self._stats
        bound = icd.limits.pages_per_domain
        name, own = icd.politeness.of(urlsplit(lease.url).hostname or "")
        return min(
            _share(bound, bound - lease.left) if lease.left is not None else 1.0,
            _share(own.pages or 0, stats[f"{PAGES}:{name}"]),
            _share(own.bytes or 0, stats[f"{BYTES}:{name}"]),
        )


def _share(bound: float, used: float) -> float:
    """Return which share of a bound is left; 0 is no bound.

    >>> _share(100, 25), _share(100, 101), _share(0, 7)
    (0.75, 0.0, 1.0)
    """
    return min(1.0, max(0.0, 1.0 - used / bound)) if bound else 1.0
