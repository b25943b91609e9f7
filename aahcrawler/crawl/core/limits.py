"""Compute what the limits of a definition leave to a crawl."""

from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Counts, Kind, State
from online_analysis.icd import Limits


def most_bytes(limits: Limits, stats: Stats, kind: Kind) -> int | None:
    """Return how many bytes the limits leave for an answer, None where they set no bound.

    >>> most_bytes(Limits(bytes=100), Stats({"bytes": 40}), "page"), most_bytes(Limits(), Stats(), "page")
    (60, None)
    """
    left = [int(limits.bytes - stats["bytes"])] if limits.bytes else []
    if kind == "requisite":
        left.append(int(limits.requisite_bytes - stats["requisite_bytes"]))
    return max(0, min(left)) if left else None


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
