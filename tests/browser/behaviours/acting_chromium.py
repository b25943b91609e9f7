"""A page of the system's Chromium as behaviours need it, and sites that a test writes as a mapping from paths."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from playwright.async_api import Browser, CDPSession, Page, Request, Route
from playwright.async_api import Error as PlaywrightError

from aahcrawler.browser.behaviours.acting_page import PageLostError, Spent
from aahcrawler.browser.behaviours.behaviour_run import put_back, run_behaviours
from aahcrawler.browser.visits.rendered_page import BehaviourNote
from aahcrawler.browser.visits.visit_order import VisitBounds
from knowledge_base.behaviours import Behaviour

Answer = str | Callable[[str], str]
HOST = "http://site.test"


class ChromiumPage:
    """The page of a test: each path is answered by a text, or by what a function makes of the query."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self._page = page
        self._session = session
        self._worlds: dict[str, int] = {}
        self._under_way = 0
        self._last = time.monotonic()
        self.requests: list[str] = []
        self.refused = 0

    async def answer(self, route: Route, site: Mapping[str, Answer]) -> None:
        request = route.request
        path, _, query = request.url.removeprefix(HOST).partition("?")
        self.requests.append(f"{request.method} {path}{'?' if query else ''}{query}")
        if request.method != "GET":
            self.refused += 1
            await route.abort()
            return
        found = site.get(path)
        body = found(query) if callable(found) else found
        is_page = path == "/" or path.endswith(".html")
        content = "text/html" if is_page else "image/svg+xml" if path.endswith(".svg") else "application/json"
        await asyncio.sleep(0.03)
        await route.fulfill(status=200 if found is not None else 404, content_type=content, body=body or "")

    def count(self, change: int, _: Request) -> None:
        self._under_way += change
        self._last = time.monotonic()

    async def evaluate(self, expression: str, frame: str = "") -> object:
        name = frame or (await self._session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        try:
            if name not in self._worlds:
                made = await self._session.send("Page.createIsolatedWorld", {"frameId": name, "worldName": "aah"})
                self._worlds[name] = made["executionContextId"]
            said = {"expression": expression, "contextId": self._worlds[name], "awaitPromise": True}
            found = await self._session.send("Runtime.evaluate", said | {"returnByValue": True})
        except PlaywrightError as error:
            raise PageLostError(str(error)) from error
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    async def frames(self) -> Sequence[str]:
        tree = (await self._session.send("Page.getFrameTree"))["frameTree"]
        return [each["frame"]["id"] for each in tree.get("childFrames", ())]

    async def wait_for_quiet(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and (self._under_way or time.monotonic() - self._last < 0.15):
            await asyncio.sleep(0.02)

    def spent(self) -> Spent:
        return Spent(len(self.requests) * 1000, len(self.requests), self.refused, self._under_way)

    async def dom(self) -> str:
        """Stop the page's scripts, have what is gone put back, and return the document."""
        await self._session.send("Emulation.setScriptExecutionDisabled", {"value": True})
        await put_back(self)
        root = (await self._session.send("DOM.getDocument", {"depth": 0}))["root"]
        got = await self._session.send("DOM.getOuterHTML", {"nodeId": root["nodeId"], "includeShadowDOM": True})
        return str(got["outerHTML"])


async def acted(
    browser: Browser,
    site: Mapping[str, Answer],
    behaviours: Sequence[Behaviour],
    bounds: VisitBounds | None = None,
) -> tuple[str, tuple[BehaviourNote, ...], ChromiumPage]:
    """Open the front page of a site, do behaviours on it; return its document after them, the notes and the page."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        page = await context.new_page()
        session = await context.new_cdp_session(page)
        acting = ChromiumPage(page, session)
        await page.route("**/*", lambda route: acting.answer(route, site))
        page.on("request", lambda request: acting.count(1, request))
        page.on("requestfinished", lambda request: acting.count(-1, request))
        page.on("requestfailed", lambda request: acting.count(-1, request))
        await page.goto(f"{HOST}/")
        notes = await run_behaviours(acting, behaviours, bounds or VisitBounds())
        return await acting.dom(), notes, acting
    finally:
        await context.close()
