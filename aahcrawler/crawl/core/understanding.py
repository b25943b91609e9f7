"""What a crawl makes sense of pages and links with."""

from dataclasses import dataclass, field

from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.scope import Scope
from aahcrawler.scores import Lessons
from aahcrawler.traps import Traps
from online_analysis.aggregation import OnlineAnalyser
from online_analysis.icd import Traps as TrapsSection
from online_analysis.topic import Topic


@dataclass(frozen=True, slots=True)
class Understanding:
    """What makes sense of pages and links; ``fingerprint`` identifies all that pages are understood by.

    ``ranker`` is the only part that learns from pages, None where the definition gives it no weight. ``topic`` is what
    the analysers compare with; without it no batches are scored. ``topic_learner`` replaces topic and analysers when it
    has learned more. ``traps`` is what pages have taught of traps.
    """

    helper: ApplicationAwareHelper
    analysers: tuple[OnlineAnalyser, ...]
    scope: Scope
    fingerprint: str = ""
    ranker: Lessons | None = None
    topic: Topic | None = None
    topic_learner: TopicLearner | None = None
    traps: Traps = field(default_factory=lambda: Traps(TrapsSection()))
