"""Sites know the crawl again: cookies, logins and headers with each request, and what their responses ask for."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final, Self, cast

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response

from aahcrawler import urls
from aahcrawler.crawl.browsing.visited_crawl import VISIT, VisitPace
from aahcrawler.crawl.capture.archiver import Annotations, identified
from aahcrawler.crawl.capture.recrawl import UNCONDITIONAL
from aahcrawler.crawl.core.site_sessions import FormLogins, LoginStep, SiteSession, set_cookies
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.lease.lease_source import LEASE
from aahcrawler.crawl.response.session_probing import UNKNOWN
from aahcrawler.crawl.scrapy.spider import AahSpider, build_request
from aahcrawler.crawl.startup.job import Job
from aahcrawler.credentials.given import is_among
from aahcrawler.frontier.control import Revisit
from aahcrawler.frontier.protocol import Lease, Offer
from aahcrawler.page import Headers, Page
from aahcrawler.page.onward import location
from aahcrawler.wire.errors import WireError

logger = logging.getLogger(__name__)

_STEP: Final = "aah_login_step"
"""The key of ``Request.meta`` of a request that is part of a login."""
_SENT: Final = "aah_sent_again"
"""The key of ``Request.meta`` that counts how often a request was sent again, each time knowing more."""
_ANSWERED: Final = "aah_authorized"
"""The key of ``Request.meta`` that says that the request had an Authorization field of the crawl's."""
MAX_AGAIN: Final = 4
"""How often a request is sent again: for a cookie, a challenge, a stale nonce, a login that was lost."""
MAX_LED_BACK: Final = 2
"""How often a page is asked for again because its redirects led back to it with another cookie."""
MAX_REMEMBERED: Final = 1_000
"""How many of the last redirects are remembered, in case they lead back."""


class SessionMiddleware:
    """Gives each request what its site is to know the crawl by, and takes cookies from each response.

    A request whose response asks for more than it had, and that can have it now, is sent again at once; the response
    before is archived like any other. It comes after ``RobotsMiddleware``, so that nothing changes before the request
    is sent.
    """

    def __init__(self, crawler: Crawler, job: Job) -> None:
        self._crawler, self._job, self._sessions = crawler, job, job.sessions
        self._logins = FormLogins(job.sessions, self._fetch, self._count)
        self._redirects: OrderedDict[str, tuple[Lease, str]] = OrderedDict()
        self._led_back: Counter[str] = Counter()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware of the crawl that runs the spider; it is left out where nothing is kept or sent."""
        job = cast("AahSpider", crawler.spider).job
        if not job.sessions.are_wanted:
            raise NotConfigured
        return cls(crawler, job)

    async def process_request(self, request: Request) -> None:
        """Add what the site knows the crawl by; log in first where that is asked for. Raise ``LoginFailedError``."""
        if UNKNOWN in request.meta:
            request.headers.pop("Cookie", None)
            return
        session = await self._sessions.of(request.url)
        if LEASE in request.meta:
            await self._logins.ensure(session)
        fields = self._sessions.headers(session, request.method, request.url)
        if VISIT in request.meta:  # The browser has begun with the site's cookies, and knows them all by now.
            fields.pop("Cookie", None)
        else:
            request.headers.pop("Cookie", None)
            request.headers.pop("Authorization", None)
        for name, value in fields.items():
            request.headers[name] = value.encode("latin-1")
        request.meta[_ANSWERED] = "Authorization" in fields

    async def process_response(self, request: Request, response: Response) -> Response:
        """Take the cookies of a response; return the response that came at last. Raise ``LoginFailedError``.

        What another middleware made up is returned as it is, and what nobody is to be known by.
        """
        if not isinstance(response, CapturedResponse) or UNKNOWN in request.meta:
            return response
        session = await self._sessions.of(request.url)
        fields = self._news(request, response)
        has_news = bool(fields) and session.cookies.take(request.url, fields)
        if fields:
            await self._sessions.keep(session)
        if _STEP in request.meta or request.meta.get(_SENT, 0) >= MAX_AGAIN:
            return response
        is_visit = VISIT in request.meta  # There the browser follows redirects, and is given what came.
        led_to_itself = has_news and not is_visit and _target(response) == request.url
        if self._answers_challenge(request, response) or led_to_itself:
            return await self._again(request, response)
        if is_visit:
            return response
        lease: Lease | None = request.meta.get(LEASE)
        if lease is not None and lease.is_page:
            if await self._is_lost(session, response):
                await self._logins.ensure(session)
                return await self._again(request, response)
            await self._lead_back(session, lease, response)
        return self._concealed(session, response)

    def _news(self, request: Request, response: CapturedResponse) -> Sequence[str]:
        """Return the cookies of a response that are to be kept.

        A visit has its page's site alone: of others that are logged in to, another worker may keep the session.
        """
        if not self._sessions.given.keeps_cookies:
            return ()
        pace: VisitPace | None = request.meta.get(VISIT)
        if pace is not None and not pace.is_of_site(request.url) and is_among(self._sessions.sites, request.url):
            return ()
        return set_cookies(response.wire_headers)

    def _concealed(self, session: SiteSession, response: CapturedResponse) -> CapturedResponse:
        """Return a response as the crawl understands it: what it knows no page is to tell it again, and others.

        The archive has what came (``capture.redaction``).
        """
        masks = self._sessions.masks(session, response.url, tokens=self._job.context.now.icd.archive.redact)
        if masks is None:
            return response
        body = masks.masked(response.body)
        headers = tuple((name, masks.masked_text(value)) for name, value in response.wire_headers)
        if body == response.body and headers == response.wire_headers:
            return response
        return response.replace(body=body, captured=replace(response.captured, headers=headers))

    # What asks for more

    def _answers_challenge(self, request: Request, response: CapturedResponse) -> bool:
        """Take the challenges of a response; return whether the request can be sent again with a response to them."""
        if response.status != 401:
            return False
        known = self._sessions.authentication(request.url)
        if known is None:
            return False
        asked = [value for name, value in response.wire_headers if name.lower() == "www-authenticate"]
        return known.take(asked, was_answered=bool(request.meta.get(_ANSWERED)))

    async def _is_lost(self, session: SiteSession, response: CapturedResponse) -> bool:
        if session.site not in self._sessions.given.logins:
            return False
        is_current = _sent_cookie(response) == session.cookies.header(response.url)
        return await self._logins.is_lost(session, _page(response), is_current=is_current)

    async def _lead_back(self, session: SiteSession, lease: Lease, response: CapturedResponse) -> None:
        """Have a page fetched again whose redirects lead back to it with a cookie that it was asked without."""
        target = _target(response)
        if target is None or self._job.writer.stores.revisiting is None:
            return
        before = self._redirects.pop(target, None)
        may_again = self._led_back[target] < MAX_LED_BACK and len(self._led_back) < MAX_REMEMBERED
        if before is None or session.cookies.header(target) == before[1] or not may_again:
            self._redirects[lease.url] = lease, _sent_cookie(response)
            if len(self._redirects) > MAX_REMEMBERED:
                self._redirects.popitem(last=False)
            return
        self._led_back[target] += 1
        first = before[0]
        offer = Offer(first.url, first.queue, first.score, first.depth, "page", first.via, first.path)
        await self._job.writer.call(self._job.writer.stores.revisiting.again, [Revisit(offer)])
        logger.info("%s is asked again, with the cookie that its redirects led to", target)

    # More requests

    async def _again(self, request: Request, response: CapturedResponse) -> CapturedResponse:
        """Archive a response, and return the one to the same request, sent again."""
        await self._put_aside(response, {"sent_again": 1})
        self._job.fetching.politeness.fetch_ended(request.url)
        if LEASE not in request.meta and VISIT not in request.meta:
            await self._job.fetching.wait_for_slot(request.url)
        meta = {**request.meta, _SENT: request.meta.get(_SENT, 0) + 1}
        return await self._download(request.replace(meta=meta))

    async def _fetch(self, step: LoginStep) -> Page:
        """Return the response to a step of a login."""
        await self._job.fetching.wait_for_slot(step.url)
        request = build_request(step.url, UNCONDITIONAL, self._job.context.now, self._job.fetching, {_STEP: True})
        if step.body is not None:
            request = request.replace(method="POST", body=step.body)
            request.headers["Content-Type"] = "application/x-www-form-urlencoded"
            request.headers["Origin"] = urls.origin(step.url)
        try:
            response = await self._download(request)
        except WireError as error:
            await self._job.writer.archive_remains(error)
            raise
        finally:
            self._job.fetching.politeness.fetch_ended(step.url)
        page = _page(response)
        await self._put_aside(response, {"login_requests": 1})
        return page

    async def _download(self, request: Request) -> CapturedResponse:
        assert self._crawler.engine is not None  # noqa: S101
        response = await self._crawler.engine.download_async(request)
        assert isinstance(response, CapturedResponse)  # noqa: S101
        return response

    async def _put_aside(self, response: CapturedResponse, more: Mapping[str, int]) -> None:
        with closing(response.exchange) as exchange:
            await self._job.writer.archive(exchange, Annotations(identified(response.body)))
        await self._job.writer.count({"requests": 1, "bytes": exchange.response_size, **more})

    async def _count(self, name: str) -> None:
        await self._job.writer.count({name: 1})


def _target(response: CapturedResponse) -> str | None:
    """Return what a response redirects to, None where that is nothing."""
    return location(response.url, response.status, Headers(response.wire_headers))


def _sent_cookie(response: CapturedResponse) -> str:
    """Return the Cookie field that a response was asked for with, empty where there was none."""
    request = response.request
    return "" if request is None else (request.headers.get("Cookie") or b"").decode("latin-1")


def _page(response: CapturedResponse) -> Page:
    when = response.exchange.started_at
    return Page(response.url, response.status, Headers(response.wire_headers), response.body, when)
