"""The spider: leases in, finished leases out."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, UsageError
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from aahcrawler import urls
from aahcrawler.browser.network.upstream import RequestRefusedError
from aahcrawler.crawl.browsing.visited_crawl import VISIT, PageFetch
from aahcrawler.crawl.capture.recrawl import GONE, UNCONDITIONAL, ConditionalRequest
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.lifecycle import DomainBudgetError, Lifecycle, is_too_large
from aahcrawler.crawl.core.stores import CrawlContext, CurrentContext
from aahcrawler.crawl.fetch.client_settings import ACCEPT_RESULTS
from aahcrawler.crawl.fetch.download_handler import (
    CAPTURED_AS,
    ENDING,
    KEPT_BYTES,
    MAX_BYTES,
    RELAY,
    SPELLED,
    UNTIL,
    WANTED,
    WIRE_SETTINGS,
    CapturedResponse,
)
from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM
from aahcrawler.crawl.lease.lease_source import LEASE
from aahcrawler.crawl.reporting.live_display import Show
from aahcrawler.crawl.response.lease_ending import (
    EndsSessionError,
    ExcludedError,
    RequestIgnoredError,
    RequestReplacedError,
    RequisiteBudgetError,
    UncapturedError,
)
from aahcrawler.crawl.response.session_probing import UNKNOWN
from aahcrawler.crawl.response.trap_detection import GivesWayError, TrapError
from aahcrawler.crawl.scrapy.crawl_settings import SAID, adapts, apply, knowledge_folders
from aahcrawler.crawl.scrapy.items import ItemDelivery, WebObjectItem
from aahcrawler.crawl.startup.factory import open_job
from aahcrawler.crawl.startup.job import Job
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease, Purpose
from aahcrawler.page import Headers
from aahcrawler.sources.source import Source
from aahcrawler.traps.soft_errors import is_probe
from aahcrawler.urls import FORM_ENCODING, PostedForm, posted_by
from aahcrawler.wire.errors import WireError


def sent_form(lease: Lease) -> PostedForm | None:
    """Return what is to be posted for a lease; None where it is asked for, as all that no form led to is."""
    return posted_by(lease.url) if lease.path[-1:].upper() == Hop.FORM else None


def posting(request: Request, form: PostedForm) -> Request:
    """Return a request that posts what a form sends; its response is archived under the URL of the request at hand."""
    return request.replace(
        url=form.target,
        method="POST",
        body=form.body.encode("ascii"),
        headers={**request.headers, "Content-Type": FORM_ENCODING},
        meta={**request.meta, CAPTURED_AS: request.url},
    )


def build_request(
    url: str, asked: ConditionalRequest, context: CrawlContext, fetching: FetchControl, meta: Mapping[str, Any]
) -> Request:
    """Return the request of a URL with the context's headers and the conditions asked for, ``meta`` added."""
    is_query = any(each.page(url) is not None for each in context.icd.sources.sparql)
    accept = {"Accept": ACCEPT_RESULTS} if is_query else {}
    return Request(
        url,
        headers={**context.request_headers, **accept, **asked.conditions},
        dont_filter=True,
        meta={
            ENDING: fetching.ending,
            IP_CLAIM: fetching.ip_claims.of(url),
            "download_slot": urls.queue_of(url),
            "verbatim_url": True,
            **meta,
        },
    )


@dataclass(frozen=True, slots=True)
class UnknownVisitor:
    """Asks for pages that the crawl has fetched before (``session_probing.Ask``)."""

    crawler: Crawler
    context: CurrentContext
    fetching: FetchControl

    async def __call__(self, url: str) -> CapturedResponse:
        """Return the response to a request; raise ``WireError``, and what the crawl's requests raise else."""
        own = {UNKNOWN: True, MAX_BYTES: self.context.now.icd.limits.page_bytes}
        request = build_request(url, UNCONDITIONAL, self.context.now, self.fetching, own)
        assert self.crawler.engine is not None  # noqa: S101
        response = await self.crawler.engine.download_async(request)
        assert isinstance(response, CapturedResponse)  # noqa: S101
        return response


BEGINNING = 65_536
"""Bytes of a body by which its type is told; the archive and the browser have the whole."""


@dataclass(frozen=True, slots=True)
class VisitFetching:
    """Sends the requests of visits (``page_fetch.Fetch``)."""

    crawler: Crawler
    context: CurrentContext
    fetching: FetchControl

    async def __call__(self, asked: PageFetch) -> CapturedResponse:
        """Return the response to a request, the beginning of its body alone; see ``page_fetch.Fetch``."""
        # The visit itself ends what is under way when the crawl ends: what came by then is archived.
        own = {
            ENDING: None,
            IP_CLAIM: asked.pace.claim_of(asked.url),
            KEPT_BYTES: BEGINNING,
            MAX_BYTES: asked.most_bytes,
            RELAY: asked.relay,
            SPELLED: {name.lower(): name for name, _ in asked.headers},
            UNTIL: asked.until,
            VISIT: asked.pace,
            WANTED: asked.wanted,
        }
        request = build_request(asked.url, UNCONDITIONAL, self.context.now, self.fetching, own)
        request = request.replace(method=asked.method, body=asked.body, headers=asked.headers)
        assert self.crawler.engine is not None  # noqa: S101
        # As for leases: the engine's own way counts what is under way, and may be closing already.
        try:
            response = await maybe_deferred_to_future(self.crawler.engine.downloader.fetch(request))
        except IgnoreRequest:
            raise RequestRefusedError("ignored") from None
        if not isinstance(response, CapturedResponse):
            raise RequestRefusedError("replaced" if isinstance(response, Request) else "uncaptured")
        self.crawler.signals.send_catch_log(
            signals.response_received, response=response, request=request, spider=self.crawler.spider
        )
        return response


logger = logging.getLogger(__name__)

ASKED = "aah_asked"
"""The key of ``Request.meta`` that holds what was known of the URL when it was asked for."""

LARGE_PAGES = 3
"""Responses of any size that may be handled while others are fetched: one that takes long stops nobody."""

STAT = "aah/{}"
"""The names of the crawl's counts among Scrapy's statistics."""


class AahSpider(Spider):
    """Crawls what an Intelligent Crawl Definition asks for: ``scrapy crawl aah -a icd=FILE``.

    Each lease of the frontier becomes one request, and each request is handled exactly once, however it ends. Requests
    go to the downloader and its middlewares, and from there straight to the response handler: what Scrapy has for
    callbacks, items and spider middlewares would cost as much again. Only where somebody wants items do the web objects
    of a page go that way, once they are kept, and the page waits for them. It runs the ``job`` as a whole; the
    scheduler and the middleware, which Scrapy builds, take from it what they use.
    """

    name = "aah"

    def __init__(self, job: Job, show: Show | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job = job
        self._watchers: tuple[Show, ...] = () if show is None else (show,)
        self._fetching: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._held = 0
        self._has_leased_all = asyncio.Event()
        self._is_settled = False

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Set what the crawl needs, for this spider alone."""
        super().update_settings(settings)
        apply(settings)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, icd: str = "", job: Job | None = None, **kwargs: Any) -> Self:
        """Open the crawl of the definition in the file ``icd``, or take over one that is open already.

        Raise ``IcdError`` for a definition with mistakes and ``CrawlRefusedError`` for a folder that cannot be used.
        """
        settings = crawler.settings
        if job is None and not icd:
            raise UsageError("name the definition to crawl: -a icd=FILE", print_help=False)
        job = job or open_job(Path(icd), knowledge_folders(settings), adapt=adapts(settings))
        crawler.settings.set(WIRE_SETTINGS, job.wire_settings, priority="spider")
        for line in settings.get(SAID, ()):
            logger.warning("%s", line)
        spider = super().from_crawler(crawler, *args, job=job, **kwargs)
        spider.job.writer.object_watchers.append(spider.items.deliver)
        job.visits.send_by(VisitFetching(crawler, job.context, job.fetching))
        job.handler.ask_by(UnknownVisitor(crawler, job.context, job.fetching))
        return spider

    @cached_property
    def items(self) -> ItemDelivery:
        """The way of web objects to Scrapy's pipelines, feeds and listeners."""
        return ItemDelivery(self.crawler)

    def parse(self, response: Response, items: Sequence[WebObjectItem] = ()) -> Iterator[Any]:  # noqa: ARG002
        """Yield what goes to item pipelines and feeds, of the web objects of a page; called where there are any."""
        yield from items

    async def start(self) -> AsyncIterator[Request]:
        """Fetch and handle what is leased until the crawl is over; Scrapy is given nothing to do."""
        settled = self._hold_open()
        try:
            async with self.job.lifecycle.running(self.job.background, (*self._watchers, self._look_for_the_end)):
                async for lease in self.job.fetching.leases:
                    self._look_for_the_end(self.job.lifecycle)
                    self.job.fetching.politeness.restore(lease.url, lease.learned)
                    try:
                        self._check(lease)
                    except (
                        RequisiteBudgetError,
                        DomainBudgetError,
                        TrapError,
                        GivesWayError,
                        ExcludedError,
                        EndsSessionError,
                    ) as refusal:
                        await self.job.handler.ending.on_error(lease, refusal)
                    else:
                        await self._until_there_is_capacity()
                        self._begin(lease)
                await self._until_all_have_ended()
        except (asyncio.CancelledError, GeneratorExit):
            self.job.lifecycle.stop("shutdown")
            raise
        except Exception as error:  # Scrapy would take the end of this generator for the end of the crawl.
            self.job.lifecycle.fail(error)
        finally:
            self._has_leased_all.set()
        await maybe_deferred_to_future(settled)
        nothing: tuple[Request, ...] = ()
        for request in nothing:
            yield request

    def _check(self, lease: Lease) -> None:
        """Raise why a leased URL is not to be fetched any more, where there is a reason."""
        if _is_spent(self.job.lifecycle, lease):
            raise RequisiteBudgetError
        if self.job.handler.is_excluded(lease):
            raise ExcludedError
        self.job.budgets.check(lease)
        if (trap := self.job.handler.trap(lease)) is not None:
            raise TrapError(trap)
        if (worth := self.job.handler.worth(lease)) < 1:
            raise GivesWayError(worth)
        if self.job.handler.ends_session(lease):
            raise EndsSessionError

    def _hold_open(self) -> Deferred[None]:
        """Keep item pipelines and feeds open until the last page was handled; the result fires then.

        Scrapy closes them when nothing is being scraped, and knows nothing of requests that the spider makes by itself.
        """
        until_settled = Request("aah://leases", errback=self._settle, dont_filter=True)
        return self._engine.scraper.enqueue_scrape(Failure(IgnoreRequest()), until_settled)  # type: ignore[no-untyped-call]

    async def _settle(self, _: Failure | None = None) -> tuple[()]:
        """Wait for the last response, and end what handles them."""
        await self._has_leased_all.wait()
        await self._until_all_have_ended()
        if not self._is_settled:
            self._is_settled = True
            try:
                await self.job.handler.close()
            except Exception as error:
                self.job.lifecycle.fail(error)
        return ()

    def _look_for_the_end(self, lifecycle: Lifecycle) -> None:
        """Lease no more once Scrapy closes the spider, as its extensions may ask it to; it tells the reason later."""
        slot = self._engine.scraper.slot
        if slot is not None and slot.closing is not None and not lifecycle.is_ending:
            lifecycle.stop("")

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
        most = self._most_held
        while self._fetching and (self._held > most or self._engine.downloader.needs_backout()):
            self._ended.clear()
            await self._ended.wait()

    async def _until_all_have_ended(self) -> None:
        while self._fetching:
            await asyncio.wait(self._fetching)

    async def _fetched(self, lease: Lease, request: Request) -> None:
        """Fetch what was leased, or take it from an archive that has it, the crawl's own or a source; handle it."""
        asked: ConditionalRequest = request.meta[ASKED]
        try:
            recorded = await self._recorded(lease, request)
            if recorded is None and await self._is_taken(lease, request, self.job.sources.preferred):
                return
            response = recorded or await self._live(lease, request)
        except Exception as error:
            await self.job.handler.ending.on_error(lease, _told(error))
            return
        if response is not None:
            await self._handle(lease, response, asked if recorded is None else asked.plain)

    async def _live(self, lease: Lease, request: Request) -> CapturedResponse | None:
        """Return the response of a site; None where it has the page no more, and it was taken from a source.

        Raise ``NotTakenError`` where the live web is no source.
        """
        sources = self.job.sources
        sources.require_live(lease.url)
        is_last = lease.attempt >= self.job.context.now.attempts
        try:
            response = await self._response(request)
        except WireError as error:
            if (is_last or not error.retryable) and await self._is_taken(lease, request, sources.others):
                await self.job.handler.put_aside(lease, error)
                return None
            raise
        if response.status in GONE and await self._is_taken(lease, request, sources.others):
            await self.job.handler.put_aside(lease, response)
            return None
        return response

    async def _is_taken(self, lease: Lease, request: Request, sources: Sequence[Source]) -> bool:
        """Handle what sources have of a leased URL, and return whether they have anything.

        Of several captures the last one ends the lease. What a page is shown with is taken as near to the capture of
        the page as it is had.
        """
        if not sources or is_probe(lease.url):
            return False
        asked = self.job.recrawl.compared(request.meta[ASKED])
        last: CapturedResponse | None = None
        page_at = None if lease.is_page or not lease.via else self.job.recrawl.captured_at(lease.via)
        if page_at is not None:
            sources = [each.near(page_at) for each in sources]
        try:
            async for response in self.job.sources.captures(lease.url, sources, request.meta[MAX_BYTES]):
                response.request = request
                if last is not None:
                    await self.job.handler.on_snapshot(lease, last, asked)
                last = response
        except BaseException:
            if last is not None:
                last.exchange.close()
            raise
        finally:
            await self.job.writer.count(self.job.sources.counts())
            await self.job.handler.ending.on_late_answers(self.job.sources.take_late_answers())
        if last is None:
            return False
        await self._handle(lease, last, asked)
        return True

    async def _handle(self, lease: Lease, response: CapturedResponse, asked: ConditionalRequest) -> None:
        held = min(len(response.body), self._most_held // LARGE_PAGES)
        self._held += held
        self.items.begin(lease.url, response)
        try:
            await self.job.handler.on_response(lease, response, asked)
        finally:
            self.items.end(lease.url)
            self._held -= held

    async def _recorded(self, lease: Lease, request: Request) -> CapturedResponse | None:
        """Return what a visit of this crawl has captured of a leased part of its page, None where that is nothing."""
        if lease.purpose.is_list or is_probe(lease.url):
            return None
        recorded = await self.job.visits.recorded.to_lease(lease)
        if recorded is not None:
            recorded.request = request
        return recorded

    async def _response(self, request: Request) -> CapturedResponse:
        """Return the response to a request, or raise why there is none.

        A request that a middleware gives in place of a response is offered to the frontier, like any other that is not
        leased: ``RequestReplacedError``.
        """
        response = await maybe_deferred_to_future(self._engine.downloader.fetch(request))
        if isinstance(response, Request):
            self._engine.crawl(response)
            raise RequestReplacedError
        if not isinstance(response, CapturedResponse):
            logger.error("%s: a middleware gave another response than came; only response.replace can", request.url)
            raise UncapturedError
        response.request = request
        self.crawler.signals.send_catch_log(signals.response_received, response=response, request=request, spider=self)
        return response

    @property
    def _most_held(self) -> int:
        return self.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE")

    @property
    def _engine(self) -> ExecutionEngine:
        assert self.crawler.engine is not None  # noqa: S101
        return self.crawler.engine

    def _request(self, lease: Lease) -> Request:
        posted = sent_form(lease)
        asked = UNCONDITIONAL if lease.purpose.is_list or posted else self.job.recrawl.asked(lease.url)
        context = self.job.context.now
        own = {
            LEASE: lease,
            ASKED: asked,
            MAX_BYTES: self.job.lifecycle.most_bytes("page" if lease.purpose.is_list else lease.kind),
            WANTED: _wanted(context, lease),
        }
        request = build_request(lease.url, asked, context, self.job.fetching, own)
        return request if posted is None else posting(request, posted)

    async def closed(self, reason: str) -> None:
        """Close the crawl after the last request was handled; what waits for its batch is scored first."""
        try:
            self._has_leased_all.set()
            await self._settle()
            if self.job.lifecycle.peer_export is not None:
                await self.job.lifecycle.peer_export.close()
            await self.job.sources.close()
        finally:
            await self.job.lifecycle.close(reason)
            self._tell_stats()

    def _tell_stats(self) -> None:
        """Add the crawl's counts to Scrapy's statistics, which are told once this signal is over."""
        assert self.crawler.stats is not None  # noqa: S101
        for name, value in self.job.writer.stats.summary().items():
            of_words = value.items() if isinstance(value, dict) else [("", value)]
            for word, number in of_words:
                self.crawler.stats.set_value(STAT.format(f"{name}/{word}" if word else name), number)
        self.crawler.stats.set_value(STAT.format("reason"), self.job.lifecycle.reason)


def _told(error: Exception) -> Exception:
    """Return an error as the response handler knows it: what middlewares say by Scrapy's exceptions, in our own."""
    if isinstance(error, IgnoreRequest):
        return RequestIgnoredError(str(error))
    return error


def _wanted(context: CrawlContext, lease: Lease) -> Callable[[int, Sequence[tuple[str, str]]], bool] | None:
    """Return what tells by the head of a response whether its body is wanted; None where any body is."""
    scope, limits = context.scope, context.icd.limits

    def is_wanted(status: int, fields: Sequence[tuple[str, str]]) -> bool:
        head = Headers(tuple(fields))
        if not 200 <= status < 300:
            return True
        return scope.admit_type(lease, head.media_type) is None and not is_too_large(limits, lease.kind, head)

    is_asked = lease.purpose is Purpose.REQUISITE or (scope.asks_type and lease.purpose is Purpose.PAGE)
    return is_wanted if is_asked else None


def _is_spent(lifecycle: Lifecycle, lease: Lease) -> bool:
    return lease.purpose is Purpose.REQUISITE and lifecycle.requisites_spent
