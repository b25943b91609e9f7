"""What a service shows crawls with and steers them by: one of each, which pages and the JSON interface share."""

from contextlib import ExitStack
from dataclasses import dataclass, field

from aahcrawler.service.catalog.reach import Reach
from aahcrawler.service.steering.helm import Helm
from aahcrawler.service.views.crawl_state import CrawlStates
from aahcrawler.service.views.live_feed import LiveFeed
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.sparql_answers import SparqlAnswers


@dataclass(frozen=True, slots=True)
class Instruments:
    """The crawls, what each is doing now and as it happens, the indexes of what they captured, stores, and the helm.

    They may be used by several threads at once.
    """

    reach: Reach
    states: CrawlStates
    indexes: PageIndexes
    answers: SparqlAnswers
    helm: Helm
    live: LiveFeed
    endings: ExitStack = field(default_factory=ExitStack)
    """What else is to be ended with them, such as what pages of the studio have begun."""

    @classmethod
    def of(cls, reach: Reach) -> "Instruments":
        """Return the instruments for the crawls within reach."""
        states = CrawlStates(reach)
        return cls(
            reach, states, PageIndexes(), answers=SparqlAnswers(), helm=Helm.of(reach), live=LiveFeed(reach, states)
        )

    def close(self) -> None:
        """End what is under way, and let go of every connection."""
        self.live.close()
        self.endings.close()
        self.helm.close()
        self.indexes.close()
        self.answers.close()
        self.reach.close()
