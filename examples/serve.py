"""Serve the demo world on loopback, all its hosts on one port: ``python -m examples.serve --port 8765``.

A world is a folder of recorded sites named by their hosts. The Host header chooses the site (its port is ignored), the
path and query choose the page; anything else is a 404. Redirects and robots.txt are recorded like pages. Two settings
of a site's site.json go beyond recorded pages: parameters in ``ignore_params`` mean nothing, as session ids do, and
``trap: {"path": "/calendar/", "parameter": "month"}`` is a calendar that the server makes up, month by month, to the
end of the year 9999 in one direction and the year 1 in the other.

Every request is a line of the log: ``{"time", "host", "path", "user_agent", "status"}``. Standard library only.
"""

import argparse
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import parse_qs, unquote, urlsplit

WORLD = Path(__file__).resolve().parent / "world"
PORT = 8765
"""The port that ``demo.yaml`` names."""

HTML = "text/html; charset=UTF-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says to one request."""

    status: int
    content_type: str
    body: bytes
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A line of the log. ``time`` is in seconds since 1970; ``path`` includes the query."""

    time: float
    host: str
    path: str
    user_agent: str
    status: int


@dataclass(frozen=True, slots=True)
class Trap:
    """A calendar without end below ``path``; ``parameter`` of the query names the month as YYYY-MM."""

    path: str
    parameter: str


@dataclass(frozen=True, slots=True)
class Row:
    """A line of index.jsonl that can be answered."""

    status: int
    content_type: str
    file: str | None
    location: str | None


@dataclass(frozen=True, slots=True)
class Site:
    """A recorded site, read from its folder."""

    folder: Path
    rows: Mapping[tuple[str, str], Row]
    ignored: frozenset[str]
    trap: Trap | None

    @classmethod
    def read(cls, folder: Path) -> "Site":
        """Return the site recorded in a folder."""
        settings = json.loads((folder / "site.json").read_text("utf-8"))
        ignored = frozenset(settings.get("ignore_params", ()))
        trap = Trap(**settings["trap"]) if "trap" in settings else None
        rows: dict[tuple[str, str], Row] = {}
        for line in (folder / "index.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            location = next((value for name, value in row["headers"] if name.lower() == "location"), None)
            kept = Row(row["status"], row["content_type"], row["file"], location)
            rows.setdefault(_key(row["url"], ignored), kept)
        return cls(folder, rows, ignored, trap)

    def answer(self, target: str) -> Answer:
        """Return the answer to a request for a path and query."""
        row = self.rows.get(_key(target, self.ignored))
        if row:
            body = (self.folder / row.file).read_bytes() if row.file else b""
            return Answer(row.status, row.content_type, body, row.location)
        if self.trap and urlsplit(target).path == self.trap.path:
            return _calendar(self.trap, target)
        return _not_found(target)


@dataclass(frozen=True, slots=True)
class World:
    """Sites by host."""

    sites: Mapping[str, Site]

    @classmethod
    def read(cls, folder: Path) -> "World":
        """Return the world of a folder; raises FileNotFoundError where it holds no site."""
        sites = {index.parent.name: Site.read(index.parent) for index in sorted(folder.glob("*/index.jsonl"))}
        if not sites:
            raise FileNotFoundError(f"{folder} holds no recorded site: run python -m examples.make_world")
        return cls(sites)

    def answer(self, host: str, target: str) -> Answer:
        """Return the answer of a host, named without its port, to a request for a path and query."""
        site = self.sites.get(host)
        return site.answer(target) if site else _not_found(f"//{host}{target}")


class WorldServer(ThreadingHTTPServer):
    """A world on a port of 127.0.0.1. ``requests`` holds the log so far; closing ends all its connections."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(
        self, world: World, port: int = 0, log: TextIO | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.world = world
        self.requests: list[Request] = []
        self._log, self._clock = log, clock
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return self.server_port

    def note(self, host: str, path: str, user_agent: str, status: int) -> None:
        """Add a request to the log."""
        with self._lock:
            request = Request(self._clock(), host, path, user_agent, status)
            self.requests.append(request)
            if self._log:
                self._log.write(json.dumps(asdict(request)) + "\n")
                self._log.flush()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Keep the connection in mind, so that it can be ended with the server."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection that is over."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """End all connections and wait for their threads."""
        with self._lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
        super().server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "world"
    sys_version = ""
    server: WorldServer

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        try:
            split = urlsplit(self.path if "://" in self.path else f"http://{self.headers.get('Host', '')}{self.path}")
        except ValueError:
            self.send_error(400, "No such host")
            return
        host = split.hostname or ""
        target = split.path + (f"?{split.query}" if split.query else "")
        answer = self.server.world.answer(host, target)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        if answer.location:
            self.send_header("Location", answer.location)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)
        self.server.note(host, target, self.headers.get("User-Agent", ""), answer.status)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Say nothing: the log is the server's."""


@contextmanager
def serve(world: Path = WORLD, port: int = 0, log: Path | None = None) -> Iterator[WorldServer]:
    """Serve a world until the block ends; port 0 is any free one. Raises OSError where the port is taken."""
    read = World.read(world)
    lines = log.open("a", encoding="utf-8") if log else None
    try:
        with WorldServer(read, port, lines) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield server
            finally:
                server.shutdown()
                thread.join()
    finally:
        if lines:
            lines.close()


def _key(url: str, ignored: frozenset[str]) -> tuple[str, str]:
    split = urlsplit(url)
    kept = [part for part in split.query.split("&") if part.split("=")[0] not in ignored]
    return unquote(split.path) or "/", unquote("&".join(kept))


def _not_found(target: str) -> Answer:
    body = f"<!doctype html><title>404 Not Found</title><h1>Not Found</h1><p>{len(target)} characters of nothing.</p>\n"
    return Answer(404, HTML, body.encode())


def _calendar(trap: Trap, target: str) -> Answer:
    """Return one month of the calendar, with links to the months around it and to each of its weeks."""
    query = parse_qs(urlsplit(target).query)
    try:
        year, month = map(int, query[trap.parameter][0].split("-"))
    except (KeyError, ValueError):
        return _not_found(target)
    if not (1 <= month <= 12 and 1 <= year <= 9999):
        return _not_found(target)
    here = year * 12 + month - 1
    months = [here + step for step in (-12, -1, 1, 12) if 12 <= here + step < 10000 * 12]
    names = [f"{number // 12:04d}-{number % 12 + 1:02d}" for number in months]
    links = " · ".join(f'<a href="{trap.path}?{trap.parameter}={name}">{name}</a>' for name in names)
    this = f"{year:04d}-{month:02d}"
    weeks = " ".join(
        f'<a href="{trap.path}?{trap.parameter}={this}&amp;week={week}">week {week}</a>' for week in range(1, 5)
    )
    body = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Calendar {this}</title></head><body>
<h1>Events in {this}</h1>
<p>{links}</p>
<table><tr><td>First Monday</td><td>Practice of the flood sirens</td></tr>
<tr><td>Second Tuesday</td><td>Council meeting</td></tr>
<tr><td>Third Thursday</td><td>Market day</td></tr></table>
<p>{weeks}</p>
<p><a href="/">Town hall</a></p></body></html>
"""
    return Answer(200, HTML, body.encode())


def main() -> int:
    """Serve until interrupted; return the exit code."""
    parser = argparse.ArgumentParser(description="Serve the demo world on loopback, all its hosts on one port.")
    parser.add_argument("--world", type=Path, default=WORLD, help="the folder of recorded sites")
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}; 0 for any free one")
    parser.add_argument("--log", type=Path, help="write a JSON line a request to this file")
    arguments = parser.parse_args()
    try:
        with serve(arguments.world, arguments.port, arguments.log) as server:
            hosts = ", ".join(server.world.sites)
            print(f"serving {hosts} on 127.0.0.1:{server.port}; Ctrl-C ends it", flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        print(f"cannot serve {arguments.world} on port {arguments.port}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
