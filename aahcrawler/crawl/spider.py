"""The spider: leases in, settled leases out."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from aahcrawler.crawl.download import ENDING, MOST_BYTES, WANTED, WIRE_SETTINGS, CapturedResponse
from aahcrawler.crawl.job import Job
from aahcrawler.crawl.knowledge import adapts, knowledge_folders
from aahcrawler.crawl.leasing import LEASE
from aahcrawler.crawl.lists import list_kind
from aahcrawler.crawl.opening import open_job
from aahcrawler.crawl.recrawl import UNKNOWN
from aahcrawler.crawl.settlement import Settlement, SpentError
from aahcrawler.crawl.trapping import TrappedError
from aahcrawler.crawl.turns import ADDRESS_TURN
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers
from aahcrawler.scope import Scope

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
        job.alongside.append(self.settlement.ranking.run)

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
                    self.job.manners.inherit(lease.url, lease.learned)
                    if _is_spent(self.job, lease):
                        await self.settlement.failed(lease, SpentError())
                    elif (trap := self.settlement.trapping.refused(lease)) is not None:
                        await self.settlement.failed(lease, TrappedError(trap))
                    else:
                        yield self._request(lease)
        except (asyncio.CancelledError, GeneratorExit):
            self.job.stop("shutdown")
            raise
        except Exception as error:  # Scrapy would take the end of this generator for the end of the crawl.
            self.job.fail(error)

    def _request(self, lease: Lease) -> Request:
        asked = UNKNOWN if list_kind(lease) else self.job.recrawl.asked(lease.url)
        return Request(
            lease.url,
            headers={**self.job.request_headers, **asked.conditions},
            callback=self.answered,
            errback=self.failed,
            dont_filter=True,
            meta={
                LEASE: lease,
                ASKED: asked,
                MOST_BYTES: self.job.most_bytes("page" if list_kind(lease) else lease.kind),
                WANTED: _wanted(self.job.understanding.scope, lease),
                ENDING: self.job.ending,
                ADDRESS_TURN: self.job.address_turns.turn(lease.url),
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
        """Close the crawl after the last request was settled; what waits for its batch is scored first."""
        try:
            await self.settlement.documents.close()
            await self.settlement.batches.close()
            if self.job.sharing is not None:
                await self.job.sharing.close()
        finally:
            await self.job.close(reason)


def _wanted(scope: Scope, lease: Lease) -> Callable[[int, Sequence[tuple[str, str]]], bool] | None:
    """Return what tells by the head of an answer whether its body is wanted; None where any body is."""

    def is_wanted(status: int, fields: Sequence[tuple[str, str]]) -> bool:
        declared = Headers(tuple(fields)).media_type
        return not 200 <= status < 300 or scope.admit_type(lease, declared) is None

    return is_wanted if scope.asks_type and list_kind(lease) is None else None


def _is_spent(job: Job, lease: Lease) -> bool:
    return lease.kind == "requisite" and job.requisites_spent and list_kind(lease) is None
