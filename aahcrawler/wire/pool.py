"""The open connections, and those of them that are idle and can be reused."""

import asyncio
from collections import OrderedDict
from contextlib import suppress

from aahcrawler.wire.connection import Connection
from aahcrawler.wire.request import Origin
from aahcrawler.wire.settings import KeepAlive


class Pool:
    """Tracks all connections, and the idle ones by origin.

    The most recently used one is taken first; the one idle longest is closed when there are too many. A connection
    keeps the IP address that was checked when it was opened, whatever the name service says of its host later.
    """

    def __init__(self, settings: KeepAlive) -> None:
        self._settings = settings
        self._open: set[Connection] = set()
        self._all_closed = asyncio.Event()
        self._idle: OrderedDict[Connection, Origin] = OrderedDict()
        self._by_origin: dict[Origin, list[Connection]] = {}
        self._timers: dict[Connection, asyncio.TimerHandle] = {}

    def opened(self, connection: Connection) -> None:
        """Count a connection in."""
        self._open.add(connection)
        self._all_closed.clear()

    def closed(self, connection: Connection) -> None:
        """Count a connection out."""
        self._open.discard(connection)
        self._forget(connection)
        if not self._open:
            self._all_closed.set()

    async def close(self, patience: float) -> None:
        """Close every connection at once, waiting ``patience`` seconds at most."""
        for connection in tuple(self._open):
            connection.abort()
        if self._open:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_closed.wait(), patience)

    def take(self, origin: Origin) -> Connection | None:
        """Remove and return an idle connection to an origin, None where there is none."""
        while waiting := self._by_origin.get(origin):
            connection = waiting[-1]
            self._forget(connection)
            if connection.usable:
                return connection
            connection.close()
        return None

    def put(self, origin: Origin, connection: Connection) -> None:
        """Keep a usable connection, and close those beyond the limits."""
        if not connection.usable or self._settings.seconds <= 0 or self._settings.connections < 1:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        self._idle[connection] = origin
        self._by_origin.setdefault(origin, []).append(connection)
        self._timers[connection] = loop.call_later(self._settings.seconds, self._drop, connection)
        if len(self._by_origin[origin]) > self._settings.per_origin:
            self._drop(self._by_origin[origin][0])
        elif len(self._idle) > self._settings.connections:
            self._drop(next(iter(self._idle)))

    def _forget(self, connection: Connection) -> None:
        origin = self._idle.pop(connection, None)
        if origin is None:
            return
        self._timers.pop(connection).cancel()
        waiting = self._by_origin[origin]
        waiting.remove(connection)
        if not waiting:
            del self._by_origin[origin]

    def _drop(self, connection: Connection) -> None:
        self._forget(connection)
        connection.close()
