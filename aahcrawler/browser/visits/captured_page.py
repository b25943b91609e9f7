"""Captures what a page shows: its document, and screenshots."""

import asyncio
import base64
import contextlib
from dataclasses import dataclass
from typing import Any

from aahcrawler.browser.behaviours.behaviour_run import ActingPage, PageLostError, Spent, put_back
from aahcrawler.browser.process.devtools_connection import BrowserCrashedError, DevToolsError
from aahcrawler.browser.visits.bounded_upstream import BoundedUpstream
from aahcrawler.browser.visits.page_settling import PageSettling
from aahcrawler.browser.visits.rendered_page import VisitTally, unicode_text
from aahcrawler.browser.visits.visit_targets import HEIGHT, WIDTH, VisitTargets
from aahcrawler.browser.visits.visited_page import VisitedPage

DOM_BYTES = 10_000_000
_PATIENCE = 1.5
"""Seconds that scripts of a page may keep us waiting, before they are stopped."""
_GIVING_BACK = 1.5
"""Seconds for putting back what lists have taken away; what is left then is counted."""
_DOCUMENT_SECONDS = 4.0
_THUMBNAIL_SCALE = 0.2


@dataclass(frozen=True, slots=True)
class CapturedPage:
    """A document in UTF-8, at most ``DOM_BYTES`` of it, its title, and screenshots, empty where none were taken."""

    dom: bytes
    title: str
    url: str
    screenshot: bytes = b""
    thumbnail: bytes = b""


async def captured(
    page: VisitedPage, tally: VisitTally, pictures_until: float | None, acted: ActingPage | None = None
) -> CapturedPage:
    """Capture a page as it is now, scrolled to its top, with screenshots until a loop time, or none for None.

    Capturing the document has no timeout of its own. Where behaviours ``acted`` on the page, the document includes what
    the page has shown and removed meanwhile; what cannot be put back is counted as ``not put back``. A script that runs
    without end is stopped, and all scripts with it. A longer document is cut after its last whole tag, counted as ``dom
    bytes``; a screenshot that does not come in time is counted as ``picture``.
    """
    try:
        if acted is not None:
            await _give_back(page, acted, tally)
        async with asyncio.timeout(_PATIENCE):
            said = await _finished(page)
        async with asyncio.timeout(_DOCUMENT_SECONDS):
            dom = await _document(page)
        if acted is not None:
            await page.call("Emulation.setScriptExecutionDisabled", {"value": False})
    except (TimeoutError, DevToolsError) as error:
        if isinstance(error, BrowserCrashedError):
            raise
        tally.refuse("endless script" if isinstance(error, TimeoutError) else "interference")
        await page.call("Runtime.terminateExecution")
        await page.call("Emulation.setScriptExecutionDisabled", {"value": True})
        if acted is not None:
            with contextlib.suppress(TimeoutError):
                await _give_back(page, acted, tally)
        dom = await _document(page)
        said = await _finished(page)
    if len(dom) > DOM_BYTES:
        tally.refuse("dom bytes")
        dom = dom[: dom.rindex(b">", 0, DOM_BYTES) + 1]
    screenshot = thumbnail = b""
    if pictures_until is not None:
        screenshot = await _picture(page, tally, pictures_until, {"format": "png", "optimizeForSpeed": True})
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": _THUMBNAIL_SCALE}
        thumbnail = await _picture(page, tally, pictures_until, {"format": "jpeg", "quality": 60, "clip": clip})
    return CapturedPage(dom, said[0], said[1], screenshot, thumbnail)


async def _give_back(page: VisitedPage, acted: ActingPage, tally: VisitTally) -> None:
    """Put back removed content while the page's scripts are at rest, as they would remove it again.

    Raises ``TimeoutError`` where running scripts do not come to rest.
    """
    async with asyncio.timeout(_PATIENCE):
        await page.call("Emulation.setScriptExecutionDisabled", {"value": True})
        await page.evaluate("0")
    try:
        async with asyncio.timeout(_PATIENCE + _GIVING_BACK):
            dropped = (await put_back(acted, _GIVING_BACK)).dropped
    except PageLostError:
        dropped = 1
    if dropped:
        tally.refused["not put back"] += dropped


async def _finished(page: VisitedPage) -> tuple[str, str]:
    said = await page.evaluate("finish()")
    if not isinstance(said, dict):
        return "", ""
    return unicode_text(str(said.get("title", ""))[:1_000]), unicode_text(str(said.get("url", "")))


async def _document(page: VisitedPage) -> bytes:
    """Return the markup of the whole document with its shadow roots, out of reach of the page's scripts."""
    root = (await page.call("DOM.getDocument", {"depth": 0}))["root"]
    try:
        got = await page.call("DOM.getOuterHTML", {"nodeId": root["nodeId"], "includeShadowDOM": True})
        markup = str(got["outerHTML"])
    except BrowserCrashedError:
        raise
    except DevToolsError:
        # Longer than a message may be.
        markup = str(await page.evaluate(f"document.documentElement.outerHTML.slice(0, {DOM_BYTES})"))
    return unicode_text(markup[: DOM_BYTES + 1]).encode()


async def _picture(page: VisitedPage, tally: VisitTally, until: float, how: dict[str, Any]) -> bytes:
    try:
        async with asyncio.timeout_at(until):
            return base64.b64decode((await page.call("Page.captureScreenshot", how))["data"])
    except BrowserCrashedError:
        raise
    except (TimeoutError, DevToolsError):
        tally.refuse("picture")
        return b""


FRAMES = 50
_QUIET = 0.3
_PACE = 0.1


class ActedPage:
    """An ``ActingPage``. A frame's name is its session (empty for the page's own) and its identifier."""

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
        """Return once no request has been in progress for some tenths of a second, after ``seconds`` at the latest."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.sleep(min(_PACE, seconds))  # What an act asks for is not under way at once.
                await self._settling.rest(_QUIET)

    def spent(self) -> Spent:
        """Return what the visit has used up so far."""
        upstream = self._upstream
        return Spent(upstream.bytes, upstream.made, upstream.refused_methods, upstream.under_way)

    async def _frames(self, session: str) -> tuple[str, ...]:
        try:
            return await self._page.frames(session)
        except BrowserCrashedError:
            raise
        except DevToolsError:
            return ()  # It has gone meanwhile.
