"""Stand between a page and who answers it: say what each request is for, and hold the bounds of the visit."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError, Upstream
from aahcrawler.browser.visits.network_activity import NetworkActivity
from aahcrawler.browser.visits.rendered_page import RequestNote
from aahcrawler.browser.visits.request_log import RequestLog, RequestPurpose, purpose_by_fields
from aahcrawler.browser.visits.visit_order import VisitOrder
from aahcrawler.wire.relay import Relay

FLOOD = 30
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class BoundedUpstream:
    """An ``Upstream`` for the time of one visit.

    It counts what was ``made``, what is ``under_way``, the ``bytes`` of all answers, and ``refused_methods``. ``over``
    is the bound that was met, if any: ``requests`` or ``bytes``. ``allowed`` are the methods that pass beyond those
    that only read; None: all, as far as the order is not for reading only. ``on_flood`` is called when ``FLOOD``
    requests have come beyond a bound.
    """

    def __init__(self, upstream: Upstream, order: VisitOrder) -> None:
        self.activity = NetworkActivity()
        self.log = RequestLog(order.bounds.requests)
        self.notes: list[RequestNote] = []
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
        purpose = await self.log.purpose(request.method, request.url) or purpose_by_fields(request.headers)
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
            note = RequestNote(request.url, request.method, request.resource_type, request.initiator, outcome)
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
        """Return a request with what it is for, and who asks: what begins a service worker does not know yet."""
        agent = self._order.user_agent
        headers = tuple((name, agent if name.lower() == "user-agent" else value) for name, value in request.headers)
        return replace(request, headers=headers, resource_type=purpose.resource_type, initiator=purpose.initiator)

    def _take(self, number: int, length: int) -> bool:
        """Count bytes that came; return whether more may."""
        self.activity.progress(number)
        self.bytes += length
        if self.bytes > self._order.bounds.bytes:
            self.over = self.over or "bytes"
        return self.bytes <= self._order.bounds.bytes


class _MeteredRelay:
    """A relay that stops the fetch of its answer when the visit has had bytes enough."""

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
