"""Measures the cost of recognising a page, by the number of known applications.

    python -m benchmarks.knowledge_base [SITES_DIR] --json FILE

Pages are HTML answers of the recorded sites in SITES_DIR (default: those in ``../shared/sites``), the same number of
each site, drawn by a fixed seed. The knowledge bases hold the shipped applications, those of the pages first, and then
mutants: the signs of a shipped application with letters replaced in the words of its attribute values, names of
generators, URLs and paths. None is keyed by a host.

All figures are processor time, in milliseconds a page. Everything is measured in the same run. The knowledge bases
take turns after every ``BLOCK`` pages, in an order that rotates; these are parsed, then recognised, then verified. Of
several rounds the median counts for each page, then the mean over pages.

- ``ms_per_page``: recognising the application of a page of an unknown host. The tree is there already;
  everything else, such as lower-casing, is paid for.
- ``known_host_ms_per_page``: the same on a site whose application is remembered: the evidence is verified, and where
  the page does not show it, it is recognised anew. Only pages whose application is known count.
- ``parse_ms_per_page``: from bytes to the tree.
- ``naive_ms_per_page``: a loop over the compiled expressions and all other signs of all applications, on the tree. It
  is measured once, on ``naive_pages`` pages that represent all sizes.
- ``build_seconds`` and ``build_mib``: building the detector of a loaded knowledge base, and its memory.
"""

import argparse
import gc
import json
import random
import resource
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from time import process_time

from aahcrawler.helper.site_memory.sites import Sites
from aahcrawler.page import Headers, Page
from benchmarks.mutants import Mutants, detection_only
from benchmarks.recorded import RecordedSite, find_sites, recorded_sites
from benchmarks.results import Cell, report
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load, load_files
from knowledge_base.matching import Detection, Detector, Sight, still_holds
from knowledge_base.model import KnowledgeBase

SEED = 20140630
PAGES = 300
ROUNDS = 5
BLOCK = 20
SIZES = (10, 100, 1000, 2000, 5000)
NAIVE_BUDGET = 12_000
"""Applications times pages that the naive loop goes through for each size."""
FETCHED = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sample:
    """A page that can be had anew, unparsed."""

    url: str
    fields: tuple[tuple[str, str], ...]
    body: bytes

    def page(self) -> Page:
        """Return the page, unparsed."""
        return Page(self.url, 200, Headers(self.fields), self.body, FETCHED)


@dataclass(slots=True)
class Subject:
    """One knowledge base under measurement; times are in seconds, by page."""

    knowledge_base: KnowledgeBase
    detector: Detector
    build_seconds: float
    build_mib: float
    sites: Sites = field(default_factory=Sites)
    fresh: list[list[float]] = field(default_factory=list)
    known: list[list[float]] = field(default_factory=list)
    naive: list[float] = field(default_factory=list)

    def recognise_known(self, page: Page) -> Detection:
        """Recognise a page as a crawl does that has seen the site."""
        known = self.sites.recall(page.url)
        if known is not None and still_holds(page, known[1]):
            return Detection(*known)
        detection = self.detector.detect(page)
        if detection.application is not None:
            self.sites.remember(page.url, detection.application, detection.evidence)
        return detection

    def recognise_naively(self, page: Page) -> int:
        """Evaluate every sign of every application; return how many the page shows."""
        sight, tree, shown = Sight(page), page.tree, 0
        for application in self.knowledge_base.applications:
            for pattern in application.patterns:
                found = pattern.selector.xpath(tree) if pattern.selector is not None else sight.shows(pattern)
                shown += bool(found)
        return shown


def html_pages(site: RecordedSite, most: int, chance: random.Random) -> list[Sample]:
    """Draw pages of a recorded site among those in HTML that were answered in good order."""
    with (site.folder / "index.jsonl").open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["status"] == 200 and row.get("file")]
    html = [row for row in rows if (row["content_type"] or "").startswith("text/html")]
    drawn = chance.sample(html, min(len(html), most))
    return [
        Sample(
            row["url"],
            (*((name, value) for name, value in row["headers"]), ("Content-Type", row["content_type"])),
            (site.folder / row["file"]).read_bytes(),
        )
        for row in drawn
    ]


def sample(sites: Sequence[RecordedSite], chance: random.Random) -> list[Sample]:
    """Draw ``PAGES`` pages, equally many of each site where it has so many."""
    drawn = [page for site in sites for page in html_pages(site, -(-PAGES // len(sites)), chance)]
    chance.shuffle(drawn)
    return drawn[:PAGES]


def knowledge_bases(pages: Sequence[Sample], folder: Path, chance: random.Random) -> Iterator[KnowledgeBase]:
    """Yield a knowledge base for each of ``SIZES``, each with all that is in the one before."""
    shipped = load()
    detector = Detector(shipped)
    of_pages = {found.name for page in pages if (found := detector.detect(page.page()).application) is not None}
    known = sorted((app for app in shipped.applications if not app.hosts), key=lambda app: app.name not in of_pages)
    sources = detection_only(sorted((SHIPPED / "applications").glob("*.xml")), [app.name for app in known])
    mutants = Mutants(sources, chance)
    files: list[Path] = []
    for number in range(SIZES[-1]):
        files.append(folder / f"{number}.xml")
        files[-1].write_bytes(sources[number] if number < len(sources) else mutants.next(f"Mutant {number}"))
    kinds = sorted((SHIPPED / "kinds").glob("*.xml"))
    for size in SIZES:
        yield load_files(kinds, files[:size])


def subject(knowledge_base: KnowledgeBase) -> Subject:
    """Build the detector of a knowledge base."""
    gc.collect()
    memory, started = resident_mib(), process_time()
    detector = Detector(knowledge_base)
    return Subject(knowledge_base, detector, process_time() - started, resident_mib() - memory)


def resident_mib() -> float:
    """Return the memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def timed(work: Callable[[Page], object], page: Page) -> float:
    """Return the seconds of the processor that some work on a page takes."""
    started = process_time()
    work(page)
    return process_time() - started


def run(pages: Sequence[Sample], subjects: Sequence[Subject]) -> list[list[float]]:
    """Measure all rounds; times go into the subjects, and those of parsing are returned by page."""
    parsing: list[list[float]] = [[] for _ in pages]
    for it in subjects:
        it.fresh = [[] for _ in pages]
        it.known = [[] for _ in pages]
    for turn in range(ROUNDS + 1):
        for first in range(0, len(pages), BLOCK):
            shift = (turn + first // BLOCK) % len(subjects)
            block = range(first, min(first + BLOCK, len(pages)))
            for it in (*subjects[shift:], *subjects[:shift]):
                parsed = {number: pages[number].page() for number in block}
                parse = [timed(lambda page: page.tree, page) for page in parsed.values()]
                fresh = [timed(it.detector.detect, page) for page in parsed.values()]
                for number, page in parsed.items():
                    is_known = it.sites.application(page.url) is not None
                    known = timed(it.recognise_known, page)
                    if turn:  # The first round fills caches and memories.
                        parsing[number].append(parse[number - first])
                        it.fresh[number].append(fresh[number - first])
                        it.known[number] += [known] if is_known else []
    return parsing


def run_naively(pages: Sequence[Sample], it: Subject) -> None:
    """Measure the naive loop on pages that stand for all sizes."""
    by_size = sorted(pages, key=lambda page: len(page.body))
    count = max(3, min(len(pages), NAIVE_BUDGET // len(it.knowledge_base.applications)))
    for number in range(count):
        page = by_size[(2 * number + 1) * len(pages) // (2 * count)].page()
        page.tree  # noqa: B018 - parsing is measured apart
        it.naive.append(timed(it.recognise_naively, page))


def milliseconds(times: Sequence[Sequence[float]]) -> float:
    """Return the mean over pages of the median over rounds."""
    return 1000 * fmean(median(rounds) for rounds in times if rounds)


def row(it: Subject, parsing: Sequence[Sequence[float]]) -> Mapping[str, Cell]:
    """Return the measures of one knowledge base."""
    fresh, naive = milliseconds(it.fresh), 1000 * fmean(it.naive)
    return {
        "applications": len(it.knowledge_base.applications),
        "ms_per_page": fresh,
        "naive_ms_per_page": naive,
        "parse_ms_per_page": milliseconds(parsing),
        "known_host_ms_per_page": milliseconds(it.known),
        "times_faster": naive / fresh,
        "pages": len(it.fresh),
        "naive_pages": len(it.naive),
        "build_seconds": it.build_seconds,
        "build_mib": it.build_mib,
    }


def measure(sites: Sequence[RecordedSite]) -> list[Mapping[str, Cell]]:
    """Return a row for each of ``SIZES``."""
    chance = random.Random(SEED)
    pages = sample(sites, chance)
    with tempfile.TemporaryDirectory(prefix="aah-mutants-") as folder:
        subjects = [subject(known) for known in knowledge_bases(pages, Path(folder), chance)]
    parsing = run(pages, subjects)
    for it in subjects:
        run_naively(pages, it)
    return [row(it, parsing) for it in subjects]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, nargs="?", metavar="SITES_DIR", help="default: the recorded sites")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    sites = find_sites(arguments.sites) if arguments.sites else recorded_sites()
    if not sites:
        parser.error(f"there are no unpacked sites under {arguments.sites}, such as {arguments.sites}/app/theme")
    report(measure(sites), arguments.json)


if __name__ == "__main__":
    main()
