"""Hold the stores of a crawl, and write to them."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import ParamSpec, TypeVar

from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.crawl.capture.archiver import NO_ANNOTATIONS, NO_REDACTION, Annotations, Archiver, Redaction
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.crawl.fetch.client_settings import MAX_REMAINS_LENGTH
from aahcrawler.crawl.health.disk_space import DiskSpace
from aahcrawler.crawl.health.outages import ServerOutage
from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.crawl.stats.collector import SharedStats
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.control import Blocking, Revisiting
from aahcrawler.frontier.ip_locks import IpLocks, LocalIpLocks
from aahcrawler.frontier.protocol import Frontier
from aahcrawler.frontier.session_store import LocalSessionStore, SessionStore
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.refusals import RefusalLog
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.scores import ScoreLog
from aahcrawler.webobject import Container, WebObject
from aahcrawler.wire.errors import WireError

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
        """Archive what came of an answer whose head never ended, as much of it as all readers take."""
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
