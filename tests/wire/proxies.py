"""Proxies on loopback: HTTP CONNECT, forwarding and SOCKS 5, in threads that any process of the machine can use."""

import base64
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class RunningProxy:
    """What a proxy does, and what it was asked for.

    ``hosts`` maps the names that it knows to ports of loopback; any other is looked for as it is. ``refuses`` are names
    that its rules forbid, ``login`` the user and password that it wants.
    """

    hosts: Mapping[str, int] = field(default_factory=dict)
    refuses: frozenset[str] = frozenset()
    login: tuple[str, str] | None = None
    port: int = 0
    asked: list[str] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)

    def connect(self, host: str, port: int) -> socket.socket:
        """Connect to a host as the proxy knows it; raise ``OSError``."""
        self.asked.append(f"{host}:{port}")
        if host in self.hosts:
            host, port = "127.0.0.1", self.hosts[host]
        return socket.create_connection((host, port), 10)


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def _head(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        data += _exactly(sock, 1)
    return data


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _join(one: socket.socket, other: socket.socket) -> None:
    back = threading.Thread(target=_pump, args=(other, one), daemon=True)
    back.start()
    _pump(one, other)
    back.join()
    other.close()


def http_proxy(proxy: RunningProxy, sock: socket.socket) -> None:
    """Answer a CONNECT with a tunnel, or one request with what the site says to it."""
    head = _head(sock)
    proxy.heads.append(head)
    line, *fields = head.decode("latin-1").split("\r\n")
    method, target, _ = line.split(" ")
    if proxy.login is not None:
        wanted = base64.b64encode(":".join(proxy.login).encode()).decode()
        if f"Proxy-Authorization: Basic {wanted}" not in fields:
            sock.sendall(b'HTTP/1.1 407 Login\r\nProxy-Authenticate: Basic realm="p"\r\nContent-Length: 0\r\n\r\n')
            return
    place = target if method == "CONNECT" else target.split("/")[2]
    host, _, port = place.partition(":")
    if host in proxy.refuses:
        sock.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        return
    try:
        there = proxy.connect(host, int(port or 80))
    except OSError:
        sock.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        return
    if method == "CONNECT":
        sock.sendall(b"HTTP/1.1 200 Connection")
        sock.sendall(b" established\r\nVia: 1.1 test\r\n\r\n")
    else:
        path = "/" + "/".join(target.split("/")[3:])
        kept = [each for each in fields if not each.lower().startswith(("proxy-", "connection:"))]
        there.sendall("\r\n".join((f"{method} {path} HTTP/1.1", "Connection: close", *kept)).encode("latin-1"))
        _pump(there, sock)
        there.close()
        return
    _join(sock, there)


def socks_proxy(proxy: RunningProxy, sock: socket.socket) -> None:
    """Open a tunnel by SOCKS 5."""
    _, count = _exactly(sock, 2)
    offered = _exactly(sock, count)
    wanted = 0 if proxy.login is None else 2
    if wanted not in offered:
        sock.sendall(b"\x05\xff")
        return
    sock.sendall(bytes([5, wanted]))
    if proxy.login is not None:
        _exactly(sock, 1)
        said = tuple(_exactly(sock, _exactly(sock, 1)[0]).decode() for _ in range(2))
        sock.sendall(bytes([1, int(said != proxy.login)]))
        if said != proxy.login:
            return
    _, _, _, kind = _exactly(sock, 4)
    if kind == 3:
        host = _exactly(sock, _exactly(sock, 1)[0]).decode()
    else:
        family = socket.AF_INET if kind == 1 else socket.AF_INET6
        host = socket.inet_ntop(family, _exactly(sock, 4 if kind == 1 else 16))
    port = int.from_bytes(_exactly(sock, 2), "big")
    if host in proxy.refuses:
        sock.sendall(b"\x05\x02\x00\x01" + bytes(6))
        return
    try:
        there = proxy.connect(host, port)
    except OSError:
        sock.sendall(b"\x05\x05\x00\x01" + bytes(6))
        return
    sock.sendall(b"\x05\x00\x00\x03\x04test\x00\x50")
    _join(sock, there)


@contextmanager
def proxying(proxy: RunningProxy, protocol=http_proxy, port: int = 0) -> Iterator[RunningProxy]:  # type: ignore[no-untyped-def]
    """Run a proxy until the end of the block."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(30)
            with suppress(OSError, ValueError):
                protocol(proxy, self.request)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", port), Handler) as server:
        proxy.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
