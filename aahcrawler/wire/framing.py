"""Finds the end of the body of a response (RFC 9112, section 6.3), and removes the transfer coding."""

import re
from typing import Protocol

from aahcrawler.wire.head import Head

MAX_LINE_LENGTH = 16_384
"""Bytes of a chunk-size line or of all trailer lines together; more is no chunked body."""

_SIZE_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
_NEXT_CHUNK = re.compile(rb"\r?\n([0-9A-Fa-f]{1,15})\r?\n")
_BODILESS = frozenset({204, 304})


class FramingError(Exception):
    """Raised where the body breaks its own framing; the bytes taken before it stay good."""


class Framing(Protocol):
    """Splits the bytes after the head; ``self_delimiting`` is False where the body ends with the connection."""

    self_delimiting: bool
    complete: bool

    def feed(self, data: bytes, payload: list[memoryview]) -> int:
        """Append the payload in ``data`` to ``payload`` and return how many bytes belong to the body.

        Bytes after the end of the body are left alone. Raise ``FramingError`` where the body breaks its framing.
        """
        ...

    def end(self) -> None:
        """Note that the connection ended in order; ``complete`` is final then."""
        ...


class LengthFraming:
    """A body of known length."""

    self_delimiting = True

    def __init__(self, length: int) -> None:
        self._left = length
        self.complete = length == 0

    def feed(self, data: bytes, payload: list[memoryview]) -> int:
        """Take as many bytes as are still missing."""
        taken = min(self._left, len(data))
        payload.append(memoryview(data)[:taken])
        self._left -= taken
        self.complete = self._left == 0
        return taken

    def end(self) -> None:
        """Do nothing: a body of known length ends with its last byte only."""


class CloseFraming:
    """A body that lasts until the server closes the connection.

    Many servers omit TLS's closing alert; the body then counts as whole all the same, as in browsers.
    """

    self_delimiting = False

    def __init__(self) -> None:
        self.complete = False

    def feed(self, data: bytes, payload: list[memoryview]) -> int:
        """Take everything."""
        payload.append(memoryview(data))
        return len(data)

    def end(self) -> None:
        """Treat the end of the connection as the end of the body."""
        self.complete = True


class ChunkedFraming:
    """A chunked body.

    LF alone as a line end, blanks around a size and chunk extensions are accepted. A connection that ends after the
    last chunk without the final empty line ends the body as well.
    """

    self_delimiting = True

    def __init__(self) -> None:
        self.complete = False
        self._left = 0
        self._line = b""
        self._after_data = False
        self._trailer = False
        self._trailer_bytes = 0

    def feed(self, data: bytes, payload: list[memoryview]) -> int:
        """Take chunks, their size lines and trailers up to the final empty line."""
        view = memoryview(data)
        position = 0
        while position < len(data) and not self.complete:
            if self._left:
                taken = min(self._left, len(data) - position)
                payload.append(view[position : position + taken])
                self._left -= taken
                self._after_data = self._left == 0
                position += taken
            else:
                position = self._next_chunk(data, position) or self._feed_line(data, position)
        return position

    def end(self) -> None:
        """Accept the body as complete if only the empty line after the last chunk is missing."""
        self.complete = self.complete or self._trailer

    def _next_chunk(self, data: bytes, position: int) -> int:
        """Read the plain line between two chunks in one step.

        Otherwise a server could keep a reader busy with millions of tiny chunks.
        """
        match = _NEXT_CHUNK.match(data, position) if self._after_data and not self._line else None
        size = int(match[1], 16) if match else 0
        if match is None or size == 0:
            return 0
        self._after_data = False
        self._left = size
        return match.end()

    def _feed_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position)
        stop = len(data) if end < 0 else end
        line = self._line + data[position:stop]
        if len(line) > MAX_LINE_LENGTH:
            raise FramingError("a line of the chunked coding has no end")
        if end < 0:
            self._line = line
            return stop
        self._line = b""
        self._line_done(line.removesuffix(b"\r"))
        return stop + 1

    def _line_done(self, line: bytes) -> None:
        if self._trailer:
            self._trailer_bytes += len(line)
            self.complete = not line
            if self._trailer_bytes > MAX_LINE_LENGTH:
                raise FramingError("the trailer has no end")
        elif self._after_data:
            if line:
                raise FramingError("a chunk is longer than its size")
            self._after_data = False
        else:
            match = _SIZE_LINE.fullmatch(line)
            if match is None:
                raise FramingError(f"not a chunk size: {line[:40]!r}")
            self._left = int(match[1], 16)
            self._trailer = self._left == 0


def framing_of(head: Head, method: str) -> Framing:
    """Choose the framing of a final response.

    Chunked coding takes precedence over a length, in HTTP/1.0 as well. Several lengths must agree; contradictory ones,
    or one that is no number, are ignored, so that the body lasts as long as the connection.
    """
    if method == "HEAD" or head.line.status in _BODILESS:
        return LengthFraming(0)
    codings = head.elements("transfer-encoding")
    if codings and codings[-1] == "chunked":
        return ChunkedFraming()
    lengths = set(head.elements("content-length"))
    if len(lengths) == 1 and codings in {(), ("identity",)}:
        text = lengths.pop()
        if text.isascii() and text.isdigit() and len(text) <= 18:
            return LengthFraming(int(text))
    return CloseFraming()


def is_ambiguous(head: Head) -> bool:
    """Return whether another reader may see the body end elsewhere; such a connection is not reused."""
    lengths = head.elements("content-length")
    return len(set(lengths)) > 1 or bool(lengths and head.elements("transfer-encoding"))
