"""Ask for a page once more, as one whom its site does not know, where its links may hold the id of a session."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import Final

from aahcrawler.crawl.capture.archiver import Annotations, identified
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.site_sessions import SiteSessions
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.fetch.ip_claims import IpAddressBusyError
from aahcrawler.crawl.health.outages import is_local
from aahcrawler.credentials.given import is_among
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers, Page
from aahcrawler.pipeline import trap_evidence
from aahcrawler.wire.errors import WireError

logger = logging.getLogger(__name__)

UNKNOWN: Final = "aah_unknown"
"""The key of ``Request.meta`` of a request that the site is to know nobody by: it neither sends nor keeps cookies."""

MAX_TURNS: Final = 30
"""How often a page waits for an IP address that others are asking."""
MAX_TURN: Final = 10.0
"""Seconds after which it looks again."""

Ask = Callable[[str], Awaitable[CapturedResponse]]
"""Sends a request for a URL at once, without cookies."""


class SessionProbing:
    """Finds out ids of sessions before a page's links are followed; somebody has to say how to ask (``ask_by``).

    The response is archived, and counted among ``probes``. A site that the crawl has credentials for is not asked: what
    others are shown there says nothing.
    """

    def __init__(
        self,
        context: CurrentContext,
        writer: StoreWriter,
        fetching: FetchControl,
        sessions: SiteSessions,
        reading: PageReading,
    ) -> None:
        self._reading = reading
        self._context = context
        self._writer = writer
        self._fetching = fetching
        self._sessions = sessions
        self._ask: Ask | None = None

    def ask_by(self, ask: Ask) -> None:
        """Send requests so from now on."""
        self._ask = ask

    async def look(self, lease: Lease, page: Page) -> None:
        """Find out whether ids in the links of a page are those of sessions, where it has some that nobody knows."""
        known = self._context.now
        is_left = self._ask is None or not known.scope.drops_sessions or is_among(self._sessions.given.sites, lease.url)
        if is_left or not lease.is_page:
            return
        sessions = known.traps.sessions
        try:
            found = await self._reading.of(page, lambda page: trap_evidence.suspects(page, sessions))
        except WorkEndedError as error:
            logger.warning("%s: not looked at for ids of sessions: %s", page.url, error)
            return
        url = trap_evidence.page_to_ask(page, lease, found)
        again = await self._again(url) if url else None
        if again is None:
            return
        names = known.traps.decide(page.url, found, trap_evidence.links_of(again, page))
        logger.info("%s asked once more: ids of sessions: %s", url, ", ".join(names) or "none")

    async def _again(self, url: str) -> Page | None:
        """Return the response, None where there is none; the site's delay is kept."""
        politeness = self._fetching.politeness
        politeness.fetch_ended(url)
        try:
            return await self._page(url)
        except Exception as error:  # Nothing is found out then, and the page is understood all the same.
            if is_local(error):
                raise
            logger.info("%s could not be asked for once more (%s)", url, error)
            if isinstance(error, WireError):
                await self._writer.archive_remains(error)
            return None
        finally:
            politeness.fetch_ended(url)

    async def _page(self, url: str) -> Page:
        response = await self._response(url)
        with closing(response.exchange) as exchange:
            await self._writer.archive(exchange, Annotations(identified(response.body)))
        await self._writer.count({"requests": 1, "probes": 1, "bytes": exchange.response_size})
        return Page(url, response.status, Headers(response.wire_headers), response.body, exchange.started_at)

    async def _response(self, url: str) -> CapturedResponse:
        """Ask as soon as the site, and the IP address that others may share with it, may be asked."""
        assert self._ask is not None  # noqa: S101
        for _ in range(MAX_TURNS):
            await self._fetching.wait_for_slot(url)
            try:
                return await self._ask(url)
            except IpAddressBusyError as error:
                await self._fetching.wait_within_visit(min(error.seconds, MAX_TURN))
        raise TimeoutError("its IP address is busy")
