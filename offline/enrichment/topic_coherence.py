"""Tells how coherent the topics of a model are, and so how many topics there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from offline.enrichment.topic_texts import Words

NAMING_TERMS: Final = 10
"""Terms that a topic is judged by."""
NUMBERS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40)
"""The numbers of topics that are tried."""
MIN_COHERENCE: Final = 0.1
"""Coherence below which the terms of a topic meet hardly more often than by chance."""
MIN_SHARE: Final = 0.4
"""The share of a text from which on it is said to be of a topic."""
_GOOD: Final = 0.9
"""The share of the best from which on a number does about as well."""
_CLEARLY: Final = 0.6
"""The share of the best below which a number does clearly worse."""
_LARGE: Final = 10
_MUCH_WORSE: Final = 0.75
_MAX_WORSE: Final = 3
_MAX_DIPS: Final = 2
_TINY: Final = 1e-12

Numbers = NDArray[np.float64]


class FittedTopics(Protocol):
    """Topics that a model has found in texts."""

    @property
    def terms(self) -> Numbers:
        """How much each term of the vocabulary (columns) names each topic (rows), 0 or more."""

    def shares(self, counts: csr_matrix) -> Numbers:
        """Return which share of each text (rows) is of each topic (columns), by the counts of its terms.

        A row adds up to 1, or to 0 where the text has none of the terms, and depends on no other text.
        """


class TopicModel(Protocol):
    """A way to find topics. Equal counts give equal topics."""

    @property
    def name(self) -> str:
        """What it is known by, and in which version."""

    def fit(self, counts: csr_matrix, number: int) -> FittedTopics:
        """Find a number of topics in the counts of terms (columns) in texts (rows), neither of them empty."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """Topics that were tried, the coherence of each, and how well they do together."""

    fitted: FittedTopics
    coherence: Numbers
    quality: float

    @classmethod
    def of(cls, fitted: FittedTopics, words: Words) -> Self:
        naming = [[term for term, _ in ranked_terms(row, NAMING_TERMS)] for row in fitted.terms]
        coherent = np.array([coherence(words.windows, terms) for terms in naming])
        named = [term for terms in naming for term in terms]
        diversity = len(set(named)) / max(1, len(named))
        told = (fitted.shares(words.counts) >= MIN_SHARE) & (coherent >= MIN_COHERENCE)
        return cls(fitted, coherent, float(coherent.mean() * diversity * told.any(axis=1).mean()))


def best_topics(words: Words, model: TopicModel, most: int, former: int = 0) -> tuple[FittedTopics, Numbers]:
    """Return topics, as many as do best, at most ``most``, and the coherence of each.

    How well a number does is the mean coherence of its topics by the share of their naming terms that name no other
    topic (topic quality: Dieng, Ruiz and Blei, 2020), by the share of the texts that they tell of. Taken is the number
    of a ``former`` run unless another one does clearly better, else the greatest that does about as well as the best,
    up to where two in a row do not: fewer topics may be as coherent, but join what is not together. Numbers are tried
    upwards until three in a row, all of them large, do much worse.
    """
    tried: dict[int, _Trial] = {}
    best, worse = 0.0, 0
    for number in sorted({*NUMBERS, former}):
        if number < min(NUMBERS) or number > most or (worse >= _MAX_WORSE and number != former):
            continue
        tried[number] = _Trial.of(model.fit(words.counts, number), words)
        best = max(best, tried[number].quality)
        worse = worse + 1 if number > _LARGE and tried[number].quality < _MUCH_WORSE * best else 0
    if former in tried and tried[former].quality >= _CLEARLY * best:
        chosen = former
    else:
        chosen = max(tried, key=lambda number: (tried[number].quality, number))
        worse = 0
        for number, trial in tried.items():
            if number > chosen and worse < _MAX_DIPS:
                chosen, worse = (number, 0) if trial.quality >= _GOOD * best else (chosen, worse + 1)
    return tried[chosen].fitted, tried[chosen].coherence


def ranked_terms(weights: Numbers, most: int) -> list[tuple[int, float]]:
    """Return the terms of a topic with their weights, the weightiest first, of equal ones the first in the vocabulary.

    The first weight is 1. Weights are given to three digits: further ones may be others on another machine.
    """
    rounded = np.round(weights / max(float(weights.max(initial=0)), _TINY), 3)
    order = np.lexsort((np.arange(len(rounded)), -rounded))[:most]
    return [(int(term), float(rounded[term])) for term in order if rounded[term] > 0]


def coherence(windows: csr_matrix, terms: Sequence[int]) -> float:
    """Return how much terms keep together: the mean NPMI of their pairs over windows of the texts, from -1 to 1.

    Normalised pointwise mutual information (Bouma, 2009) is 0 of terms that meet by chance and 1 of such as are only
    met together; as a measure of topics it agrees with people best (Röder, Both and Hinneburg, 2015). Fewer than two
    terms have none: 0.
    """
    if len(terms) < 2:
        return 0.0
    chosen = windows[:, list(terms)]
    together = np.asarray((chosen.T @ chosen).todense(), np.float64) / windows.shape[0]
    alone = np.diag(together)
    first, second = np.triu_indices(len(terms), 1)
    both = together[first, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(both / (alone[first] * alone[second])) / -np.log(both)
    return float(np.mean(np.where(both <= 0, -1.0, np.where(both >= 1, 0.0, npmi))))
