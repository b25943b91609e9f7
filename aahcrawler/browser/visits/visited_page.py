"""The page of a visit: evaluate expressions out of its reach, decide when it is ready, and capture what it shows."""

import asyncio
import base64
import contextlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aahcrawler.browser.behaviours.behaviour_run import ActingPage, PageLostError, Spent, put_back
from aahcrawler.browser.process.devtools_connection import (
    BrowserCrashedError,
    DevTools,
    DevToolsError,
    PageCrashedError,
)
from aahcrawler.browser.visits.bounded_upstream import BoundedUpstream, NetworkActivity
from aahcrawler.browser.visits.rendered_page import VisitTally, unicode_text
from aahcrawler.browser.visits.visit_targets import HEIGHT, WIDTH, WORLD, VisitTargets


class VisitedPage:
    """The page of a visit: its session, its main frame, and the frames within."""

    def __init__(self, devtools: DevTools, session: str, frame: str) -> None:
        self._devtools = devtools
        self._session = session
        self._frame = frame
        self._worlds: dict[tuple[str, str], int] = {}

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a command to the page and return its result, as ``DevTools.call`` does."""
        return await self._devtools.call(method, params, self._session)

    async def evaluate(self, expression: str, frame: str = "", session: str = "") -> object:
        """Return the JSON value of a JavaScript expression; a promise is awaited.

        It is evaluated in an isolated world, the same for all calls on a document. Raises ``DevToolsError`` if the
        document is gone or the expression fails.
        """
        session, frame = session or self._session, frame or self._frame
        params = {
            "expression": expression,
            "contextId": await self._world(session, frame),
            "awaitPromise": True,
            "returnByValue": True,
        }
        try:
            answer = await self._devtools.call("Runtime.evaluate", params, session)
        except DevToolsError:
            self._worlds.pop((session, frame), None)
            raise
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"].get("exception", {})
            raise DevToolsError(f"A script of our own failed: {str(thrown.get('description', thrown))[:300]}")
        value: object = answer.get("result", {}).get("value")
        return value

    async def frames(self, session: str = "") -> tuple[str, ...]:
        """Return the identifiers of the frames of a session: the page's own, or that of a frame within it."""
        answer = await self._devtools.call("Page.getFrameTree", session=session or self._session)
        tree = answer.get("frameTree", {})
        found: list[str] = []
        open_ = list(tree.get("childFrames", ()))
        while open_:
            frame = open_.pop()
            found.append(str(frame.get("frame", {}).get("id", "")))
            open_.extend(frame.get("childFrames", ()))
        return tuple(found)

    async def _world(self, session: str, frame: str) -> int:
        known = self._worlds.get((session, frame))
        if known is None:
            params = {"frameId": frame, "worldName": WORLD}
            made = await self._devtools.call("Page.createIsolatedWorld", params, session)
            known = self._worlds[session, frame] = int(made["executionContextId"])
        return known


RELOADS = 3


class PageNavigation:
    """The state of a visit's main frame, from the events of its session.

    ``arrived`` says whether a document has finished loading; ``left`` is the URL of another document that replaced it
    nevertheless; ``crashed`` gets an error when the page's process has ended.
    """

    def __init__(self, devtools: DevTools, session: str, frame: str, url: str, tally: VisitTally) -> None:
        self.url = url
        self.left = ""
        self.committed = False
        self.arrived = False
        self.crashed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._devtools = devtools
        self._session = session
        self._frame = frame
        self._own = _without_fragment(url)
        self._loads = 0
        self._parsed = math.inf
        self._tally = tally
        for method, callback in {
            "Fetch.requestPaused": self._asked,
            "Inspector.targetCrashed": self._crash,
            "Page.domContentEventFired": self._parse,
            "Page.downloadWillBegin": lambda _: tally.refuse("download"),
            "Page.fileChooserOpened": lambda _: tally.refuse("file chooser"),
            "Page.frameNavigated": self._navigated,
            "Page.frameRequestedNavigation": self._wanted,
            "Page.frameStoppedLoading": self._stop,
            "Page.javascriptDialogOpening": self._dialog,
            "Page.loadEventFired": self._arrive,
            "Page.navigatedWithinDocument": self._moved,
            "Page.windowOpen": self._window,
        }.items():
            devtools.listen(session, method, callback)

    @property
    def since_parsed(self) -> float:
        """The seconds since the document was parsed; negative before that."""
        return time.monotonic() - self._parsed

    def _parse(self, _: dict[str, Any]) -> None:
        self._parsed = time.monotonic()
        self._forget_history()

    def _stop(self, event: dict[str, Any]) -> None:
        """Take a document for parsed whose load has ended with no event, because it began to navigate before."""
        if event.get("frameId") == self._frame and self.committed and self._parsed == math.inf:
            self._parse(event)

    def _arrive(self, _: dict[str, Any]) -> None:
        self.arrived = self.committed
        self._forget_history()

    def _forget_history(self) -> None:
        """Remove the initial empty page from the history; the browser refuses this while another navigation begins."""
        self._devtools.post("Page.resetNavigationHistory", session=self._session)

    def _asked(self, event: dict[str, Any]) -> None:
        """Allow or block the request for a document."""
        request = event.get("request", {})
        method, url = str(request.get("method", "")), str(request.get("url", ""))
        passes = event.get("frameId") != self._frame or self._passes(method, url)
        params: dict[str, Any] = {"requestId": event.get("requestId", "")}
        if passes:
            self._devtools.post("Fetch.continueRequest", params, self._session)
        else:
            # A navigation that is aborted leaves the document that is shown in its place.
            self._devtools.post("Fetch.failRequest", params | {"errorReason": "Aborted"}, self._session)

    def _passes(self, method: str, url: str) -> bool:
        if method == "GET" and _without_fragment(url) == self._own:
            self._loads += 1
            if self._loads <= 1 + RELOADS:
                self.arrived, self._parsed = False, math.inf
                return True
            self._tally.refuse("reload")
            return False
        self._tally.refuse("navigation")
        if method == "GET":
            self._tally.lead(url)
        return False

    def _wanted(self, event: dict[str, Any]) -> None:
        """Record where the page tries to navigate, before the browser asks whether it may."""
        url, posts = str(event.get("url", "")), event.get("reason") == "formSubmissionPost"
        if event.get("frameId") == self._frame and not posts and _without_fragment(url) != self._own:
            self._tally.lead(url)

    def _navigated(self, event: dict[str, Any]) -> None:
        frame = event.get("frame", {})
        if frame.get("id") == self._frame:
            self.committed = True
            self._forget_history()
            self.url = str(frame.get("url", "")) + str(frame.get("urlFragment", ""))
            if _without_fragment(self.url) != self._own:
                self.left = self.url

    def _moved(self, event: dict[str, Any]) -> None:
        if event.get("frameId") == self._frame:
            self.url = str(event.get("url", ""))

    def _window(self, event: dict[str, Any]) -> None:
        self._tally.refuse("window")
        self._tally.lead(str(event.get("url", "")))

    def _dialog(self, event: dict[str, Any]) -> None:
        self._tally.refuse("dialog")
        leaving = event.get("type") == "beforeunload"
        self._devtools.post("Page.handleJavaScriptDialog", {"accept": leaving}, self._session)

    def _crash(self, _: dict[str, Any]) -> None:
        if not self.crashed.done():
            self.crashed.set_exception(PageCrashedError("The page's process has ended"))


def _without_fragment(url: str) -> str:
    return url.partition("#")[0]


QUIET = 0.5
"""How many seconds without a request mean that the network is at rest."""
_STILL_MILLISECONDS = 400
_PARSED_AND_IDLE = 2.0
_PARSED = 8.0
_IDLE = 8.0
"""Seconds after which a load that does not end is not waited for: since the document was parsed with nothing arriving,
since it was parsed, and since anything arrived.
"""
_EMPTY, _FEW = 8.0, 2.0
"""Seconds since the document was parsed in which a page that shows nothing, or hardly a sentence, is waited for all the
same: its scripts may be slow to begin, above all on a machine with much to do."""
_FEW_LETTERS = 60
_SETTLING_PACE = 0.05


class PageSettling:
    """Waits until a page is ready; has no timeout of its own."""

    def __init__(self, page: VisitedPage, navigation: PageNavigation, activity: NetworkActivity) -> None:
        self._page = page
        self._navigation = navigation
        self._activity = activity

    async def settle(self, quiet: float = QUIET) -> None:
        """Return when the page is ready and the network has been at rest for ``quiet`` seconds."""
        while True:
            await self._load()
            await self.rest(quiet)
            grown = await self._grow()
            is_at_rest = grown and self._activity.quiet >= quiet and self._is_loaded()
            if is_at_rest and not await self._is_to_come():
                return

    async def rest(self, quiet: float = QUIET) -> None:
        """Return when the network has been at rest for ``quiet`` seconds."""
        while (left := quiet - self._activity.quiet) > 0:
            await asyncio.sleep(min(left, _SETTLING_PACE))

    async def _load(self) -> None:
        while not self._is_loaded():
            await asyncio.sleep(_SETTLING_PACE)

    def _is_loaded(self) -> bool:
        navigation, idle = self._navigation, self._activity.idle
        if navigation.arrived:
            return True
        parsed = navigation.since_parsed
        return idle > _IDLE or parsed > _PARSED or (parsed > _PARSED_AND_IDLE and idle > _PARSED_AND_IDLE)

    async def _is_to_come(self) -> bool:
        """Return whether a nearly empty page is young enough to show more; wait a moment if so."""
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
        await asyncio.sleep(4 * _SETTLING_PACE)
        return True

    async def _grow(self) -> bool:
        try:
            return bool(await self._page.evaluate(f"restOfGrowth({_STILL_MILLISECONDS})"))
        except BrowserCrashedError:
            raise
        except DevToolsError:
            await asyncio.sleep(_SETTLING_PACE)  # The page is being loaded again.
            return False


DOM_BYTES = 10_000_000
_PATIENCE = 1.5
"""How many seconds scripts of a page may block us before they are stopped."""
_GIVING_BACK = 1.5
"""How many seconds restoring removed elements may take; those left then are counted."""
_DOCUMENT_SECONDS = 4.0
_THUMBNAIL_SCALE = 0.2


@dataclass(frozen=True, slots=True)
class CapturedPage:
    """A document in UTF-8, at most ``DOM_BYTES`` of it, its title, and screenshots, empty if none were taken."""

    dom: bytes
    title: str
    url: str
    screenshot: bytes = b""
    thumbnail: bytes = b""


async def captured(
    page: VisitedPage, tally: VisitTally, pictures_until: float | None, acted: ActingPage | None = None
) -> CapturedPage:
    """Capture a page as it is now, scrolled to its top, with screenshots until a loop time, or none for None.

    Capturing the document has no timeout of its own. If behaviours ``acted`` on the page, the document includes what
    the page has shown and removed meanwhile; what cannot be put back is counted as ``not put back``. A script that runs
    without end is stopped, together with all scripts. A longer document is cut after its last whole tag, counted as
    ``dom bytes``; a screenshot that does not come in time is counted as ``picture``.
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
        # While a termination is under way, another one is refused; and it may end the next script, even one of ours.
        with contextlib.suppress(DevToolsError):
            await page.call("Runtime.terminateExecution")
        await page.call("Emulation.setScriptExecutionDisabled", {"value": True})
        with contextlib.suppress(DevToolsError):
            await page.evaluate("0")
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
    """Restore removed content while the page's scripts are at rest, because they would remove it again.

    Raises ``TimeoutError`` if running scripts do not come to rest.
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
_CAPTURE_PACE = 0.1


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
        """Return once no request has been in progress for some tenths of a second, but after at most ``seconds``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.sleep(min(_CAPTURE_PACE, seconds))  # What an act asks for is not under way at once.
                await self._settling.rest(_QUIET)

    def spent(self) -> Spent:
        """Return what the visit has used so far."""
        upstream = self._upstream
        return Spent(upstream.bytes, upstream.made, upstream.refused_methods, upstream.under_way)

    async def _frames(self, session: str) -> tuple[str, ...]:
        try:
            return await self._page.frames(session)
        except BrowserCrashedError:
            raise
        except DevToolsError:
            return ()  # It has gone meanwhile.
