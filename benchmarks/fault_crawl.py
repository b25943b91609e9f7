"""A site that records its requests, a crawl of it by two workers, and faults of what they run on."""

import asyncio
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from time import monotonic
from urllib.parse import unquote, urlsplit

from fastwarc.warc import ArchiveIterator
from redis import Redis

from aahcrawler.browser.process.process_tree import descendants, of_kind
from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.frontier.protocol import State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontiers import server_of
from aahcrawler.layout import ARCHIVE, WARC
from online_analysis.icd import Icd


class Cable:
    """Connects one unix socket to another, and can be cut. Everything runs in one event loop."""

    def __init__(self, here: Path, there: Path) -> None:
        self._here = here
        self._there = there
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()

    async def serve(self) -> None:
        """Listen at the near end."""
        await asyncio.start_unix_server(self._connected, self._here)

    def cut(self) -> None:
        """End all connections, whatever is under way; new ones are refused until ``mend``."""
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        """Forward connections again."""
        self._is_cut = False

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self._there)
        except OSError:
            self._writers.discard(writer)
            writer.transport.abort()
            return
        self._writers.add(far_writer)
        await asyncio.gather(self._pass_on(reader, far_writer), self._pass_on(far_reader, writer))
        self._writers -= {writer, far_writer}

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()


RESPONSE_SECONDS = 0.03
CLOCK_SLACK = 0.02
"""The most seconds by which clocks and schedulers of two processes may differ over a delay."""

_DATA, _ICON = "/data/", "/favicon.ico"
SCRIPTED = b"""<!doctype html><html lang=en><title>Storm</title><body><div id=app></div><script>
fetch("/data/" + (location.pathname.slice(1) || "0")).then(response => response.json()).then(found => {
  const add = (kind, text, more) =>
    app.append(Object.assign(document.createElement(kind), { textContent: text }, more));
  add("h1", "Storm " + found.page);
  add("p", "The storm surge of year " + found.page + " broke the dike of harbour " + found.domain + ".");
  for (const url of found.links) add("a", url, { href: url });
});
</script></body></html>"""


class Cut(StrEnum):
    """Where a response breaks off because its connection is closed."""

    BEFORE = "before the answer"
    HEAD = "in the head"
    BODY = "in the body"

    def of(self, head: bytes, body: bytes) -> bytes:
        """Return the part of a response that is sent."""
        if self is Cut.BEFORE:
            return b""
        return head + body[: len(body) // 2] if self is Cut.BODY and body else head[: len(head) // 2]


@dataclass(slots=True)
class Request:
    """A request with its beginning and end in monotonic seconds; ``end`` is infinite until then.

    It ends when its response has been sent, or its connection is gone. ``cut`` is where the response broke off.
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
    response_seconds: float = RESPONSE_SECONDS
    cuts: list[Cut] = field(default_factory=list)
    """Where the responses to the next requests break off."""
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
        """Count requests to a domain, robots.txt included, sooner than ``delay`` after the end of the one before.

        Requests of a browser belong to the visit of its page; the delay is between visits.
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
            server = await asyncio.start_server(self._respond, address(domain), self.port)
            self.port = server.sockets[0].getsockname()[1]

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
            response = self._message(fields["host"], path)
            writer.write(b"".join(response) if request.cut is None else request.cut.of(*response))
            await writer.drain()
        finally:
            request.end = monotonic()
        if request.cut is not None:
            raise ConnectionResetError

    async def _pause(self, reader: asyncio.StreamReader) -> None:
        """Wait for as long as a response takes; raise ``ConnectionResetError`` if the client leaves meanwhile."""
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(1), self.response_seconds)
            raise ConnectionResetError

    def _message(self, host: str, path: str) -> tuple[bytes, bytes]:
        """Return head and body of a response; the body of every other page is chunked."""
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
            return _response("application/json", json.dumps({"page": page, "domain": domain, "links": led}).encode())
        if self.is_scripted:
            return _response("text/html", SCRIPTED)
        text = f"<h1>Storm {page}</h1><p>The storm surge of year {page} broke the dike of harbour {domain}.</p>"
        body = f"<!doctype html><html lang=en><title>Storm {page}</title><body>{text}<ul>{links}</ul></html>".encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
        if page % 2:
            return head + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        return head + b"Content-Length: %d\r\n\r\n" % len(body), body

    def _url(self, domain: int, page: int) -> str:
        return f"http://d{domain}.test/{f'{page}.html' if page else ''}"


def _response(media_type: str, body: bytes) -> tuple[bytes, bytes]:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode(), body


def address(domain: int) -> str:
    """Return the loopback IP address of a domain."""
    return f"127.0.1.{domain + 1}"


CRAWL = "faults"
AAH = [sys.executable, "-m", "aahcrawler.cli"]
SOURCE = Path(__file__).parent / "interposer.c"
_FAULTS = struct.Struct("dii")


class Machine:
    """The clock and the disk as one process sees them (``interposer.c``). Without a compiler, the real ones."""

    def __init__(self, path: Path, library: Path | None) -> None:
        self._path = path
        self._library = library
        self._offset = 0.0
        self.disk()

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which to start the process."""
        return {"LD_PRELOAD": str(self._library), "FAULTS": str(self._path)} if self._library else {}

    def jump(self, seconds: float) -> None:
        """Set the clock forwards or back."""
        self._offset += seconds
        self.disk()

    def disk(self, delay: float = 0.0, *, is_full: bool = False) -> None:
        """Make the disk slow or full from now on."""
        with self._path.open("r+b" if self._path.exists() else "wb") as file:
            file.write(_FAULTS.pack(self._offset, round(delay * 1000), is_full))


class Worker:
    """A process that crawls, with a folder of its own; ``arguments`` are those of ``aah``."""

    def __init__(self, folder: Path, machine: Machine, arguments: Sequence[str]) -> None:
        self.folder = folder
        self.machine = machine
        self._environment = {**os.environ, **machine.environment}
        self._command = [*AAH, *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll() if self._process is not None else -1

    def browsers(self, *, of_pages: bool) -> list[int]:
        """Return the processes of its browser: those of pages, or its own."""
        started = descendants(self._process.pid) if self._process is not None and self.code is None else []
        pages, others = of_kind(started, "renderer"), of_kind(started, "")
        return pages if of_pages else [each for each in started if each not in others and _is_chromium(each)]

    def start(self) -> None:
        """Start the worker's process, anew or once more."""
        with (self.folder / "output.txt").open("ab") as output:
            self._process = subprocess.Popen(self._command, env=self._environment, stdout=output, stderr=output)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stops(self) -> int:
        """Return how often it had to stop the crawl."""
        return (self.folder / "output.txt").read_text("utf-8").count(": stopped: ")

    def archived(self) -> Iterator[str]:
        """Yield the URL of each response in its archive."""
        for path in sorted((self.folder / CRAWL / ARCHIVE).glob(f"*.{WARC}")):
            with path.open("rb") as file:
                for record in ArchiveIterator(file, parse_http=False):
                    if record.headers["WARC-Type"] in {"response", "revisit"}:
                        yield record.headers["WARC-Target-URI"]


class FaultCrawl:
    """A running crawl of a made-up site, by workers that share a server; ``delay`` is its politeness, in seconds."""

    def __init__(self, folder: Path, site: FaultSite, library: Path | None, delay: float) -> None:
        self.site = site
        self.delay = delay
        self._loop = asyncio.new_event_loop()
        self.server = EmbeddedServer(folder / "server")
        self.server_machine = Machine(folder / "server.machine", library)
        self._socket = folder / "cable"
        self._folder = folder
        self._definition = folder / "icd.yaml"
        self._library = library
        self.workers: list[Worker] = []
        self.cable: Cable

    @property
    def is_over(self) -> bool:
        """Return whether every worker has ended by itself."""
        return all(worker.code is not None for worker in self.workers)

    def revive(self) -> None:
        """Start the server again, on its own machine."""
        with _environment(self.server_machine.environment):
            self.server.revive()

    def kill_server(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send the server a signal."""
        if self.server.pid is not None:
            os.kill(self.server.pid, number)

    def operator(self) -> Redis:
        """Return a connection to the server that bypasses the network."""
        return Redis.from_url(self.server.url)

    def cut(self) -> None:
        """Cut the network between workers and server."""
        self._loop.call_soon_threadsafe(self.cable.cut)

    def mend(self) -> None:
        """Mend the network between workers and server."""
        self._loop.call_soon_threadsafe(self.cable.mend)

    @contextmanager
    def frontier(self) -> Iterator[RedisFrontier]:
        """Lend the crawl's frontier, bypassing the network."""
        icd = Icd.load(self._definition)
        with (
            self._server_url() as url,
            closing(RedisFrontier(url, frontier_name(icd.id, 1), frontier_settings(icd))) as it,
        ):
            yield it

    def archived(self) -> Counter[str]:
        """Count the responses in both archives by URL."""
        return Counter(url for worker in self.workers for url in worker.archived())

    def states(self) -> Mapping[str, State | None]:
        """Return the frontier's state of each page."""
        with self.frontier() as frontier:
            return {url: frontier.state(url) for url in self.site.urls()}

    def stuck(self) -> int:
        """Count queues that hold queued or leased URLs."""
        with self.frontier() as frontier:
            counts = frontier.queue_counts().values()
        return sum(1 for each in counts if each.pages_queued + each.pages_leased + each.requisites_queued)

    def retries(self) -> int:
        """Return how many retries the crawl has counted."""
        with self.frontier() as frontier:
            return round(frontier.stats().get("retries", 0))

    @contextmanager
    def running(self, workers: int) -> Iterator["FaultCrawl"]:
        """Run the crawl until the block ends; then kill workers that still run."""
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        try:
            self._serve(self.site.serve())
            self._begin(workers)
            for worker in self.workers:
                worker.start()
            yield self
        finally:
            for worker in self.workers:
                worker.kill()
            self.server.stop()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()

    def _begin(self, workers: int) -> None:
        """Start the server, submit the crawl, and set up its workers."""
        with _environment(self.server_machine.environment):
            self.server.__enter__()
        self.cable = Cable(self._socket, Path(unquote(urlsplit(self.server.url).path)))
        self._serve(self.cable.serve())
        self._define()
        command = [*AAH, "submit", str(self._definition), "--redis", self.server.url]
        subprocess.run(command, check=True, capture_output=True)
        for number in range(workers):
            folder = self._folder / f"worker{number}"
            arguments = ["worker", "--redis", f"unix://{self._socket}", "--folder", str(folder), "--until-finished"]
            self.workers.append(self._worker(folder, arguments))

    def _serve(self, serving: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)

    @contextmanager
    def _server_url(self) -> Iterator[str]:
        yield self.server.url

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for a condition; return False if it does not hold in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def _define(self) -> None:
        definition = {
            "id": CRAWL,
            "contact": "test@example.org",
            "output": str(self._folder / "alone" / CRAWL),
            "seeds": self.site.seeds(),
            "topic": {"keywords": ["harbour", "flood", "dike", "storm surge"]},
            "politeness": {"delay": f"{self.delay} s", "timeout": "5 s", "retries": 20},
            "network": self.site.network(),
            "archive": {"reserve": 0},
            "traps": {"pages": 0, "duplicates": "follow", "soft_404": "ignore"},
            "browser": {"use": "always" if self.site.is_scripted else "never", "screenshots": False},
        }
        lines = (f"{name}: {json.dumps(value)}\n" for name, value in definition.items())
        self._definition.write_text("".join(lines), "utf-8")

    def _worker(self, folder: Path, arguments: Sequence[str]) -> Worker:
        folder.mkdir()
        return Worker(folder, Machine(folder / "machine", self._library), arguments)


class LoneCrawl(FaultCrawl):
    """The same crawl by ``aah crawl``, one process with a server of its own."""

    def _begin(self, workers: int) -> None:
        self._define()
        self.workers = [self._worker(self._folder / "alone", ["crawl", str(self._definition)]) for _ in range(workers)]

    @contextmanager
    def _server_url(self) -> Iterator[str]:
        with server_of(self._folder / "alone" / CRAWL) as url:
            yield url


def _is_chromium(process: int) -> bool:
    with suppress(OSError):
        return b"--remote-debugging-pipe" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    """Add variables to the environment of this process, which its children inherit, while the block runs."""
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def interposer(folder: Path) -> Path | None:
    """Compile the library that gives processes false clocks and disks; None if there is no C compiler."""
    library = folder / "interposer.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library
