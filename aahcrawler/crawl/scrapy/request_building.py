"""Scrapy's requests, as this crawl's download handler takes them."""

from collections.abc import Mapping
from typing import Any

from scrapy import Request

from aahcrawler import urls
from aahcrawler.crawl.capture.recrawl import ConditionalRequest
from aahcrawler.crawl.core.context import CrawlContext
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.fetch.download_handler import ENDING
from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM


def build_request(
    url: str, asked: ConditionalRequest, context: CrawlContext, fetching: FetchControl, meta: Mapping[str, Any]
) -> Request:
    """Return the request of a URL with the context's headers and the conditions asked for, ``meta`` added."""
    return Request(
        url,
        headers={**context.request_headers, **asked.conditions},
        dont_filter=True,
        meta={
            ENDING: fetching.ending,
            IP_CLAIM: fetching.ip_claims.of(url),
            "download_slot": urls.queue_of(url),
            "verbatim_url": True,
            **meta,
        },
    )
