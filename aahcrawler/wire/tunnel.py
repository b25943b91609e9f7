"""Tunnels through proxies: HTTP CONNECT (RFC 9110, section 9.3.6) and SOCKS 5 (RFC 1928, RFC 1929).

Nothing is read beyond the proxy's own response: the first byte after it belongs to the site.
"""

import asyncio
import ipaddress
import socket
from base64 import b64encode

from aahcrawler.wire.errors import (
    ConnectError,
    ProtocolError,
    ProxyError,
    ProxyRefusedError,
    ProxyUnavailableError,
    WireError,
)
from aahcrawler.wire.reception import HEAD_END, parse_head
from aahcrawler.wire.settings import Proxy, ProxyKind

HEAD_BYTES = 16_384
"""The most bytes of the head of a response to CONNECT."""
LOGIN = 407
LOGIN_PROBLEM = "asks for a user and a password, or does not take those it is given (407)"
_UNREACHED = frozenset({408, 500, 502, 503, 504})
"""Statuses by which HTTP proxies report that they could not reach a site."""
_VERSION, _NO_LOGIN, _BY_PASSWORD, _CONNECT = 5, 0, 2, 1
_REPLIES = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "time to live expired",
    7: "command not supported",
    8: "kind of address not supported",
}
_REFUSALS = frozenset({2, 7, 8})


async def open_tunnel(sock: socket.socket, proxy: Proxy, host: str, port: int) -> None:
    """Ask the proxy at the other end of a socket to connect it to a host, which may be an IP address.

    Raises ``ProxyUnavailableError`` if the proxy rejects this client, ``ProxyRefusedError`` if it refuses to connect to
    that host, ``ConnectError`` if it could not connect, and ``ProxyError`` if its reply breaks the protocol.
    """
    ends = _Ends(sock, proxy, f"{host} through {proxy}")
    try:
        await (_connect(ends, host, port) if proxy.kind is ProxyKind.HTTP else _socks(ends, host, port))
    except OSError as error:
        raise ProxyError(f"{ends.name}: {error.strerror or error}", str(proxy)) from error


class _Ends:
    """Both ends of a connection to a proxy, and a name for the connection in messages."""

    def __init__(self, sock: socket.socket, proxy: Proxy, name: str) -> None:
        self.proxy = proxy
        self.name = name
        self._sock = sock
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._sock, data)

    async def some(self, most: int) -> bytes:
        data = await self._loop.sock_recv(self._sock, most)
        if not data:
            raise self.broken("the proxy closed the connection before it had answered")
        return data

    async def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += await self.some(size - len(data))
        return data

    def broken(self, why: str) -> WireError:
        return ProxyError(f"{self.name}: {why}", str(self.proxy))

    def unavailable(self, why: str) -> WireError:
        return ProxyUnavailableError(f"{self.proxy} {why}", str(self.proxy))

    def refused(self, why: str) -> WireError:
        return ProxyRefusedError(f"{self.name}: the proxy refused: {why}", str(self.proxy))

    def unreached(self, why: str) -> WireError:
        return ConnectError(f"{self.name}: the proxy could not connect: {why}")


# HTTP


def authorization(proxy: Proxy) -> str:
    """Return the value of Proxy-Authorization; empty if no user is set for the proxy."""
    if not proxy.user:
        return ""
    return "Basic " + b64encode(f"{proxy.user}:{proxy.password}".encode()).decode("ascii")


async def _connect(ends: _Ends, host: str, port: int) -> None:
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    login = authorization(ends.proxy)
    lines = [
        f"CONNECT {place} HTTP/1.1",
        f"Host: {place}",
        *([f"Proxy-Authorization: {login}"] if login else ()),
        "",
        "",
    ]
    await ends.send("\r\n".join(lines).encode("ascii"))
    status, reason = await _response(ends)
    if 200 <= status < 300:
        return
    said = f"{status} {reason[:100]}".strip()
    if status == LOGIN:
        raise ends.unavailable(LOGIN_PROBLEM)
    raise ends.unreached(said) if status in _UNREACHED else ends.refused(said)


async def _response(ends: _Ends) -> tuple[int, str]:
    head = b""
    while (end := HEAD_END.search(head)) is None:
        if len(head) >= HEAD_BYTES:
            raise ends.broken(f"the head of the proxy's answer has more than {HEAD_BYTES} bytes")
        head += await ends.some(HEAD_BYTES - len(head))
    try:
        line = parse_head(head[: end.end()]).line
    except ProtocolError as error:
        raise ends.broken(f"the proxy does not speak HTTP: {error}") from None
    if 200 <= line.status < 300 and end.end() != len(head):
        raise ends.broken("the proxy sent more than its answer")
    return line.status, line.reason


# SOCKS


async def _socks(ends: _Ends, host: str, port: int) -> None:
    methods = bytes([_NO_LOGIN, _BY_PASSWORD] if ends.proxy.user else [_NO_LOGIN])
    await ends.send(bytes([_VERSION, len(methods)]) + methods)
    version, method = await ends.exactly(2)
    if version != _VERSION:
        raise ends.broken("the proxy does not speak SOCKS 5")
    if method == _BY_PASSWORD and ends.proxy.user:
        await _log_in(ends)
    elif method != _NO_LOGIN:
        raise ends.unavailable("asks for another way to log in than it is given")
    await ends.send(bytes([_VERSION, _CONNECT, 0]) + _place(ends, host) + port.to_bytes(2, "big"))
    version, reply, _, kind = await ends.exactly(4)
    if version != _VERSION:
        raise ends.broken("the proxy's answer is no SOCKS 5")
    if reply:
        said = _REPLIES.get(reply, f"code {reply}")
        raise ends.refused(said) if reply in _REFUSALS else ends.unreached(said)
    await _skip_place(ends, kind)


async def _log_in(ends: _Ends) -> None:
    user, password = ends.proxy.user.encode(), ends.proxy.password.encode()
    if max(len(user), len(password)) > 255:
        raise ends.unavailable("cannot be given a user or password of more than 255 bytes")
    await ends.send(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
    if (await ends.exactly(2))[1]:
        raise ends.unavailable("does not take the user and the password that it is given")


def _place(ends: _Ends, host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        name = host.encode("ascii", "replace")
        if len(name) > 255:
            raise ends.broken("the host's name is too long for SOCKS") from None
        return bytes([3, len(name)]) + name
    return bytes([1 if address.version == 4 else 4]) + address.packed


async def _skip_place(ends: _Ends, kind: int) -> None:
    sizes = {1: 4, 4: 16}
    if kind == 3:
        size = (await ends.exactly(1))[0]
    elif kind in sizes:
        size = sizes[kind]
    else:
        raise ends.broken("the proxy's answer is no SOCKS 5")
    await ends.exactly(size + 2)
