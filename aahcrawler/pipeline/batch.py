"""Batch prioritisation: links are scored together when some pages have been fetched (ARCOMEM, section 5.1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from aahcrawler.frontier.protocol import UNSCORED, Offer
from aahcrawler.pipeline.score import ScoredPage
from online_analysis.batching import Batch, BatchScore, Contribution, contribution
from online_analysis.document import Document
from online_analysis.icd.scoring import Scoring
from online_analysis.topic import Topic


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
