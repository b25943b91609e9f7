"""Installed applications to crawl with drafts."""

import shutil
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from aahcrawler.editor.drafting.level_plans import Given
from aahcrawler.helper.links.junk_urls import junk_reason
from aahcrawler.page import Headers, Page
from benchmarks.drafts.subject import LISTS, MEASURED, TYPICAL, KnownPage, links_of, spread, typical
from benchmarks.results import Cell
from benchmarks.site_pages import fresh
from benchmarks.software.installation import Application
from benchmarks.software.measuring import Plan, Site, crawl, keep, opened
from benchmarks.software.scorer import Described, local
from knowledge_base.file_selection import SHIPPED

KINDS: Final = {"spirit": "web-forum", "mezzanine": "blog", "eleventy": "blog", "askbot": "q-and-a"}
"""The kinds of the applications as a person would name them."""
_LOOKED_AT: Final = 40
"""Links of a front page that a person would follow to find out where the lists are."""
_CONTENTS, _LISTS = 6, 3
_WITHIN: Final = 60.0


@contextmanager
def opened_subject(application: Application, plan: Plan, folder: Path) -> Iterator["SoftwareSubject"]:
    """Install, fill and serve an application until the block ends. Raises ``InstallationError``."""
    application.install()
    folder.mkdir()
    with opened(application, plan, folder) as site:
        with application.serving(site.home, site.backend):
            seen = _Looked(site).pages()
        yield SoftwareSubject(site, *seen)


@dataclass(frozen=True)
class SoftwareSubject:
    """An application that no file describes: its site, its lists and its pages with content, as they were served."""

    site: Site
    lists: Sequence[Page]
    contents: Sequence[Page]

    @property
    def app(self) -> str:
        """The name of the application."""
        return self.site.application.name

    @property
    def theme(self) -> str:
        """Nothing: there is one theme alone."""
        return ""

    @property
    def kind(self) -> str:
        """The kind that a person would give it."""
        return KINDS[self.app]

    def knowledge_base(self, target: Path) -> Path:  # noqa: ARG002 - others have to make a folder
        """Return the folder that ships: it does not know the application."""
        return SHIPPED

    def given(self) -> Given:
        """Return two pages with content that the lists lead to, and two lists."""
        lists = self.lists[:LISTS]
        pages = {local(page.url): page for page in self.contents}
        listed = [address for page in reversed(lists) for address in links_of(page)]
        chosen = typical([*listed, *pages], Counter(local(each.url) for each in self.site.true.objects))
        return Given(tuple(fresh(pages[address]) for address in chosen), tuple(map(fresh, lists)))

    def known_pages(self) -> Sequence[KnownPage]:
        """Return pages with content, and lists."""
        shown = {local(page.url) for page in self.given().pages}
        pages = {local(page.url): page for page in (*self.contents, *self.lists) if local(page.url) not in shown}
        contents = [address for address in pages if address in self._truth]
        lists = [address for address in pages if address not in self._truth]
        chosen = [*spread(contents, _CONTENTS), *spread(lists, _LISTS)]
        return [self._known(pages[address]) for address in chosen]

    def crawled(
        self,
        knowledge_base: str,
        folder: Path,  # noqa: ARG002 - the site has a folder of its own
        kept: Path | None,
    ) -> Mapping[str, Cell]:
        """Crawl the site and score it as the benchmark of software does."""
        shutil.rmtree(self.site.crawled, ignore_errors=True)
        done = crawl(self.site, 1, knowledge_base=knowledge_base)
        known = done.known()
        if kept is not None:
            keep(self.site.crawled, kept, known, None)
        scored = done.row(known)
        return {name: scored[name] for name in MEASURED}

    @cached_property
    def _truth(self) -> Mapping[str, tuple[Described, ...]]:
        found: dict[str, list[Described]] = {}
        for each in self.site.true.objects:
            found.setdefault(local(each.url), []).append(each)
        return {address: tuple(shown) for address, shown in found.items()}

    def _known(self, page: Page) -> KnownPage:
        return KnownPage(fresh(page), self._truth.get(local(page.url), ()), frozenset(self._truth) & {*links_of(page)})


@dataclass(frozen=True)
class _Looked:
    """What somebody sees who follows the links of the front page, and of the lists found so."""

    site: Site

    def pages(self) -> tuple[Sequence[Page], Sequence[Page]]:
        """Return the lists, the front page first and then those with most content, and the pages with content."""
        objects = Counter(local(each.url) for each in self.site.true.objects)
        front = self._page("/")
        if front is None:
            return (), ()
        looked = [address for address in links_of(front) if address not in objects and not self._is_junk(address)]
        found = [page for page in map(self._page, looked[:_LOOKED_AT]) if page is not None and page.url != front.url]
        leading = {page.url: len(objects.keys() & {*links_of(page)}) for page in found}
        lists = [page for page in found if leading[page.url] >= TYPICAL]
        lists.sort(key=lambda page: -leading[page.url])
        unique = list({page.url: page for page in (front, *lists)}.values())
        return unique, [page for page in map(self._page, objects) if page is not None]

    def _is_junk(self, address: str) -> bool:
        return junk_reason(self.site.front.url.rstrip("/") + address) is not None

    def _page(self, address: str) -> Page | None:
        """Fetch a page as it is now; None where the answer is no page."""
        try:
            with urllib.request.urlopen(self.site.front.url.rstrip("/") + address, timeout=_WITHIN) as answer:
                page = Page(
                    answer.url, answer.status, Headers(tuple(answer.getheaders())), answer.read(), datetime.now(UTC)
                )
        except (urllib.error.URLError, ValueError):
            return None
        return page if page.is_html and page.status == 200 else None
