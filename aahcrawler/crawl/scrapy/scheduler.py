"""Scrapy's scheduler, reduced to what others ask for: what is fetched when is the frontier's."""

import asyncio
import logging
from collections.abc import Callable
from typing import Self, cast

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler

from aahcrawler import urls
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.scrapy.spider import AahSpider
from aahcrawler.frontier.protocol import FrontierUnavailableError, Offer, Offered
from aahcrawler.scores import Source
from aahcrawler.segments import SegmentError

logger = logging.getLogger(__name__)


class OfferingScheduler(BaseScheduler):
    """Offers what an extension asks for to the frontier, where it is known, scored and kept polite like any other URL.

    It never has anything to be fetched: that is leased by the spider.
    """

    def __init__(self, context: CurrentContext, writer: StoreWriter, fail: Callable[[Exception], None]) -> None:
        self._context = context
        self._writer = writer
        self._fail = fail
        self._offering: set[asyncio.Task[None]] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the scheduler of the crawl that runs the spider."""
        job = cast("AahSpider", crawler.spider).job
        return cls(job.context, job.writer, job.lifecycle.fail)

    def has_pending_requests(self) -> bool:
        """Say that nothing waits here: the frontier is drained by the spider's ``start``."""
        return False

    def enqueue_request(self, request: Request) -> bool:
        """Offer the URL of a request; False when scope refuses it."""
        return self._offer(request.url, request.priority)

    def next_request(self) -> Request | None:
        """Return None: there is nothing."""
        return None

    def _offer(self, url: str, priority: int) -> bool:
        """Offer a URL that an extension asks for, with a score from its priority; False where it is refused."""
        scope = self._context.now.scope
        canonical = scope.spelling.url(url)
        if canonical is None:
            return False
        offer = Offer(canonical, urls.queue_of(canonical), min(1.0, max(0.0, 0.5 + priority / 200)))
        if scope.admit(offer) is not None:
            return False
        offering = asyncio.ensure_future(self._queue(offer))
        self._offering.add(offering)
        offering.add_done_callback(self._offering.discard)
        return True

    async def _queue(self, offer: Offer) -> None:
        try:
            (offered,) = await self._writer.call(self._writer.stores.frontier.offer, [offer])
            if offered is Offered.ADDED:
                self._writer.stores.scores.offered(Source.REQUEST, [(offer.url, offer.score)])
        except FrontierUnavailableError as error:
            self._fail(error)
        except SegmentError as error:  # It is queued all the same.
            logger.warning("%s is queued, and the score log does not say so: %s", offer.url, error)
