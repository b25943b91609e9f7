"""Decides when a page is ready: loaded, its network at rest, its document grown."""

import asyncio
import math
import time
from typing import Any

from aahcrawler.browser.process.devtools_connection import (
    BrowserCrashedError,
    DevTools,
    DevToolsError,
    PageCrashedError,
)
from aahcrawler.browser.visits.bounded_upstream import NetworkActivity
from aahcrawler.browser.visits.rendered_page import VisitTally
from aahcrawler.browser.visits.visited_page import VisitedPage

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
            "Page.javascriptDialogOpening": self._dialog,
            "Page.loadEventFired": self._arrive,
            "Page.navigatedWithinDocument": self._moved,
            "Page.windowOpen": self._window,
        }.items():
            devtools.listen(session, method, callback)

    @property
    def since_parsed(self) -> float:
        """The seconds since the document was parsed, negative before."""
        return time.monotonic() - self._parsed

    def _parse(self, _: dict[str, Any]) -> None:
        self._parsed = time.monotonic()
        self._forget_history()

    def _arrive(self, _: dict[str, Any]) -> None:
        self.arrived = self.committed
        self._forget_history()

    def _forget_history(self) -> None:
        """Remove the empty page before from the history; the browser refuses this while another navigation begins."""
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
        """Record where the page wants to navigate, even before navigation is allowed."""
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
    """Waits until a page is ready; has no timeout of its own."""

    def __init__(self, page: VisitedPage, navigation: PageNavigation, activity: NetworkActivity) -> None:
        self._page = page
        self._navigation = navigation
        self._activity = activity

    async def settle(self, quiet: float = QUIET) -> None:
        """Return when the page is ready and has rested for ``quiet`` seconds."""
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
