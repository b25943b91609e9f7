"""Measures what archives that fail cost a crawl of several, over archives that pywb serves."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from sys import executable
from time import monotonic
from typing import Final

import yaml

from aahcrawler.tallies import NO_CAPTURE, SOURCES_UNAVAILABLE
from benchmarks.collections.archives import dead_archive, lying_archive, pywb, silent_archive, slow_archive
from benchmarks.collections.crawling import KLEIN, definition
from benchmarks.collections.dated_world import DatedWorld, build, write
from benchmarks.results import Row

PAGES: Final = 300
"""Pages of a crawl."""
DELAY: Final = 0.1
"""Seconds between two requests to an archive: with none, a crawl would be too short to tell anything."""
SLOW: Final = 3.0
"""Seconds that the slow archive takes for an answer."""
PAIRS: Final = 5
"""Crawls with archives that fail and without, of each kind: the median lies within five with 94 %."""
_SEED: Final = 100


@dataclass(frozen=True, slots=True)
class _Course:
    """A crawl: pages that it got, URLs that nobody has, and URLs that could not be looked up everywhere."""

    pages: int
    nobody_has: int
    not_looked_up_everywhere: int
    requests: int
    seconds: float
    """Of the crawl, as it tells itself."""
    whole_seconds: float
    """With start, index and report."""


def failing_rows(size: int, programs: Path) -> Iterator[Row]:
    """Yield how long crawls take of archives that are well, and of the same behind others that fail, in pairs.

    What the machine does meanwhile changes that, so that each crawl is compared with the one beside it. The last row of
    each kind has the median of the pairs, between the least and the greatest of them.
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
                yield from (_row(course, len(well), count) for count, course in pair.items())
                more.append(pair[len(failing)].seconds / pair[0].seconds - 1)
            between = {"least": min(more), "greatest": max(more)}
            yield {"archives": len(well), "that_fail": len(failing), "more_time": median(more), **between}


def _row(course: _Course, well: int, failing: int) -> Row:
    return {"archives": well, "that_fail": failing, **asdict(course)}


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
