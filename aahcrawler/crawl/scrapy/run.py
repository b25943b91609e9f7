"""Running a crawl from start to end, as ``aah crawl FILE`` and ``scrapy crawl aah -a icd=FILE`` do."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import sleep

from rich.console import Console
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings
from twisted.internet.error import ReactorNotRunning

from aahcrawler.crawl.directory.folder import CrawlRefusedError
from aahcrawler.crawl.health.disk_space import LOOK_EVERY, seldom_collected, share_one_arena, uncollected
from aahcrawler.crawl.health.outages import is_full
from aahcrawler.crawl.reporting.live_display import Show, display
from aahcrawler.crawl.reporting.summary import (
    DONE,
    FAILED,
    MISTAKE,
    ended_well,
    outcome,
    say,
    tell_browser,
    tell_items,
    tell_not_followed,
    tell_repeated,
    tell_seeds,
    tell_sources,
    tell_undelivered,
)
from aahcrawler.crawl.scrapy.crawl_settings import adapts, knowledge_folders, turn_log_on, without_effect
from aahcrawler.crawl.scrapy.spider import AahSpider
from aahcrawler.crawl.startup.factory import open_job
from aahcrawler.crawl.startup.job import Job
from aahcrawler.crawl.startup.store_opening import browser_notes
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.schedule.page_rhythms import PageRhythm
from aahcrawler.segments import SegmentError
from knowledge_base.loader import LoadError
from online_analysis.icd import IcdError

Showing = AbstractContextManager[Show | None]


def project_settings() -> Settings:
    """Return the settings of the Scrapy project that ships."""
    settings = Settings()
    settings.setmodule("aahcrawler.crawl.scrapy.settings", priority="project")
    return settings


def run(
    icd: Path,
    settings: Settings,
    *,
    accept_changes: bool = False,
    spider: type[AahSpider] = AahSpider,
    revisits: PageRhythm | None = None,
) -> int:
    """Run the crawl of a definition in this process until it ends, and return an exit code.

    ``revisits`` says which known pages are visited again; None: all of them.

    Ctrl-C ends it in good order: what is being fetched is handled, what is leased goes back. Whatever went wrong is
    said on standard error, one line for each mistake.
    """
    console, began = Console(stderr=True), datetime.now(UTC).isoformat(timespec="seconds")
    share_one_arena()
    turn_log_on(settings)
    process = AsyncCrawlerProcess(settings)  # Sets up logging, so it comes before the crawl's own log.
    try:
        folders, adapt = knowledge_folders(settings), adapts(settings)
        with uncollected():
            job = _as_soon_as_there_is_room(
                lambda: open_job(icd, folders, accept_changes=accept_changes, adapt=adapt, revisits=revisits), console
            )
    except (IcdError, CrawlRefusedError, LoadError, FrontierUnavailableError, SegmentError, OSError) as error:
        say(console, str(error))
        return MISTAKE
    except KeyboardInterrupt:
        say(console, f"{icd}: interrupted before the crawl began")
        return DONE
    say(console, f"{job.writer.stores.folder.root}: {job.lifecycle.started_as}")
    lost = (str(each) for each in job.lifecycle.frontier_damage if each.at >= began and each.is_of_commands)
    for line in (*lost, *browser_notes(job.lifecycle.icd), *without_effect(settings)):
        say(console, line)
    with job.writer.stores.closing, seldom_collected():
        logs_to_terminal = settings.getbool("LOG_ENABLED") and not settings.get("LOG_FILE")
        _crawl(process, spider, job, nullcontext() if logs_to_terminal else display(console))
    tell_seeds(console, job.lifecycle)
    tell_browser(console, job.lifecycle)
    tell_sources(console, job.lifecycle)
    tell_repeated(console, job.lifecycle)
    tell_not_followed(console, job.lifecycle)
    tell_items(console, job.lifecycle)
    tell_undelivered(console, job.writer.stores.folder.root, job.lifecycle.delivery)
    say(console, outcome(job.writer.stores.folder.root, job.lifecycle, job.lifecycle.failure))
    return FAILED if job.lifecycle.failure else ended_well(job.lifecycle)


def _as_soon_as_there_is_room(opening: Callable[[], Job], console: Console) -> Job:
    """Open a crawl, and open it again for as long as the disk is full."""
    has_said = False
    while True:
        try:
            return opening()
        except Exception as error:
            if not is_full(error):
                raise
            if not has_said:
                say(console, f"paused: {error}; the crawl begins by itself when there is room")
            has_said = True
            sleep(LOOK_EVERY)


def _crawl(process: AsyncCrawlerProcess, spider: type[AahSpider], job: Job, showing: Showing) -> None:
    with showing as show:
        _end_by_signals(process, job)
        process.crawl(spider, job=job, show=show)
        process.start(install_signal_handlers=False)
    if process.bootstrap_failed:
        job.lifecycle.fail(CrawlRefusedError(f"the spider could not be started, see {job.writer.stores.folder.log}"))


def _end_by_signals(process: AsyncCrawlerProcess, job: Job) -> None:
    """Have Ctrl-C and SIGTERM end a crawl in good order from now on, and at once when they come again.

    Scrapy's own handlers come with its reactor, and before its engine runs they end the process without the crawl.
    """
    from twisted.internet import reactor  # noqa: PLC0415 (whoever imports it first chooses it)

    asked: list[int] = []

    def end() -> None:
        job.lifecycle.stop("shutdown")
        if all(crawler.engine is not None and crawler.engine.running for crawler in process.crawlers):
            ending.add(asyncio.ensure_future(process.stop()))

    def end_at_once() -> None:
        with suppress(ReactorNotRunning):
            reactor.stop()  # type: ignore[misc]    # Its interface declares methods without self.

    def take(number: int, _: object) -> None:
        asked.append(number)
        with suppress(RuntimeError):  # The loop may have ended: so does the process.
            reactor.callFromThread(end if len(asked) == 1 else end_at_once)

    ending: set[asyncio.Future[None]] = set()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, take)
