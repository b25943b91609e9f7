"""The wire client: send one request, return one response, and capture every byte of both."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from aahcrawler.exchange import Exchange
from aahcrawler.wire.admission import Waiting
from aahcrawler.wire.connection import Connection, Patience, Pool
from aahcrawler.wire.dial import Dialler
from aahcrawler.wire.errors import (
    ConnectError,
    DisconnectError,
    HeaderLimitError,
    InvalidRequestError,
    ProtocolError,
    ProxyError,
    ProxyRefusedError,
    ProxyUnavailableError,
    RefusedAddressError,
    ResolveError,
    SpoolError,
    TlsError,
    WireError,
    WireReason,
    WireTimeoutError,
)
from aahcrawler.wire.ip_policy import IpPolicy
from aahcrawler.wire.reception import Bounds, Reception, Spool
from aahcrawler.wire.relay import Relay, Withholding
from aahcrawler.wire.request import Origin, Target, WireRequest, serialise, target_of
from aahcrawler.wire.settings import KeepAlive, Limits, Proxy, Timeouts, WireSettings, forwarding_proxy
from aahcrawler.wire.tunnel import LOGIN, LOGIN_PROBLEM, authorization

__all__ = [
    "ConnectError",
    "DisconnectError",
    "HeaderLimitError",
    "InvalidRequestError",
    "IpPolicy",
    "KeepAlive",
    "Limits",
    "ProtocolError",
    "ProxyError",
    "ProxyRefusedError",
    "ProxyUnavailableError",
    "RefusedAddressError",
    "ResolveError",
    "SpoolError",
    "Timeouts",
    "TlsError",
    "WireClient",
    "WireError",
    "WireReason",
    "WireRequest",
    "WireResponse",
    "WireSettings",
    "WireTimeoutError",
]

SPOOL_THREADS = 4
CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WireResponse:
    """A response of any status.

    ``headers`` are in the order and case in which they were received. ``payload`` is the body without transfer coding,
    but with content coding, at most ``WireRequest.keep`` bytes of it; ``payload_complete`` says whether this is the
    server's whole body. ``elapsed`` is the duration of the exchange in seconds, ``latency`` the seconds for which the
    server let wait for its first byte. The caller closes the exchange of the response.
    """

    exchange: Exchange
    status: int
    reason: str
    version: tuple[int, int]
    headers: tuple[tuple[str, str], ...]
    payload: bytes
    payload_complete: bool
    elapsed: float
    latency: float


@dataclass(frozen=True, slots=True)
class _Sent:
    request: WireRequest
    target: Target
    raw: bytes
    started: float
    deadline: float
    proxy: Proxy | None = None
    """The proxy to which the request is sent."""

    @property
    def with_login(self) -> bytes:
        """The bytes as sent, including the login for the proxy, which the archived request does not include."""
        login = authorization(self.proxy) if self.proxy is not None else ""
        if not login:
            return self.raw
        line, _, rest = self.raw.partition(b"\r\n")
        return line + b"\r\nProxy-Authorization: " + login.encode("ascii") + b"\r\n" + rest

    @property
    def relay(self) -> Relay | None:
        """The relay that receives the response. It does not receive a proxy's demand for a login."""
        relay = self.request.relay
        return relay if relay is None or self.proxy is None else Withholding(relay, LOGIN)

    def later(self, seconds: float) -> "_Sent":
        """Return the same request, with times moved ``seconds`` later."""
        return replace(self, started=self.started + seconds, deadline=self.deadline + seconds) if seconds else self


class WireClient:
    """Fetches over HTTP/1.1 and captures the bytes of the connection; follows no redirect and decodes no content.

    Any number of fetches may run at once; the caller sets the limit. Bodies that exceed ``limits.memory_bytes`` go to
    an unlinked file in the spool folder while they arrive.

    Malformed responses are read as browsers read them: odd status lines, LF alone, bodies without a length, several
    lengths. A body that breaks its own framing ends there and is marked ``truncated=unspecified``; one that is longer
    than allowed, too slow or cut off is marked ``length``, ``time`` or ``disconnect``, and the part received is kept.
    Only a response whose head does not arrive whole is an error.
    """

    def __init__(self, settings: WireSettings, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._settings = settings
        self._now = now
        self._executor = ThreadPoolExecutor(SPOOL_THREADS, thread_name_prefix="spool")
        self._pool = Pool(settings.keep_alive)
        self._dialler = Dialler(settings, lambda: Connection(self._executor, self._pool))

    async def fetch(self, request: WireRequest) -> WireResponse:
        """Return the response to a request, whatever its status.

        Each request is sent once. If no response comes, the caller decides whether to retry, even if the server closed
        a kept-alive connection just as the request was sent. Raises ``WireError`` or an exception of the request's
        ``admission``, and nothing else except on cancellation.
        """
        target = target_of(request.url)
        started = asyncio.get_running_loop().time()
        total = self._settings.timeouts.total if request.timeout is None else request.timeout
        proxy = forwarding_proxy(self._settings.routes, target.origin)
        raw = serialise(request, target if proxy is None else replace(target, path=target.url))
        sent = _Sent(request, target, raw, started, started + total, proxy)
        admission = Waiting(request.admission)
        kept = await self._kept(target.origin, admission)
        if kept is not None:
            try:
                return await self._converse(kept, sent.later(admission.seconds))
            except ProtocolError as error:  # What came may be the rest of the response before.
                error.retryable = error.exchange is None
                raise
        left = sent.later(admission.seconds).deadline - asyncio.get_running_loop().time()
        patience = min(self._settings.timeouts.connect, left)
        fresh = await self._dialler.dial(target.origin, patience, admission)
        return await self._converse(fresh, sent.later(admission.seconds))

    async def close(self) -> None:
        """Close every connection; fetches in progress end with ``DisconnectError`` or a truncated response."""
        await self._pool.close(CLOSE_SECONDS)
        self._executor.shutdown(wait=False)

    async def _kept(self, origin: Origin, admission: Waiting) -> Connection | None:
        while (connection := self._pool.take(origin)) is not None:
            try:
                await admission.enter(connection.address, connection.port)
            except BaseException:
                self._pool.put(origin, connection)
                raise
            if connection.usable:
                return connection
            connection.close()
        return None

    async def _converse(self, connection: Connection, sent: _Sent) -> WireResponse:
        limits, timeouts = self._settings.limits, self._settings.timeouts
        spool = Spool(self._settings.spool, limits.memory_bytes)
        reception = Reception(sent.request.method, self._bounds(sent.request), spool, sent.relay)
        patience = Patience(timeouts.first_byte, timeouts.idle, sent.deadline, sent.request.until)
        started_at = self._now()
        try:
            latency = await connection.exchange(sent.with_login, reception, patience)
            exchange = await self._exchange(sent, reception, connection, started_at)
        except SpoolError:
            spool.close()
            raise
        except WireError as error:
            if reception.salvage():
                reception.truncated = error.truncation
                exchange = await self._exchange(sent, reception, connection, started_at)
                error.exchange = exchange
            raise
        except BaseException:
            spool.close()
            raise
        if reception.reusable:
            self._pool.put(sent.target.origin, connection)
        if sent.proxy is not None and reception.head is not None and reception.head.line.status == LOGIN:
            exchange.close()
            raise ProxyUnavailableError(f"{sent.proxy} {LOGIN_PROBLEM}", str(sent.proxy))
        return _response(reception, exchange, asyncio.get_running_loop().time() - sent.started, latency)

    def _bounds(self, request: WireRequest) -> Bounds:
        limits = self._settings.limits
        return Bounds(
            head_bytes=limits.head_bytes,
            head_lines=limits.head_lines,
            body_bytes=limits.body_bytes if request.max_bytes is None else request.max_bytes,
            payload_bytes=limits.payload_bytes if request.keep is None else request.keep,
            wanted=request.wanted,
        )

    async def _exchange(
        self, sent: _Sent, reception: Reception, connection: Connection, started_at: datetime
    ) -> Exchange:
        spool = reception.spool
        loop = asyncio.get_running_loop()
        try:
            opened = await loop.run_in_executor(self._executor, spool.open) if spool.spilled else spool.open()
        except OSError as error:
            raise SpoolError(f"the response could not be kept: {error}") from error
        return Exchange(
            url=sent.request.captured_as or sent.request.url,
            method=sent.request.method,
            request=sent.raw,
            response=opened,
            response_size=spool.size,
            payload_digest=reception.payload_digest,
            ip_address=connection.end.ip_address,
            started_at=started_at,
            truncated=reception.truncated,
            head_size=reception.head_size,
            proxy=connection.end.proxy,
            tls_problem=connection.end.tls_problem,
        )


def _response(reception: Reception, exchange: Exchange, elapsed: float, latency: float) -> WireResponse:
    assert reception.head is not None  # noqa: S101  # a response without a head is an error
    line = reception.head.line
    payload = reception.payload
    return WireResponse(
        exchange=exchange,
        status=line.status,
        reason=line.reason,
        version=line.version,
        headers=reception.head.headers,
        payload=payload,
        payload_complete=reception.truncated is None and len(payload) == reception.payload_size,
        elapsed=elapsed,
        latency=latency,
    )
