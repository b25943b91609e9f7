"""Scrapy's requests, as this crawl's download handler takes them."""

from collections.abc import Mapping
from typing import Any

from scrapy import Request

from aahcrawler import urls
from aahcrawler.crawl.capture.recrawl import ConditionalRequest
from aahcrawler.crawl.core.context import CrawlContext
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.fetch.download_handler import CAPTURED_AS, ENDING
from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease
from aahcrawler.posted_forms import ENCODING, PostedForm, posted_by


def sent_form(lease: Lease) -> PostedForm | None:
    """Return what is to be posted for a lease; None where it is asked for, as all that no form led to is."""
    return posted_by(lease.url) if lease.path[-1:].upper() == Hop.FORM else None


def posting(request: Request, form: PostedForm) -> Request:
    """Return a request that posts what a form sends; its answer is archived under the URL of the request at hand."""
    return request.replace(
        url=form.target,
        method="POST",
        body=form.body.encode("ascii"),
        headers={**request.headers, "Content-Type": ENCODING},
        meta={**request.meta, CAPTURED_AS: request.url},
    )


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
