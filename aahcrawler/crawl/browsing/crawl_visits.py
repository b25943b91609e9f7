"""What a crawl gives its visits: who answers their requests, cookies to begin with, and what is made of their end."""

from collections.abc import Sequence

from aahcrawler.browser.visits.visit_order import Cookie
from aahcrawler.crawl.browsing.captured_answers import RecordedAnswers
from aahcrawler.crawl.browsing.page_fetch import Fetch, PageFetch
from aahcrawler.crawl.browsing.request_rules import RequestRules
from aahcrawler.crawl.browsing.visit_cookies import begun_with, brought_back
from aahcrawler.crawl.browsing.visit_requests import VisitRequests
from aahcrawler.crawl.browsing.visited_crawl import VisitedCrawl
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.fetch.politeness import StoppedError
from aahcrawler.credentials.given import is_among
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Lease


class Visits:
    """Makes what answers each visit of a crawl; requests are sent once somebody says how (``send_by``)."""

    def __init__(
        self, writer: StoreWriter, fetching: FetchControl, rules: RequestRules, recorded: RecordedAnswers
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
