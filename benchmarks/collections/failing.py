"""Measures what archives that fail cost a crawl of several, over archives that pywb serves."""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Final

import yaml

from aahcrawler.crawl.fetch.sourced_captures import open_sources
from benchmarks.collections.archives import dead_archive, pywb, slow_archive
from benchmarks.collections.crawling import KLEIN, choice_of, definition
from benchmarks.collections.dated_world import DatedWorld, build, write
from benchmarks.results import Row
from online_analysis.icd import Icd

LOOK_UPS: Final = 300
_SEED: Final = 100


def failing_rows(size: int, programs: Path) -> Iterator[Row]:
    """Yield how long look-ups take in three archives, and in the same behind two that fail."""
    world = build("single", _SEED, size)
    with tempfile.TemporaryDirectory(prefix="aah-archives-") as name, ExitStack() as stack:
        folder = Path(name)
        served = stack.enter_context(pywb(write(world, folder), folder, programs))
        alive = list(served.values())
        failing = [dead_archive(), stack.enter_context(slow_archive())]
        plain = None
        for label, archives in (("three archives", alive), ("two that fail, and the three", [*failing, *alive])):
            found, seconds = asyncio.run(
                _looked_up(_icd(world, archives, folder), world, folder / label.replace(" ", "-"))
            )
            plain = plain or seconds
            yield {
                "archives": label,
                "looked_up": LOOK_UPS,
                "found": found,
                "seconds": seconds,
                "ms_a_look_up": 1000 * seconds / LOOK_UPS,
                "more_time": seconds / plain - 1,
            }


def _icd(world: DatedWorld, archives: Sequence[str], folder: Path) -> Icd:
    icd = definition(world, KLEIN, folder, "first-after-event")
    fields = yaml.safe_load((folder / "collection.yaml").read_text("utf-8"))
    mementos = [{"memento": {"timegate": each, "timemap": f"{each}timemap/link/"}} for each in archives]
    fields["captures"] = {"sources": mementos, "snapshot": icd.captures.snapshot}
    fields["politeness"] = {"delay": 0}
    fields["network"] = {"allow_private": True}
    path = folder / "archives.yaml"
    path.write_text(yaml.safe_dump(fields, allow_unicode=True), "utf-8")
    return Icd.load(path)


async def _looked_up(icd: Icd, world: DatedWorld, folder: Path) -> tuple[int, float]:
    """Return how many of the first URLs were found one after the other, and the seconds that took."""
    folder.mkdir()
    sources = open_sources(icd, folder, choice_of(icd, world))
    urls = list(dict.fromkeys(each.url for each in world.captures))[:LOOK_UPS]
    found, began = 0, monotonic()
    for url in urls:
        found += await sources.page(url, (*sources.preferred, *sources.others)) is not None
    seconds = monotonic() - began
    await sources.close()
    return found, seconds
