"""A web site on loopback that a test writes page by page, and that remembers who asked for what and when."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Reply:
    """What the site answers; ``body`` may be made in pieces."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: path, when (monotonic seconds), user agent."""

    path: str
    at: float
    agent: str


Answer = Reply | Callable[[str], Reply]


@dataclass(slots=True)
class Site:
    """Pages by path; ``other`` answers every path that is not among them."""

    pages: dict[str, Answer] = field(default_factory=dict)
    other: Answer = field(default_factory=lambda: Reply(b"<h1>Not found</h1>", 404))
    port: int = 0
    asked: list[Asked] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The front page."""
        return f"http://127.0.0.1:{self.port}/"

    def paths(self) -> list[str]:
        """Return the paths that were asked for, robots.txt apart, in order."""
        return [asked.path for asked in self.asked if asked.path != "/robots.txt"]

    def reply(self, path: str) -> Reply:
        """Return the answer to a path."""
        answer = self.pages.get(path, self.other)
        return answer if isinstance(answer, Reply) else answer(path)


def html(title: str, body: str = "") -> Reply:
    """Return a page."""
    return Reply(f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>".encode())


def links(*targets: str) -> str:
    """Return a list of links, each with its own address as anchor."""
    return "<ul>" + "".join(f'<li><a href="{target}">{target}</a></li>' for target in targets) + "</ul>"


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    """Serve a site on a free port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # Header and body are two writes: the second would wait for an acknowledgement.

        def do_GET(self) -> None:
            site.asked.append(Asked(self.path, time.monotonic(), self.headers.get("User-Agent", "")))
            reply = site.reply(self.path)
            time.sleep(reply.pause)
            self.send_response(reply.status)
            for name, value in {**reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(reply.body)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *_: Any) -> None:
            """Say nothing: a crawler that was killed is no news."""

    server = Server(("127.0.0.1", 0), Handler)
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
