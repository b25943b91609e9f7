"""Parses one response as its bytes arrive: finds where it ends and keeps its bytes. Does no I/O of its own."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aahcrawler.exchange import Truncation
from aahcrawler.wire.errors import DisconnectError, HeaderLimitError, ProtocolError
from aahcrawler.wire.framing import Framing, FramingError, framing_of, is_ambiguous
from aahcrawler.wire.head import BLANK, HEAD_END, Head, StatusLine, parse_head, parse_status_line
from aahcrawler.wire.relay import Relay
from aahcrawler.wire.spool import Spool

SWITCHING_PROTOCOLS = 101
MANY_PIECES = 16
"""From so many pieces on, one copy costs less than as many updates of a digest."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits on what is received of a response.

    ``head_bytes`` and ``head_lines`` bound the head, interim responses included; ``body_bytes`` the body as it passes
    on the wire, transfer coding included; ``payload_bytes`` is how much of the payload is kept in memory. ``wanted``
    says by status and fields whether the body is taken at all.
    """

    head_bytes: int
    head_lines: int
    body_bytes: int
    payload_bytes: int
    wanted: Callable[[int, Sequence[tuple[str, str]]], bool] | None = None


class Reception:
    """Takes the connection's bytes until the response is ``done``.

    States: head -> body -> done. Blank lines before the status line and interim responses are left out of the archive.
    A body that breaks its framing, or goes beyond its bound, is done at that point and ``truncated`` gives the reason;
    the received bytes stay. ``feed`` raises ``ProtocolError`` or ``HeaderLimitError`` for a head that cannot be taken.
    ``relay`` is given the final head and the payload as they come; the bytes are the same with it and without.
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
        """The SHA-1 of the whole body that came, without transfer coding."""
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
        """Note that the server closed the connection in order."""
        if self._framing is not None:
            self._framing.end()
            if self._framing.complete:
                self.done = True
        if not self.done:
            self.cut(Truncation.DISCONNECT)

    def cut(self, truncation: Truncation) -> None:
        """End the response here. Raises ``DisconnectError`` where its head is not whole."""
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
