"""The desk of the studio: what its pages share, and the pages that lie on it while an entry is mended by them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from aahcrawler.authoring.own_entries.entry_files import digest
from aahcrawler.authoring.saved_pages import pages_folder
from aahcrawler.helper.site_memory.sites import site_of
from aahcrawler.page import Page
from aahcrawler.page.titles import head_title
from aahcrawler.replay.mark_outlines import Mark
from aahcrawler.replay.numbered_pages import MarkedPage
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Site
from aahcrawler.service.cockpit.studio.match_shelf import MatchShelf
from aahcrawler.service.cockpit.studio.open_works import OpenWork, OpenWorks
from aahcrawler.service.cockpit.studio.outlined_parts import marks_of
from aahcrawler.service.cockpit.studio.sample_shelf import SampleShelf
from aahcrawler.service.views.capture_view import NO_CAPTURE, capture_row
from aahcrawler.service.views.recognised_hosts import HostCounts, HostsShown
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
    shelf: MatchShelf

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
        text = self.work.state.text
        return self.shelf.of(self.sampled, digest(text.data), lambda: matches(application, text, self.sampled.page))

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
        self.counts, self.matched = HostCounts(), MatchShelf()
        self.works = OpenWorks(lambda: site.instruments.reach.knowledge)
        self.software = OtherSoftware(pages_folder(folder) for folder in self.works.knowledge.named)

    def hosts(self, crawl: Crawl) -> HostsShown:
        """Return the hosts of a crawl with the software that their pages were recognised as."""
        with self.site.instruments.indexes.asked(crawl) as index:
            return self.counts.of(index)

    def host(self, crawl: Crawl, record: str) -> str:
        """Return the host of a captured page. Raise ``ProblemError`` where there is none of that record."""
        with self.site.instruments.indexes.asked(crawl) as index:
            return site_of(capture_row(index, record)["url"])

    def page(self, crawl: Crawl, work: OpenWork, record: str) -> OpenPage:
        """Return a page of the crawl or of the work. Raise ``ProblemError`` where it cannot be looked at."""
        return OpenPage(crawl, work, *self._sampled(crawl, work.name, record), self.matched)

    def _sampled(self, crawl: Crawl, work: str, record: str) -> tuple[PageSample, SampledPage]:
        if record.startswith(OF_WORK):
            sample, captured = self._own_page(crawl, work, record)
        else:
            sample = self.shelf.sample(crawl, self.host(crawl, long_record(record)))
            captured = sample.captured(long_record(record))
        sampled = sample.sampled(captured) if captured is not None else None
        if sampled is None:
            raise ProblemError(
                CONFLICT, "this capture cannot be looked at here: it is no HTML, too large, or not the newest one"
            )
        return sample, sampled

    def _own_page(self, crawl: Crawl, work: str, record: str) -> tuple[PageSample, CapturedPage | None]:
        try:
            page = self.works.work(work).page(record.removeprefix(OF_WORK)).saved.page
        except WorkError as error:
            raise ProblemError(NO_CAPTURE, str(error)) from error
        sample = self.shelf.sample_around(crawl, site_of(page.url))
        return sample, sample.add(record, page)

    def frame(self, page: OpenPage, marks: tuple[Mark, ...]) -> str:
        """Return a ticket by which a frame may show a page with marks."""
        moment = "".join(sign for sign in page.captured.fetched_at[:19] if sign.isdigit())
        # Tickets hold for hours: what they keep is the names of the page, not itself or its sample.
        crawl, work, record, key = page.crawl, page.work.name, page.record, page.captured.key

        def made() -> MarkedPage | None:
            try:
                _, sampled = self._sampled(crawl, work, record)
            except ProblemError:
                return None
            return MarkedPage(crawl.id, moment, _anew(sampled.page), marks) if sampled.captured.key == key else None

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
