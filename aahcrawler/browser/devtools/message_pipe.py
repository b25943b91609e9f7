"""Send and take messages over two pipes, each ended by a NUL byte."""

import asyncio
import os
from collections.abc import Callable

_END = b"\0"
HEAD_BYTES = 1_000


class MessagePipe(asyncio.Protocol):
    """Two pipes on the running loop; opened by ``open``.

    ``take`` is given each message, and whether it is whole: one that is longer than ``most_bytes`` is cut after
    ``HEAD_BYTES``. ``end`` is called once, when the other side has closed or broken one of the pipes, or this one has.
    """

    def __init__(self, take: Callable[[bytes, bool], None], end: Callable[[], None], most_bytes: int) -> None:
        self._take = take
        self._end = end
        self._most = most_bytes
        self._pieces: list[bytes] = []
        self._length = 0
        self._transports: list[asyncio.BaseTransport] = []
        self._sink: asyncio.WriteTransport | None = None
        self._ended = False

    async def open(self, write_to: int, read_from: int) -> None:
        """Begin, with the file descriptors of the two pipes, which are closed at the end."""
        loop = asyncio.get_running_loop()
        sink, source = os.fdopen(write_to, "wb", 0), os.fdopen(read_from, "rb", 0)
        writing, _ = await loop.connect_write_pipe(lambda: _Writing(self.close), sink)
        self._sink = writing
        self._transports.append(writing)
        reading, _ = await loop.connect_read_pipe(lambda: self, source)
        self._transports.append(reading)

    @property
    def waiting_bytes(self) -> int:
        """Return how much the other side has not yet read."""
        return 0 if self._sink is None else self._sink.get_write_buffer_size()

    def send(self, message: bytes) -> None:
        """Send a message, at once as far as the pipe takes it."""
        if self._sink is not None and not self._ended:
            self._sink.write(message + _END)

    def data_received(self, data: bytes) -> None:
        """Cut what came into messages."""
        *whole, rest = data.split(_END)
        for piece in whole:
            self._keep(piece)
            message, self._pieces = b"".join(self._pieces), []
            fits, self._length = self._length <= self._most, 0
            self._take(message if fits else message[:HEAD_BYTES], fits)
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= self._most:
            self._pieces.append(piece)
        elif len(self._pieces) > 1:
            # What is too long is not held any more: but for its beginning, which says what it was.
            self._pieces = [b"".join(self._pieces)[:HEAD_BYTES]]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """End with the pipe that is read."""
        self.close()

    def close(self) -> None:
        """Close both pipes; messages that the other side has not read are lost."""
        if self._ended:
            return
        self._ended = True
        for transport in self._transports:
            if isinstance(transport, asyncio.ReadTransport):
                transport.close()
            elif isinstance(transport, asyncio.WriteTransport) and not transport.is_closing():
                transport.abort()
        self._end()


class _Writing(asyncio.BaseProtocol):
    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._lost()
