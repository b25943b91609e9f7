"""A made-up site of several domains that notes when each request came and when its answer was over."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from time import monotonic

ANSWER_SECONDS = 0.03
CLOCK_SLACK = 0.02
"""Seconds by which two machines' clocks and schedulers may differ over a delay."""

_DATA, _ICON = "/data/", "/favicon.ico"
SCRIPTED = b"""<!doctype html><html lang=en><title>Storm</title><body><div id=app></div><script>
fetch("/data/" + (location.pathname.slice(1) || "0")).then(answer => answer.json()).then(found => {
  const add = (kind, text, more) =>
    app.append(Object.assign(document.createElement(kind), { textContent: text }, more));
  add("h1", "Storm " + found.page);
  add("p", "The storm surge of year " + found.page + " broke the dike of harbour " + found.domain + ".");
  for (const url of found.links) add("a", url, { href: url });
});
</script></body></html>"""


class Cut(StrEnum):
    """Where an answer breaks off as its connection is closed."""

    BEFORE = "before the answer"
    HEAD = "in the head"
    BODY = "in the body"

    def of(self, head: bytes, body: bytes) -> bytes:
        """Return the part of an answer that is sent."""
        if self is Cut.BEFORE:
            return b""
        return head + body[: len(body) // 2] if self is Cut.BODY and body else head[: len(head) // 2]


@dataclass(slots=True)
class Request:
    """A request, and when it began and ended, in monotonic seconds; ``end`` is infinite until it has ended.

    It ends when its answer has been sent, or its connection is gone. ``cut`` is where its answer broke off.
    """

    url: str
    begin: float
    end: float = float("inf")
    cut: Cut | None = None


@dataclass(slots=True)
class FaultSite:
    """``domains`` of ``pages`` pages, each on its own IP address; a page leads to two more, and to another domain.

    Domains are known as ``d0.test`` and so on; ``network`` is the section of a definition that leads there. Where
    ``is_scripted``, pages are made by a script from data that it asks for: without a browser no page leads anywhere.
    """

    domains: int
    pages: int
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    answer_seconds: float = ANSWER_SECONDS
    cuts: list[Cut] = field(default_factory=list)
    """Where the answers to the next requests break off."""
    is_scripted: bool = False

    def urls(self) -> set[str]:
        """Return the URLs of all pages."""
        return {self._url(domain, page) for domain in range(self.domains) for page in range(self.pages)}

    def seeds(self) -> list[str]:
        """Return the front page of each domain."""
        return [self._url(domain, 0) for domain in range(self.domains)]

    def network(self) -> dict[str, object]:
        """Return the network settings of a crawl of the domains."""
        resolve = {f"d{domain}.test": f"{address(domain)}:{self.port}" for domain in range(self.domains)}
        return {"allow_private": ["127.0.0.0/8"], "resolve": resolve}

    def too_early(self, delay: float) -> int:
        """Count requests to a domain, robots.txt too, sooner than ``delay`` after the end of the one before.

        What a browser asks for belongs to the visit of its page; the delay is between visits.
        """
        found = 0
        for domain in range(self.domains):
            prefix = f"http://d{domain}.test/"
            to_domain = sorted(
                (each for each in self.requests if each.url.startswith(prefix)), key=lambda each: each.begin
            )
            found += sum(
                later.begin - earlier.end < delay - CLOCK_SLACK
                for earlier, later in pairwise(to_domain)
                if _DATA not in later.url and _ICON not in later.url
            )
        return found

    async def serve(self) -> None:
        """Listen on the IP addresses of all domains."""
        for domain in range(self.domains):
            server = await asyncio.start_server(self._answer, address(domain), self.port)
            self.port = server.sockets[0].getsockname()[1]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._one(head.decode("latin-1"), reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = head.split("\r\n")
        path = lines[0].split(" ")[1]
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        request = Request(f"http://{fields['host']}{path}", monotonic())
        request.cut = self.cuts.pop() if self.cuts else None
        self.requests.append(request)
        try:
            await self._pause(reader)
            answer = self._message(fields["host"], path)
            writer.write(b"".join(answer) if request.cut is None else request.cut.of(*answer))
            await writer.drain()
        finally:
            request.end = monotonic()
        if request.cut is not None:
            raise ConnectionResetError

    async def _pause(self, reader: asyncio.StreamReader) -> None:
        """Take the time of an answer; raise ``ConnectionResetError`` where the client goes meanwhile."""
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1), self.answer_seconds)
            raise ConnectionResetError

    def _message(self, host: str, path: str) -> tuple[bytes, bytes]:
        """Return head and body of an answer; of every other page the body is chunked."""
        is_data = path.startswith(_DATA)
        name = path.removeprefix(_DATA)
        name = name.strip("/").removesuffix(".html") or "0"
        if not name.isdecimal() or int(name) >= self.pages:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", b""
        domain, page = int(host[1:].partition(".")[0]), int(name)
        led = [self._url(domain, to) for to in (2 * page + 1, 2 * page + 2) if to < self.pages]
        led.append(self._url((domain + 1) % self.domains, page))
        links = "".join(f'<li><a href="{url}">{url}</a></li>' for url in led)
        if is_data:
            return _answer("application/json", json.dumps({"page": page, "domain": domain, "links": led}).encode())
        if self.is_scripted:
            return _answer("text/html", SCRIPTED)
        text = f"<h1>Storm {page}</h1><p>The storm surge of year {page} broke the dike of harbour {domain}.</p>"
        body = f"<!doctype html><html lang=en><title>Storm {page}</title><body>{text}<ul>{links}</ul></html>".encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        if page % 2:
            return head + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        return head + b"Content-Length: %d\r\n\r\n" % len(body), body

    def _url(self, domain: int, page: int) -> str:
        return f"http://d{domain}.test/{f'{page}.html' if page else ''}"


def _answer(media_type: str, body: bytes) -> tuple[bytes, bytes]:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode(), body


def address(domain: int) -> str:
    """Return the loopback IP address of a domain."""
    return f"127.0.1.{domain + 1}"
