"""The spider: leases in, finished leases out."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future

from aahcrawler.crawl.capture.recrawl import UNCONDITIONAL
from aahcrawler.crawl.core.context import CrawlContext
from aahcrawler.crawl.core.lifecycle import Lifecycle
from aahcrawler.crawl.core.limits import is_too_large
from aahcrawler.crawl.fetch.download_handler import MOST_BYTES, WANTED, WIRE_SETTINGS, CapturedResponse
from aahcrawler.crawl.lease.lease_source import LEASE
from aahcrawler.crawl.reporting.live_display import Show
from aahcrawler.crawl.response.handler import EndsSessionError, RequestReplacedError, RequisiteBudgetError
from aahcrawler.crawl.response.trap_detection import TrapError
from aahcrawler.crawl.response.url_lists import list_kind
from aahcrawler.crawl.scrapy.addon import adapts, knowledge_folders
from aahcrawler.crawl.scrapy.request_building import build_request
from aahcrawler.crawl.startup.factory import open_job
from aahcrawler.crawl.startup.job import Job
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers

logger = logging.getLogger(__name__)

ASKED = "aah_asked"
"""The key of ``Request.meta`` that holds what was known of the URL when it was asked for."""


MOST_HELD = 5_000_000
"""Bytes of bodies that wait to be handled from which on nothing more is fetched, as in Scrapy's own engine."""


class AahSpider(Spider):
    """Crawls what an Intelligent Crawl Definition asks for: ``scrapy crawl aah -a icd=FILE``.

    Each lease of the frontier becomes one request, and each request is handled exactly once, however it ends. Requests
    go to the downloader and its middlewares, and from there straight to the response handler: what Scrapy has for
    callbacks, items and spider middlewares would cost as much again, and there are none. It runs the ``job`` as a
    whole; the scheduler and the middleware, which Scrapy builds, take from it what they use.
    """

    name = "aah"

    def __init__(self, job: Job, show: Show | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job = job
        self._watchers: tuple[Show, ...] = () if show is None else (show,)
        self._fetching: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._held = 0

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
        """Fetch and handle what is leased until the crawl is over; Scrapy is given nothing to do."""
        try:
            async with self.job.lifecycle.running(self.job.background, self._watchers):
                async for lease in self.job.fetching.leases:
                    self.job.fetching.politeness.restore(lease.url, lease.learned)
                    if _is_spent(self.job.lifecycle, lease):
                        await self.job.handler.on_error(lease, RequisiteBudgetError())
                    elif (trap := self.job.handler.trap(lease)) is not None:
                        await self.job.handler.on_error(lease, TrapError(trap))
                    elif self.job.handler.ends_session(lease):
                        await self.job.handler.on_error(lease, EndsSessionError())
                    else:
                        await self._until_there_is_capacity()
                        self._begin(lease)
                await self._until_all_have_ended()
        except (asyncio.CancelledError, GeneratorExit):
            self.job.lifecycle.stop("shutdown")
            raise
        except Exception as error:  # Scrapy would take the end of this generator for the end of the crawl.
            self.job.lifecycle.fail(error)
        nothing: tuple[Request, ...] = ()
        for request in nothing:
            yield request

    def _begin(self, lease: Lease) -> None:
        fetching = asyncio.ensure_future(self._fetched(lease, self._request(lease)))
        self._fetching.add(fetching)
        fetching.add_done_callback(self._has_ended)

    def _has_ended(self, fetching: asyncio.Task[None]) -> None:
        self._fetching.discard(fetching)
        self._ended.set()
        if not fetching.cancelled() and (error := fetching.exception()) is not None:
            logger.error("a lease could not be ended; it runs out", exc_info=error)

    async def _until_there_is_capacity(self) -> None:
        while self._fetching and (self._held > MOST_HELD or self._engine.downloader.needs_backout()):
            self._ended.clear()
            await self._ended.wait()

    async def _until_all_have_ended(self) -> None:
        while self._fetching:
            await asyncio.wait(self._fetching)

    async def _fetched(self, lease: Lease, request: Request) -> None:
        """Fetch what was leased, and handle the answer."""
        try:
            response = await self._answer(request)
        except Exception as error:
            await self.job.handler.on_error(lease, error)
            return
        self._held += len(response.body)
        try:
            await self.job.handler.on_response(lease, response, request.meta[ASKED])
        finally:
            self._held -= len(response.body)

    async def _answer(self, request: Request) -> CapturedResponse:
        """Return the answer to a request, or raise why there is none.

        A request that a middleware gives in place of an answer is offered to the frontier, like any other that is not
        leased: ``RequestReplacedError``.
        """
        answer = await maybe_deferred_to_future(self._engine.downloader.fetch(request))
        if isinstance(answer, Request):
            self._engine.crawl(answer)
            raise RequestReplacedError
        assert isinstance(answer, CapturedResponse)  # noqa: S101  # no other handler is configured
        answer.request = request
        self.crawler.signals.send_catch_log(signals.response_received, response=answer, request=request, spider=self)
        return answer

    @property
    def _engine(self) -> ExecutionEngine:
        assert self.crawler.engine is not None  # noqa: S101
        return self.crawler.engine

    def _request(self, lease: Lease) -> Request:
        asked = UNCONDITIONAL if list_kind(lease) else self.job.recrawl.asked(lease.url)
        context = self.job.context.now
        own = {
            LEASE: lease,
            ASKED: asked,
            MOST_BYTES: self.job.lifecycle.most_bytes("page" if list_kind(lease) else lease.kind),
            WANTED: _wanted(context, lease),
        }
        return build_request(lease.url, asked, context, self.job.fetching, own)

    async def closed(self, reason: str) -> None:
        """Close the crawl after the last request was handled; what waits for its batch is scored first."""
        try:
            await self._until_all_have_ended()
            await self.job.handler.close()
            if self.job.lifecycle.peer_export is not None:
                await self.job.lifecycle.peer_export.close()
        finally:
            await self.job.lifecycle.close(reason)


def _wanted(context: CrawlContext, lease: Lease) -> Callable[[int, Sequence[tuple[str, str]]], bool] | None:
    """Return what tells by the head of an answer whether its body is wanted; None where any body is."""
    scope, limits = context.scope, context.icd.limits

    def is_wanted(status: int, fields: Sequence[tuple[str, str]]) -> bool:
        head = Headers(tuple(fields))
        if not 200 <= status < 300:
            return True
        return scope.admit_type(lease, head.media_type) is None and not is_too_large(limits, lease.kind, head)

    return is_wanted if (scope.asks_type or lease.kind == "requisite") and list_kind(lease) is None else None


def _is_spent(lifecycle: Lifecycle, lease: Lease) -> bool:
    return lease.kind == "requisite" and lifecycle.requisites_spent and list_kind(lease) is None
