"""A server on loopback that records the exact bytes of each request and its response."""

import gzip
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Final

import brotli

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json"
SCRIPT: Final = "text/javascript; charset=utf-8"
STYLE: Final = "text/css"
Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as received: ``raw`` are its bytes, ``body`` is without transfer coding."""

    method: str
    target: str
    fields: Fields
    body: bytes
    raw: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query, undecoded."""
        pairs = (part.partition("=") for part in self.target.partition("?")[2].split("&") if part)
        return {name: value for name, _, value in pairs}

    def field(self, name: str) -> str:
        """Return the first value of a header field, empty if there is none."""
        return next((value for each, value in self.fields if each.lower() == name.lower()), "")


class Framing(StrEnum):
    """How the end of a response is marked."""

    LENGTH = "by its length"
    CHUNKED = "by chunks"
    CLOSE = "by the end of the connection"


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. The pieces of its body are sent with a pause in seconds before each piece but the first."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    fields: Fields = ()
    framing: Framing = Framing.LENGTH
    pause: float = 0.0

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(self.pieces)

    def head(self) -> bytes:
        """Return the status line and the header fields, with the empty line behind them."""
        fields = list(self.fields)
        match self.framing:
            case Framing.LENGTH:
                fields.append(("content-length", str(len(self.body))))
            case Framing.CHUNKED:
                fields.append(("Transfer-Encoding", "chunked"))
            case Framing.CLOSE:
                fields.append(("Connection", "close"))
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}", *(f"{n}: {v}" for n, v in fields)]
        return "\r\n".join((*lines, "", "")).encode("latin-1")

    def framed(self) -> Iterable[bytes]:
        """Yield the body as it is sent over the connection."""
        if self.framing is not Framing.CHUNKED:
            yield from self.pieces
            return
        for piece in filter(None, self.pieces):
            yield b"%x\r\n%s\r\n" % (len(piece), piece)
        yield b"0\r\n\r\n"


def reply(body: str | bytes, media_type: str, *fields: tuple[str, str], status: int = 200) -> Reply:
    """Return a response with a Content-Length."""
    content = body.encode() if isinstance(body, str) else body
    return Reply((content,), status, (("Content-Type", media_type), *fields))


def page(body: str, *, status: int = 200) -> Reply:
    """Return a page as servers send generated pages: in chunks, with field names spelled in their own way."""
    content = body.encode()
    middle = len(content) // 2
    fields = (("Server", "made-up/1.0"), ("content-type", HTML), ("X-Frame-Options", "SAMEORIGIN"))
    return Reply((content[:middle], content[middle:]), status, fields, Framing.CHUNKED)


def data(content: object, *, status: int = 200) -> Reply:
    """Return a JSON response without compression."""
    return reply(json.dumps(content), JSON, ("Cache-Control", "no-store"), status=status)


def compressed(response: Reply, request: Request) -> Reply:
    """Return a response in the best coding that the request accepts: Brotli, gzip, or none."""
    accepted = request.field("Accept-Encoding")
    if "br" in re.split(r"[,; ]+", accepted):
        return _coded(response, "br", brotli.compress(response.body, quality=4))
    if "gzip" in accepted:
        return _coded(response, "gzip", gzip.compress(response.body, 5, mtime=0))
    return response


def _coded(response: Reply, coding: str, body: bytes) -> Reply:
    fields = (*response.fields, ("Content-Encoding", coding), ("Vary", "Accept-Encoding"))
    return replace(response, pieces=(body,), fields=fields)


def not_found() -> Reply:
    """Return a response with status 404."""
    return page("<!doctype html><title>Not found</title><h1>Not found</h1><p>There is nothing here.</p>", status=404)


def attached(request: Request) -> Reply | None:
    """Return the attached file that is requested, None if none is."""
    if not request.path.startswith("/files/"):
        return None
    return reply(f"The content of {request.path}.\n", "text/plain; charset=utf-8")


_HOST: Final = "127.0.0.1"
_IDLE: Final = 60.0
_MAX_HEAD_LENGTH: Final = 1 << 20
Responder = Callable[[Request], Reply]


@dataclass(frozen=True, slots=True)
class Sent:
    """A request with its URL and bytes, and the bytes of the response; ``whole`` if all of that was sent."""

    url: str
    request: Request
    response: bytes
    whole: bool


class ExactServer:
    """Responds to requests by ``respond``, which may be replaced at any time; ``log`` has the exchanges in order."""

    def __init__(self) -> None:
        """Bind a free port."""
        self.respond: Responder = lambda _: not_found()
        self.log: list[Sent] = []
        self._listening = socket.create_server((_HOST, 0), backlog=128)
        self.port: int = self._listening.getsockname()[1]
        self.origin = f"http://{_HOST}:{self.port}"
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()

    @contextmanager
    def running(self) -> Iterator["ExactServer"]:
        """Serve until the block ends."""
        thread = threading.Thread(target=self._accept, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            with suppress(OSError):
                self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
            thread.join()
            with self._lock:
                open_ones = list(self._connections)
            for connection in open_ones:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def taken(self) -> Sequence[Sent]:
        """Return the exchanges since the last call."""
        with self._lock:
            log, self.log = self.log, []
        return log

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(_IDLE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._connections.add(connection)
        try:
            reader = _Reader(connection)
            while (request := reader.request()) is not None and self._respond(connection, request):
                pass
        except (OSError, ValueError):
            pass  # Who asks may hang up at any time, and a request that is none gets no response.
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _respond(self, connection: socket.socket, request: Request) -> bool:
        """Respond to a request; return whether another one may follow on the connection."""
        response = self.respond(request)
        sent = [response.head()]
        whole = False
        try:
            connection.sendall(sent[0])
            if request.method != "HEAD":
                for number, piece in enumerate(response.framed()):
                    if number and response.pause:
                        time.sleep(response.pause)
                    sent.append(piece)
                    connection.sendall(piece)
            whole = True
        finally:
            with self._lock:
                self.log.append(Sent(self.origin + request.target, request, b"".join(sent), whole))
        ends = response.framing is Framing.CLOSE or request.field("Connection").lower() == "close"
        return not ends


class _Reader:
    """Reads requests from a connection, one after another."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._left = connection, b""

    def request(self) -> Request | None:
        """Return the next request, None if the connection has ended."""
        head = self._until(b"\r\n\r\n")
        if not head:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, _ = first.split(" ")
        fields: Fields = tuple((n, v.strip()) for n, _, v in (line.partition(":") for line in lines))
        told = {name.lower(): value for name, value in fields}
        raw = self._chunks() if "chunked" in told.get("transfer-encoding", "") else b""
        body = _unchunked(raw)
        if (length := int(told.get("content-length", 0))) > 0:
            raw = body = self._exactly(length)
        return Request(method, target, fields, body, head + raw)

    def _chunks(self) -> bytes:
        raw = b""
        while True:
            line = self._until(b"\r\n")
            size = int(line.split(b";")[0], 16)
            raw += line + self._exactly(size + 2)
            if not size:
                return raw

    def _until(self, end: bytes) -> bytes:
        while end not in self._left:
            if len(self._left) > _MAX_HEAD_LENGTH:
                raise ValueError("a head without an end")
            if not (piece := self._connection.recv(65_536)):
                return b""
            self._left += piece
        place = self._left.index(end) + len(end)
        found, self._left = self._left[:place], self._left[place:]
        return found

    def _exactly(self, length: int) -> bytes:
        while len(self._left) < length:
            if not (piece := self._connection.recv(65_536)):
                raise ValueError("a body that broke off")
            self._left += piece
        found, self._left = self._left[:length], self._left[length:]
        return found


def _unchunked(raw: bytes) -> bytes:
    body = b""
    while raw:
        line, _, rest = raw.partition(b"\r\n")
        size = int(line.split(b";")[0], 16)
        body, raw = body + rest[:size], rest[size + 2 :] if size else b""
    return body
