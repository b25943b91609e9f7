"""Print the crawls, workers and events of a shared server, as lines for people and for other programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from aahcrawler.crawls import frontier_name
from aahcrawler.frontier.protocol import FrontierSettings, FrontierUnavailableError, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.registry import Server
from aahcrawler.frontier.registry import Registered, Worker, WorkerEvent
from aahcrawler.tallies import CrawlCounts


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The conditions for events to be shown; an empty one is no condition."""

    crawl: str = ""
    worker: str = ""
    text: str = ""

    def admits(self, event: WorkerEvent) -> bool:
        """Say whether an event is wanted.

        >>> from datetime import UTC, datetime
        >>> event = WorkerEvent(datetime(2026, 1, 1, tzinfo=UTC), "host:7:a", "floods", "INFO", "crawl", "Stopping")
        >>> EventFilter(worker="host:7", text="stop").admits(event), EventFilter(crawl="flood").admits(event)
        (True, False)
        """
        of_crawl = not self.crawl or event.crawl == self.crawl
        return of_crawl and self.worker in event.worker and self.text.casefold() in str(event).casefold()


def crawl_lines(server: Server) -> Iterator[str]:
    """Yield a line for each crawl: id, number, state, counts, and how many workers it has."""
    workers = Counter(crawl for worker in server.presence.workers() for crawl in worker.crawls)
    for crawl in server.registry.crawls():
        reason = f" ({crawl.reason})" if crawl.reason else ""
        state = f"crawl {crawl.number}, version {crawl.version}: {crawl.state}{reason}"
        yield f"{crawl.id}  {state}{_counts(server.address, crawl)}, {workers[crawl.id]} workers"


def _counts(address: str, crawl: Registered) -> str:
    try:
        with closing(RedisControl(address, frontier_name(crawl.id, crawl.number), FrontierSettings())) as frontier:
            stats, counts, paused = frontier.stats(), frontier.counts(), frontier.is_paused()
    except FrontierUnavailableError as error:
        return f", its frontier cannot be asked ({error})"
    queued, leased = (counts.pages.get(state, 0) for state in (State.QUEUED, State.LEASED))
    told = CrawlCounts.of(stats)
    state = " and paused" if paused else ""
    return f"{state}, {told.pages:,} pages, {told.objects_in_words} web objects, {queued:,} queued, {leased:,} leased"


def worker_lines(workers: Sequence[Worker], now: float) -> Iterator[str]:
    """Yield a line for each worker and, below it, one for each crawl that it serves; ``now`` in seconds since 1970.

    >>> list(worker_lines([Worker("a:7:x", "a", 7, 40.0, "/data", crawls={"floods": {"pages": 30}})], 100.0))
    ['a:7:x  up 60 s, /data', '  floods  pages 30 (0.5/s)']
    """
    for worker in workers:
        up = max(0.0, now - worker.started_at)
        yield f"{worker.name}  up {up:,.0f} s, {', '.join(filter(None, (worker.folder, worker.software)))}"
        for crawl, numbers in sorted(worker.crawls.items()):
            counts = [f"{name} {value:,.0f}{_rate(name, value, up)}" for name, value in numbers.items() if value]
            yield f"  {crawl}  {', '.join(counts) or 'nothing yet'}"


def _rate(name: str, value: float, seconds: float) -> str:
    return f" ({value / seconds:.1f}/s)" if name == "pages" and seconds else ""
