"""Asks for single pages with the manners of a crawl, outside of one: robots.txt, delays, user agent, address policy.

Delays are kept between the fetches of one ``PoliteAsking``; of crawls that run at the same time it knows nothing.
"""

import asyncio
from contextlib import closing
from dataclasses import dataclass
from time import monotonic
from typing import Final

from aahcrawler import urls
from aahcrawler.crawl.fetch.client_settings import request_headers
from aahcrawler.crawl.fetch.ip_claims import machine
from aahcrawler.crawl.fetch.politeness import PolitenessTracker
from aahcrawler.crawl.fetch.robots_txt import LARGEST, Rules
from aahcrawler.page import Headers, Page
from aahcrawler.page.decoding import decode_content
from aahcrawler.page.onward import location
from aahcrawler.wire.client import WireClient, WireRequest
from aahcrawler.wire.errors import WireError
from online_analysis.icd import Icd

MAX_REDIRECTS: Final = 5
"""How many redirects of a robots.txt are followed (RFC 9309, section 2.3.1.2)."""
MAX_DELAY: Final = 20.0
"""Seconds beyond which nobody waits who only looks; a crawl does."""


class NotAnsweredError(Exception):
    """There is no answer to look at; ``reason`` is the frontier's word for why, the message says more."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class _Machines:
    """Keeps the same delay between two fetches from one IP address, whatever the domains that lead to it."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}

    def reserve(self, name: str, delay: float) -> float:
        """Reserve the next fetch; return how many seconds from now it may begin."""
        now = monotonic()
        at = max(now, self._next.get(name, now))
        self._next[name] = at + delay
        return at - now

    def ended(self, name: str, delay: float) -> None:
        """Let the delay begin anew: a fetch has just ended."""
        self._next[name] = max(self._next.get(name, 0.0), monotonic() + delay)


@dataclass(slots=True)
class _Turn:
    """The turn of one request at the machines that its host's name leads to (``wire.admission.Admission``)."""

    machines: _Machines
    delay: float
    name: str = ""

    async def enter(self, address: str, port: int) -> None:
        """Return when the machine may be asked; raise ``NotAnsweredError`` where nobody waits so long."""
        name = machine(address, port)
        if self.delay and name != self.name:
            self.leave()
            await _patiently(self.machines.reserve(name, self.delay))
            self.name = name

    def leave(self) -> None:
        """Let the delay of the machine begin anew."""
        if self.name:
            self.machines.ended(self.name, self.delay)
            self.name = ""


async def _patiently(seconds: float) -> None:
    if seconds > MAX_DELAY:
        raise NotAnsweredError("timeout", f"the next fetch from there may begin in {seconds:.0f} s only")
    await asyncio.sleep(seconds)


class PoliteAsking:
    """Fetches pages as a definition says. The robots.txt of each origin is asked for once, before anything else."""

    def __init__(self, icd: Icd, client: WireClient) -> None:
        self._icd = icd
        self._client = client
        self._politeness = PolitenessTracker(icd.politeness)
        self._machines = _Machines()
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
        for hop in range(MAX_REDIRECTS + 1):
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
            url = location(url, page.status, page.headers)
        return Rules(None, 0.0)

    async def _fetch(self, url: str, most: int) -> Page:
        await _patiently(self._politeness.reserve(url))
        turn = _Turn(self._machines, self._politeness.delay_of(url))
        headers = tuple(request_headers(self._icd).items())
        try:
            answer = await self._client.fetch(WireRequest(url, headers, keep=most, max_bytes=most, admission=turn))
        except WireError as error:
            if error.exchange is not None:
                error.exchange.close()
            raise
        finally:
            turn.leave()
            self._politeness.fetch_ended(url)
        self._politeness.on_response(url, answer.status, answer.latency)
        with closing(answer.exchange):
            said = Headers(answer.headers)
            decoded = decode_content(answer.payload, ", ".join(said.all("Content-Encoding")), most)
            is_whole = answer.payload_complete and decoded.complete
            return Page(url, answer.status, said, decoded.body, answer.exchange.started_at, is_whole)
