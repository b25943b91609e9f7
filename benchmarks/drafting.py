"""Measure what a first draft of an application's file, made from a few pages, reads of the whole site.

    python -m benchmarks.drafting SITES_DIR [--site app/theme] [--contents N] [--lists N] --json FILE

The draft is for this site only (``aah kb new --site``), so that it is recognised whatever else is known. It is made
from the pages with most objects and the first lists; its results on all recorded pages are scored like a crawl's.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from aahcrawler.editor.drafting.begin import Wish, begin
from aahcrawler.editor.drafting.draft import DraftError
from aahcrawler.editor.drafting.level_plans import Given
from aahcrawler.helper import ApplicationAwareHelper
from benchmarks.quick import SCORES, application_of, read, scores, wanted
from benchmarks.recorded import RecordedSite, find_sites, fresh, site_pages
from benchmarks.results import Row, report
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load

NAME = "Drafted"


def given(site: RecordedSite, contents: int, lists: int) -> Given:
    """Return the pages of a site with most objects, without duplicates in another form, and its first lists."""
    pages = {page.url: page for page in site_pages(site)}
    with (site.folder / "pages.jsonl").open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["url"] in pages and not row.get("dup_of")]
    full = sorted((row for row in rows if row["level"] == "terminal"), key=lambda row: (-row["objects"], row["url"]))
    listing = [row for row in rows if row["level"] == "intermediate"]
    first, second = ([fresh(pages[row["url"]]) for row in chosen] for chosen in (full[:contents], listing[:lists]))
    return Given(tuple(first), tuple(second))


def measure(site: RecordedSite, kind: str, pages: Given, folder: Path) -> Row:
    """Draft a file into a folder, and score what it reads of a site; without a draft, ``error`` says why."""
    asked: Row = {"site": site.name, "contents": len(pages.contents), "lists": len(pages.lists)}
    started = time.process_time()
    try:
        begun = begin(Wish(NAME, kind, site=True), pages, (folder,))
    except DraftError as error:
        return {**asked, "seconds": None, **dict.fromkeys(SCORES), "error": str(error)}
    seconds = time.process_time() - started
    helper = ApplicationAwareHelper(begun.knowledge_base)
    reading = read(wanted(site_pages(site), begun.knowledge_base.application(NAME)), helper.assist)
    return {**asked, "seconds": round(seconds, 2), **scores(site, reading), "error": None}


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, metavar="SITES_DIR")
    parser.add_argument("--site", action="append", metavar="app/theme", help="measure this one; may be repeated")
    parser.add_argument("--contents", type=int, default=1, metavar="N", help="pages with content (default: 1)")
    parser.add_argument("--lists", type=int, default=1, metavar="N", help="pages that list others (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    helper = ApplicationAwareHelper(load(SHIPPED))
    rows: list[Row] = []
    for site in find_sites(arguments.sites):
        application = application_of(site_pages(site), helper) if site.name in (arguments.site or [site.name]) else None
        if application is not None:
            pages = given(site, arguments.contents, arguments.lists)
            with tempfile.TemporaryDirectory(prefix="aah-drafting-") as folder:
                rows.append(measure(site, application.kind, pages, Path(folder)))
    report(rows, arguments.json)


if __name__ == "__main__":
    main()
