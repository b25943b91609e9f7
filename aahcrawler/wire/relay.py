"""Define who is given an answer while it arrives."""

from collections.abc import Sequence
from typing import Protocol


class Relay(Protocol):
    """Is given an answer piece by piece, beside the capture that the archive keeps of it.

    ``begin`` is called once, before any ``take``. Neither may block or raise. That the answer has ended its fetch says:
    it returns, or raises ``WireError``.
    """

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """Take the head of an answer: its header fields in the order and case of the wire."""
        ...

    def take(self, piece: bytes) -> None:
        """Take a piece of the body, without transfer coding, its content coding still on."""
        ...
