"""Serves pages on many loopback hosts from a process of its own, and counts requests.

``/-/counts`` returns the counts of requests and responses since its last call as JSON, ``/-/pages`` the pages requested
since then. The pages are made by other modules.
"""

import asyncio
import json
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from urllib.request import urlopen

COUNTS = "/-/counts"
PAGES = "/-/pages"


@dataclass
class Counts:
    """Requests (robots.txt included), 304 responses, and bytes sent; ``pages`` counts each page once."""

    requests: int = 0
    not_modified: int = 0
    bytes: int = 0
    pages: int = 0


class Pages(ABC):
    """The pages of all hosts, and the counts of requests for them."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._asked: dict[tuple[str, str], None] = {}

    @abstractmethod
    def respond(self, host: str, target: str, fields: dict[str, str]) -> bytes:
        """Return the response to a request, given header fields with names in lower case."""

    def ask(self, host: str, target: str) -> None:
        """Count a requested page."""
        self._asked[host, target] = None

    def asked(self) -> Sequence[str]:
        """Return the requested pages as ``host/path``, in the order of their first requests."""
        return [host + target for host, target in self._asked]

    def counted(self) -> Counts:
        """Return the counts, and reset them."""
        counts, self.counts = self.counts, Counts()
        counts.pages = len(self._asked)
        self._asked.clear()
        return counts


class PageProtocol(asyncio.Protocol):
    """One connection, kept open; responds to requests one after the other."""

    def __init__(self, host: str, pages: Pages) -> None:
        self._host = host
        self._pages = pages
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for responses."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Respond to each request that is complete."""
        self._pending += data
        while (end := self._pending.find(b"\r\n\r\n")) >= 0:
            head, self._pending = self._pending[:end].decode("latin-1"), self._pending[end + 4 :]
            self._transport.write(self._response(head))

    def _response(self, head: str) -> bytes:
        request, *lines = head.split("\r\n")
        target = request.split(" ")[1]
        if target == COUNTS:
            return message("200 OK", json.dumps(asdict(self._pages.counted())).encode(), "application/json")
        if target == PAGES:
            return message("200 OK", json.dumps(self._pages.asked()).encode(), "application/json")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        response = self._pages.respond(self._host, target, fields)
        self._pages.counts.requests += 1
        self._pages.counts.bytes += len(response)
        return response


def message(status: str, body: bytes, media_type: str = "text/html; charset=utf-8", fields: str = "") -> bytes:
    """Return the bytes of a response; further ``fields`` are whole lines."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    return head.encode("latin-1", "replace") + body


@dataclass(frozen=True, slots=True)
class Served:
    """Sites that are served, with the URLs of their front pages."""

    url: str
    urls: tuple[str, ...]

    def counts(self) -> Counts:
        """Return the counts of requests and responses since the last call."""
        with urlopen(self.url + COUNTS[1:]) as response:
            return Counts(**json.load(response))

    def pages(self) -> tuple[str, ...]:
        """Return the URLs of the pages requested since the last call of ``counts``."""
        port = self.url.rpartition(":")[2].strip("/")
        with urlopen(self.url + PAGES[1:]) as response:
            addresses = (address.partition("/") for address in json.load(response))
        return tuple(f"http://{host}:{port}/{path}" for host, _, path in addresses)


@contextmanager
def started(module: str, arguments: Sequence[str], hosts: Sequence[str]) -> Iterator[Served]:
    """Run, until the block ends, a module that serves these hosts and prints their port first."""
    with subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            urls = tuple(f"http://{host}:{port}/" for host in hosts)
            yield Served(urls[0], urls)
        finally:
            server.terminate()


async def serve(hosts: Sequence[str], pages: Pages) -> None:
    """Serve until the process is ended; the first line of the output is the port, which all hosts share."""
    loop, port = asyncio.get_running_loop(), 0
    servers = []
    for host in hosts:
        server = await loop.create_server(lambda host=host: PageProtocol(host, pages), host, port)  # type: ignore[misc]
        port = server.sockets[0].getsockname()[1]
        servers.append(server)
    print(port, flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))
