"""How fast a visit asks: its own bounded concurrency and small delay; the site's pause lies before and after it."""

import asyncio
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.fetch.ip_claims import Claim
from aahcrawler.crawl.fetch.politeness import OVERLOADED
from aahcrawler.crawl.fetch.visit_claims import VisitClaims
from aahcrawler.urls import queue_of

VISIT: Final = "aah_visit"
"""The key of ``Request.meta`` that holds the ``VisitPace`` of the visit that a request is part of."""
AT_ONCE: Final = 6
"""Requests of a visit that are under way at once: as many as browsers send to one host over HTTP/1.1."""


class VisitPace:
    """Spaces the requests of a visit to a page (``url``), and notes which hosts have too much to do.

    A Crawl-delay is between visits, as the definition's delay is: it spaces no requests within one.
    """

    def __init__(self, fetching: FetchControl, url: str) -> None:
        self.slots = asyncio.Semaphore(AT_ONCE)
        self.rest_asked = 0.0
        """For how many seconds the page's own site asks to be left in peace."""
        self._fetching = fetching
        self._url = url
        self._claims = VisitClaims(fetching.ip_claims, url)
        self._next: dict[str, float] = {}
        self._overloaded: set[str] = set()

    def is_of_site(self, url: str) -> bool:
        """Return whether a URL is of the page's own site."""
        return queue_of(url) == queue_of(self._url)

    async def wait_for_turn(self, url: str) -> None:
        """Wait until a host may be asked; raise ``StoppedError`` if the crawl is stopped before."""
        host, now = urlsplit(url).netloc, asyncio.get_running_loop().time()
        at = max(now, self._next.get(host, now))
        self._next[host] = at + self._claims.apart(url)
        await self._fetching.wait_within_visit(at - now)

    def claim_of(self, url: str) -> Claim:
        """Return the claim of one request at the IP address that its host turns out to have."""
        return self._claims.of(url)

    def is_overloaded(self, url: str) -> bool:
        """Return whether a URL's host has said that it has too much to do."""
        return urlsplit(url).netloc in self._overloaded

    def answered(self, url: str, status: int, latency: float, rest_asked: float) -> None:
        """Learn from an answer: of the site for all that follows, of an overloaded host for the rest of the visit."""
        politeness = self._fetching.politeness
        politeness.on_response(url, status, latency, rest_asked)
        politeness.fetch_ended(url)
        # 429 speaks of whoever asks (RFC 6585, section 4); 503 often of one resource, unless it says for how long.
        if status in OVERLOADED and (status != 503 or rest_asked):
            self._overloaded.add(urlsplit(url).netloc)
            if self.is_of_site(url):
                self.rest_asked = max(self.rest_asked, rest_asked)

    async def end(self) -> None:
        """Let the pause of the page's site begin."""
        self._fetching.politeness.fetch_ended(self._url)
        await self._claims.end()
