"""Resolve host names, and decide to which IP addresses a crawl may connect."""

import asyncio
import ipaddress
import re
import socket
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from aahcrawler.wire.errors import RefusedAddressError, ResolveError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NAT64 = IPv6Network("64:ff9b::/96")
COMPATIBLE = IPv6Network("::/96")
CACHED_HOSTS = 4096
LAST_PORT = 65535

_MAPPED = re.compile(r"\[(?P<v6>[^\]]+)\](?::(?P<v6_port>\d+))?|(?P<v4>[0-9.]+)(?::(?P<v4_port>\d+))?")
_TRANSIENT = {getattr(socket, name) for name in ("EAI_AGAIN", "EAI_FAIL", "EAI_SYSTEM", "EAI_MEMORY")}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An IP address to connect to; ``sockaddr`` is in the form that a socket of that family takes.

    If a proxy resolves the host, the family is ``AF_UNSPEC`` and ``sockaddr`` holds the host's name.
    """

    family: socket.AddressFamily
    sockaddr: tuple[str, int] | tuple[str, int, int, int]

    @property
    def address(self) -> str:
        """The IP address alone, or the host's name."""
        return self.sockaddr[0]

    @property
    def is_resolved(self) -> bool:
        """Whether the IP address is known."""
        return self.family != socket.AF_UNSPEC


@dataclass(frozen=True, slots=True)
class IpPolicy:
    """Decides to which IP addresses the crawl may connect.

    Only global unicast IP addresses are allowed by default. ``allow_private`` allows all others (True) or the given
    networks. ``resolve`` maps host names to ``address``, ``address:port`` or ``[address]:port`` without asking the name
    service; a mapped port replaces the URL's. A mapping does not allow its address: a test world on loopback needs
    ``allow_private`` as well. Raises ``ValueError`` for a mapping that is no IP address.
    """

    allow_private: bool | tuple[Network, ...] = False
    resolve: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for host in self.resolve:
            self.mapped(host, 80)

    def refusal(self, address: str) -> str | None:
        """Return why an IP address must not be connected to, in a few words; None if it may be."""
        parsed = ipaddress.ip_address(address.partition("%")[0])
        for inner in (parsed, *_embedded(parsed)):
            why = _not_public(inner)
            if why is not None and not self._allows(parsed, inner):
                return f"{address} is {why}"
        return None

    def mapped(self, host: str, port: int) -> Candidate | None:
        """Return the address that ``resolve`` gives for a host; None if it does not contain the host."""
        target = self.resolve.get(host) or self.resolve.get(host.rstrip("."))
        if target is None:
            return None
        match = _MAPPED.fullmatch(target)
        literal = target if match is None else match["v6"] or match["v4"]
        given = match and (match["v6_port"] or match["v4_port"])
        address = _literal(literal)
        if address is None or (given and int(given) > LAST_PORT):
            raise ValueError(f"{host}: {target!r} is no address: 192.0.2.1, 192.0.2.1:8080, [2001:db8::1]:8080 are")
        return _candidate(address, int(given) if given else port)

    def _allows(self, *addresses: Address) -> bool:
        if isinstance(self.allow_private, bool):
            return self.allow_private
        return any(address in network for address in addresses for network in self.allow_private)


class Resolver:
    """Resolves hosts to IP addresses that the policy allows, and caches them for ``ttl`` seconds.

    ``getaddrinfo`` reports no time to live, so ``ttl`` is an upper limit. Failures are not cached.
    """

    def __init__(self, policy: IpPolicy, ttl: float) -> None:
        self.policy = policy
        self._ttl = ttl
        self._known: OrderedDict[tuple[str, int], tuple[float, tuple[Candidate, ...]]] = OrderedDict()

    async def candidates(self, host: str, port: int) -> tuple[Candidate, ...]:
        """Return the allowed IP addresses in the order of the name service.

        Raises ``ResolveError`` if there is no IP address and ``RefusedAddressError`` if none is allowed.
        """
        known = self._known_at_once(host, port)
        return self._allowed(host, (known,) if known else await self._look_up(host, port))

    def unresolved(self, host: str, port: int) -> tuple[Candidate, ...]:
        """Return the IP address of a host that needs no name service, else the host's name for a proxy to resolve.

        Raises ``RefusedAddressError`` for an IP address, or a name of this machine, that is not allowed.
        """
        named = Candidate(socket.AF_UNSPEC, (host, port))
        known = self._known_at_once(host, port) or _spelled_oddly(host, port) or named
        if known is named and _is_local_name(host):
            self._allowed(host, (_candidate(IPv4Address("127.0.0.1"), port),))
        return (known,) if known is named else self._allowed(host, (known,))

    def _known_at_once(self, host: str, port: int) -> Candidate | None:
        literal = _literal(host)
        return self.policy.mapped(host, port) or (_candidate(literal, port) if literal else None)

    def _allowed(self, host: str, found: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        refusals = [self.policy.refusal(candidate.address) for candidate in found]
        allowed = tuple(candidate for candidate, refusal in zip(found, refusals, strict=True) if refusal is None)
        if not allowed:
            raise RefusedAddressError(f"{host}: {refusals[0]}; the crawl's definition can allow private addresses")
        return allowed

    async def _look_up(self, host: str, port: int) -> tuple[Candidate, ...]:
        loop = asyncio.get_running_loop()
        known = self._known.get((host, port))
        if known is not None and known[0] > loop.time():
            return known[1]
        found = await _ask(host, port)
        self._known[host, port] = (loop.time() + self._ttl, found)
        while len(self._known) > CACHED_HOSTS:
            self._known.popitem(last=False)
        return found


async def _ask(host: str, port: int) -> tuple[Candidate, ...]:
    loop = asyncio.get_running_loop()
    try:
        answers = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except socket.gaierror as error:
        raise ResolveError(f"{host}: {error.strerror}", retryable=error.errno in _TRANSIENT) from error
    except UnicodeError as error:
        raise ResolveError(f"{host}: no host name", retryable=False) from error
    families = {socket.AF_INET, socket.AF_INET6}
    found = dict.fromkeys(
        Candidate(family, sockaddr)  # type: ignore[arg-type]  # of these two families it is one of these tuples
        for family, _, _, _, sockaddr in answers
        if family in families
    )
    if not found:
        raise ResolveError(f"{host}: no address", retryable=False)
    return tuple(found)


def _literal(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _spelled_oddly(host: str, port: int) -> Candidate | None:
    """Return the IPv4 address that many resolvers see in a host such as ``0x7f.1`` or ``2130706433``; None if none."""
    try:
        return _candidate(IPv4Address(socket.inet_aton(host.rstrip("."))), port)
    except (OSError, UnicodeError, ValueError):
        return None


def _is_local_name(host: str) -> bool:
    """Return whether a name denotes the machine that resolves it (RFC 6761, section 6.3)."""
    name = host.rstrip(".").lower()
    return name == "localhost" or name.endswith(".localhost")


def _candidate(address: Address, port: int) -> Candidate:
    if isinstance(address, IPv4Address):
        return Candidate(socket.AF_INET, (str(address), port))
    return Candidate(socket.AF_INET6, (str(address), port, 0, 0))


def _embedded(address: Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses to which packets for an IPv6 address may be forwarded."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if address in NAT64 or (address in COMPATIBLE and int(address) > 1):
        yield IPv4Address(int(address) & 0xFFFF_FFFF)


def _not_public(address: Address) -> str | None:
    if isinstance(address, IPv6Address) and any(True for _ in _embedded(address)):
        return None  # What it embeds is judged instead: these prefixes are neither public nor private themselves.
    kinds = {
        "unspecified": address.is_unspecified,
        "a loopback address": address.is_loopback,
        "a link-local address": address.is_link_local,
        "a site-local address": isinstance(address, IPv6Address) and address.is_site_local,
        "a multicast address": address.is_multicast,
        "a private address": address.is_private,
        "a reserved address": address.is_reserved or not address.is_global,
    }
    return next((kind for kind, holds in kinds.items() if holds), None)
