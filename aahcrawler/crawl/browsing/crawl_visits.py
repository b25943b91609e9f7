"""What a crawl gives its visits: a place in a browser that several share, who answers their requests, first cookies.

A page whose site has ended a browser has one alone, and its site waits longer with each death.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import Cookie as KeptCookie
from math import inf
from time import monotonic
from typing import Final

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.browser.process.devtools_connection import DevToolsError, PageCrashedError
from aahcrawler.browser.visits.rendered_page import Cookie
from aahcrawler.crawl.browsing.captured_responses import CapturedResponses
from aahcrawler.crawl.browsing.visit_requests import VisitRequests
from aahcrawler.crawl.browsing.visited_crawl import Fetch, PageFetch, RequestRules, VisitedCrawl
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.lease.lease_source import StoppedError
from aahcrawler.credentials.given import is_among
from aahcrawler.credentials.site_cookies import (
    MAX_BYTES,
    MAX_COOKIES,
    SiteCookies,
    is_http_only,
    same_site,
    shown_to,
    site_of_domain,
)
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Lease
from aahcrawler.wire.relay import Relay


class Visits:
    """Makes what answers each visit of a crawl; requests are sent once somebody says how (``send_by``)."""

    def __init__(
        self, writer: StoreWriter, fetching: FetchControl, rules: RequestRules, recorded: CapturedResponses
    ) -> None:
        self.recorded = recorded
        self._sessions = rules.sessions
        self._context = rules.context
        self._fetch: Fetch | None = None
        self._crawl = VisitedCrawl(writer, fetching, rules, recorded, self._send)

    def send_by(self, fetch: Fetch) -> None:
        """Send the requests of visits so from now on: whoever runs the crawl has the way to the network."""
        self._fetch = fetch

    def requests_of(self, lease: Lease, recorded: Exchange, allows: frozenset[str] = frozenset()) -> VisitRequests:
        """Return what answers a visit to a leased page whose ``recorded`` response is there; see ``VisitRequests``."""
        return VisitRequests(self._crawl, lease, recorded, allows)

    def is_known_at(self, url: str) -> bool:
        """Return whether the crawl has credentials for the site of a URL."""
        return is_among(self._sessions.given.sites, url)

    async def cookies_for(self, url: str) -> tuple[Cookie, ...]:
        """Return the cookies that a visit to a page begins with: those that the crawl has of its site."""
        if not self._sessions.given.keeps_cookies:
            return ()
        return begun_with((await self._sessions.of(url)).cookies)

    async def took(self, url: str, cookies: Sequence[Cookie], begun: Sequence[Cookie] = ()) -> None:
        """Keep what a visit to a page ended with of its site's cookies and had not ``begun`` with: scripts set some."""
        if not self._sessions.given.keeps_cookies:
            return
        session = await self._sessions.of(url)
        news = tuple(brought_back(session.site, cookies, begun))
        if news:
            session.cookies.add(news)
            await self._sessions.keep(session)

    async def concealed(self, url: str, shown: bytes) -> bytes:
        """Return a page as a visit left it without what no page is to tell again (``SiteSessions.masks``)."""
        session = await self._sessions.of(url)
        masks = self._sessions.masks(session, url, tokens=self._context.now.icd.archive.redact)
        return shown if masks is None else masks.masked(shown)

    async def _send(self, fetch: PageFetch) -> CapturedResponse:
        if self._fetch is None:
            raise StoppedError
        return await self._fetch(fetch)


_LOCAL: Final = ".local"
"""What the standard library adds to hosts without a dot (RFC 2965, section 1)."""


def begun_with(cookies: SiteCookies) -> tuple[Cookie, ...]:
    """Return the cookies of a site as a browser takes them."""
    return tuple(
        Cookie(
            each.name,
            each.value or "",
            each.domain.removesuffix(_LOCAL),
            each.path,
            secure=each.secure,
            http_only=is_http_only(each),
            same_site=same_site(each),
            expires=None if each.expires is None else float(each.expires),
        )
        for each in cookies.all()
    )


def brought_back(site: str, cookies: Sequence[Cookie], begun: Sequence[Cookie]) -> Iterator[KeptCookie]:
    """Yield the cookies of a site that a browser has at the end, and did not begin with, as the session keeps them.

    Such as are too long, or expired, are left out.
    """
    known = {(each.name, each.domain, each.path): each.value for each in begun}
    host = site.rpartition(":")[0] or site
    for each in cookies[:MAX_COOKIES]:
        is_news = known.get((each.name, each.domain, each.path)) != each.value
        is_sites = site_of_domain(each.domain) in (site, host)
        is_over = each.expires is not None and 0 <= each.expires <= time.time()
        if is_news and is_sites and not is_over and len(each.name) + len(each.value) <= MAX_BYTES:
            yield _kept(each)


def _kept(cookie: Cookie) -> KeptCookie:
    domain = cookie.domain if "." in cookie.domain else cookie.domain + _LOCAL
    is_wide = domain.startswith(".")
    # Browsers write -1 for a cookie that ends with the session.
    expires = int(cookie.expires) if cookie.expires is not None and cookie.expires >= 0 else None
    return KeptCookie(
        version=0,
        name=cookie.name,
        value=cookie.value,
        port=None,
        port_specified=False,
        domain=domain,
        domain_specified=is_wide,
        domain_initial_dot=is_wide,
        path=cookie.path,
        path_specified=True,
        secure=cookie.secure,
        expires=expires,
        discard=expires is None,
        comment=None,
        comment_url=None,
        rest=shown_to(http_only=cookie.http_only, same_site=cookie.same_site),
    )


@dataclass(slots=True, eq=False)
class LookPlace:
    """The place of one look; ``is_shared``: another look was under way for some of its time."""

    is_shared: bool = False


class RenderSlots:
    """At most ``most`` looks at once, or one that is alone; who waits to be alone goes before others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: list[LookPlace] = []
        self._lonely = 0
        """Looks that are alone, or wait to be."""
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def beside_others(self) -> AsyncIterator[LookPlace]:
        """Lend a place beside others."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._lonely and len(self._taken) < self._most)
            place = LookPlace(bool(self._taken))
            for other in self._taken:
                other.is_shared = True
            self._taken.append(place)
        try:
            yield place
        finally:
            self._taken.remove(place)
            await self._tell()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[LookPlace]:
        """Lend the only place, once all others have been left."""
        place = LookPlace()
        self._lonely += 1
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: not self._taken)
                self._taken.append(place)
            try:
                yield place
            finally:
                self._taken.remove(place)
        finally:
            self._lonely -= 1
            await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


FIRST_PAUSE: Final = 1.0
"""Seconds after a site's first death until its next look; each further death doubles them."""
REPEATED_BELOW: Final = 6
"""Deaths of a site below which the page that died last is looked at again."""
BARRED_FROM: Final = 8
"""Deaths of a site from which its pages are kept as they come until its pause is over."""
RETURN: Final = 0.5
"""Deaths that a page which is shown takes back."""
CRASHES: Final = 5
"""Times in a row that the browser ended, whatever the site, after which it is asked for a page of our own."""
MAX_SITES: Final = 10_000


@dataclass(slots=True)
class _Known:
    """The deaths of a site, less what it took back, and when the last one was; no time once a page was shown."""

    deaths: float = 0.0
    at: float = -inf


class BrowserDeaths:
    """Counts deaths by site, and those of the browser in a row; its memory is bounded. ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._sites: OrderedDict[str, _Known] = OrderedDict()
        self._crashes = 0

    def died(self, site: str, error: DevToolsError) -> None:
        """Note that a site's page ended its process, or the browser."""
        known = self._sites.setdefault(site, _Known())
        self._sites.move_to_end(site)
        known.deaths, known.at = known.deaths + 1, self._clock()
        while len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)
        self._crashes = self._crashes + 1 if ends_browser(error) else 0

    def lived(self, site: str) -> None:
        """Note that a site's page was shown."""
        self._crashes = 0
        if (known := self._sites.get(site)) is None:
            return
        known.deaths, known.at = known.deaths - RETURN, -inf
        if known.deaths <= 0:
            del self._sites[site]

    def pause(self, site: str) -> float:
        """Return the seconds until a site may be looked at, alone; 0 where no death came after its last page."""
        known = self._sites.get(site)
        if known is None or known.at == -inf:
            return 0.0
        return max(0.0, known.at + FIRST_PAUSE * 2 ** (known.deaths - 1) - self._clock())

    def is_suspect(self, site: str) -> bool:
        """Return whether a site's next look may end the browser, so that it is to be alone."""
        return site in self._sites and self._sites[site].deaths >= 1

    def may_repeat(self, site: str) -> bool:
        """Return whether the page of a site that died last is to be looked at again."""
        return site in self._sites and self._sites[site].deaths < REPEATED_BELOW

    def is_barred(self, site: str) -> bool:
        """Return whether a site's pages are not looked at for the present."""
        return site in self._sites and self._sites[site].deaths >= BARRED_FROM and self.pause(site) > 0

    def is_doubtful(self) -> bool:
        """Return whether the browser ended so often that it may be to blame, and no site."""
        return self._crashes >= CRASHES

    def forgive(self) -> None:
        """Note that the browser itself is in order."""
        self._crashes = 0


def ends_browser(error: Exception) -> bool:
    """Return whether it was the browser that ended, and not a page's process alone."""
    return isinstance(error, DevToolsError) and not isinstance(error, PageCrashedError)


class OwnPage:
    """A page that harms no browser, as an upstream (``Upstream``): nothing of it goes to the network."""

    URL: Final = "http://page.invalid/"

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """See ``Upstream.answer``."""
        if request.url != self.URL:
            raise RequestRefusedError("scope")
        body = b"<!doctype html><title>A page</title><p>A page."
        relay.begin(200, "OK", (("Content-Type", "text/html"), ("Content-Length", str(len(body)))))
        relay.take(body)
