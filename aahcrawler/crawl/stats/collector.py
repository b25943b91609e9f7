"""The statistics of a crawl, kept with the frontier so that a crash loses none."""

from collections.abc import Mapping
from typing import Final

from aahcrawler.tallies import FAILURE, CrawlCounts, group

BEGUN = "begun"
"""The count that holds when this crawl was begun, in seconds since 1970."""

GROUPS: Final = (
    *("application", "level", "object", "status", "type", "refused", "blocked", "error", FAILURE),
    *("failure", "failed", "mended", "spared", "learned", "trap", "listing", "no_object", "avoided", "unverified"),
    *("source", "source_archive", "source_trouble"),
    *("stream", "coding", "malformed", "domain_pages", "domain_bytes", "sparql"),
    *("http", "data", "browser", "browser_missing", "browser_isolation", "browser_version", "browser_refused"),
)
"""Counts that have a second word: ``status:200``, ``refused:login``.

``failed_url`` counts URLs that were not fetched, or answered with an error, by reason, as the log of refusals has them,
and ``error`` those of them that gave no response. ``failure`` counts actions that failed by reason, ``failed`` by where
and reason, ``mended`` those of them whose objects were found all the same, ``spared`` those for which repair or
learning was left out after failures on pages before, ``learned`` pages by the learned action that found their objects,
``trap`` pages that were found to be near duplicates or soft 404s, ``listing`` pages of complete listings by
application, listing and what became of them, ``no_object`` pages of no known level without an object, by reason,
``avoided`` links by the pattern of their URLs, whose pages led to no content, ``domain_pages`` and ``domain_bytes``
what domains with budgets have used of them, ``unverified`` responses by what was wrong with a certificate that was
accepted all the same, ``stream`` manifests of streams by what there is to tell of them
(``streams.StreamNote``), ``coding`` responses by what was wrong with their content coding
(``page.decoding.Fault``), ``sparql`` pages of queries, and what was wrong with them (``SparqlPaging``), ``source`` and
``source_archive`` captures that were taken from archives, by the source of the definition and by the archive,
``source_trouble`` what went wrong there, by archive and reason, ``malformed`` feeds and sitemaps with mistakes in their
markup, and entries of theirs that were left out for such. ``http``, ``data`` and ``browser`` are what each way to look
at pages has cost, and how looks in a browser ended, ``browser_missing`` counts pages that had none for want of a
browser, by the reason, ``browser_isolation`` and ``browser_version`` looks by what kept the browser off the network and
by what it was, ``browser_refused`` requests of pages in a browser that had no response, by reason.
"""
SINGLE: Final = (
    "requests",
    "answers",
    "pages",
    "new",
    "changed",
    "unchanged",
    "gone",
    "relevant",
    "objects",
    "objects_counted",
    "requisites",
    "robots",
    "sitemaps",
    "feeds",
    "listed",
    "probes",
    "documents",
    "documents_cut",
    "documents_encrypted",
    "conditional",
    "asked_again",
    "retries",
    "address_busy",
    "rescored",
    "batches",
    "bytes",
    "requisite_bytes",
    "seconds",
    "failed_actions",
    "reread",
    "items",
    "items_dropped",
    "items_failed",
    "browser_requests",
    "browser_answered_from_archive",
    "from_archive",
    "from_sources",
    "source_requests",
    "source_bytes",
)


class Stats:
    """Counts by name; a name is one word or ``group:word``.

    A delta is collected while a page is handled and goes to the frontier in the same atomic step that finishes the
    page; the whole is what the frontier holds.
    """

    def __init__(self, counts: Mapping[str, float] | None = None) -> None:
        self.counts: dict[str, float] = dict(counts or {})

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a count."""
        self.counts[name] = self.counts.get(name, 0) + amount

    def merge(self, counts: Mapping[str, float]) -> None:
        """Add each of the counts."""
        own = self.counts
        for name, amount in counts.items():
            own[name] = own.get(name, 0) + amount

    def __getitem__(self, name: str) -> float:
        return self.counts.get(name, 0)

    def group(self, name: str) -> dict[str, int]:
        """Return the counts of a group by their second word, largest first; none that is 0."""
        return group(self.counts, name)

    @property
    def told(self) -> CrawlCounts:
        """What people are told of the counts."""
        return CrawlCounts.of(self.counts)

    def summary(self) -> dict[str, object]:
        """Return all counts, groups nested, and the harvest ratio: relevant pages over pages, None without pages."""
        numbers = {name: round(self[name], 3) if name == "seconds" else int(self[name]) for name in SINGLE}
        ratio = round(self["relevant"] / self["pages"], 4) if self["pages"] else None
        return {**numbers, "harvest_ratio": ratio, **{group: self.group(group) for group in GROUPS}}


class SharedStats(Stats):
    """The counts of a crawl that others count for as well; ``own`` are those of this process, since it was started."""

    def __init__(self, counts: Mapping[str, float]) -> None:
        super().__init__(counts)
        self.own: dict[str, float] = {}

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a count."""
        super().add(name, amount)
        self.own[name] = self.own.get(name, 0) + amount

    def merge(self, counts: Mapping[str, float]) -> None:
        """Add each of the counts."""
        super().merge(counts)
        for name, amount in counts.items():
            self.own[name] = self.own.get(name, 0) + amount

    def refresh(self, counts: Mapping[str, float]) -> None:
        """Take over what the counts are by now."""
        self.counts = dict(counts)
