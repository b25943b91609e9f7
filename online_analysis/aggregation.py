"""From many analysers' scores to one score a link and one a document (ARCOMEM, section 4.2, third phase)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from online_analysis.document import Document


@dataclass(frozen=True, slots=True)
class Scores:
    """What one analyser says of a document: scores in [0, 1], None where it is silent.

    ``links`` runs parallel to ``Document.outlinks``; it is empty when the analyser scores no links at all.
    """

    analyser: str
    document: float | None = None
    links: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoredLink:
    """A link with the score it goes into the frontier with."""

    url: str
    score: float
    anchor: str = ""
    action: str | None = None


class OnlineAnalyser(Protocol):
    """Looks at one document at a time, in a few milliseconds, and keeps no reference to it."""

    @property
    def name(self) -> str:
        """The name that weights in the ICD refer to."""
        ...

    def analyse(self, document: Document) -> Scores:
        """Score the document, its links, or both; equal documents get equal scores."""
        ...


def aggregate(document: Document, scores: Sequence[Scores], weights: Mapping[str, float]) -> tuple[ScoredLink, ...]:
    """Give each outlink the weighted average of what the analysers say of it.

    An analyser that scores the document but no links passes its document score on to each outlink; one that is
    silent about a link is left out of that link's average; a link nobody scores gets 0. An analyser that has no
    weight counts 1.
    """
    return tuple(
        ScoredLink(
            link.url, _weighted(((s.analyser, _link_score(s, i)) for s in scores), weights), link.anchor, link.action
        )
        for i, link in enumerate(document.outlinks)
    )


def document_score(scores: Sequence[Scores], weights: Mapping[str, float]) -> float:
    """Return the weighted average of the document scores, 0 where no analyser gives one."""
    return _weighted(((s.analyser, s.document) for s in scores), weights)


def _link_score(scores: Scores, index: int) -> float | None:
    return scores.links[index] if scores.links else scores.document


def _weighted(named: Iterable[tuple[str, float | None]], weights: Mapping[str, float]) -> float:
    total = weight_sum = 0.0
    for analyser, score in named:
        if score is not None:
            weight = weights.get(analyser, 1.0)
            total += weight * score
            weight_sum += weight
    return total / weight_sum if weight_sum else 0.0
