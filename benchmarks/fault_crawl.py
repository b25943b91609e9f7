"""A crawl by two workers, with all that can be done to it: processes, network, clocks, disks."""

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
from pathlib import Path
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
from benchmarks.fault_network import Cable
from benchmarks.fault_site import FaultSite
from online_analysis.icd import Icd

CRAWL = "faults"
AAH = [sys.executable, "-m", "aahcrawler.cli"]
SOURCE = Path(__file__).parent / "interposer.c"
_FAULTS = struct.Struct("dii")


class Machine:
    """The clock and the disk as one process sees them; see ``interposer.c``. Without a compiler, the real ones."""

    def __init__(self, path: Path, library: Path | None) -> None:
        self._path = path
        self._library = library
        self._offset = 0.0
        self.disk()

    @property
    def environment(self) -> dict[str, str]:
        """The environment to start the process with."""
        return {"LD_PRELOAD": str(self._library), "FAULTS": str(self._path)} if self._library else {}

    def jump(self, seconds: float) -> None:
        """Set the clock forwards or back."""
        self._offset += seconds
        self.disk()

    def disk(self, delay: float = 0.0, *, is_full: bool = False) -> None:
        """Let the disk be as slow or as full from now on."""
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
        """End it without a chance to do anything about it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stops(self) -> int:
        """Return how often it stopped the crawl because it had to."""
        return (self.folder / "output.txt").read_text("utf-8").count(": stopped: ")

    def archived(self) -> Iterator[str]:
        """Yield the URL of each answer in its archive."""
        for path in sorted((self.folder / CRAWL / ARCHIVE).glob(f"*.{WARC}")):
            with path.open("rb") as file:
                for record in ArchiveIterator(file, parse_http=False):
                    if record.headers["WARC-Type"] in {"response", "revisit"}:
                        yield record.headers["WARC-Target-URI"]


class FaultCrawl:
    """A crawl of a made-up site that runs, by workers that share a server; ``delay`` is its politeness, in seconds."""

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
        """Return a connection to the server, past the network."""
        return Redis.from_url(self.server.url)

    def cut(self) -> None:
        """Cut the network between workers and server."""
        self._loop.call_soon_threadsafe(self.cable.cut)

    def mend(self) -> None:
        """Mend it."""
        self._loop.call_soon_threadsafe(self.cable.mend)

    @contextmanager
    def frontier(self) -> Iterator[RedisFrontier]:
        """Lend the crawl's frontier, past the network."""
        icd = Icd.load(self._definition)
        with (
            self._server_url() as url,
            closing(RedisFrontier(url, frontier_name(icd.id, 1), frontier_settings(icd))) as it,
        ):
            yield it

    def archived(self) -> Counter[str]:
        """Count the answers of both archives by URL."""
        return Counter(url for worker in self.workers for url in worker.archived())

    def states(self) -> Mapping[str, State | None]:
        """Return the frontier's state of each page."""
        with self.frontier() as frontier:
            return {url: frontier.state(url) for url in self.site.urls()}

    def stuck(self) -> int:
        """Count queues that hold URLs which are queued or leased."""
        with self.frontier() as frontier:
            counts = frontier.queue_counts().values()
        return sum(1 for each in counts if each.pages_queued + each.pages_leased + each.requisites_queued)

    def retries(self) -> int:
        """Return how many retries the crawl has counted."""
        with self.frontier() as frontier:
            return round(frontier.stats().get("retries", 0))

    @contextmanager
    def running(self, workers: int) -> Iterator["FaultCrawl"]:
        """Run it until the block ends; workers that still run are killed then."""
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
        """Wait for a condition; False when it does not hold in time."""
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
    """Add to this process's environment, which its children inherit, while the block runs."""
    before = dict(os.environ)
    os.environ.update(more)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def interposer(folder: Path) -> Path | None:
    """Compile the library that lies to processes about clocks and disks; None where there is no C compiler."""
    library = folder / "interposer.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library
