"""Measures the cost of storing web objects as RDF.

    python -m benchmarks.objects [--rows ROW...] [--pages N] [--rounds N] [--crawled N] [--recrawled N] --json FILE

For the first two rows the crawl is made here from a fixed seed: pages of a forum with ten posts each, written by the
writer that crawls use. For the others, a forum of such pages in phpBB's templates, about 25 kB each, is served by a
process of its own and crawled over loopback, by one process, with the shipped defaults but no delay.

- ``load``: bringing its segment into an empty store on disk, as ``aah load`` does, against pyoxigraph's own
  ``bulk_load`` of the same statements from a file that is not compressed. They take turns; ``ratio`` is the median of
  the rounds' own ratios of wall time, so that other work on the machine affects both. Goal: at least 0.8.
- ``lookup``: the objects of the newest capture of a page, by the page's URL, from that store, in milliseconds:
  median and 95th percentile over pages drawn by chance, and ``cpu_ms``, the processor's share of the median, which
  other work on the machine does not lengthen as much. Goal: under 1.
- ``triples``, ``warc``: the share of a crawl's processor time for writing them; ``warc`` covers the whole archive:
  response, request and metadata records, index and history. Both are of the time from the first record to the end of
  the crawl, so that starting up does not count. Goals: 0.03 and 0.15.
- ``recrawl``: a crawl of the unchanged forum after a first one, whose answers to conditional requests are 304:
  requests, bytes, wall and processor time, each as a part of the first crawl's; starting up counts in both.
"""

import argparse
import gzip
import json
import random
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, thread_time

import pyoxigraph as ox

from aahcrawler.layout import OBJECTS
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.webobject import Person, Reference, Value, WebObject
from benchmarks.crawl_costs import crawl
from benchmarks.forum_server import serving
from benchmarks.results import Cell, report
from offline.store.loading import load
from offline.store.local import LocalStore
from offline.store.page_objects import page_objects

SEED = 20140630
POSTS = 10
LOOKUPS = 500
ROWS = ("load", "lookup", "triples", "warc", "recrawl")
BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
URL = "http://forum.test/thread/{}"


def write_crawl(crawl: Path, pages: int, chance: random.Random) -> Path:
    """Write the captures of a forum's threads; return the segment."""
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(3000)]
    with ObjectWriter(crawl / OBJECTS, "benchmark", lambda: BEGUN) as objects:
        for number in range(pages):
            name = f"urn:uuid:{uuid.UUID(int=chance.getrandbits(128), version=4)}"
            fetched = BEGUN + timedelta(seconds=number)
            capture = CaptureDescription(name, URL.format(number), 200, fetched, "text/html", "phpBB", "thread")
            objects.write(capture, [post(number, place, words, chance) for place in range(POSTS)])
    (segment,) = (crawl / OBJECTS).iterdir()
    return segment


def post(thread: int, place: int, words: list[str], chance: random.Random) -> WebObject:
    """Return a post of 20 to 150 words."""
    url, author = URL.format(thread), f"user{chance.randrange(2000)}"
    properties: dict[str, tuple[Value, ...]] = {
        "title": (" ".join(chance.choices(words, k=6)),),
        "author": (Person(author, f"http://forum.test/user/{author}"),),
        "date": (BEGUN - timedelta(minutes=chance.randrange(10**6)),),
        "body": (" ".join(chance.choices(words, k=chance.randint(20, 150))),),
        "url": (Reference(f"{url}#p{place}"),),
    }
    return WebObject(f"{url}#p{place}", "post", url, properties, url)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a function takes."""
    started = perf_counter()
    work()
    return perf_counter() - started


def load_once(crawl: Path, folder: Path) -> float:
    """Load a crawl into a new store as ``aah load`` does."""
    with LocalStore(folder) as store:
        return timed(lambda: load(crawl, store))


def bulk_load_once(text: Path, folder: Path) -> float:
    """Have pyoxigraph load the statements into a new store by itself."""
    store = ox.Store(folder)
    return timed(lambda: store.bulk_load(path=text, format=ox.RdfFormat.N_QUADS))


def load_row(crawl: Path, segment: Path, rounds: int, folder: Path) -> dict[str, Cell]:
    """Measure loading; the last of the stores stays in ``folder``/store."""
    text = folder / "statements.nq"
    text.write_bytes(gzip.decompress(segment.read_bytes()))
    statements = text.read_bytes().count(b"\n")
    ours, theirs = [], []
    for number in range(rounds):
        theirs.append(bulk_load_once(text, folder / f"bulk-{number}"))
        ours.append(load_once(crawl, folder / (f"load-{number}" if number < rounds - 1 else "store")))
    return {
        "row": "load",
        "statements": statements,
        "statements_per_second": statements / median(ours),
        "bulk_load_per_second": statements / median(theirs),
        "ratio": median(their / our for our, their in zip(ours, theirs, strict=True)),
    }


def lookup_row(folder: Path, pages: int, chance: random.Random) -> dict[str, Cell]:
    """Measure looking up the objects of pages."""
    times, busy = [], []
    with LocalStore(folder / "store") as store:
        for _ in range(LOOKUPS):
            url = URL.format(chance.randrange(pages))
            started, began = perf_counter(), thread_time()
            found = page_objects(store.rdf, url)
            times.append(1000 * (perf_counter() - started))
            busy.append(1000 * (thread_time() - began))
            assert len(found) == POSTS
    return {"row": "lookup", "median_ms": median(times), "cpu_ms": median(busy), "p95_ms": quantiles(times, n=20)[-1]}


def define(folder: Path, seed: str) -> Path:
    """Write the definition of a crawl of the whole forum into a folder, which holds the crawl too."""
    fields: dict[str, object] = {
        "id": "benchmark",
        "title": "A forum",
        "operator": "Benchmark",
        "contact": "benchmark@example.org",
        "seeds": [seed],
        "topic": {"keywords": ["harbour", "boat", "water", "storm"]},
        "politeness": {"delay": "0", "connections": 8},
        "network": {"allow_private": ["127.0.0.0/8"]},
        "output": str(folder / "crawl"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "icd.yaml"
    path.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()), "utf-8")
    return path


def share_rows(pages: int, folder: Path) -> list[dict[str, Cell]]:
    """Measure which parts of a crawl's processor time triples and WARC files take."""
    with serving(pages) as forum:
        costs = crawl(define(folder, forum.url))
        crawled = forum.counts().requests
    return [
        {"row": name, "share": spent / costs.cpu, "ms_per_page": 1000 * spent / crawled, "requests": crawled}
        for name, spent in (("triples", costs.triples), ("warc", costs.warc))
    ]


def recrawl_row(pages: int, folder: Path) -> dict[str, Cell]:
    """Measure a crawl of pages that are unchanged since the last one."""
    with serving(pages) as forum:
        definition = define(folder, forum.url)
        first, asked = crawl(definition), forum.counts()
        again, asked_again = crawl(definition), forum.counts()
    return {
        "row": "recrawl",
        "requests": asked.requests,
        "not_modified": asked_again.not_modified / asked.requests,
        "requests_ratio": asked_again.requests / asked.requests,
        "bytes_ratio": asked_again.bytes / asked.bytes,
        "seconds_ratio": again.whole_seconds / first.whole_seconds,
        "cpu_ratio": again.whole_cpu / first.whole_cpu,
    }


def measured(arguments: argparse.Namespace, folder: Path) -> Iterator[dict[str, Cell]]:
    """Yield the rows that are asked for, and those that are measured together with them."""
    asked, chance = set(arguments.rows), random.Random(SEED)
    if asked & {"load", "lookup"}:
        segment = write_crawl(folder / "made", arguments.pages, chance)
        yield load_row(folder / "made", segment, arguments.rounds, folder)
        yield lookup_row(folder, arguments.pages, chance)
    if asked & {"triples", "warc"}:
        yield from share_rows(arguments.crawled, folder / "shares")
    if "recrawl" in asked:
        yield recrawl_row(arguments.recrawled, folder / "recrawl")


def main() -> None:
    """Run the rows that are asked for and report them."""
    parser = argparse.ArgumentParser(description="Measure the cost of storing web objects as RDF.")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS, metavar="ROW", help=f"of {', '.join(ROWS)}")
    parser.add_argument("--pages", type=int, default=3000, help="how many pages of ten posts")
    parser.add_argument("--rounds", type=int, default=5, help="how often each way of loading is measured")
    parser.add_argument("--crawled", type=int, default=3000, help="threads of the forum for triples and warc")
    parser.add_argument("--recrawled", type=int, default=50_000, help="threads of the forum for recrawl")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows go")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = [row for row in measured(arguments, Path(name)) if row["row"] in arguments.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    report([{name: row.get(name) for name in names} for row in rows], arguments.json)


if __name__ == "__main__":
    main()
