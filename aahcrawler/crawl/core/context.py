"""Hold the context of a crawl: its definition, and what pages and links are analysed with."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.fetch.client_settings import request_headers
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.pipeline.links import LinkRules
from aahcrawler.scope import Scope
from aahcrawler.scores import Lessons
from aahcrawler.traps.traps import Traps
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
    helped_by: Callable[[], ApplicationAwareHelper]
    analysers: tuple[OnlineAnalyser, ...]
    scope: Scope
    fingerprint: str = ""
    ranker: Lessons | None = None
    topic: Topic | None = None
    topic_learner: TopicLearner | None = None
    traps: Traps = field(default_factory=lambda: Traps(TrapsSection()))

    @property
    def helper(self) -> ApplicationAwareHelper:
        """The helper; a crawl that has just begun may wait for it."""
        return self.helped_by()

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
        """The most attempts to fetch a URL."""
        return self.icd.politeness.retries + 1

    @property
    def link_rules(self) -> LinkRules:
        """The rules that decide which links are offered."""
        limits = self.icd.limits
        return LinkRules(
            self.scope,
            self.traps,
            follows_feeds=self.icd.sources.feeds != "off",
            obeys_nofollow=self.icd.politeness.nofollow == "obey",
            follows_from=self.icd.scoring.follow,
            requisites_per_page=limits.requisites_per_page,
            requisites_per_style_sheet=limits.requisites_per_style_sheet,
            parts_per_stream=limits.parts_per_stream,
        )


class CurrentContext:
    """Holds the context that a crawl goes by from now on; it is only ever replaced as a whole."""

    def __init__(self, context: CrawlContext) -> None:
        self._now = context

    @property
    def now(self) -> CrawlContext:
        """The newest context."""
        return self._now

    def use(self, context: CrawlContext) -> None:
        """Go by another context from the next request and page on."""
        self._now = context
