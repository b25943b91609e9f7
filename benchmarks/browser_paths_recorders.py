"""The recorders of the trial: the wire client and a note of what it sent, behind the proxy or paused requests."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from aahcrawler.browser.devtools.devtools_connection import DevTools
from aahcrawler.browser.devtools.devtools_errors import DevToolsError
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.wire.client import WireClient, WireError, WireRequest
from aahcrawler.wire.relay import Relay

_ATTACHING = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True}


class Recorder:
    """Makes requests by the wire client, and notes them as ``METHOD host/path``."""

    def __init__(self, wire: WireClient) -> None:
        self._wire = wire
        self._sent: list[tuple[str, frozenset[str]]] = []

    @property
    def recorded(self) -> list[str]:
        """The requests that were made."""
        return [request for request, _ in self._sent]

    def fields_of(self, requests: Iterable[str]) -> set[str]:
        """Return the names of the header fields, in lower case, that any of those requests was recorded with."""
        return {name for request, names in self._sent if request in requests for name in names}

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """Have a request answered by its server (``Upstream``)."""
        place = urlsplit(request.url)
        names = frozenset(name.lower() for name, _ in request.headers)
        self._sent.append((f"{request.method} {place.netloc}{place.path}", names))
        try:
            answer = await self._wire.fetch(
                WireRequest(request.url, request.headers, request.method, request.body, relay=relay)
            )
        except WireError as error:
            raise RequestRefusedError(error.reason) from error
        answer.exchange.close()
        if answer.exchange.truncated is not None:
            raise RequestRefusedError(answer.exchange.truncated)


class _Collected:
    """An answer as far as it came."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.body = bytearray()

    def begin(self, status: int, _: str, headers: Sequence[tuple[str, str]]) -> None:
        self.status = status
        self.headers = [(name, value) for name, value in headers if name.lower() != "transfer-encoding"]

    def take(self, piece: bytes) -> None:
        self.body += piece


class FetchRecorder:
    """Pauses each request of every target that the browser lets attach to, and fulfils it with what the recorder gets.

    DevTools takes an answer whole: ``Fetch.fulfillRequest`` is sent when the last byte is there.
    """

    def __init__(self, devtools: DevTools, recorder: Recorder) -> None:
        self._devtools = devtools
        self._recorder = recorder
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Attach to all that is there and comes."""
        self._devtools.listen("", "Target.attachedToTarget", self._attached)
        await self._devtools.call("Target.setAutoAttach", _ATTACHING)

    def _attached(self, event: dict[str, Any]) -> None:
        session = event["sessionId"]
        self._devtools.listen(session, "Target.attachedToTarget", self._attached)
        self._devtools.listen(session, "Fetch.requestPaused", lambda paused: self._begin(session, paused))
        # A target that does not know a command (a worker its requests) answers with an error, and runs all the same.
        self._devtools.post("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}, session)
        self._devtools.post("Target.setAutoAttach", _ATTACHING, session)
        self._devtools.post("Runtime.runIfWaitingForDebugger", {}, session)

    def _begin(self, session: str, paused: dict[str, Any]) -> None:
        task = asyncio.create_task(self._answer(session, paused))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, session: str, paused: dict[str, Any]) -> None:
        asked, collected = paused["request"], _Collected()
        body = b"".join(b64decode(entry.get("bytes", "")) for entry in asked.get("postDataEntries", []))
        request = BrowserRequest(asked["url"], asked["method"], tuple(asked["headers"].items()), body)
        with suppress(RequestRefusedError):
            await self._recorder.answer(request, collected)
        number = {"requestId": paused["requestId"]}
        with suppress(DevToolsError):
            if not collected.status:
                await self._devtools.call("Fetch.failRequest", number | {"errorReason": "Failed"}, session)
                return
            answer = {
                "responseCode": collected.status,
                "responseHeaders": [{"name": name, "value": value} for name, value in collected.headers],
                "body": b64encode(collected.body).decode("ascii"),
            }
            await self._devtools.call("Fetch.fulfillRequest", number | answer, session)
