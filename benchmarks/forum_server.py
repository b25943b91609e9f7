"""Serves made-up forums from a process of its own, and counts requests.

    python -m benchmarks.forum_server --threads N [--hosts N]

With one host it is 127.0.0.1; several are 127.0.0.2 and those after it, each with a board of its own, so many threads
long. The port, the same for all, is the first line of the output; the pages to be held in memory have been made by
then. Each page has an entity tag and a date, by which conditional requests are answered with 304. ``/-/counts`` counts
in JSON the requests and answers since its last call.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from urllib.parse import parse_qsl, urlsplit
from urllib.request import urlopen
from zlib import crc32

from benchmarks.forum import FORUM, Forum

COUNTS = "/-/counts"
MODIFIED = "Wed, 01 Mar 2023 08:15:00 GMT"
MOST_KEPT = 5000
"""Pages that are held in memory; others are made whenever they are asked for."""


@dataclass
class Counts:
    """Requests, those answered with 304, and bytes sent, robots.txt among them; ``pages`` counts each page once."""

    requests: int = 0
    not_modified: int = 0
    bytes: int = 0
    pages: int = 0


class Boards:
    """The boards of all hosts, and the counts of requests for them."""

    def __init__(self, boards: dict[str, Forum]) -> None:
        self._boards = boards
        self._kept: dict[tuple[str, str], bytes | None] = {}
        self._asked: set[tuple[str, str]] = set()
        self.counts = Counts()

    def make(self) -> None:
        """Make as many pages as are kept."""
        for host, board in self._boards.items():
            for address in board.addresses():
                if len(self._kept) >= MOST_KEPT:
                    return
                self._kept[host, f"/{address}"] = self._made(host, f"/{address}")

    def counted(self) -> Counts:
        """Return the counts, and begin anew."""
        counts, self.counts = self.counts, Counts()
        counts.pages = len(self._asked)
        self._asked.clear()
        return counts

    def page(self, host: str, target: str) -> bytes | None:
        """Return the page at a path of a host, None where there is none."""
        key = (host, target)
        body = self._kept[key] if key in self._kept else self._made(host, target)
        if body is not None:
            self._asked.add(key)
        return body

    def _made(self, host: str, target: str) -> bytes | None:
        address = urlsplit(target)
        return self._boards[host].page(address.path.lstrip("/"), dict(parse_qsl(address.query)))


class Answering(asyncio.Protocol):
    """One connection, which stays open; requests are answered one after the other."""

    def __init__(self, host: str, boards: Boards) -> None:
        self._host = host
        self._boards = boards
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for answers."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each request that is whole."""
        self._pending += data
        while (end := self._pending.find(b"\r\n\r\n")) >= 0:
            head, self._pending = self._pending[:end].decode("latin-1"), self._pending[end + 4 :]
            self._transport.write(self._answer(head))

    def _answer(self, head: str) -> bytes:
        request, *lines = head.split("\r\n")
        target = request.split(" ")[1]
        if target == COUNTS:
            return _message("200 OK", json.dumps(asdict(self._boards.counted())).encode(), "application/json")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        answer = self._page(target, fields)
        self._boards.counts.requests += 1
        self._boards.counts.bytes += len(answer)
        return answer

    def _page(self, target: str, fields: dict[str, str]) -> bytes:
        tag = f'"{crc32(target.encode()):08x}"'
        validators = f"ETag: {tag}\r\nLast-Modified: {MODIFIED}\r\n"
        if fields.get("if-none-match") == tag:
            self._boards.counts.not_modified += 1
            return f"HTTP/1.1 304 Not Modified\r\n{validators}\r\n".encode()
        body = self._boards.page(self._host, target)
        if body is None:
            return _message("404 Not Found", b"<h1>Not found</h1>")
        return _message("200 OK", body, fields=validators)


def _message(status: str, body: bytes, media_type: str = "text/html; charset=utf-8", fields: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    return head.encode() + body


@dataclass(frozen=True, slots=True)
class Served:
    """Forums that are being served, at the URLs of their boards."""

    url: str
    urls: tuple[str, ...]

    def counts(self) -> Counts:
        """Return the requests and answers since the last call."""
        with urlopen(self.url + COUNTS[1:]) as answer:
            return Counts(**json.load(answer))


def boards(threads: int, hosts: int = 1) -> dict[str, Forum]:
    """Return the board of each host, so many threads long; no two have a page in common.

    >>> [(host, board.pages) for host, board in boards(20, 2).items()]
    [('127.0.0.2', 22), ('127.0.0.3', 22)]
    """
    if hosts == 1:
        return {"127.0.0.1": Forum(threads)}
    size = min(threads, FORUM)
    step = -(-threads // size) * size
    return {f"127.0.0.{2 + n}": Forum(n * step + threads, n * step, size) for n in range(hosts)}


@contextmanager
def serving(threads: int, hosts: int = 1) -> Iterator[Served]:
    """Serve forums from another process until the block ends."""
    command = [sys.executable, "-m", "benchmarks.forum_server", "--threads", str(threads), "--hosts", str(hosts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            urls = tuple(f"http://{host}:{port}/" for host in boards(threads, hosts))
            yield Served(urls[0], urls)
        finally:
            server.terminate()


async def serve(served: dict[str, Forum]) -> None:
    """Serve until the process is ended."""
    answering, port = Boards(served), 0
    answering.make()
    loop = asyncio.get_running_loop()
    servers = []
    for host in served:
        server = await loop.create_server(lambda host=host: Answering(host, answering), host, port)  # type: ignore[misc]
        port = server.sockets[0].getsockname()[1]
        servers.append(server)
    print(port, flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Serve made-up forums.")
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=1)
    arguments = parser.parse_args()
    asyncio.run(serve(boards(arguments.threads, arguments.hosts)))


if __name__ == "__main__":
    main()
