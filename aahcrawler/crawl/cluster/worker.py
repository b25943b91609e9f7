"""``aah worker``: one process that serves every crawl of a server with one pool of fetchers (ARCOMEM, section 4.3).

Every second it looks at the registry: crawls that are new are opened, those that have ended are left. Each crawl has a
Scrapy crawler of its own; they share the event loop, the bound on what is fetched at once, and the worker's name.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, time

from scrapy.crawler import AsyncCrawlerRunner
from scrapy.settings import Settings

from aahcrawler import __version__
from aahcrawler.crawl.cluster.submission import RegisteredDefinition, RegisteredTopic
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.directory.folder import CrawlRefusedError, FolderBusyError
from aahcrawler.crawl.health.disk_space import seldom_collected, share_one_arena, spare
from aahcrawler.crawl.lease.lease_source import CONCURRENT_REQUESTS, Slots, worker_name
from aahcrawler.crawl.reload.config_reload import DefinitionFile, DefinitionSource
from aahcrawler.crawl.scrapy.crawl_settings import adapts, knowledge_folders
from aahcrawler.crawl.scrapy.spider import AahSpider
from aahcrawler.crawl.startup.factory import KnowledgeSource, SharedCrawl, join_job
from aahcrawler.crawl.startup.job import Job
from aahcrawler.crawl.stats.crawl_log import CURRENT_CRAWL, listening
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.registry import Server
from aahcrawler.frontier.registry import (
    MAX_EVENT_LENGTH,
    CrawlState,
    Doing,
    EventLog,
    Presence,
    Registered,
    Registry,
    RegistryError,
    Worker,
    WorkerEvent,
)
from aahcrawler.report import ReportError, write_report
from aahcrawler.segments import SegmentError
from knowledge_base.loader import LoadError
from online_analysis.icd import IcdError

logger = logging.getLogger(__name__)

REPORTED = (
    "pages",
    "requests",
    "answers",
    "bytes",
    "objects",
    "relevant",
    "requisites",
    "robots",
    "retries",
    "failed_actions",
)
"""The statistics that a worker reports of each crawl."""


@dataclass(frozen=True, slots=True)
class SharedServer:
    """The shared server of a crawl; ``server`` is the URL of the frontiers."""

    server: str
    registry: Registry
    presence: Presence


class ServedCrawl:
    """A crawl that this process works on, beside others."""

    def __init__(self, crawl: Registered, job: Job, shared_server: SharedServer) -> None:
        self.crawl = crawl
        self.job = job
        self._shared_server = shared_server
        self.hold()

    @classmethod
    def opened(
        cls, crawl: Registered, shared_server: SharedServer, choice: KnowledgeSource, where: Path, slots: Slots
    ) -> "ServedCrawl":
        """Open a crawl. ``where`` is its folder, or the file of its definition, which then says what its folder is.

        The ``slots`` are shared by all crawls of this process. Errors are those of ``open_job``.
        """
        source: DefinitionSource = (
            DefinitionFile(where) if where.is_file() else RegisteredDefinition(shared_server.registry, crawl.id, where)
        )
        topic = RegisteredTopic(shared_server.registry, crawl.id, crawl.number)
        shared_crawl = SharedCrawl(crawl.number, crawl.begun_at, shared_server.server, topic)
        job = join_job(source.load(), shared_crawl, choice, source, slots)
        try:
            return cls(crawl, job, shared_server)
        except BaseException:
            job.writer.stores.closing.close()
            raise

    async def crawl_on(self, runner: AsyncCrawlerRunner) -> bool:
        """Work on the crawl until it ends or is stopped; say whether it failed."""
        with self.job.writer.stores.closing:
            spare()
            crawler = runner.create_crawler(AahSpider)
            await runner.crawl(crawler, job=self.job)
            if crawler.spider is None:
                self.job.lifecycle.fail(
                    CrawlRefusedError(f"the spider could not be started, see {self.job.writer.stores.folder.log}")
                )
        return self.job.lifecycle.failure is not None

    def stop(self, reason: str) -> None:
        """Have the work end, in good order."""
        if not self.job.lifecycle.is_ending:
            self.job.lifecycle.stop(reason)

    def hold(self) -> None:
        """Take or keep what falls to one of many: the crawl's time, and what the folder has one of."""
        role = f"{self.crawl.id}/{self.crawl.number}"
        self.job.lifecycle.role.leads = self._shared_server.presence.hold(role, worker_name())
        self.job.lifecycle.role.keeps = self.job.writer.stores.folder.lock.become_keeper()

    def stats(self) -> dict[str, float]:
        """Return what this process has done for the crawl since it was started."""
        own = self.job.writer.stats.own
        return {name: round(own.get(name, 0.0), 3) for name in REPORTED} | {"out": float(self.job.fetching.leases.out)}

    @property
    def doing(self) -> Doing:
        """What this process does for the crawl at present."""
        lifecycle = self.job.lifecycle
        now = lifecycle.activity
        next_at = None if now.wait is None else time() + now.wait
        return Doing(now.sites, now.next_site, next_at, lifecycle.pause)

    def conclude(self) -> str:
        """Report to the others where the crawl is over; return how it ended, for people."""
        job = self.job
        if job.lifecycle.failure is not None:
            return f"stopped: {str(job.lifecycle.failure).rstrip('.')}"
        if job.lifecycle.reason == FINISHED or job.lifecycle.reason.startswith("limits."):
            self._shared_server.registry.end(self.crawl.id, self.crawl.number, job.lifecycle.reason)
            if self.job.lifecycle.role.keeps:
                try:
                    write_report(job.writer.stores.folder.root)
                except ReportError as error:
                    logger.warning("%s", error)
        own = {name: int(job.writer.stats.own.get(name, 0)) for name in ("pages", "objects")}
        return f"{own['pages']:,} pages, {own['objects']:,} web objects by this worker; {job.lifecycle.reason}"

    async def close(self) -> None:
        """Close what was opened in vain."""
        await self.job.lifecycle.close("shutdown")


EVERY = 0.5
"""Seconds between two deliveries."""
MAX_WAITING = 10_000
"""Events that wait while the server cannot be reached; the oldest of more are lost, and counted."""
_MAX_AT_ONCE = 1000


class EventSink(logging.Handler):
    """Takes events from any thread, never waits, and hands them to the server's log when told to."""

    def __init__(self, log: EventLog, worker: str) -> None:
        super().__init__()
        self._log = log
        self._worker = worker
        self._waiting: deque[WorkerEvent] = deque()
        self._lost = 0
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Take an event."""
        try:
            self._take(record)
        except Exception:  # Whatever cannot be written as text is no reason to fail.
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info:
            text = f"{text} {self._formatter.formatException(record.exc_info)}"
        elif record.exc_text:
            text = f"{text} {record.exc_text}"
        message = text[:MAX_EVENT_LENGTH].replace("\r", " ").replace("\n", " | ")
        at, subsystem = datetime.fromtimestamp(record.created, UTC), record.name.removeprefix("aahcrawler.")
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(WorkerEvent(at, self._worker, CURRENT_CRAWL.get(), record.levelname, subsystem, message))

    async def run(self) -> None:
        """Hand on what comes, until cancelled; what cannot be delivered waits."""
        while True:
            await asyncio.sleep(EVERY)
            await self.deliver()

    async def deliver(self) -> None:
        """Hand on what waits, as far as the server takes it."""
        while self._waiting:
            part = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MAX_AT_ONCE))]
            try:
                await asyncio.to_thread(self._log.put, (*self._of_the_lost(part), *part))
            except FrontierUnavailableError:
                self._waiting.extendleft(reversed(part))
                return
            self._lost = 0

    def _of_the_lost(self, part: Sequence[WorkerEvent]) -> tuple[WorkerEvent, ...]:
        if not self._lost:
            return ()
        message = f"{self._lost} events before this one are lost: the server could not be reached"
        return (WorkerEvent(part[0].at, self._worker, "", "WARNING", "crawl.cluster.event_sink", message),)


DONE, FAILED, MISTAKE = 0, 1, 2
"""Exit codes: it left in good order; a crawl that it served failed; a crawl could not be opened."""
LOOK_EVERY = 1.0
"""Seconds between two looks at the registry."""
HEARTBEAT_EVERY = 3.0
"""Seconds between two signs of life."""
GRACE = 5.0
"""Seconds that a server is waited for when this worker leaves."""
MAX_PAUSE = 60.0
"""Seconds after which a crawl that could not be opened, or failed, is tried again at the latest."""

_OPENING_ERRORS = (
    IcdError,
    CrawlRefusedError,
    LoadError,
    FrontierUnavailableError,
    SegmentError,
    RegistryError,
    OSError,
)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options of a worker.

    Crawls write to folders of their ids in ``folder``. ``only`` names the crawls that it serves, all where it is
    empty; ``until_finished``: it leaves when these have ended. ``definition`` is the file of the only crawl, on this
    machine, which is then looked at instead of what was submitted, and says where to write. ``at_once`` bounds what is
    fetched at once. ``attached``: it leaves when its standard input ends.
    """

    folder: Path = Path("crawls")
    only: Collection[str] = ()
    until_finished: bool = False
    definition: Path | None = None
    at_once: int = CONCURRENT_REQUESTS
    attached: bool = False


def serve(server: Server, options: WorkerOptions, settings: Settings, say: Callable[[str], None]) -> int:
    """Serve crawls until told to leave, by Ctrl-C or SIGTERM, and return an exit code.

    What is being fetched is handled then, what is leased goes back. Told again, it leaves at once, and its leases run
    out.
    """
    # Without a reactor there is one event loop for all that runs here, and it is ours.
    settings.set("TWISTED_REACTOR_ENABLED", False, priority="cmdline")
    share_one_arena()
    sink = EventSink(server.events, worker_name())
    with listening(sink), seldom_collected():
        try:
            return asyncio.run(_Process(server, options, settings, say).run(sink))
        except asyncio.CancelledError:
            return FAILED


class _Process:
    """The worker of this process."""

    def __init__(self, server: Server, options: WorkerOptions, settings: Settings, say: Callable[[str], None]) -> None:
        self._server = server
        self._options = options
        self._say = say
        self._runner = AsyncCrawlerRunner(settings)
        self._choice = KnowledgeSource(knowledge_folders(settings), adapts(settings))
        self._slots = Slots(options.at_once)
        self._services: dict[str, ServedCrawl] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: dict[str, tuple[float, float]] = {}
        self._leaving = asyncio.Event()
        self._started_at = time()
        self._code = DONE
        self._away = ""

    async def run(self, sink: EventSink) -> int:
        """Serve until told to leave, or until nothing is left that was asked for."""
        self._listen_for_the_end()
        beside = [asyncio.create_task(work()) for work in (sink.run, self._heartbeat)]
        logger.info("worker %s serves %s", worker_name(), ", ".join(self._options.only) or "all crawls")
        try:
            await self._serve_until_the_end()
        finally:
            for task in beside:
                task.cancel()
            await self._take_leave(sink)
        return self._code

    async def _take_leave(self, sink: EventSink) -> None:
        """Say that this worker leaves, if the server hears it soon."""
        logger.info("worker %s leaves", worker_name())
        try:
            async with asyncio.timeout(GRACE):
                await asyncio.to_thread(self._server.presence.leave, worker_name())
                await sink.deliver()
        except (FrontierUnavailableError, TimeoutError):
            self._server.disconnect()  # Threads that wait for it would keep this process.

    async def _serve_until_the_end(self) -> None:
        while not self._leaving.is_set():
            if await self._until_leaving(self._look()):
                break
            with suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), LOOK_EVERY)
        for service in self._services.values():
            service.stop("shutdown")
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _until_leaving(self, look: Coroutine[None, None, bool]) -> bool:
        """Return what the registry says; False where this worker is told to leave meanwhile."""
        looking, leaving = asyncio.ensure_future(look), asyncio.ensure_future(self._leaving.wait())
        try:
            await asyncio.wait((looking, leaving), return_when=asyncio.FIRST_COMPLETED)
            return looking.done() and looking.result()
        finally:
            looking.cancel()
            leaving.cancel()

    async def _look(self) -> bool:
        """Open what is new and leave what has ended; say whether nothing is left to be done."""
        try:
            crawls = {each.id: each for each in await asyncio.to_thread(self._server.registry.crawls)}
        except (FrontierUnavailableError, RegistryError) as error:
            if not self._away:
                logger.error("crawls that are new cannot be seen: %s", error)
            self._away = str(error)
            return False
        self._away = ""
        wanted = {name: crawl for name, crawl in crawls.items() if self._is_for_us(crawl)}
        for name, service in self._services.items():
            crawl = crawls.get(name)
            if crawl is None or crawl.number != service.crawl.number or crawl.state is CrawlState.ENDED:
                service.stop(crawl.reason if crawl is not None and crawl.reason else "ended")
        for name, crawl in wanted.items():
            if name not in self._tasks and self._again.get(name, (0.0, 0.0))[0] <= monotonic():
                self._tasks[name] = asyncio.create_task(self._serve(crawl), name=f"crawl {name}")
        return self._options.until_finished and not wanted and not self._tasks and self._knows(crawls)

    def _is_for_us(self, crawl: Registered) -> bool:
        return crawl.state is CrawlState.ACTIVE and (not self._options.only or crawl.id in self._options.only)

    def _knows(self, crawls: Collection[str]) -> bool:
        """Say whether what is to be served was submitted at all."""
        return set(self._options.only) <= set(crawls)

    async def _serve(self, crawl: Registered) -> None:
        """Serve one crawl to its end."""
        CURRENT_CRAWL.set(crawl.id)
        try:
            service = await asyncio.to_thread(self._opened, crawl)
            if service is None or self._leaving.is_set():
                if service is not None:
                    await service.close()
                return
            self._services[crawl.id] = service
            self._say(f"{crawl.id}: {service.job.lifecycle.started_as}, in {service.job.writer.stores.folder.root}")
            await self._crawl(service)
        except Exception:
            logger.exception("crawl %s cannot be served", crawl.id)
            self._postpone(crawl.id)
        finally:
            self._services.pop(crawl.id, None)
            self._tasks.pop(crawl.id, None)

    async def _crawl(self, service: ServedCrawl) -> None:
        self._slots.join(service.job.fetching.leases)
        try:
            failed = await service.crawl_on(self._runner)
        finally:
            self._slots.leave(service.job.fetching.leases)
        ending = await asyncio.to_thread(service.conclude)
        self._say(f"{service.crawl.id}: {ending}")
        if failed:
            self._code = FAILED
            self._postpone(service.crawl.id)
        else:
            self._again.pop(service.crawl.id, None)

    def _opened(self, crawl: Registered) -> ServedCrawl | None:
        try:
            shared_server = SharedServer(self._server.address, self._server.registry, self._server.presence)
            definition, folder = self._options.definition, self._options.folder / crawl.id
            return ServedCrawl.opened(crawl, shared_server, self._choice, definition or folder, self._slots)
        except FolderBusyError as error:
            logger.info("crawl %s is tried again soon: %s", crawl.id, error)
            self._again[crawl.id] = (monotonic() + LOOK_EVERY, 0.5)
            return None
        except _OPENING_ERRORS as error:
            logger.error("crawl %s cannot be opened: %s", crawl.id, error)
            if crawl.id not in self._again:
                self._say(f"{crawl.id}: cannot be opened: {error}")
            if self._options.until_finished and isinstance(error, IcdError | LoadError):
                self._code = MISTAKE
                self._leaving.set()
            self._postpone(crawl.id)
            return None

    def _postpone(self, crawl: str) -> None:
        pause = min(MAX_PAUSE, 2 * self._again.get(crawl, (0.0, 0.5))[1])
        self._again[crawl] = (monotonic() + pause, pause)

    async def _heartbeat(self) -> None:
        """Send heartbeats and hold this worker's roles, again and again."""
        while True:
            services = dict(self._services)
            worker = Worker(
                worker_name(),
                socket.gethostname(),
                os.getpid(),
                self._started_at,
                str(self._options.folder.absolute()),
                f"AAHCrawler/{__version__}",
                {name: service.stats() for name, service in services.items()},
                {name: service.doing for name, service in services.items()},
            )
            try:
                await asyncio.to_thread(self._server.presence.heartbeat, worker)
                for service in services.values():
                    await asyncio.to_thread(service.hold)
            except FrontierUnavailableError as error:
                logger.warning("the server cannot be reached for this worker's heartbeat: %s", error)
            await asyncio.sleep(HEARTBEAT_EVERY)

    def _listen_for_the_end(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def leave() -> None:
            if self._leaving.is_set() and task is not None:
                task.cancel()
            self._leaving.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, leave)
        if self._options.attached:
            loop.add_reader(sys.stdin.fileno(), self._read_on)

    def _read_on(self) -> None:
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._leaving.set()
