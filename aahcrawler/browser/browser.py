"""Visit pages in a browser that is started when it is first used."""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from aahcrawler.browser.network.recording_proxy import ProxyKey, RecordingProxy
from aahcrawler.browser.network.upstream import Upstream
from aahcrawler.browser.process.browser_process import BrowserProcess, start_browser
from aahcrawler.browser.process.chromium_executable import BrowserSettings, Isolation
from aahcrawler.browser.process.devtools_connection import (
    BrowserCrashedError,
    DevTools,
    DevToolsError,
    PageCrashedError,
)
from aahcrawler.browser.visits.bounded_upstream import BoundedUpstream
from aahcrawler.browser.visits.page_visit import PageVisit, VisitPlace
from aahcrawler.browser.visits.rendered_page import RenderedPage, VisitOrder
from aahcrawler.browser.visits.visit_targets import AUTO_ATTACH

_DISPOSING = 5.0
"""How many seconds removing a context may take before the browser is ended."""
_ENDING = 5.0
_ENDING_AFTER_PAGES = 0.5


@dataclass(frozen=True, slots=True)
class _Slot:
    proxy: RecordingProxy
    address: str


class RunningBrowser:
    """A started browser; created by ``start``, and ended by ``close``."""

    def __init__(self, process: BrowserProcess, devtools: DevTools, key: ProxyKey) -> None:
        self._process = process
        self._devtools = devtools
        self._slots = deque[_Slot]()
        # The process closes its own when it ends, while these may still be listened on.
        self._proxies = [RecordingProxy(listener.socket.dup(), key) for listener in process.listeners]
        for proxy, listener in zip(self._proxies, process.listeners, strict=True):
            self._slots.append(_Slot(proxy, listener.address))
        self._contexts: dict[str, Callable[[dict[str, Any]], None]] = {}
        devtools.listen("", "Target.attachedToTarget", self._attach)

    @classmethod
    async def start(cls, settings: BrowserSettings) -> Self:
        """Start a browser. Raises ``BrowserUnavailableError`` if none can be started."""
        key = ProxyKey.new()
        # A socket is not reused at once after a visit, so that late connections are not taken for the next visit's.
        process = await start_browser(replace(settings, slots=2 * settings.slots), key.spki_hash)
        devtools = await DevTools.over(process.pipe)
        browser = cls(process, devtools, key)
        try:
            await devtools.call(*AUTO_ATTACH)
        except BaseException:
            await browser.close()
            raise
        return browser

    @property
    def process(self) -> BrowserProcess:
        """The browser's process."""
        return self._process

    @property
    def gone(self) -> bool:
        """Whether the browser can no longer be used."""
        return self._devtools.closed

    async def visit(self, order: VisitOrder, upstream: Upstream) -> RenderedPage:
        """Visit a page, as ``Browser.visit`` does. The caller must not run more visits at once than there are slots."""
        slot = self._slots.popleft()
        try:
            bounded = BoundedUpstream(upstream, order)
            async with slot.proxy.serving(bounded, self._process.may_connect) as served:
                rendered = await self._look(slot, order, bounded)
        except BrowserCrashedError as error:
            raise await self._explained(error) from error
        finally:
            self._slots.append(slot)
        # Page and proxy may have counted the same refusals, so the larger count of each reason is used.
        return replace(rendered, refused=dict(Counter(rendered.refused) | Counter(served.counts)))

    async def close(self) -> None:
        """End the browser; returns when all of its processes have ended."""
        self._devtools.close()
        self._process.kill()
        for proxy in self._proxies:
            await proxy.close()
        await self._process.ended()

    async def _look(self, slot: _Slot, order: VisitOrder, upstream: BoundedUpstream) -> RenderedPage:
        async with self._context(slot) as context:
            visit = PageVisit(VisitPlace(self._devtools, self._process.version, context), order, upstream)
            self._contexts[context] = visit.targets.attach
            return await visit.look()

    @asynccontextmanager
    async def _context(self, slot: _Slot) -> AsyncIterator[str]:
        """Yield a browser context whose requests go to the slot's proxy; it is removed completely afterwards."""
        params = {
            "proxyServer": f"http://{slot.address}",
            "proxyBypassList": "<-loopback>",
            "disposeOnDetach": True,
        }
        context = str((await self._devtools.call("Target.createBrowserContext", params))["browserContextId"])
        try:
            yield context
        finally:
            self._contexts.pop(context, None)
            await asyncio.shield(asyncio.ensure_future(self._dispose(context)))

    async def _dispose(self, context: str) -> None:
        try:
            async with asyncio.timeout(_DISPOSING):
                await self._devtools.call("Target.disposeBrowserContext", {"browserContextId": context})
        except TimeoutError:
            self._devtools.close()
            self._process.kill()
        except DevToolsError:
            return

    def _attach(self, event: dict[str, Any]) -> None:
        target = event.get("targetInfo", {})
        attach = self._contexts.get(str(target.get("browserContextId", "")))
        if attach is not None:
            attach(event)
        else:
            self._devtools.post("Target.closeTarget", {"targetId": target.get("targetId", "")})

    async def _explained(self, error: BrowserCrashedError) -> BrowserCrashedError:
        """Return the error with the reason why the browser ended, if it did; pages may end a moment earlier."""
        if not self.gone and not isinstance(error, PageCrashedError):
            return error
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING if self.gone else _ENDING_AFTER_PAGES):
                return BrowserCrashedError((await self._process.ended()).text)
        return error


IDLE_SECONDS = 60.0
"""How long an unused browser is kept, in seconds."""


class Browser:
    """A browser for one event loop. As many visits run at once as it has slots; further ones wait."""

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
        """How the browser is isolated from the network; None before the first visit."""
        return self._isolation

    @property
    def version(self) -> str:
        """The browser's product and version: ``Chrome/140.0.7339.80``; empty before the first visit."""
        return self._version

    async def visit(self, order: VisitOrder, upstream: Upstream) -> RenderedPage:
        """Visit a page in a temporary profile; ``upstream`` answers the page's requests.

        Raises ``BrowserUnavailableError`` if no browser can be started; ``VisitFailedError`` if the page could not be
        loaded; ``BrowserCrashedError`` if the browser has ended meanwhile (the next visit starts a new one); and
        ``PageCrashedError`` if only the page's process has ended, while other visits continue. A cancelled visit ends
        at once.
        """
        async with self._used(), self._slots:
            return await (await self._started()).visit(order, upstream)

    async def close(self) -> None:
        """End the browser, if one is running; returns when all of its processes have ended."""
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
