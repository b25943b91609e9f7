"""An upstream that enforces the limits of one visit and determines the purpose of each request."""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError, Upstream
from aahcrawler.browser.visits.rendered_page import RequestInfo, VisitOrder
from aahcrawler.wire.relay import Relay

_NEVER_AWAITED = frozenset({"CSPViolationReport", "EventSource", "Media", "Other", "Ping", "Prefetch", "TextTrack"})
"""Types of requests that end late or never, or that do not change what the page shows."""
_STALLED = 4.0
"""After this many seconds without a byte for any request, open requests are not waited for, as with long polling."""
_STREAM = 12.0
"""A response that still arrives after this many seconds counts as a stream."""
_POLLS = 6
"""How many requests for a URL, its query apart, count as polling."""


class NetworkActivity:
    """The open requests of a visit for which its page must wait.

    ``unknown`` is how many requests have come whose purpose is not known yet.
    """

    def __init__(self) -> None:
        self.unknown = 0
        self._open: dict[int, float] = {}
        self._asked = Counter[str]()
        self._last_number = 0
        self._changed = self._progressed = time.monotonic()

    def begin(self, url: str, resource_type: str, *, in_background: bool = False) -> int:
        """Record that a request has begun; return its number, or 0 if the page need not wait for it."""
        parts = urlsplit(url)
        address = f"{parts.netloc}{parts.path}"
        if resource_type in ("Fetch", "XHR"):
            self._asked[address] += 1
        if in_background or resource_type in _NEVER_AWAITED or self._asked[address] > _POLLS:
            return 0
        self._last_number += 1
        self._changed = self._progressed = self._open[self._last_number] = time.monotonic()
        return self._last_number

    def progress(self, number: int) -> None:
        """Record that bytes came for a request."""
        if number in self._open:
            self._progressed = time.monotonic()

    def end(self, number: int) -> None:
        """Record that a request has ended."""
        if self._open.pop(number, None) is not None:
            self._changed = self._progressed = time.monotonic()

    @property
    def idle(self) -> float:
        """The seconds since bytes last came for any request, whether or not some are open."""
        return time.monotonic() - self._progressed

    @property
    def quiet(self) -> float:
        """The seconds without a request for which the page must wait; 0 while there is one, or may be."""
        if self.unknown:
            return 0.0
        now = time.monotonic()
        awaited = any(now - begun < _STREAM for begun in self._open.values())
        if awaited and now - self._progressed < _STALLED:
            return 0.0
        return now - self._changed


_PATIENCE = 0.2
"""How many seconds a request waits for DevTools to announce it. Some are never announced."""
_BUSY_PATIENCE = 0.8
"""How many seconds longer it waits while the targets are too busy to announce anything."""

_DESTINATIONS = {
    "audio": "Media",
    "document": "Document",
    "embed": "Document",
    "empty": "Fetch",
    "font": "Font",
    "frame": "Document",
    "iframe": "Document",
    "image": "Image",
    "manifest": "Manifest",
    "object": "Document",
    "report": "CSPViolationReport",
    "script": "Script",
    "serviceworker": "Script",
    "sharedworker": "Script",
    "style": "Stylesheet",
    "track": "TextTrack",
    "video": "Media",
    "worker": "Script",
}
"""Values of Sec-Fetch-Dest (https://www.w3.org/TR/fetch-metadata/), and the DevTools type of each."""


@dataclass(frozen=True, slots=True)
class RequestPurpose:
    """The type of a request in the terms of the DevTools protocol, and whether a service worker made it."""

    resource_type: str = ""
    initiator: str = ""
    in_background: bool = False


def purpose_by_fields(headers: tuple[tuple[str, str], ...]) -> RequestPurpose:
    """Return the purpose of a request as shown by its own header fields."""
    said = next((value for name, value in headers if name.lower() == "sec-fetch-dest"), "")
    return RequestPurpose(_DESTINATIONS.get(said.strip().lower(), ""))


class RequestLog:
    """The announced requests of a visit that have not reached the network yet.

    It holds at most ``most``; the oldest are dropped first, because scripts have cancelled them or the browser served
    them itself. ``all_announced`` returns when each target has announced what it asked for before the call.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._announced: OrderedDict[tuple[str, str], deque[RequestPurpose]] = OrderedDict()
        self._number = 0
        self._waiting: dict[tuple[str, str], deque[asyncio.Future[RequestPurpose | None]]] = {}
        self._ended = False
        self.all_announced: Callable[[], Awaitable[object]] = _at_once

    def announce(self, event: dict[str, Any], *, in_background: bool = False) -> None:
        """Add the request of an event ``Network.requestWillBeSent``."""
        request = event.get("request", {})
        key = str(request.get("method", "")), str(request.get("url", ""))
        if not key[1].startswith(("http:", "https:")):
            return
        initiator = str(event.get("initiator", {}).get("type", ""))
        kind = "Preflight" if initiator == "preflight" else str(event.get("type", ""))
        purpose = RequestPurpose(kind, initiator, in_background)
        waiting = self._waiting.get(key, ())
        for one in waiting:
            if not one.done():
                one.set_result(purpose)
                return
        self._announced.setdefault(key, deque()).append(purpose)
        self._number += 1
        while self._number > self.most:
            _, lost = self._announced.popitem(last=False)
            self._number -= len(lost)

    async def purpose(self, method: str, url: str) -> RequestPurpose | None:
        """Return the purpose of a request that has reached the network; None if it is not announced soon."""
        key = method, url
        announced = self._announced.get(key)
        if announced:
            self._number -= 1
            purpose = announced.popleft()
            if not announced:
                del self._announced[key]
            return purpose
        return None if self._ended else await self._told_soon(key)

    def end(self) -> None:
        """Let no request wait any more: nothing is announced from now on."""
        self._ended = True
        for waiting in self._waiting.values():
            for one in waiting:
                if not one.done():
                    one.set_result(None)

    async def _told_soon(self, key: tuple[str, str]) -> RequestPurpose | None:
        told: asyncio.Future[RequestPurpose | None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(key, deque())
        waiting.append(told)
        try:
            await asyncio.wait((told,), timeout=_PATIENCE)
            if not told.done():
                await self._told_before_all_announced(told)
            return told.result() if told.done() else None
        finally:
            waiting.remove(told)
            if not waiting:
                self._waiting.pop(key, None)

    async def _told_before_all_announced(self, told: asyncio.Future[RequestPurpose | None]) -> None:
        announced = asyncio.ensure_future(self.all_announced())
        try:
            await asyncio.wait((told, announced), timeout=_BUSY_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        finally:
            announced.cancel()


async def _at_once() -> None:
    """Wait for no target."""


FLOOD = 30
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class BoundedUpstream:
    """An ``Upstream`` for one visit.

    It counts the requests that were ``made`` and are ``under_way``, the ``bytes`` of all responses, and
    ``refused_methods``. ``over`` is the limit that was reached, if any: ``requests`` or ``bytes``. ``allowed`` are the
    permitted methods besides those that only read; None permits all, unless the order is for reading only. ``on_flood``
    is called when ``FLOOD`` requests have come beyond a limit.
    """

    def __init__(self, upstream: Upstream, order: VisitOrder) -> None:
        self.activity = NetworkActivity()
        self.log = RequestLog(order.bounds.requests)
        self.notes: list[RequestInfo] = []
        self.over = ""
        self.allowed: frozenset[str] | None = None
        self._upstream = upstream
        self._order = order
        self.refused_methods = 0
        self.made = 0
        self.bytes = 0
        self.under_way = 0
        self.on_flood: Callable[[], None] = lambda: None
        self._turned_away = 0

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """Answer a request of the page, or refuse it."""
        self._admit(request)
        self.activity.unknown += 1
        try:
            purpose = await self.log.purpose(request.method, request.url) or purpose_by_fields(request.headers)
        finally:
            self.activity.unknown -= 1
        await self._answer(self._described(request, purpose), relay, in_background=purpose.in_background)

    def _admit(self, request: BrowserRequest) -> None:
        allowed = frozenset[str]() if self._order.reading_only else self.allowed
        if allowed is not None and request.method not in _READING | allowed:
            self.refused_methods += 1
            raise RequestRefusedError("method")
        bounds = self._order.bounds
        if self.bytes >= bounds.bytes or self.made >= bounds.requests:
            self.over = self.over or ("bytes" if self.bytes >= bounds.bytes else "requests")
            self._turned_away += 1
            if self._turned_away == FLOOD:
                self.on_flood()
            raise RequestRefusedError(self.over)
        self.made += 1

    async def _answer(self, request: BrowserRequest, relay: Relay, *, in_background: bool) -> None:
        number = self.activity.begin(request.url, request.resource_type, in_background=in_background)
        metered = _MeteredRelay(relay, lambda length: self._take(number, length))
        outcome = "cancelled"
        self.under_way += 1
        try:
            await self._metered_answer(request, metered)
            outcome = str(metered.status or "")
        except RequestRefusedError as refused:
            outcome = refused.reason
            raise
        finally:
            self.under_way -= 1
            self.activity.end(number)
            note = RequestInfo(request.url, request.method, request.resource_type, request.initiator, outcome)
            self.notes.append(note)

    async def _metered_answer(self, request: BrowserRequest, metered: "_MeteredRelay") -> None:
        fetch = asyncio.ensure_future(self._upstream.answer(request, metered))
        metered.stop = fetch.cancel
        try:
            await fetch
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if metered.stopped and (this is None or not this.cancelling()):
                raise RequestRefusedError("bytes") from None
            raise

    def _described(self, request: BrowserRequest, purpose: RequestPurpose) -> BrowserRequest:
        """Return a request with its purpose and initiator, which are unknown when a service worker starts."""
        agent = self._order.user_agent
        headers = tuple((name, agent if name.lower() == "user-agent" else value) for name, value in request.headers)
        return replace(request, headers=headers, resource_type=purpose.resource_type, initiator=purpose.initiator)

    def _take(self, number: int, length: int) -> bool:
        """Count received bytes; return whether more may come."""
        self.activity.progress(number)
        self.bytes += length
        if self.bytes > self._order.bounds.bytes:
            self.over = self.over or "bytes"
        return self.bytes <= self._order.bounds.bytes


class _MeteredRelay:
    """A relay that stops the fetch of its response when the visit has reached its bound of bytes."""

    def __init__(self, relay: Relay, take: Callable[[int], bool]) -> None:
        self.status = 0
        self.stop: Callable[[], object] = lambda: None
        self.stopped = False
        self._relay = relay
        self._take = take

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        self.status = status
        self._take(0)
        self._relay.begin(status, reason, headers)

    def take(self, piece: bytes) -> None:
        if self._take(len(piece)):
            self._relay.take(piece)
        elif not self.stopped:
            self.stopped = True
            self.stop()
