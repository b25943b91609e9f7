"""Report how a crawl ended, in words and as an exit code."""

from pathlib import Path

from rich.console import Console

from aahcrawler.archive.delivery import Delivery
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.reporting.summary import Countable
from aahcrawler.report import ReportError, write_report

DONE, FAILED, MISTAKE = 0, 1, 2
"""Exit codes: the crawl ended in good order; a store failed; nothing was begun, something has to be mended."""


def outcome(folder: Path, crawl: Countable, failure: object) -> str:
    """Say how a crawl ended, and write its report; ``failure`` is what stopped it, None where nothing went wrong."""
    if failure:
        message = str(failure).rstrip(".")
        return f"{folder}: stopped: {message}; the same command goes on from here"
    pages, objects = int(crawl.stats["pages"]), int(crawl.stats["objects"])
    return f"{folder}: {pages:,} pages, {objects:,} web objects; {_ending(crawl.reason)}.{_report(folder)}"


def tell_undelivered(console: Console, folder: Path, delivery: Delivery | None) -> None:
    """Say what is still to be delivered, where there is anything."""
    if delivery is not None and delivery.progress.waiting:
        left = delivery.progress
        say(console, f"files still to be delivered to {left.target}: {left.waiting}; aah archive deliver {folder}")


def say(console: Console, text: str) -> None:
    """Write a line as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _ending(reason: str) -> str:
    if reason == FINISHED:
        return reason
    if reason.startswith("limits."):
        return f"stopped, {reason}"
    return "stopped; the same command goes on from here"


def _report(folder: Path) -> str:
    try:
        return f" See {write_report(folder)}"
    except ReportError:  # A crawl that was ended at once, by a second Ctrl-C, may have no summary yet.
        return ""
