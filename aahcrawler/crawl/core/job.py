"""One crawl while it runs: its definition, its stores, its understanding of pages, its limits."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from typing import ParamSpec, TypeVar

from aahcrawler import urls
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.writer import Capture
from aahcrawler.crawl.capture.archiver import NO_ANNOTATIONS, Annotations, Archiver
from aahcrawler.crawl.capture.recrawl import Recrawl
from aahcrawler.crawl.core.limits import most_bytes, reached, used_up
from aahcrawler.crawl.core.stores import Stores
from aahcrawler.crawl.core.understanding import Understanding
from aahcrawler.crawl.core.worker_role import Alone, Part
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.fetch.client_settings import LONGEST_REMAINS, request_headers, wire_settings
from aahcrawler.crawl.fetch.ip_claims import ClaimHolder, IpClaims
from aahcrawler.crawl.fetch.politeness import PolitenessTracker, StoppedError
from aahcrawler.crawl.health.disk_space import DiskSpace, Measure
from aahcrawler.crawl.health.error_classification import is_full
from aahcrawler.crawl.health.server_outage import ServerOutage
from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.crawl.lease.lease_source import LeaseSource, capacity, worker_name
from aahcrawler.crawl.lease.renewal import LeaseRenewer
from aahcrawler.crawl.peers.peer_export import PeerExport
from aahcrawler.crawl.reporting.summary import summary
from aahcrawler.crawl.stats.collector import BEGUN, SharedStats
from aahcrawler.crawls import lease_seconds
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.hops import Hop, extended
from aahcrawler.frontier.protocol import Counts, FrontierUnavailableError, Kind, Lease, Offer
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.segments import SegmentError
from aahcrawler.webobject import Container, WebObject
from aahcrawler.wire.errors import WireError
from aahcrawler.wire.settings import WireSettings
from online_analysis.aggregation import OnlineAnalyser
from online_analysis.icd import Icd
from online_analysis.topic import Topic

logger = logging.getLogger(__name__)

PAUSED = "an operator has paused the crawl, or what it has queued; it goes on when that is resumed"
TICK = 1.0
"""Seconds between two looks at the time limit and the display."""
SUMMARY_EVERY = 10.0
"""Seconds between two writings of ``crawl.json``."""


P = ParamSpec("P")
T = TypeVar("T")


class Job:
    """A crawl that is open in this process.

    States: open -> running -> ended. It ends when nothing is left to lease, when a limit is reached, when it is told to
    stop, or when a store fails (``failure`` is set then). Whatever the way, the same definition goes on where it
    stopped. It pauses while the disk is full, as ``measure`` says, and while the frontier's server is away. Limits and
    counts are those of the whole crawl, whoever works on it; its ``role`` says what is up to this process.
    """

    def __init__(
        self, icd: Icd, stores: Stores, understanding: Understanding, measure: Measure = shutil.disk_usage
    ) -> None:
        self.icd = icd
        self.stores = stores
        self.understanding = understanding
        self.stats = SharedStats(stores.frontier.stats())
        self.counts: Counts = stores.frontier.counts()
        self.started_at = datetime.now(UTC)
        self.role: Part = Alone()
        self.failure: Exception | None = None
        self.reason = ""
        self.started_as = ""
        """What starting the crawl meant, for people."""
        self.peer_export: PeerExport | None = None
        """Pushes links to another instance, where the definition asks for that."""
        self.watchers: list[Callable[[Job], None]] = []
        """Called about once a second while the job runs."""
        self.ending = asyncio.Event()
        """Set when the crawl is told to stop; what is under way is then given a little time."""
        at = stores.folder
        written = (at.root, at.archive, at.objects, at.scores, at.indexes, at.frontier)
        self.disk_space = DiskSpace(written, icd.archive.reserve, self.ending, measure)
        self.disk_space.changed.append(self._show_pause)
        self.server_outage = ServerOutage(self._reconnect, self._disconnect)
        self.background: list[Callable[[], Coroutine[None, None, None]]] = [self.disk_space.watch]
        """Run beside the crawl from its start, and cancelled at its end."""
        self.request_headers = request_headers(icd)
        self._executor = FrontierExecutor(self.disk_space, self.server_outage)
        worker, most = worker_name(), capacity(icd.limits.pages)
        self.leases = LeaseSource(stores.frontier, self._executor, worker, most, lambda: bool(self._hindrance))
        self._watching: asyncio.Task[None] | None = None
        self.politeness = PolitenessTracker(icd.politeness)
        self.leases.connections = self.politeness.connections_of
        holder = ClaimHolder(worker, lease_seconds(icd))
        self.ip_claims = IpClaims(holder, self.politeness.delay_of, self._executor, stores.addresses)
        self._keeper = LeaseRenewer(stores.frontier, self.leases, self.ip_claims.renew)
        self.number = stores.folder.run.number
        """Which crawl of its definition this is, counted from 1."""
        self.begun_at = stores.folder.run.begun_at or datetime.fromtimestamp(self.stats[BEGUN], UTC)
        self.recrawl = Recrawl(stores.history, self.number, self.begun_at, icd.limits.page_bytes)
        self._archiver = Archiver(stores.archive, stores.history, self.number)
        self._unsaved_seconds = 0.0
        self._is_concluded = False

    # What settings and response handlers ask

    @property
    def wire_settings(self) -> WireSettings:
        """How the download handler connects."""
        return wire_settings(self.icd, self.stores.folder.spool)

    @property
    def delivery(self) -> Delivery | None:
        """What copies closed files elsewhere, None where nothing does."""
        return self.stores.delivery

    def use_helper(self, helper: ApplicationAwareHelper, fingerprint: str) -> None:
        """Understand all pages from the next one on with another helper."""
        self.understanding = replace(self.understanding, helper=helper, fingerprint=fingerprint)

    def use_definition(self, icd: Icd, understanding: Understanding) -> None:
        """Go by another definition from the next request and page on; the frontier has to be told (``go_by``)."""
        self.icd, self.understanding = icd, understanding
        self.request_headers = request_headers(icd)
        self.politeness.use(icd.politeness)
        understanding.traps.use(icd.traps)
        self.leases.capacity = capacity(icd.limits.pages)
        if icd.scoring.weights != self.stores.scores.weights:
            self.stores.scores.go_by(icd.scoring)

    def use_topic(self, topic: Topic, analysers: tuple[OnlineAnalyser, ...], fingerprint: str) -> None:
        """Score all pages from the next one on by another topic, with the analysers that compare with it."""
        self.understanding = replace(self.understanding, topic=topic, analysers=analysers, fingerprint=fingerprint)

    @property
    def pause(self) -> str:
        """Why the crawl fetches nothing new for now and what to do, empty while it does not pause."""
        return self._hindrance or (PAUSED if self.leases.is_paused else "")

    @property
    def _hindrance(self) -> str:
        """Why nothing can be done for now; what an operator pauses can still be finished."""
        return self.disk_space.why or self.server_outage.why

    @property
    def obeys_robots(self) -> bool:
        """Whether robots.txt is asked for and obeyed."""
        return self.icd.politeness.robots == "obey"

    @property
    def attempts(self) -> int:
        """How often a URL is tried."""
        return self.icd.politeness.retries + 1

    async def call(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation of the frontier off the event loop."""
        return await self._executor.call(operation, *args, **kwargs)

    def offer(
        self,
        url: str,
        lease: Lease,
        score: float,
        *,
        depth: int | None = None,
        kind: Kind = "page",
        hop: Hop = Hop.LINK,
    ) -> Offer:
        """Return a canonical URL that the page of a lease leads to, as an offer; by default as deep as that page."""
        deep, queue = lease.depth if depth is None else depth, urls.queue_of(url)
        path = extended(lease.path, hop, is_off_site=not self.understanding.scope.is_of_seeds(queue))
        return Offer(url, queue, score, deep, kind, lease.url, path)

    async def wait_for_slot(self, url: str) -> None:
        """Wait until a URL's queue may be fetched from; raise ``StoppedError`` if the crawl is stopped before."""
        has_come = False
        while not has_come:
            while self._hindrance and not self.ending.is_set():
                await self._until_ending(TICK)
            await self._until_ending(self.politeness.reserve(url))
            if self.ending.is_set():
                raise StoppedError
            has_come = not self._hindrance

    async def _until_ending(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ending.wait(), seconds)

    @property
    def requisites_spent(self) -> bool:
        """Whether the limits leave nothing for requisites."""
        return self.stats["requisite_bytes"] >= self.icd.limits.requisite_bytes

    def most_bytes(self, kind: Kind) -> int | None:
        """Return how many bytes the limits leave for an answer, None where they set no bound."""
        return most_bytes(self.icd.limits, self.stats, kind)

    async def archive(self, exchange: Exchange, annotations: Annotations = NO_ANNOTATIONS) -> Capture:
        """Put an exchange into the archive, as soon as the disk has space for it."""
        return await self._archiver.keep(exchange, annotations, self.disk_space.retry)

    async def describe(
        self, capture: CaptureDescription, objects: Iterable[WebObject] = (), containers: Iterable[Container] = ()
    ) -> None:
        """Write the triples of a capture, as soon as the disk has space for them."""
        said, held_by = tuple(objects), tuple(containers)

        async def once() -> None:
            self.stores.objects.write(capture, said, held_by)

        await self.disk_space.retry(once)

    async def keep_remains(self, error: WireError) -> None:
        """Archive what came of an answer whose head never ended, as much of it as all readers take."""
        exchange, error.exchange = error.exchange, None
        if exchange is None:
            return
        with closing(exchange):
            came = exchange.response.read(LONGEST_REMAINS)
        await self.archive(replace(exchange, response=BytesIO(came), response_size=len(came)))
        await self.count({"bytes": len(came)})

    async def count(self, amounts: Mapping[str, float]) -> None:
        """Add to the crawl's counts what belongs to no lease."""
        self.stats.merge(amounts)
        await self.call(self.stores.frontier.count, amounts)

    def fail(self, error: Exception) -> None:
        """Stop because a store failed; nothing that was acknowledged is lost."""
        if self.failure is None:
            self.failure = error
            logger.error("%s", error)
        self.stop("failed")

    def stop(self, reason: str) -> None:
        """Lease no more; what is answered within a few seconds is still handled, all else goes back."""
        self.ending.set()
        self.server_outage.give_up()
        if not self.reason:
            self.reason = reason
            logger.info("stopping: %s", reason)
        self.leases.stop()

    def check_limits(self) -> None:
        """Stop when the bytes or the time of the ICD are used up; pages are bounded by the frontier."""
        if limit := reached(self.icd.limits, self.stats, self.seconds):
            self.stop(limit)

    @property
    def seconds(self) -> float:
        """Seconds of crawling, those before a restart included."""
        return self.stats["seconds"] + self._unsaved_seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep time, limits, watchers and ``crawl.json`` up to date while the body runs."""
        self.check_limits()  # A crawl that has used them up before fetches nothing more.
        self.disk_space.look()
        loop = asyncio.get_running_loop()

        def show_outage() -> None:
            with suppress(RuntimeError):  # The loop may have ended.
                loop.call_soon_threadsafe(self._show_pause)

        self.server_outage.changed.append(show_outage)
        self._watching = asyncio.create_task(self._watch())
        self._keeper.start()
        tasks = [asyncio.create_task(work()) for work in (self._tick, self._keep_saved, self._listen, *self.background)]
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
            self.server_outage.look()
            self._keeper.alive()
            await asyncio.sleep(TICK)

    async def _tick(self) -> None:
        """Keep the time, the limits and the display; none of that waits for the frontier's server."""
        last = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(TICK)
            now = asyncio.get_running_loop().time()
            if self.role.leads and not self.pause:
                self._unsaved_seconds += now - last
            last = now
            self.check_limits()
            for watcher in self.watchers:
                watcher(self)

    async def _listen(self) -> None:
        """Take over what others have added to the crawl's counts, again and again."""
        try:
            while not self.role.is_alone:
                await asyncio.sleep(TICK)
                await self._refresh_stats()
        except FrontierUnavailableError as error:
            self.fail(error)

    async def _keep_saved(self) -> None:
        try:
            while True:
                await asyncio.sleep(SUMMARY_EVERY)
                await self.save()
        except (FrontierUnavailableError, OSError) as error:
            self.fail(error)

    async def save(self, state: str = "") -> None:
        """Put the time that has passed into the frontier, and write ``crawl.json``; ``state`` is how it ended."""
        seconds, self._unsaved_seconds = self._unsaved_seconds, 0.0
        self.stats.add("seconds", seconds)
        if seconds:
            await self.call(self.stores.frontier.count, {"seconds": seconds})
        await self._refresh_stats()
        self.counts = await self.call(self.stores.frontier.counts)
        if state and self.role.keeps:
            await self.disk_space.retry(partial(self._conclude, state))
        elif not state:
            self._show_state()

    async def _conclude(self, state: str) -> None:
        self.stores.folder.write_summary(summary(self, state))
        self._is_concluded = True

    async def _refresh_stats(self) -> None:
        if not self.role.is_alone:
            self.stats.refresh(await self.call(self.stores.frontier.stats))

    def _show_state(self) -> None:
        """Write ``crawl.json``, where the disk has space for it: the crawl goes on without."""
        if not self.role.keeps or self._is_concluded:
            return
        try:
            self.stores.folder.write_summary(summary(self, "paused" if self.pause else "running"))
        except OSError as error:
            if not is_full(error):
                raise

    def _show_pause(self) -> None:
        with suppress(OSError):  # Errors of the disk are reported by those who cannot do without it.
            self._show_state()

    async def close(self, reason: str) -> None:
        """Release what is leased, write the summary, and close every store. The state stays for the next start."""
        try:
            await self.leases.close()
            self.counts = await self.call(self.stores.frontier.counts)
            limit = used_up(self.icd.limits, self.counts) if reason == FINISHED else ""
            self.reason = self.reason or limit or reason
            await self.save("finished" if self.reason == FINISHED else "stopped")
        except (FrontierUnavailableError, OSError) as error:
            self.fail(error)
            with suppress(OSError):
                if self.role.keeps:
                    self.stores.folder.write_summary(summary(self, "stopped"))
        finally:
            self._keeper.close()
            self._executor.close()
            if self._watching is not None:
                self._watching.cancel()
            self._close_stores()

    def _reconnect(self) -> None:
        """Begin with new connections, to a server that runs."""
        self._disconnect()
        self.stores.revive()

    def _disconnect(self) -> None:
        self.stores.frontier.close()
        if self.stores.addresses is not None:
            self.stores.addresses.close()

    def _close_stores(self) -> None:
        try:
            self.stores.closing.close()
        except SegmentError as error:
            self.fail(error)
