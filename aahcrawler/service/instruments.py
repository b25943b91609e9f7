"""The objects by which a service shows and steers crawls, shared by pages and the JSON interface."""

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
from aahcrawler.service.views.search_results import SearchIndexes
from aahcrawler.service.views.sparql_results import SparqlProcess


@dataclass(frozen=True, slots=True)
class Instruments:
    """The registry of crawls, their states and events, the indexes of their contents, and steering. Thread-safe."""

    reach: CrawlRegistry
    states: CrawlStates
    indexes: PageIndexes
    sparql: SparqlProcess
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
        """Build the instruments for the crawls in a registry."""
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
        """Close the indexes of a folder that is about to be deleted."""
        self.indexes.forget(folder)
        self.search.forget(folder)

    def close(self) -> None:
        """Cancel running work, and close all connections."""
        self.live.close()
        self.endings.close()
        self.collected.close()
        if self.pictures is not None:
            self.pictures.close()
        self.helm.close()
        self.indexes.close()
        self.search.close()
        self.sparql.close()
        self.reach.close()
