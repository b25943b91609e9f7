"""Takes pages that show no sign of their application or of their level for what their address says that they are."""

from dataclasses import dataclass

from aahcrawler.adaptation.cases import Patience
from aahcrawler.adaptation.noticing import PageText, body_of
from aahcrawler.adaptation.recent import Recent
from aahcrawler.helper.sites import site_of
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from knowledge_base.addresses import Address
from knowledge_base.model import Application, PageLevel

MOST_SITES = 4_000
ROW = 3
"""Pages in a row without any sign after which an address that could be anything's is believed."""
MOST_PROBED = 6
NOWHERE = "aah-nowhere/aah-4f1c9.aah"
"""A path that no application documents, unless it documents every path."""


@dataclass(slots=True)
class _Row:
    """How many pages of a site in a row showed no sign of its application."""

    pages: int = 0


class Presumption:
    """What is presumed of sites; a few numbers for each, the least recently met forgotten first.

    Presuming is cheap to be wrong about: a page that holds nothing of what its level should is read as what it shows.
    """

    def __init__(self) -> None:
        self._unsigned: Recent[str, _Row] = Recent(MOST_SITES)
        self._patience: Recent[tuple[str, str, str], Patience] = Recent(MOST_SITES)

    def application(self, page: Page, known: Application | None, former: Metadata | None) -> str | None:
        """Return the application of a page that shows no sign of any.

        It is the one that a former crawl saw at this address, else the one that its site was known for, if that
        documents the address. One that documents all addresses must have been missed for some pages in a row.
        """
        if former is not None and former.application is not None:
            return former.application
        if known is None:
            return None
        row = self._unsigned.get(site_of(page.url), _Row)
        row.pages += 1
        level = documented(known, page.url)
        return known.name if level is not None and (is_telling(level, page.url) or row.pages >= ROW) else None

    def level(
        self, page: Page, application: Application, shown: PageLevel | None, former: Metadata | None
    ) -> PageLevel | None:
        """Return the level of a page: the one that it shows, unless a former crawl knew better, else a presumed one."""
        self._unsigned.forget(site_of(page.url))
        before = _former_level(application, former)
        if before is not None and before is not shown and (shown is None or _still_holds(page, former)):
            return before
        if shown is not None:
            return shown
        level = documented(application, page.url)
        if level is None or not self._of(page, application, level).allows():
            return None
        # Until it turns out to hold what it should, it is counted as one that does not.
        self._of(page, application, level).failed()
        return level

    def confirm(self, page: Page, application: Application, level: PageLevel) -> None:
        """Take note that a page held what its presumed level should."""
        self._of(page, application, level).succeeded()

    def _of(self, page: Page, application: Application, level: PageLevel) -> Patience:
        return self._patience.get((site_of(page.url), application.name, level.name), Patience)


def documented(application: Application, url: str) -> PageLevel | None:
    """Return the level that documents an address, None for one that is not to be fetched."""
    address = application.canonical(Address.parse(url))
    return application.level_of(address) if application.refusal(address) is None else None


def is_telling(level: PageLevel, url: str) -> bool:
    """Say whether an address tells anything: whether the level does not document any other of its site as well."""
    root = "/".join(url.split("/", 3)[:3])
    return not level.documents(Address.parse(f"{root}/{NOWHERE}"))


def _former_level(application: Application, former: Metadata | None) -> PageLevel | None:
    if former is None or former.application != application.name:
        return None
    return next((level for level in application.levels if level.name == former.level), None)


def _still_holds(page: Page, former: Metadata | None) -> bool:
    """Say whether most of what a former crawl found is on the page."""
    bodies = [body for each in former.objects if (body := body_of(each))][:MOST_PROBED] if former is not None else []
    sight = PageText(page)
    return bool(bodies) and 2 * sum(map(sight.shows, bodies)) > len(bodies)
