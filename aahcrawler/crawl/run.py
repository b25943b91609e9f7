"""Running a crawl from start to end, as ``aah crawl FILE`` and ``scrapy crawl aah -a icd=FILE`` do."""

from pathlib import Path

from rich.console import Console
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

from aahcrawler.crawl.folder import CrawlRefusedError
from aahcrawler.crawl.job import FINISHED, Job
from aahcrawler.crawl.knowledge import adapts, knowledge_folders
from aahcrawler.crawl.opening import open_job
from aahcrawler.crawl.progress import shown
from aahcrawler.crawl.spider import AahSpider
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.report import ReportError, write_report
from aahcrawler.segments import SegmentError
from knowledge_base.loader import LoadError
from online_analysis.icd import IcdError

DONE, FAILED, MISTAKE = 0, 1, 2
"""Exit codes: the crawl ended in good order; a store failed; nothing was begun, something has to be mended."""


def project_settings() -> Settings:
    """Return the settings of the Scrapy project that ships."""
    settings = Settings()
    settings.setmodule("aahcrawler.crawl.settings", priority="project")
    return settings


def run(icd: Path, settings: Settings, *, accept_changes: bool = False) -> int:
    """Run the crawl of a definition in this process until it ends, and return an exit code.

    Ctrl-C ends it in good order: what is being fetched is settled, what is leased goes back. Whatever went wrong is
    said on standard error, one line for each mistake.
    """
    console = Console(stderr=True)
    process = AsyncCrawlerProcess(settings)  # Sets up logging, so it comes before the crawl's own log.
    try:
        job = open_job(icd, knowledge_folders(settings), accept_changes=accept_changes, adapt=adapts(settings))
    except (IcdError, CrawlRefusedError, LoadError, FrontierUnavailableError, SegmentError, OSError) as error:
        _say(console, str(error))
        return MISTAKE
    except KeyboardInterrupt:
        _say(console, f"{icd}: interrupted before the crawl began")
        return DONE
    _say(console, f"{job.stores.folder.root}: {job.beginning}")
    with job.stores.closing:
        _crawl(process, job, console)
    _say(console, _outcome(job))
    if job.delivery is not None and job.delivery.progress.waiting:
        left, folder = job.delivery.progress, job.stores.folder.root
        _say(console, f"files still to be delivered to {left.target}: {left.waiting}; aah archive deliver {folder}")
    return FAILED if job.failure else DONE


def _crawl(process: AsyncCrawlerProcess, job: Job, console: Console) -> None:
    with shown(job, console):
        process.crawl(AahSpider, job=job)
        process.start()
    if process.bootstrap_failed:
        job.fail(CrawlRefusedError(f"the spider could not be started, see {job.stores.folder.log}"))


def _outcome(job: Job) -> str:
    folder = job.stores.folder.root
    if job.failure:
        said = str(job.failure).rstrip(".")
        return f"{folder}: stopped: {said}; the same command goes on from here"
    pages, objects = int(job.tally["pages"]), int(job.tally["objects"])
    return f"{folder}: {pages:,} pages, {objects:,} web objects; {_ending(job.reason)}.{_report(folder)}"


def _ending(reason: str) -> str:
    if reason == FINISHED:
        return reason
    if reason.startswith("limits."):
        return f"stopped, {reason}"
    return "stopped; the same command goes on from here"


def _report(folder: Path) -> str:
    try:
        return f" See {write_report(folder)}"
    except ReportError:  # A crawl that was ended at once, by a second Ctrl-C, may have no summary yet.
        return ""


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
