"""Measures the cost of a page, with everything that is done to it, beside other crawlers.

    python -m benchmarks.throughput [--pages-of forum mix] [--systems NAME...] [--pages SMALL LARGE] [--rounds N]
        [--share] --json FILE

Every system fetches the same pages at most 64 at once and two from each host, from a process of its own that serves

- ``forum``: made-up forums of one software, about 25 kB a page, on 127.0.0.2 to 127.0.0.33;
- ``mix``: twelve recorded sites of nine applications, each on a host of its own. The knowledge base lacks the files of
  three of these applications: a third of the sites are of unknown software. Of each site as many pages are fetched
  (``limits.pages_per_domain``), and other systems follow links to those that ours fetched in the same round; those that
  no link has led to are asked for at the end.

The systems are:

- ``aahcrawler``: ``aah crawl`` with the shipped defaults, but without delay and with loopback allowed: pages are
  understood, links scored, everything written to WARC files, triples and score log, the frontier in its own server;
- ``aahcrawler-unranked``: the same with the ranker's weight 0: the difference is what ranking costs;
- ``scrapy``: a spider that follows links with Scrapy's link extractor and keeps nothing; ``scrapy-jobdir`` the same
  with its queue on disk, ``scrapy-redis`` with queue and duplicates in a Redis server;
- ``crawlee``: Crawlee's Parsel crawler, which follows links and keeps nothing; forums only;
- ``wget``: ``wget --warc-file`` with a list of all pages, one after the other, as it knows no concurrency; nothing is
  parsed.

``cpu_ms_per_page`` is processor time, user and system, of all processes of a system, servers that belong to it among
them, the web server not; ``pages_per_second`` is by the clock. To leave out starting and ending, a crawl of a few pages
is taken from a crawl of many: both are differences over the difference in pages, as the web server counted them.
``peak_mib`` is resident memory of all processes together in the larger crawl, shared memory counted once for each.
Systems take turns, and of several rounds the median counts. ``ratio`` is that of processor time to plain Scrapy's in
the same round, in the median. ``pages`` are those of the larger crawl, each counted once, of which none may be missing;
``requests`` are those that were sent for them. Pages of the mix are responses in HTML; feeds, pictures, style sheets
and redirects are counted among the requests alone.

``--share`` crawls the larger load with aahcrawler alone, looks at the stacks of its process all the while, and prints
the share of its processor time that each subsystem has (``benchmarks/stack_sampler.py``, ``benchmarks/subsystems.py``),
with the modules that have most of it. The frontier's server is a process of its own and no part of that.

``--flat PAGES`` crawls so many pages with aahcrawler alone, and prints its memory after each tenth of the time;
``--disk PAGES`` prints the bytes on disk for each page, by what of the crawl's folder holds them.

Other crawlers are installed into ``.cache/peers/crawlers`` on first use. A system that is not there is left out.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from aahcrawler.frontier.server.binary import server_program
from benchmarks import stack_sampler, throughput_peer
from benchmarks.forum import boards, serving
from benchmarks.process_memory import Finished, run
from benchmarks.recorded import PROJECT
from benchmarks.results import Cell, report
from benchmarks.subsystems import share_rows
from benchmarks.throughput_load import FORUM_HOSTS, Load, forum_load, forums, mix, threads_of

PINNED = ("scrapy==2.19.0", "scrapy-redis==0.9.1", "crawlee[parsel]==1.11.0")
ENVIRONMENT = PROJECT / ".cache" / "peers" / "crawlers"
PEERS = ("scrapy", "scrapy-jobdir", "scrapy-redis", "crawlee")
OURS = "aahcrawler"
UNRANKED = "aahcrawler-unranked"
LOADS = {"forum": forums, "mix": mix}
TIMEOUT = 3600.0


@dataclass(frozen=True, slots=True)
class System:
    """A crawler with a number of fetching processes."""

    name: str
    workers: int = 1

    def command(self, load: Load, folder: Path) -> list[str]:
        """Return the command that crawls all pages; it writes files into a folder."""
        match self.name:
            case "aahcrawler" | "aahcrawler-unranked":
                return self._ours(load, folder)
            case "wget":
                return _wget(load, folder)
            case _:
                work = load.peer_work(folder, server_program(folder).path)
                return [str(interpreter()), "-I", throughput_peer.__file__, self.name, str(work)]

    def _ours(self, load: Load, folder: Path) -> list[str]:
        path = load.described(folder, {"weights": {"text": 1, "ranker": 0}} if self.name == UNRANKED else {})
        workers = [] if self.workers == 1 else ["--workers", str(self.workers)]
        return [sys.executable, "-m", "aahcrawler.cli", "crawl", *workers, str(path)]


def _wget(load: Load, folder: Path) -> list[str]:
    assert load.pages is not None
    (folder / "list").write_text("".join(f"{url}\n" for url in load.pages), "utf-8")
    return ["wget", "-q", "-i", str(folder / "list"), f"--warc-file={folder / 'pages'}", "-O", os.devnull]


def interpreter() -> Path:
    """Return an interpreter that has the other crawlers; its environment is made if there is none."""
    python, made = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "made"
    if not made.is_file() or made.read_text("utf-8") != str(PINNED):
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run([python, "-I", "-m", "pip", "install", "-q", *PINNED], check=True)
        made.write_text(str(PINNED), "utf-8")
    return python


@dataclass(frozen=True, slots=True)
class Crawled:
    """The cost of a crawl, the numbers of pages and requests counted by the web server, and bytes by folder.

    ``urls`` are those of the pages.
    """

    finished: Finished
    pages: int
    requests: int
    urls: tuple[str, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)


def crawl(system: System, load: Load, sampled: Path | None = None) -> Crawled:
    """Crawl all pages once; with ``sampled``, write the stacks of the crawl by this project there.

    Raises ``RuntimeError`` with the output of a system that fails.
    """
    with tempfile.TemporaryDirectory(prefix="aah-") as name:
        command = system.command(load, Path(name))
        if sampled is not None:
            command[2:3] = [stack_sampler.__name__, str(sampled), command[2]]
        load.served.counts()
        finished = run(command, {**os.environ, **load.environment}, TIMEOUT)
        kept = sizes(Path(name) / "crawl")
    urls = load.served.pages()
    counts = load.served.counts()
    if finished.code:
        raise RuntimeError(f"{system.name} failed:\n{finished.output[-3000:]}")
    return Crawled(finished, counts.pages, counts.requests, urls, kept)


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes in each subfolder of a folder, and those of its own files under ``files``."""
    found: dict[str, int] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).parts[0] if path.parent != folder else "files"
            found[name] = found.get(name, 0) + path.stat().st_size
    return found


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a page without starting and ending."""

    cpu_ms: float
    seconds: float
    large: Crawled

    @classmethod
    def between(cls, small: Crawled, large: Crawled) -> "Cost":
        """Return the cost of the pages by which two crawls differ."""
        pages = large.pages - small.pages
        cpu = large.finished.cpu_seconds - small.finished.cpu_seconds
        return cls(1000 * cpu / pages, (large.finished.seconds - small.finished.seconds) / pages, large)


Costs = dict[tuple[str, System], list[Cost]]


def measure(load_of: str, systems: Sequence[System], sizes: Sequence[int], rounds: int) -> Costs:
    """Crawl a small and a large load with each system in turn, for so many rounds."""
    costs: Costs = {(load_of, system): [] for system in systems}
    with LOADS[load_of](sizes) as loads:
        for _ in range(rounds):
            few, many = loads
            for system in systems:
                less, more = crawl(system, few), crawl(system, many)
                if system.name == OURS:
                    few, many = few.after(less.urls), many.after(more.urls)
                costs[load_of, system].append(Cost.between(less, more))
                print(
                    f"{load_of}: {system.name} {system.workers}: {costs[load_of, system][-1].cpu_ms:.2f} ms",
                    file=sys.stderr,
                )
    return costs


def rows(costs: Costs) -> list[dict[str, Cell]]:
    """Return a row for each system and load."""
    found: list[dict[str, Cell]] = []
    for (load, system), each in costs.items():
        plain = costs.get((load, System("scrapy")))
        row: dict[str, Cell] = {
            "pages_of": load,
            "system": system.name,
            "workers": system.workers,
            "pages_per_second": 1 / median(cost.seconds for cost in each),
            "cpu_ms_per_page": median(cost.cpu_ms for cost in each),
            "ratio": median(a.cpu_ms / b.cpu_ms for a, b in zip(each, plain, strict=True)) if plain else None,
            "peak_mib": median(cost.large.finished.peak_mib for cost in each),
            "pages": min(cost.large.pages for cost in each),
            "requests": max(cost.large.requests for cost in each),
        }
        found.append(row)
    return found


def shares(load_of: str, sizes: Sequence[int], rounds: int) -> list[dict[str, Cell]]:
    """Crawl the large load so many times; return the share of each subsystem in the processor time."""
    seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
    pages = 0
    with LOADS[load_of](sizes) as (_, many), tempfile.TemporaryDirectory(prefix="aah-stacks-") as name:
        for _ in range(rounds):
            target = Path(name) / "stacks.json"
            pages += crawl(System(OURS), many, target).pages
            for stack, found in json.loads(target.read_text("utf-8"))["stacks"]:
                seconds[tuple(stack)] += found
    return [{"pages_of": load_of, **row} for row in share_rows(seconds, pages)]


def flat(pages: int) -> list[dict[str, Cell]]:
    """Crawl so many pages; return the memory that the crawler held at the end of each tenth of the time."""
    threads = threads_of(pages)
    with serving(threads, FORUM_HOSTS) as served:
        done = crawl(System(OURS), forum_load(served, boards(threads, FORUM_HOSTS)))
    samples = list(filter(None, done.finished.resident_mib))
    ends = [len(samples) * tenth // 10 for tenth in range(1, 11)]
    return [
        {"system": OURS, "pages": done.pages, "tenth": tenth, "resident_mib": samples[max(end, 1) - 1]}
        for tenth, end in enumerate(ends, 1)
    ]


def disk(pages: int) -> list[dict[str, Cell]]:
    """Crawl so many pages; return the bytes on disk for each page, by folder."""
    threads = threads_of(pages)
    with serving(threads, FORUM_HOSTS) as served:
        done = crawl(System(OURS), forum_load(served, boards(threads, FORUM_HOSTS)))
    return [
        {"system": OURS, "pages": done.pages, "folder": name, "bytes_per_page": round(size / done.pages)}
        for name, size in done.kept.items()
    ]


def there(system: System) -> bool:
    """Return whether a system can be run here; report the reason if it cannot."""
    is_missing = system.name == "wget" and shutil.which("wget") is None
    if is_missing:
        print("wget is not on the PATH: left out", file=sys.stderr)
    return not is_missing


def main() -> None:
    """Crawl with each system and report."""
    names = (OURS, UNRANKED, *PEERS, "wget")
    parser = argparse.ArgumentParser(description="Measure the cost of a page for a crawler.")
    shown = tuple(name for name in names if name != UNRANKED)
    parser.add_argument("--pages-of", nargs="+", choices=LOADS, default=["forum"], metavar="LOAD", help="forum, mix")
    parser.add_argument("--systems", nargs="+", choices=names, default=shown, metavar="NAME", help=", ".join(names))
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2], metavar="N", help="processes of aahcrawler")
    parser.add_argument("--pages", nargs=2, type=int, default=[500, 3000], metavar=("SMALL", "LARGE"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", action="store_true", help="print where the time of a crawl goes, and nothing else")
    parser.add_argument("--flat", type=int, metavar="PAGES", help="crawl so many pages, and watch the memory alone")
    parser.add_argument("--disk", type=int, metavar="PAGES", help="crawl so many pages, and measure the folder alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows go")
    arguments = parser.parse_args()
    if arguments.flat or arguments.disk:
        report(flat(arguments.flat) if arguments.flat else disk(arguments.disk), arguments.json)
    elif arguments.share:
        each = (shares(load, arguments.pages, arguments.rounds) for load in arguments.pages_of)
        report([row for found in each for row in found], arguments.json)
    else:
        several = {OURS: arguments.workers}
        systems = [System(name, n) for name in arguments.systems for n in several.get(name, [1])]
        costs: Costs = {}
        for load in arguments.pages_of:
            costs |= measure(load, _able(load, systems, parser), arguments.pages, arguments.rounds)
        report(rows(costs), arguments.json)


def _able(load: str, systems: Sequence[System], parser: argparse.ArgumentParser) -> list[System]:
    """Return the systems that can crawl a load here. This project's comes first, as the others fetch its pages."""
    left = [system for system in systems if there(system) and (load == "forum" or system.name != "crawlee")]
    if load == "mix" and not any(system.name == OURS for system in left):
        parser.error(f"--pages-of mix needs {OURS} among the systems: others are given the pages that it fetched")
    return sorted(left, key=lambda system: system.name != OURS)


if __name__ == "__main__":
    main()
