"""Compute what the limits of a definition leave to a crawl."""

from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Counts, Kind, State
from aahcrawler.page import Headers
from online_analysis.icd import Limits


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
