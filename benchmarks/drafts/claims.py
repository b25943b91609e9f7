"""Which pages of other applications a draft takes for its own."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from aahcrawler.page import Page
from benchmarks.recorded import RecordedSite
from benchmarks.site_pages import site_pages
from knowledge_base.matching import Detector
from knowledge_base.model import Application, KnowledgeBase


@dataclass
class Strangers:
    """The pages of recorded sites. Those of a site are read from the disk when they are looked at."""

    sites: tuple[RecordedSite, ...]
    claimed: list[str] = field(default_factory=list)
    """The pages that the application asked for last claimed."""

    def claims(self, application: Application, own: str) -> int:
        """Return how many pages an application would claim, were it the only one known, of applications but ``own``."""
        detector = Detector(KnowledgeBase((application,)))
        self.claimed = [page.url for page in self._pages(own) if detector.detect(page).application is not None]
        return len(self.claimed)

    def _pages(self, own: str) -> Iterator[Page]:
        others: Iterable[RecordedSite] = (site for site in self.sites if site.app != own)
        return (page for site in others for page in site_pages(site))
