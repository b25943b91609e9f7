"""Tell when a page is there: loaded, its network at rest, its document grown."""

import asyncio

from aahcrawler.browser.devtools.devtools_errors import BrowserCrashedError, DevToolsError
from aahcrawler.browser.visits.network_activity import NetworkActivity
from aahcrawler.browser.visits.page_navigation import PageNavigation
from aahcrawler.browser.visits.visited_page import VisitedPage

QUIET = 0.5
"""Seconds without a request that count as rest."""
_STILL_MILLISECONDS = 400
_PARSED_AND_IDLE = 2.0
_PARSED = 8.0
_IDLE = 8.0
"""Seconds after which a load that does not end is not waited for: since the document was parsed and nothing more came,
since it was parsed, and since anything came."""
_PACE = 0.05


class PageSettling:
    """Waits for a page; has no bound in time of its own."""

    def __init__(self, page: VisitedPage, navigation: PageNavigation, activity: NetworkActivity) -> None:
        self._page = page
        self._navigation = navigation
        self._activity = activity

    async def settle(self, quiet: float = QUIET) -> None:
        """Return when the page is there, and has rested for ``quiet`` seconds."""
        while True:
            await self._load()
            await self.rest(quiet)
            grown = await self._grow()
            if grown and self._activity.quiet >= quiet and self._is_loaded():
                return

    async def rest(self, quiet: float = QUIET) -> None:
        """Return when the network has rested for ``quiet`` seconds."""
        while (left := quiet - self._activity.quiet) > 0:
            await asyncio.sleep(min(left, _PACE))

    async def _load(self) -> None:
        while not self._is_loaded():
            await asyncio.sleep(_PACE)

    def _is_loaded(self) -> bool:
        navigation, idle = self._navigation, self._activity.idle
        if navigation.arrived:
            return True
        parsed = navigation.since_parsed
        return idle > _IDLE or parsed > _PARSED or (parsed > _PARSED_AND_IDLE and idle > _PARSED_AND_IDLE)

    async def _grow(self) -> bool:
        try:
            return bool(await self._page.evaluate(f"restOfGrowth({_STILL_MILLISECONDS})"))
        except BrowserCrashedError:
            raise
        except DevToolsError:
            await asyncio.sleep(_PACE)  # The page is being loaded again.
            return False
