"""Show a running crawl: a live display in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aahcrawler.crawl.reporting.summary import Countable
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import State

LINE_EVERY = 5.0
"""Seconds between two plain lines."""
LONGEST = 1e10
"""Seconds, three hundred years, beyond which no time is told."""


class Rate:
    """Pages a second over about the last ten seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._points: list[tuple[float, float]] = []

    def __call__(self, pages: float) -> float:
        """Note the number of pages so far and return the rate."""
        now = self._clock()
        self._points.append((now, pages))
        while len(self._points) > 2 and now - self._points[0][0] > 10:
            self._points.pop(0)
        then, before = self._points[0]
        return (pages - before) / (now - then) if now > then else 0.0


class Shown(Countable, Protocol):
    """The parts of a crawl that are shown."""

    @property
    def seconds(self) -> float:
        """Seconds of crawling."""


Show = Callable[[Shown], None]
"""Shows how far a crawl is by now."""


@contextmanager
def display(console: Console) -> Iterator[Show]:
    """Show what is handed on, about once a second, while the body runs."""
    rate = Rate()
    if not console.is_terminal:
        yield _plain(console, rate)
        return
    with Live(console=console, refresh_per_second=2, transient=True) as live:
        yield lambda crawl: live.update(_table(crawl, rate))


def _plain(console: Console, rate: Rate) -> Show:
    last = 0.0

    def show(job: Shown) -> None:
        nonlocal last
        pages_per_second = rate(job.stats["pages"])
        if time.monotonic() - last >= LINE_EVERY:
            last = time.monotonic()
            facts = ", ".join(f"{name} {value}" for name, value in facts_of(job, pages_per_second).items())
            console.print(facts, soft_wrap=True, highlight=False, markup=False)

    return show


def _table(job: Shown, rate: Rate) -> Table:
    table = Table(title=Text(job.icd.title), show_header=False, title_justify="left")
    for name, value in facts_of(job, rate(job.stats["pages"])).items():
        table.add_row(name, Text(value))
    return table


def facts_of(job: Shown, pages_per_second: float) -> dict[str, str]:
    """Return what is worth showing, by name: counts, rates, and the time left by the limits."""
    stats, counts = job.stats, job.counts
    pages = int(stats["pages"])
    ratio = f"{stats['relevant'] / pages:.2f}" if pages else "-"
    applications = ", ".join(f"{name} {n}" for name, n in list(stats.group("application").items())[:4])
    return {
        **({"paused": job.pause} if job.pause else {}),
        "pages": f"{pages:,}",
        **({"since before": since_before(stats)} if job.number > 1 else {}),
        "pages/s": f"{pages_per_second:.1f}",
        "queued": f"{counts.pages.get(State.QUEUED, 0):,}",
        "web objects": f"{int(stats['objects']):,}",
        "harvest ratio": ratio,
        "applications": applications or "-",
        **adapted(stats),
        "time left": time_left(job, pages_per_second),
        **({"to deliver": f"{job.delivery.progress.waiting:,} files"} if job.delivery else {}),
    }


def since_before(stats: Stats) -> str:
    """Return what became of the pages since the crawls before this one.

    >>> since_before(Stats({"unchanged": 1200, "changed": 3}))
    '1,200 unchanged, 3 changed, 0 new, 0 gone'
    """
    return ", ".join(f"{int(stats[name]):,} {name}" for name in ("unchanged", "changed", "new", "gone"))


def adapted(stats: Stats) -> dict[str, str]:
    """Return what failed and what learned actions do about it, where anything failed.

    >>> adapted(Stats({"failed_actions": 5, "mended:a/b/c: incomplete": 3, "learned:learned-c-1": 1200}))
    {'failed actions': '5, objects found all the same by 3', 'learned actions': '1 on 1,200 pages'}
    """
    failed, mended, learned = stats["failed_actions"], stats.group("mended"), stats.group("learned")
    all_the_same = f", objects found all the same by {sum(mended.values()):,}" if mended else ""
    return {
        **({"failed actions": f"{int(failed):,}{all_the_same}"} if failed else {}),
        **({"learned actions": f"{len(learned)} on {sum(learned.values()):,} pages"} if learned else {}),
    }


def time_left(job: Shown, pages_per_second: float) -> str:
    """Return when the first of the limits will be reached at the present rate.

    ``no limit`` where there is none, ``-`` while nothing can be said.
    """
    limits, stats = job.icd.limits, job.stats
    guesses = []
    if limits.time:
        guesses.append(limits.time.total_seconds() - job.seconds)
    if limits.pages and pages_per_second:
        guesses.append((limits.pages - stats["pages"]) / pages_per_second)
    if limits.bytes and stats["bytes"] and job.seconds:
        guesses.append((limits.bytes - stats["bytes"]) / (stats["bytes"] / job.seconds))
    if guesses:
        return str(timedelta(seconds=round(min(max(0.0, min(guesses)), LONGEST))))
    return "-" if limits.pages or limits.bytes else "no limit"
