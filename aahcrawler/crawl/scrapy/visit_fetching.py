"""The requests of a visit as Scrapy's, so that all its middlewares hold for them."""

from dataclasses import dataclass

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.defer import maybe_deferred_to_future

from aahcrawler.browser.network.upstream import RequestRefusedError
from aahcrawler.crawl.browsing.page_fetch import PageFetch
from aahcrawler.crawl.browsing.visit_pace import VISIT
from aahcrawler.crawl.capture.recrawl import UNCONDITIONAL
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.fetch.download_handler import (
    ENDING,
    KEPT_BYTES,
    MOST_BYTES,
    RELAY,
    SPELLED,
    UNTIL,
    WANTED,
    CapturedResponse,
)
from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM
from aahcrawler.crawl.fetch.robots_txt import RobotsDeniedError, RobotsUnreachableError
from aahcrawler.crawl.scrapy.request_building import build_request

BEGINNING = 65_536
"""Bytes of a body by which its type is told; the archive and the browser have the whole."""


@dataclass(frozen=True, slots=True)
class VisitFetching:
    """Sends the requests of visits (``page_fetch.Fetch``)."""

    crawler: Crawler
    context: CurrentContext
    fetching: FetchControl

    async def __call__(self, asked: PageFetch) -> CapturedResponse:
        """Return the answer to a request, the beginning of its body alone; see ``page_fetch.Fetch``."""
        # The visit itself ends what is under way when the crawl ends: what came by then is archived.
        own = {
            ENDING: None,
            IP_CLAIM: asked.pace.claim_of(asked.url),
            KEPT_BYTES: BEGINNING,
            MOST_BYTES: asked.most_bytes,
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
        except (RobotsDeniedError, RobotsUnreachableError):
            raise
        except IgnoreRequest:
            raise RequestRefusedError("ignored") from None
        if not isinstance(response, CapturedResponse):
            raise RequestRefusedError("replaced" if isinstance(response, Request) else "uncaptured")
        self.crawler.signals.send_catch_log(
            signals.response_received, response=response, request=request, spider=self.crawler.spider
        )
        return response
