"""Measures how much of the lists on recorded sites the scored document keeps.

    python -m benchmarks.lists SITES_DIR [--only app/theme ...] [--unknown] [--pages N] [--worst N] --json FILE

The list pages that a crawl would fetch (``intermediate`` in the recording's pages.jsonl, at most N of a site, evenly
drawn) are read without a network. A page's own words are those of its lines that are on less than a quarter of the
site's pages: menus, sidebars and footers are the same everywhere. The columns:

- ``kept``: the share of the words that pages have for themselves which their documents keep, over all pages;
- ``median`` and ``lowest``: the same of single pages; ``scant`` are pages of which less than half is kept;
- ``beside``: the share of the words of documents, titles and sidebars apart, that are none of these;
- ``objects``: objects that were found on list pages;
- ``ms``: the median CPU time of reading one page, parsing included.

With ``--unknown`` the site's application is removed from the knowledge base: pages are read generically.
"""

import argparse
import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from lxml.html import HtmlElement

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.page import Page
from aahcrawler.page.text import plain_text
from benchmarks.page_reading import Seen, application_of, read, wanted
from benchmarks.recorded import RecordedSite, find_sites
from benchmarks.results import Cell, report
from benchmarks.site_pages import fresh, site_pages
from benchmarks.truth import words
from knowledge_base.loader import load
from knowledge_base.model import Application, KnowledgeBase

MOST_PAGES = 100
EVERYWHERE = 0.25
"""The share of a site's pages from which on a line on them is not their own."""
SCANT = 0.5


@dataclass(frozen=True, slots=True)
class Kept:
    """The words of one list page: ``own`` ones, how many of these its document keeps, and how many others it has."""

    seen: Seen
    own: int
    kept: int
    beside: int

    @property
    def share(self) -> float:
        """The share of its own words that is kept."""
        return self.kept / self.own


def compare(own: Iterable[str], seen: Seen) -> Kept:
    """Compare the lines that a page has for itself with its document."""
    document = seen.assistance.document
    shown = Counter(word for line in own for word in words(line))
    counted = Counter(words(document.text))
    speaking = (*(part.text for part in document.parts if part.role != "sidebar"), document.rest)
    spoken = Counter(word for text in speaking for word in words(text))
    return Kept(seen, shown.total(), (shown & counted).total(), (spoken - shown).total())


def lines_of(page: Page) -> Sequence[str]:
    """Return the lines of text that a page shows."""
    body = fresh(page).tree.find("body")
    return plain_text(body).split("\n") if isinstance(body, HtmlElement) else ()


def furniture(pages: Collection[Page]) -> frozenset[str]:
    """Return the lines that many of a site's pages show."""
    shown = Counter(line for page in pages for line in set(lines_of(page)))
    return frozenset(line for line, number in shown.items() if number >= EVERYWHERE * len(pages))


def lists_of(site: RecordedSite, pages: Sequence[Page], application: Application, most: int) -> Sequence[Page]:
    """Return the list pages that a crawl would fetch, some of them where there are many."""
    with (site.folder / "pages.jsonl").open(encoding="utf-8") as lines:
        lists = {row["url"] for row in map(json.loads, lines) if row["level"] == "intermediate"}
    return drawn([page for page in wanted(pages, application) if page.url in lists], most)


def drawn(pages: Sequence[Page], most: int) -> Sequence[Page]:
    """Return at most so many pages, at even distances."""
    return pages[:: -(-len(pages) // most)] if pages else pages


def measure(site: RecordedSite, known: KnowledgeBase, most: int, *, unknown: bool) -> Sequence[Kept]:
    """Read the list pages of a site and return the measures of each that has words of its own."""
    pages = [page for page in site_pages(site) if page.is_html]
    application = application_of(pages, ApplicationAwareHelper(known))
    if application is None:
        raise SystemExit(f"{site.name}: no application is recognised")
    if unknown:
        known = replace(known, applications=tuple(each for each in known.applications if each is not application))
    everywhere = furniture(drawn(pages, 3 * most))
    lists = lists_of(site, pages, application, most)
    own = [[line for line in lines_of(page) if line not in everywhere] for page in lists]
    found = map(compare, own, read(lists, ApplicationAwareHelper(known).assist).seen)
    return [each for each in found if each.own]


def row(site: RecordedSite, found: Sequence[Kept]) -> dict[str, Cell]:
    """Return a row of the benchmark."""
    shown_words = sum(each.kept + each.beside for each in found)
    return {
        "site": site.name,
        "pages": len(found),
        "kept": round(sum(each.kept for each in found) / sum(each.own for each in found), 3),
        "median": round(median(each.share for each in found), 3),
        "lowest": round(min(each.share for each in found), 3),
        "scant": sum(each.share < SCANT for each in found),
        "beside": round(sum(each.beside for each in found) / max(1, shown_words), 3),
        "objects": sum(len(each.seen.assistance.objects) for each in found),
        "ms": round(1000 * median(each.seen.seconds for each in found), 1),
    }


def described(each: Kept) -> str:
    """Return a line about a page: the share that is kept, and the level it was recognised as."""
    return f"{each.kept:6} of {each.own:5}  {level_of(each.seen.assistance):20} {each.seen.url}"


def level_of(assistance: Assistance) -> str:
    """Return the name of the level that a page was taken for."""
    match = assistance.match
    return "-" if match is None else match.level.name if match.level is not None else "?"


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, metavar="SITES_DIR")
    parser.add_argument("--only", nargs="+", default=[], metavar="app/theme", help="measure these sites alone")
    parser.add_argument("--unknown", action="store_true", help="read pages without the site's application")
    parser.add_argument("--pages", type=int, default=MOST_PAGES, metavar="N", help="at most so many lists of a site")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="name the pages of which least is kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    known = load()
    rows: list[dict[str, Cell]] = []
    for site in find_sites(arguments.sites):
        if arguments.only and site.name not in arguments.only:
            continue
        found = measure(site, known, arguments.pages, unknown=arguments.unknown)
        rows.append(row(site, found))
        for each in sorted(found, key=lambda each: each.share)[: arguments.worst]:
            print(described(each))
    report(rows, arguments.json)


if __name__ == "__main__":
    main()
