"""Define who is given an answer while it arrives."""

from collections.abc import Sequence
from typing import Protocol


class Relay(Protocol):
    """Is given an answer piece by piece, beside the capture that the archive keeps of it.

    ``begin`` is called once, when the head of the final response is whole, before any ``take``; interim responses are
    left out. No piece is empty. Neither may block or raise: both are called as the bytes come from the connection. That
    the answer has ended its fetch says: it returns, or raises ``WireError``. An answer that is cut off (``truncated``)
    has been given as far as it came.
    """

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """Take the head of an answer: its header fields in the order and case of the wire."""
        ...

    def take(self, piece: bytes) -> None:
        """Take a piece of the body, without transfer coding, its content coding still on."""
        ...


class Withholding:
    """Hands an answer on, unless it has one certain status."""

    def __init__(self, relay: Relay, status: int) -> None:
        self._relay = relay
        self._status = status
        self._withheld = False

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """Hand the head on, or see that nothing is."""
        self._withheld = status == self._status
        if not self._withheld:
            self._relay.begin(status, reason, headers)

    def take(self, piece: bytes) -> None:
        """Hand a piece on."""
        if not self._withheld:
            self._relay.take(piece)
