"""One connection to a server: exchanges one after another, with timeouts and back-pressure."""

import asyncio
import socket as sockets
from collections import OrderedDict
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from socket import IPPROTO_TCP
from typing import Protocol, cast

from aahcrawler.exchange import Truncation
from aahcrawler.wire.errors import DisconnectError, SpoolError, WireError, WireTimeoutError
from aahcrawler.wire.reception import Reception
from aahcrawler.wire.request import Origin
from aahcrawler.wire.settings import KeepAlive

PULSE = 0.25
"""Seconds between two looks at whether this process kept up while it waits for a first byte."""
_QUICK_ACK: int | None = getattr(sockets, "TCP_QUICKACK", None)
"""The socket option to acknowledge at once; None on systems other than Linux."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for the first byte and between bytes, and the loop time at which the exchange must end.

    Once the event ``until`` is set, the exchange ends at once.
    """

    first_byte: float
    idle: float
    deadline: float
    until: asyncio.Event | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The other end of a connection.

    ``ip_address`` is empty if only a proxy knows it; ``proxy`` names that proxy; ``tls_problem`` says what is wrong
    with a certificate that was accepted nevertheless.
    """

    ip_address: str = ""
    proxy: str = ""
    tls_problem: str = ""


class Owner(Protocol):
    """Keeps track of connections; ``closed`` is called once after each ``opened``."""

    def opened(self, connection: "Connection") -> None:
        """Register a connection that is ready for use."""
        ...

    def closed(self, connection: "Connection") -> None:
        """Unregister a connection that can no longer be used."""
        ...


class Connection(asyncio.Protocol):
    """A connection with the states idle -> receiving -> idle | closed.

    While captured bytes are written to disk (in ``executor``), reading is paused, so that memory stays bounded however
    fast the server sends. Bytes that arrive while the connection is idle belong to no response; they close the
    connection.
    """

    def __init__(self, executor: Executor, owner: Owner) -> None:
        self.address = ""
        """The IP address of the site, or the name of its host where only a proxy knows that."""
        self.port = 0
        self.end = End()
        self._loop = asyncio.get_running_loop()
        self._executor = executor
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._reception: Reception | None = None
        self._settled: asyncio.Future[None] | None = None
        self._spilling: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._patience = Patience(0, 0, 0)
        self._heard_at = 0.0
        self._first_byte_at: float | None = None
        self._pulse: asyncio.TimerHandle | None = None
        self._late = 0.0

    @property
    def usable(self) -> bool:
        """Return whether another exchange can be started."""
        return self._reception is None and self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, reception: Reception, patience: Patience) -> float:
        """Send a request and fill the reception; return for how many seconds the server let wait for the first byte.

        Time during which this process was too busy to look is not the server's: politeness would wait for multiples of
        it. Raises ``WireError`` if the head of the response does not come whole. The connection is closed unless the
        response ended where its framing says and the server keeps it open.
        """
        assert self._transport is not None  # noqa: S101
        if self._transport.is_closing():
            raise DisconnectError("the server closed the connection before the request was sent")
        self._reception, self._patience, self._first_byte_at = reception, patience, None
        self._settled = self._loop.create_future()
        started = self._heard_at = self._loop.time()
        self._late = 0.0
        self._transport.write(request)
        self._watch()
        self._pulse = self._loop.call_at(started + PULSE, self._keep_up)
        ending = None if patience.until is None else asyncio.ensure_future(self._end_with(patience.until))
        try:
            await self._settled
            await self._spilled()
        finally:
            self._stop_watching()
            if ending is not None:
                ending.cancel()
            if not reception.reusable:
                self._discard(reception)
            self._reception = self._settled = self._spilling = None
        return (self._first_byte_at or self._loop.time()) - started - self._late

    def close(self) -> None:
        """Close the connection gracefully."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, even during an exchange."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to the reception in progress."""
        reception = self._reception
        if reception is None or self._settled is None:
            self.abort()
            return
        if self._settled.done():
            reception.surplus = True
            return
        self._heard_at = self._loop.time()
        first = self._first_byte_at is None
        if first:
            self._first_byte_at = self._heard_at
            self._keep_up()
        try:
            reception.feed(data)
        except WireError as error:
            self._settle(error)
            return
        if reception.done:
            self._settle()
        elif first:
            self._acknowledge()
        elif reception.spool.overdue and self._spilling is None:
            self._spill(reception)

    def _acknowledge(self) -> None:
        """Acknowledge the head of a response at once.

        Many servers send head and body in two writes, and delay the second until the first is acknowledged; the system
        would delay the acknowledgement by 40 ms.
        """
        assert self._transport is not None  # noqa: S101
        socket = self._transport.get_extra_info("socket")
        if socket is not None and _QUICK_ACK is not None:
            with suppress(OSError):
                socket.setsockopt(IPPROTO_TCP, _QUICK_ACK, 1)

    def eof_received(self) -> None:
        """Note that the server will send no more; the transport closes itself."""
        self._ended(clean=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection is gone."""
        self._ended(clean=exc is None)
        self._owner.closed(self)

    def _ended(self, *, clean: bool) -> None:
        reception = self._reception
        if reception is None or reception.done:
            return
        try:
            if clean:
                reception.end()
            else:
                reception.cut(Truncation.DISCONNECT)
        except WireError as error:
            self._settle(error)
        else:
            self._settle()

    def _settle(self, error: Exception | None = None) -> None:
        if self._settled is None or self._settled.done():
            return
        if error is None:
            self._settled.set_result(None)
        else:
            self._settled.set_exception(error)

    def _discard(self, reception: Reception) -> None:
        # A body that was cut would go on arriving during an orderly close.
        if reception.truncated or not reception.done:
            self.abort()
        else:
            self.close()

    def _watch(self) -> None:
        patience = self._patience
        gap = patience.first_byte if self._first_byte_at is None else patience.idle
        limit = min(patience.deadline, self._heard_at + gap)
        now = self._loop.time()
        if now < limit:
            # The gap that counts shrinks when the first byte comes: look again no later than that.
            self._timer = self._loop.call_at(min(limit, now + patience.idle), self._watch)
        elif self._spilling is not None and now < patience.deadline:
            self._heard_at = now
            self._timer = self._loop.call_at(min(patience.deadline, now + gap), self._watch)
        else:
            self._expire(now - self._heard_at)

    def _keep_up(self) -> None:
        """Count by how much the loop is late, and look again until the first byte comes."""
        if self._pulse is None:
            return
        now = self._loop.time()
        self._late += max(0.0, now - self._pulse.when())
        self._pulse.cancel()
        self._pulse = self._loop.call_at(now + PULSE, self._keep_up) if self._first_byte_at is None else None

    async def _end_with(self, until: asyncio.Event) -> None:
        await until.wait()
        self._expire(self._loop.time() - self._heard_at)

    def _expire(self, silence: float) -> None:
        reception = self._reception
        if reception is None or reception.done:
            return
        if reception.head is None:
            what = "no response" if self._first_byte_at is None else "the head of the response was not complete"
            self._settle(WireTimeoutError(f"{what} when time ran out, {silence:.1f} s after the last sign of life"))
        else:
            reception.cut(Truncation.TIME)
            self._settle()

    def _stop_watching(self) -> None:
        for timer in (self._timer, self._pulse):
            if timer is not None:
                timer.cancel()
        self._timer = self._pulse = None

    def _spill(self, reception: Reception) -> None:
        assert self._transport is not None  # noqa: S101
        self._transport.pause_reading()
        self._spilling = self._loop.run_in_executor(self._executor, reception.spool.spill)
        self._spilling.add_done_callback(partial(self._resume, reception))

    def _resume(self, reception: Reception, spilling: asyncio.Future[None]) -> None:
        error = None if spilling.cancelled() else spilling.exception()
        if self._spilling is not spilling:
            reception.spool.close()  # The exchange was cancelled meanwhile: nobody else will.
        elif error is not None:
            self._settle(_spool_error(error))
        else:
            self._spilling = None
            self._heard_at = self._loop.time()
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()

    async def _spilled(self) -> None:
        spilling = self._spilling
        if spilling is not None:
            await asyncio.wait([spilling])
            error = spilling.exception()
            if error is not None:
                raise _spool_error(error)


def _spool_error(error: BaseException) -> SpoolError:
    raised = SpoolError(f"the response could not be kept: {error}")
    raised.__cause__ = error
    return raised


class Pool:
    """Tracks all connections, and the idle ones by origin.

    The most recently used one is taken first; the one idle longest is closed if there are too many. A connection keeps
    the IP address that was checked when it was opened, whatever the name service says later.
    """

    def __init__(self, settings: KeepAlive) -> None:
        self._settings = settings
        self._open: set[Connection] = set()
        self._all_closed = asyncio.Event()
        self._idle: OrderedDict[Connection, Origin] = OrderedDict()
        self._by_origin: dict[Origin, list[Connection]] = {}
        self._timers: dict[Connection, asyncio.TimerHandle] = {}

    def opened(self, connection: Connection) -> None:
        """Register an open connection."""
        self._open.add(connection)
        self._all_closed.clear()

    def closed(self, connection: Connection) -> None:
        """Unregister a closed connection."""
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
        """Remove and return an idle connection to an origin; None if there is none."""
        while waiting := self._by_origin.get(origin):
            connection = waiting[-1]
            self._forget(connection)
            if connection.usable:
                return connection
            connection.close()
        return None

    def put(self, origin: Origin, connection: Connection) -> None:
        """Keep a usable connection for reuse, closing connections beyond the limits."""
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
