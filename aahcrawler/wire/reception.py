"""Parse one response as its bytes arrive: find where it ends and keep its bytes, without any I/O."""

import hashlib
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol

from aahcrawler.exchange import Truncation
from aahcrawler.wire.errors import DisconnectError, HeaderLimitError, ProtocolError
from aahcrawler.wire.relay import Relay

HEAD_END = re.compile(rb"\n\r?\n")
BLANK = b"\r\n \t"
_BLANKS = " \t\r"
_STATUS_LINE = re.compile(rb"(?:HTTP/(\d{1,3})(?:\.(\d{1,3}))?|ICY)[ \t]+(\d{3})(?!\d)[ \t]*(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatusLine:
    """A parsed status line; ``reason`` is empty if the server sends none."""

    version: tuple[int, int]
    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Head:
    """A parsed head in ISO 8859-1; ``headers`` keeps order and case, and joins a folded value by single spaces."""

    line: StatusLine
    headers: tuple[tuple[str, str], ...]

    def elements(self, name: str) -> tuple[str, ...]:
        """Return the comma-separated elements of every field with this name, in lower case, without empty ones."""
        values = (value for key, value in self.headers if key.lower() == name)
        elements = (element.strip(" \t").lower() for value in values for element in value.split(","))
        return tuple(element for element in elements if element)

    @property
    def keeps_alive(self) -> bool:
        """Return whether the server intends to keep the connection open after this response."""
        options = self.elements("connection")
        if "close" in options:
            return False
        return self.line.version >= (1, 1) or "keep-alive" in options


def parse_status_line(line: bytes) -> StatusLine | None:
    """Parse a status line without its line end; None if it is not one.

    Any case of ``HTTP``, several blanks, a missing minor version and a missing reason are accepted, and ``ICY``
    (streaming servers) as HTTP/1.0.

    >>> parse_status_line(b"HTTP/1.1 404")
    StatusLine(version=(1, 1), status=404, reason='')
    """
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        return None
    major, minor, status, reason = match.groups()
    version = (int(major), int(minor or 0)) if major else (1, 0)
    return StatusLine(version, int(status), reason.decode("latin-1").rstrip(_BLANKS))


def parse_head(raw: bytes) -> Head:
    """Parse a head that ends with an empty line; lines may end in LF alone.

    Lines without a colon are skipped, and blanks before a colon ignored. Raises ``ProtocolError`` for an invalid status
    line.
    """
    first, *lines = raw.decode("latin-1").replace("\r\n", "\n").rstrip("\r\n").split("\n")
    line = parse_status_line(first.encode("latin-1"))
    if line is None:
        raise ProtocolError(f"not a status line: {first[:80]!r}")
    headers: list[tuple[str, str]] = []
    folded = False
    for text in lines:
        if text[:1] in {" ", "\t"}:
            if folded:
                name, value = headers[-1]
                headers[-1] = (name, f"{value} {text.strip(_BLANKS)}".strip(_BLANKS))
            continue
        name, colon, value = text.partition(":")
        folded = bool(colon)
        if colon:
            headers.append((name.rstrip(_BLANKS), value.strip(_BLANKS)))
    return Head(line, tuple(headers))


MAX_LINE_LENGTH = 16_384
"""The most bytes of a chunk-size line, or of all trailer lines together; a longer one means the body is not chunked."""

_SIZE_LINE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
_NEXT_CHUNK = re.compile(rb"\r?\n([0-9A-Fa-f]{1,15})\r?\n")
_BODILESS = frozenset({204, 304})


class FramingError(Exception):
    """Raised when the body breaks its own framing; the bytes read before are valid."""


class Framing(Protocol):
    """Finds the payload after the head; ``self_delimiting`` is False if the body ends with the connection."""

    self_delimiting: bool
    complete: bool

    def feed(self, data: bytes, payload: list[memoryview]) -> int:
        """Append the payload in ``data`` to ``payload`` and return how many bytes belong to the body.

        Bytes after the end of the body are not read. Raises ``FramingError`` if the body breaks its framing.
        """
        ...

    def end(self) -> None:
        """Handle the orderly end of the connection, after which ``complete`` is final."""
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

    Many servers omit TLS's closing alert; the body counts as whole nevertheless, as in browsers.
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


class Spool:
    """Collects bytes in memory up to a limit, then in an unlinked temporary file of a folder.

    ``write`` never accesses the disk. When ``overdue`` is True, call ``spill``, from any thread, before much more is
    written, and nothing else on the instance until it returns. ``spill`` and ``open`` raise ``OSError`` if the disk is
    full or the folder cannot be written to.
    """

    def __init__(self, folder: Path, memory_bytes: int) -> None:
        self._folder = folder
        self._memory_bytes = memory_bytes
        self._buffer = bytearray()
        self._file: BinaryIO | None = None
        self.size = 0

    @property
    def overdue(self) -> bool:
        """Return whether more bytes are in memory than the limit allows."""
        return len(self._buffer) > self._memory_bytes

    @property
    def spilled(self) -> bool:
        """Return whether some of the bytes are on disk."""
        return self._file is not None

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        self._buffer += data
        self.size += len(data)

    def spill(self) -> None:
        """Move the bytes in memory to the temporary file."""
        buffer, self._buffer = self._buffer, bytearray()
        if self._file is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  # the exchange owns it
        self._file.write(buffer)
        self._file.flush()

    def open(self) -> BinaryIO:
        """Return all bytes as a file at its start, which the caller closes; the spool cannot be used afterwards."""
        if self._file is None:
            return BytesIO(self._buffer)
        if self._buffer:
            self.spill()
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Discard the collected bytes."""
        self._buffer = bytearray()
        if self._file is not None:
            self._file.close()


SWITCHING_PROTOCOLS = 101
MANY_PIECES = 16
"""From this many pieces on, joining them costs less than as many updates of a digest."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits on what is received of a response.

    ``head_bytes`` and ``head_lines`` limit the head, interim responses included; ``body_bytes`` the body as received,
    transfer coding included; ``payload_bytes`` is how much of the payload is kept in memory. ``wanted`` is called with
    status and fields, and returns whether the body is received at all.
    """

    head_bytes: int
    head_lines: int
    body_bytes: int
    payload_bytes: int
    wanted: Callable[[int, Sequence[tuple[str, str]]], bool] | None = None


class Reception:
    """Processes the connection's bytes until the response is ``done``.

    States: head -> body -> done. Blank lines before the status line and interim responses are not archived. A body that
    breaks its framing, or exceeds its limit, is done at that point and ``truncated`` gives the reason; the received
    bytes stay. ``feed`` raises ``ProtocolError`` or ``HeaderLimitError`` for an unacceptable head. ``relay`` is given
    the final head and the payload as they come; it does not affect the captured bytes.
    """

    def __init__(self, method: str, bounds: Bounds, spool: Spool, relay: Relay | None = None) -> None:
        self.spool = spool
        self._relay = relay
        self.head: Head | None = None
        self.done = False
        self.truncated: Truncation | None = None
        self.surplus = False
        self.payload_size = 0
        self._method = method
        self._bounds = bounds
        self._framing: Framing | None = None
        self._pending = bytearray()
        self.head_size = 0
        self._head_bytes = 0
        self._line_checked = False
        self._body_bytes = 0
        self._digest = hashlib.sha1(usedforsecurity=False)
        self._kept = bytearray()

    @property
    def payload(self) -> bytes:
        """The kept beginning of the body, without transfer coding."""
        return bytes(self._kept)

    @property
    def payload_digest(self) -> bytes:
        """The SHA-1 of the whole body as received, without transfer coding."""
        return self._digest.digest()

    @property
    def reusable(self) -> bool:
        """Return whether the connection can carry another exchange after this one."""
        if self.head is None or self._framing is None or self.truncated or self.surplus or not self.done:
            return False
        return self._framing.self_delimiting and self.head.keeps_alive and not is_ambiguous(self.head)

    def feed(self, data: bytes) -> None:
        """Process bytes that arrived."""
        if self._framing is None:
            data = self._feed_head(data)
        if data and self._framing is not None:
            self._feed_body(data, self._framing)

    def end(self) -> None:
        """Handle the orderly end of the connection."""
        if self._framing is not None:
            self._framing.end()
            if self._framing.complete:
                self.done = True
        if not self.done:
            self.cut(Truncation.DISCONNECT)

    def cut(self, truncation: Truncation) -> None:
        """End the response at this point. Raises ``DisconnectError`` if its head is not whole."""
        if self.head is None:
            raise DisconnectError("the connection was closed before the response began")
        self.truncated = truncation
        self.done = True

    def salvage(self) -> bool:
        """Capture the beginning of an incomplete head; return whether it contains a status line."""
        if self.head is None and _status_line_of(self._pending) is not None:
            self.spool.write(bytes(self._pending))
            self._pending.clear()
        return self.spool.size > 0

    def _feed_head(self, data: bytes) -> bytes:
        self._pending += data
        scan_from = max(0, len(self._pending) - len(data) - 2)
        while self.head is None:
            self._skip_blank()
            end = HEAD_END.search(self._pending, scan_from)
            self._check_head(end.end() if end else None)
            if end is None:
                return b""
            raw = bytes(self._pending[: end.end()])
            del self._pending[: end.end()]
            scan_from = 0
            self._take_head(raw)
        rest = bytes(self._pending)
        self._pending.clear()
        return rest

    def _skip_blank(self) -> None:
        if self._pending[:1].isspace():
            before = len(self._pending)
            self._pending = self._pending.lstrip(BLANK)
            self._head_bytes += before - len(self._pending)

    def _check_head(self, end: int | None) -> None:
        size = self._head_bytes + (len(self._pending) if end is None else end)
        if size > self._bounds.head_bytes:
            raise HeaderLimitError(f"the head of the response has more than {self._bounds.head_bytes} bytes")
        if end is not None and self._pending.count(b"\n", 0, end) > self._bounds.head_lines:
            raise HeaderLimitError(f"the head of the response has more than {self._bounds.head_lines} lines")
        if not self._line_checked and b"\n" in self._pending:
            self._line_checked = True
            if _status_line_of(self._pending) is None:
                raise ProtocolError(f"no HTTP response: {bytes(self._pending[:80])!r}")

    def _take_head(self, raw: bytes) -> None:
        head = parse_head(raw)
        self._head_bytes += len(raw)
        self._line_checked = False
        if 100 <= head.line.status < 200 and head.line.status != SWITCHING_PROTOCOLS:
            return
        self.spool.write(raw)
        self.head_size = len(raw)
        if head.line.status == SWITCHING_PROTOCOLS:
            raise ProtocolError("the server switched to another protocol without being asked")
        self.head = head
        self._framing = framing_of(head, self._method)
        self.done = self._framing.complete
        if self._relay is not None:
            self._relay.begin(head.line.status, head.line.reason, head.headers)
        wanted = self._bounds.wanted
        if not self.done and wanted is not None and not wanted(head.line.status, head.headers):
            self.cut(Truncation.LENGTH)

    def _feed_body(self, data: bytes, framing: Framing) -> None:
        if self.done:
            self.surplus = True
            return
        room = self._bounds.body_bytes - self._body_bytes
        allowed = data[:room] if len(data) > room else data
        payload: list[memoryview] = []
        try:
            taken = framing.feed(allowed, payload)
        except FramingError:
            taken = len(allowed)
            self.cut(Truncation.UNSPECIFIED)
        self._body_bytes += taken
        self.spool.write(allowed if taken == len(allowed) else allowed[:taken])
        self._keep(payload)
        if framing.complete:
            self.done = True
            self.surplus = taken < len(data)
        elif len(data) > room:
            self.cut(Truncation.LENGTH)

    def _keep(self, payload: list[memoryview]) -> None:
        for piece in payload if len(payload) < MANY_PIECES else (b"".join(payload),):
            self._digest.update(piece)
            room = self._bounds.payload_bytes - self.payload_size
            if room > 0:
                self._kept += piece[:room]
            self.payload_size += len(piece)
            if self._relay is not None and piece:
                self._relay.take(bytes(piece))


def _status_line_of(pending: bytearray) -> StatusLine | None:
    end = pending.find(b"\n")
    return parse_status_line(bytes(pending[:end]).removesuffix(b"\r")) if end >= 0 else None
