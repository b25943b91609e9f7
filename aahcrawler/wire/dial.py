"""From an origin to a connection whose other end has been judged."""

import asyncio
import socket
import ssl
from collections.abc import Callable

from aahcrawler.wire.admission import Waiting
from aahcrawler.wire.connection import Connection
from aahcrawler.wire.errors import ConnectError, RefusedAddressError, TlsError, WireError, WireTimeoutError
from aahcrawler.wire.ip_policy import Candidate, Resolver
from aahcrawler.wire.request import Origin
from aahcrawler.wire.settings import WireSettings

SHUTDOWN_SECONDS = 2.0
LEGACY_SERVER_CONNECT = 0x4
"""OpenSSL's option of that name, which Python's ``ssl`` names only from 3.12 on."""


class Dialler:
    """Opens connections.

    The address is judged before connecting and again on the connected socket, before any byte is sent, so that neither
    a mapping nor a name that changes its address leads past the policy.
    """

    def __init__(self, settings: WireSettings, factory: Callable[[], Connection]) -> None:
        self._resolver = Resolver(settings.addresses, settings.dns_seconds)
        self._factory = factory
        self._context = tls_context(settings)

    async def dial(self, origin: Origin, patience: float, admission: Waiting) -> Connection:
        """Connect to the first address that accepts, in the order of the name service, within so many seconds.

        The time of ``admission`` is not counted; its exceptions are passed on. Raise ``ResolveError``,
        ``RefusedAddressError``, ``ConnectError``, ``TlsError`` or ``WireTimeoutError``.
        """
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(patience):
                candidates = await self._resolver.candidates(origin.host, origin.port)
        except TimeoutError as error:
            raise WireTimeoutError(f"{origin.host}: the name service did not answer in {patience:.0f} s") from error
        left = patience - (asyncio.get_running_loop().time() - started)
        return await self._first_of(candidates, origin, left, admission)

    async def _first_of(
        self, candidates: tuple[Candidate, ...], origin: Origin, left: float, admission: Waiting
    ) -> Connection:
        loop = asyncio.get_running_loop()
        failure: WireError | None = None
        for position, candidate in enumerate(candidates):
            await admission.enter(candidate.address, candidate.sockaddr[1])
            began = loop.time()
            try:
                return await self._connect(candidate, origin, left / (len(candidates) - position))
            except (ConnectError, WireTimeoutError) as error:
                failure = error
            left -= loop.time() - began
        assert failure is not None  # noqa: S101  # the resolver never returns nothing
        raise failure

    async def _connect(self, candidate: Candidate, origin: Origin, patience: float) -> Connection:
        where = f"{origin.host} ({candidate.address} port {candidate.sockaddr[1]})"
        try:
            async with asyncio.timeout(patience):
                return await self._open(candidate, origin)
        except TimeoutError as error:
            raise WireTimeoutError(f"{where}: no connection in {patience:.1f} s") from error
        except ssl.SSLEOFError as error:
            raise ConnectError(f"{where}: closed during the TLS handshake") from error
        except (ssl.SSLError, UnicodeError) as error:
            raise TlsError(f"{where}: {error}") from error
        except OSError as error:
            raise ConnectError(f"{where}: {error.strerror or error}") from error

    async def _open(self, candidate: Candidate, origin: Origin) -> Connection:
        loop = asyncio.get_running_loop()
        sock = socket.socket(candidate.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            sock.setblocking(False)
            await loop.sock_connect(sock, candidate.sockaddr)
            address, port = sock.getpeername()[:2]
            refusal = self._resolver.policy.refusal(address)
            if refusal is not None:
                raise RefusedAddressError(f"{origin.host}: connected, but {refusal}")
        except BaseException:
            sock.close()
            raise
        connection = await self._wrap(sock, origin)  # From here on the socket is the transport's to close.
        connection.address, connection.port = address, port
        return connection

    async def _wrap(self, sock: socket.socket, origin: Origin) -> Connection:
        loop = asyncio.get_running_loop()
        if origin.scheme == "http":
            _, connection = await loop.create_connection(self._factory, sock=sock)
        else:
            _, connection = await loop.create_connection(
                self._factory,
                sock=sock,
                ssl=self._context,
                server_hostname=origin.host.rstrip("."),
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        return connection


def tls_context(settings: WireSettings) -> ssl.SSLContext:
    """Return the system's defaults with the settings' certificates, or a context that accepts whatever is offered."""
    context = ssl.create_default_context()
    if settings.ca_file is not None:
        context.load_verify_locations(settings.ca_file)
    if not settings.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.options |= LEGACY_SERVER_CONNECT
    context.set_alpn_protocols(["http/1.1"])
    return context
