"""Visit pages in a browser that is started when it is needed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aahcrawler.browser.network.upstream import Upstream
from aahcrawler.browser.process.browser_settings import BrowserSettings, Isolation
from aahcrawler.browser.running_browser import RunningBrowser
from aahcrawler.browser.visits.rendered_page import RenderedPage
from aahcrawler.browser.visits.visit_order import VisitOrder

IDLE_SECONDS = 60.0
"""How long a browser is kept that nobody uses."""


class Browser:
    """A browser; to be used from one event loop, by as many visits at once as it has slots. More wait."""

    def __init__(self, settings: BrowserSettings) -> None:
        self._settings = settings
        self._running: RunningBrowser | None = None
        self._starting = asyncio.Lock()
        self._slots = asyncio.Semaphore(settings.slots)
        self._visits = 0
        self._idle: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._isolation: Isolation | None = None
        self._version = ""

    @property
    def isolation(self) -> Isolation | None:
        """What keeps it from the network; None before the first visit."""
        return self._isolation

    @property
    def version(self) -> str:
        """Its product and version: ``Chrome/140.0.7339.80``; empty before the first visit."""
        return self._version

    async def visit(self, order: VisitOrder, upstream: Upstream) -> RenderedPage:
        """Visit a page, whose requests ``upstream`` answers, in a profile of its own of which nothing is left.

        Raises ``BrowserUnavailableError`` where no browser can be started; ``VisitFailedError`` where the page gave
        nothing; ``BrowserCrashedError`` where the browser has ended meanwhile: the next visit has a new one; and
        ``PageCrashedError`` where only the page's process has, and other visits go on. A visit that is
        cancelled ends at once.
        """
        async with self._used(), self._slots:
            return await (await self._started()).visit(order, upstream)

    async def close(self) -> None:
        """End the browser, if one runs; returns when all of its processes have ended."""
        self._rest()
        async with self._starting:
            await self._end()
        await asyncio.gather(*self._ending)

    async def _started(self) -> RunningBrowser:
        async with self._starting:
            if self._running is not None and self._running.gone:
                await self._end()
            if self._running is None:
                self._running = await RunningBrowser.start(self._settings)
                self._isolation = self._running.process.isolation
                self._version = self._running.process.version
            return self._running

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.close()

    @asynccontextmanager
    async def _used(self) -> AsyncIterator[None]:
        self._visits += 1
        self._rest()
        try:
            yield
        finally:
            self._visits -= 1
            if self._visits == 0:
                self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end_idle)

    def _rest(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _end_idle(self) -> None:
        ending = asyncio.ensure_future(self._end_unused())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _end_unused(self) -> None:
        async with self._starting:
            if self._visits == 0:
                await self._end()
