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
_EMPTY, _FEW = 8.0, 2.0
"""Seconds since the document was parsed in which a page that shows nothing, or hardly a sentence, is waited for all the
same: its scripts may be slow to begin, above all on a machine with much to do."""
_FEW_LETTERS = 60
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
            is_at_rest = grown and self._activity.quiet >= quiet and self._is_loaded()
            if is_at_rest and not await self._is_to_come():
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

    async def _is_to_come(self) -> bool:
        """Return whether a page that shows next to nothing is young enough to show more; wait a moment if so."""
        parsed = self._navigation.since_parsed
        if parsed > _EMPTY:
            return False
        try:
            told = await self._page.evaluate("shownLetters()")
        except BrowserCrashedError:
            raise
        except DevToolsError:
            told = 0  # The page is being loaded again.
        letters = told if isinstance(told, int) else 0
        if letters >= _FEW_LETTERS or parsed > (_FEW if letters else _EMPTY):
            return False
        await asyncio.sleep(4 * _PACE)
        return True

    async def _grow(self) -> bool:
        try:
            return bool(await self._page.evaluate(f"restOfGrowth({_STILL_MILLISECONDS})"))
        except BrowserCrashedError:
            raise
        except DevToolsError:
            await asyncio.sleep(_PACE)  # The page is being loaded again.
            return False
