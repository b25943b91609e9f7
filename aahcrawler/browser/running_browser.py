"""Hold a browser that runs: its connection, its places for visits, and the contexts in which they take place."""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from aahcrawler.browser.devtools.devtools_connection import DevTools
from aahcrawler.browser.devtools.devtools_errors import BrowserCrashedError, DevToolsError, PageCrashedError
from aahcrawler.browser.network.proxy_key import ProxyKey
from aahcrawler.browser.network.recording_proxy import RecordingProxy
from aahcrawler.browser.network.upstream import Upstream
from aahcrawler.browser.process.browser_process import BrowserProcess, start_browser
from aahcrawler.browser.process.browser_settings import BrowserSettings
from aahcrawler.browser.visits.bounded_upstream import BoundedUpstream
from aahcrawler.browser.visits.page_visit import PageVisit, VisitPlace
from aahcrawler.browser.visits.rendered_page import RenderedPage
from aahcrawler.browser.visits.target_setup import AUTO_ATTACH
from aahcrawler.browser.visits.visit_order import VisitOrder

_DISPOSING = 5.0
"""Seconds that a context may take to go, before the browser is ended."""
_ENDING = 5.0
_ENDING_AFTER_PAGES = 0.5


@dataclass(frozen=True, slots=True)
class _Slot:
    proxy: RecordingProxy
    address: str


class RunningBrowser:
    """A browser that has been started; made by ``start``, and ended by ``close``."""

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
        """Start a browser; raises ``BrowserUnavailableError`` where there is none."""
        key = ProxyKey.new()
        # A socket rests after a visit: what was on its way to it then is not taken for the next one's.
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
        """The process."""
        return self._process

    @property
    def gone(self) -> bool:
        """Whether it can be used no more."""
        return self._devtools.closed

    async def visit(self, order: VisitOrder, upstream: Upstream) -> RenderedPage:
        """Visit a page, as ``Browser.visit`` does; never more at once than there are slots."""
        slot = self._slots.popleft()
        try:
            bounded = BoundedUpstream(upstream, order)
            async with slot.proxy.serving(bounded, self._process.may_connect) as served:
                rendered = await self._look(slot, order, bounded)
        except BrowserCrashedError as error:
            raise await self._explained(error) from error
        finally:
            self._slots.append(slot)
        return replace(rendered, refused=_together(rendered.refused, served.counts))

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
        """Yield a context whose requests go to the slot's proxy; nothing of it remains."""
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
        """Return the error with the reason why the browser has ended, where it has; pages may end a moment before."""
        if not self.gone and not isinstance(error, PageCrashedError):
            return error
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING if self.gone else _ENDING_AFTER_PAGES):
                return BrowserCrashedError((await self._process.ended()).text)
        return error


def _together(seen: Mapping[str, int], refused: Mapping[str, int]) -> dict[str, int]:
    """Return what did not pass: as the page was seen to try, and as the proxy refused; of one word, the larger."""
    return dict(Counter(seen) | Counter(refused))
