"""One crawl while it runs: its definition, its stores, its understanding of pages, its limits."""

import asyncio
import logging
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import ParamSpec, TypeVar
from uuid import uuid4

from aahcrawler import urls
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History
from aahcrawler.archive.writer import Capture, WarcWriter
from aahcrawler.crawl.addon import CONCURRENT_REQUESTS
from aahcrawler.crawl.archiving import NOTHING, Archiving, Enclosed
from aahcrawler.crawl.folder import CrawlFolder
from aahcrawler.crawl.leasing import FrontierLane, LeaseSource
from aahcrawler.crawl.manners import Manners, StoppedError
from aahcrawler.crawl.recrawl import Recrawl
from aahcrawler.crawl.room import Measure, Room, is_full
from aahcrawler.crawl.summary import summary
from aahcrawler.crawl.tally import Tally
from aahcrawler.crawl.wiring import LONGEST_REMAINS, request_headers, wire_settings
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Counts, Frontier, FrontierUnavailableError, Kind, Lease, Offer, State
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.scope import Scope
from aahcrawler.segments import SegmentError
from aahcrawler.webobject import Container, WebObject
from aahcrawler.wire.errors import WireError
from aahcrawler.wire.settings import WireSettings
from online_analysis.aggregation import OnlineAnalyser
from online_analysis.icd import Icd

logger = logging.getLogger(__name__)

FINISHED = "finished"
"""Why a crawl ended that has nothing more to fetch; also Scrapy's word for it."""
TICK = 1.0
"""Seconds between two looks at the time limit and the display."""
SUMMARY_EVERY = 10.0
"""Seconds between two writings of ``crawl.json``."""

BEGUN = "begun"
"""The count that holds when this crawl was begun, in seconds since 1970."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stores:
    """Where a crawl keeps things. ``closing`` closes them in the right order."""

    folder: CrawlFolder
    frontier: Frontier
    archive: WarcWriter
    history: History
    objects: ObjectWriter
    closing: ExitStack
    delivery: Delivery | None = None


@dataclass(frozen=True, slots=True)
class Understanding:
    """What makes sense of pages and links; ``fingerprint`` identifies all that pages are understood by."""

    helper: ApplicationAwareHelper
    analysers: tuple[OnlineAnalyser, ...]
    scope: Scope
    fingerprint: str = ""


class Job:
    """A crawl that is open in this process.

    States: open -> running -> ended. It ends when nothing is left to lease, when a limit is reached, when it is told
    to stop, or when a store fails (``failure`` is set then). Whatever the way, the same definition goes on where it
    stopped. While there is no ``room`` on the disk, as ``measure`` tells it, it pauses.
    """

    def __init__(
        self, icd: Icd, stores: Stores, understanding: Understanding, measure: Measure = shutil.disk_usage
    ) -> None:
        self.icd = icd
        self.stores = stores
        self.understanding = understanding
        self.tally = Tally(stores.frontier.tallies())
        self.counts: Counts = stores.frontier.counts()
        self.started_at = datetime.now(UTC)
        self.failure: Exception | None = None
        self.reason = ""
        self.beginning = ""
        """What the opening of the crawl meant, for people."""
        self.watchers: list[Callable[[Job], None]] = []
        """Called about once a second while the job runs."""
        self.ending = asyncio.Event()
        """Set when the crawl is told to stop; what is under way is then given a little time."""
        at = stores.folder
        written = (at.root, at.archive, at.objects, at.indexes, at.frontier)
        self.room = Room(written, icd.archive.reserve, self.ending, measure)
        self.room.changed.append(self._show_pause)
        self.alongside: list[Callable[[], Coroutine[None, None, None]]] = [self.room.watch]
        """Run beside the crawl from its start, and cancelled at its end."""
        self.request_headers = request_headers(icd)
        self._lane = FrontierLane(self.room)
        self.leases = LeaseSource(
            stores.frontier, self._lane, worker_name(), capacity(icd.limits.pages), lambda: self.room.is_short
        )
        self.manners = Manners(icd.politeness)
        self.number = stores.folder.standing.number
        """Which crawl of its definition this is, counted from 1."""
        self.begun_at = datetime.fromtimestamp(self.tally[BEGUN], UTC)
        self.recrawl = Recrawl(stores.history, self.number, self.begun_at, icd.limits.page_bytes)
        self._archiving = Archiving(stores.archive, stores.history, self.number)
        self._unsaved_seconds = 0.0

    # What settings and settlements ask

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
        return await self._lane.call(operation, *args, **kwargs)

    def offer(
        self, url: str, lease: Lease, score: float, *, depth: int | None = None, kind: Kind = "page", redirects: int = 0
    ) -> Offer:
        """Return a canonical URL that the page of a lease leads to, as an offer; by default as deep as that page."""
        deep = lease.depth if depth is None else depth
        return Offer(url, urls.queue_of(url), score, deep, kind, lease.url, redirects)

    def offer_foreign(self, url: str, priority: int) -> bool:
        """Offer a URL that a Scrapy add-on asks for, with a score from its priority; False when scope refuses it."""
        canonical = urls.canonicalize(url)
        if canonical is None:
            return False
        offer = Offer(canonical, urls.queue_of(canonical), min(1.0, max(0.0, 0.5 + priority / 200)))
        if self.understanding.scope.admit(offer.url, offer.queue) is not None:
            return False
        self.stores.frontier.offer([offer])
        return True

    async def turn(self, queue: str) -> None:
        """Wait until a queue may be asked again; raise ``StoppedError`` when the crawl is told to stop before that."""
        await self.room.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ending.wait(), self.manners.turn(queue))
        if self.ending.is_set():
            raise StoppedError

    @property
    def requisites_spent(self) -> bool:
        """Whether the limits leave nothing for requisites."""
        return self.tally["requisite_bytes"] >= self.icd.limits.requisite_bytes

    def most_bytes(self, kind: Kind) -> int | None:
        """Return how many bytes the limits leave for an answer, None where they set no bound."""
        limits = self.icd.limits
        left = [int(limits.bytes - self.tally["bytes"])] if limits.bytes else []
        if kind == "requisite":
            left.append(int(limits.requisite_bytes - self.tally["requisite_bytes"]))
        return max(0, min(left)) if left else None

    async def archive(self, exchange: Exchange, enclosed: Enclosed = NOTHING) -> Capture:
        """Put an exchange into the archive, as soon as there is room for it."""
        return await self._archiving.keep(exchange, enclosed, self.room.held)

    async def describe(
        self, capture: CaptureDescription, objects: Iterable[WebObject] = (), containers: Iterable[Container] = ()
    ) -> None:
        """Write the triples of a capture, as soon as there is room for them."""
        said, held_by = tuple(objects), tuple(containers)

        async def once() -> None:
            self.stores.objects.write(capture, said, held_by)

        await self.room.held(once)

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
        self.tally.merge(amounts)
        await self.call(self.stores.frontier.count, amounts)

    # Ends

    def fail(self, error: Exception) -> None:
        """Stop because a store failed; nothing that was acknowledged is lost."""
        if self.failure is None:
            self.failure = error
            logger.error("%s", error)
        self.stop("failed")

    def stop(self, reason: str) -> None:
        """Lease no more; what is answered within a few seconds is still settled, all else goes back."""
        self.ending.set()
        if not self.reason:
            self.reason = reason
            logger.info("stopping: %s", reason)
        self.leases.stop()

    def check_limits(self) -> None:
        """Stop when the bytes or the time of the ICD are used up; pages are bounded by the frontier."""
        limits = self.icd.limits
        if limits.bytes and self.tally["bytes"] >= limits.bytes:
            self.stop("limits.bytes reached")
        elif limits.time and self.seconds >= limits.time.total_seconds():
            self.stop("limits.time reached")

    def _used_up(self) -> str:
        """Name the limit on pages that keeps queued pages from being fetched, empty where none does."""
        limits = self.icd.limits
        if not self.counts.pages.get(State.QUEUED):
            return ""
        used_up = limits.pages and self.counts.pages.get(State.DONE, 0) >= limits.pages
        return "limits.pages reached" if used_up else "limits.pages_per_domain reached"

    @property
    def seconds(self) -> float:
        """Seconds of crawling, those before a restart included."""
        return self.tally["seconds"] + self._unsaved_seconds

    # Running

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep time, limits, watchers and ``crawl.json`` up to date while the body runs."""
        self.check_limits()  # A crawl that has used them up before fetches nothing more.
        self.room.look()
        tasks = [asyncio.create_task(work()) for work in (self._tick, *self.alongside)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task

    async def _tick(self) -> None:
        try:
            await self._keep_time()
        except (FrontierUnavailableError, OSError) as error:
            self.fail(error)

    async def _keep_time(self) -> None:
        last = saved = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(TICK)
            now = asyncio.get_running_loop().time()
            if not self.room.is_short:
                self._unsaved_seconds += now - last
            last = now
            self.check_limits()
            for watcher in self.watchers:
                watcher(self)
            if now - saved >= SUMMARY_EVERY:
                saved = now
                await self.leases.renew()
                await self.save()

    async def save(self, state: str = "") -> None:
        """Put the time that has passed into the frontier, and write ``crawl.json``; ``state`` is how it ended."""
        seconds, self._unsaved_seconds = self._unsaved_seconds, 0.0
        self.tally.add("seconds", seconds)
        await self.call(self.stores.frontier.count, {"seconds": seconds})
        self.counts = await self.call(self.stores.frontier.counts)
        if state:
            self.stores.folder.write_summary(summary(self, state))
        else:
            self._show_state()

    def _show_state(self) -> None:
        """Write ``crawl.json``, where there is room for it: the crawl goes on without."""
        try:
            self.stores.folder.write_summary(summary(self, "paused" if self.room.is_short else "running"))
        except OSError as error:
            if not is_full(error):
                raise

    def _show_pause(self) -> None:
        with suppress(OSError):  # What is wrong with the disk is told by those who cannot do without it.
            self._show_state()

    async def close(self, reason: str) -> None:
        """Release what is leased, write the summary, and close every store. The state stays for the next start."""
        try:
            await self.leases.close()
            self.counts = await self.call(self.stores.frontier.counts)
            used_up = self._used_up() if reason == FINISHED else ""
            self.reason = self.reason or used_up or reason
            await self.save("finished" if self.reason == FINISHED else "stopped")
        except (FrontierUnavailableError, OSError) as error:
            self.fail(error)
            with suppress(OSError):
                self.stores.folder.write_summary(summary(self, "stopped"))
        finally:
            self._lane.close()
            self._close_stores()

    def _close_stores(self) -> None:
        try:
            self.stores.closing.close()
        except SegmentError as error:
            self.fail(error)


def capacity(pages: int) -> int:
    """Return how many URLs are fetched at once for a budget of ``pages``, 0 for no bound.

    What is under way was chosen before its result was known, so it may take no more than a fiftieth of the budget.

    >>> capacity(0), capacity(160), capacity(10_000)
    (64, 3, 64)
    """
    return max(1, min(CONCURRENT_REQUESTS, pages // 50)) if pages else CONCURRENT_REQUESTS


def worker_name() -> str:
    """Return a name for this process that no other worker has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
