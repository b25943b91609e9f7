"""Measures which content of recorded sites a crawl can reach by the links that it follows.

    python -m benchmarks.reachability SITES_DIR [--only app/theme ...] [--seeds N] --json FILE

A focused crawl begins anywhere: at a post that somebody named, not at the front page. From each of N content pages by
lot, and from the front page, all pages are fetched to which links lead; without a network, as the site was recorded.
The columns:

- ``followed``: the share of the site's content pages that is reached by the links that the crawler follows, in the mean
  of the seeds;
- ``linked``: the share that is reached by all links in the markup, whatever they are of;
- ``front``: ``followed`` from the front page;
- ``requests``: pages fetched for each content page reached, by the links that the crawler follows.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from aahcrawler.urls import canonicalize, resolve
from benchmarks.recorded import RecordedSite, find_sites
from benchmarks.results import Cell, report
from benchmarks.site_pages import fresh, site_pages
from knowledge_base.loader import load

SEEDS = 10


@dataclass
class Site:
    """A recorded site by the URLs that the helper knows its pages by. ``content`` are its pages with objects."""

    helper: ApplicationAwareHelper
    pages: Mapping[str, Page]
    content: frozenset[str]
    front: str
    _followed: dict[str, Sequence[str]] = field(default_factory=dict)
    _linked: dict[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, recorded: RecordedSite, helper: ApplicationAwareHelper) -> "Site":
        """Read a recording; the front page first, so that the helper knows the application."""
        found = list(site_pages(recorded))
        front = json.loads((recorded.folder / "site.json").read_text("utf-8")).get("base", found[0].url)
        first = next((page for page in found if _plain(page.url) == _plain(front)), found[0])
        helper.assist(fresh(first))
        pages: dict[str, Page] = {}
        for page in found:
            pages.setdefault(_known(helper, page.url), page)
        with (recorded.folder / "pages.jsonl").open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        content = {_known(helper, row["url"]) for row in rows if row["objects"] and row["level"] == "terminal"}
        return cls(helper, pages, frozenset(content & pages.keys()), _known(helper, first.url))

    def followed(self, url: str) -> Sequence[str]:
        """Return the pages to which a page leads by the links that a crawl follows."""
        if url not in self._followed:
            found = self.helper.assist(fresh(self.pages[url])).document.outlinks
            self._followed[url] = [known for link in found if (known := _known(self.helper, link.url)) in self.pages]
        return self._followed[url]

    def linked(self, url: str) -> Sequence[str]:
        """Return the pages to which a page leads by any link in its markup."""
        if url not in self._linked:
            page = fresh(self.pages[url])
            targets = {resolve(page.base_url, str(href)) for href in page.tree.xpath("//a/@href | //area/@href")}
            known = (_known(self.helper, target) for target in targets if target is not None)
            self._linked[url] = [each for each in known if each in self.pages]
        return self._linked[url]


def _known(helper: ApplicationAwareHelper, url: str) -> str:
    return helper.canonical(canonicalize(url) or url)


def _plain(url: str) -> str:
    return url.partition("://")[2].rstrip("/")


def reached(seed: str, links: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """Return all pages to which links lead from one, itself among them.

    >>> sorted(reached("a", {"a": ["b"], "b": ["a", "c"], "c": []}.__getitem__))
    ['a', 'b', 'c']
    """
    found, waiting = {seed}, [seed]
    while waiting:
        new = set(links(waiting.pop())) - found
        found |= new
        waiting += sorted(new)
    return frozenset(found)


def measure(recorded: RecordedSite, helper: ApplicationAwareHelper, seeds: int) -> Mapping[str, Cell]:
    """Return the row of a site."""
    site = Site.of(recorded, helper)
    chosen = Random(recorded.name).sample(sorted(site.content), min(seeds, len(site.content)))
    by_crawl, by_markup = ([reached(seed, links) for seed in chosen] for links in (site.followed, site.linked))
    whole = max(1, len(site.content))
    return {
        "site": recorded.name,
        "content": len(site.content),
        "followed": fmean(len(found & site.content) / whole for found in by_crawl),
        "linked": fmean(len(found & site.content) / whole for found in by_markup),
        "front": len(reached(site.front, site.followed) & site.content) / whole,
        "requests": fmean(len(found) / max(1, len(found & site.content)) for found in by_crawl),
    }


def main() -> None:
    """Run the measurement from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, help="folder of recorded sites")
    parser.add_argument("--only", nargs="*", default=[], metavar="app/theme")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help="content pages by lot to begin at")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE")
    options = parser.parse_args()
    knowledge = load()
    chosen = [site for site in find_sites(options.sites) if not options.only or site.name in options.only]
    report([measure(site, ApplicationAwareHelper(knowledge), options.seeds) for site in chosen], options.json)


if __name__ == "__main__":
    main()
