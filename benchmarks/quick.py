"""The benchmark of adaptation in seconds: recorded pages are read in-process and scored as a crawl's are."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from benchmarks.reading import Reading, application_of, read, understood, wanted
from benchmarks.recorded import RecordedSite, score
from benchmarks.results import Cell
from benchmarks.site_pages import site_pages
from benchmarks.trimming import TrimmingError, trim
from knowledge_base.addresses import Address
from knowledge_base.loader import load
from knowledge_base.model import Application, KnowledgeBase

Former = Mapping[str, Metadata]
"""What an earlier crawl understood, by canonical address."""

SCORES = ("recall", "precision", "title", "author", "date", "false_objects")


@dataclass
class Known:
    """A site that the knowledge base knows, and what is left of the knowledge base when all else is dropped.

    ``folder`` is where the trimmed knowledge base is written.
    """

    site: RecordedSite
    folder: Path

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        """The recorded pages, none of them parsed."""
        return tuple(site_pages(self.site))

    @cached_property
    def application(self) -> Application:
        """The application of the site, as the whole knowledge base describes it."""
        found = application_of(self.pages, ApplicationAwareHelper(load()))
        if found is None:
            raise TrimmingError(f"{self.site.name}: no application is recognised, so nothing can be trimmed to it")
        return found

    @cached_property
    def trimmed(self) -> KnowledgeBase:
        """What the site uses of the knowledge base."""
        trim(self.pages, self.folder, needed=(self.application.name,))
        return load(self.folder)

    @cached_property
    def former(self) -> Former:
        """What a crawl of the site with the trimmed knowledge base understands of its pages."""
        reading = read(wanted(self.pages, self.application), ApplicationAwareHelper(self.trimmed).assist)
        return {self.address(seen.url): understood(seen.assistance) for seen in reading.seen}

    def address(self, url: str) -> str:
        """Return the canonical form of an address of the site."""
        return self.application.canonical(Address.parse(url)).url


def scores(site: RecordedSite, reading: Reading) -> dict[str, Cell]:
    """Return what the scorer says of the objects that were read on a site's pages."""
    with tempfile.TemporaryDirectory(prefix="aah-adaptation-") as name:
        objects, pages = reading.write(Path(name))
        scored = score(site, objects, pages=pages)
    return {name: scored[name] for name in SCORES}


def measure(known: Known, site: RecordedSite) -> dict[str, Cell]:
    """Read a site with what is left of the knowledge base; return scores and what a page costs in milliseconds."""
    pages = tuple(wanted(site_pages(site), known.application))
    reading = read(pages, ApplicationAwareHelper(known.trimmed).assist)
    return {**scores(site, reading), "ms_per_page_after": reading.milliseconds()}


def undamaged(known: Known, site: RecordedSite) -> float | None:
    """Return the milliseconds that a page of a site costs with the whole knowledge base."""
    return read(wanted(site_pages(site), known.application), ApplicationAwareHelper(load()).assist).milliseconds()
