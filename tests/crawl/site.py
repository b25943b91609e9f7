"""A web site on loopback that a test writes page by page, and that remembers who asked for what and when.

By ``network.resolve`` one site can be many: a page under ``//a.test/x`` answers requests to that host alone.
"""

import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """What the site answers after a pause. Where ``raw`` is given it sends these bytes alone, and hangs up.

    A reply with an ``ETag`` or a ``Last-Modified`` is not sent again to those who say that they have it: they get 304.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})
    pause: float = 0.0
    raw: Callable[[], Iterable[bytes]] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: path, when (monotonic seconds), user agent, and what else was said."""

    path: str
    at: float
    agent: str
    host: str = ""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


Answer = Reply | Callable[[str], Reply]


@dataclass(slots=True)
class Site:
    """Pages by path, and by path and body what is posted; ``other`` answers all that is not among them."""

    pages: dict[str, Answer] = field(default_factory=dict)
    other: Answer = field(default_factory=lambda: Reply(b"<h1>Not found</h1>", 404))
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    under_way: Counter[str] = field(default_factory=Counter)
    """How many requests to each host are being answered now; the most ever at once are in ``busiest``."""
    busiest: dict[str, int] = field(default_factory=dict)
    most_at_once: int = 0
    """The most requests that were being answered at once, to all hosts."""
    posted: dict[tuple[str, str], Reply] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The front page."""
        return f"http://127.0.0.1:{self.port}/"

    def paths(self) -> list[str]:
        """Return the paths that were asked for, robots.txt apart, in order."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    def of(self, host: str) -> list[Asked]:
        """Return the requests to a host, in order."""
        return [asked for asked in self.asked if asked.host == host]

    def reply(self, path: str, host: str = "") -> Reply:
        """Return the answer to a path."""
        answer = self.pages.get(f"//{host}{path}") or self.pages.get(path, self.other)
        return answer if isinstance(answer, Reply) else answer(path)


def html(title: str, body: str = "") -> Reply:
    """Return a page."""
    return Reply(f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>".encode())


def links(*targets: str) -> str:
    """Return a list of links, each with its own address as anchor."""
    return "<ul>" + "".join(f'<li><a href="{target}">{target}</a></li>' for target in targets) + "</ul>"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # Header and body are two writes: the second would wait for an acknowledgement.
    server: "_Server"

    def handle_one_request(self) -> None:
        """Answer a request of any method."""
        try:
            self.raw_requestline = self.rfile.readline(1 << 20)
            if self.raw_requestline and self.parse_request():
                self._note_and_answer(self.server.site)
            else:
                self.close_connection = True
        except OSError:
            self.close_connection = True

    def _note_and_answer(self, site: Site) -> None:
        host = self.headers.get("Host", "").partition(":")[0]
        agent = self.headers.get("User-Agent", "")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("latin-1")
        asked = Asked(self.path, time.monotonic(), agent, host, self.command, tuple(self.headers.items()), body)
        with self.server.lock:
            site.asked.append(asked)
            site.under_way[host] += 1
            site.busiest[host] = max(site.busiest.get(host, 0), site.under_way[host])
            site.most_at_once = max(site.most_at_once, site.under_way.total())
        try:
            is_post = self.command == "POST"
            reply = site.posted.get((self.path, body), site.other) if is_post else site.reply(self.path, host)
            reply = self._validated(reply if isinstance(reply, Reply) else reply(self.path))
            time.sleep(reply.pause)
        finally:  # Before the asker has the reply, and asks for more.
            with self.server.lock:
                site.under_way[host] -= 1
        self._answer(reply)

    def _validated(self, reply: Reply) -> Reply:
        """Evaluate the conditions of a request as RFC 9110 says, section 13.2.2."""
        tag, date = self.headers.get("If-None-Match"), self.headers.get("If-Modified-Since")
        if tag is not None:
            is_known = tag == reply.headers.get("ETag")
        else:
            is_known = date is not None and date == reply.headers.get("Last-Modified")
        if reply.status != 200 or not is_known:
            return reply
        kept = {name: reply.headers[name] for name in ("ETag", "Last-Modified") if name in reply.headers}
        return Reply(status=304, headers=kept, pause=reply.pause)

    def _answer(self, reply: Reply) -> None:
        if reply.raw is not None:
            self.close_connection = True
            for piece in reply.raw():
                self.wfile.write(piece)
            return
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str, site: Site) -> None:
        super().__init__((address, 0), _Handler)
        self.site = site
        self.lock = threading.Lock()

    def get_request(self) -> tuple[socket.socket, Any]:
        self.site.connections += 1
        return super().get_request()

    def handle_error(self, *_: Any) -> None:
        """Say nothing: a crawler that was killed is no news."""


@contextmanager
def serving(site: Site, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """Serve a site on a free port until the block ends."""
    server = _Server(address, site)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
