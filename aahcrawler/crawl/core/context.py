"""What a crawl goes by: its definition, and what it understands pages and links with."""

from dataclasses import dataclass, field

from aahcrawler import urls
from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.fetch.client_settings import request_headers
from aahcrawler.frontier.hops import Hop, extended
from aahcrawler.frontier.protocol import Kind, Lease, Offer
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.scope import Scope
from aahcrawler.scores import Lessons
from aahcrawler.traps import Traps
from online_analysis.aggregation import OnlineAnalyser
from online_analysis.icd import Icd
from online_analysis.icd import Traps as TrapsSection
from online_analysis.topic import Topic


@dataclass(frozen=True, slots=True)
class CrawlContext:
    """A definition and what makes sense of pages and links; ``fingerprint`` identifies all that pages are analysed by.

    ``ranker`` is the only part that learns from pages, None where the definition gives it no weight. ``topic`` is what
    the analysers compare with; without it no batches are scored. ``topic_learner`` replaces topic and analysers when
    it has learned more. ``traps`` is what pages have taught of traps.
    """

    icd: Icd
    helper: ApplicationAwareHelper
    analysers: tuple[OnlineAnalyser, ...]
    scope: Scope
    fingerprint: str = ""
    ranker: Lessons | None = None
    topic: Topic | None = None
    topic_learner: TopicLearner | None = None
    traps: Traps = field(default_factory=lambda: Traps(TrapsSection()))

    @property
    def request_headers(self) -> dict[str, str]:
        """The headers of every request."""
        return request_headers(self.icd)

    @property
    def obeys_robots(self) -> bool:
        """Whether robots.txt is asked for and obeyed."""
        return self.icd.politeness.robots == "obey"

    @property
    def attempts(self) -> int:
        """How often a URL is tried."""
        return self.icd.politeness.retries + 1

    def offer(
        self,
        url: str,
        lease: Lease,
        score: float,
        *,
        depth: int | None = None,
        kind: Kind = "page",
        hop: Hop = Hop.LINK,
    ) -> Offer:
        """Return a canonical URL that the page of a lease leads to, as an offer; by default as deep as that page."""
        deep, queue = lease.depth if depth is None else depth, urls.queue_of(url)
        path = extended(lease.path, hop, is_off_site=not self.scope.is_of_seeds(queue))
        return Offer(url, queue, score, deep, kind, lease.url, path)


class CurrentContext:
    """The context that a crawl goes by from now on; it is only ever replaced as a whole."""

    def __init__(self, context: CrawlContext) -> None:
        self._now = context

    @property
    def now(self) -> CrawlContext:
        """The newest context."""
        return self._now

    def use(self, context: CrawlContext) -> None:
        """Go by another context from the next request and page on."""
        self._now = context
