"""Connections whose request has not been read up to the end of its head: bounded in time and in number."""

import resource
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds from the begin of a connection, or of the next request on it, to the end of the head."""
_PART = 4
"""Of the files that this process may have open, every so manieth may be such a connection."""
_MOST = 1000


def most_connections() -> int:
    """Return how many connections without a whole head this process can afford."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(1, min(_MOST, files // _PART)) if files != resource.RLIM_INFINITY else _MOST


@dataclass(slots=True)
class UnfinishedHeads:
    """Keeps the connections without a whole head, the oldest first, and closes those beyond its bounds."""

    seconds: float = HEAD_SECONDS
    most: int = field(default_factory=most_connections)
    _waiting: OrderedDict["HttpProtocol", Any] = field(default_factory=OrderedDict)

    def begun(self, connection: "HttpProtocol") -> None:
        """Count a connection in, unless it is; the oldest gives way where there are too many."""
        if connection not in self._waiting:
            self._waiting[connection] = connection.loop.call_later(self.seconds, self._close, connection)
            if len(self._waiting) > self.most:
                self._close(next(iter(self._waiting)))

    def ended(self, connection: "HttpProtocol") -> None:
        """Count a connection out: its head is whole, or it is closed."""
        timer = self._waiting.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _close(self, connection: "HttpProtocol") -> None:
        self.ended(connection)
        connection.transport.abort()


class HttpProtocol(H11Protocol):
    """A connection of the service that counts among the ``heads`` while its request's head is not whole."""

    def __init__(self, heads: UnfinishedHeads, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._heads = heads

    def connection_made(self, transport: Any) -> None:
        """Expect a head from now on."""
        super().connection_made(transport)
        self._heads.begun(self)

    def data_received(self, data: bytes) -> None:
        """Read on; whoever has sent a part of a head is expected to send the rest."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._heads.begun(self)
        else:
            self._heads.ended(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._heads.ended(self)
        super().connection_lost(exc)
