"""A worker's part in one crawl of a shared server."""

import logging
from dataclasses import dataclass
from pathlib import Path

from scrapy.crawler import AsyncCrawlerRunner

from aahcrawler.crawl.cluster.registered_crawl import RegisteredDefinition, RegisteredTopic
from aahcrawler.crawl.core.job import Job
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.directory.definition_source import DefinitionFile, DefinitionSource
from aahcrawler.crawl.directory.folder import CrawlRefusedError
from aahcrawler.crawl.health.garbage_collection import spare
from aahcrawler.crawl.lease.lease_source import worker_name
from aahcrawler.crawl.scrapy.spider import AahSpider
from aahcrawler.crawl.startup.factory import KnowledgeChoice, Membership, join_job
from aahcrawler.frontier.presence import Presence
from aahcrawler.frontier.registry import Registered, Registry
from aahcrawler.report import ReportError, write_report

logger = logging.getLogger(__name__)

TOLD = ("pages", "answers", "bytes", "objects", "relevant", "requisites", "robots", "retries", "failed_actions")
"""The counts that a worker tells of each crawl."""


@dataclass(frozen=True, slots=True)
class Telling:
    """Where a service tells what it does; ``server`` is the address of the frontiers."""

    server: str
    registry: Registry
    presence: Presence


@dataclass(slots=True)
class Shares:
    """A part that others have as well; the server and the folder say who ``leads`` and who ``keeps``."""

    leads: bool = False
    keeps: bool = False
    is_alone: bool = False


class Service:
    """A crawl that this process works on, beside others."""

    def __init__(self, crawl: Registered, job: Job, telling: Telling) -> None:
        self.crawl = crawl
        self.job = job
        self._telling = telling
        self._part = Shares()
        job.part = self._part
        self.hold()

    @classmethod
    def opened(cls, crawl: Registered, telling: Telling, choice: KnowledgeChoice, where: Path) -> "Service":
        """Open a crawl. ``where`` is its folder, or the file of its definition, which then says what its folder is.

        Errors are those of ``open_job``.
        """
        source: DefinitionSource = (
            DefinitionFile(where) if where.is_file() else RegisteredDefinition(telling.registry, crawl.id, where)
        )
        topic = RegisteredTopic(telling.registry, crawl.id, crawl.number)
        membership = Membership(crawl.number, crawl.begun_at, telling.server, topic)
        job = join_job(source.load(), membership, choice, source)
        try:
            return cls(crawl, job, telling)
        except BaseException:
            job.stores.closing.close()
            raise

    async def crawl_on(self, runner: AsyncCrawlerRunner) -> bool:
        """Work on the crawl until it ends or is stopped; say whether it failed."""
        with self.job.stores.closing:
            spare()
            crawler = runner.create_crawler(AahSpider)
            await runner.crawl(crawler, job=self.job)
            if crawler.spider is None:
                self.job.fail(CrawlRefusedError(f"the spider could not be started, see {self.job.stores.folder.log}"))
        return self.job.failure is not None

    def stop(self, reason: str) -> None:
        """Have the work end, in good order."""
        if not self.job.ending.is_set():
            self.job.stop(reason)

    def hold(self) -> None:
        """Take or keep what falls to one of many: the crawl's time, and what the folder has one of."""
        office = f"{self.crawl.id}/{self.crawl.number}"
        self._part.leads = self._telling.presence.holds(office, worker_name())
        self._part.keeps = self.job.stores.folder.occupancy.keep()

    def numbers(self) -> dict[str, float]:
        """Return what this process has done for the crawl since it was started."""
        own = self.job.tally.own
        return {name: round(own.get(name, 0.0), 3) for name in TOLD} | {"out": float(self.job.leases.out)}

    def conclude(self) -> str:
        """Tell the others where the crawl is over; return how it ended, for people."""
        job = self.job
        if job.failure is not None:
            return f"stopped: {str(job.failure).rstrip('.')}"
        if job.reason == FINISHED or job.reason.startswith("limits."):
            self._telling.registry.end(self.crawl.id, self.crawl.number, job.reason)
            if self._part.keeps:
                try:
                    write_report(job.stores.folder.root)
                except ReportError as error:
                    logger.warning("%s", error)
        own = {name: int(job.tally.own.get(name, 0)) for name in ("pages", "objects")}
        return f"{own['pages']:,} pages, {own['objects']:,} web objects by this worker; {job.reason}"

    async def close(self) -> None:
        """Close what was opened in vain."""
        await self.job.close("shutdown")
