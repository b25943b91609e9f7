"""Asks for single pages with the manners of a crawl, outside of one: robots.txt, delays, user agent, address policy."""

import asyncio
from contextlib import closing
from typing import Final

from aahcrawler import urls
from aahcrawler.crawl.fetch.client_settings import request_headers
from aahcrawler.crawl.fetch.politeness import PolitenessTracker
from aahcrawler.crawl.fetch.robots_txt import LARGEST, Rules
from aahcrawler.page import Headers, Page
from aahcrawler.page.decoding import decode_content
from aahcrawler.wire.client import WireClient, WireRequest
from aahcrawler.wire.errors import WireError
from online_analysis.icd import Icd

MOST_REDIRECTS: Final = 5
"""How many redirects of a robots.txt are followed (RFC 9309, section 2.3.1.2)."""
LONGEST_DELAY: Final = 20.0
"""Seconds beyond which nobody waits who only looks; a crawl does."""


class NotAnsweredError(Exception):
    """There is no answer to look at; ``reason`` is the frontier's word for why, the message says more."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class PoliteAsking:
    """Fetches pages as a definition says. The robots.txt of each origin is asked for once, before anything else."""

    def __init__(self, icd: Icd, client: WireClient) -> None:
        self._icd = icd
        self._client = client
        self._politeness = PolitenessTracker(icd.politeness)
        self._rules: dict[str, Rules | NotAnsweredError] = {}

    async def page(self, url: str) -> Page:
        """Return the answer to a canonical URL, whatever its status. Raise ``NotAnsweredError``.

        Two calls for the same pay-level domain must not run at once.
        """
        if self._icd.politeness.robots == "obey":
            rules = await self._rules_of(urls.origin(url))
            self._politeness.obey_crawl_delay(url, rules.delay)
            if not rules.allow(url):
                raise NotAnsweredError("robots", f"{urls.origin(url)}/robots.txt does not let us fetch it")
        try:
            return await self._fetch(url, self._icd.limits.page_bytes)
        except WireError as error:
            raise NotAnsweredError(error.reason, str(error)) from error

    async def _rules_of(self, origin: str) -> Rules:
        if origin not in self._rules:
            try:
                self._rules[origin] = await self._robots(origin)
            except NotAnsweredError as error:
                self._rules[origin] = error
        found = self._rules[origin]
        if isinstance(found, NotAnsweredError):
            raise found
        return found

    async def _robots(self, origin: str) -> Rules:
        url: str | None = f"{origin}/robots.txt"
        for hop in range(MOST_REDIRECTS + 1):
            if url is None:
                break
            try:
                page = await self._fetch(url, LARGEST)
            except WireError as error:
                raise NotAnsweredError(error.reason if hop == 0 else "robots.txt", f"{url}: {error}") from error
            if page.status >= 500 or page.status == 429:
                raise NotAnsweredError("robots.txt", f"{url} answered {page.status}")
            if not 300 <= page.status < 400:
                return Rules.read(page.body, 0.0) if page.status < 300 else Rules(None, 0.0)
            url = urls.resolve(url, page.headers.get("Location"))
        return Rules(None, 0.0)

    async def _fetch(self, url: str, most: int) -> Page:
        delay = self._politeness.reserve(url)
        if delay > LONGEST_DELAY:
            raise NotAnsweredError("timeout", f"the site asks for a delay of {delay:.0f} s between two fetches")
        await asyncio.sleep(delay)
        headers = tuple(request_headers(self._icd).items())
        try:
            answer = await self._client.fetch(WireRequest(url, headers, keep=most, max_bytes=most))
        except WireError as error:
            if error.exchange is not None:
                error.exchange.close()
            raise
        finally:
            self._politeness.fetch_ended(url)
        self._politeness.on_response(url, answer.status, answer.latency)
        with closing(answer.exchange):
            said = Headers(answer.headers)
            decoded = decode_content(answer.payload, ", ".join(said.all("Content-Encoding")), most)
            is_whole = answer.payload_complete and decoded.complete
            return Page(url, answer.status, said, decoded.body, answer.exchange.started_at, is_whole)
