"""The desk of the studio: what its pages share, and the pages that lie on it while an entry is mended by them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from aahcrawler.authoring.own_entries.entry_files import digest
from aahcrawler.authoring.saved_pages import pages_folder
from aahcrawler.helper.site_memory.sites import site_of
from aahcrawler.page.titles import head_title
from aahcrawler.replay.mark_outlines import Mark, MarkKind
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
    record: str
    """The record of the page as addresses have it."""
    sample: PageSample
    sampled: SampledPage
    desk: "StudioDesk"

    @property
    def captured(self) -> CapturedPage:
        """The page as the index has it."""
        return self.sampled.captured

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
        return self.desk.matched.of(
            self.sampled, self.work.loaded_with, lambda: matches(application, text, self.sampled.page)
        )

    def other(self, record: str) -> SampledPage | None:
        """Return another page of the crawl or of the work, by its record; None where it cannot be looked at."""
        try:
            return self.desk.page(self.crawl, self.work, record).sampled
        except ProblemError:
            return None

    def marks(self, chosen: int | None) -> tuple[Mark, ...]:
        """Return what is marked on the page."""
        if self.matches is None:
            return (Mark(chosen, MarkKind.CHOSEN, "chosen"),) if chosen is not None else ()
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
        sample, captured = self._own(crawl, work, record) if record.startswith(OF_WORK) else self._of(crawl, record)
        sampled = sample.sampled(captured) if captured is not None else None
        if sampled is None:
            raise ProblemError(
                CONFLICT, "this capture cannot be looked at here: it is no HTML, too large, or not the newest one"
            )
        return OpenPage(crawl, work, record.removeprefix(RECORD), sample, sampled, self)

    def _of(self, crawl: Crawl, record: str) -> tuple[PageSample, CapturedPage | None]:
        sample = self.shelf.sample(crawl, self.host(crawl, long_record(record)))
        return sample, sample.captured(long_record(record))

    def _own(self, crawl: Crawl, work: OpenWork, record: str) -> tuple[PageSample, CapturedPage | None]:
        """Return a page that a work has itself, taken into the sample of its host."""
        name = record.removeprefix(OF_WORK)
        try:
            page = self.works.work(work.name).page(name).saved.page
        except WorkError as error:
            raise ProblemError(NO_CAPTURE, str(error)) from error
        sample = self.shelf.sample_around(crawl, site_of(page.url))
        # Several works may have pages of one name, and one work another page of it after a while.
        known = f"{OF_WORK}{digest(page.body)}"
        return sample, sample.add(known, page)

    def framed(self, page: OpenPage, marks: tuple[Mark, ...]) -> str:
        """Return the path by which the replay shows a page with marks in a frame."""
        moment = "".join(sign for sign in page.captured.fetched_at[:19] if sign.isdigit())
        crawl, work, record, key = page.crawl, page.work, page.record, page.captured.key

        def made() -> MarkedPage | None:
            # Nothing of the page is kept: there may be hundreds of addresses.
            try:
                sampled = self.page(crawl, work, record).sampled
            except ProblemError:
                return None
            return MarkedPage(crawl.id, moment, replace(sampled.page), marks) if sampled.captured.key == key else None

        return self.site.marked.issue(made)

    def pages_of(self, work: OpenWork) -> Iterator[tuple[str, str]]:
        """Yield the records of the pages that a work has itself, with their names."""
        return ((f"{OF_WORK}{name}", name) for name in sorted(work.state.pages))


def long_record(record: str) -> str:
    """Return the id of a record for that which addresses have."""
    return record if record.startswith(OF_WORK) else f"{RECORD}{record.removeprefix(RECORD)}"


def short_record(record: str) -> str:
    """Return a record as addresses have it."""
    return record.removeprefix(RECORD)
