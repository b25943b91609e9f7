"""Evaluates expressions in the page of a visit, out of reach of the page's own scripts."""

from collections.abc import Mapping
from typing import Any

from aahcrawler.browser.process.devtools_connection import DevTools, DevToolsError
from aahcrawler.browser.visits.visit_targets import WORLD


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
        """Return the JSON value of an expression of JavaScript, awaited where it is a promise.

        It is evaluated in an isolated world, the same for all calls on a document. Raises ``DevToolsError`` where the
        document is gone, and where the expression fails.
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
