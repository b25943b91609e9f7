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
from aahcrawler.crawl.startup.factory import KnowledgeSource, SharedCrawl, join_job
from aahcrawler.frontier.presence import Presence
from aahcrawler.frontier.registry import Registered, Registry
from aahcrawler.report import ReportError, write_report

logger = logging.getLogger(__name__)

REPORTED = ("pages", "answers", "bytes", "objects", "relevant", "requisites", "robots", "retries", "failed_actions")
"""The statistics that a worker reports of each crawl."""


@dataclass(frozen=True, slots=True)
class SharedServer:
    """The shared server of a crawl; ``server`` is the address of the frontiers."""

    server: str
    registry: Registry
    presence: Presence


@dataclass(slots=True)
class Shares:
    """A part that others have as well; the server and the folder say who ``leads`` and who ``keeps``."""

    leads: bool = False
    keeps: bool = False
    is_alone: bool = False


class ServedCrawl:
    """A crawl that this process works on, beside others."""

    def __init__(self, crawl: Registered, job: Job, shared_server: SharedServer) -> None:
        self.crawl = crawl
        self.job = job
        self._shared_server = shared_server
        self._role = Shares()
        job.role = self._role
        self.hold()

    @classmethod
    def opened(
        cls, crawl: Registered, shared_server: SharedServer, choice: KnowledgeSource, where: Path
    ) -> "ServedCrawl":
        """Open a crawl. ``where`` is its folder, or the file of its definition, which then says what its folder is.

        Errors are those of ``open_job``.
        """
        source: DefinitionSource = (
            DefinitionFile(where) if where.is_file() else RegisteredDefinition(shared_server.registry, crawl.id, where)
        )
        topic = RegisteredTopic(shared_server.registry, crawl.id, crawl.number)
        shared_crawl = SharedCrawl(crawl.number, crawl.begun_at, shared_server.server, topic)
        job = join_job(source.load(), shared_crawl, choice, source)
        try:
            return cls(crawl, job, shared_server)
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
        role = f"{self.crawl.id}/{self.crawl.number}"
        self._role.leads = self._shared_server.presence.hold(role, worker_name())
        self._role.keeps = self.job.stores.folder.lock.become_keeper()

    def stats(self) -> dict[str, float]:
        """Return what this process has done for the crawl since it was started."""
        own = self.job.stats.own
        return {name: round(own.get(name, 0.0), 3) for name in REPORTED} | {"out": float(self.job.leases.out)}

    def conclude(self) -> str:
        """Report to the others where the crawl is over; return how it ended, for people."""
        job = self.job
        if job.failure is not None:
            return f"stopped: {str(job.failure).rstrip('.')}"
        if job.reason == FINISHED or job.reason.startswith("limits."):
            self._shared_server.registry.end(self.crawl.id, self.crawl.number, job.reason)
            if self._role.keeps:
                try:
                    write_report(job.stores.folder.root)
                except ReportError as error:
                    logger.warning("%s", error)
        own = {name: int(job.stats.own.get(name, 0)) for name in ("pages", "objects")}
        return f"{own['pages']:,} pages, {own['objects']:,} web objects by this worker; {job.reason}"

    async def close(self) -> None:
        """Close what was opened in vain."""
        await self.job.close("shutdown")
