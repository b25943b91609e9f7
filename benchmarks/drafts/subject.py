"""A site to crawl with a draft, whatever it is: what a person sees of it, and how a crawl of it is scored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from aahcrawler.editor.drafting.level_plans import Given
from aahcrawler.page import Page, generic
from benchmarks.results import Cell
from benchmarks.software.scorer import Described, local

MEASURED: Final = ("recall", "precision", "title", "author", "date", "requests_per_needed_page")
CONTENTS: Final = 2
"""Pages with content that a draft is made from."""
LISTS: Final = 2
"""Pages that list others that a draft is made from."""
TYPICAL: Final = 3
"""Objects on a page, or links to content on a list, with which it is one that a person would show."""


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page with what is known of it.

    ``objects`` are the true ones that it shows, ``leads_to`` and ``junk`` the addresses, without host, among its links
    that are known to be worth a request and known not to be.
    """

    page: Page
    objects: tuple[Described, ...]
    leads_to: frozenset[str] = frozenset()
    junk: frozenset[str] = frozenset()


class Subject(Protocol):
    """A site whose application no file describes, once its own is removed."""

    @property
    def app(self) -> str:
        """The name of the application."""

    @property
    def theme(self) -> str:
        """The name of the theme, empty where there is one alone."""

    @property
    def kind(self) -> str:
        """The kind of the application, as files of the knowledge base name it."""

    def knowledge_base(self, target: Path) -> Path:
        """Return a folder with the knowledge base without the application; ``target`` is a folder to make for it."""

    def given(self) -> Given:
        """Return the pages that a person would choose by looking."""

    def known_pages(self) -> Sequence[KnownPage]:
        """Return a sample of pages, other than those of `given`, of which the truth is known."""

    def crawled(self, knowledge_base: str, folder: Path, kept: Path | None) -> Mapping[str, Cell]:
        """Crawl the site with the folders of a knowledge base; return `MEASURED`.

        ``folder`` is for this crawl alone; ``kept`` receives the crawl and its mistakes.
        """


def links_of(page: Page) -> list[str]:
    """Return the addresses, without host, that a page links to, each once, in their order."""
    here = page.url.split("/")[2]
    return list(dict.fromkeys(local(link.url) for link in generic.links(page) if link.url.split("/")[2] == here))


def typical(listed: Sequence[str], objects: Mapping[str, int]) -> list[str]:
    """Choose `CONTENTS` of the pages that lists lead to: the fullest of the first, and the first that shows enough.

    ``objects`` are the numbers of objects by address.
    """
    seen = [address for address in dict.fromkeys(listed) if objects.get(address)]
    fullest = max(seen[:20], key=lambda address: objects[address], default=None)
    rest = [address for address in seen if address != fullest]
    enough = [address for address in rest if objects[address] >= TYPICAL] or rest
    return [address for address in (fullest, *enough[: CONTENTS - 1]) if address is not None]


def spread(found: Sequence[str], most: int) -> list[str]:
    """Return so many of some addresses at most, taken evenly.

    >>> spread("abcdef", 3)
    ['a', 'c', 'e']
    """
    step = max(1, len(found) // most)
    return list(found[::step][:most])
