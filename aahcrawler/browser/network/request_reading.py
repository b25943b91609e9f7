"""Reads the requests that a browser sends to a proxy, one at a time."""

import asyncio
from asyncio import StreamReader
from dataclasses import dataclass

import h11

from aahcrawler.browser.network.browser_response import ProxyBounds, end_to_end
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.wire.errors import InvalidRequestError
from aahcrawler.wire.request import Target, target_of

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
    """Reads requests from a connection, each with its body, within bounds.

    No request is read before the previous one has been answered.
    """

    def __init__(self, stream: StreamReader, bounds: ProxyBounds) -> None:
        self._stream = stream
        self._bounds = bounds
        self._ahead = b""

    @property
    def ahead(self) -> bool:
        """Whether more bytes have come than those of the requests read."""
        return bool(self._ahead)

    async def next(self) -> Incoming | None:
        """Return the next request; None where the browser closes the connection, or is silent for too long.

        Raises ``RequestRefusedError`` where the bytes are no request, or exceed a bound.
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
    """Return a head whose body can end in one place only (RFC 9112, section 6.3).

    Raises ``RequestRefusedError`` for any other head.
    """
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in head.headers}:
        raise RequestRefusedError("malformed request")
    return head


def _incoming(head: h11.Request, body: bytes, keeps_alive: bool) -> Incoming:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers.raw_items())
    return Incoming(head.method.decode("ascii"), head.target.decode("latin-1"), headers, body, keeps_alive)


def tunnel_target(incoming: Incoming) -> Target:
    """Return the target of a CONNECT request. Raises ``RequestRefusedError`` where it is no host and port."""
    authority = incoming.target
    target = _target(f"https://{authority}/")
    if target.path != "/" or "@" in authority or not authority.rpartition(":")[2].isdigit():
        raise RequestRefusedError("malformed request")
    return target


def browser_request(incoming: Incoming, tunnel: Target | None) -> BrowserRequest:
    """Return a request as the page made it; its URL is composed of its target and that of its tunnel.

    Raises ``RequestRefusedError`` for a target that is no http URL or, within a tunnel, no path, and where Host differs
    from the URL's.
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
    if _target(f"{target.origin.scheme}://{incoming.host}/") != _root(target):
        raise RequestRefusedError("another host")
    return BrowserRequest(target.url, incoming.method, end_to_end(incoming.headers), incoming.body)


def _root(target: Target) -> Target:
    return Target(target.origin, target.authority, "/")


def _target(url: str) -> Target:
    try:
        return target_of(url)
    except InvalidRequestError as error:
        raise RequestRefusedError("malformed request") from error
