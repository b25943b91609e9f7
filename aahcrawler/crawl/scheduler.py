"""Scrapy's scheduler, reduced to a buffer: the order of fetching is the frontier's."""

from collections import deque
from typing import Self, cast

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler

from aahcrawler.crawl.job import Job
from aahcrawler.crawl.leasing import LEASE
from aahcrawler.crawl.spider import AahSpider


class LeaseScheduler(BaseScheduler):
    """Hands leased requests on in the order in which they come; what it holds at the end is released by the job.

    A request without a lease (an add-on's, or one that a middleware returned in place of a response) is offered to
    the frontier instead, where it is known, scored and kept polite like any other URL.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._buffer: deque[Request] = deque()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the scheduler of the crawl that runs the spider."""
        return cls(cast("AahSpider", crawler.spider).job)

    def has_pending_requests(self) -> bool:
        """Whether a leased request waits here; the frontier itself is drained by the spider's ``start``."""
        return bool(self._buffer)

    def enqueue_request(self, request: Request) -> bool:
        """Keep a leased request, offer any other; False when scope refuses it."""
        if LEASE in request.meta:
            self._buffer.append(request)
            return True
        return self._job.offer_foreign(request.url, request.priority)

    def next_request(self) -> Request | None:
        """Return the next leased request, None while there is none."""
        return self._buffer.popleft() if self._buffer else None
