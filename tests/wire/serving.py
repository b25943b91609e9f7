"""Loopback servers that write raw bytes, and a client that may talk to them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from aahcrawler.wire.client import IpPolicy, WireClient, WireSettings

OPEN = IpPolicy(allow_private=True)


class Server:
    """Counts connections and keeps the request heads that came."""

    def __init__(self) -> None:
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def head(self, reader: asyncio.StreamReader) -> bytes:
        """Read one request without a body; b"" where the client has gone."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return b""
        self.requests.append(head)
        return head


@asynccontextmanager
async def serving(
    handler: Callable[[Server, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    *,
    host: str = "127.0.0.1",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Server]:
    """Serve with a handler a connection; what it leaves open is closed."""
    server = Server()
    tasks: set[asyncio.Task[Any]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await handler(server, reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    listening = await asyncio.start_server(connected, host, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for task in tuple(tasks):
            task.cancel()
        while tasks:
            await asyncio.sleep(0.005)


@asynccontextmanager
async def client(tmp_path: Path, **settings: Any) -> AsyncIterator[WireClient]:
    """Yield a client that may connect to loopback."""
    wire = WireClient(WireSettings(tmp_path / "spool", **{"addresses": OPEN, **settings}))
    try:
        yield wire
    finally:
        await wire.close()


def answering(*responses: bytes, close: bool = False) -> Callable[..., Awaitable[None]]:
    """Answer each request of a connection with the next response, the last one again and again."""

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while await server.head(reader):
            writer.write(responses[min(number, len(responses) - 1)])
            await writer.drain()
            number += 1
            if close:
                return

    return handler
