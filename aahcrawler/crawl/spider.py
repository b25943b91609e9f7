"""The spider: leases in, settled leases out."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from aahcrawler.crawl.download import ENDING, MOST_BYTES, WIRE_SETTINGS, CapturedResponse
from aahcrawler.crawl.job import Job
from aahcrawler.crawl.knowledge import adapts, knowledge_folders
from aahcrawler.crawl.leasing import LEASE
from aahcrawler.crawl.opening import open_job
from aahcrawler.crawl.recrawl import UNKNOWN
from aahcrawler.crawl.settlement import Settlement, SpentError
from aahcrawler.frontier.protocol import Lease

ASKED = "aah_asked"
"""The key of ``Request.meta`` that holds what was known of the address when it was asked for."""


class AahSpider(Spider):
    """Crawls what an Intelligent Crawl Definition asks for: ``scrapy crawl aah -a icd=FILE``.

    Each lease of the frontier becomes one request, and each request ends in exactly one settlement, however it ends.
    """

    name = "aah"

    def __init__(self, job: Job, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.settlement = Settlement(job)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, icd: str = "", job: Job | None = None, **kwargs: Any) -> Self:
        """Open the crawl of the definition in the file ``icd``, or take over one that is open already.

        Raise ``IcdError`` for a definition with mistakes and ``CrawlRefusedError`` for a folder that cannot be used.
        """
        settings = crawler.settings
        job = job or open_job(Path(icd), knowledge_folders(settings), adapt=adapts(settings))
        crawler.settings.set(WIRE_SETTINGS, job.wire_settings, priority="spider")
        return super().from_crawler(crawler, *args, job=job, **kwargs)

    async def start(self) -> AsyncIterator[Request]:
        """Yield a request for each lease until the crawl is over."""
        try:
            async with self.job.running():
                async for lease in self.job.leases:
                    if lease.kind == "requisite" and self.job.requisites_spent:
                        await self.settlement.failed(lease, SpentError())
                    else:
                        yield self._request(lease)
        except (asyncio.CancelledError, GeneratorExit):
            self.job.stop("shutdown")
            raise
        except Exception as error:  # Scrapy would take the end of this generator for the end of the crawl.
            self.job.fail(error)

    def _request(self, lease: Lease) -> Request:
        asked = self.job.recrawl.asked(lease.url)
        return Request(
            lease.url,
            headers={**self.job.request_headers, **asked.conditions},
            callback=self.answered,
            errback=self.failed,
            dont_filter=True,
            meta={
                LEASE: lease,
                ASKED: asked,
                MOST_BYTES: self.job.most_bytes(lease.kind),
                ENDING: self.job.ending,
                "download_slot": lease.queue,
                "verbatim_url": True,
            },
        )

    async def answered(self, response: Response) -> None:
        """Settle a lease whose URL was answered, with whatever status."""
        assert isinstance(response, CapturedResponse)  # noqa: S101  # no other handler is configured
        await self.settlement.answered(response.meta[LEASE], response, response.meta.get(ASKED, UNKNOWN))

    async def failed(self, failure: Failure) -> None:
        """Settle a lease whose URL was not answered."""
        request: Request = failure.request  # type: ignore[attr-defined]
        assert isinstance(failure.value, Exception)  # noqa: S101
        await self.settlement.failed(request.meta[LEASE], failure.value)

    async def closed(self, reason: str) -> None:
        """Close the crawl after the last request was settled."""
        await self.job.close(reason)
