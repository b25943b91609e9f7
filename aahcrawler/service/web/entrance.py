"""The entrance of the service: what is asked of each request before anything of it is looked at."""

import asyncio
import logging
import math
import resource
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import h11
from fastapi.requests import HTTPConnection
from fastapi.security import HTTPBearer
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from aahcrawler.listening import is_loopback
from aahcrawler.service.web.noted_acts import NotNotedError, note_asked
from aahcrawler.service.web.problems import (
    BAD_REQUEST,
    BAD_TYPE,
    CROSS_ORIGIN,
    MISDIRECTED,
    NOT_NOTED,
    TOO_LARGE,
    TOO_MANY,
    TOO_SLOW,
    UNAUTHORISED,
    ProblemError,
    as_response,
)
from aahcrawler.service.web.roles import CHALLENGE, LOCAL, Caller, Role, Tokens, checked

HEAD_SECONDS = 10.0
"""Seconds from the begin of a connection, or of the next request on it, to the end of the head."""
HEAD_BYTES = 2**16
"""Bytes of a head: a query may be as long as the longest URL, or as most queries in SPARQL."""
_PART = 4
"""Of the files that this process may have open, every so manieth may be such a connection."""
_MAX_CONNECTIONS = 1000


def most_connections() -> int:
    """Return how many connections without a whole head this process can afford."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(1, min(_MAX_CONNECTIONS, files // _PART)) if files != resource.RLIM_INFINITY else _MAX_CONNECTIONS


@dataclass(slots=True)
class UnfinishedHeads:
    """Keeps the connections without a whole head, the oldest first, and closes those beyond its bounds."""

    seconds: float = HEAD_SECONDS
    most: int = field(default_factory=most_connections)
    _waiting: OrderedDict["HttpProtocol", Any] = field(default_factory=OrderedDict)

    def begun(self, connection: "HttpProtocol") -> None:
        """Count a connection in, unless it is; the oldest gives way where there are too many."""
        if connection not in self._waiting:
            self._waiting[connection] = connection.loop.call_later(self.seconds, self._close, connection)
            if len(self._waiting) > self.most:
                self._close(next(iter(self._waiting)))

    def ended(self, connection: "HttpProtocol") -> None:
        """Count a connection out: its head is whole, or it is closed."""
        timer = self._waiting.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _close(self, connection: "HttpProtocol") -> None:
        self.ended(connection)
        connection.transport.abort()


_Event = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]


def _framed_once(next_event: Callable[[], _Event]) -> Callable[[], _Event]:
    """Return what refuses requests whose body ends by two measures: a proxy before us may go by the other one.

    RFC 9112, section 6.1, lets a server refuse them.
    """

    def checked() -> _Event:
        event = next_event()
        if isinstance(event, h11.Request):
            names = {name.lower() for name, _ in event.headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                raise h11.RemoteProtocolError("A request has Content-Length or Transfer-Encoding, not both.")
        return event

    return checked


class HttpProtocol(H11Protocol):
    """A connection to the service, which limits requests that are sent slowly.

    While the head of a request is incomplete, the connection is registered in ``heads``, which bounds the number and
    the age of such connections.
    """

    def __init__(self, heads: UnfinishedHeads, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._heads = heads
        self.conn.next_event = _framed_once(self.conn.next_event)  # type: ignore[method-assign]

    def connection_made(self, transport: Any) -> None:
        """Expect a head from now on, and send what is written at once.

        A response goes out in two pieces, and asyncio itself sees to that only for sockets that name their protocol:
        for others the second piece would wait for the client to confirm the first one, which takes it 40 ms.
        """
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._heads.begun(self)

    def data_received(self, data: bytes) -> None:
        """Read on; whoever has sent a part of a head is expected to send the rest."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._heads.begun(self)
        else:
            self._heads.ended(self)

    def send_400_response(self, msg: str) -> None:
        """Send problem details with status 400 for bytes that are no HTTP request, and close the connection."""
        said = as_response(
            ProblemError(BAD_REQUEST, f"{msg} The line of a request and its headers have at most {HEAD_BYTES:,} bytes")
        )
        headers = [*said.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=said.status_code, headers=headers, reason=BAD_REQUEST.status.phrase.encode()),
            h11.Data(data=bytes(said.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._heads.ended(self)
        super().connection_lost(exc)


_BURST = 4
"""Seconds after which a caller who rests may ask as often at once as in that time."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests a second that may go on for ever, and how many may come at once after a rest; 0 is no bound."""

    sustained: float
    burst: int


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one caller: requests to post scored URLs, and all others."""

    requests: Rate = Rate(50, 200)
    posts: Rate = Rate(1000, 4000)

    @classmethod
    def of(cls, sustained: float) -> "Rates":
        """Return the rates with so many requests a second, bursts and posts in the usual proportion."""
        return cls(_rate(sustained), _rate(20 * sustained))


def _rate(sustained: float) -> Rate:
    return Rate(sustained, max(1, round(_BURST * sustained)))


UNLIMITED = Rates.of(0)


class Buckets:
    """Keeps one bucket for each name, of which there are as many as there are callers. For one thread."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count a request of a caller. Raise ``ProblemError``, which says when to come again, for one too many."""
        if not self._rate.sustained:
            return
        now = self._clock()
        left, since = self._left.get(name, (float(self._rate.burst), now))
        left = min(float(self._rate.burst), left + (now - since) * self._rate.sustained)
        if left < 1:
            self._left[name] = left, now
            wait = max(1, math.ceil((1 - left) / self._rate.sustained))
            raise ProblemError(
                TOO_MANY,
                f"{name} may make {self._rate.sustained:g} requests a second, {self._rate.burst:,} after a rest; "
                f"wait {wait} s",
                headers={"Retry-After": str(wait)},
            )
        self._left[name] = left - 1, now


BODY: Final = 4 * 2**20
"""Bytes of a body that is kept in memory before a route is asked."""
PATIENCE: Final = 30.0
"""Seconds between two pieces of it."""
BEARER: Final = HTTPBearer(
    scheme_name=HTTPBearer.__name__, description="A token of the service, if it has any.", auto_error=False
)
"""Describes in the OpenAPI document what ``Entrance`` asks for."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""Types that a web page may send to any host without being asked whether it may."""
_logger = logging.getLogger(__name__)
_OWN_SITE = frozenset({"", "none", "same-origin"})


@dataclass(frozen=True, slots=True)
class Guard:
    """What holds at the entrance. ``posts`` says of method and path whether scored URLs are posted there.

    These requests have a rate of their own, and their bodies are read, and bounded, by whoever takes them.
    """

    tokens: Tokens = field(default_factory=Tokens)
    rates: Rates = field(default_factory=Rates)
    posts: Callable[[str, str], bool] = field(default=lambda _method, _path: False)
    prefix: str = "/v1"
    body: int = BODY


class Entrance:
    """Lets requests in, and notes who asks in ``request.state.caller``.

    On all paths, what a page of another site sends to change something is refused. Under the prefix of the guard: who
    has no token, where there are any (without tokens, who does not name this machine by a loopback name); who has not
    the role ``read`` and asks to read; too many requests of one caller; forms; bodies that are too large or too slow;
    what cannot be noted in the log of the service.
    """

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard
        self._requests, self._posts = Buckets(guard.rates.requests), Buckets(guard.rates.posts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why it is not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        try:
            refuse_other_origins(connection)
            if f"{_route(scope)}/".startswith(f"{self._guard.prefix}/"):
                receive = await self._admitted(connection, receive)
        except ProblemError as problem:
            await as_response(problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _admitted(self, connection: HTTPConnection, receive: Receive) -> Receive:
        method, path = connection.scope["method"], _route(connection.scope)
        caller = connection.state.caller = caller_of(connection, self._guard.tokens)
        is_post = self._guard.posts(method, path)
        (self._posts if is_post else self._requests).take(caller.name)
        if method in _SAFE:
            checked(caller, Role.READ)
        elif _media_type(connection) in _FORMS:
            raise ProblemError(BAD_TYPE, "send application/json; forms are not taken here")
        if not is_post:
            receive = await self._whole(connection, receive)
        await begin_act()
        return receive

    async def _whole(self, connection: HTTPConnection, receive: Receive) -> Receive:
        """Read a body to its end, and return what gives it out again."""
        bound = self._guard.body
        announced = connection.headers.get("content-length", "0")
        if announced.isdecimal() and int(announced) > bound:
            raise _too_large(bound)
        pieces: list[bytes] = []
        size, goes_on = 0, True
        while goes_on:
            piece, goes_on = await _piece(receive)
            size += len(piece)
            if size > bound:
                raise _too_large(bound)
            pieces.append(piece)
        return _given_again(b"".join(pieces), receive)


def caller_of(connection: HTTPConnection, tokens: Tokens) -> Caller:
    """Return who asks, by the token that was sent; without tokens it is ``LOCAL``, under a loopback name alone.

    The latter keeps web pages in a browser on this machine from reaching the service under a name of their own. Raise
    ``ProblemError`` for whom is not let in.
    """
    if not tokens:
        if not is_loopback(_host(connection)):
            raise ProblemError(MISDIRECTED, "ask for localhost or a loopback address, or start with a token")
        return LOCAL
    scheme, _, given = connection.headers.get("authorization", "").partition(" ")
    caller = tokens.caller(given.strip()) if scheme.lower() == "bearer" else None
    if caller is None:
        raise ProblemError(UNAUTHORISED, "send `Authorization: Bearer TOKEN`", headers=CHALLENGE)
    return caller


def refuse_other_origins(connection: HTTPConnection) -> None:
    """Raise ``ProblemError`` for a request that would change something, and that a page of another site makes."""
    if connection.scope["method"] in _SAFE:
        return
    origin, host = connection.headers.get("origin"), connection.headers.get("host", "")
    is_own = origin is None or origin.lower() in {f"{scheme}://{host.lower()}" for scheme in ("http", "https")}
    if not is_own or connection.headers.get("sec-fetch-site", "") not in _OWN_SITE:
        raise ProblemError(
            CROSS_ORIGIN,
            "a page of another site sent this; pages of this service, and programs that send no Origin, change crawls. "
            "A proxy in front of the service has to pass the header Host on as it is",
        )


async def begin_act() -> None:
    """Note that an act was asked for, before it is done. Raise ``ProblemError`` where that cannot be noted."""
    try:
        await note_asked()
    except NotNotedError as error:
        _logger.error("%s; what was asked for is refused", error)
        raise ProblemError(NOT_NOTED, f"{error}; nothing was done") from error


def _route(scope: Scope) -> str:
    """Return the path by which a route is found: without the one that the application itself stands below."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


def _host(connection: HTTPConnection) -> str:
    try:
        return urlsplit(f"//{connection.headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _media_type(connection: HTTPConnection) -> str:
    return connection.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    """Return the next piece of a body, and whether there is more of it."""
    try:
        async with asyncio.timeout(PATIENCE):
            message = await receive()
    except TimeoutError:
        raise ProblemError(TOO_SLOW, f"nothing arrived for {PATIENCE:g} seconds") from None
    if message["type"] == "http.disconnect":
        raise ProblemError(TOO_SLOW, "the rest of the request never arrived")
    return message.get("body", b""), message.get("more_body", False)


def _too_large(bound: int) -> ProblemError:
    return ProblemError(TOO_LARGE, f"a body has at most {bound:,} bytes here")


def _given_again(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body in one piece, and after it what else is received."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return waiting.pop() if waiting else await receive()

    return given
