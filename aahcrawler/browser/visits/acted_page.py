"""Give behaviours the page of a visit to act on."""

import asyncio
import contextlib

from aahcrawler.browser.behaviours.acting_page import PageLostError, Spent
from aahcrawler.browser.devtools.devtools_errors import BrowserCrashedError, DevToolsError
from aahcrawler.browser.visits.bounded_upstream import BoundedUpstream
from aahcrawler.browser.visits.page_settling import PageSettling
from aahcrawler.browser.visits.visit_targets import VisitTargets
from aahcrawler.browser.visits.visited_page import VisitedPage

FRAMES = 50
_QUIET = 0.3
_PACE = 0.1


class ActedPage:
    """An ``ActingPage``. A frame's name is its session, empty for the page's own, and its identifier."""

    def __init__(
        self, page: VisitedPage, targets: VisitTargets, settling: PageSettling, upstream: BoundedUpstream
    ) -> None:
        self._page = page
        self._targets = targets
        self._settling = settling
        self._upstream = upstream

    async def evaluate(self, expression: str, frame: str = "") -> object:
        """Return the JSON value of an expression, evaluated in an isolated world of a frame."""
        session, _, identifier = frame.partition(" ")
        try:
            return await self._page.evaluate(expression, identifier, session)
        except BrowserCrashedError:
            raise
        except DevToolsError as error:
            raise PageLostError(str(error)) from error

    async def frames(self) -> tuple[str, ...]:
        """Return the names of at most ``FRAMES`` frames within the page."""
        found = [f" {frame}" for frame in await self._frames("")]
        for session, identifier in self._targets.frames.items():
            found.append(f"{session} {identifier}")
            found.extend(f"{session} {frame}" for frame in await self._frames(session))
        return tuple(found[:FRAMES])

    async def wait_for_quiet(self, seconds: float) -> None:
        """Return once no request has been under way for some tenths of a second, after ``seconds`` at the latest."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.sleep(min(_PACE, seconds))  # What an act asks for is not under way at once.
                await self._settling.rest(_QUIET)

    def spent(self) -> Spent:
        """Return what the visit has cost up to now."""
        upstream = self._upstream
        return Spent(upstream.bytes, upstream.made, upstream.refused_methods, upstream.under_way)

    async def _frames(self, session: str) -> tuple[str, ...]:
        try:
            return await self._page.frames(session)
        except BrowserCrashedError:
            raise
        except DevToolsError:
            return ()  # It has gone meanwhile.
