"""Injects faults at random points of a real crawl, and checks at its end that nothing was lost.

    python -m benchmarks.faults [--rounds N] [--faults NAME...] [--browser] [--seed N] [--json FILE]

For each kind of fault, two workers (``aah worker``) with folders of their own crawl a made-up site of eight domains on
loopback, one request at a time to each and a delay in between. They share a Redis-protocol server that they reach
through a socket which can be cut. One round is one fault, at a random moment of the crawl (``--seed`` sets the chance):

- ``server killed``: the frontier's server is killed (SIGKILL) and started again within a second;
- ``server frozen``: it stands still (SIGSTOP) for up to two seconds;
- ``network cut``: all connections to it end, whatever is on its way, and none can be made for up to 1.5 seconds;
- ``worker killed``: one worker is killed and started again within half a second;
- ``killed in flight``: the same, while requests are under way whose responses take a second;
- ``crawl killed``: the same, where ``aah crawl`` fetches alone, with a server of its own;
- ``connections dropped``: the web server closes up to three connections that it had kept open, each without a response,
  in the middle of its head, or in the middle of its body;
- ``clock jump``: the wall clock of the server or of a worker jumps by up to two hours, forwards or back;
- ``slow disk``: each write to a file and each sync of the server or of a worker takes up to half a second longer, for
  1.5 seconds;
- ``disk full``: the server or a worker can write nothing for 1.5 seconds;
- ``out of memory``: the server refuses to store anything (``maxmemory``) for up to three seconds, in which workers stop
  the crawl; they try again later;
- ``scripts flushed``: the server forgets its scripts (SCRIPT FLUSH).

With ``--browser`` the pages are made by scripts from data that they ask for, every page is looked at in a browser,
links are found in no other way, and the faults are kills:

- ``worker killed``, ``killed in flight`` and ``crawl killed`` as above;
- ``browser killed``: the browser of a worker is killed, with what it shows;
- ``page killed``: a process of its pages is.

Clocks and disks are those of the process under test alone: ``interposer.c`` is compiled and loaded into it. Without a C
compiler these three are left out.

Rows: ``lost`` counts pages that are in no archive, or not done in the frontier; ``duplicates_beyond_in_flight``
requests for a page that was asked for before, and was not being fetched or settled when a fault struck;
``stuck_queues`` queues that hold URLs when the crawl has ended, or asked for nothing in 90 seconds;
``politeness_violations`` requests to a domain, robots.txt too, that began sooner than the delay after the one before
had ended, with a response or with its connection, by the web server's own log; ``retries_uncounted`` the difference
between responses that broke off and retries that the crawl counts, where connections are dropped; ``stopped`` how often
a worker stopped the crawl, as it does where the server is out of memory, and for no other of these faults.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from signal import SIGCONT, SIGKILL, SIGSTOP

from benchmarks.fault_crawl import RESPONSE_SECONDS, Cut, FaultCrawl, FaultSite, LoneCrawl, Machine, Request, interposer
from benchmarks.results import Row, report

WORKERS, DOMAINS = 2, 8
DELAY = 0.2
PAGES_A_ROUND, PAGES_A_LONG_ROUND = 40, 12
"""Pages for each round, so that the crawl outlasts them; fewer where the delay is long."""
MIN_PAGES = 300
STANDSTILL = 90.0
"""A crawl that has sent no request for this many seconds stands still; leases run for half a minute."""
SETTLING = 2.0
"""A page may not be finished for at most this many seconds after its response."""


@dataclass(frozen=True, slots=True)
class Struck:
    """The time of a fault, in monotonic seconds."""

    begin: float
    end: float


Fault = Callable[[FaultCrawl, Random], None]


def server_killed(crawl: FaultCrawl, chance: Random) -> None:
    """Kill the server."""
    crawl.kill_server()
    crawl.until(lambda: crawl.server.pid is None, 10)
    time.sleep(chance.uniform(0, 1))
    crawl.revive()


def server_frozen(crawl: FaultCrawl, chance: Random) -> None:
    """Let the server stand still."""
    crawl.kill_server(SIGSTOP)
    time.sleep(chance.uniform(0.1, 2))
    crawl.kill_server(SIGCONT)


def network_cut(crawl: FaultCrawl, chance: Random) -> None:
    """Cut the network."""
    crawl.cut()
    time.sleep(chance.uniform(0.1, 1.5))
    crawl.mend()


def worker_killed(crawl: FaultCrawl, chance: Random) -> None:
    """Kill a worker."""
    worker = chance.choice(crawl.workers)
    if worker.code is None:
        worker.kill()
        time.sleep(chance.uniform(0, 0.5))
        worker.start()


def killed_in_flight(crawl: FaultCrawl, chance: Random) -> None:
    """Kill a worker while the web server responds slowly."""
    crawl.site.response_seconds = 1.0
    asked = len(crawl.site.requests)
    crawl.until(lambda: crawl.is_over or len(crawl.site.requests) >= asked + 2, 40)
    time.sleep(chance.uniform(0, 0.5))
    worker_killed(crawl, chance)
    crawl.site.response_seconds = RESPONSE_SECONDS


def browser_killed(crawl: FaultCrawl, chance: Random) -> None:
    """Kill the browser of a worker once one runs."""
    _kill_browsing(crawl, chance, of_pages=False)


def page_killed(crawl: FaultCrawl, chance: Random) -> None:
    """Kill a page's process of a worker's browser once one runs."""
    _kill_browsing(crawl, chance, of_pages=True)


def _kill_browsing(crawl: FaultCrawl, chance: Random, *, of_pages: bool) -> None:
    victim = chance.choice(crawl.workers)
    crawl.until(lambda: crawl.is_over or bool(victim.browsers(of_pages=of_pages)), 40)
    for process in victim.browsers(of_pages=of_pages)[:1]:
        with suppress(ProcessLookupError):
            os.kill(process, SIGKILL)


def connections_dropped(crawl: FaultCrawl, chance: Random) -> None:
    """Close connections instead of responding, or within a response."""
    crawl.site.cuts = chance.choices(list(Cut), k=chance.randint(1, 3))
    crawl.until(lambda: crawl.is_over or not crawl.site.cuts, 40)


def clock_jump(crawl: FaultCrawl, chance: Random) -> None:
    """Set a clock."""
    _victim(crawl, chance).jump(chance.uniform(1, 7200) * chance.choice((-1, 1)))


def slow_disk(crawl: FaultCrawl, chance: Random) -> None:
    """Slow down a disk."""
    victim = _victim(crawl, chance)
    victim.disk(chance.uniform(0.1, 0.5))
    time.sleep(1.5)
    victim.disk()


def disk_full(crawl: FaultCrawl, chance: Random) -> None:
    """Fill a disk."""
    victim = _victim(crawl, chance)
    victim.disk(is_full=True)
    time.sleep(1.5)
    victim.disk()


def out_of_memory(crawl: FaultCrawl, chance: Random) -> None:
    """Let the server refuse to store anything."""
    with crawl.operator() as operator:
        operator.config_set("maxmemory", 1)
        time.sleep(chance.uniform(0.5, 3))
        operator.config_set("maxmemory", 0)


def scripts_flushed(crawl: FaultCrawl, _: Random) -> None:
    """Let the server forget its scripts."""
    with crawl.operator() as operator:
        operator.script_flush()


def _victim(crawl: FaultCrawl, chance: Random) -> Machine:
    return chance.choice([crawl.server_machine, *(worker.machine for worker in crawl.workers)])


FAULTS: dict[str, Fault] = {
    "server killed": server_killed,
    "server frozen": server_frozen,
    "network cut": network_cut,
    "worker killed": worker_killed,
    "killed in flight": killed_in_flight,
    "crawl killed": killed_in_flight,
    "connections dropped": connections_dropped,
    "clock jump": clock_jump,
    "slow disk": slow_disk,
    "disk full": disk_full,
    "out of memory": out_of_memory,
    "scripts flushed": scripts_flushed,
}
BROWSER_FAULTS: dict[str, Fault] = {
    "worker killed": worker_killed,
    "killed in flight": killed_in_flight,
    "crawl killed": killed_in_flight,
    "browser killed": browser_killed,
    "page killed": page_killed,
}
LOOKING = 60.0
"""A page may be visited in a browser for at most this many seconds after its response."""
DELAYS = {"killed in flight": 4.0, "crawl killed": 4.0, "connections dropped": 1.5}
"""Delays in seconds that exceed a start, or the pause before a retry; for all other faults, ``DELAY`` holds."""
ALONE = "crawl killed"
INTERPOSED = {"clock jump", "slow disk", "disk full"}


def strike(crawl: FaultCrawl, fault: Fault, rounds: int, chance: Random) -> list[Struck]:
    """Cause a fault repeatedly while the crawl runs, each time after the crawl has gone on from the one before."""
    struck: list[Struck] = []
    while len(struck) < rounds and not crawl.is_over:
        asked = len(crawl.site.requests)
        crawl.until(partial(_goes_on, crawl, asked), 40)
        time.sleep(chance.uniform(0, 1))
        begin = time.monotonic()
        fault(crawl, chance)
        struck.append(Struck(begin, time.monotonic()))
    return struck


def run(name: str, rounds: int, seed: int, folder: Path, library: Path | None, *, browser: bool = False) -> Row:
    """Crawl with one kind of fault; return the outcome."""
    if browser:
        site = FaultSite(DOMAINS, max(1, PAGES_A_LONG_ROUND * rounds // DOMAINS), is_scripted=True)
    else:
        pages = rounds * (PAGES_A_LONG_ROUND if name in DELAYS else PAGES_A_ROUND)
        site = FaultSite(DOMAINS, max(MIN_PAGES, pages) // DOMAINS)
    fault = (BROWSER_FAULTS if browser else FAULTS)[name]
    made, workers = (LoneCrawl, 1) if name == ALONE else (FaultCrawl, WORKERS)
    with made(folder, site, library, DELAYS.get(name, DELAY)).running(workers) as crawl:
        crawl.until(lambda: bool(site.requests), 60)
        struck = strike(crawl, fault, rounds, Random(f"{seed} {name}"))
        await_end(crawl)
        stopped = sum(worker.stops() for worker in crawl.workers)
        stuck, states, retries = crawl.stuck(), crawl.states(), crawl.retries()
    archived = crawl.archived()
    broken = sum(request.cut is not None for request in site.requests)
    return {
        "fault": name,
        "rounds": len(struck),
        "pages": len(site.urls()),
        "lost": sum(states[url] != "done" or not archived[url] for url in site.urls()),
        "duplicates_beyond_in_flight": beyond_in_flight(
            site.requests, site.urls(), struck, LOOKING if browser else SETTLING
        ),
        "stuck_queues": stuck,
        "politeness_violations": site.too_early(crawl.delay),
        "retries_uncounted": abs(broken - retries) if broken else 0,
        "stopped": stopped,
    }


def await_end(crawl: FaultCrawl) -> None:
    """Wait until the crawl is over, or stands still."""
    asked = 0
    while not crawl.is_over and len(crawl.site.requests) > asked:
        asked = len(crawl.site.requests)
        crawl.until(partial(_goes_on, crawl, asked), STANDSTILL)


def _goes_on(crawl: FaultCrawl, asked: int) -> bool:
    return crawl.is_over or len(crawl.site.requests) > asked


def beyond_in_flight(
    requests: Sequence[Request], pages: set[str], struck: Sequence[Struck], settling: float = SETTLING
) -> int:
    """Count repeated requests for pages that were not under way when a fault struck.

    A page is under way until ``settling`` seconds after its response.
    """
    before: dict[str, Request] = {}
    found = 0
    for request in sorted(requests, key=lambda each: each.begin):
        former = before.get(request.url)
        if former is not None and request.url in pages:
            found += not any(former.begin <= each.end and each.begin <= former.end + settling for each in struck)
        before[request.url] = request
    return found


def main() -> None:
    """Cause every kind of fault, and report."""
    parser = argparse.ArgumentParser(description="Let things go wrong in a crawl, and see that nothing does.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--faults", nargs="+", choices=sorted({*FAULTS, *BROWSER_FAULTS}))
    parser.add_argument("--browser", action="store_true", help="have pages made by scripts, and kill in looks at them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the crawls' folders here")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    known = BROWSER_FAULTS if arguments.browser else FAULTS
    if unknown := {*(arguments.faults or ())} - known.keys():
        parser.error(f"not {'with' if arguments.browser else 'without'} --browser: {', '.join(sorted(unknown))}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="faults-") as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        library = interposer(folder)
        for number, name in enumerate(arguments.faults or known):
            if library is None and name in INTERPOSED:
                print(f"{name}: left out, for there is no C compiler")
                continue
            at = folder / str(number)
            at.mkdir()
            rows.append(run(name, arguments.rounds, arguments.seed, at, library, browser=arguments.browser))
            print(rows[-1], flush=True)
    report(rows, arguments.json)


if __name__ == "__main__":
    main()
