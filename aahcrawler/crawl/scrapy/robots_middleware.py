"""robots.txt: asked for once per host, obeyed, archived (RFC 9309)."""

import asyncio
import logging
from collections import OrderedDict
from contextlib import closing
from functools import partial
from http import HTTPStatus
from typing import Self, cast

from scrapy import Request
from scrapy.crawler import Crawler

from aahcrawler import urls
from aahcrawler.crawl.browsing.visited_crawl import VISIT, VisitPace
from aahcrawler.crawl.capture.archiver import Annotations, identified
from aahcrawler.crawl.capture.recrawl import UNCONDITIONAL, ConditionalRequest, Recrawl, UnreadableCaptureError
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.fetch.download_handler import MAX_BYTES, CapturedResponse
from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM
from aahcrawler.crawl.lease.lease_source import LEASE, LostLeaseError
from aahcrawler.crawl.response.listings import AnnouncedSitemaps
from aahcrawler.crawl.scrapy.spider import AahSpider, build_request
from aahcrawler.page import Headers, Page
from aahcrawler.wire.errors import WireError
from aahcrawler.wire.robots_txt import MAX_ROBOTS_BYTES, RobotsDeniedError, RobotsUnreachableError, Rules, ask

logger = logging.getLogger(__name__)

MAX_HOSTS = 10_000
"""How many hosts' rules are remembered."""
KEPT_SECONDS = 24 * 3600.0
"""How long rules are used before they are asked for again (RFC 9309, section 2.4)."""

MAX_WAITED = 10.0
"""Seconds that a request of a page in a browser waits for a robots.txt."""


class RobotsMiddleware:
    """Holds a leased request until its host's robots.txt is known and its queue may be fetched from, or drops it."""

    def __init__(
        self, crawler: Crawler, context: CurrentContext, writer: StoreWriter, fetching: FetchControl, recrawl: Recrawl
    ) -> None:
        self._crawler = crawler
        self._context = context
        self._writer = writer
        self._fetching = fetching
        self._recrawl = recrawl
        self._rules: OrderedDict[str, asyncio.Future[Rules]] = OrderedDict()
        self._sitemaps = AnnouncedSitemaps(context, writer)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware of the crawl that runs the spider."""
        job = cast("AahSpider", crawler.spider).job
        return cls(crawler, job.context, job.writer, job.fetching, job.recrawl)

    async def process_request(self, request: Request) -> None:
        """Let an allowed request pass when it may be sent.

        Raise ``RobotsDeniedError``, ``RobotsUnreachableError``, ``StoppedError`` when the crawl ends meanwhile,
        ``WireError`` for a host that cannot be talked to, and ``LostLeaseError`` for a lease that ran out meanwhile.
        """
        pace: VisitPace | None = request.meta.get(VISIT)
        if pace is not None:
            await self._judge(request, pace)
        if LEASE not in request.meta:
            return
        named: tuple[str, ...] = ()
        await self._fetching.remember_delay(request.meta[LEASE])
        if self._context.now.obeys_robots:
            rules = await self._of(urls.origin(request.url))
            self._fetching.politeness.obey_crawl_delay(request.url, rules.delay)
            if not rules.allow(request.url):
                raise RobotsDeniedError(request.url)
            named = rules.sitemaps
            await self._fetching.remember_delay(request.meta[LEASE])
        await self._sitemaps.of(request.meta[LEASE], named)
        await self._fetching.wait_for_slot(request.url)
        if not await self._fetching.leases.holds(request.meta[LEASE]):
            raise LostLeaseError

    async def _judge(self, request: Request, pace: VisitPace) -> None:
        """Let an allowed request of a visit pass when its host may be asked, by the pace of the visit.

        What a host that nobody has asked yet says is waited for as long as a page can wait. Whoever waits may leave;
        the rules are for others as well, and come all the same.
        """
        if self._context.now.obeys_robots:
            coming = asyncio.ensure_future(self._of(urls.origin(request.url), pace))
            coming.add_done_callback(_look)
            try:
                rules = await asyncio.wait_for(asyncio.shield(coming), MAX_WAITED)
            except TimeoutError:
                raise RobotsUnreachableError(f"{request.url}: its robots.txt does not come soon") from None
            if not rules.allow(request.url):
                raise RobotsDeniedError(request.url)
        await pace.wait_for_turn(request.url)

    async def _of(self, origin: str, pace: VisitPace | None = None) -> Rules:
        known = self._rules.get(origin)
        if known is not None and (not known.done() or known.result().expires > asyncio.get_running_loop().time()):
            return await asyncio.shield(known)
        coming: asyncio.Future[Rules] = asyncio.get_running_loop().create_future()
        self._rules[origin] = coming
        while len(self._rules) > MAX_HOSTS:
            self._rules.popitem(last=False)
        try:
            rules = await self._ask(origin, pace)
        except BaseException as error:
            self._rules.pop(origin, None)
            coming.set_exception(error)
            coming.exception()  # Those who wait get it; without a reader asyncio would complain.
            raise
        self._fetching.politeness.obey_crawl_delay(origin, rules.delay)
        coming.set_result(rules)
        return rules

    async def _ask(self, origin: str, pace: VisitPace | None) -> Rules:
        expires = asyncio.get_running_loop().time() + KEPT_SECONDS
        robots = await ask(origin, partial(self._fetch, pace=pace))
        return Rules(None, expires) if robots is None else Rules.read(robots.body, expires)

    async def _fetch(self, url: str, pace: VisitPace | None) -> Page:
        """Return what a robots.txt says, where it has not changed what the archive has of it."""
        asked = self._recrawl.asked(url)
        response = await self._download(url, asked, pace)
        if response.status == HTTPStatus.NOT_MODIFIED and asked.conditional and asked.former is not None:
            try:
                return self._recrawl.page_of(asked.former)
            except UnreadableCaptureError:
                self._recrawl.ask_plainly(url)
                response = await self._download(url, UNCONDITIONAL, pace)
        when = response.exchange.started_at
        return Page(url, response.status, Headers(response.wire_headers), response.body, when)

    async def _download(self, url: str, asked: ConditionalRequest, pace: VisitPace | None) -> CapturedResponse:
        own: dict[str, object] = {MAX_BYTES: MAX_ROBOTS_BYTES}
        if pace is None:
            await self._fetching.wait_for_slot(url)
        else:
            await pace.wait_for_turn(url)
            own[IP_CLAIM] = pace.claim_of(url)
        request = build_request(url, asked, self._context.now, self._fetching, own)
        assert self._crawler.engine is not None  # noqa: S101
        try:
            response = await self._crawler.engine.download_async(request)
        except WireError as error:
            await self._writer.count({"robots": int(error.exchange is not None)})
            await self._writer.archive_remains(error)
            raise
        finally:
            self._fetching.politeness.fetch_ended(url)
        assert isinstance(response, CapturedResponse)  # noqa: S101
        original = asked.former.original if asked.former is not None and asked.conditional else None
        with closing(response.exchange) as exchange:
            await self._writer.archive(exchange, Annotations(identified(response.body), unchanged=original))
        counts = {"requests": 1, "robots": 1, "bytes": exchange.response_size, "conditional": int(asked.conditional)}
        await self._writer.count(counts)
        return response


def _look(coming: "asyncio.Future[Rules]") -> None:
    """Look at how asking for rules ended: those who waited may have left, and asyncio would complain."""
    if not coming.cancelled():
        coming.exception()
