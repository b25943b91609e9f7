"""Measures the cost of a frontier: operations a second, processor time and memory, at several numbers of URLs.

    python -m benchmarks.frontier [--urls N] [--sizes N,N,...] [--json FILE]

URLs are those of ``benchmarks.frontier_peer``: many pay-level domains of different sizes, 70 characters on average. All
systems use a server of their own, started as crawls start theirs (append-only file, unix socket), and one client that
waits for each response.

- ``aahcrawler``: the public API in batches of 100. Offers are a page's links with the page's URL as ``via``. 100
  URLs at a time are re-scored, and leased without delays: for ``leases_per_second`` ten of a queue at once (``balance``
  10), for ``single_leases_per_second`` one of a queue (``balance`` 1), where every URL has a connection of its own.
- ``scrapy-redis``: one request at a time, as its scheduler does it: ``RFPDupeFilter`` and ``SpiderPriorityQueue``. To
  re-score is to push again with another priority, which queues the URL twice.
- ``zadd``: ``redis-benchmark``'s pipelined ZADD of random members into one sorted set, 100 at a time, where that
  program is on the PATH, and the same from redis-py where it is not: the most that the server can take.

Rates are those of the last operations (``MEASURED``) when the frontier holds ``urls`` URLs; ``offer_us``,
``rescore_us`` and so on are processor time of client and server together for each operation, which other work on the
machine lengthens less. Bytes are the server's allocated memory without buffers, caches and the memory of an empty
server. A URL is finished with one call of its own. Nothing is measured while the server rewrites its file, as it does
whenever that has doubled.
"""

import argparse
import json
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from redis import Redis

from aahcrawler.frontier.protocol import FrontierSettings, Offer, Rescore, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from benchmarks import frontier_peer
from benchmarks.frontier_peer import pages
from benchmarks.peers import interpreter_with
from benchmarks.recorded import PROJECT
from benchmarks.results import Cell, Row, report

BATCH = 100
BALANCE = 10
MEASURED = 50_000
"""The most operations over which a rate is measured."""
PAUSE = 0.1
SIZES = (10_000, 100_000)
PEER = ("scrapy-redis==0.9.1", "scrapy==2.19.0")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--urls", type=int, default=1_000_000, help="URLs that all systems are compared at")
    parser.add_argument("--sizes", default="", help="other numbers of URLs, for aahcrawler alone (10000,100000)")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",") if size] or [size for size in SIZES if size < given.urls]
    rows: list[Row] = []
    for size in sorted({*sizes, given.urls}):
        rows.append(_aahcrawler(size))
        report(rows[-1:], None)
    rows += [_scrapy_redis(given.urls), _zadd(given.urls)]
    report([{**dict.fromkeys(rows[0]), **row} for row in rows], given.json)


@dataclass
class Meter:
    """The cost of the operations of one kind: number, wall seconds, and processor seconds of client and server."""

    server: Redis
    operations: int = 0
    wall: float = 0.0
    cpu: float = 0.0

    @contextmanager
    def running(self, operations: int) -> Iterator[None]:
        """Measure operations, during which the server does nothing else."""
        before, cpu, started = _server_seconds(self.server), time.process_time(), time.perf_counter()
        yield
        self.wall += time.perf_counter() - started
        self.cpu += time.process_time() - cpu + _server_seconds(self.server) - before
        self.operations += operations

    def cells(self, name: str, rate: str) -> dict[str, Cell]:
        """Return the rate and the microseconds of processor time."""
        return {rate: round(self.operations / self.wall), f"{name}_us": round(1e6 * self.cpu / self.operations, 1)}


@dataclass
class Clock:
    """The machine's clock, which can be advanced."""

    ahead: float = 0.0

    def __call__(self) -> float:
        """Return the seconds of the clock."""
        return time.time() + self.ahead


def _aahcrawler(urls: int) -> Row:
    clock = Clock()
    with _server() as url, closing(connect(url)) as client:
        empty = _allocated(client)
        with closing(RedisFrontier(url, "bench", _settings(BALANCE), clock)) as frontier:
            offers, known = _offer(frontier, urls, client)
            queued = (_allocated(client) - empty) / urls
            rescores = _rescore(frontier, known, client)
            before = _allocated(client)
            leases, finishes = _lease(frontier, min(urls // 2, MEASURED), client)
            clock.ahead = 3600.0
            frontier.release(frontier.lease("worker", 1))
            saved = (before - _allocated(client)) / finishes.operations
            frontier.go_by(_settings(1))
            singles, _ = _lease(frontier, min(urls // 10, MEASURED // 5), client)
    return {
        "system": "aahcrawler",
        "urls": urls,
        **offers.cells("offer", "offers_per_second"),
        **rescores.cells("rescore", "rescores_per_second"),
        **leases.cells("lease", "leases_per_second"),
        **singles.cells("single_lease", "single_leases_per_second"),
        **finishes.cells("finish", "finishes_per_second"),
        "bytes_per_queued_url": round(queued, 1),
        "bytes_per_finished_url": round(queued - saved, 1),
    }


def _offer(frontier: RedisFrontier, urls: int, client: Redis) -> tuple[Meter, list[str]]:
    """Offer all URLs; return the cost of the last ones, and some of the URLs."""
    meter = Meter(client)
    known: list[str] = []
    chance = random.Random(1)
    source = pages(urls)
    batches = (
        [Offer(link.url, link.domain, link.score, 1, via=page.url, path="L") for link in page.links] for page in source
    )
    for batch in islice(batches, max(0, urls - MEASURED) // BATCH):
        frontier.offer(batch)
        known.append(chance.choice(batch).url)
    _wait_for_rewriting(client)
    last = list(batches)
    known += [chance.choice(batch).url for batch in last for _ in range(20)]
    with meter.running(sum(map(len, last))):
        for batch in last:
            frontier.offer(batch)
    chance.shuffle(known)
    return meter, known


def _rescore(frontier: RedisFrontier, known: Sequence[str], client: Redis) -> Meter:
    meter, chance = Meter(client), random.Random(2)
    scores = [Rescore(url, round(chance.random(), 3)) for url in known[:MEASURED]]
    with meter.running(len(scores)):
        for start in range(0, len(scores), BATCH):
            assert all(frontier.rescore(scores[start : start + BATCH]))
    return meter


def _settings(balance: int) -> FrontierSettings:
    return FrontierSettings(balance=balance, lease_seconds=86_400)


def _lease(frontier: RedisFrontier, urls: int, client: Redis) -> tuple[Meter, Meter]:
    """Lease and finish URLs in turn; return the cost of each."""
    leasing, finishing = Meter(client), Meter(client)
    while leasing.operations < urls:
        with leasing.running(0):
            leases = frontier.lease("worker", BATCH)
        leasing.operations += len(leases)
        with finishing.running(len(leases)):
            for lease in leases:
                frontier.finish(lease, State.DONE)
    return leasing, finishing


def _scrapy_redis(urls: int) -> Row:
    with _server() as url, tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "row.json"
        python = interpreter_with("scrapy-redis", PEER)
        command = [
            str(python),
            "-m",
            frontier_peer.__name__,
            url,
            str(urls),
            str(min(urls // 2, MEASURED // 5)),
            str(target),
        ]
        subprocess.run(command, check=True, cwd=PROJECT)
        row: dict[str, Cell] = json.loads(target.read_text("utf-8"))
        return {"system": "scrapy-redis", "urls": urls, **row}


def _zadd(urls: int) -> Row:
    with _server() as url, closing(connect(url)) as client:
        rate = _benchmarked(client) if shutil.which("redis-benchmark") else _piped(client)
    return {"system": "zadd", "urls": urls, "offers_per_second": round(rate)}


def _benchmarked(client: Redis) -> float:
    socket = client.connection_pool.connection_kwargs["path"]
    command = ["redis-benchmark", "-s", socket, "-c", "1", "-P", str(BATCH), "-r", "1000000000", "-n", "1000000"]
    ended = subprocess.run(
        [*command, "--csv", "zadd", "bench", "__rand_int__", "__rand_int__"], check=True, capture_output=True, text=True
    )
    return float(ended.stdout.splitlines()[-1].split(",")[-7 if ended.stdout.startswith('"test"') else -1].strip('"'))


def _piped(client: Redis) -> float:
    chance = random.Random(3)
    batches = [[(chance.randbytes(13), chance.random()) for _ in range(BATCH)] for _ in range(1000)]
    started = time.perf_counter()
    for batch in batches:
        pipeline = client.pipeline(transaction=False)
        for member, score in batch:
            pipeline.zadd("bench", {member: score})
        pipeline.execute()
    return BATCH * len(batches) / (time.perf_counter() - started)


@contextmanager
def _server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="aah-bench-") as folder, EmbeddedServer(Path(folder)) as server:
        yield server.url


def _wait_for_rewriting(client: Redis) -> None:
    while client.info("persistence")["aof_rewrite_in_progress"]:
        time.sleep(PAUSE)


def _server_seconds(client: Redis) -> float:
    usage = client.info("cpu")
    return float(usage["used_cpu_user"]) + float(usage["used_cpu_sys"])


def _allocated(client: Redis) -> float:
    client.slowlog_reset()  # A busy machine fills it.
    stats = client.memory_stats()
    return float(stats["total.allocated"] - stats["aof.buffer"] - stats["clients.normal"] - stats["lua.caches"])


if __name__ == "__main__":
    main()
