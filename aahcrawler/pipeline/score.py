"""Score a page and its links by what the analysers say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from aahcrawler.helper import Assistance
from aahcrawler.helper.raised_failures import of_stages
from aahcrawler.page.failed_stages import FailedStages
from online_analysis.aggregation import OnlineAnalyser, ScoredLink, Scores, aggregate, document_score


@dataclass(frozen=True, slots=True)
class ScoredPage:
    """A page with its relevance in [0, 1], its links with their scores, and the helper's findings.

    ``scores`` are what each analyser said of the page and its links, the ranker last; ``links`` and theirs run parallel
    to the document's outlinks.
    """

    assistance: Assistance
    score: float
    links: tuple[ScoredLink, ...]
    scores: tuple[Scores, ...] = ()


def score(assistance: Assistance, analysers: Sequence[OnlineAnalyser], weights: Mapping[str, float]) -> ScoredPage:
    """Return what was understood of a page with its score and those of its links, averaged by the weights.

    An analyser that raises says nothing of the page, and is among the failed actions.
    """
    document, failed = assistance.document, FailedStages()
    scores = tuple(
        failed.attempt(f"analyser {analyser.name}", partial(analyser.analyse, document), partial(Scores, analyser.name))
        for analyser in analysers
    )
    if raised := of_stages(failed):
        assistance = replace(assistance, failed_actions=(*assistance.failed_actions, *raised))
    return ScoredPage(assistance, document_score(scores, weights), aggregate(document, scores, weights), scores)
