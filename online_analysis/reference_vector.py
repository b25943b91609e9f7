"""Measures how much a text is like reference documents, as collections about events do (Gossen et al. 2020, 5.2).

A text is a vector over the stems of its words and over pairs of stems that follow one another in a line, without stop
words. A term that occurs ``n`` times weighs ``(1 + ln n) * idf * boost``: 2 for a keyword, 1.5 for what shares a word
with one, and 1 for all others. The reference vector is the sum of those of the documents. The relevance of a text is
its cosine to that, divided by the mean cosine of the documents themselves, so that a page which is as near as they are
scores 1 (the division is that of the authors' published code; the article does not tell of it).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from online_analysis.similarity import counted
from online_analysis.term_arrays import Floats, Integers, Units, Vocabulary
from online_analysis.terms import Language
from online_analysis.topic import Topic

WHOLE: Final = 2.0
"""The boost of a keyword: of its only word, or of two words that follow one another in it."""
PART: Final = 1.5
"""The boost of what shares a word with a keyword."""
_SHIFT: Final = 32
_LAST: Final = (1 << _SHIFT) - 1


class GramVector(NamedTuple):
    """A sparse vector. ``keys`` ascend: of a term its number, of a pair one more than the first one's above 32 bits."""

    keys: Integers
    weights: Floats

    @property
    def length(self) -> float:
        """The Euclidean length."""
        return math.sqrt(float(self.weights @ self.weights))

    def cosine(self, other: "GramVector") -> float:
        """Return the cosine of the angle between two vectors of one weighting, in [0, 1]; 0 where one is empty."""
        lengths = self.length * other.length
        if not lengths:
            return 0.0
        places = other.keys.searchsorted(self.keys)
        places[places == len(other.keys)] = 0
        shared = (other.keys.take(places) == self.keys).nonzero()[0]
        dot = float(self.weights.take(shared) @ other.weights.take(places.take(shared)))
        return min(1.0, dot / lengths)


def summed(vectors: Sequence[GramVector]) -> GramVector:
    """Return the sum of at least one vector, in their order."""
    keys, places = np.unique(np.concatenate([each.keys for each in vectors]), return_inverse=True)
    weights = np.concatenate([each.weights for each in vectors])
    return GramVector(keys, np.bincount(places.ravel(), weights, len(keys)))


class Weighting:
    """Makes vectors of texts that were read with one vocabulary; those of another one cannot be compared with them.

    Equal texts have equal vectors but for the numbers of their terms. Not thread-safe.
    """

    def __init__(self, keywords: Iterable[str], language: Language, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        phrases = [terms for phrase in keywords if (terms := language.terms(phrase))]
        single = {vocabulary.number(terms[0]) for terms in phrases if len(terms) == 1}
        every = {vocabulary.number(term) for terms in phrases for term in terms}
        follow = {pair for terms in phrases for pair in pairwise(map(vocabulary.number, terms))}
        self._whole = np.array(sorted(single | {_pair_key(*pair) for pair in follow}), np.int64)
        self._words = np.array(sorted(every), np.int64)

    def vector(self, units: Units, end: int | None = None) -> GramVector:
        """Return the vector of the first pieces of a text, all of them by default; pairs lie within a piece."""
        terms, bounds = units.terms[: units.bounds[-1 if end is None else end]], units.bounds
        follows = np.ones(len(terms), np.bool_)
        follows[bounds[bounds < len(terms)]] = False
        seconds = follows.nonzero()[0]
        seconds = seconds[seconds > 0]
        pairs = (terms.take(seconds - 1) + 1 << _SHIFT) | terms.take(seconds)
        keys, counts = counted(np.concatenate([terms, pairs]).astype(np.int64, copy=False))
        return GramVector(keys, (1.0 + np.log(counts)) * self._idf(keys) * self._boosts(keys))

    def _idf(self, keys: Integers) -> Floats:
        """Return the idf of terms, and of pairs that of both together: how rare they are if they meet by chance."""
        idf, firsts = self.vocabulary.idf, keys >> _SHIFT
        return idf.take(keys & _LAST) + np.where(firsts > 0, idf.take(np.maximum(firsts - 1, 0)), 0.0)

    def _boosts(self, keys: Integers) -> Floats:
        if not len(self._words):
            return np.ones(len(keys))
        shares = np.isin(keys & _LAST, self._words) | np.isin((keys >> _SHIFT) - 1, self._words)
        return np.where(np.isin(keys, self._whole), WHOLE, np.where(shares, PART, 1.0))


def _pair_key(first: int, second: int) -> int:
    return first + 1 << _SHIFT | second


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference vector of a topic in one language, and the mean cosine of the documents to it."""

    weighting: Weighting
    vector: GramVector
    self_similarity: float

    @classmethod
    def of(cls, topic: Topic, language: Language, vocabulary: Vocabulary) -> "Reference":
        """Return the reference vector of a topic's documents; without any, its keywords are the only document.

        Documents in another language are read as pages in this one: names are the same in both.
        """
        weighting = Weighting(topic.phrases, language, vocabulary)
        texts = [lines for lines in topic.texts_in_words() if any(lines)] or [topic.phrases or ("",)]
        vectors = [weighting.vector(vocabulary.read(lines)) for lines in texts]
        vector = summed(vectors)
        return cls(weighting, vector, float(np.mean([each.cosine(vector) for each in vectors])))

    def relevance(self, units: Units, end: int | None = None) -> float:
        """Return the relevance of the first pieces of a text, in [0, 1]; 0 for one that shares no term."""
        cosine = self.weighting.vector(units, end).cosine(self.vector)
        return min(1.0, cosine / self.self_similarity) if cosine else 0.0


class References:
    """The reference vectors of a topic, one for each language that pages are in. Not thread-safe."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._by_language: dict[str | None, Reference] = {}

    def of(self, language: Language, vocabulary: Vocabulary) -> Reference:
        """Return the reference vector for texts of a language that were read with a vocabulary."""
        known = self._by_language.get(language.code)
        if known is None or known.weighting.vocabulary is not vocabulary:
            known = self._by_language[language.code] = Reference.of(self._topic, language, vocabulary)
        return known
