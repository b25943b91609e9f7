"""Combines the scores of all analysers into one score a link and a document (ARCOMEM, section 4.2, third phase)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from online_analysis.document import Document, Outlink


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores that one analyser gives a document and its links, in [0, 1]; None where it gives none.

    ``links`` runs parallel to ``Document.outlinks``; it is empty when the analyser scores no links at all.
    """

    analyser: str
    document: float | None = None
    links: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoredLink:
    """A link with the score it enters the frontier with.

    ``weight`` sums the weights of the analysers that scored it.
    """

    url: str
    score: float
    anchor: str = ""
    action: str | None = None
    weight: float = 0.0


_Weighted = tuple[float, tuple[float | None, ...], float | None]
"""An analyser's weight, its scores of the links, and its score of the document."""


class OnlineAnalyser(Protocol):
    """Scores one document at a time, in a few milliseconds, and keeps no reference to it."""

    @property
    def name(self) -> str:
        """The name that weights in the ICD refer to."""
        ...

    def analyse(self, document: Document) -> Scores:
        """Score the document, its links, or both; equal documents get equal scores."""
        ...


@dataclass(frozen=True, slots=True)
class Revision:
    """A new score, in [0, 1], for a queued URL."""

    url: str
    score: float


@dataclass(frozen=True, slots=True)
class Weighed:
    """The scores of a queued URL under changed weights.

    ``analyser_mean`` is the mean score that the analysers, without the ranker, give the links to it, ``weight`` their
    summed weight; ``score`` is the score that the URL is queued with from now on.
    """

    analyser_mean: float
    weight: float
    score: float


@dataclass(frozen=True, slots=True)
class Reason:
    """One part of a prediction: the feature, its value, and how much it raised or lowered the score."""

    name: str
    value: float
    effect: float


class BudgetLeft(NamedTuple):
    """The shares, in [0, 1], that are left of the crawl's budget and of the budget of a page's site."""

    crawl: float = 1.0
    site: float = 1.0


UNSPENT = BudgetLeft()
"""All is left, or there is no bound."""


class LinkRanker(Protocol):
    """Learns from the relevance of fetched pages during the crawl, and predicts it for pages that are not fetched.

    Its state is a function of the sequence of calls and of its seed; it is bounded. Not thread-safe.
    """

    @property
    def name(self) -> str:
        """The name that weights in the ICD refer to."""
        ...

    def follow(
        self,
        document: Document,
        relevance: float,
        links: Sequence[ScoredLink],
        depth: int,
        left: BudgetLeft = UNSPENT,
    ) -> Scores:
        """Learn that a page had the document score ``relevance``, and predict the worth of its links.

        ``links`` runs parallel to ``document.outlinks`` and holds the analysers' scores; ``depth`` counts links from a
        seed. Pages that only lead to good pages count less when less of the budget is ``left`` to fetch these. In the
        result the links are None where too little is known, and the document score is None. Only these fields of the
        document are read: URL, title, application and level and, of its outlinks, URL, anchor, context, place, action
        and the role of the part; a log of them can repeat the training.
        """
        ...

    def revised(self, n: int) -> Sequence[Revision]:
        """Return at most ``n`` queued URLs whose score differs from the one last returned by ``follow`` or here.

        URLs with the highest present or former scores come first. The scores include the analysers' part and replace
        those of the frontier.
        """
        ...

    def reweigh(self, weight: float, waiting: Mapping[str, Weighed]) -> None:
        """Change the ranker's weight, to one above 0, and take over the analysers' scores under their new weights."""
        ...

    def settled(self, url: str) -> None:
        """Note that a URL was fetched, failed or blocked; it is not queued any more, and will not be revised."""
        ...

    def explain(self, url: str) -> tuple[Reason, ...]:
        """Return the reasons of the present prediction for a queued URL; empty where there is no prediction.

        The effects add up to the prediction; the first one is the starting value of every prediction.
        """
        ...


def aggregate(document: Document, scores: Sequence[Scores], weights: Mapping[str, float]) -> tuple[ScoredLink, ...]:
    """Give each outlink the weighted average of its analysers' scores.

    An analyser that scores the document but no links passes its document score on to each outlink; one that is silent
    about a link is left out of that link's average; a link without scores gets 0. An analyser that has no weight counts
    1.
    """
    scored = [
        (weights.get(each.analyser, 1.0), each.links, each.document)
        for each in scores
        if each.links or each.document is not None
    ]
    return tuple([_scored(link, i, scored) for i, link in enumerate(document.outlinks)])


def joined(links: Sequence[ScoredLink], more: Scores, weights: Mapping[str, float]) -> tuple[ScoredLink, ...]:
    """Add one more analyser to the averages of links, as if ``aggregate`` had been given it with the others."""
    weight = weights.get(more.analyser, 1.0)
    return tuple([_joined(link, score_of_link(more, i), weight) for i, link in enumerate(links)])


def document_score(scores: Sequence[Scores], weights: Mapping[str, float]) -> float:
    """Return the weighted average of the document scores, 0 where no analyser gives one."""
    return _weighted([(weights.get(each.analyser, 1.0), each.document) for each in scores])[0]


def _scored(link: Outlink, index: int, scored: Sequence[_Weighted]) -> ScoredLink:
    score, weight = _weighted([(weight, links[index] if links else document) for weight, links, document in scored])
    return ScoredLink(link.url, score, link.anchor, link.action, weight)


def _joined(link: ScoredLink, score: float | None, weight: float) -> ScoredLink:
    total = link.weight + weight
    if score is None or not total:
        return link
    return ScoredLink(link.url, (link.score * link.weight + score * weight) / total, link.anchor, link.action, total)


def score_of_link(scores: Scores, index: int) -> float | None:
    """Return an analyser's score of a link: its document score where it scores no links at all."""
    return scores.links[index] if scores.links else scores.document


def _weighted(scored: Iterable[tuple[float, float | None]]) -> tuple[float, float]:
    """Return the weighted average of the scores that are not None, and the sum of their weights."""
    total = weight_sum = 0.0
    for weight, score in scored:
        if score is not None:
            total += weight * score
            weight_sum += weight
    return (total / weight_sum if weight_sum else 0.0), weight_sum
