"""The lifecycle of a crawl in this process: pauses, limits, time, statistics, and its end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.archive.delivery import Delivery
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.health.outages import is_full
from aahcrawler.crawl.peers import PeerExport
from aahcrawler.crawl.reporting.live_display import Activity
from aahcrawler.crawl.reporting.summary import recounted, summary
from aahcrawler.crawl.stats.collector import BEGUN, SharedStats, Stats
from aahcrawler.fingerprint import KnowledgeUsed
from aahcrawler.frontier.protocol import Counts, FrontierUnavailableError, Kind, Lease, QueueCounts, State
from aahcrawler.frontier.server.file_mending import Damage, damages
from aahcrawler.page import Headers
from aahcrawler.revisits.time_left import CrawlCourse, TimeLeft, pause_after
from aahcrawler.segments import SegmentError
from aahcrawler.sources.local_archives import damaged
from online_analysis.aggregation import BudgetLeft
from online_analysis.icd import Icd, Limits, Politeness


def most_bytes(limits: Limits, stats: Stats, kind: Kind) -> int | None:
    """Return how many bytes the limits leave for a response, None where they set no bound.

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
    """Counts the pages and bytes of domains that the definition gives a budget, and refuses more once it is used up.

    The counts are those of the crawl: all workers add to them, and they survive a restart. A domain can exceed its
    budget by the responses under way, one a connection, and by what other workers fetched within the last second.
    """

    def __init__(self, context: CurrentContext, stats: Stats) -> None:
        self._context = context
        self._stats = stats

    def check(self, lease: Lease) -> None:
        """Raise ``DomainBudgetError`` if the domain of a leased URL has used up its pages or its bytes."""
        name, own = self._politeness.of(urlsplit(lease.url).hostname or "")
        if own.pages is not None and lease.is_page and self._stats[f"{PAGES}:{name}"] >= own.pages:
            raise DomainBudgetError(PAGES)
        if own.bytes is not None and self._stats[f"{BYTES}:{name}"] >= own.bytes:
            raise DomainBudgetError(BYTES)

    def used(self, url: str, counts: Mapping[str, float]) -> dict[str, float]:
        """Return the counts to add to the crawl's for a response; none if the domain of ``url`` has no budget."""
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


logger = logging.getLogger(__name__)

PAUSED = "an operator has paused the crawl, or what it has queued; it goes on when that is resumed"
TICK = 1.0
"""Seconds between two looks at the time limit, the counts and the display; a kill loses the time of one."""
SUMMARY_EVERY = 10.0
"""Seconds between two writings of ``crawl.json``."""

Background = Callable[[], Coroutine[None, None, None]]
"""Runs beside the crawl from its start, and is cancelled at its end."""
Watcher = Callable[["Lifecycle"], None]
"""Is called about once a second while the crawl runs."""


@dataclass(slots=True)
class WorkerRole:
    """The part of this process in a crawl that others may work on as well.

    ``is_alone``: nobody else works on it. ``leads``: of all that do, this process keeps its time. ``keeps``: of all in
    its folder, this process writes the files that there is one of.
    """

    is_alone: bool = True
    leads: bool = True
    keeps: bool = True


@dataclass(frozen=True, slots=True)
class Reporting:
    """The parts that only reports of a crawl need: how it was started, in words, its exports and knowledge base.

    ``last`` is the number of the crawl before it in its folder, and how many seconds that took.
    """

    started_as: str = ""
    peer_export: PeerExport | None = None
    knowledge: Callable[[], KnowledgeUsed | None] = lambda: None
    last: tuple[int, float] = (0, 0.0)


class Lifecycle:
    """A crawl that is open in this process, from its start to its end.

    States: open -> running -> ended. It ends when nothing is left to lease, when a limit is reached, when it is told
    to stop, or when a store fails (``failure`` is set then). Whatever the way, the same definition goes on where it
    stopped. It pauses while the disk is full and while the frontier's server is away. Limits and counts are those of
    the whole crawl, whoever works on it; its ``role`` says what is up to this process.
    """

    def __init__(
        self,
        context: CurrentContext,
        stores: StoreWriter,
        fetching: FetchControl,
        role: WorkerRole | None = None,
        reporting: Reporting | None = None,
    ) -> None:
        self._context = context
        self._writer = stores
        self._stores = stores.stores
        self._fetching = fetching
        self._reporting = reporting or Reporting()
        self.role = role or WorkerRole()
        self.counts: Counts = self._stores.frontier.counts()
        self.started_at = datetime.now(UTC)
        run = self._stores.folder.run
        self.number = run.number
        """Which crawl of its definition this is, counted from 1."""
        self.begun_at = run.begun_at or datetime.fromtimestamp(stores.stats[BEGUN], UTC)
        self.failure: Exception | None = None
        self.reason = ""
        self._watching: asyncio.Task[None] | None = None
        self._unsaved_seconds = 0.0
        self._is_concluded = False
        self._course = CrawlCourse()
        stores.disk_space.changed.append(self._show_pause)
        fetching.proxy_outage.changed.append(self._show_pause)

    # What reports read

    @property
    def icd(self) -> Icd:
        """The definition."""
        return self._context.now.icd

    @property
    def stats(self) -> SharedStats:
        """Every count."""
        return self._writer.stats

    @property
    def started_as(self) -> str:
        """The start of the crawl in words, for people."""
        return self._reporting.started_as

    @property
    def peer_export(self) -> PeerExport | None:
        """The export of links to another instance, None unless the definition asks for it."""
        return self._reporting.peer_export

    @property
    def knowledge(self) -> KnowledgeUsed | None:
        """The knowledge base that pages are read by now, None where none was named."""
        return self._reporting.knowledge()

    @property
    def delivery(self) -> Delivery | None:
        """The delivery of closed files, None if there is no target."""
        return self._stores.delivery

    @property
    def frontier_damage(self) -> Sequence[Damage]:
        """What was found damaged in the files of the frontier, and cut off."""
        return damages(self._stores.folder.frontier)

    @property
    def source_damage(self) -> Mapping[str, int]:
        """The number of places that could not be read in each of the archive files that captures come from."""
        return damaged(self.icd, self._stores.folder.root)

    @property
    def pause(self) -> str:
        """Why the crawl fetches nothing new for now and what to do, empty while it does not pause."""
        outage = self._writer.hindrance or self._fetching.proxy_outage.why
        return outage or (PAUSED if self._fetching.leases.is_paused else "")

    @property
    def activity(self) -> Activity:
        """What this process fetches, or what it waits for."""
        return self._fetching.activity

    @property
    def seconds(self) -> float:
        """Seconds of crawling, those before a restart included."""
        return self.stats["seconds"] + self._unsaved_seconds

    @property
    def time_left(self) -> TimeLeft:
        """How long it still takes, as it was estimated some seconds ago."""
        return self._course.left(self.seconds)

    # Limits

    @property
    def requisites_spent(self) -> bool:
        """Whether the limits leave nothing for requisites."""
        return self.stats["requisite_bytes"] >= self.icd.limits.requisite_bytes

    def most_bytes(self, kind: Kind) -> int | None:
        """Return how many bytes the limits leave for a response, None where they set no bound."""
        return most_bytes(self.icd.limits, self.stats, kind)

    def check_limits(self) -> None:
        """Stop when the bytes or the time of the ICD are used up; pages are bounded by the frontier."""
        if limit := reached(self.icd.limits, self.stats, self.seconds):
            self.stop(limit)

    # The end

    @property
    def is_ending(self) -> bool:
        """Whether the crawl has been told to stop; what is under way is then given a little time."""
        return self._fetching.ending.is_set()

    def fail(self, error: Exception) -> None:
        """Stop because a store failed; nothing that was acknowledged is lost."""
        if self.failure is None:
            self.failure = error
            logger.error("%s", error)
        self.stop("failed")

    def stop(self, reason: str) -> None:
        """Lease no more; what is answered within a few seconds is still handled, all else goes back.

        ``reason`` is empty where it is told later, when the crawl is closed.
        """
        self._fetching.ending.set()
        self._writer.server_outage.give_up()
        if not self.reason:
            self.reason = reason
            logger.info("stopping: %s", reason or "Scrapy closes the spider")
        self._fetching.leases.stop()

    # While it runs

    @asynccontextmanager
    async def running(
        self, background: Sequence[Background] = (), watchers: Sequence[Watcher] = ()
    ) -> AsyncIterator[None]:
        """Keep time, limits, watchers and ``crawl.json`` up to date while the body runs."""
        self.check_limits()  # A crawl that has used them up before fetches nothing more.
        self._writer.disk_space.look()
        loop = asyncio.get_running_loop()

        def show_outage() -> None:
            with suppress(RuntimeError):  # The loop may have ended.
                loop.call_soon_threadsafe(self._show_pause)

        async def tick() -> None:
            await self._tick(watchers)

        self._writer.server_outage.changed.append(show_outage)
        self._watching = asyncio.create_task(self._watch())
        self._fetching.renewer.start()
        all_beside = (
            tick,
            self._keep_saved,
            self._follow_frontier,
            self._follow_course,
            self._writer.disk_space.watch,
            *background,
        )
        tasks = [asyncio.create_task(work()) for work in all_beside]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def _watch(self) -> None:
        """Notice a server that does not answer, until the last call was made."""
        while True:
            self._writer.server_outage.look()
            self._fetching.renewer.alive()
            await asyncio.sleep(TICK)

    async def _tick(self, watchers: Sequence[Watcher]) -> None:
        """Keep the time, the limits and the display; none of that waits for the frontier's server."""
        last = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(TICK)
            now = asyncio.get_running_loop().time()
            if self.role.leads and not self.pause:
                self._unsaved_seconds += now - last
            last = now
            self.check_limits()
            for watcher in watchers:
                watcher(self)

    async def _follow_frontier(self) -> None:
        """Exchange time and counts with the frontier, again and again."""
        try:
            while True:
                await asyncio.sleep(TICK)
                await self._exchange()
        except FrontierUnavailableError as error:
            self.fail(error)

    async def _follow_course(self) -> None:
        """Estimate again and again how long the crawl still takes, where this process tells of it."""
        scope, is_recalled = self._context.now.scope, False
        try:
            while True:
                pause = TICK
                if self.role.keeps:
                    if not is_recalled:
                        root, is_recalled = self._stores.folder.root, True
                        await asyncio.to_thread(
                            self._course.recall, root, self.number, self._reporting.last, scope.resting
                        )
                    used = {"seconds": self.seconds, "pages": self.stats["pages"], "bytes": self.stats["bytes"]}
                    queues, took = await self._writer.call(self._counted_queues)
                    await asyncio.to_thread(self._course.look, self.icd.limits, used, queues)
                    pause = pause_after(took)
                await asyncio.sleep(pause)
        except FrontierUnavailableError as error:
            self.fail(error)

    def _counted_queues(self) -> tuple[Mapping[str, QueueCounts], float]:
        """Count the pages of all queues; return with them how many seconds that took."""
        began = monotonic()
        return self._stores.frontier.queue_counts(), monotonic() - began

    async def _exchange(self) -> None:
        """Put the time that has passed into the frontier, and take over its counts, and what others have added."""
        seconds, self._unsaved_seconds = self._unsaved_seconds, 0.0
        self.stats.add("seconds", seconds)
        if seconds:
            await self._writer.call(self._stores.frontier.count, {"seconds": seconds})
        if not self.role.is_alone:
            self.stats.refresh(await self._writer.call(self._stores.frontier.stats))
        if self.role.keeps:
            self.counts = await self._writer.call(self._stores.frontier.counts)

    async def _keep_saved(self) -> None:
        try:
            while True:
                await asyncio.sleep(SUMMARY_EVERY)
                await self.save()
        except (FrontierUnavailableError, OSError) as error:
            self.fail(error)

    async def save(self, state: str = "") -> None:
        """Put the time that has passed into the frontier, and write ``crawl.json``; ``state`` is how it ended."""
        await self._exchange()
        if state and self.role.is_alone:
            await self._writer.count(
                await asyncio.to_thread(recounted, self._stores.folder.root, self.number, self.stats)
            )
        if state and self.role.keeps:
            await self._writer.write(self._conclude, state)
        elif not state:
            self._show_state()

    def _conclude(self, state: str) -> None:
        self._stores.folder.write_summary(summary(self, state))
        self._is_concluded = True

    def _show_state(self) -> None:
        """Write ``crawl.json``, where the disk has space for it: the crawl goes on without."""
        if not self.role.keeps or self._is_concluded:
            return
        try:
            self._stores.folder.write_summary(summary(self, "paused" if self.pause else "running"))
        except OSError as error:
            if not is_full(error):
                raise

    def _show_pause(self) -> None:
        with suppress(OSError):  # Errors of the disk are reported by those who cannot do without it.
            self._show_state()

    async def close(self, reason: str) -> None:
        """Release what is leased, write the summary, and close every store. The state stays for the next start."""
        try:
            await self._fetching.leases.close()
            self.counts = await self._writer.call(self._stores.frontier.counts)
            limit = used_up(self.icd.limits, self.counts) if reason == FINISHED else ""
            self.reason = self.reason or limit or reason
            await self.save("finished" if self.reason == FINISHED else "stopped")
        except (FrontierUnavailableError, OSError) as error:
            self.fail(error)
            with suppress(OSError):
                if self.role.keeps:
                    self._stores.folder.write_summary(summary(self, "stopped"))
        finally:
            self._fetching.renewer.close()
            self._writer.executor.close()
            if self._watching is not None:
                self._watching.cancel()
            self._close_stores()

    def _close_stores(self) -> None:
        try:
            self._stores.closing.close()
        except SegmentError as error:
            self.fail(error)
