"""What a service shows crawls with and steers them by: one of each, which pages and the JSON interface share."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.steering.steering_service import SteeringService
from aahcrawler.service.steering.unfound_searches import UnfoundSearches
from aahcrawler.service.views.collected_view import CollectedViews
from aahcrawler.service.views.crawl_state import CrawlStates
from aahcrawler.service.views.live_feed import LiveFeed
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.page_pictures import PagePictures
from aahcrawler.service.views.scheduled_crawls import ScheduleDesk
from aahcrawler.service.views.search_answers import SearchIndexes
from aahcrawler.service.views.sparql_answers import SparqlProcess


@dataclass(frozen=True, slots=True)
class Instruments:
    """The crawls, what each is doing now and as it happens, the indexes of what they captured, stores, and the helm.

    They may be used by several threads at once.
    """

    reach: CrawlRegistry
    states: CrawlStates
    indexes: PageIndexes
    answers: SparqlProcess
    helm: SteeringService
    live: LiveFeed
    search: SearchIndexes = field(default_factory=SearchIndexes)
    unfound: UnfoundSearches | None = None
    """Counts what searches do not find; None where that is not wanted."""
    schedule: ScheduleDesk | None = None
    """The schedule that is shown; None where there is none to show."""
    pictures: PagePictures | None = None
    """Makes the pictures that nobody took when a page was captured; None where none are to be made."""
    collected: CollectedViews = field(default_factory=CollectedViews)
    """Reads what crawls collected about events or from archives."""
    endings: ExitStack = field(default_factory=ExitStack)
    """What else is to be ended with them, such as what pages of the studio have begun."""

    @classmethod
    def of(
        cls,
        reach: CrawlRegistry,
        pictures: PagePictures | None = None,
        unfound: UnfoundSearches | None = None,
        schedule: Path | None = None,
    ) -> "Instruments":
        """Return the instruments for the crawls within reach."""
        states = CrawlStates(reach)
        return cls(
            reach,
            states,
            PageIndexes(),
            SparqlProcess(),
            SteeringService.of(reach),
            LiveFeed(reach, states),
            unfound=unfound,
            schedule=ScheduleDesk(schedule) if schedule is not None else None,
            pictures=pictures,
        )

    def forget(self, folder: Path) -> None:
        """Let go of the indexes of a folder that is about to be deleted."""
        self.indexes.forget(folder)
        self.search.forget(folder)

    def close(self) -> None:
        """End what is under way, and let go of every connection."""
        self.live.close()
        self.endings.close()
        self.collected.close()
        if self.pictures is not None:
            self.pictures.close()
        self.helm.close()
        self.indexes.close()
        self.search.close()
        self.answers.close()
        self.reach.close()
