"""The desk of the studio: what its pages share, and the pages that lie on it while an entry is mended by them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from aahcrawler.authoring.saved_pages import pages_folder
from aahcrawler.helper.site_memory.sites import site_of
from aahcrawler.page import Page
from aahcrawler.page.titles import head_title
from aahcrawler.replay.mark_outlines import Mark
from aahcrawler.replay.numbered_pages import MarkedPage
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Site
from aahcrawler.service.cockpit.studio.open_works import OpenWork, OpenWorks
from aahcrawler.service.cockpit.studio.outlined_parts import marks_of
from aahcrawler.service.cockpit.studio.sample_shelf import SampleShelf
from aahcrawler.service.views.capture_view import NO_CAPTURE, capture_row
from aahcrawler.service.web.problems import CONFLICT, ProblemError
from aahcrawler.studio.other_software import OtherSoftware
from aahcrawler.studio.page_sample import CapturedPage, PageSample, SampledPage
from aahcrawler.studio.part_matches import PageMatches, matches
from aahcrawler.studio.works.work_errors import WorkError

RECORD: Final = "urn:uuid:"
OF_WORK: Final = "work:"
"""How the records of pages begin that the crawl does not have and a work has."""
_TITLE: Final = 160


@dataclass(frozen=True)
class OpenPage:
    """A page that lies on the desk: its sample, itself, and the work that it is looked at for."""

    crawl: Crawl
    work: OpenWork
    sample: PageSample
    sampled: SampledPage

    @property
    def captured(self) -> CapturedPage:
        """The page as the index has it."""
        return self.sampled.captured

    @property
    def record(self) -> str:
        """The record of the page as addresses have it."""
        return short_record(self.captured.record)

    @property
    def title(self) -> str:
        """The title of the page, empty where it has none."""
        return head_title(self.sampled.page)[:_TITLE]

    @cached_property
    def matches(self) -> PageMatches | None:
        """What the parts of the entry match; None where the entry cannot be used as it is."""
        application = self.work.application
        if application is None:
            return None
        return matches(application, self.work.state.text, self.sampled.page)

    def marks(self, chosen: int | None) -> tuple[Mark, ...]:
        """Return what is marked on the page."""
        if self.matches is None:
            return ()
        return marks_of(self.sampled.tree, self.matches, self.work.parts, chosen)


class StudioDesk:
    """What the pages of the studio share. It may be used by several threads at once."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.shelf = SampleShelf(site.instruments.indexes)
        self.works = OpenWorks(lambda: site.instruments.reach.knowledge)
        self.software = OtherSoftware(pages_folder(folder) for folder in self.works.knowledge.named)

    def host(self, crawl: Crawl, record: str) -> str:
        """Return the host of a captured page. Raise ``ProblemError`` where there is none of that record."""
        with self.site.instruments.indexes.asked(crawl) as index:
            return site_of(capture_row(index, record)["url"])

    def page(self, crawl: Crawl, work: OpenWork, record: str) -> OpenPage:
        """Return a page of the crawl or of the work. Raise ``ProblemError`` where it cannot be looked at."""
        if record.startswith(OF_WORK):
            return self._own_page(crawl, work, record)
        sample = self.shelf.sample(crawl, self.host(crawl, long_record(record)))
        captured = sample.captured(long_record(record))
        return self._opened(crawl, work, sample, captured)

    def _own_page(self, crawl: Crawl, work: OpenWork, record: str) -> OpenPage:
        try:
            kept = self.works.work(work.name).page(record.removeprefix(OF_WORK))
        except WorkError as error:
            raise ProblemError(NO_CAPTURE, str(error)) from error
        page = kept.saved.page
        sample = self.shelf.sample_around(crawl, site_of(page.url))
        return self._opened(crawl, work, sample, sample.add(record, page))

    def _opened(self, crawl: Crawl, work: OpenWork, sample: PageSample, captured: CapturedPage | None) -> OpenPage:
        sampled = sample.sampled(captured) if captured is not None else None
        if sampled is None:
            raise ProblemError(
                CONFLICT, "this capture cannot be looked at here: it is no HTML, too large, or not the newest one"
            )
        return OpenPage(crawl, work, sample, sampled)

    def frame(self, page: OpenPage, marks: tuple[Mark, ...]) -> str:
        """Return a ticket by which a frame may show a page with marks."""
        moment = "".join(sign for sign in page.captured.fetched_at[:19] if sign.isdigit())
        crawl, sample, captured = page.crawl.id, page.sample, page.captured

        def made() -> MarkedPage | None:
            sampled = sample.sampled(captured)
            return MarkedPage(crawl, moment, _anew(sampled.page), marks) if sampled is not None else None

        framed = self.site.framed
        return framed.ticket(framed.marked.issue(made))

    def pages_of(self, work: OpenWork) -> Iterator[tuple[str, str]]:
        """Yield the records of the pages that a work has itself, with their names."""
        return ((f"{OF_WORK}{name}", name) for name in sorted(work.state.pages))


def long_record(record: str) -> str:
    """Return the id of a record for that which addresses have."""
    return record if record.startswith(OF_WORK) else f"{RECORD}{record.removeprefix(RECORD)}"


def short_record(record: str) -> str:
    """Return a record as addresses have it."""
    return record.removeprefix(RECORD)


def _anew(page: Page) -> Page:
    """Return a page that is parsed anew: whoever shows it changes its tree."""
    return replace(page)
