"""What a crawl in this process holds: its context, and its stores, to which a capture is written in order."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import ParamSpec, TypeVar

from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.crawl.capture.archiver import NO_ANNOTATIONS, NO_REDACTION, Annotations, Archiver, Redaction
from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.crawl.fetch.client_settings import MAX_REMAINS_LENGTH, request_headers
from aahcrawler.crawl.health.disk_space import DiskSpace
from aahcrawler.crawl.health.outages import ServerOutage
from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.crawl.stats.collector import SharedStats
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.control import Blocking, Revisiting
from aahcrawler.frontier.ip_locks import IpLocks, LocalIpLocks
from aahcrawler.frontier.protocol import Frontier
from aahcrawler.frontier.session_store import LocalSessionStore, SessionStore
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.pipeline.links import LinkRules
from aahcrawler.refusals import RefusalLog
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.scope import Scope
from aahcrawler.scores import Lessons, ScoreLog
from aahcrawler.traps.traps import Traps
from aahcrawler.webobject import Container, WebObject
from aahcrawler.wire.errors import WireError
from online_analysis.aggregation import OnlineAnalyser
from online_analysis.icd import Icd
from online_analysis.icd import Traps as TrapsSection
from online_analysis.topic import Topic

ObjectWatcher = Callable[[CaptureDescription, Sequence[WebObject]], Awaitable[Mapping[str, float]]]
"""Is given the web objects of each page that was kept, and returns what became of them, as counts of the crawl."""

P = ParamSpec("P")
T = TypeVar("T")


def not_revived() -> None:
    """Leave the frontier's server to those who run it."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of a crawl. ``closing`` closes them in the right order.

    ``revive`` starts the frontier's server again where it is this process's own and has died, and may raise
    ``FrontierUnavailableError``.
    """

    folder: CrawlFolder
    frontier: Frontier
    archive: WarcWriter
    history: History
    objects: ObjectWriter
    scores: ScoreLog
    closing: ExitStack
    delivery: Delivery | None = None
    ip_locks: IpLocks = field(default_factory=lambda: LocalIpLocks(monotonic))
    revive: Callable[[], None] = not_revived
    refusals: RefusalLog | None = None
    """Keeps the links that were refused; None where nobody does."""
    changes: ChangeLog | None = None
    """Keeps what visits found; None where nobody does."""
    blocking: Blocking | None = None
    """Keeps URLs from being fetched, and lets them go; None where nobody can."""
    revisiting: Revisiting | None = None
    """Has pages fetched again; None where nobody can."""
    sessions: SessionStore = field(default_factory=LocalSessionStore)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that are written to."""
        at = self.folder
        return (at.root, at.archive, at.objects, at.scores, at.indexes, at.frontier)

    def disconnect(self) -> None:
        """Drop all connections to the frontier's server; the next call makes new ones."""
        self.frontier.close()
        self.ip_locks.close()

    def reconnect(self) -> None:
        """Begin with new connections, to a server that runs."""
        self.disconnect()
        self.revive()


class StoreWriter:
    """Reads and writes the stores of a running crawl without blocking its event loop.

    Writes wait while the disk is full, and calls of the frontier while its server is away; ``hindrance`` says so.
    """

    def __init__(self, stores: Stores, disk_space: DiskSpace, redaction: Redaction = NO_REDACTION) -> None:
        self.stores = stores
        self.disk_space = disk_space
        self.server_outage = ServerOutage(stores.reconnect, stores.disconnect)
        self.executor = FrontierExecutor(disk_space, self.server_outage)
        self.stats = SharedStats(stores.frontier.stats())
        self.object_watchers: list[ObjectWatcher] = []
        self._archiver = Archiver(stores.archive, stores.history, stores.folder.run.number, redaction)

    @property
    def hindrance(self) -> str:
        """Why nothing can be written for now and what to do, empty while there is nothing in the way."""
        return self.disk_space.why or self.server_outage.why

    async def call(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an operation of the frontier off the event loop."""
        return await self.executor.call(operation, *args, **kwargs)

    async def retry(self, write: Callable[[], Awaitable[T]]) -> T:
        """Make a write, and make it again while the disk is full."""
        return await self.disk_space.retry(write)

    async def write(self, operation: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Run an operation that writes to a file, and run it again while the disk is full."""

        async def once() -> None:
            operation(*args, **kwargs)

        await self.disk_space.retry(once)

    async def archive(self, exchange: Exchange, annotations: Annotations = NO_ANNOTATIONS) -> WrittenCapture:
        """Put an exchange into the archive, as soon as the disk has space for it."""
        return await self._archiver.keep(exchange, annotations, self.disk_space.retry)

    async def describe(
        self, capture: CaptureDescription, objects: Iterable[WebObject] = (), containers: Iterable[Container] = ()
    ) -> None:
        """Write the triples of a capture, as soon as the disk has space for them."""
        await self.write(self.stores.objects.write, capture, tuple(objects), tuple(containers))

    async def hand_on(self, capture: CaptureDescription, objects: Sequence[WebObject]) -> Mapping[str, float]:
        """Give the web objects of a page that was kept to all who watch; return their counts."""
        counts = Counter[str]()
        for watcher in self.object_watchers:
            counts.update(await watcher(capture, objects))
        return counts

    async def archive_remains(self, error: WireError) -> None:
        """Archive what came of a response whose head never ended, as much of it as all readers take."""
        exchange, error.exchange = error.exchange, None
        if exchange is None:
            return
        with closing(exchange):
            came = exchange.response.read(MAX_REMAINS_LENGTH)
        await self.archive(replace(exchange, response=BytesIO(came), response_size=len(came)))
        await self.count({"requests": 1, "bytes": len(came)})

    async def count(self, amounts: Mapping[str, float]) -> None:
        """Add to the crawl's counts what belongs to no lease."""
        self.stats.merge(amounts)
        await self.call(self.stores.frontier.count, amounts)


@dataclass(frozen=True)
class CrawlContext:
    """A definition and what makes sense of pages and links; ``fingerprint`` identifies all that pages are analysed by.

    ``ranker`` is the only part that learns from pages, None where the definition gives it no weight. ``topic`` is what
    the analysers compare with; without it no batches are scored. ``topic_learner`` replaces topic and analysers when
    it has learned more. ``traps`` is what pages have taught of traps.
    """

    icd: Icd
    helped_by: Callable[[], ApplicationAwareHelper]
    analysers: tuple[OnlineAnalyser, ...]
    scope: Scope
    fingerprint: str = ""
    ranker: Lessons | None = None
    topic: Topic | None = None
    topic_learner: TopicLearner | None = None
    traps: Traps = field(default_factory=lambda: Traps(TrapsSection()))

    @property
    def helper(self) -> ApplicationAwareHelper:
        """The helper; a crawl that has just begun may wait for it."""
        return self.helped_by()

    @property
    def request_headers(self) -> dict[str, str]:
        """The headers of every request."""
        return request_headers(self.icd)

    @property
    def obeys_robots(self) -> bool:
        """Whether robots.txt is asked for and obeyed."""
        return self.icd.politeness.robots == "obey"

    @property
    def attempts(self) -> int:
        """The most attempts to fetch a URL."""
        return self.icd.politeness.retries + 1

    @cached_property
    def link_rules(self) -> LinkRules:
        """Rules that decide which links are offered."""
        limits = self.icd.limits
        return LinkRules(
            self.scope,
            self.traps,
            follows_feeds=self.icd.sources.feeds != "off",
            obeys_nofollow=self.icd.politeness.nofollow == "obey",
            follows_from=self.icd.scoring.follow,
            requisites_per_page=limits.requisites_per_page,
            requisites_per_style_sheet=limits.requisites_per_style_sheet,
            parts_per_stream=limits.parts_per_stream,
        )


class CurrentContext:
    """Holds the context that a crawl goes by from now on; it is only ever replaced as a whole."""

    def __init__(self, context: CrawlContext) -> None:
        self.now = context
        """The newest context."""

    def use(self, context: CrawlContext) -> None:
        """Go by another context from the next request and page on."""
        self.now = context
