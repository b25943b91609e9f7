"""A recording proxy on loopback, and a client that writes to it byte by byte, as a browser does or never would."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from aahcrawler.browser.network.browser_response import ProxyBounds
from aahcrawler.browser.network.recording_proxy import ProxyKey, RecordingProxy, Served
from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.wire.relay import Relay

KEY = ProxyKey.new()
Answering = Callable[[BrowserRequest, Relay], Awaitable[None]]


class Scripted:
    """An upstream that answers as a function does, and keeps what it was asked."""

    def __init__(self, answering: Answering) -> None:
        self.asked: list[BrowserRequest] = []
        self._answering = answering

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        self.asked.append(request)
        await self._answering(request, relay)


class Client:
    """The other end of a connection to the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def tell(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, method: str = "GET") -> tuple[bytes, bytes]:
        """Return head and body of the next answer, without its coding."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        if method == "HEAD" or b" 204 " in head or b" 304 " in head:
            return head, b""
        if b"\r\ntransfer-encoding: chunked" in head.lower():
            return head, await self._chunks()
        _, _, rest = head.lower().partition(b"\r\ncontent-length: ")
        return head, await self.reader.readexactly(int(rest.split(b"\r\n")[0]))

    async def ask(self, url: str, host: str = "", method: str = "GET", rest: bytes = b"\r\n") -> tuple[bytes, bytes]:
        await self.tell(f"{method} {url} HTTP/1.1\r\nHost: {host or url.split('/')[2]}\r\n".encode() + rest)
        return await self.answer(method)

    async def rest(self) -> bytes:
        """Return all that comes until the proxy closes."""
        with suppress(ConnectionError):
            return await self.reader.read()
        return b""

    async def dig(self, authority: str) -> None:
        """Open a tunnel and speak TLS in it."""
        await self.tell(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert await self.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 200 Connection established\r\n\r\n"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2", "http/1.1"])
        await self.writer.start_tls(context, server_hostname=authority.rpartition(":")[0])

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += (await self.reader.readexactly(size + 2))[:-2]
        assert await self.reader.readline() == b"\r\n"
        return body


class Proxied:
    """A proxy that serves."""

    def __init__(self, proxy: RecordingProxy, port: int, upstream: Scripted, served: Served) -> None:
        self.proxy = proxy
        self.port = port
        self.upstream = upstream
        self.served = served

    @property
    def asked(self) -> list[BrowserRequest]:
        return self.upstream.asked

    async def connect(self) -> Client:
        return Client(*await asyncio.open_connection("127.0.0.1", self.port))


@asynccontextmanager
async def proxied(answering: Answering, bounds: ProxyBounds | None = None, **serving: Any) -> AsyncIterator[Proxied]:
    """Serve an upstream; connections of clients are closed at the end."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = RecordingProxy(listener, KEY, bounds or ProxyBounds())
    upstream = Scripted(answering)
    clients: list[Client] = []
    try:
        async with proxy.serving(upstream, **serving) as served:
            running = Proxied(proxy, listener.getsockname()[1], upstream, served)
            connect = running.connect

            async def connected() -> Client:
                clients.append(await connect())
                return clients[-1]

            running.connect = connected  # type: ignore[method-assign]
            yield running
    finally:
        for client in clients:
            client.writer.transport.abort()
        await proxy.close()
        await asyncio.sleep(0)


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)
