"""From many analysers' scores to one score a link and one a document (ARCOMEM, section 4.2, third phase)."""

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
    """A link with the score it goes into the frontier with; ``weight`` is that of all analysers that gave it."""

    url: str
    score: float
    anchor: str = ""
    action: str | None = None
    weight: float = 0.0


_Weighted = tuple[float, tuple[float | None, ...], float | None]
"""An analyser's weight, its scores of the links, and its score of the document."""


class OnlineAnalyser(Protocol):
    """Looks at one document at a time, in a few milliseconds, and keeps no reference to it."""

    @property
    def name(self) -> str:
        """The name that weights in the ICD refer to."""
        ...

    def analyse(self, document: Document) -> Scores:
        """Score the document, its links, or both; equal documents get equal scores."""
        ...


@dataclass(frozen=True, slots=True)
class Revision:
    """The score that a queued URL has from now on, in [0, 1]."""

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
    """The shares, in [0, 1], that are left of the budget of a crawl, and of what it grants the site of a page."""

    crawl: float = 1.0
    site: float = 1.0


UNSPENT = BudgetLeft()
"""All is left, or there is no bound."""


class LinkRanker(Protocol):
    """Learns the worth of fetched pages while crawling, and predicts it for pages that are not fetched.

    Its state is a function of the sequence of calls and of its seed; it is bounded, and not for several threads.
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
        """Learn that a page was worth ``relevance``, its document score, and predict the worth of its links.

        ``links`` runs parallel to ``document.outlinks`` and holds the analysers' scores; ``depth`` counts links from a
        seed. What only leads to good pages is worth the less, the less of the budget is ``left`` to fetch these. The
        links of the answer are None where too little is known, and its document score is None. Of the document only
        URL, title, application and level are read and, of its outlinks, URL, anchor, context, place, action and the
        role of the part: a log of these can teach the same again.
        """
        ...

    def revised(self, n: int) -> Sequence[Revision]:
        """Return at most ``n`` queued URLs whose score is not as it was last told, by ``follow`` or here.

        Those that are or were the highest come first. Their scores are whole ones, the analysers' part included: they
        take the place of the frontier's.
        """
        ...

    def reweigh(self, weight: float, waiting: Mapping[str, Weighed]) -> None:
        """Change the ranker's weight, to one above 0, and take over the others' scores under their new weights."""
        ...

    def settled(self, url: str) -> None:
        """Take note that a URL is fetched, failed or blocked: it is not queued, and is not spoken of again."""
        ...

    def explain(self, url: str) -> tuple[Reason, ...]:
        """Return the reasons of the present prediction for a queued URL; empty where there is no prediction.

        The effects, the first of which is where every prediction begins, add up to the prediction.
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
    """Let one more analyser join the averages of links, as if ``aggregate`` had been told of it with the others."""
    return tuple(_joined(link, score_of_link(more, i), weights.get(more.analyser, 1.0)) for i, link in enumerate(links))


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
    """Return the average of the scores that there are, given with their weights, and the sum of these."""
    total = weight_sum = 0.0
    for weight, score in scored:
        if score is not None:
            total += weight * score
            weight_sum += weight
    return (total / weight_sum if weight_sum else 0.0), weight_sum
