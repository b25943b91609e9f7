"""Fetch single pages outside a crawl, but as politely as one: robots.txt, delays, Retry-After, limits, User-Agent.

Delays apply between the fetches of one ``PoliteClient``; it knows nothing of crawls that run at the same time.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Final

from aahcrawler import urls
from aahcrawler.exchange import Exchange
from aahcrawler.page import Headers, Page
from aahcrawler.page.decoding import decode_content
from aahcrawler.page.onward import MAX_REDIRECTS, location
from aahcrawler.wire.admission import machine
from aahcrawler.wire.client import WireClient, WireRequest
from aahcrawler.wire.errors import WireError
from aahcrawler.wire.politeness import PolitenessTracker, retry_after
from aahcrawler.wire.robots_txt import MAX_ROBOTS_BYTES, RobotsDeniedError, RobotsUnreachableError, Rules, ask, denial
from online_analysis.icd import Politeness

MAX_DELAY: Final = 20.0
"""The most seconds that a person waits for a page; a longer delay is an error. Crawls do wait longer."""


class DelayError(Exception):
    """Raised when the next fetch may begin only after so many ``seconds`` that waiting is not worthwhile."""

    reason: Final = "timeout"

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the next fetch from there may begin in {seconds:.0f} s only")
        self.seconds = seconds


class TooManyRedirectsError(Exception):
    """Raised when a URL leads to more redirects than are followed."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url}: too many redirects, more than {MAX_REDIRECTS}")


class Turns:
    """Keeps fetches from one name, a host or an IP address, apart in time. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def reserve(self, name: str, delay: float, patience: float = inf) -> float:
        """Reserve the next fetch, ``delay`` seconds before the one after it; return in how many seconds it may begin.

        Raises ``DelayError``, and reserves nothing, if that is more than ``patience``.
        """
        with self._lock:
            now = self._clock()
            self._next = {each: at for each, at in self._next.items() if at > now}
            at = self._next.get(name, now)
            if at - now > patience:
                raise DelayError(at - now)
            self._next[name] = at + delay
        return at - now

    def ended(self, name: str, delay: float) -> None:
        """Restart the delay, because a fetch has just ended."""
        with self._lock:
            self._next[name] = max(self._next.get(name, 0.0), self._clock() + delay)


@dataclass(slots=True)
class _Turn:
    """The turn of one request at each IP address to which its host resolves (an ``wire.admission.Admission``)."""

    machines: Turns
    delay: float
    patience: float
    name: str = ""

    async def enter(self, address: str, port: int) -> None:
        """Wait until the IP address may be fetched from. Raises ``DelayError`` if that takes too long."""
        name = machine(address, port)
        if self.delay and name != self.name:
            self.leave()
            await asyncio.sleep(self.machines.reserve(name, self.delay, self.patience))
            self.name = name

    def leave(self) -> None:
        """Restart the delay of the IP address entered last."""
        if self.name:
            self.machines.ended(self.name, self.delay)
            self.name = ""


NotFetchedError = (RobotsDeniedError, RobotsUnreachableError, DelayError, WireError)
"""The errors for a page that was not fetched: each has a ``reason``, as the frontier names it."""


@dataclass(frozen=True, slots=True)
class Manners:
    """The limits of a client, besides its ``politeness``.

    ``headers`` are sent with every request, including the User-Agent. At most ``page_bytes`` of a page are read. A
    fetch waits at most ``patience`` seconds for its turn, and takes at most ``timeout`` seconds, if that is given.
    """

    headers: Mapping[str, str]
    page_bytes: int
    patience: float = MAX_DELAY
    timeout: float | None = None


class PoliteClient:
    """Fetches pages. The robots.txt of each origin is fetched once, before anything else, unless it is ignored.

    ``keep`` is called with every exchange that has a response; the exchange is closed afterwards.
    """

    def __init__(
        self,
        client: WireClient,
        politeness: Politeness,
        manners: Manners,
        keep: Callable[[Exchange], object] = lambda _: None,
    ) -> None:
        self._client = client
        self._obeys_robots = politeness.robots == "obey"
        self._politeness = PolitenessTracker(politeness)
        self._manners = manners
        self._keep = keep
        self._machines = Turns()
        self._robots: dict[str, tuple[Page | None, Rules] | RobotsUnreachableError] = {}

    async def page(self, url: str, accept: str = "") -> Page:
        """Return the response to a canonical URL, whatever its status. Raise one of ``NotFetchedError``.

        ``accept`` is sent in place of the usual ``Accept``, where it is given.
        Two calls for the same pay-level domain must not run at once.
        """
        if self._obeys_robots:
            robots, rules = await self._rules_of(urls.origin(url))
            self._politeness.obey_crawl_delay(url, rules.delay)
            if robots is not None and not rules.allow(url):
                raise RobotsDeniedError(url, denial(robots.body, url))
        return await self._fetch(url, self._manners.page_bytes, accept)

    async def final_page(self, url: str, redirected: Callable[[str, str], object] = lambda _, __: None) -> Page:
        """Follow the redirects of a canonical URL and return the last page.

        ``redirected`` is called with (from, to) for each redirect. Raises one of ``NotFetchedError``, or
        ``TooManyRedirectsError``.
        """
        first = url
        for _ in range(MAX_REDIRECTS + 1):
            page = await self.page(url)
            target = location(url, page.status, page.headers)
            if target is None:
                return page
            redirected(url, target)
            url = target
        raise TooManyRedirectsError(first)

    async def _rules_of(self, origin: str) -> tuple[Page | None, Rules]:
        if origin not in self._robots:
            try:
                robots = await ask(origin, lambda url: self._fetch(url, MAX_ROBOTS_BYTES))
                self._robots[origin] = robots, Rules(None, inf) if robots is None else Rules.read(robots.body, inf)
            except RobotsUnreachableError as error:
                self._robots[origin] = error
        found = self._robots[origin]
        if isinstance(found, RobotsUnreachableError):
            raise found
        return found

    async def _fetch(self, url: str, most: int, accept: str = "") -> Page:
        await self._wait(url)
        turn = _Turn(self._machines, self._politeness.delay_of(url), self._manners.patience)
        headers = tuple({**self._manners.headers, **({"Accept": accept} if accept else {})}.items())
        request = WireRequest(url, headers, keep=most, max_bytes=most, admission=turn, timeout=self._manners.timeout)
        try:
            response = await self._client.fetch(request)
        except WireError as error:
            if error.exchange is not None:
                error.exchange.close()
            raise
        finally:
            turn.leave()
            self._politeness.fetch_ended(url)
        rest = retry_after(response.status, response.headers)
        self._politeness.on_response(url, response.status, response.latency, rest)
        if rest:
            self._politeness.rest(url, rest)
        with closing(response.exchange) as exchange:
            self._keep(exchange)
            said = Headers(response.headers)
            decoded = decode_content(response.payload, ", ".join(said.all("Content-Encoding")), most)
            is_whole = response.payload_complete and decoded.complete
            return Page(url, response.status, said, decoded.body, exchange.started_at, is_whole)

    async def _wait(self, url: str) -> None:
        left = self._politeness.rest_left(url)
        if left > self._manners.patience:
            raise DelayError(left)
        await asyncio.sleep(self._politeness.reserve(url))
