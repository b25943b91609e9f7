"""Score a page and its links by what the analysers say of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from aahcrawler.frontier.protocol import UNSCORED, Offer
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.assistance import of_stages
from aahcrawler.helper.site_memory import LinkJudge
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.page.page import FailedStages
from online_analysis.aggregation import (
    UNSPENT,
    BudgetLeft,
    LinkRanker,
    OnlineAnalyser,
    ScoredLink,
    Scores,
    aggregate,
    document_score,
    joined,
)
from online_analysis.batching import Batch, BatchScore, Contribution, contribution
from online_analysis.document import Document, Outlink
from online_analysis.icd.scoring import Scoring
from online_analysis.topic import Topic


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


Spelling = Callable[[str], str]
"""Returns the one form of a URL that a crawl knows it by, after the application that it belongs to has."""


def understand(
    page: Page,
    helper: ApplicationAwareHelper,
    spelling: Spelling,
    former: Metadata | None = None,
    judge: LinkJudge | None = None,
) -> Assistance:
    """Return what the helper makes of a page, whose links have the spelling of the crawl.

    It is deterministic for a given state of the helper and of what the crawl knows of links (``judge``), and the same
    for pages from the network and from an archive. A page of no known application goes the same way: its document is
    its main content and all of its links. ``former`` is what an earlier crawl understood at the same URL.
    """
    assistance = helper.assist(page, former, judge)
    return replace(assistance, document=respelled(assistance.document, spelling))


def understand_list(
    page: Page, helper: ApplicationAwareHelper, spelling: Spelling, judge: LinkJudge | None = None
) -> Iterator[Assistance]:
    """Yield where a sitemap or a feed leads, some of its entries at a time."""
    for assistance in helper.listed(page, judge):
        yield replace(assistance, document=respelled(assistance.document, spelling))


def respelled(document: Document, spelling: Spelling) -> Document:
    """Return a document whose links have other URLs; none leads to the document itself, nor to one place twice."""
    own = {document.url, spelling(document.url)}
    found: dict[str, Outlink] = {}
    for link in document.outlinks:
        url = spelling(link.url)
        if url not in own:
            found.setdefault(url, link if url == link.url else replace(link, url=url))
    return replace(document, outlinks=tuple(found.values()))


AT_ONCE = 200
"""How many queued URLs are re-scored at once."""


def rank(
    page: ScoredPage, weights: Mapping[str, float], ranker: LinkRanker, depth: int, left: BudgetLeft = UNSPENT
) -> ScoredPage:
    """Have a ranker learn from a page, and return it with its links' scores as the ranker joins them.

    The ranker is one more analyser, and the only one that learns: each page of a crawl is to be ranked once. ``depth``
    counts the links from a seed to the page, ``left`` is what is left of the budget.
    """
    scores = ranker.follow(page.assistance.document, page.score, page.links, depth, left)
    return replace(page, links=joined(page.links, scores, weights), scores=(*page.scores, scores))


def rank_error(url: str, ranker: LinkRanker, depth: int, left: BudgetLeft = UNSPENT) -> None:
    """Have a ranker learn that what was behind the links to a URL is worth nothing."""
    ranker.follow(Document(url, None, "", (), ()), 0.0, (), depth, left)


def finish(ranker: LinkRanker, url: str, unwanted: Iterable[str] = ()) -> None:
    """Have a ranker re-score a URL no more that was fetched or will not be, nor links of it that nobody wants."""
    for link in unwanted:
        ranker.settled(link)
    ranker.settled(url)


@dataclass(frozen=True, slots=True)
class EndedBatch:
    """A batch of so many pages, the scores of its links by URL, and these links as offers with their scores."""

    pages: int
    scores: Mapping[str, BatchScore]
    offers: tuple[Offer, ...]


class OpenBatch:
    """Fetched pages, and their links that wait unscored in the frontier."""

    def __init__(self, topic: Topic, scoring: Scoring) -> None:
        self._batch = Batch(topic, scoring.weights, scoring.batch)
        self._offers: dict[str, Offer] = {}

    def __len__(self) -> int:
        return len(self._batch)

    @property
    def is_full(self) -> bool:
        """Whether it has as many pages as the definition asks for."""
        return self._batch.is_full

    def add(self, contributed: Contribution, offers: Iterable[Offer]) -> None:
        """Take in a page and the links to pages that were offered; of each URL the smallest depth is kept."""
        pages = {offer.url: offer for offer in offers if offer.kind == "page"}
        self._batch.add(contributed, pages)
        for url, offer in pages.items():
            known = self._offers.setdefault(url, offer)
            if offer.depth < known.depth:
                self._offers[url] = offer

    def end(self) -> EndedBatch:
        """Score all links; the batch is not to be used any more."""
        scores = self._batch.scores()
        offers = tuple(replace(self._offers[url], score=scored.score) for url, scored in scores.items())
        return EndedBatch(len(self._batch), scores, offers)


def contribution_of(page: ScoredPage, topic: Topic, counted: Document | None = None) -> Contribution:
    """Return what a page brings into a batch; ``counted`` is a document with the same texts, counted already."""
    document = page.assistance.document
    return contribution(document, topic.counting.of(counted or document), page.scores)


def unscored(offers: Iterable[Offer]) -> list[Offer]:
    """Return offers whose pages wait behind all that have a score."""
    return [replace(offer, score=UNSCORED) if offer.kind == "page" else offer for offer in offers]
