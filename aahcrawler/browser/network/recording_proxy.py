"""The recording proxy: a browser's only way to the network. It gets every response from an upstream."""

import asyncio
import logging
import ssl
import tempfile
from asyncio import StreamReader, StreamWriter, Task
from base64 import b64encode
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from socket import socket

import h11
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from aahcrawler.browser.network.browser_response import FAILED, BrowserResponse, ProxyBounds, end_to_end
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError, Upstream
from aahcrawler.wire.errors import InvalidRequestError
from aahcrawler.wire.request import Target, target_of

HOSTS = 256
"""How many hosts' certificates are kept; others are made again when needed."""
_VALIDITY = timedelta(days=2)
_CLOCKS = timedelta(hours=1)
_MAX_NAME_LENGTH = 64
"""The most characters of a common name (RFC 5280, appendix A.1)."""


class ProxyKey:
    """A key for one browser, kept in memory only; nothing else trusts it.

    Each host gets its own self-signed certificate, so the key is no certificate authority that could be misused.
    """

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self._private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()

    @classmethod
    def new(cls) -> "ProxyKey":
        """Generate a key."""
        return cls(ec.generate_private_key(ec.SECP256R1()))

    @property
    def spki_hash(self) -> str:
        """The SHA-256 of the public key in base64, as ``--ignore-certificate-errors-spki-list`` expects it."""
        public = self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return b64encode(sha256(public).digest()).decode("ascii")

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS context with which to serve a host.

        ``host`` is an ASCII name or an IP address without brackets.
        """
        context = self._contexts.pop(host, None) or self._made(host)
        self._contexts[host] = context
        if len(self._contexts) > HOSTS:
            self._contexts.popitem(last=False)
        return context

    def _made(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        # The library reads certificates from files only; only this user can read this one.
        with tempfile.NamedTemporaryFile() as file:
            file.write(self._private + self._certificate(host).public_bytes(Encoding.PEM))
            file.flush()
            context.load_cert_chain(file.name)
        return context

    def _certificate(self, host: str) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host[:_MAX_NAME_LENGTH])])
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _CLOCKS)
            .not_valid_after(now + _VALIDITY)
            .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


CONNECT = "CONNECT"
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it was sent. ``keeps_alive`` says whether another one may follow on its connection."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    keeps_alive: bool

    @property
    def upgrades(self) -> bool:
        """Whether it asks for another protocol, which can only be a WebSocket."""
        return any(name.lower() == "upgrade" for name, _ in self.headers)

    @property
    def host(self) -> str:
        """The value of the Host field."""
        return next((value for name, value in self.headers if name.lower() == "host"), "")


class RequestReader:
    """Reads requests from a connection, each with its body, within limits.

    No request is read before the previous one has its response.
    """

    def __init__(self, stream: StreamReader, bounds: ProxyBounds) -> None:
        self._stream = stream
        self._bounds = bounds
        self._ahead = b""

    @property
    def ahead(self) -> bool:
        """Whether more bytes have arrived than the requests read so far consist of."""
        return bool(self._ahead)

    async def next(self) -> Incoming | None:
        """Return the next request; None if the browser closes the connection, or is silent for too long.

        Raises ``RequestRefusedError`` if the bytes are no request, or exceed a limit.
        """
        try:
            if not self._ahead:
                async with asyncio.timeout(self._bounds.idle_seconds):
                    self._ahead = await self._stream.read(_PIECE)
            async with asyncio.timeout(self._bounds.request_seconds):
                return await self._whole() if self._ahead else None
        except (OSError, TimeoutError):
            return None
        except h11.RemoteProtocolError as error:
            raise RequestRefusedError("malformed request") from error

    async def hung_up(self) -> None:
        """Wait until the browser closes the connection, while its request is being answered."""
        try:
            while len(self._ahead) < _PIECE:
                piece = await self._stream.read(_PIECE)
                if not piece:
                    return
                self._ahead += piece
        except OSError:
            return
        await asyncio.Event().wait()  # It goes on asking, and so is there.

    async def _whole(self) -> Incoming | None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=self._bounds.head_bytes)
        connection.receive_data(self._ahead)
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await self._stream.read(_PIECE))
            elif isinstance(event, h11.Request):
                head = _unambiguous(event)
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > self._bounds.body_bytes:
                    raise RequestRefusedError("request body")
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                self._ahead = connection.trailing_data[0]
                return _incoming(head, bytes(body), connection.their_state is not h11.MUST_CLOSE)
            else:
                return None


def _unambiguous(head: h11.Request) -> h11.Request:
    """Return the head if its body can end in one place only (RFC 9112, section 6.3).

    Raises ``RequestRefusedError`` for any other head.
    """
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in head.headers}:
        raise RequestRefusedError("malformed request")
    return head


def _incoming(head: h11.Request, body: bytes, keeps_alive: bool) -> Incoming:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items())
    return Incoming(head.method.decode("ascii"), head.target.decode("latin-1"), headers, body, keeps_alive)


def tunnel_target(incoming: Incoming) -> Target:
    """Return the target of a CONNECT request. Raises ``RequestRefusedError`` if it is not a host and port."""
    authority = incoming.target
    target = _target(f"https://{authority}/")
    if target.path != "/" or "@" in authority or not authority.rpartition(":")[2].isdigit():
        raise RequestRefusedError("malformed request")
    return target


def browser_request(incoming: Incoming, tunnel: Target | None) -> BrowserRequest:
    """Return a request as the page made it; its URL is composed of its target and that of its tunnel.

    Raises ``RequestRefusedError`` if the target is no http URL or, within a tunnel, no path, or if Host differs from
    the URL's.
    """
    if incoming.upgrades:
        raise RequestRefusedError("websocket")
    if tunnel is None:
        target = _target(incoming.target)
        valid = target.origin.scheme == "http" and "@" not in incoming.target.split("/", 3)[2]
    else:
        target = _target(f"https://{tunnel.authority}{incoming.target}")
        valid = incoming.target.startswith("/")
    if not valid or incoming.method == CONNECT:
        raise RequestRefusedError("malformed request")
    if _target(f"{target.origin.scheme}://{incoming.host}/") != Target(target.origin, target.authority, "/"):
        raise RequestRefusedError("another host")
    return BrowserRequest(target.url, incoming.method, end_to_end(incoming.headers), incoming.body)


def _target(url: str) -> Target:
    try:
        return target_of(url)
    except InvalidRequestError as error:
        raise RequestRefusedError("malformed request") from error


Peer = tuple[str, int]
"""IP address and port of the other end of a connection."""
_logger = logging.getLogger(__name__)


class Served:
    """Passes requests to an upstream, a limited number at once.

    Counts the requests, and by reason those without a complete response.
    """

    def __init__(self, upstream: Upstream, bounds: ProxyBounds, accepts: Callable[[Peer], bool]) -> None:
        self.accepts = accepts
        self.requests = 0
        self._upstream = upstream
        self._slots = asyncio.Semaphore(bounds.requests)
        self._counts: Counter[str] = Counter()
        self._asking: set[Task[None]] = set()

    @property
    def counts(self) -> Mapping[str, int]:
        """Counts of refusals and failures by reason: the upstream's reasons, and ``websocket`` and ``tunnel``."""
        return dict(self._counts)

    def refuse(self, reason: str) -> None:
        """Count a refused request."""
        self._counts[reason] += 1

    def ask(self, request: BrowserRequest, response: BrowserResponse) -> Task[None]:
        """Have the upstream answer a request, when its turn comes."""
        asking = asyncio.create_task(self._ask(request, response))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return asking

    async def end(self) -> None:
        """Cancel the requests in progress."""
        for asking in self._asking:
            asking.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _ask(self, request: BrowserRequest, response: BrowserResponse) -> None:
        async with self._slots:
            if response.abandoned:
                return
            self.requests += 1
            try:
                await self._upstream.answer(request, response)
                response.end()
            except RequestRefusedError as refused:
                response.fail(refused.reason)
            except Exception:
                _logger.exception("a request of a page failed: %s %s", request.method, request.url)
                response.fail("error")
            finally:
                response.fail("given up")  # Of those that have neither ended nor failed.
                if response.failed:
                    self.refuse(response.failed)


_BACKLOG = 256
_BOUNDS = ProxyBounds()


def _anyone(_: Peer) -> bool:
    return True


class RecordingProxy:
    """An HTTP proxy on a listening socket that is passed in and closed with it.

    It makes no connections itself. While no upstream is served, connections are closed as they come, so that no request
    of one visit reaches the next one. TLS ends here, with a key that only the browser trusts.
    """

    def __init__(self, listener: socket, key: ProxyKey, bounds: ProxyBounds = _BOUNDS) -> None:
        self._listener = listener
        self._key = key
        self._bounds = bounds
        self._server: asyncio.Server | None = None
        self._served: Served | None = None
        self._connections: set[Task[None]] = set()

    @asynccontextmanager
    async def serving(self, upstream: Upstream, accepts: Callable[[Peer], bool] = _anyone) -> AsyncIterator[Served]:
        """Have an upstream answer all requests within the context; then cancel them and cut their connections.

        ``accepts`` says whose connections are accepted. Only one upstream is served at a time.
        """
        if self._served is not None:
            raise RuntimeError("the recording proxy serves another visit")
        await self.open()
        served = self._served = Served(upstream, self._bounds, accepts)
        try:
            yield served
        finally:
            self._served = None
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await served.end()

    async def open(self) -> None:
        """Start listening, unless already done; ``serving`` calls this."""
        if self._server is None:
            self._server = await asyncio.start_server(self._connected, sock=self._listener, backlog=_BACKLOG)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is None:
            self._listener.close()
        else:
            self._server.close()

    def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        served = self._served
        if served is None or not self._admitted(served, writer):
            writer.transport.abort()
            return
        connection = ProxyConnection(reader, writer, self._key, self._bounds, served)
        task = asyncio.create_task(connection.run())
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # A task that is cancelled before its first step runs nothing, not even what it would do at its end.
        task.add_done_callback(lambda _: writer.transport.abort())

    def _admitted(self, served: Served, writer: StreamWriter) -> bool:
        peer = writer.get_extra_info("peername")
        if peer is None or not served.accepts((str(peer[0]), int(peer[1]))):
            served.refuse("foreign connection")
        elif len(self._connections) >= self._bounds.connections:
            served.refuse("connections")
        else:
            return True
        return False


REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
"""The response to requests that no page makes: a tunnel to nowhere, a WebSocket."""
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_CLOSE_SECONDS = 1.0


class _NoTunnelError(Exception):
    """Raised when the browser does not speak TLS within a tunnel."""


class ProxyConnection:
    """Serves the requests of one connection, as long as its upstream is served."""

    def __init__(
        self, reader: StreamReader, writer: StreamWriter, key: ProxyKey, bounds: ProxyBounds, served: Served
    ) -> None:
        self._requests = RequestReader(reader, bounds)
        self._writer = writer
        self._key = key
        self._bounds = bounds
        self._served = served
        self._tunnel: Target | None = None

    async def run(self) -> None:
        """Answer requests until there are no more, then close; who runs it cuts what is left of the connection."""
        try:
            await self._converse()
            self._writer.close()
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._writer.wait_closed()
        except (OSError, TimeoutError, _NoTunnelError):
            pass  # The browser has gone, or will not go: either way nobody waits for more.

    async def _converse(self) -> None:
        try:
            while (incoming := await self._requests.next()) is not None:
                if incoming.method == CONNECT and self._tunnel is None:
                    await self._dig(incoming)
                elif not await self._answer(browser_request(incoming, self._tunnel)) or not incoming.keeps_alive:
                    return
        except RequestRefusedError as refused:
            self._served.refuse(refused.reason)
            self._writer.write(REFUSED if refused.reason in {"websocket", "tunnel"} else FAILED)

    async def _dig(self, incoming: Incoming) -> None:
        tunnel = tunnel_target(incoming)
        if self._requests.ahead or not incoming.keeps_alive:
            raise RequestRefusedError("tunnel")
        self._writer.write(_ESTABLISHED)
        context = self._key.context(tunnel.origin.host)
        try:
            await self._writer.start_tls(context, ssl_handshake_timeout=self._bounds.request_seconds)
        except ssl.SSLError as error:
            self._served.refuse(_tunnelled(error))
            raise _NoTunnelError from error
        self._tunnel = tunnel

    async def _answer(self, request: BrowserRequest) -> bool:
        """Have a request answered; return whether another one may follow.

        If the browser hangs up, the call of the upstream is cancelled; the upstream decides whether and for how long to
        go on fetching.
        """
        response = BrowserResponse(request.method, self._bounds)
        asking = self._served.ask(request, response)
        sending = asyncio.create_task(response.send(self._writer))
        leaving = asyncio.create_task(self._requests.hung_up())
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return sending.done() and sending.result()
        finally:
            response.abandon()
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            if not response.whole:
                asking.cancel()


def _tunnelled(error: ssl.SSLError) -> str:
    """Return what the browser spoke instead of TLS within a tunnel, according to the error of the handshake."""
    reason = error.reason or ""
    if reason == "HTTP_REQUEST":
        return "websocket"  # Chromium opens a tunnel for a WebSocket without TLS, and for no other http.
    return "certificate" if "ALERT" in reason else "tunnel"
