"""The recording proxy: a browser's only way to the network, which asks somebody else for every answer."""

import asyncio
from asyncio import StreamReader, StreamWriter, Task
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from socket import socket

from aahcrawler.browser.network.proxy_bounds import ProxyBounds
from aahcrawler.browser.network.proxy_connection import ProxyConnection
from aahcrawler.browser.network.proxy_key import ProxyKey
from aahcrawler.browser.network.served import Peer, Served
from aahcrawler.browser.network.upstream import Upstream

_BACKLOG = 256
_BOUNDS = ProxyBounds()


def _anyone(_: Peer) -> bool:
    return True


class RecordingProxy:
    """An HTTP proxy on a listening socket that is given to it, and closed with it.

    It reaches nothing by itself. While nobody is served, connections are closed as they come, so that nothing of one
    visit is asked for in the next one. TLS ends here, by a key that only the browser trusts.
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
        """Have an upstream answer all requests that come meanwhile; at the end they and their connections are cut.

        ``accepts`` says whose connections are taken. One upstream is served at a time.
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
        """Begin to listen, if that has not been done: ``serving`` does so by itself."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, sock=self._listener, backlog=_BACKLOG)

    async def close(self) -> None:
        """Listen no more."""
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
