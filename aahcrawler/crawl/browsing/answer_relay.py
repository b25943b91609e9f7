"""Answers on their way to the browser: held back while they may not be the last, replayed where they came before."""

from collections.abc import Callable, Sequence

from aahcrawler.archive.payload import HttpPayload
from aahcrawler.exchange import Exchange
from aahcrawler.wire.errors import ProtocolError
from aahcrawler.wire.head import Head, parse_head
from aahcrawler.wire.relay import Relay

_PIECE = 1 << 16

Holds = Callable[[int, Sequence[tuple[str, str]]], bool]
"""Says by status and header fields whether an answer is to be held back."""


class AnswerRelay:
    """Hands an answer on unless it ``holds`` it back; what follows on one that was held back begins anew.

    Nothing is handed on any more once nobody wants it (``leave``).
    """

    def __init__(self, relay: Relay, holds: Holds = lambda _status, _fields: False) -> None:
        self.has_begun = False
        self.holds = holds
        self._relay: Relay | None = relay
        self._passes = False

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """See ``Relay.begin``."""
        self._passes = not self.has_begun and not self.holds(status, headers)
        if self._passes and self._relay is not None:
            self.has_begun = True
            self._relay.begin(status, reason, headers)

    def take(self, piece: bytes) -> None:
        """See ``Relay.take``."""
        if self._passes and self._relay is not None:
            self._relay.take(piece)

    def catch_up(self, exchange: Exchange) -> None:
        """Hand on an answer that came to its end without having been."""
        if not self.has_begun and self._relay is not None:
            self.has_begun = True
            replay(exchange, self._relay)

    def leave(self) -> None:
        """Hand nothing on any more."""
        self._relay = None


def replay(exchange: Exchange, relay: Relay) -> None:
    """Hand an answer on as it came over the connection; one without a readable head not at all.

    The response is read from its start, and left there.
    """
    reading, begun = HttpPayload(), False
    exchange.response.seek(0)
    try:
        while piece := exchange.response.read(_PIECE):
            payload = reading.feed(piece)
            if not begun and reading.head is not None:
                head = _parsed(reading.head)
                if head is None:
                    return
                begun = True
                relay.begin(head.line.status, head.line.reason, head.headers)
            if payload and exchange.method != "HEAD":
                relay.take(payload)
    finally:
        exchange.response.seek(0)


def head_of(exchange: Exchange) -> Head | None:
    """Return the head of an answer, None where it has no readable one. The response is left at its start."""
    reading = HttpPayload()
    exchange.response.seek(0)
    try:
        while reading.head is None and (piece := exchange.response.read(_PIECE)):
            reading.feed(piece)
            if len(reading.beginning) > _LONGEST_HEAD:
                break
    finally:
        exchange.response.seek(0)
    return None if reading.head is None else _parsed(reading.head)


def _parsed(head: bytes) -> Head | None:
    try:
        return parse_head(head)
    except ProtocolError:
        return None


_LONGEST_HEAD = 1 << 19
"""Bytes that are read of a head: more than any that the wire client takes."""
