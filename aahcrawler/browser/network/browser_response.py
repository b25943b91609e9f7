"""One response on its way to the browser; the proxy frames its messages itself."""

import asyncio
import re
import tempfile
from asyncio import StreamWriter
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

_PIECE = 1 << 16


class ResponseQueue:
    """A queue in memory up to a limit, then in an unlinked temporary file.

    ``put`` never waits, so that a slow reader does not delay the writer. The order is kept: once the file is used,
    everything goes to it until it has been read to its end.
    """

    def __init__(self, memory_bytes: int, file_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._file_bytes = file_bytes
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._file: BinaryIO | None = None
        self._read = 0
        self._written = 0
        self._ended = False
        self._changed = asyncio.Event()

    def put(self, piece: bytes) -> bool:
        """Add bytes; return whether there was space. Must not be called after ``end``."""
        if self._file is None and self._size < self._memory_bytes:
            self._pieces.append(piece)
            self._size += len(piece)
        elif not self._write(piece):
            return False
        self._changed.set()
        return True

    def end(self) -> None:
        """Mark the end of the bytes."""
        self._ended = True
        self._changed.set()

    async def get(self) -> bytes:
        """Return the next bytes; b"" at the end."""
        while True:
            if self._pieces:
                piece = self._pieces.popleft()
                self._size -= len(piece)
                return piece
            if self._file is not None:
                return self._from(self._file)
            if self._ended:
                return b""
            self._changed.clear()
            await self._changed.wait()

    def discard(self) -> None:
        """Drop bytes that nobody will read."""
        self._pieces.clear()
        self._size = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, piece: bytes) -> bool:
        if self._file is None:
            self._read = self._written = 0
        if self._written + len(piece) > self._file_bytes:
            return False
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed when it has been read
            self._file.seek(self._written)
            self._file.write(piece)
        except OSError:
            return False  # The disk is full: the same as no room.
        self._written += len(piece)
        return True

    def _from(self, file: BinaryIO) -> bytes:
        file.seek(self._read)
        piece = file.read(_PIECE)
        self._read += len(piece)
        if self._read == self._written:
            file.close()
            self._file = None
        return piece


_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def end_to_end(headers: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the fields without the hop-by-hop ones (RFC 9110, section 7.6.1), the others in their order and case.

    Fields named in Connection stay: a browser ignores such names, and should see what it would see without a proxy.
    """
    return tuple((name, value) for name, value in headers if name.lower() not in _HOP)


MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ProxyBounds:
    """The limits of one browser's use of the proxy.

    At most ``connections`` may be open at once; further ones are closed. At most ``requests`` may be in progress at
    once; further ones wait. A request has at most ``head_bytes`` and ``body_bytes`` and must arrive within
    ``request_seconds``; a connection may be idle for ``idle_seconds``. If the browser reads a response too slowly,
    ``memory_bytes`` of it are buffered in memory and ``file_bytes`` in a file; then it is cut.
    """

    connections: int = 256
    requests: int = 32
    head_bytes: int = 256 * 1024
    body_bytes: int = 16 * MEBIBYTE
    request_seconds: float = 30.0
    idle_seconds: float = 120.0
    memory_bytes: int = MEBIBYTE
    file_bytes: int = 64 * MEBIBYTE


FAILED = b"HTTP/1.1 502 Failed\r\nContent-Length: 1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
"""What is sent if a request gets no response: Chromium treats it as a network error (two lengths), and does not retry.

Scripts could read an error status, and if a connection closes without a word, Chromium sends the request again.
"""

_BODILESS = frozenset({204, 304})
_PROXY_LOGIN = 407
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MAX_LENGTH = 18
"""The most digits of a valid length."""


class BrowserResponse:
    """Relays a response to the browser: status, reason, and end-to-end header fields in their order and case.

    The body is relayed as it comes, with the length that the server gave, else chunked. A response that fails after it
    has begun is broken off, as if the server had done so. It fails as well where no browser could accept it (an invalid
    status, a second head), and for 407, which a browser would take for the proxy's. A response of known length, or
    without a body, is complete with its last byte: its connection does not wait for the upstream to return.
    """

    def __init__(self, method: str, bounds: ProxyBounds) -> None:
        self._method = method
        self._queue = ResponseQueue(bounds.memory_bytes, bounds.file_bytes)
        self._begun = False
        self._failed = ""
        self.whole = False
        """Whether all of the response has come."""
        self.abandoned = False
        """Whether the browser has gone, so that nothing more is sent."""
        self._bodiless = False
        self._left: int | None = None
        """Bytes that are still to come; None where the body is chunked."""

    @property
    def failed(self) -> str:
        """The word for why the browser gets no complete response; empty if it does."""
        return self._failed

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """Relay the head."""
        if self._begun or not 200 <= status < 1000:
            self.fail("protocol")
        elif status == _PROXY_LOGIN:
            self.fail("proxy login")
        if self._failed:
            return
        self._begun = True
        self._bodiless = self._method == "HEAD" or status in _BODILESS
        lengths = {value.strip() for name, value in headers if name.lower() == "content-length"}
        coded = any(name.lower() == "transfer-encoding" for name, _ in headers)
        self._left = None if coded or self._bodiless else _length(lengths)
        lines = [f"HTTP/1.1 {status} {_CONTROLS.sub(' ', reason)}", *self._fields(headers), "", ""]
        self._put("\r\n".join(lines).encode("latin-1", "replace"))
        if self._bodiless or self._left == 0:
            self._complete()

    def take(self, piece: bytes) -> None:
        """Relay a piece of the body."""
        if self._failed or self.whole or not self._begun or not piece:
            return
        if self._left is None:
            self._put(b"%x\r\n%b\r\n" % (len(piece), piece))
            return
        self._put(piece[: self._left])  # A browser reads no further either.
        self._left -= min(self._left, len(piece))
        if self._left == 0:
            self._complete()

    def end(self) -> None:
        """Mark the response as complete."""
        if not self._begun:
            self.fail("no answer")
        elif self._left:
            self.fail("cut off")
        elif not self._failed and not self.whole:
            self._put(b"0\r\n\r\n")
            self._complete()

    def fail(self, reason: str) -> None:
        """Break the response off, unless it is complete; the first reason is kept."""
        if not self.whole:
            self._failed = self._failed or reason
            self._queue.end()

    def abandon(self) -> None:
        """Record that the browser is gone, or has received everything."""
        self.abandoned = True
        self._queue.end()
        self._queue.discard()

    async def send(self, writer: StreamWriter) -> bool:
        """Write the response as it comes; return whether the connection can carry another one.

        Raises ``OSError`` if the browser closes it.
        """
        while piece := await self._queue.get():
            writer.write(piece)
            await writer.drain()
        if self._failed and not self._begun:
            writer.write(FAILED)
        return not self._failed and not self.abandoned

    def _complete(self) -> None:
        self.whole = not self._failed
        self._queue.end()

    def _put(self, data: bytes) -> None:
        if not self.abandoned and not self._queue.put(data):
            self.fail("slow browser")

    def _fields(self, headers: Sequence[tuple[str, str]]) -> list[str]:
        """Return the lines of the fields, without any that could end the head or change the body's framing."""
        framed = self._left is not None or self._bodiless
        kept = [
            (name, value)
            for name, value in end_to_end(headers)
            if _TOKEN.fullmatch(name) and (framed or name.lower() != "content-length")
        ]
        lines = [f"{name}: {_CONTROLS.sub(' ', value)}" for name, value in kept]
        return lines if framed else [*lines, "Transfer-Encoding: chunked"]


def _length(lengths: set[str]) -> int | None:
    text = lengths.pop() if len(lengths) == 1 else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_LENGTH else None
