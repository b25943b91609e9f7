"""Measures where more workers at one frontier stop bringing more pages: a real server, made-up fetches.

    python -m benchmarks.frontier_workers [--workers N...] [--partitions N...] [--page-ms MS] [--seconds S] --json FILE

Each worker is a process. It leases ``LEASED`` URLs at once, waits for each as long as a page takes a real worker
(``--page-ms``: what ``benchmarks.throughput`` measures), and finishes it with ``LINKS`` links, ``OWN`` of them to its
own pay-level domain and the others anywhere: one in ``NEW`` is to a URL that nobody has offered before, the others are
to some of ``KNOWN`` URLs of ``DOMAINS`` domains, which were offered before the start. There is no delay between the
fetches of a domain. Every row has a server of its own, started as crawls start theirs, with all of its partitions.

``pages_per_second`` is of all workers together; ``asked`` is what they would do if the frontier took no time.
``server_us`` and ``client_us`` are processor time for each page, ``server_busy`` is the part of a processor that the
server had: it has one thread for all that matters here, so at 1 nothing can be added. ``most`` is the pages a second of
a server with a processor of its own, by ``server_us``. ``lease_ms`` and ``finish_ms`` are medians, ``finish_p99_ms`` is
the 99th percentile. Workers share the machine with the server here, so that rates stop growing where its processors are
used up; ``most`` is what holds for workers elsewhere.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median, quantiles

from redis import Redis

from aahcrawler.frontier.protocol import FrontierSettings, Lease, Offer, Outcome, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.partitioning import VARIABLE
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from benchmarks.results import Row, report

LEASED = 10
LINKS = 100
OWN = 70
NEW = 7
KNOWN = 20_000
DOMAINS = 2_000
CRAWL = "bench"
SETTINGS = FrontierSettings(lease_seconds=600)
FETCHED = Outcome(stats={"pages": 1.0, "bytes": 25_000.0})


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8, 16, 32, 64], metavar="N")
    parser.add_argument("--partitions", nargs="+", type=int, default=[1, 4], metavar="N")
    parser.add_argument("--page-ms", type=float, default=12.0, help="how long a worker works on a page")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each row is measured")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[Row] = []
    for partitions in given.partitions:
        for workers in given.workers:
            rows.append(measure(Load(workers, given.page_ms / 1000, given.seconds), partitions))
            report(rows[-1:], None)
    report(rows, given.json)


@dataclass(frozen=True, slots=True)
class Load:
    """So many workers, the seconds that each takes for a page, and the seconds that they work."""

    workers: int
    page: float
    seconds: float


@dataclass(slots=True)
class Done:
    """The work of one worker: the seconds that its calls took, and its processor time."""

    cpu: float = 0.0
    leases: list[float] = field(default_factory=list)
    finishes: list[float] = field(default_factory=list)


def measure(load: Load, partitions: int) -> Row:
    """Return one row."""
    with _server(partitions) as url, closing(connect(url)) as client:
        _fill(url)
        context = get_context("fork")
        start, results = context.Barrier(load.workers + 1), context.SimpleQueue()
        processes = [context.Process(target=_work, args=(n, url, load, start, results)) for n in range(load.workers)]
        for process in processes:
            process.start()
        before = _server_seconds(client)
        start.wait()
        began = time.perf_counter()
        done = [results.get() for _ in processes]
        wall, busy = time.perf_counter() - began, _server_seconds(client) - before
        for process in processes:
            process.join()
    return {
        "partitions": partitions,
        "workers": load.workers,
        "asked": round(load.workers / load.page),
        **_cells(done, wall, busy),
    }


def _cells(done: list[Done], wall: float, busy: float) -> Mapping[str, float]:
    finishes = [seconds for each in done for seconds in each.finishes]
    leases = [seconds for each in done for seconds in each.leases]
    pages = len(finishes)
    return {
        "pages_per_second": round(pages / wall),
        "server_us": round(1e6 * busy / pages),
        "client_us": round(1e6 * sum(each.cpu for each in done) / pages),
        "server_busy": round(busy / wall, 2),
        "most": round(pages / busy),
        "lease_ms": round(1e3 * median(leases), 2),
        "finish_ms": round(1e3 * median(finishes), 2),
        "finish_p99_ms": round(1e3 * quantiles(finishes, n=100)[98], 2),
    }


def _work(number: int, url: str, load: Load, start: Barrier, results: "SimpleQueue[Done]") -> None:
    """Be one worker."""
    chance, numbers, done = random.Random(number), count(), Done()
    with closing(RedisFrontier(url, CRAWL, SETTINGS)) as frontier:
        start.wait()
        cpu, end = time.process_time(), time.perf_counter() + load.seconds
        while time.perf_counter() < end:
            with _timed(done.leases):
                leases = frontier.lease(f"worker {number}", LEASED)
            for lease in leases:
                time.sleep(load.page)
                links = _links(lease, f"{number}-{next(numbers)}", chance)
                with _timed(done.finishes):
                    frontier.finish(lease, State.DONE, FETCHED, links)
        done.cpu = time.process_time() - cpu
    results.put(done)


@contextmanager
def _timed(spent: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    spent.append(time.perf_counter() - began)


def _links(lease: Lease, page: str, chance: random.Random) -> list[Offer]:
    offers = []
    own = int(lease.queue.removeprefix("site-").removesuffix(".example"))
    for number in range(LINKS):
        is_new = number % NEW == 0
        place = chance.randrange(KNOWN)
        domain, address = _known(place - place % DOMAINS + own if number < OWN else place)
        url = f"https://{domain}/threads/{page}-{number}/a-title-of-some-words" if is_new else address
        offers.append(Offer(url, domain, chance.random(), lease.depth + 1, via=lease.url, path="L"))
    return offers


def _known(number: int) -> tuple[str, str]:
    """Return the domain and the URL of a page that was offered before the start."""
    domain = f"site-{number % DOMAINS}.example"
    return domain, f"https://{domain}/archive/{number}/a-title-of-some-words.html"


def _fill(url: str) -> None:
    offers = [Offer(address, domain, 0.5) for domain, address in map(_known, range(KNOWN))]
    with closing(RedisFrontier(url, CRAWL, SETTINGS)) as frontier:
        frontier.offer(offers)


@contextmanager
def _server(partitions: int) -> Iterator[str]:
    os.environ[VARIABLE] = str(partitions)
    with tempfile.TemporaryDirectory(prefix="aah-bench-") as folder, EmbeddedServer(Path(folder)) as server:
        yield server.url


def _server_seconds(client: Redis) -> float:
    usage = client.info("cpu")
    return float(usage["used_cpu_user"]) + float(usage["used_cpu_sys"])


if __name__ == "__main__":
    main()
