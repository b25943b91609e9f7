"""The parts of a crawl that answer the requests of its visits."""

from dataclasses import dataclass

from aahcrawler.crawl.browsing.captured_answers import RecordedAnswers
from aahcrawler.crawl.browsing.page_fetch import Fetch
from aahcrawler.crawl.browsing.request_rules import RequestRules
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.lifecycle import Lifecycle
from aahcrawler.crawl.core.site_sessions import SiteSessions
from aahcrawler.crawl.core.stores import StoreWriter


@dataclass(frozen=True, slots=True)
class VisitedCrawl:
    """What visits use of a crawl: its rules and sessions, what it has recorded, and its way to the network."""

    writer: StoreWriter
    fetching: FetchControl
    rules: RequestRules
    recorded: RecordedAnswers
    fetch: Fetch

    @property
    def context(self) -> CurrentContext:
        """The definition that the crawl goes by."""
        return self.rules.context

    @property
    def lifecycle(self) -> Lifecycle:
        """The crawl's limits."""
        return self.rules.lifecycle

    @property
    def sessions(self) -> SiteSessions:
        """What each site knows the crawl by."""
        return self.rules.sessions
