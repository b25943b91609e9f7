"""Measures what share of a crawl's processor time is spent on watching it.

    python -m benchmarks.cockpit_live [--seconds S] [--every S] [--json FILE]

A crawl runs as fast as it can on forums that are made up, in processes of its own, and ``aah serve`` in another one.
Its views are asked every two seconds, as an open page does that shows them. ``live(paths)`` measures any paths.

- ``idle_ms`` and ``watched_ms``: processor time of the service in a second without requests, and with them.
- ``crawl_ms``: that of the crawl, its workers and its frontier's server.
- ``share``: what watching adds, as a share of the latter. ``pages`` were crawled meanwhile, and ``page_ms`` is what
  watching costs for each.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from aahcrawler.layout import DEFINITION
from benchmarks.cockpit import fetched
from benchmarks.forum_server import boards, serving
from benchmarks.process_memory import cpu_seconds, tree
from benchmarks.results import Row, report
from benchmarks.service import served
from benchmarks.throughput_load import FORUM_HOSTS, forum_load, threads_of

CRAWL = "throughput"
PATHS = tuple(f"/v1/crawls/{CRAWL}/{name}" for name in ("pages", "objects", "objects/counts", "series", "counts"))
PAGES = 60_000
"""Pages that there are: more than are crawled meanwhile."""
_BEGIN = 200
"""Pages that have been crawled before anything is measured."""
_PATIENCE = 60.0
_REST = 3.0


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each of the two is measured")
    parser.add_argument("--every", type=float, default=2.0, help="seconds from one look to the next")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    report([live(PATHS, given.seconds, given.every)], given.json)


def live(paths: Sequence[str], seconds: float, every: float) -> Row:
    """Return the row of watching a crawl that runs by these paths, each of which is asked at every look."""
    with tempfile.TemporaryDirectory(prefix="aah-") as name:
        folder = Path(name)
        with crawling(folder) as process, served(folder / "crawl") as (port, pid):
            while pages_of(port) < _BEGIN:
                time.sleep(0.2)
            idle = spent(pid, process.pid, seconds)
            pages_of(port)
            time.sleep(_REST)  # What was crawled without being watched is taken in.
            before = pages_of(port)
            watched = spent(pid, process.pid, seconds, Watching(every, lambda: look(port, paths)))
            pages = pages_of(port) - before
    added = watched[0] - idle[0]
    return {
        "idle_ms": idle[0] / seconds * 1000,
        "watched_ms": watched[0] / seconds * 1000,
        "crawl_ms": watched[1] / seconds * 1000,
        "share": added / watched[1],
        "pages": pages,
        "page_ms": added / pages * 1000 if pages else None,
    }


@dataclass(frozen=True, slots=True)
class Watching:
    """What is done every so many seconds."""

    every: float
    look: Callable[[], object]


_NO_WATCHING = Watching(1.0, lambda: None)


def spent(service: int, crawl: int, seconds: float, watching: Watching = _NO_WATCHING) -> tuple[float, float]:
    """Return the processor time that the service and the crawl take in so many seconds, in seconds."""
    crawlers = tree(crawl)
    before = cpu_seconds(service), sum(map(cpu_seconds, crawlers))
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        watching.look()
        time.sleep(max(0.0, min(watching.every, end - now) - (time.monotonic() - now)))
    return cpu_seconds(service) - before[0], sum(map(cpu_seconds, crawlers)) - before[1]


@contextmanager
def crawling(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Crawl forums that are made up, in a folder; yield the process once the crawl has begun."""
    threads = threads_of(PAGES)
    with serving(threads, FORUM_HOSTS) as pages, (folder / "crawl.log").open("wb") as log:
        icd = forum_load(pages, boards(threads, FORUM_HOSTS)).described(folder, {})
        command = [sys.executable, "-m", "aahcrawler.cli", "crawl", str(icd)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AAH_")}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            end = time.monotonic() + _PATIENCE
            while not (folder / "crawl" / DEFINITION).exists():
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((folder / "crawl.log").read_text("utf-8", "replace")[-2000:])
                time.sleep(0.1)
            yield process
        finally:
            process.terminate()
            process.wait()


def look(port: int, paths: Sequence[str]) -> list[bytes]:
    """Return what is answered to each path, over one connection."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    bodies = []
    for path in paths:
        status, body = fetched(connection, path)
        if status != 200:
            raise RuntimeError(f"{path}: {status} {body[:300]!r}")
        bodies.append(body)
    connection.close()
    return bodies


def pages_of(port: int) -> int:
    """Return how many pages of the crawl are indexed."""
    (body,) = look(port, [f"/v1/crawls/{CRAWL}/counts"])
    return int(json.loads(body)["captures"])


if __name__ == "__main__":
    main()
