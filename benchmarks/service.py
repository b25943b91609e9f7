"""Measures the throughput of the service: requests and scored URLs a second, over a loopback socket.

    python -m benchmarks.service [--seconds S] [--connections N] [--unnoted] --json FILE

``aah serve`` runs as its users run it, in a process of its own, beside the embedded server of one crawl. Requests come
from another process over connections that stay open, one request at a time on each: the share of the machine that they
take is not the service's. Every URL is posted once, under a key of its own, to one of a thousand queues.

- ``read``: the state of a queued URL.
- ``post 1``, ``post 100``, ``post 1000``: requests of so many URLs, new and known ones in turn, as JSON.
- ``ndjson 1000``: the same as a stream.
- ``act``: the crawl is paused and resumed in turn. With ``--unnoted`` the service notes nothing in its log, in which
  each act has two lines that are forced to the disk, and the first request of a day one.

``requests_per_second`` and ``urls_per_second`` are of the whole; ``p50_ms`` and ``p99_ms`` of a request. ``cpu_ms`` is
the processor time that the service itself takes for a request, which other work on the machine does not lengthen much.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import count
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from statistics import quantiles

from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.layout import DEFINITION, FRONTIER
from benchmarks.results import Row, report
from online_analysis.icd import Icd

AAH = ("-m", "aahcrawler.cli")
UNNOTED = (
    "-c",
    """
from aahcrawler.cli import main
from aahcrawler.service.web.noted_acts import NotedActs

async def passed_on(self, scope, receive, send):
    await self._app(scope, receive, send)

NotedActs.__call__ = passed_on
main()
""",
)
"""Runs ``aah`` with a service that notes nothing in its log."""
QUEUES = 1000
WARMING = 1.0
"""Seconds that each row is run before it is measured."""
PATH = "/v1/crawls/bench/urls"
JSON, NDJSON = "application/json", "application/x-ndjson"
ICD = (
    b"id: bench\ncontact: a@example.org\nseeds: [http://seed.test/]\n"
    b"topic: {keywords: [flood]}\nscope: {sites: anywhere}\n"
)
RUN = f"{os.getpid()} {time.time()}"
"""A prefix of the keys of this measuring process."""
Ask = Callable[[HTTPConnection, int], None]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each row is measured")
    parser.add_argument("--connections", type=int, default=4, help="how many requests are under way at once")
    parser.add_argument("--unnoted", action="store_true", help="without the service's log")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), UNNOTED if given.unnoted else AAH) as service:
        for name in ROWS:
            measure(name, service, given.connections, WARMING)
        report([measure(name, service, given.connections, given.seconds) for name in ROWS], given.json)


@contextmanager
def serving(folder: Path, aah: Sequence[str] = AAH) -> Iterator[tuple[int, int]]:
    """Serve a crawl that has begun; yield the port and the process."""
    (folder / DEFINITION).write_text(json.dumps(Icd.parse(ICD).meaning()), "utf-8")
    with EmbeddedServer(folder / FRONTIER), served(folder, aah) as service:
        yield service


@contextmanager
def served(folder: Path, aah: Sequence[str] = AAH) -> Iterator[tuple[int, int]]:
    """Serve the crawl in a folder whose frontier another process serves; yield the port and the process."""
    command = [sys.executable, *aah, "serve", str(folder), "--port", "0", "--rate", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AAH_")}
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "service.log"
        log = stack.enter_context(place.open("w+"))
        process = stack.enter_context(subprocess.Popen(command, stderr=log, env=environment))
        stack.callback(process.terminate)
        while (found := re.search(r"http://127\.0\.0\.1:(\d+)", place.read_text())) is None:
            assert process.poll() is None, place.read_text()
            time.sleep(0.05)
        yield int(found[1]), process.pid


def measure(name: str, service: tuple[int, int], connections: int, seconds: float) -> Row:
    """Return one row."""
    port, pid = service
    before = cpu_seconds(pid)
    context = get_context("spawn")
    times: Queue[list[float]] = context.Queue()
    process = context.Process(target=load, args=(name, port, connections, seconds, times))
    process.start()
    spent = times.get(timeout=seconds + 120)
    process.join()
    cpu = cpu_seconds(pid) - before
    cuts = quantiles(spent, n=100)
    rate = len(spent) / seconds
    return {
        "request": name,
        "requests_per_second": round(rate, 1),
        "urls_per_second": round(rate * ROWS[name][0]),
        "cpu_ms": cpu / len(spent) * 1000,
        "p50_ms": cuts[49] * 1000,
        "p99_ms": cuts[98] * 1000,
    }


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used; 0 if it has ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(name: str, port: int, connections: int, seconds: float, times: "Queue[list[float]]") -> None:
    """Send requests for so many seconds; put their durations into the queue."""
    spent: list[float] = []
    numbers = count()
    ask = ROWS[name][1]
    end = time.monotonic() + seconds

    def work() -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        while time.monotonic() < end:
            began = time.perf_counter()
            ask(connection, next(numbers))
            spent.append(time.perf_counter() - began)
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.put(spent)


def _read(connection: HTTPConnection, number: int) -> None:
    connection.request("GET", f"{PATH}?url=http%3A%2F%2Fhost0.test%2F{number % 2}")
    response = connection.getresponse()
    response.read()
    assert response.status in (200, 404), response.status


def _act(connection: HTTPConnection, number: int) -> None:
    connection.request("POST", f"/v1/crawls/bench/{'resume' if number % 2 else 'pause'}")
    response = connection.getresponse()
    response.read()
    assert response.status == 200, response.status


def _post(items: int, kind: str) -> Ask:
    def ask(connection: HTTPConnection, number: int) -> None:
        # Of two requests the second one is about the same URLs.
        first = number // 2 * items
        posted = [
            {"url": f"http://host{at % QUEUES}.test/{at}", "score": (at % 100) / 100}
            for at in range(first, first + items)
        ]
        text = "\n".join(map(json.dumps, posted)) if kind == NDJSON else json.dumps(posted)
        connection.request(
            "POST", PATH, text, {"Content-Type": kind, "Idempotency-Key": f"{RUN} {items} {kind} {number}"}
        )
        response = connection.getresponse()
        response.read()
        assert response.status == 200, response.status

    return ask


ROWS: dict[str, tuple[int, Ask]] = {
    "post 1": (1, _post(1, JSON)),
    "read": (1, _read),
    "post 100": (100, _post(100, JSON)),
    "post 1000": (1000, _post(1000, JSON)),
    "ndjson 1000": (1000, _post(1000, NDJSON)),
    "act": (0, _act),
}

if __name__ == "__main__":
    main()
