"""Connections whose request has not been read up to the end of its head: bounded in time and in number."""

import resource
import socket
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from aahcrawler.service.web.problems import BAD_REQUEST, ProblemError, answer

HEAD_SECONDS = 10.0
"""Seconds from the begin of a connection, or of the next request on it, to the end of the head."""
HEAD_BYTES = 2**16
"""Bytes of a head: a query may be as long as the longest URL, or as most queries in SPARQL."""
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


_Event = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]


def _framed_once(next_event: Callable[[], _Event]) -> Callable[[], _Event]:
    """Return what refuses requests whose body ends by two measures: a proxy before us may go by the other one.

    RFC 9112, section 6.1, lets a server refuse them.
    """

    def checked() -> _Event:
        event = next_event()
        if isinstance(event, h11.Request):
            names = {name.lower() for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("A request has Content-Length or Transfer-Encoding, not both.")
        return event

    return checked


class HttpProtocol(H11Protocol):
    """A connection of the service that counts among the ``heads`` while its request's head is not whole."""

    def __init__(self, heads: UnfinishedHeads, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._heads = heads
        self.conn.next_event = _framed_once(self.conn.next_event)  # type: ignore[method-assign]

    def connection_made(self, transport: Any) -> None:
        """Expect a head from now on, and send what is written at once.

        An answer goes out in two pieces, and asyncio itself sees to that only for sockets that name their protocol:
        for others the second piece would wait for the client to confirm the first one, which takes it 40 ms.
        """
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._heads.begun(self)

    def data_received(self, data: bytes) -> None:
        """Read on; whoever has sent a part of a head is expected to send the rest."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._heads.begun(self)
        else:
            self._heads.ended(self)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP with a problem."""
        said = answer(
            ProblemError(BAD_REQUEST, f"{msg} The line of a request and its headers have at most {HEAD_BYTES:,} bytes")
        )
        headers = [*said.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=said.status_code, headers=headers, reason=BAD_REQUEST.status.phrase.encode()),
            h11.Data(data=bytes(said.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._heads.ended(self)
        super().connection_lost(exc)
