"""Saved pages of other software, on which a sign must not be."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

from lxml.etree import XPathError

from aahcrawler.authoring.saved_pages import SavedPageError, read_page
from aahcrawler.page import Page
from knowledge_base.matching import literals_of
from knowledge_base.selectors import Selector, SourceLiterals

MOST_SAVED = 2_000
"""Saved pages that are looked at."""


@dataclass(frozen=True)
class OtherPage:
    """A saved page by its name, such as ``phpbb/thread``."""

    name: str
    page: Page

    @cached_property
    def literals(self) -> SourceLiterals:
        """What tells which expressions cannot find anything on it."""
        return literals_of(self.page)


class OtherSoftware:
    """The saved pages of the knowledge base's applications; read when they are first asked for, and kept.

    Several threads may use it at once.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        """Take the folders of saved pages, each with a folder for each application."""
        self._folders = tuple(folders)
        self._pages: tuple[OtherPage, ...] | None = None
        self._lock = Lock()

    def showing(self, selector: Selector, but: str = "") -> Iterator[str]:
        """Yield the names of the saved pages on which an expression finds anything, those of one application left out.

        ``but`` is the name of that application's folder.
        """
        for other in self._read():
            if other.name.partition("/")[0] == but:
                continue
            narrowed = other.literals.narrow(selector)
            if narrowed is not None and _shows(narrowed, other.page):
                yield other.name

    def _read(self) -> tuple[OtherPage, ...]:
        with self._lock:
            if self._pages is None:
                self._pages = tuple(self._found())
            return self._pages

    def _found(self) -> Iterator[OtherPage]:
        files = [file for folder in self._folders for file in sorted(folder.glob("*/*.html"))]
        for file in files[:MOST_SAVED]:
            try:
                saved = read_page(file)
            except SavedPageError:
                continue
            yield OtherPage(saved.name, saved.page)


def _shows(selector: Selector, page: Page) -> bool:
    try:
        return selector.shows(page.tree, page.elements)
    except XPathError:
        return False
