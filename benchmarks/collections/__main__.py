"""Measures collections about events on dated worlds: every configuration of both articles, and what archives cost.

    python -m benchmarks.collections --json FILE [--seeds N] [--size N] [--pages N] [--quick]

The events of some worlds recur, those of others happen once. Their seeds count from 0; nothing was chosen by these
worlds: choices were made on worlds with seeds from 100 on. The pages of a world are in three archives that overlap in
part. With ``--json``, measured worlds are kept in lines of JSON beside the file, and an ended run goes on from there.

- ``precision``, ``recall`` and ``break_even`` are of the pages that a crawl got, the last one of their order by score;
  ``break_even_held`` is that of everything that archives hold, the same for all configurations. A page is relevant if
  it is about the event, mainly or in part; ``accumulated`` is the sum of the true relevance of the pages got.
- ``considered`` counts URLs that were met, ``retrieval_rate`` is the share of those looked up that archives have, and
  ``looked_up_a_relevant`` how many were looked up for each relevant page.
- Differences are paired over worlds, with the 95 % interval of 2,000 resamples.
- ``live`` and ``archive`` are crawls of the sites and of the archives as they were so long after the event.
- Rates are of processor time, from archives that lie here, for one core. How fast a capture is found among 10 million
  is measured by ``benchmarks.importing --captures 10000000``.
- Archives that fail are asked before those that pywb serves, in crawls of their own: two dead ones, one where nobody
  listens and one that takes connections and never responds; one that takes three seconds to say that it holds nothing;
  one whose responses are none. ``more_time`` is by how much longer a crawl takes with them than without.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path
from random import Random
from statistics import fmean, median
from sys import executable
from time import monotonic, process_time
from typing import Final

import yaml

from aahcrawler.exchange import Exchange
from aahcrawler.page.generic import links, main_content
from aahcrawler.sources.local_archives import open_archives
from aahcrawler.sources.source import Demand, Source
from aahcrawler.tallies import NO_CAPTURE, SOURCES_UNAVAILABLE
from aahcrawler.wire.replay import replayed
from benchmarks.collections.archives import (
    NotHadError,
    dead_archive,
    environment,
    lying_archive,
    pywb,
    silent_archive,
    slow_archive,
)
from benchmarks.collections.crawling import (
    BOTH,
    CONTENT,
    EFFECTS,
    KLEIN,
    OURS,
    TEMPORAL,
    UNFOCUSED,
    Configuration,
    Course,
    Reading,
    archived,
    captures_of,
    choice_of,
    crawl,
    definition,
    live,
    scored,
)
from benchmarks.collections.dated_world import PART, DatedWorld, Kind, build, write
from benchmarks.results import Row, report
from online_analysis.analysers import analysers
from online_analysis.topic import build_topic

PAGES: Final = 300
"""Pages of a crawl."""
DELAY: Final = 0.1
"""Seconds between two requests to an archive: with none, a crawl would be too short to tell anything."""
SLOW: Final = 3.0
"""Seconds that the slow archive takes for a response."""
PAIRS: Final = 5
"""The pairs of crawls, with failing archives and without: the median lies within five of them with 94 %."""
_SEED: Final = 100


@dataclass(frozen=True, slots=True)
class _Course:
    """A crawl among failing archives: its pages, URLs that no archive has, and URLs with incomplete look-ups."""

    pages: int
    nobody_has: int
    not_looked_up_everywhere: int
    requests: int
    seconds: float
    """Of the crawl, as it tells itself."""
    whole_seconds: float
    """With start, index and report."""


def failing_rows(size: int, programs: Path) -> Iterator[Row]:
    """Yield durations of crawls from working archives, each paired with a crawl that asks failing archives first.

    Each crawl is compared with the one beside it, as the load of the machine varies. The last row of each kind has the
    median, least and greatest ratio of the pairs.
    """
    world = build("single", _SEED, size)
    with tempfile.TemporaryDirectory(prefix="aah-archives-") as name, ExitStack() as stack:
        folder = Path(name)
        served = list(stack.enter_context(pywb(write(world, folder), folder, programs)).values())
        silent, slow, lying = map(stack.enter_context, (silent_archive(), slow_archive(SLOW), lying_archive()))
        dead = [dead_archive(), silent]
        for well, failing in ((served[:1], [*dead, slow, lying]), (served, dead)):
            more: list[float] = []
            for number in range(PAIRS):
                others = ([], failing) if number % 2 else (failing, [])
                pair = {len(each): _crawled(world, [*each, *well], folder) for each in others}
                yield from ({"archives": len(well), "that_fail": n, **asdict(each)} for n, each in pair.items())
                more.append(pair[len(failing)].seconds / pair[0].seconds - 1)
            between = {"least": min(more), "greatest": max(more)}
            yield {"archives": len(well), "that_fail": len(failing), "more_time": median(more), **between}


def _crawled(world: DatedWorld, archives: Sequence[str], folder: Path) -> _Course:
    name = f"crawl-{sum(1 for _ in folder.glob('crawl-*.yaml'))}"
    path = _defined(world, archives, folder, name)
    began = monotonic()
    command = [executable, "-m", "aahcrawler.cli", "crawl", str(path)]
    subprocess.run(command, check=False, capture_output=True)  # Exit code 3: archives could not be asked.
    whole = monotonic() - began
    told = json.loads((folder / name / "crawl.json").read_text("utf-8"))
    nobody_has, untold = (told["error"].get(reason, 0) for reason in (NO_CAPTURE, SOURCES_UNAVAILABLE))
    return _Course(told["pages"], nobody_has, untold, told["source_requests"], told["seconds"], whole)


def _defined(world: DatedWorld, archives: Sequence[str], folder: Path, name: str) -> Path:
    definition(world, KLEIN, folder, "first-after-event")
    fields = yaml.safe_load((folder / "collection.yaml").read_text("utf-8"))
    mementos = [{"memento": {"timegate": each, "timemap": f"{each}timemap/link/"}} for each in archives]
    fields["captures"]["sources"] = mementos
    fields |= {
        "output": str(folder / name),
        "limits": {"pages": PAGES},
        "politeness": {"delay": DELAY},
        "network": {"allow_private": True},
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(fields, allow_unicode=True), "utf-8")
    return path


KINDS: Final[Sequence[Kind]] = ("recurring", "single")
CONFIGURATIONS: Final = (UNFOCUSED, CONTENT, TEMPORAL, BOTH, KLEIN, OURS, *EFFECTS)
DISTANCES: Final = (7, 2 * 365, 6 * 365, 8 * 365)
"""Days between the event and the crawls that are compared."""
RESAMPLES: Final = 2_000
MAX_BYTES: Final = 10_000_000
_PAIRS: Final = (
    ("temporal", "temporal, fixed decay"),
    ("both", "both, fixed decay"),
    ("content", "content, no keywords"),
    ("both", "both, no keywords"),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured: worlds of each kind, articles of a world, and pages of a crawl."""

    seeds: int
    size: int
    pages: int


def break_even(scores: Sequence[tuple[float, float]]) -> float | None:
    """Return precision and recall where they are equal, of scores with truths; None where nothing is relevant.

    >>> break_even([(0.9, 1.0), (0.8, 0.0), (0.2, 0.5)])
    0.5
    """
    ordered = sorted(scores, key=lambda each: -each[0])
    relevant = sum(truth >= PART for _, truth in ordered)
    return sum(truth >= PART for _, truth in ordered[:relevant]) / relevant if relevant else None


def world_rows(kind: Kind, seed: int, scale: Scale) -> list[Row]:
    """Return a row for each configuration on the world of a number, and for crawls at distances from the event."""
    world, read = build(kind, seed, scale.size), Reading()
    with tempfile.TemporaryDirectory(prefix="aah-collections-") as name:
        folder = Path(name)
        rows = [_row(world, configuration, folder, read, scale.pages) for configuration in CONFIGURATIONS]
        rows += _distances(world, folder, read, scale.pages)
    return [{"kind": kind, "seed": seed, **row} for row in rows]


def _row(world: DatedWorld, configuration: Configuration, folder: Path, read: Reading, pages: int) -> Row:
    icd = definition(world, configuration, folder, "first-after-event" if configuration is KLEIN else "auto")
    find = archived(world, choice_of(icd, world))
    held = scored(icd, captures_of(world, find), read)
    course = crawl(icd, find, read, pages)
    there = sum(truth >= PART for _, truth in held)
    return {
        "configuration": configuration.name,
        **measures(course, there),
        "break_even_held": None if configuration is UNFOCUSED else break_even(held),
    }


def measures(course: Course, there: int) -> Row:
    """Return the measures of a crawl; ``there`` is the number of relevant pages that could be had."""
    relevant = sum(each.relevance >= PART for each in course.fetched)
    return {
        "precision": relevant / max(1, len(course.fetched)),
        "recall": relevant / max(1, there),
        "break_even": break_even([(each.score, each.relevance) for each in course.fetched]),
        "accumulated": sum(each.relevance for each in course.fetched),
        "relevant": relevant,
        "considered": course.considered,
        "retrieval_rate": 1 - len(course.missing) / max(1, course.looked_up),
        "looked_up_a_relevant": course.looked_up / relevant if relevant else None,
    }


def _distances(world: DatedWorld, folder: Path, read: Reading, pages: int) -> Iterator[Row]:
    icd = definition(world, KLEIN, folder, "first-after-event")
    for days in DISTANCES:
        now = world.event.end + timedelta(days=days)
        for name, find in (("live", live(world, now)), ("archive", archived(world, choice_of(icd, world), now))):
            yield {
                "configuration": f"{name}, {days} days after",
                **measures(crawl(icd, find, read, pages), 0),
                "recall": None,
            }


def means(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the means over worlds, by kind and configuration; missing values are skipped."""
    for kind in KINDS:
        of_kind = [row for row in rows if row["kind"] == kind]
        for name in dict.fromkeys(row["configuration"] for row in of_kind):
            same = [row for row in of_kind if row["configuration"] == name]
            values = {key: _numbers(same, key) for key in same[0] if key not in ("kind", "seed", "configuration")}
            yield {"kind": kind, "configuration": name, "worlds": len(same)} | {
                key: fmean(found) if found else None for key, found in values.items()
            }


def _numbers(rows: Sequence[Row], key: str) -> list[float]:
    return [float(value) for row in rows if isinstance(value := row.get(key), int | float)]


def paired(rows: Sequence[Row], better: str, other: str, key: str) -> Iterator[Row]:
    """Yield by kind the mean difference in ``key`` between two configurations over the same worlds."""
    for kind in KINDS:
        by_seed: dict[object, dict[object, object]] = {}
        for row in rows:
            if row["kind"] == kind:
                by_seed.setdefault(row["seed"], {})[row["configuration"]] = row.get(key)
        found = [(each.get(better), each.get(other)) for each in by_seed.values()]
        differences = [a - b for a, b in found if isinstance(a, int | float) and isinstance(b, int | float)]
        if not differences:
            continue
        low, high = interval(differences)
        totals = [fmean(value for pair in found if isinstance(value := pair[at], int | float)) for at in (0, 1)]
        yield {
            "kind": kind,
            "measure": key,
            "of": better,
            "beside": other,
            "difference": fmean(differences),
            "low": low,
            "high": high,
            "ratio": totals[0] / totals[1] if totals[1] else None,
        }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of a mean by resampling; deterministic."""
    lot = Random(0)
    drawn = sorted(fmean(lot.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return drawn[RESAMPLES // 40], drawn[-1 - RESAMPLES // 40]


def cost_rows(size: int) -> Iterator[Row]:
    """Yield how many captures a second of one core are looked up, decoded, read and scored from WARC files."""
    world = build("recurring", 100, size)
    with tempfile.TemporaryDirectory(prefix="aah-collections-") as name:
        folder = Path(name)
        files = write(world, folder / "warc")
        icd = definition(world, OURS, folder)
        source = open_archives(
            "archives",
            [str(each) for each in files.values()],
            folder / "imports",
            choice_of(icd, world),
            lambda: datetime.now(UTC),
        )
        urls = list(dict.fromkeys(each.url for each in world.captures))
        began = process_time()
        exchanges = asyncio.run(_taken(source, urls))
        looked_up = process_time() - began
        began = process_time()
        pages = [page for each in exchanges if (page := replayed(each, MAX_BYTES)) is not None and page.status < 300]
        for each in exchanges:
            each.close()
        trees = [page.tree for page in pages]
        decoded = process_time() - began
        began = process_time()
        light = [(main_content(page), links(page)) for page in pages]
        text = process_time() - began
        read = Reading()
        captures = captures_of(world, archived(world, choice_of(icd, world)))
        documents = [read(each).document for each in captures]
        judges = analysers(icd, build_topic(icd, {}))
        began = process_time()
        for document in documents:
            for judge in judges:
                judge.analyse(document)
        score = process_time() - began
    assert len(trees) == len(light)
    stages = {
        "looked up and taken": looked_up / len(urls),
        "decoded and parsed": decoded / len(pages),
        "text and links": text / len(pages),
        "scored": score / len(documents),
    }
    understood = read.seconds / read.pages
    for stage, seconds in stages.items():
        yield {"stage": stage, "ms_a_capture": 1000 * seconds, "captures_a_second": 1 / seconds}
    whole = sum(stages.values())
    yield {"stage": "all of these", "ms_a_capture": 1000 * whole, "captures_a_second": 1 / whole}
    yield {
        "stage": "understood, objects and dates",
        "ms_a_capture": 1000 * understood,
        "captures_a_second": 1 / understood,
    }


async def _taken(source: Source, urls: Sequence[str]) -> Sequence[Exchange]:
    return [each for url in urls async for each in source.captures(url, Demand(MAX_BYTES))]


def measured(scale: Scale, processes: int, kept: Path | None) -> list[Row]:
    """Return the rows of all worlds.

    Those in the file ``kept`` are not measured again, and new ones are appended to it.
    """
    rows: list[Row] = []
    if kept is not None and kept.exists():
        rows = [json.loads(line) for line in kept.read_text("utf-8").splitlines()]
    known = {(row["kind"], row["seed"]) for row in rows}
    wanted = [(kind, seed) for seed in range(scale.seeds) for kind in KINDS if (kind, seed) not in known]
    with ProcessPoolExecutor(processes) as pool:
        kinds, seeds = [kind for kind, _ in wanted], [seed for _, seed in wanted]
        for number, found in enumerate(pool.map(world_rows, kinds, seeds, repeat(scale)), 1):
            rows += found
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.writelines(f"{json.dumps(row)}\n" for row in found)
            print(f"{number} of {len(wanted)} worlds", file=sys.stderr, flush=True)
    return rows


def tables(rows: Sequence[Row]) -> Mapping[str, Sequence[Row]]:
    """Return the tables of a measurement by their names."""
    goals = [
        row
        for own, name in ((OURS.name, CONTENT.name), (OURS.name, BOTH.name))
        for key in ("break_even_held", "break_even", "accumulated")
        for row in paired(rows, own, name, key)
    ]
    effects = [row for name, other in _PAIRS for row in paired(rows, name, other, "accumulated")]
    return {"configurations": list(means(rows)), "goals": goals, "effects": effects}


def main() -> int:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=None, metavar="FILE")
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="worlds of each kind")
    parser.add_argument("--size", type=int, default=600, metavar="N", help="articles of a world, about")
    parser.add_argument("--pages", type=int, default=150, metavar="N", help="pages that each crawl gets")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--quick", action="store_true", help="two small worlds of each kind")
    parser.add_argument("--failing", action="store_true", help="measure nothing but archives that fail")
    options = parser.parse_args()
    scale = Scale(2, 200, 40) if options.quick else Scale(options.seeds, options.size, options.pages)
    found: dict[str, Sequence[Row]] = {}
    if not options.failing:
        lines = options.json and options.json.with_suffix(f".{scale.size}-{scale.pages}.jsonl")
        found = {**tables(measured(scale, options.processes, lines)), "cost": list(cost_rows(scale.size))}
    try:
        failing = list(failing_rows(scale.size, environment()))
    except NotHadError as error:
        print(f"archives that fail were not measured: {error}", file=sys.stderr)
        failing = []
    for name, rows in {**found, "failing": failing}.items():
        report(rows, options.json and options.json.with_suffix(f".{name}.json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
