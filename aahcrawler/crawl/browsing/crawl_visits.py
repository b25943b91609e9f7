"""What a crawl gives its visits: who answers their requests, cookies to begin with, and what is made of their end."""

import time
from collections.abc import Iterator, Sequence
from http.cookiejar import Cookie as KeptCookie
from typing import Final

from aahcrawler.browser.visits.visit_order import Cookie
from aahcrawler.crawl.browsing.captured_answers import CapturedResponses
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
        """Return what answers a visit to a leased page whose ``recorded`` answer is there; see ``VisitRequests``."""
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
