"""Visit one page in a browser context of its own."""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any

from aahcrawler.browser.behaviours.behaviour_run import run_behaviours
from aahcrawler.browser.process.devtools_connection import BrowserCrashedError, DevTools, DevToolsError
from aahcrawler.browser.visits.bounded_upstream import BoundedUpstream
from aahcrawler.browser.visits.rendered_page import (
    BehaviourInfo,
    Cookie,
    RenderedPage,
    VisitFailedError,
    VisitOrder,
    VisitTally,
)
from aahcrawler.browser.visits.visit_targets import HEIGHT, RUN, WIDTH, TargetSetup, VisitTargets
from aahcrawler.browser.visits.visited_page import ActedPage, PageNavigation, PageSettling, VisitedPage, captured

_TAKING = 0.2
_TAKING_SECONDS = 6.0
"""The share of a visit's time that is reserved for capturing the page, and its maximum in seconds."""
_PICTURES = 0.8
"""The share of that time after which no screenshot is waited for."""
_SETTLING = 0.5
"""The share of the remaining time in which the page may become ready."""
_SETTLING_AGAIN = 5.0
_QUIET_AGAIN = 0.25


@dataclass(frozen=True, slots=True)
class VisitPlace:
    """Where a visit takes place: a connection to a browser, its version, and a context with a proxy of its own."""

    devtools: DevTools
    version: str
    context: str


class PageVisit:
    """One visit. New targets of its context must be passed to ``targets.attach``."""

    def __init__(self, place: VisitPlace, order: VisitOrder, upstream: BoundedUpstream) -> None:
        self.tally = VisitTally()
        self._setup = TargetSetup(order, place.version)
        self.targets = VisitTargets(place.devtools, self._setup, upstream.log, self.tally)
        upstream.on_flood = self.targets.on_flood = self._stop
        self._pictures_until = 0.0
        self._looking: asyncio.Timeout | None = None
        self._place = place
        self._order = order
        self._upstream = upstream
        self._acted: ActedPage | None = None

    async def look(self) -> RenderedPage:
        """Render the page within the order's limits.

        Raises ``VisitFailedError`` if no page was loaded, ``BrowserCrashedError`` if its process, or the browser, has
        ended.
        """
        begun, seconds = time.monotonic(), self._order.bounds.seconds
        try:
            async with asyncio.timeout(seconds):
                rendered = await self._rendered(seconds - min(_TAKING_SECONDS, _TAKING * seconds))
        except TimeoutError as error:
            raise VisitFailedError(f"The page gave nothing within {seconds:g} seconds") from error
        except BrowserCrashedError:
            raise
        except DevToolsError as error:
            raise VisitFailedError(f"The page could not be taken: {error}") from error
        finally:
            self.targets.end()
        return replace(rendered, seconds=time.monotonic() - begun)

    async def _rendered(self, seconds: float) -> RenderedPage:
        """Wait for the page for this many seconds, then capture it."""
        until = asyncio.get_running_loop().time() + seconds
        self._pictures_until = until + (self._order.bounds.seconds - seconds) * _PICTURES
        session, frame = await self._open()
        page = VisitedPage(self._place.devtools, session, frame)
        navigation = PageNavigation(self._place.devtools, session, frame, self._order.url, self.tally)
        looking = asyncio.ensure_future(self._look(page, navigation, until))
        try:
            either: set[asyncio.Future[Any]] = {looking, navigation.crashed}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if navigation.crashed.done():
                navigation.crashed.result()
            return looking.result()
        finally:
            looking.cancel()
            navigation.crashed.cancel()

    async def _open(self) -> tuple[str, str]:
        """Create an empty page; return its session and its frame."""
        devtools, context = self._place.devtools, self._place.context
        await set_cookies(devtools, context, tuple(self._order.cookies))
        own = {"browserContextId": context}
        devtools.post("Browser.grantPermissions", {"permissions": [], **own})
        devtools.post("Browser.setDownloadBehavior", {"behavior": "deny", "eventsEnabled": True, **own})
        made = devtools.post("Target.createTarget", {"url": "about:blank", "width": WIDTH, "height": HEIGHT, **own})
        either: set[asyncio.Future[Any]] = {made, self.targets.page}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if made.done():
            made.result()
        return await self.targets.page

    def _stop(self) -> None:
        """Stop the scripts of a page that makes ever more requests, so that it is captured as it is."""
        self._upstream.over = self._upstream.over or "requests"
        self.targets.stop()
        if self._looking is not None and not self._looking.expired():
            self._looking.reschedule(asyncio.get_running_loop().time())

    async def _look(self, page: VisitedPage, navigation: PageNavigation, until: float) -> RenderedPage:
        settled = False
        notes: tuple[BehaviourInfo, ...] = ()
        try:
            async with asyncio.timeout_at(until) as self._looking:
                await self._go(page)
                notes, settled = await self._act(page, navigation, until)
        except TimeoutError:
            settled = False
        finally:
            self._looking = None
        _require_own(navigation)
        pictures_until = self._pictures_until if self._order.pictures else None
        taken = await captured(page, self.tally, pictures_until, self._acted)
        _require_own(navigation)
        if self._upstream.over == "requests":
            self.tally.refused["requests"] = max(0, self.targets.announced - self._upstream.made)
        return RenderedPage(
            url=taken.url or navigation.url,
            dom=taken.dom,
            title=taken.title,
            screenshot=taken.screenshot,
            thumbnail=taken.thumbnail,
            console=self.tally.console,
            requests=tuple(self._upstream.notes),
            behaviours=notes,
            leads_to=self.tally.leads_to,
            cookies=await read_cookies(self._place.devtools, self._place.context),
            refused=dict(self.tally.refused),
            ended=self._upstream.over or ("settled" if settled else "time"),
        )

    async def _go(self, page: VisitedPage) -> None:
        await page.call(*RUN)
        went = await page.call("Page.navigate", {"url": self._order.url})
        if went.get("errorText"):
            raise VisitFailedError(f"The page did not load: {went['errorText']}")

    async def _act(
        self, page: VisitedPage, navigation: PageNavigation, until: float
    ) -> tuple[tuple[BehaviourInfo, ...], bool]:
        """Wait for the page, run its behaviours, and wait again.

        Returns what the behaviours did, and whether the page came to rest.
        """
        settling = PageSettling(page, navigation, self._upstream.activity)
        now = asyncio.get_running_loop().time
        there = await _within(_SETTLING * (until - now()), settling.settle())
        order, upstream = self._order, self._upstream
        if not order.behaviours:
            return (), there
        upstream.allowed = frozenset[str]().union(*(behaviour.allows for behaviour in order.behaviours))
        acted = self._acted = ActedPage(page, self.targets, settling, upstream)
        seconds = max(0.0, until - now() - _SETTLING_AGAIN)
        notes = await run_behaviours(acted, order.behaviours, replace(order.bounds, seconds=seconds))
        return notes, await _within(_SETTLING_AGAIN, settling.settle(_QUIET_AGAIN))


async def _within(seconds: float, waiting: Awaitable[None]) -> bool:
    """Wait for at most this many seconds; return whether the awaited event came."""
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True


def _require_own(navigation: PageNavigation) -> None:
    if navigation.left:
        raise VisitFailedError(f"The page has left for {navigation.left[:200]}")
    if not navigation.committed:
        raise VisitFailedError("The page did not come in time")


COOKIES = 1_000
"""The most cookies that are read."""


async def set_cookies(devtools: DevTools, context: str, cookies: tuple[Cookie, ...]) -> None:
    """Set cookies in a context. Raises ``DevToolsError`` if the browser rejects one."""
    if cookies:
        params = {"cookies": [_parameter(cookie) for cookie in cookies], "browserContextId": context}
        await devtools.call("Storage.setCookies", params)


async def read_cookies(devtools: DevTools, context: str) -> tuple[Cookie, ...]:
    """Return the cookies of a context, including those set by scripts."""
    answer = await devtools.call("Storage.getCookies", {"browserContextId": context})
    return tuple(_cookie(kept) for kept in answer.get("cookies", ())[:COOKIES])


def _parameter(cookie: Cookie) -> dict[str, Any]:
    parameter: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value,
        "path": cookie.path,
        "secure": cookie.secure,
        "httpOnly": cookie.http_only,
    }
    if cookie.domain.startswith("."):
        parameter["domain"] = cookie.domain
    else:
        # With a domain the cookie would be sent to all subdomains as well.
        parameter["url"] = f"{'https' if cookie.secure else 'http'}://{cookie.domain}{cookie.path}"
    if cookie.same_site.capitalize() in ("Strict", "Lax", "None"):
        parameter["sameSite"] = cookie.same_site.capitalize()
    if cookie.expires is not None:
        parameter["expires"] = cookie.expires
    return parameter


def _cookie(kept: dict[str, Any]) -> Cookie:
    expires = float(kept.get("expires", -1))
    return Cookie(
        name=str(kept.get("name", "")),
        value=str(kept.get("value", "")),
        domain=str(kept.get("domain", "")),
        path=str(kept.get("path", "/")),
        secure=bool(kept.get("secure")),
        http_only=bool(kept.get("httpOnly")),
        same_site=str(kept.get("sameSite", "")),
        expires=expires if expires >= 0 else None,
    )
