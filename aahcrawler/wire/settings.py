"""The limits and timeouts of a wire client."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from aahcrawler.wire.ip_policy import IpPolicy
from aahcrawler.wire.request import Origin


class ProxyKind(StrEnum):
    """The protocol spoken to a proxy; ``socks5`` is given IP addresses, the others host names."""

    HTTP = "http"
    SOCKS5 = "socks5"
    SOCKS5H = "socks5h"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy.

    With ``forwards``, http requests are sent to it as they are; otherwise they use a tunnel, as https does.
    """

    kind: ProxyKind
    host: str
    port: int
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    forwards: bool = False

    def __str__(self) -> str:
        """Name the proxy without its user."""
        return (
            f"{self.kind}://[{self.host}]:{self.port}" if ":" in self.host else f"{self.kind}://{self.host}:{self.port}"
        )

    @property
    def resolves(self) -> bool:
        """Whether the proxy resolves host names, so that their IP addresses are unknown here."""
        return self.kind is not ProxyKind.SOCKS5


@dataclass(frozen=True, slots=True)
class Tls:
    """The certificates used with a host. ``accepts_invalid`` accepts those that do not verify, and records the reason.

    ``ca_file`` has certificates to trust besides the system's. ``certificate`` and ``key`` identify the client; the key
    may be in the certificate's file.
    """

    accepts_invalid: bool = False
    ca_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    passphrase: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Route:
    """How a host is reached."""

    proxy: Proxy | None = None
    tls: Tls = field(default_factory=Tls)


@dataclass(frozen=True, slots=True)
class Routes:
    """The route to each host: the entry of ``hosts`` with the longest name that is the host or a parent domain of it.

    Hosts without an entry have the ``general`` route.
    """

    general: Route = field(default_factory=Route)
    hosts: Mapping[str, Route] = field(default_factory=dict)

    def to(self, host: str) -> Route:
        """Return the route to a host.

        >>> own = Route(tls=Tls(accepts_invalid=True))
        >>> Routes(hosts={"example.org": own}).to("www.example.org") is own
        True
        """
        name = host.rstrip(".") if self.hosts else ""
        while name:
            if (found := self.hosts.get(name)) is not None:
                return found
            name = name.partition(".")[2]
        return self.general


def forwarding_proxy(routes: Routes, origin: Origin) -> Proxy | None:
    """Return the proxy to which requests for an origin are sent.

    None if they go to the site itself, even if through a tunnel.
    """
    proxy = routes.to(origin.host).proxy
    return proxy if proxy is not None and proxy.forwards and origin.scheme == "http" else None


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
    """The most bytes of a response that are received.

    ``head_bytes`` and ``head_lines`` limit its head, ``body_bytes`` its body as received. ``payload_bytes`` of the
    payload are kept in memory for parsing, and ``memory_bytes`` of the capture before it goes to the spool folder.
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

    ``spool`` is a folder for temporary files, created when needed. ``routes`` say how hosts are reached.
    ``dns_seconds`` limits how long a resolved name is used.
    """

    spool: Path
    addresses: IpPolicy = field(default_factory=IpPolicy)
    timeouts: Timeouts = field(default_factory=Timeouts)
    limits: Limits = field(default_factory=Limits)
    keep_alive: KeepAlive = field(default_factory=KeepAlive)
    routes: Routes = field(default_factory=Routes)
    dns_seconds: float = 60.0
