"""Scrapy's requests, as this crawl's download handler takes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.defer import maybe_deferred_to_future

from aahcrawler import urls
from aahcrawler.browser.network.upstream import RequestRefusedError
from aahcrawler.crawl.browsing.visited_crawl import VISIT, PageFetch
from aahcrawler.crawl.capture.recrawl import UNCONDITIONAL, ConditionalRequest
from aahcrawler.crawl.core.context import CrawlContext, CurrentContext
from aahcrawler.crawl.core.fetch_control import FetchControl
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
    CapturedResponse,
)
from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM
from aahcrawler.crawl.response.session_probing import UNKNOWN
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease
from aahcrawler.urls import FORM_ENCODING, PostedForm, posted_by


def sent_form(lease: Lease) -> PostedForm | None:
    """Return what is to be posted for a lease; None where it is asked for, as all that no form led to is."""
    return posted_by(lease.url) if lease.path[-1:].upper() == Hop.FORM else None


def posting(request: Request, form: PostedForm) -> Request:
    """Return a request that posts what a form sends; its answer is archived under the URL of the request at hand."""
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
    is_query = any(each.offset(url) is not None for each in context.icd.sources.sparql)
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
        """Return the answer to a request; raise ``WireError``, and what the crawl's requests raise else."""
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
        """Return the answer to a request, the beginning of its body alone; see ``page_fetch.Fetch``."""
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
