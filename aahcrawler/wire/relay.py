"""The protocol of a consumer that receives a response while it arrives."""

from collections.abc import Sequence
from typing import Protocol


class Relay(Protocol):
    """Receives a response piece by piece, independently of the capture that the archive keeps of it.

    ``begin`` is called once, when the head of the final response is whole, before any ``take``; interim responses are
    left out. No piece is empty. Neither method may block or raise, because both are called as bytes come from the
    connection. The relay is not notified of the end of the response: the fetch then returns, or raises ``WireError``.
    If a response is truncated, everything received was passed on.
    """

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """Receive the head of a response, with its header fields in the order and case in which they were sent."""
        ...

    def take(self, piece: bytes) -> None:
        """Receive a piece of the body, without transfer coding, but with its content coding."""
        ...


class Withholding:
    """Relays a response unless it has a given status."""

    def __init__(self, relay: Relay, status: int) -> None:
        self._relay = relay
        self._status = status
        self._withheld = False

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """Relay the head, or withhold the response because of its status."""
        self._withheld = status == self._status
        if not self._withheld:
            self._relay.begin(status, reason, headers)

    def take(self, piece: bytes) -> None:
        """Relay a piece of the body unless the response is withheld."""
        if not self._withheld:
            self._relay.take(piece)
