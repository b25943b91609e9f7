"""Recorded sites to crawl with drafts."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from aahcrawler.editor.drafting.level_plans import Given
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.page import Page
from benchmarks.drafts.subject import LISTS, MEASURED, TYPICAL, KnownPage, links_of, spread, typical
from benchmarks.recorded import RecordedSite, Served, score
from benchmarks.results import Cell
from benchmarks.site_pages import fresh, site_pages
from benchmarks.sites import BenchmarkError, crawl, front_page, table, without_application
from benchmarks.software.scorer import FIELDS, Described, local
from knowledge_base.loader import load

_NO_LIST: Final = re.compile(r"search|author|member|special|archive\)|portal|recent|history|area")
"""Lists that nobody would show to say how a site lists its content."""
_CONTENTS, _LISTS = 6, 3


@dataclass(frozen=True)
class RecordedSubject:
    """A recorded site without the file of its application."""

    site: RecordedSite

    @property
    def app(self) -> str:
        """The name of the application."""
        return self.site.app

    @property
    def theme(self) -> str:
        """The name of the theme."""
        return self.site.theme

    @cached_property
    def kind(self) -> str:
        """The kind of the application that the knowledge base knows."""
        match = ApplicationAwareHelper(load()).assist(front_page(self.site)).match
        if match is None:
            raise BenchmarkError(f"{self.site.name}: no application is recognised, so none can be removed")
        return match.application.kind

    def knowledge_base(self, target: Path) -> Path:
        """Copy the knowledge base that ships without the application."""
        return without_application(self.site, target)

    def given(self) -> Given:
        """Return two pages of the most usual sort of content, and two lists: the front page and one more."""
        lists = self._chosen_lists()
        listed = [address for page in reversed(lists) for address in links_of(page)]
        counts = {local(url): row["objects"] for url, row in self._rows.items() if row["kind"] == self._usual}
        contents = typical([*listed, *counts], counts)
        return Given(tuple(fresh(self._pages[address]) for address in contents), tuple(map(fresh, lists)))

    def known_pages(self) -> Sequence[KnownPage]:
        """Return pages with content of every kind, and lists."""
        shown = {local(page.url) for page in self.given().pages}
        rows = {local(url): row for url, row in self._rows.items() if local(url) not in shown}
        contents = [address for address, row in rows.items() if row["level"] == "terminal" and row["objects"]]
        lists = [address for address, row in rows.items() if self._is_list(row)]
        chosen = [*spread(contents, _CONTENTS), *spread(lists, _LISTS)]
        return [self._known(self._pages[address]) for address in chosen]

    def crawled(self, knowledge_base: str, folder: Path, kept: Path | None) -> Mapping[str, Cell]:
        """Crawl the site and score it by the scorer of recorded sites."""
        folder.mkdir(parents=True)

        def files(served: Served) -> str:
            """Put the address of the server in place of the recorded one: a draft may be for one site alone."""
            recorded = front_page(self.site).url.split("/")[2]
            for file in Path(knowledge_base.rpartition(":")[2]).glob("applications/*.xml"):
                text = file.read_text("utf-8")
                file.write_text(text.replace(f'host="{recorded}"', f'host="127.0.0.1:{served.port}"'), "utf-8")
            return knowledge_base

        _, requests = crawl(self.site, folder, unknown=True, files=files)
        crawled = folder / "crawl"
        objects = table(crawled, "objects", folder / "objects.jsonl")
        pages = table(crawled, "pages", folder / "pages.jsonl")
        scored = score(self.site, objects, requests, pages)
        if kept is not None:
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, symlinks=True)
        return {name: scored[name] for name in MEASURED}

    @cached_property
    def _pages(self) -> Mapping[str, Page]:
        return {local(page.url): page for page in site_pages(self.site) if page.is_html}

    @cached_property
    def _all_rows(self) -> Mapping[str, Mapping[str, Any]]:
        return {row["url"]: row for row in _lines(self.site.folder / "pages.jsonl")}

    @cached_property
    def _rows(self) -> Mapping[str, Mapping[str, Any]]:
        """What is known of each recorded page that repeats no other one, by its URL."""
        rows = self._all_rows.items()
        return {url: row for url, row in rows if local(url) in self._pages and not row.get("dup_of")}

    @cached_property
    def _usual(self) -> str:
        """The kind of the pages that hold what the site is about: of those that show objects of the first kind."""
        rows = _lines(self.site.folder / "truth.jsonl")
        first = (row["url"] for row in rows if row.get("kind") == rows[0].get("kind"))
        kinds = Counter(str(self._rows[url]["kind"]) for url in first if url in self._rows)
        return kinds.most_common(1)[0][0]

    @cached_property
    def _truth(self) -> Mapping[str, tuple[Described, ...]]:
        found: dict[str, list[Described]] = {}
        for row in _lines(self.site.folder / "truth.jsonl"):
            shown = row.get("shown", {})
            hidden = tuple(name for name in FIELDS if not shown.get(name))
            fields: dict[str, Any] = {name: row.get(name) for name in FIELDS}
            one = Described(row["id"], row["url"], row["body"], **fields, hidden=hidden)
            found.setdefault(local(row["url"]), []).append(one)
        return {address: tuple(each) for address, each in found.items()}

    def _chosen_lists(self) -> list[Page]:
        front = front_page(self.site)
        chosen = [front]
        wanted = {local(url) for url, row in self._rows.items() if row["kind"] == self._usual}
        for url, row in self._rows.items():
            page = self._pages[local(url)]
            is_new = row["kind"] != self._all_rows.get(front.url, {}).get("kind")
            if is_new and self._is_list(row) and len(wanted.intersection(links_of(page))) >= TYPICAL:
                chosen.append(page)
                if len(chosen) == LISTS:
                    break
        return chosen

    def _is_list(self, row: Mapping[str, Any]) -> bool:
        return row["level"] == "intermediate" and _NO_LIST.search(row["kind"]) is None

    def _known(self, page: Page) -> KnownPage:
        worth, junk = set(), set()
        rows = {local(url): row for url, row in self._all_rows.items()}
        for address in links_of(page):
            row = rows.get(address)
            if row is not None and (row.get("dup_of") or row["level"] == "other"):
                junk.add(address)
            elif row is not None and (row["objects"] or self._is_list(row)):
                worth.add(address)
        return KnownPage(fresh(page), self._truth.get(local(page.url), ()), frozenset(worth), frozenset(junk))


def _lines(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
