"""Requests for single pages as Scrapy's, by which a site is to know nobody."""

from dataclasses import dataclass

from scrapy.crawler import Crawler

from aahcrawler.crawl.capture.recrawl import UNCONDITIONAL
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.fetch.download_handler import MOST_BYTES, CapturedResponse
from aahcrawler.crawl.response.session_probing import UNKNOWN
from aahcrawler.crawl.scrapy.request_building import build_request


@dataclass(frozen=True, slots=True)
class UnknownVisitor:
    """Asks for pages that the crawl has fetched before (``session_probing.Ask``)."""

    crawler: Crawler
    context: CurrentContext
    fetching: FetchControl

    async def __call__(self, url: str) -> CapturedResponse:
        """Return the answer to a request; raise ``WireError``, and what the crawl's requests raise else."""
        own = {UNKNOWN: True, MOST_BYTES: self.context.now.icd.limits.page_bytes}
        request = build_request(url, UNCONDITIONAL, self.context.now, self.fetching, own)
        assert self.crawler.engine is not None  # noqa: S101
        response = await self.crawler.engine.download_async(request)
        assert isinstance(response, CapturedResponse)  # noqa: S101
        return response
