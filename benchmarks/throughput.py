"""Measures the cost of a page, with everything that is done to it, beside other crawlers.

    python -m benchmarks.throughput [--systems NAME...] [--pages SMALL LARGE] [--rounds N] --json FILE

Made-up forums, about 25 kB a page, are served by a process of its own on 127.0.0.2 to 127.0.0.33, and every system
fetches all of their pages from there, at most 64 at once and two from each host:

- ``aahcrawler``: ``aah crawl`` with the shipped defaults, but without delay and with loopback allowed: pages are
  understood, links scored, everything written to WARC files, triples and score log, the frontier in its own server;
- ``aahcrawler-unranked``: the same with the ranker's weight 0: the difference is what ranking costs;
- ``scrapy``: a spider that follows links with Scrapy's link extractor and keeps nothing; ``scrapy-jobdir`` the same
  with its queue on disk, ``scrapy-redis`` with queue and duplicates in a Redis server;
- ``crawlee``: Crawlee's Parsel crawler, which follows links and keeps nothing;
- ``wget``: ``wget --warc-file`` with a list of all pages, one after the other, as it knows no concurrency; nothing is
  parsed.

``cpu_ms_per_page`` is processor time, user and system, of all processes of a system, servers that belong to it among
them, the web server not; ``pages_per_second`` is by the clock. To leave out starting and ending, a crawl of a few pages
is taken from a crawl of many: both are differences over the difference in pages, as the web server counted them.
``peak_mib`` is resident memory of all processes together in the larger crawl, shared memory counted once for each.
Systems take turns, and of several rounds the median counts. ``ratio`` is that of processor time to plain Scrapy's in
the same round, in the median. ``pages`` are those of the larger crawl, each counted once, of which none may be missing;
``requests`` are those that were sent for them.

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from aahcrawler.frontier.server.binary import server_binary
from benchmarks import throughput_peer
from benchmarks.forum import Forum
from benchmarks.forum_server import Served, boards, serving
from benchmarks.process_memory import Finished, run
from benchmarks.recorded import PROJECT
from benchmarks.results import Cell, report

PINNED = ("scrapy==2.19.0", "scrapy-redis==0.9.1", "crawlee[parsel]==1.11.0")
ENVIRONMENT = PROJECT / ".cache" / "peers" / "crawlers"
HOSTS = 32
CONCURRENCY = (64, 2)
"""Requests at once, in all and to each host."""
WANTED = r"^http://[^/]+/(index\.php|viewforum\.php\?f=\d+(&start=\d+)?|viewtopic\.php\?t=\d+)$"
PEERS = ("scrapy", "scrapy-jobdir", "scrapy-redis", "crawlee")
UNRANKED = "aahcrawler-unranked"
TIMEOUT = 3600.0


@dataclass(frozen=True, slots=True)
class System:
    """A crawler with so many processes that fetch."""

    name: str
    workers: int = 1

    def command(self, served: Served, listed: dict[str, Forum], folder: Path) -> list[str]:
        """Return the command that crawls all pages; files go into a folder."""
        match self.name:
            case "aahcrawler" | "aahcrawler-unranked":
                return self._ours(served, folder)
            case "wget":
                return _wget(served, listed, folder)
            case _:
                work = peer_work(served, folder)
                return [str(interpreter()), "-I", throughput_peer.__file__, self.name, str(work)]

    def _ours(self, served: Served, folder: Path) -> list[str]:
        fields: dict[str, object] = {
            "id": "throughput",
            "contact": "benchmark@example.org",
            "seeds": list(served.urls),  # That is what the knowledge base makes of index.php.
            "topic": {"keywords": ["harbour", "boat", "water", "storm"]},
            "politeness": {"delay": "0", "connections": CONCURRENCY[1]},
            "network": {"allow_private": ["127.0.0.0/8"]},
            "output": str(folder / "crawl"),
            "scoring": {"weights": {"text": 1, "ranker": 0}} if self.name == UNRANKED else {},
        }
        path = folder / "icd.yaml"
        path.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()), "utf-8")
        workers = [] if self.workers == 1 else ["--workers", str(self.workers)]
        return [sys.executable, "-m", "aahcrawler.cli", "crawl", *workers, str(path)]


def _wget(served: Served, listed: dict[str, Forum], folder: Path) -> list[str]:
    pages = (
        f"{url}{address}\n"
        for url, board in zip(served.urls, listed.values(), strict=True)
        for address in board.addresses()
    )
    (folder / "list").write_text("".join(pages), "utf-8")
    return ["wget", "-q", "-i", str(folder / "list"), f"--warc-file={folder / 'pages'}", "-O", os.devnull]


def peer_work(served: Served, folder: Path) -> Path:
    """Write the input of another crawler into a folder; return the file."""
    work = {
        "seeds": [f"{url}index.php" for url in served.urls],
        "allow": WANTED,
        "concurrency": CONCURRENCY,
        "folder": str(folder),
        "redis": str(server_binary(folder)),
    }
    path = folder / "work.json"
    path.write_text(json.dumps(work), "utf-8")
    return path


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
    """The cost of a crawl, the numbers of pages and requests that the web server counted, and bytes of the folder."""

    finished: Finished
    pages: int
    requests: int
    kept: dict[str, int]


def crawl(system: System, served: Served, listed: dict[str, Forum]) -> Crawled:
    """Crawl all pages once. Raises ``RuntimeError`` with the output of a system that fails."""
    with tempfile.TemporaryDirectory(prefix="aah-") as name:
        command = system.command(served, listed, Path(name))
        served.counts()
        finished = run(command, os.environ, TIMEOUT)
        kept = sizes(Path(name) / "crawl")
    counts = served.counts()
    if finished.code:
        raise RuntimeError(f"{system.name} failed:\n{finished.output[-3000:]}")
    return Crawled(finished, counts.pages, counts.requests, kept)


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes in each folder of a folder, and those of its own files together under ``files``."""
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


def measure(systems: Sequence[System], sizes: Sequence[int], rounds: int) -> dict[System, list[Cost]]:
    """Crawl boards of two sizes with each system, one after another, so many times."""
    costs: dict[System, list[Cost]] = {system: [] for system in systems}
    small, large = (threads_of(pages) for pages in sizes)
    with serving(small, HOSTS) as few, serving(large, HOSTS) as many:
        for _ in range(rounds):
            for system in systems:
                less, more = crawl(system, few, boards(small, HOSTS)), crawl(system, many, boards(large, HOSTS))
                costs[system].append(Cost.between(less, more))
                print(f"{system.name} {system.workers}: {costs[system][-1].cpu_ms:.2f} ms", file=sys.stderr)
    return costs


def threads_of(pages: int) -> int:
    """Return the number of threads of each board at which all boards together have about so many pages.

    >>> threads_of(2500)
    74
    """
    return max(1, int((pages / HOSTS - 2) / 1.04))


def rows(costs: dict[System, list[Cost]]) -> list[dict[str, Cell]]:
    """Return a row for each system."""
    plain = costs.get(System("scrapy"))
    return [
        {
            "system": system.name,
            "workers": system.workers,
            "pages_per_second": 1 / median(cost.seconds for cost in each),
            "cpu_ms_per_page": median(cost.cpu_ms for cost in each),
            "ratio": median(a.cpu_ms / b.cpu_ms for a, b in zip(each, plain, strict=True)) if plain else None,
            "peak_mib": median(cost.large.finished.peak_mib for cost in each),
            "pages": min(cost.large.pages for cost in each),
            "requests": max(cost.large.requests for cost in each),
        }
        for system, each in costs.items()
    ]


def flat(pages: int) -> list[dict[str, Cell]]:
    """Crawl so many pages; return the memory that the crawler held at the end of each tenth of the time."""
    threads = threads_of(pages)
    with serving(threads, HOSTS) as served:
        done = crawl(System("aahcrawler"), served, boards(threads, HOSTS))
    samples = list(filter(None, done.finished.resident_mib))
    ends = [len(samples) * tenth // 10 for tenth in range(1, 11)]
    return [
        {"system": "aahcrawler", "pages": done.pages, "tenth": tenth, "resident_mib": samples[max(end, 1) - 1]}
        for tenth, end in enumerate(ends, 1)
    ]


def disk(pages: int) -> list[dict[str, Cell]]:
    """Crawl so many pages; return the bytes on disk for each page, by folder."""
    threads = threads_of(pages)
    with serving(threads, HOSTS) as served:
        done = crawl(System("aahcrawler"), served, boards(threads, HOSTS))
    return [
        {"system": "aahcrawler", "pages": done.pages, "folder": name, "bytes_per_page": round(size / done.pages)}
        for name, size in done.kept.items()
    ]


def there(system: System) -> bool:
    """Return whether a system can be run here; report the cause where it cannot."""
    is_missing = system.name == "wget" and shutil.which("wget") is None
    if is_missing:
        print("wget is not on the PATH: left out", file=sys.stderr)
    return not is_missing


def main() -> None:
    """Crawl with each system and report."""
    names = ("aahcrawler", UNRANKED, *PEERS, "wget")
    parser = argparse.ArgumentParser(description="Measure the cost of a page for a crawler.")
    shown = tuple(name for name in names if name != UNRANKED)
    parser.add_argument("--systems", nargs="+", choices=names, default=shown, metavar="NAME", help=", ".join(names))
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2], metavar="N", help="processes of aahcrawler")
    parser.add_argument("--pages", nargs=2, type=int, default=[500, 3000], metavar=("SMALL", "LARGE"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--flat", type=int, metavar="PAGES", help="crawl so many pages, and watch the memory alone")
    parser.add_argument("--disk", type=int, metavar="PAGES", help="crawl so many pages, and measure the folder alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows go")
    arguments = parser.parse_args()
    if arguments.flat or arguments.disk:
        report(flat(arguments.flat) if arguments.flat else disk(arguments.disk), arguments.json)
        return
    several = {"aahcrawler": arguments.workers}
    systems = [System(name, n) for name in arguments.systems for n in several.get(name, [1])]
    report(rows(measure([each for each in systems if there(each)], arguments.pages, arguments.rounds)), arguments.json)


if __name__ == "__main__":
    main()
