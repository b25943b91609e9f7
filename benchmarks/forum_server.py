"""Serves made-up forums from a process of its own, and counts requests.

    python -m benchmarks.forum_server --threads N [--hosts N]

With one host it is 127.0.0.1; several are 127.0.0.2 and those after it, each with a board of its own, so many threads
long. The port, the same for all, is the first line of the output; the pages to be held in memory have been made by
then. Each page has an entity tag and a date, by which conditional requests are answered with 304.
"""

import argparse
import asyncio
from contextlib import AbstractContextManager
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

from benchmarks.forum import FORUM, Forum
from benchmarks.page_server import Pages, Served, message, serve, started

MODIFIED = "Wed, 01 Mar 2023 08:15:00 GMT"
MOST_KEPT = 5000
"""Pages that are held in memory; others are made whenever they are asked for."""


class Boards(Pages):
    """The boards of all hosts."""

    def __init__(self, boards: dict[str, Forum]) -> None:
        super().__init__()
        self._boards = boards
        self._kept: dict[tuple[str, str], bytes | None] = {}

    def make(self) -> None:
        """Make as many pages as are kept."""
        for host, board in self._boards.items():
            for address in board.addresses():
                if len(self._kept) >= MOST_KEPT:
                    return
                self._kept[host, f"/{address}"] = self._made(host, f"/{address}")

    def answer(self, host: str, target: str, fields: dict[str, str]) -> bytes:
        """Answer with the page at a path of a host, or that it has not been modified."""
        tag = f'"{crc32(target.encode()):08x}"'
        validators = f"ETag: {tag}\r\nLast-Modified: {MODIFIED}\r\n"
        if fields.get("if-none-match") == tag:
            self.counts.not_modified += 1
            return f"HTTP/1.1 304 Not Modified\r\n{validators}\r\n".encode()
        key = (host, target)
        body = self._kept[key] if key in self._kept else self._made(host, target)
        if body is None:
            return message("404 Not Found", b"<h1>Not found</h1>")
        self.ask(host, target)
        return message("200 OK", body, fields=validators)

    def _made(self, host: str, target: str) -> bytes | None:
        address = urlsplit(target)
        return self._boards[host].page(address.path.lstrip("/"), dict(parse_qsl(address.query)))


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


def serving(threads: int, hosts: int = 1) -> AbstractContextManager[Served]:
    """Serve forums from another process until the block ends."""
    arguments = ("--threads", str(threads), "--hosts", str(hosts))
    return started("benchmarks.forum_server", arguments, tuple(boards(threads, hosts)))


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="Serve made-up forums.")
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--hosts", type=int, default=1)
    arguments = parser.parse_args()
    served = boards(arguments.threads, arguments.hosts)
    pages = Boards(served)
    pages.make()
    asyncio.run(serve(tuple(served), pages))


if __name__ == "__main__":
    main()
