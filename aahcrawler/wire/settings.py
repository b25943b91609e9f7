"""The limits and timeouts of a wire client."""

from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler.wire.ip_policy import IpPolicy
from aahcrawler.wire.route import Routes

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The seconds to wait for each stage of an exchange.

    ``connect`` covers name resolution, connection and TLS handshake; ``first_byte`` the wait after the request was
    sent; ``idle`` the gap between bytes; ``total`` the whole exchange.
    """

    connect: float = 20.0
    first_byte: float = 60.0
    idle: float = 30.0
    total: float = 180.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes of a response that are taken.

    ``head_bytes`` and ``head_lines`` bound its head, ``body_bytes`` its body on the wire. ``payload_bytes`` of the
    payload are kept in memory for parsing, ``memory_bytes`` of the capture before it goes to the spool folder.
    """

    head_bytes: int = 256 * 1024
    head_lines: int = 10_000
    body_bytes: int = 2 * 1024 * MEBIBYTE
    payload_bytes: int = 10 * MEBIBYTE
    memory_bytes: int = MEBIBYTE


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """The most idle connections, in all and per origin, and the seconds they are kept."""

    connections: int = 256
    per_origin: int = 6
    seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class WireSettings:
    """The settings of a ``WireClient``.

    ``spool`` is a folder for temporary files, made when needed. ``routes`` say how hosts are reached. ``dns_seconds``
    caps how long an answer of the name service is used.
    """

    spool: Path
    addresses: IpPolicy = field(default_factory=IpPolicy)
    timeouts: Timeouts = field(default_factory=Timeouts)
    limits: Limits = field(default_factory=Limits)
    keep_alive: KeepAlive = field(default_factory=KeepAlive)
    routes: Routes = field(default_factory=Routes)
    dns_seconds: float = 60.0
