"""robots.txt: asked for once per host, obeyed, archived (RFC 9309)."""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Self, cast

from protego import Protego
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest

from aahcrawler import urls
from aahcrawler.crawl.download import CapturedResponse
from aahcrawler.crawl.job import Job
from aahcrawler.crawl.leasing import LEASE
from aahcrawler.page import Headers
from aahcrawler.wire.errors import WireError

logger = logging.getLogger(__name__)

LARGEST = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 asks for at least 500 KiB."""
MOST_REDIRECTS = 5
MOST_HOSTS = 10_000
"""How many hosts' rules are remembered."""
KEPT_SECONDS = 24 * 3600.0
"""How long rules are used before they are asked for again (RFC 9309, section 2.4)."""


class RobotsDeniedError(IgnoreRequest):
    """The host's robots.txt does not let us fetch the URL."""


class RobotsUnreachableError(IgnoreRequest):
    """The host's robots.txt could not be had: nothing may be fetched now (RFC 9309, section 2.3.1.4)."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What one host asks of us; ``parsed`` is None where everything is allowed."""

    parsed: Protego | None
    expires: float

    def allow(self, url: str, agent: str) -> bool:
        """Whether the agent may fetch the URL."""
        return self.parsed is None or bool(self.parsed.can_fetch(url, agent))

    def delay(self, agent: str) -> float:
        """Return the Crawl-delay in seconds, 0 where none is given."""
        return float((self.parsed and self.parsed.crawl_delay(agent)) or 0.0)


class RobotsMiddleware:
    """Holds a leased request until its host's robots.txt is known, and drops it if that says so."""

    def __init__(self, crawler: Crawler, job: Job) -> None:
        self._crawler = crawler
        self._job = job
        self._rules: OrderedDict[str, asyncio.Future[Rules]] = OrderedDict()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the middleware of the crawl that runs the spider."""
        return cls(crawler, cast("Job", crawler.spider.job))  # type: ignore[union-attr]

    async def process_request(self, request: Request) -> None:
        """Let an allowed request pass; raise ``RobotsDeniedError`` or ``RobotsUnreachableError`` for any other."""
        if LEASE not in request.meta or not self._job.obeys_robots:
            return
        rules = await self._of(urls.origin(request.url), request.meta["download_slot"])
        if not rules.allow(request.url, self._job.agent):
            raise RobotsDeniedError(request.url)
        self._job.set_crawl_delay(request.meta[LEASE].queue, rules.delay(self._job.agent))

    async def _of(self, origin: str, slot: str) -> Rules:
        known = self._rules.get(origin)
        if known is not None and (not known.done() or known.result().expires > asyncio.get_running_loop().time()):
            return await asyncio.shield(known)
        coming: asyncio.Future[Rules] = asyncio.get_running_loop().create_future()
        self._rules[origin] = coming
        while len(self._rules) > MOST_HOSTS:
            self._rules.popitem(last=False)
        try:
            coming.set_result(await self._ask(origin, slot))
        except BaseException as error:
            del self._rules[origin]
            coming.set_exception(error)
            coming.exception()  # Those who wait get it; without a reader asyncio would complain.
            raise
        await asyncio.sleep(self._job.delay_of(slot))
        return coming.result()

    async def _ask(self, origin: str, slot: str) -> Rules:
        expires = asyncio.get_running_loop().time() + KEPT_SECONDS
        url: str | None = f"{origin}/robots.txt"
        for _ in range(MOST_REDIRECTS + 1):
            if url is None:
                break
            response = await self._fetch(url, slot)
            if 300 <= response.status < 400:
                url = urls.resolve(url, Headers(response.wire_headers).get("Location"))
            elif response.status >= 500 or response.status == 429:
                raise RobotsUnreachableError(f"{url} answered {response.status}")
            else:
                text = response.body[:LARGEST].decode("utf-8", "replace") if response.status < 300 else ""
                return Rules(Protego.parse(text) if text else None, expires)
        return Rules(None, expires)  # Too many redirects count as no robots.txt (RFC 9309, section 2.3.1.2).

    async def _fetch(self, url: str, slot: str) -> CapturedResponse:
        request = Request(
            url,
            headers=self._job.request_headers,
            dont_filter=True,
            meta={"download_slot": slot, "verbatim_url": True},
        )
        assert self._crawler.engine is not None  # noqa: S101
        try:
            response = await self._crawler.engine.download_async(request)
        except WireError as error:
            raise RobotsUnreachableError(f"{url}: {error}") from error
        assert isinstance(response, CapturedResponse)  # noqa: S101
        self._job.stores.archive.write(response.exchange)
        response.exchange.close()
        self._job.tally.add("robots")
        await self._job.call(self._job.stores.frontier.count, {"robots": 1})
        return response
