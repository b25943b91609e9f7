"""Measures the start of a crawl: the time until its first request, and the memory after its first page.

    python -m benchmarks.start [--rounds N] [--threads N] --json FILE

``aah crawl`` with the shipped defaults, but without delay and with loopback allowed, crawls a made-up forum that this
process serves. Each round starts it three times, and of several rounds the median counts:

- ``cold``: with empty caches, neither those of the user nor compiled modules; files are in the system's memory;
- ``warm``: in a new folder, with the caches that the start before it has filled;
- ``again``: the next crawl in the same folder, with them as well.

``seconds`` are by the clock, from the start of the process until the first bytes of its first request (robots.txt)
are here, ``cpu_ms`` the processor time of that process by then. ``first_page_mib`` is the resident memory of it and
its frontier's server when it asks for its second page: the first one is kept and its links are queued. Of that,
``private_mib`` is what no other process shares. ``peak_mib`` is the most that they hold together in the whole crawl,
shared memory counted once for each process, and ``pages`` are those that were served.

``imports`` and ``knowledge base`` are processes of their own, warm: the modules that ``aah crawl`` imports before it
opens its definition, and reading the knowledge base that ships, with all that a page needs of it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import monotonic
from urllib.parse import parse_qsl, urlsplit

from benchmarks.exact_server import HTML, ExactServer, Reply, Request, not_found, reply
from benchmarks.forum import Forum
from benchmarks.process_memory import cpu_seconds, private_mib, resident_mib, tree
from benchmarks.recorded import PROJECT
from benchmarks.results import Cell, report

ROUNDS = 7
THREADS = 30
TIMEOUT = 120.0
SAMPLE_EVERY = 0.05
IMPORTS = """
import aahcrawler.cli
import gc
gc.disable()
import aahcrawler.crawl.scrapy.run
"""
KNOWLEDGE_BASE = """
from knowledge_base.loader import load
from aahcrawler.helper import ApplicationAwareHelper
import time
begun, used = time.perf_counter(), time.process_time()
ApplicationAwareHelper(load())
print(time.perf_counter() - begun, 1000 * (time.process_time() - used))
"""


@dataclass(slots=True)
class Site:
    """A forum that reports the first request and the second page; ``pages`` counts the pages that were served."""

    forum: Forum
    on_first_request: Callable[[], None] = lambda: None
    on_second_page: Callable[[], None] = lambda: None
    pages: int = 0
    has_been_asked: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, on_first_request: Callable[[], None], on_second_page: Callable[[], None]) -> None:
        """Reset, and report to these functions from now on."""
        self.on_first_request, self.on_second_page = on_first_request, on_second_page
        self.pages, self.has_been_asked = 0, False

    def respond(self, request: Request) -> Reply:
        """Return the response to a request: a page of the forum."""
        with self._lock:
            if not self.has_been_asked:
                self.has_been_asked = True
                self.on_first_request()
            address = urlsplit(request.target)
            body = self.forum.page(address.path.lstrip("/"), dict(parse_qsl(address.query)))
            if body is None:
                return not_found()
            self.pages += 1
            if self.pages == 2:
                self.on_second_page()
            return reply(body, HTML)


@contextmanager
def serving(forum: Forum) -> Iterator[tuple[str, Site]]:
    """Serve a forum on loopback; yield its URL."""
    site = Site(forum)
    with ExactServer().running() as server:
        server.respond = site.respond
        yield f"{server.origin}/", site


@dataclass(slots=True)
class Start:
    """The measurements of one start; unknown values are 0."""

    seconds: float = 0.0
    cpu_ms: float = 0.0
    first_page_mib: float = 0.0
    private_mib: float = 0.0
    peak_mib: float = 0.0
    pages: int = 0


@dataclass(slots=True)
class Watch:
    """Measures a start by the requests that its web server gets."""

    begun: float = field(default_factory=monotonic)
    measured: Start = field(default_factory=Start)
    pid: int = 0
    has_pid: threading.Event = field(default_factory=threading.Event)

    def first_request(self) -> None:
        """Measure at the first request."""
        self.measured.seconds = monotonic() - self.begun
        self.has_pid.wait(TIMEOUT)
        self.measured.cpu_ms = 1000 * cpu_seconds(self.pid)

    def second_page(self) -> None:
        """Measure when the second page is requested."""
        both = tree(self.pid)
        self.measured.first_page_mib = sum(map(resident_mib, both))
        self.measured.private_mib = sum(map(private_mib, both))


def start(definition: Path, site: Site, environment: Mapping[str, str]) -> Start:
    """Crawl once. Raise ``RuntimeError`` with the crawl's output if it fails."""
    command = [sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)]
    watch = Watch()
    site.watch(watch.first_request, watch.second_page)
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watch.pid = process.pid
    watch.has_pid.set()
    output = _watched(process, watch.measured)
    if process.returncode or not watch.measured.private_mib:
        raise RuntimeError(f"the crawl failed ({process.returncode}):\n{output[-3000:]}")
    watch.measured.pages = site.pages
    return watch.measured


def _watched(process: subprocess.Popen[bytes], measured: Start) -> str:
    """Wait for the end of a process while its memory is measured; return its output."""
    begun = monotonic()
    while monotonic() - begun < TIMEOUT:
        try:
            return process.communicate(timeout=SAMPLE_EVERY)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            measured.peak_mib = max(measured.peak_mib, sum(map(resident_mib, tree(process.pid))))
    process.kill()
    return process.communicate()[0].decode(errors="replace")


def write_definition(folder: Path, url: str) -> Path:
    """Write the definition of a crawl into a folder, whose output goes there as well."""
    fields: dict[str, object] = {
        "id": "start",
        "contact": "benchmark@example.org",
        "seeds": [f"{url}viewtopic.php?t=0"],  # A page with enough text to tell its language.
        "topic": {"keywords": ["harbour", "boat", "water", "storm"]},
        "politeness": {"delay": "0"},
        "network": {"allow_private": ["127.0.0.0/8"]},
        "output": str(folder / "crawl"),
    }
    path = folder / "icd.yaml"
    path.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()), "utf-8")
    return path


def environment(caches: Path) -> dict[str, str]:
    """Return the environment of a crawl that has all its caches in a folder, and runs this project's code."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    own = {"XDG_CACHE_HOME": str(caches / "user"), "PYTHONPYCACHEPREFIX": str(caches / "modules")}
    return kept | own | {"PYTHONPATH": str(PROJECT)}


def alone(code: str, variables: Mapping[str, str]) -> Start:
    """Run code in a process of its own.

    If it prints seconds and milliseconds these are returned, else those of the process.
    """
    begun, used = monotonic(), os.times()
    done = subprocess.run([sys.executable, "-c", code], env=variables, check=True, stdout=subprocess.PIPE, text=True)
    now = os.times()
    cpu = now.children_user + now.children_system - used.children_user - used.children_system
    seconds, cpu_ms = map(float, done.stdout.split()) if done.stdout else (monotonic() - begun, 1000 * cpu)
    return Start(seconds, cpu_ms)


def measure(rounds: int, threads: int) -> dict[str, list[Start]]:
    """Start crawls and the parts of a start in turn, for so many rounds."""
    found: dict[str, list[Start]] = {}
    with serving(Forum(threads)) as (url, site), tempfile.TemporaryDirectory(prefix="aah-") as name:
        for number in range(rounds):
            caches = Path(name) / f"caches{number}"
            caches.mkdir()
            variables, folders = environment(caches), [Path(name) / f"{number}-{kind}" for kind in ("cold", "warm")]
            for folder in folders:
                folder.mkdir()
            cold, warm = (write_definition(folder, url) for folder in folders)
            for kind, definition in (("cold", cold), ("warm", warm), ("again", warm)):
                found.setdefault(kind, []).append(start(definition, site, variables))
                print(f"{kind}: {found[kind][-1]}", file=sys.stderr)
            for kind, code in (("imports", IMPORTS), ("knowledge base", KNOWLEDGE_BASE)):
                found.setdefault(kind, []).append(alone(code, variables))
    return found


def rows(found: Mapping[str, Sequence[Start]]) -> list[dict[str, Cell]]:
    """Return a row for each way to start; None for what was not measured."""
    names = ("seconds", "cpu_ms", "first_page_mib", "private_mib", "peak_mib", "pages")
    return [
        {"start": kind} | {name: median(getattr(each, name) for each in starts) or None for name in names}
        for kind, starts in found.items()
    ]


def main() -> None:
    """Start crawls and report."""
    parser = argparse.ArgumentParser(description="Measure the start of a crawl.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, default=THREADS, help="threads of the forum that is crawled")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows go")
    arguments = parser.parse_args()
    report(rows(measure(arguments.rounds, arguments.threads)), arguments.json)


if __name__ == "__main__":
    main()
