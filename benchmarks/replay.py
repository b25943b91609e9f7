"""Measures how many web objects of recorded sites the replay finds on their pages, and how fast pages are shown.

    python -m benchmarks.replay [--only APP/THEME ...] --json FILE

Each site is crawled, and every capture that has objects is shown as the cockpit shows it: outlined, links coloured.

- ``outlined`` is the share of objects whose element was found. ``wrong`` counts outlined elements that lack a tenth of
  the words of their object or more, or that hold the whole text of a longer one besides: none may.
- ``links`` is the share of links with a score in the log that are coloured, on the pages that have them.
- ``p50_ms`` and ``p99_ms`` are of showing a page, in this process.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

from lxml import html
from lxml.html import HtmlElement

from aahcrawler.page.text import bare
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.object_finding import ShownObject
from aahcrawler.replay.recorded_answers import RecordedAnswer
from aahcrawler.replay.replayed_captures import Annotations, ReplayedCaptures
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.reach import Reach
from aahcrawler.service.cockpit.captured_pages import replay_path
from aahcrawler.service.cockpit.replay_marks import ReplayMarks
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.views.page_list import PageFilter, PageShown, page_list
from benchmarks.recorded import RecordedSite, recorded_sites
from benchmarks.results import Row, report
from benchmarks.sites import crawl

_AT_ONCE = 500


@dataclass(slots=True)
class Marked:
    """What was marked on the pages of a site."""

    objects: int = 0
    outlined: int = 0
    wrong: int = 0
    scored: int = 0
    coloured: int = 0
    seconds: list[float] = field(default_factory=list)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", metavar="APP/THEME", help="these sites alone")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sites = [site for site in recorded_sites() if not given.only or site.name in given.only]
    report([measure(site) for site in sites], given.json)


def measure(site: RecordedSite) -> Row:
    """Return the row of a site."""
    with tempfile.TemporaryDirectory(prefix="aah-replay-") as name:
        crawl(site, Path(name))
        folder = Path(name) / "crawl"
        instruments = Instruments.of(Reach.of(Catalog([folder]), None))
        try:
            marked = shown(folder, instruments)
        finally:
            instruments.close()
    cuts = quantiles(marked.seconds, n=100) if len(marked.seconds) > 1 else [0.0] * 99
    return {
        "site": site.name,
        "pages": len(marked.seconds),
        "objects": marked.objects,
        "outlined": marked.outlined / marked.objects if marked.objects else None,
        "wrong": marked.wrong,
        "links": marked.coloured / marked.scored if marked.scored else None,
        "p50_ms": cuts[49] * 1000,
        "p99_ms": cuts[98] * 1000,
    }


def shown(folder: Path, instruments: Instruments) -> Marked:
    """Show every capture of a crawl that has objects, and count what is marked."""
    (found,) = instruments.reach.crawls()
    marks, said = ReplayMarks(instruments), Annotations()

    def annotate(name: str, answer: RecordedAnswer) -> Annotations | None:
        nonlocal said
        said = marks(name, answer) or Annotations()
        return said

    captures, marked = ReplayedCaptures(folder, annotate), Marked()
    for page in list(pages_of(instruments, found.id)):
        path = replay_path(found.id, page, Modifier.BOTH)
        address = Address.parse(*_parted(path))
        assert address is not None, path
        began = time.perf_counter()
        answer = captures.show(address)
        marked.seconds.append(time.perf_counter() - began)
        assert isinstance(answer.body, bytes), path
        count(marked, said, answer.found, html.fromstring(answer.body.decode()))
    return marked


def pages_of(instruments: Instruments, crawl_id: str) -> Iterator[PageShown]:
    """Yield the captures that have objects."""
    crawled, after = instruments.reach.crawl(crawl_id), ""
    for _ in range(1000):
        with instruments.indexes.asked(crawled) as index:
            listed = page_list(index, PageFilter(), after, _AT_ONCE)
        if not listed.progress.complete:
            time.sleep(0.1)
            continue
        yield from (page for page in listed.pages if page.objects and page.status == 200)
        if listed.next is None:
            return
        after = listed.next


def count(marked: Marked, said: Annotations, found: frozenset[int], page: HtmlElement) -> None:
    """Count what was to be marked on a page, and what was."""
    marked.objects += len(said.objects)
    marked.outlined += len(found)
    marked.wrong += sum(not is_right(each, said.objects, page) for each in said.objects if each.number in found)
    titles = [str(each) for each in page.xpath("//a/@title") if str(each).startswith("score ")]
    if titles:
        marked.scored += len(said.link_scores)
        marked.coloured += min(len(titles), len(said.link_scores))


def is_right(each: ShownObject, every: Sequence[ShownObject], page: HtmlElement) -> bool:
    """Return whether the outlined element of an object holds its text, and the whole of no other one's."""
    labels = page.xpath(f"//*[@id='aah-object-{each.number}']")
    outlined = next(
        (up for up in (labels[0], *labels[0].iterancestors()) if "outline:3px" in up.get("style", "")), None
    )
    if outlined is None:
        outlined = labels[0].getnext()
    text = bare("".join(outlined.itertext())) if outlined is not None else ""
    others = (other for other in every if other.number != each.number and len(other.words) > len(each.words))
    words = [bare(word) for word in (each.body or each.title).split()]
    lacking = sum(word not in text for word in words)
    return lacking * 10 < max(len(words), 1) and not any(other.words in text for other in others)


def _parted(path: str) -> tuple[str, str]:
    before, _, query = path.partition("?")
    return before, query


if __name__ == "__main__":
    main()
