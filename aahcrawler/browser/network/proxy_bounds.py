"""What a browser may cost the recording proxy."""

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ProxyBounds:
    """The most of everything that one browser gets.

    ``connections`` are open at once, more are closed; ``requests`` are asked for at once, more wait. A request has
    ``head_bytes`` and ``body_bytes`` at most and comes within ``request_seconds``; a connection may be idle for
    ``idle_seconds``. Of an answer that the browser reads too slowly ``memory_bytes`` wait in memory and ``file_bytes``
    in a file, then it is cut.
    """

    connections: int = 256
    requests: int = 32
    head_bytes: int = 256 * 1024
    body_bytes: int = 16 * MEBIBYTE
    request_seconds: float = 30.0
    idle_seconds: float = 120.0
    memory_bytes: int = MEBIBYTE
    file_bytes: int = 64 * MEBIBYTE
