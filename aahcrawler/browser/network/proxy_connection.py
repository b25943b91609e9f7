"""One connection of the browser: a request and its answer after another, within a tunnel or without."""

import asyncio
import ssl
from asyncio import StreamReader, StreamWriter

from aahcrawler.browser.network.browser_answer import FAILED, BrowserAnswer
from aahcrawler.browser.network.proxy_bounds import ProxyBounds
from aahcrawler.browser.network.proxy_key import ProxyKey
from aahcrawler.browser.network.request_reading import (
    CONNECT,
    Incoming,
    RequestReader,
    browser_request,
    tunnel_target,
)
from aahcrawler.browser.network.served import Served
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.wire.request import Target

REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
"""The answer to what is no request of a page: a tunnel that leads nowhere, a WebSocket."""
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_CLOSE_SECONDS = 1.0


class _NoTunnelError(Exception):
    """Raised where the browser speaks no TLS within a tunnel."""


class ProxyConnection:
    """Answers what comes over one connection, as long as one upstream is served."""

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
        """Answer requests until there are no more, and close; break off at once where it is cancelled."""
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

        Where the browser hangs up, the upstream is told by a cancellation: whether it keeps what is under way to its
        end, and for how long, it knows best.
        """
        answer = BrowserAnswer(request.method, self._bounds)
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
    """Say what it was that the browser spoke within a tunnel, by how the handshake failed."""
    reason = error.reason or ""
    if reason == "HTTP_REQUEST":
        return "websocket"  # Chromium opens a tunnel for a WebSocket without TLS, and for no other http.
    return "certificate" if "ALERT" in reason else "tunnel"
