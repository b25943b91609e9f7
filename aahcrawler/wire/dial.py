"""Open connections to origins, checking the IP address of each against the policy first."""

import asyncio
import socket
import ssl
from collections.abc import Callable

from aahcrawler.wire.admission import Waiting
from aahcrawler.wire.connection import Connection, End
from aahcrawler.wire.errors import (
    ConnectError,
    ProxyUnavailableError,
    RefusedAddressError,
    ResolveError,
    TlsError,
    WireError,
    WireTimeoutError,
)
from aahcrawler.wire.ip_policy import Candidate, IpPolicy, Resolver
from aahcrawler.wire.request import Origin
from aahcrawler.wire.settings import Proxy, Route, Tls, WireSettings, forwarding_proxy
from aahcrawler.wire.tunnel import open_tunnel

SHUTDOWN_SECONDS = 2.0
PROXY_SECONDS = 10.0
"""The most seconds in which a proxy must accept a connection."""


class Dialler:
    """Opens connections, directly or through proxies.

    The IP address is checked before connecting and again on the connected socket, before any byte is sent, so that
    neither a mapping nor a name that changes its IP address gets past the policy. If a proxy resolves the host, only
    the host's name can be checked. Proxies themselves may be on any network, because the definition names them.
    """

    def __init__(self, settings: WireSettings, factory: Callable[[], Connection]) -> None:
        self._resolver = Resolver(settings.addresses, settings.dns_seconds)
        self._proxies = Resolver(IpPolicy(True, settings.addresses.resolve), settings.dns_seconds)
        self._factory = factory
        self._routes = settings.routes
        self._contexts = TlsContexts()

    async def dial(self, origin: Origin, patience: float, admission: Waiting) -> Connection:
        """Connect to the first IP address that accepts, in the order of the name service, within ``patience`` seconds.

        The time spent in ``admission`` is not counted; its exceptions are passed on. Raises ``ResolveError``,
        ``RefusedAddressError``, ``ConnectError``, ``TlsError``, ``ProxyError`` or ``WireTimeoutError``.
        """
        started = asyncio.get_running_loop().time()
        route = self._routes.to(origin.host)
        candidates = await self._candidates(route, origin, patience)
        left = patience - (asyncio.get_running_loop().time() - started)
        return await self._first_of(candidates, (origin, route), left, admission)

    async def _candidates(self, route: Route, origin: Origin, patience: float) -> tuple[Candidate, ...]:
        if route.proxy is not None and route.proxy.resolves:
            return self._resolver.unresolved(origin.host, origin.port)
        try:
            async with asyncio.timeout(patience):
                return await self._resolver.candidates(origin.host, origin.port)
        except TimeoutError as error:
            raise WireTimeoutError(f"{origin.host}: the name service did not answer in {patience:.0f} s") from error

    async def _first_of(
        self, candidates: tuple[Candidate, ...], wanted: tuple[Origin, Route], left: float, admission: Waiting
    ) -> Connection:
        loop = asyncio.get_running_loop()
        failure: WireError | None = None
        for position, candidate in enumerate(candidates):
            await admission.enter(candidate.address, candidate.sockaddr[1])
            began = loop.time()
            try:
                return await self._connect(candidate, wanted, left / (len(candidates) - position))
            except (ConnectError, WireTimeoutError) as error:
                failure = error
            left -= loop.time() - began
        assert failure is not None  # noqa: S101  # the resolver never returns nothing
        raise failure

    async def _connect(self, candidate: Candidate, wanted: tuple[Origin, Route], patience: float) -> Connection:
        origin, route = wanted
        where = f"{origin.host} ({candidate.address} port {candidate.sockaddr[1]})"
        try:
            async with asyncio.timeout(patience):
                return await self._open(candidate, origin, route)
        except TimeoutError as error:
            raise WireTimeoutError(f"{where}: no connection in {patience:.1f} s") from error
        except ssl.SSLEOFError as error:
            raise ConnectError(f"{where}: closed during the TLS handshake") from error
        except (ssl.SSLError, UnicodeError) as error:
            raise TlsError(f"{where}: {error}") from error
        except OSError as error:
            raise ConnectError(f"{where}: {error.strerror or error}") from error

    async def _open(self, candidate: Candidate, origin: Origin, route: Route) -> Connection:
        try:
            return await self._secured(candidate, origin, route, verify=True)
        except ssl.SSLError as error:
            if not route.tls.accepts_invalid or isinstance(error, ssl.SSLEOFError):
                raise
            problem = problem_of(error)
        # By then the fault is known, and recorded with what comes over this connection.
        return await self._secured(candidate, origin, route, verify=False, problem=problem)

    async def _secured(
        self, candidate: Candidate, origin: Origin, route: Route, *, verify: bool, problem: str = ""
    ) -> Connection:
        sock = await self._socket(candidate, origin, route)
        is_known = candidate.is_resolved and forwarding_proxy(self._routes, origin) is None
        ip_address, port = candidate.address if is_known else "", candidate.sockaddr[1]
        if route.proxy is None:
            ip_address, port = sock.getpeername()[:2]
        connection = await self._wrap(sock, origin, route, verify=verify)  # The socket is the transport's to close.
        connection.address, connection.port = ip_address or candidate.address, port
        connection.end = End(ip_address, str(route.proxy or ""), problem)
        return connection

    async def _socket(self, candidate: Candidate, origin: Origin, route: Route) -> socket.socket:
        sock = await self._connected(candidate) if route.proxy is None else await self._to_proxy(route.proxy)
        try:
            if route.proxy is None:
                refusal = self._resolver.policy.refusal(sock.getpeername()[0])
                if refusal is not None:
                    raise RefusedAddressError(f"{origin.host}: connected, but {refusal}")
            elif forwarding_proxy(self._routes, origin) is None:
                await open_tunnel(sock, route.proxy, candidate.address, candidate.sockaddr[1])
        except BaseException:
            sock.close()
            raise
        return sock

    async def _connected(self, candidate: Candidate) -> socket.socket:
        sock = socket.socket(candidate.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, candidate.sockaddr)
        except BaseException:
            sock.close()
            raise
        return sock

    async def _to_proxy(self, proxy: Proxy) -> socket.socket:
        why = "no address"
        try:
            async with asyncio.timeout(PROXY_SECONDS):
                for candidate in await self._proxies.candidates(proxy.host, proxy.port):
                    try:
                        return await self._connected(candidate)
                    except OSError as error:
                        why = error.strerror or str(error)
        except TimeoutError:
            why = f"no connection in {PROXY_SECONDS:.0f} s"
        except ResolveError as error:
            why = str(error)
        raise ProxyUnavailableError(f"{proxy} cannot be reached: {why}", str(proxy))

    async def _wrap(self, sock: socket.socket, origin: Origin, route: Route, *, verify: bool) -> Connection:
        loop = asyncio.get_running_loop()
        if origin.scheme == "http":
            _, connection = await loop.create_connection(self._factory, sock=sock)
        else:
            _, connection = await loop.create_connection(
                self._factory,
                sock=sock,
                ssl=self._contexts.of(route.tls, verify=verify),
                server_hostname=origin.host.rstrip("."),
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        return connection


LEGACY_SERVER_CONNECT = 0x4
"""OpenSSL's option of that name, which Python's ``ssl`` defines only from 3.12 on."""


class TlsContexts:
    """Creates the TLS context for each setting once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Tls, bool], ssl.SSLContext] = {}

    def of(self, tls: Tls, *, verify: bool) -> ssl.SSLContext:
        """Return the context for these certificates.

        Raises ``OSError`` (``ssl.SSLError`` included) for unusable files.
        """
        key = tls, verify
        if key not in self._known:
            self._known[key] = tls_context(tls, verify=verify)
        return self._known[key]


def tls_context(tls: Tls, *, verify: bool) -> ssl.SSLContext:
    """Return the system's default context with a host's certificates; without ``verify``, one that accepts any.

    Raises ``OSError`` (``ssl.SSLError`` included) for unusable files.
    """
    context = ssl.create_default_context()
    if tls.ca_file is not None:
        context.load_verify_locations(tls.ca_file)
    if tls.certificate is not None:
        # Without a passphrase OpenSSL would ask for one at the terminal.
        context.load_cert_chain(tls.certificate, tls.key, lambda: tls.passphrase)
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.options |= LEGACY_SERVER_CONNECT
    context.set_alpn_protocols(["http/1.1"])
    return context


def problem_of(error: ssl.SSLError) -> str:
    """Describe in a few words, without naming a host, what is wrong with a certificate or a handshake.

    >>> problem_of(ssl.SSLError(1, "[SSL: UNSUPPORTED_PROTOCOL] unsupported protocol (_ssl.c:1)"))
    'handshake failed'
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message.partition(",")[0].strip().rstrip(".").lower() or "certificate does not verify"
    return (getattr(error, "reason", None) or "handshake failed").replace("_", " ").lower()
