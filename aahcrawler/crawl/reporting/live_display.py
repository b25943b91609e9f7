"""Show a running crawl, and what its sites do at the moment: live in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import ceil, inf
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from aahcrawler.crawl.reporting.summary import Countable
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import State
from aahcrawler.revisits.time_left import duration
from aahcrawler.seeds import counted_in_words

MAX_SITES = 4
"""Sites that are named; the others are counted."""
SHORT = 1.0
"""Seconds below which a wait is none, and two waits are one."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The sites that are being fetched from; where there are none, the seconds until the next fetch, and its site.

    ``wait`` is None and ``next_site`` empty where that is not known.
    """

    sites: Sequence[str] = ()
    wait: float | None = None
    next_site: str = ""

    def __str__(self) -> str:
        """Return it in words.

        >>> str(Activity(["a.org", "b.org"])), str(Activity(wait=6.2, next_site="a.org")), str(Activity(wait=0.0))
        ('fetching from a.org, b.org', 'next fetch from a.org in 7 s', 'choosing what to fetch next')
        """
        if self.sites:
            others = len(self.sites) - MAX_SITES
            named = ", ".join(self.sites[:MAX_SITES])
            return f"fetching from {named}{f' and {others:,} others' if others > 0 else ''}"
        if self.wait is None or self.wait < SHORT:
            return "choosing what to fetch next"
        return f"next fetch{f' from {self.next_site}' if self.next_site else ''} in {ceil(self.wait):,} s"


def together(activities: Collection[Activity]) -> Activity | None:
    """Return what several do: all sites, or the wait of the one that waits least; None where there is nobody.

    Of those that wait for the same, some may not know the site: the others name it.

    >>> str(together([Activity(["a.org"]), Activity(wait=9.0), Activity(["b.org", "a.org"])]))
    'fetching from a.org, b.org'
    >>> str(together([Activity(wait=9.0, next_site="a.org"), Activity(), Activity(wait=5.0, next_site="b.org")]))
    'next fetch from b.org in 5 s'
    >>> str(together([Activity(wait=4.9), Activity(wait=5.0, next_site="b.org")]))
    'next fetch from b.org in 5 s'
    """
    sites = dict.fromkeys(site for each in activities for site in each.sites)
    if sites:
        return Activity(tuple(sites))
    least = min(map(_wait, activities), default=0.0)
    alike = (each for each in activities if _wait(each) <= least + SHORT)
    return max(alike, key=lambda each: (bool(each.next_site), -_wait(each)), default=None)


def _wait(activity: Activity) -> float:
    return inf if activity.wait is None else activity.wait


LINE_EVERY = 5.0
"""Seconds between two plain lines."""
MAX_REASONS = 4
"""Reasons of errors that are named."""


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


class DisplayedCrawl(Countable, Protocol):
    """The parts of a crawl that are shown."""

    @property
    def seconds(self) -> float:
        """Seconds of crawling."""

    @property
    def activity(self) -> Activity | None:
        """What this process fetches, or what it waits for; None where others fetch."""


Show = Callable[[DisplayedCrawl], None]
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

    def show(job: DisplayedCrawl) -> None:
        nonlocal last
        pages_per_second = rate(job.stats["pages"])
        if time.monotonic() - last >= LINE_EVERY:
            last = time.monotonic()
            facts = "; ".join(f"{name}: {value}" for name, value in facts_of(job, pages_per_second).items())
            console.print(facts, soft_wrap=True, highlight=False, markup=False)

    return show


def _table(job: DisplayedCrawl, rate: Rate) -> Table:
    table = Table(title=Text(job.icd.title), show_header=False, title_justify="left")
    for name, value in facts_of(job, rate(job.stats["pages"])).items():
        table.add_row(name, Text(value))
    return table


def facts_of(job: DisplayedCrawl, pages_per_second: float) -> dict[str, str]:
    """Return what is worth showing, by name: counts, rates, and the time left."""
    stats, counts = job.stats, job.counts
    pages = int(stats["pages"])
    relevant = f"{int(stats['relevant']):,} ({stats['relevant'] / pages:.0%})" if pages else "-"
    applications = ", ".join(f"{name} {n:,}" for name, n in list(stats.group("application").items())[:4])
    return {
        **({"paused": job.pause} if job.pause else {}),
        **({"now": str(job.activity)} if job.activity is not None and not job.pause else {}),
        "pages": f"{pages:,} ({pages_per_second:.1f} a second)",
        **({"since before": since_before(stats)} if job.number > 1 else {}),
        "relevant pages": relevant,
        "web objects": stats.told.objects_in_words,
        "applications": applications or "-",
        **in_browser(stats),
        "images, styles and other files": f"{int(stats['requisites']):,}",
        "received": f"{stats['bytes'] / 1e6:,.1f} MB",
        "failures": failures(stats),
        **adapted(stats),
        "pages waiting": f"{counts.pages.get(State.QUEUED, 0):,}",
        "time so far": duration(job.seconds),
        "time left": str(job.time_left),
        **({"to deliver": f"{job.delivery.progress.waiting:,} files"} if job.delivery else {}),
    }


def failures(stats: Stats) -> str:
    """Return how many URLs failed, and the commonest reasons.

    >>> failures(Stats({"failed_url:resolve": 2, "failed_url:status 404": 1200, "status:200": 7})), failures(Stats())
    ('1,202 (not found (404) 1,200, name not resolved 2)', 'none')
    """
    found = counted_in_words(stats.told.failures)
    named = ", ".join(f"{words} {number:,}" for words, number in islice(found.items(), MAX_REASONS))
    others = ", ..." if len(found) > MAX_REASONS else ""
    return f"{sum(found.values()):,} ({named}{others})" if found else "none"


def since_before(stats: Stats) -> str:
    """Return what became of the pages since the crawls before this one.

    >>> since_before(Stats({"unchanged": 1200, "changed": 3}))
    '1,200 unchanged, 3 changed, 0 new, 0 gone'
    """
    return ", ".join(f"{int(stats[name]):,} {name}" for name in ("unchanged", "changed", "new", "gone"))


def in_browser(stats: Stats) -> dict[str, str]:
    """Return how many pages were looked at in a browser, where any was or was to be.

    >>> in_browser(Stats({"browser:pages": 1200, "browser:failed": 3, "browser:unavailable": 2}))
    {'in a browser': '1,200 pages (3 failed, 2 without for want of one)'}
    """
    found = stats.group("browser")
    words = {"failed": "failed", "limit": "beyond the limits", "unavailable": "without for want of one"}
    others = ", ".join(f"{found[name]:,} {said}" for name, said in words.items() if found.get(name))
    if not found.get("pages") and not others:
        return {}
    return {"in a browser": f"{found.get('pages', 0):,} pages{f' ({others})' if others else ''}"}


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
