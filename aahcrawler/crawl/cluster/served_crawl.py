"""A worker's part in one crawl of a shared server."""

import logging
from dataclasses import dataclass
from pathlib import Path
from time import time

from scrapy.crawler import AsyncCrawlerRunner

from aahcrawler.crawl.cluster.submission import RegisteredDefinition, RegisteredTopic
from aahcrawler.crawl.directory.crawl_runs import FINISHED
from aahcrawler.crawl.directory.folder import CrawlRefusedError
from aahcrawler.crawl.health.process_memory import spare
from aahcrawler.crawl.lease.lease_source import Slots, worker_name
from aahcrawler.crawl.reload.config_reload import DefinitionFile, DefinitionSource
from aahcrawler.crawl.scrapy.spider import AahSpider
from aahcrawler.crawl.startup.factory import KnowledgeSource, SharedCrawl, join_job
from aahcrawler.crawl.startup.job import Job
from aahcrawler.frontier.registry import Doing, Presence, Registered, Registry
from aahcrawler.report import ReportError, write_report

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
