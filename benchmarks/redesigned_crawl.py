"""Crawls a recorded site over real HTTP in another theme than the knowledge base describes.

Without memory, the crawler only ever meets the new theme. With it, the known theme is crawled first, then the running
server switches to the new one, and the same definition is crawled again in the same folder.
"""

import gzip
import json
import os
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.layout import LEARNED, NQUADS, OBJECTS
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import page_rows
from aahcrawler.objects.writer import capture_of, graph_of
from aahcrawler.segments import Members, open_segment, segments
from benchmarks.process_memory import run
from benchmarks.recorded import RecordedSite, Served, score, start_site
from benchmarks.results import Cell
from benchmarks.sites import (
    ICD,
    KNOWLEDGE_BASE,
    LIMITED,
    MAX_PAGES_UNKNOWN,
    MAX_SECONDS,
    NETWORK,
    BenchmarkError,
    table,
)
from knowledge_base.loader import load

ADAPTATION = "AAH_ADAPTATION"
"""The environment variable that switches adaptation on (1) and off (0)."""

SCORES = ("recall", "precision", "title", "author", "date", "false_objects", "requests_per_needed_page")


@dataclass(frozen=True, slots=True)
class Redesign:
    """A site whose theme changes from ``before`` to ``after``, and the knowledge base that describes only ``before``.

    Without ``before``, nothing was crawled earlier. Both themes are neighbours in a folder of their own.
    """

    after: RecordedSite
    knowledge_base: Path
    adapts: bool
    before: RecordedSite | None = None


def beside(known: RecordedSite, after: RecordedSite, scripts: Path, folder: Path) -> tuple[RecordedSite, RecordedSite]:
    """Put two themes beside one another into a folder, as a server needs them; return them as placed there.

    They are served by the server and scorer in ``scripts``, or in the folder that contains it.
    """
    sites: list[RecordedSite] = []
    for site, theme in ((known, "before"), (after, "after")):
        place = folder / site.app / theme
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(site.folder.resolve())
        sites.append(RecordedSite(site.app, theme, place))
    for name in ("serve.py", "score.py"):
        found = next((place / name for place in (scripts, scripts.parent) if (place / name).is_file()), None)
        if found is not None:
            (folder / name).symlink_to(found.resolve())
    return sites[0], sites[1]


def measure(redesign: Redesign, folder: Path) -> dict[str, Cell]:
    """Crawl the new theme in ``folder``; return scores, requests, and how many pages repairs took."""
    folder.mkdir(parents=True)
    log, definition, output = folder / "requests.jsonl", folder / "icd.yaml", folder / "crawl"
    first = redesign.before or redesign.after
    with start_site(first, log=log, themes=True) as served:
        described = ICD.format(
            site=redesign.after.name, seed=served.url, network=NETWORK, output=json.dumps(str(output))
        )
        definition.write_text(described + LIMITED.format(pages=MAX_PAGES_UNKNOWN), "utf-8")
        crawl(definition, redesign)
        if redesign.before is not None:
            switch(served, redesign.after.theme)
            crawl(definition, redesign)
    if not redesign.adapts and any((output / LEARNED).glob("*.xml")):
        raise BenchmarkError(f"{redesign.after.name}: the crawl adapted although {ADAPTATION} is 0")
    return scores(redesign, folder, number=2 if redesign.before is not None else 1)


def crawl(definition: Path, redesign: Redesign) -> None:
    """Run ``aah crawl``. Raises ``BenchmarkError`` if it fails."""
    environment = dict(os.environ)
    environment[KNOWLEDGE_BASE] = str(redesign.knowledge_base)
    environment[ADAPTATION] = "1" if redesign.adapts else "0"
    finished = run([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], environment, MAX_SECONDS)
    if finished.code:
        raise BenchmarkError(f"{redesign.after.name}: the crawl ended with {finished.code}:\n{finished.output}")


def switch(served: Served, theme: str) -> None:
    """Make the server show another theme from now on."""
    request = urllib.request.Request(f"{served.control}__switch?theme={theme}", method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        response.read()


def scores(redesign: Redesign, folder: Path, number: int) -> dict[str, Cell]:
    """Return the scorer's results for one crawl of a folder."""
    crawled = folder / "crawl"
    rows = tuple(page_rows(crawled, number))
    own = only(crawled, {name for row in rows for name in (row.capture, row.unchanged) if name}, folder / "own")
    objects = table(own, "objects", folder / "objects.jsonl")
    pages = table(own, "pages", folder / "pages.jsonl")
    with (folder / "requests.jsonl").open(encoding="utf-8") as lines:
        shown = [line for line in lines if json.loads(line)["theme"] == redesign.after.theme]
    (own / "requests.jsonl").write_text("".join(shown), "utf-8")
    scored = score(redesign.after, objects, own / "requests.jsonl", pages)
    learned, _ = Overlay(crawled / LEARNED).actions(load(redesign.knowledge_base))
    taken = pages_to_repair(learned, rows)
    return {**{name: scored[name] for name in SCORES}, "pages_to_repair": max(taken.values(), default=None)}


def only(crawled: Path, captures: set[str], target: Path) -> Path:
    """Write all readings that a folder has of some captures to ``target``; return it.

    Objects of an earlier crawl that this one did not find must not count.
    """
    (target / OBJECTS).mkdir(parents=True)
    for path in segments(crawled / OBJECTS, NQUADS):
        with open_segment(path) as file, (target / OBJECTS / path.name).open("wb") as kept:
            members = Members(file)
            while members.end < members.size:
                lines = BytesIO(members.member())
                # Each reading stays a member of its own: that is how later readings are found.
                if own := b"".join(line for line in lines if capture_of(graph_of(line)) in captures):
                    kept.write(gzip.compress(own))
    return target


def pages_to_repair(learned: Sequence[LearnedAction], rows: Sequence[PageRow]) -> Mapping[tuple[str, str], int]:
    """Return, for each level and action, how many pages of the level were fetched from failure to repair.

    They are counted from the first to the last of the pages from which the action was first learned; on the first one
    it had failed. Actions learned in another crawl do not count.
    """
    places = {row.url: place for place, row in enumerate(rows)}
    ends: dict[tuple[str, str], int] = {}
    taken: dict[tuple[str, str], int] = {}
    for action in learned:
        found = [places[url] for url in action.pages if url in places]
        key = (action.level, action.action)
        if found and (key not in ends or max(found) < ends[key]):
            ends[key] = max(found)
            taken[key] = sum(row.level_name == action.level for row in rows[min(found) : max(found) + 1])
    return taken
