"""The parts of a crawl that answer the requests of its visits: which of them are made, how fast, and by whom."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.crawl.browsing.captured_responses import CapturedResponses
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.lifecycle import DomainBudgetError, DomainBudgets, Lifecycle, is_too_large
from aahcrawler.crawl.core.site_sessions import SiteSessions
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.fetch.ip_claims import Claim, VisitClaims
from aahcrawler.frontier.hops import Hop, extended
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers
from aahcrawler.urls import queue_of
from aahcrawler.wire.politeness import OVERLOADED
from aahcrawler.wire.relay import Relay

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
        self._next[host] = at + self._claims.delay_of(url)
        await self._fetching.wait_within_visit(at - now)

    def claim_of(self, url: str) -> Claim:
        """Return the claim of one request at the IP address that its host turns out to have."""
        return self._claims.of(url)

    def is_overloaded(self, url: str) -> bool:
        """Return whether a URL's host has said that it has too much to do."""
        return urlsplit(url).netloc in self._overloaded

    def answered(self, url: str, status: int, latency: float, rest_asked: float) -> None:
        """Learn from a response: of the site for all that follows, of an overloaded host for the rest of the visit."""
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


@dataclass(frozen=True, slots=True)
class PageFetch:
    """A request as a visit has it sent: ``relay`` is given its response, which ends when ``until`` is set.

    ``wanted`` and ``most_bytes`` are as in ``WireRequest``; ``pace`` is the visit's.
    """

    url: str
    method: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    relay: Relay
    wanted: Callable[[int, Sequence[tuple[str, str]]], bool]
    most_bytes: int | None
    pace: VisitPace
    until: asyncio.Event


Fetch = Callable[[PageFetch], Awaitable[CapturedResponse]]
"""Sends a request through all that stands between the crawl and the network: robots.txt, sessions, middlewares.

Raises ``RequestRefusedError``, ``WireError``, and what the crawl's requests raise else.
"""


SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing at a site (RFC 9110, section 9.2.1)."""
LARGE_FILE: Final = "requisite_file_bytes"


@dataclass(frozen=True, slots=True)
class RequestRules:
    """Judges requests by the definition as it is at that moment. Traps are for pages alone."""

    context: CurrentContext
    lifecycle: Lifecycle
    sessions: SiteSessions
    budgets: DomainBudgets

    def as_requisite(self, page: Lease, url: str) -> Lease:
        """Return a URL that a page asks for as the lease that a requisite of it would be."""
        queue = queue_of(url)
        is_off_site = not self.context.now.scope.is_of_seeds(queue)
        path = extended(page.path, Hop.REQUISITE, is_off_site=is_off_site)
        return replace(page, url=url, queue=queue, kind="requisite", via=page.url, path=path)

    def check(self, request: BrowserRequest, wanted: Lease, made: int, allows: frozenset[str]) -> None:
        """Raise ``RequestRefusedError`` where a request is not to be made after those ``made`` in this visit.

        ``allows`` are the methods beyond ``SAFE`` that may be used.
        """
        limits = self.context.now.icd.limits
        if request.method.upper() not in SAFE | allows:
            raise RequestRefusedError("method")
        if (refusal := self.context.now.scope.admit(wanted)) is not None:
            raise RequestRefusedError(refusal)
        if self.sessions.ends_session(wanted.url):
            raise RequestRefusedError("logout")
        if self.lifecycle.requisites_spent:
            raise RequestRefusedError("requisite_bytes")
        if 0 < limits.requisites_per_page <= made:
            raise RequestRefusedError("requisites_per_page")
        try:
            self.budgets.check(wanted)
        except DomainBudgetError as error:
            raise RequestRefusedError(error.reason) from None

    def unwanted(self, wanted: Lease, status: int, fields: Sequence[tuple[str, str]]) -> str:
        """Return by the head of a response why its body is not wanted, empty where it is."""
        if not 200 <= status < 300:
            return ""
        head, context = Headers(tuple(fields)), self.context.now
        if is_too_large(context.icd.limits, "requisite", head):
            return LARGE_FILE
        return context.scope.admit_type(wanted, head.media_type) or ""


@dataclass(frozen=True, slots=True)
class VisitedCrawl:
    """What visits use of a crawl: its rules and sessions, what it has recorded, and its way to the network."""

    writer: StoreWriter
    fetching: FetchControl
    rules: RequestRules
    recorded: CapturedResponses
    fetch: Fetch

    @property
    def context(self) -> CurrentContext:
        """The definition that the crawl goes by."""
        return self.rules.context

    @property
    def lifecycle(self) -> Lifecycle:
        """The crawl's limits."""
        return self.rules.lifecycle

    @property
    def sessions(self) -> SiteSessions:
        """What each site knows the crawl by."""
        return self.rules.sessions
