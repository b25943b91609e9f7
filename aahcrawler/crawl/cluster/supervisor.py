"""``aah crawl FILE --workers N``: one crawl by several processes of this machine, in one folder.

This process does what there is one of. It runs the frontier's server where that is the crawl's own, keeps time and
``crawl.json``, delivers, and shows how far the crawl is; it fetches nothing. The others are workers like those of
``aah worker``, and leave when this one goes, however it ends.
"""

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

from rich.console import Console
from scrapy.settings import Settings

from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.index import update
from aahcrawler.crawl.core.lifecycle import SUMMARY_EVERY
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.crawl.lease.lease_source import capacity, worker_name
from aahcrawler.crawl.peers import PeerExport
from aahcrawler.crawl.reload.config_reload import DefinitionFile
from aahcrawler.crawl.reporting.live_display import Activity, Show, display, together
from aahcrawler.crawl.reporting.summary import (
    DONE,
    FAILED,
    MISTAKE,
    ended_well,
    outcome,
    recounted,
    say,
    summary,
    tell_browser,
    tell_not_followed,
    tell_repeated,
    tell_seeds,
    tell_sources,
    tell_undelivered,
)
from aahcrawler.crawl.scrapy.crawl_settings import knowledge_folders
from aahcrawler.crawl.startup.factory import checked
from aahcrawler.crawl.startup.store_opening import FrontierConnection, begin_delivery, open_frontier, repair_folder
from aahcrawler.crawl.stats.collector import BEGUN, Stats
from aahcrawler.crawl.stats.crawl_log import keep_events
from aahcrawler.definition_bundle import bundled
from aahcrawler.fingerprint import KnowledgeUsed
from aahcrawler.frontier.protocol import Counts, FrontierUnavailableError
from aahcrawler.frontier.redis.registry import Server, connected
from aahcrawler.frontier.registry import CrawlState, Doing, Registered, RegistryError
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontier.server.file_mending import Damage, damages
from aahcrawler.revisits.time_left import CrawlCourse, TimeLeft, pause_after
from aahcrawler.schedule.child_crawls import CrawlTold
from aahcrawler.segments import SegmentError
from aahcrawler.sources.local_archives import damaged
from knowledge_base.file_selection import folders_for
from knowledge_base.loader import LoadError, load
from online_analysis.icd import Icd, IcdError

logger = logging.getLogger(__name__)

MAX_REPLACED = 20
"""How many workers that died are replaced in all."""
TICK = 1.0
_MAX_OUTPUT_LENGTH = 2000


@dataclass(slots=True)
class Overview:
    """The crawl as this process sees it: what the frontier says of it. See ``Countable``."""

    icd: Icd
    number: int
    begun_at: datetime
    stats: Stats
    counts: Counts
    delivery: Delivery | None
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    reason: str = ""
    pause: str = ""
    peer_export: PeerExport | None = None
    frontier_damage: Sequence[Damage] = ()
    knowledge: KnowledgeUsed | None = None
    root: Path = Path()
    course: CrawlCourse = field(default_factory=CrawlCourse)
    activity: Activity | None = None
    """What the workers do, as their last signs of life tell; None before the first one."""

    @property
    def source_damage(self) -> Mapping[str, int]:
        """The number of places that could not be read in each of the archive files that captures come from."""
        return damaged(self.icd, self.root)

    @property
    def seconds(self) -> float:
        """Seconds of crawling."""
        return self.stats["seconds"]

    @property
    def time_left(self) -> TimeLeft:
        """How long it still takes, as it was estimated some seconds ago."""
        return self.course.left(self.seconds)


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    output: IO[bytes]

    def leave(self) -> None:
        """Let it end in good order: it is attached to us by its standard input."""
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()

    @property
    def output_tail(self) -> str:
        self.output.seek(0)
        return self.output.read()[-_MAX_OUTPUT_LENGTH:].decode("utf-8", "replace").strip()


def run_supervised(icd: Path, settings: Settings, workers: int, *, accept_changes: bool = False) -> int:
    """Run the crawl of a definition with so many processes until it ends, and return an exit code.

    Ctrl-C ends it in good order. The same command, with another number of workers or none, goes on from there.
    """
    console = Console(stderr=True)
    with ExitStack() as opening:
        try:
            named = knowledge_folders(settings)
            supervisor = Supervisor.opened(icd, workers, named, opening, accept_changes=accept_changes)
        except (IcdError, CrawlRefusedError, LoadError, FrontierUnavailableError, RegistryError, OSError) as error:
            say(console, str(error))
            return MISTAKE
        folder = supervisor.folder
        say(console, f"{folder.root}: crawl {supervisor.view.number} {folder.run.start}, {workers} workers")
        with _stopped_by_signals(supervisor), display(console) as show:
            code = supervisor.run(show)
        tell_seeds(console, supervisor.view)
        tell_browser(console, supervisor.view)
        tell_sources(console, supervisor.view)
        tell_repeated(console, supervisor.view)
        tell_not_followed(console, supervisor.view)
        say(console, outcome(supervisor.folder.root, supervisor.view, supervisor.failure))
    tell_undelivered(console, supervisor.folder.root, supervisor.view.delivery)
    return code


class Supervisor:
    """The workers of one crawl, and what they have in common."""

    def __init__(
        self,
        file: Path,
        workers: int,
        folder: CrawlFolder,
        view: Overview,
        servers: tuple[FrontierConnection, Server],
        last: tuple[int, float] = (0, 0.0),
    ):
        """``last`` is the number of the crawl before this one in the folder, and how many seconds that took."""
        self.folder = folder
        self.view = view
        self.failure = ""
        self._file = file
        self._wanted = workers
        self._last = last
        self._connection, self._server = servers
        self._workers: list[_Worker] = []
        self._replaced = 0
        self._stopping = False
        self._looks_again_at = 0.0

    @classmethod
    def opened(
        cls, file: Path, workers: int, named: tuple[Path, ...], opening: ExitStack, *, accept_changes: bool
    ) -> "Supervisor":
        """Open a crawl as ``open_job`` does, but for what workers open themselves, and let them in.

        Mistakes in the knowledge base of the ``named`` folders are reported once, before any worker begins.
        """
        icd = checked(DefinitionFile(file).load())
        load(*(folders := folders_for(icd.output, named)))
        folder = CrawlFolder.open(icd, accept_changes=accept_changes)
        opening.callback(folder.close)
        opening.enter_context(keep_events(folder.log, icd.id))
        repair_folder(folder)
        connection = open_frontier(icd, folder, opening)
        delivery = begin_delivery(icd, folder, opening)
        server = opening.enter_context(connected(connection.address))
        registered = _registered(file, icd, folder, (connection, server))
        stats, counts = Stats(connection.frontier.stats()), connection.frontier.counts()
        view = Overview(icd, registered.number, registered.begun_at, stats, counts, delivery)
        view.frontier_damage, view.root = damages(folder.frontier), folder.root
        former = CrawlTold.of(folder.root)
        view.knowledge = KnowledgeUsed.of(folders)
        folder.write_summary(summary(view, "running"))
        folder.note_start(file, workers)
        folder.lock.unlock()
        logger.info("crawl %d %s by %d workers", view.number, folder.run.start, workers)
        return cls(file, workers, folder, view, (connection, server), (former.crawl, former.seconds))

    def stop(self) -> None:
        """Have the workers leave in good order."""
        self._stopping = True
        for worker in self._workers:
            worker.leave()

    def run(self, show: Show) -> int:
        """Run workers until the crawl ends or is stopped, and return an exit code."""
        self._workers = [self._started() for _ in range(self._wanted)]
        recall = partial(self.view.course.recall, self.folder.root, self.view.number, self._last)
        Thread(target=recall, daemon=True, name="former crawls").start()
        saved = time.monotonic()
        while self._workers:
            time.sleep(TICK)
            self._look()
            show(self.view)
            self._reap()
            if time.monotonic() - saved >= SUMMARY_EVERY:
                saved = time.monotonic()
                self._write("paused" if self.view.pause else "running")
        return self._conclude()

    def _started(self) -> _Worker:
        most = capacity(self.view.icd.limits.pages)
        command = [sys.executable, "-m", "aahcrawler.cli", "worker", "--only", self.view.icd.id, "--until-finished"]
        command += ["--attached", "--definition", str(self._file), "--folder", str(self.folder.root.parent)]
        command += ["--at-once", str(max(1, most // self._wanted) if self.view.icd.limits.pages else most)]
        output = TemporaryFile()  # noqa: SIM115 - kept until the worker's end
        # The URL may hold a password, which the list of processes would show.
        environment = {**os.environ, REDIS_URL: self._connection.address}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output, env=environment)
        return _Worker(process, output)

    def _look(self) -> None:
        """Ask the frontier how far the crawl is, and keep its time."""
        view, frontier = self.view, self._connection.frontier
        try:
            leads = self._server.presence.hold(f"{view.icd.id}/{view.number}", worker_name())
            if leads and not view.pause and not self._stopping:
                frontier.count({"seconds": TICK})
            view.stats, view.counts = Stats(frontier.stats()), frontier.counts()
            self._estimate()
            doing = [each.doing[view.icd.id] for each in self._server.presence.workers() if view.icd.id in each.doing]
            view.activity = together([activity_of(each, time.time()) for each in doing])
            view.pause = common_pause(doing)
        except FrontierUnavailableError as error:
            view.pause = str(error)
            frontier.close()
            with suppress(FrontierUnavailableError):
                self._connection.revive()

    def _estimate(self) -> None:
        """Estimate how long the crawl still takes, where it is time to do so again."""
        began = time.monotonic()
        if began < self._looks_again_at:
            return
        view = self.view
        used = {name: view.stats[name] for name in ("seconds", "pages", "bytes")}
        queues = self._connection.frontier.queue_counts()
        self._looks_again_at = began + pause_after(time.monotonic() - began)
        view.course.look(view.icd.limits, used, queues)

    def _reap(self) -> None:
        """Reap workers that have ended, and replace those that died."""
        for worker in [worker for worker in self._workers if worker.process.poll() is not None]:
            self._workers.remove(worker)
            code = worker.process.returncode
            if code == DONE or self._stopping:
                continue
            logger.warning("worker %d ended with %d: %s", worker.process.pid, code, worker.output_tail or "killed")
            if code == MISTAKE or self._replaced >= MAX_REPLACED:
                self.failure = worker.output_tail or f"a worker ended with {code}"
                self.stop()
            elif self._state() is CrawlState.ACTIVE:
                self._replaced += 1
                self._workers.append(self._started())

    def _state(self) -> CrawlState | None:
        found = self._registration()
        return found.state if found is not None else None

    def _registration(self) -> Registered | None:
        with suppress(FrontierUnavailableError, RegistryError):
            return next((each for each in self._server.registry.crawls() if each.id == self.view.icd.id), None)
        return None

    def _conclude(self) -> int:
        self._look()
        found = self._registration()
        ended = found is not None and found.state is CrawlState.ENDED
        self.view.reason = found.reason if found is not None and ended else "shutdown"
        if not ended and not self._stopping and not self.failure:
            self.failure = self.view.pause or f"the workers ended before the crawl did, see {self.folder.log}"
        try:
            repair_folder(self.folder)
            update(self.folder.archive, self.folder.indexes)
        except (OSError, SegmentError) as error:
            logger.warning("the index is not complete: %s; aah archive index makes it anew", error)
        self._recount()
        self._write("finished" if self.view.reason == "finished" else "stopped")
        return FAILED if self.failure else ended_well(self.view)

    def _recount(self) -> None:
        """Put the count of web objects right, which the workers have counted each for itself."""
        amounts = recounted(self.folder.root, self.view.number, self.view.stats)
        try:
            self._connection.frontier.count(amounts)
        except FrontierUnavailableError as error:
            logger.warning("web objects that are on several pages are counted for each of them: %s", error)
        else:
            self.view.stats.merge(amounts)

    def _write(self, state: str) -> None:
        try:
            self.folder.write_summary(summary(self.view, state))
        except OSError as error:
            logger.warning("crawl.json cannot be written: %s", error)


def _registered(file: Path, icd: Icd, folder: CrawlFolder, servers: tuple[FrontierConnection, Server]) -> Registered:
    """Tell workers of the crawl, and when it began."""
    connection, server = servers
    frontier, number = connection.frontier, folder.run.number
    stats = frontier.stats()
    if BEGUN not in stats:
        frontier.count({BEGUN: time.time()})
        stats = frontier.stats()
    begun_at = datetime.fromtimestamp(stats[BEGUN], UTC)
    known = server.registry.submit(icd.id, bundled(file, icd), title=icd.title, number=number, begun_at=begun_at)
    if known.number != number:
        raise CrawlRefusedError(
            f"{folder.root}: holds crawl {number} of this definition, and the server knows crawl {known.number}; "
            "submit it to the server's workers instead (aah submit), or use another server"
        )
    return known


def activity_of(doing: Doing, now: float) -> Activity:
    """Return what a worker does by what it said before; ``now`` are seconds since 1970."""
    wait = None if doing.next_at is None else max(0.0, doing.next_at - now)
    return Activity(doing.sites, wait, doing.next_site)


def common_pause(doing: Collection[Doing]) -> str:
    """Return why the crawl pauses: the first reason where all workers pause, empty where one does not."""
    reasons = [each.pause for each in doing]
    return reasons[0] if reasons and all(reasons) else ""


@contextmanager
def _stopped_by_signals(supervisor: Supervisor) -> Iterator[None]:
    """Stop the workers on Ctrl-C and SIGTERM. A terminal sends Ctrl-C to the workers as well."""
    before = {number: signal.signal(number, lambda *_: supervisor.stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
