"""The recording proxy: a browser's only way to the network. It gets every response from an upstream."""

import asyncio
import logging
import ssl
from asyncio import StreamReader, StreamWriter, Task
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from socket import socket

from aahcrawler.browser.network.browser_response import FAILED, BrowserResponse, ProxyBounds
from aahcrawler.browser.network.proxy_key import ProxyKey
from aahcrawler.browser.network.request_reading import CONNECT, Incoming, RequestReader, browser_request, tunnel_target
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError, Upstream
from aahcrawler.wire.request import Target

Peer = tuple[str, int]
"""Address and port of the other end of a connection."""
_logger = logging.getLogger(__name__)


class Served:
    """Passes requests to an upstream, a limited number at once.

    Counts them, and those without a whole response by reason.
    """

    def __init__(self, upstream: Upstream, bounds: ProxyBounds, accepts: Callable[[Peer], bool]) -> None:
        self.accepts = accepts
        self.requests = 0
        self._upstream = upstream
        self._slots = asyncio.Semaphore(bounds.requests)
        self._counts: Counter[str] = Counter()
        self._asking: set[Task[None]] = set()

    @property
    def counts(self) -> Mapping[str, int]:
        """What was refused or failed, by reason: the upstream's own, and the proxy's (``websocket``, ``tunnel``)."""
        return dict(self._counts)

    def refuse(self, reason: str) -> None:
        """Count a refused request."""
        self._counts[reason] += 1

    def ask(self, request: BrowserRequest, answer: BrowserResponse) -> Task[None]:
        """Have the upstream answer a request, when its turn comes."""
        asking = asyncio.create_task(self._ask(request, answer))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return asking

    async def end(self) -> None:
        """Cancel the requests in progress."""
        for asking in self._asking:
            asking.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _ask(self, request: BrowserRequest, answer: BrowserResponse) -> None:
        async with self._slots:
            if answer.abandoned:
                return
            self.requests += 1
            try:
                await self._upstream.answer(request, answer)
                answer.end()
            except RequestRefusedError as refused:
                answer.fail(refused.reason)
            except Exception:
                _logger.exception("a request of a page failed: %s %s", request.method, request.url)
                answer.fail("error")
            finally:
                answer.fail("given up")  # Of those that have neither ended nor failed.
                if answer.failed:
                    self.refuse(answer.failed)


_BACKLOG = 256
_BOUNDS = ProxyBounds()


def _anyone(_: Peer) -> bool:
    return True


class RecordingProxy:
    """An HTTP proxy on a listening socket that is passed in and closed with it.

    It makes no connections itself. While no upstream is served, connections are closed as they come, so that no request
    of one visit reaches the next one. TLS ends here, with a key that only the browser trusts.
    """

    def __init__(self, listener: socket, key: ProxyKey, bounds: ProxyBounds = _BOUNDS) -> None:
        self._listener = listener
        self._key = key
        self._bounds = bounds
        self._server: asyncio.Server | None = None
        self._served: Served | None = None
        self._connections: set[Task[None]] = set()

    @asynccontextmanager
    async def serving(self, upstream: Upstream, accepts: Callable[[Peer], bool] = _anyone) -> AsyncIterator[Served]:
        """Have an upstream answer all requests within the context; at its end they and their connections are cut.

        ``accepts`` says whose connections are accepted. One upstream is served at a time.
        """
        if self._served is not None:
            raise RuntimeError("the recording proxy serves another visit")
        await self.open()
        served = self._served = Served(upstream, self._bounds, accepts)
        try:
            yield served
        finally:
            self._served = None
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await served.end()

    async def open(self) -> None:
        """Start listening unless done before; ``serving`` calls it."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, sock=self._listener, backlog=_BACKLOG)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is None:
            self._listener.close()
        else:
            self._server.close()

    def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        served = self._served
        if served is None or not self._admitted(served, writer):
            writer.transport.abort()
            return
        connection = ProxyConnection(reader, writer, self._key, self._bounds, served)
        task = asyncio.create_task(connection.run())
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def _admitted(self, served: Served, writer: StreamWriter) -> bool:
        peer = writer.get_extra_info("peername")
        if peer is None or not served.accepts((str(peer[0]), int(peer[1]))):
            served.refuse("foreign connection")
        elif len(self._connections) >= self._bounds.connections:
            served.refuse("connections")
        else:
            return True
        return False


REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
"""The answer to what is no request of a page: a tunnel that leads nowhere, a WebSocket."""
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_CLOSE_SECONDS = 1.0


class _NoTunnelError(Exception):
    """Raised where the browser does not speak TLS within a tunnel."""


class ProxyConnection:
    """Serves the requests of one connection, as long as one upstream is served."""

    def __init__(
        self, reader: StreamReader, writer: StreamWriter, key: ProxyKey, bounds: ProxyBounds, served: Served
    ) -> None:
        self._requests = RequestReader(reader, bounds)
        self._writer = writer
        self._key = key
        self._bounds = bounds
        self._served = served
        self._tunnel: Target | None = None

    async def run(self) -> None:
        """Answer requests until there are no more, then close; break off at once when cancelled."""
        try:
            await self._converse()
            self._writer.close()
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._writer.wait_closed()
        except (OSError, TimeoutError, _NoTunnelError):
            pass  # The browser has gone, or will not go: either way nobody waits for more.
        finally:
            self._writer.transport.abort()

    async def _converse(self) -> None:
        try:
            while (incoming := await self._requests.next()) is not None:
                if incoming.method == CONNECT and self._tunnel is None:
                    await self._dig(incoming)
                elif not await self._answer(browser_request(incoming, self._tunnel)) or not incoming.keeps_alive:
                    return
        except RequestRefusedError as refused:
            self._served.refuse(refused.reason)
            self._writer.write(REFUSED if refused.reason in {"websocket", "tunnel"} else FAILED)

    async def _dig(self, incoming: Incoming) -> None:
        tunnel = tunnel_target(incoming)
        if self._requests.ahead or not incoming.keeps_alive:
            raise RequestRefusedError("tunnel")
        self._writer.write(_ESTABLISHED)
        context = self._key.context(tunnel.origin.host)
        try:
            await self._writer.start_tls(context, ssl_handshake_timeout=self._bounds.request_seconds)
        except ssl.SSLError as error:
            self._served.refuse(_tunnelled(error))
            raise _NoTunnelError from error
        self._tunnel = tunnel

    async def _answer(self, request: BrowserRequest) -> bool:
        """Have a request answered; return whether another one may follow.

        Where the browser hangs up, the call of the upstream is cancelled; the upstream decides whether and for how long
        to go on fetching.
        """
        answer = BrowserResponse(request.method, self._bounds)
        asking = self._served.ask(request, answer)
        sending = asyncio.create_task(answer.send(self._writer))
        leaving = asyncio.create_task(self._requests.hung_up())
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return sending.done() and sending.result()
        finally:
            answer.abandon()
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            if not answer.whole:
                asking.cancel()


def _tunnelled(error: ssl.SSLError) -> str:
    """Return what the browser spoke instead of TLS within a tunnel, judging by the error of the handshake."""
    reason = error.reason or ""
    if reason == "HTTP_REQUEST":
        return "websocket"  # Chromium opens a tunnel for a WebSocket without TLS, and for no other http.
    return "certificate" if "ALERT" in reason else "tunnel"
