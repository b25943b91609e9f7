"""Serve a made-up forum from a process of its own, and count what it was asked for.

    python -m benchmarks.forum_server --threads N

The port is the first line of the output. Each page has an entity tag and a date, by which conditional requests are
answered with 304. ``/-/counts`` says in JSON what was asked and sent since it was last asked for.
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

from benchmarks.forum import Forum

COUNTS = "/-/counts"
MODIFIED = "Wed, 01 Mar 2023 08:15:00 GMT"


@dataclass
class Counts:
    """Requests, those answered with 304, and bytes sent; robots.txt among them."""

    requests: int = 0
    not_modified: int = 0
    bytes: int = 0


class Answering(asyncio.Protocol):
    """One connection, which stays open; requests are answered one after the other."""

    def __init__(self, forum: Forum, counts: list[Counts]) -> None:
        self._forum = forum
        self._counts = counts
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers go to."""
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
            counts, self._counts[0] = self._counts[0], Counts()
            return _message("200 OK", json.dumps(asdict(counts)).encode(), "application/json")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        answer = self._page(target, fields)
        self._counts[0].requests += 1
        self._counts[0].bytes += len(answer)
        return answer

    def _page(self, target: str, fields: dict[str, str]) -> bytes:
        tag = f'"{crc32(target.encode()):08x}"'
        validators = f"ETag: {tag}\r\nLast-Modified: {MODIFIED}\r\n"
        if fields.get("if-none-match") == tag:
            self._counts[0].not_modified += 1
            return f"HTTP/1.1 304 Not Modified\r\n{validators}\r\n".encode()
        address = urlsplit(target)
        body = self._forum.page(address.path.lstrip("/"), dict(parse_qsl(address.query)))
        if body is None:
            return _message("404 Not Found", b"<h1>Not found</h1>")
        return _message("200 OK", body, fields=validators)


def _message(status: str, body: bytes, media_type: str = "text/html; charset=utf-8", fields: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    return head.encode() + body


@dataclass(frozen=True, slots=True)
class Served:
    """A forum that is being served."""

    url: str

    def counts(self) -> Counts:
        """Return what was asked and sent since this was last asked."""
        with urlopen(self.url + COUNTS[1:]) as answer:
            return Counts(**json.load(answer))


@contextmanager
def serving(threads: int) -> Iterator[Served]:
    """Serve a forum from another process until the block ends."""
    command = [sys.executable, "-m", "benchmarks.forum_server", "--threads", str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield Served(f"http://127.0.0.1:{int(server.stdout.readline())}/")
        finally:
            server.terminate()


async def serve(threads: int) -> None:
    """Serve until the process is ended."""
    forum, counts = Forum(threads), [Counts()]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(forum, counts), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Serve a made-up forum.")
    parser.add_argument("--threads", type=int, default=1000)
    asyncio.run(serve(parser.parse_args().threads))


if __name__ == "__main__":
    main()
