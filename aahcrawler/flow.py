"""The picture of the crawler as one function: a page goes in, scored links and web objects come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from online_analysis.aggregation import OnlineAnalyser, ScoredLink, aggregate, document_score


@dataclass(frozen=True, slots=True)
class Processed:
    """What a page turned out to be: its relevance in [0, 1], its links with their scores, and the helper's findings."""

    assistance: Assistance
    score: float
    links: tuple[ScoredLink, ...]


def process(
    page: Page,
    helper: ApplicationAwareHelper,
    analysers: Sequence[OnlineAnalyser],
    weights: Mapping[str, float],
    former: Metadata | None = None,
) -> Processed:
    """Understand one page and score its links (ARCOMEM, section 4.2, figure 3).

    Deterministic for given state of the helper and the analysers, without input or output, and the same for pages
    from the network and pages from an archive. A page of no known application goes the same way: its document is
    its main content and all of its links. ``former`` is what an earlier crawl understood at the same address.
    """
    assistance = helper.assist(page, former)
    document = assistance.document
    scores = tuple(analyser.analyse(document) for analyser in analysers)
    return Processed(assistance, document_score(scores, weights), aggregate(document, scores, weights))
