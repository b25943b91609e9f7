"""Measures the relevance of a text to a topic by its counts of terms.

**Reference documents** are compared as in the simulations of ARCOMEM (section 5.1): by the cosine of a page's counts
with the sum of the counts of all documents. Terms weigh by their salience, once (``online_analysis.topic``): the
product of two vectors of counts is the sum of ``count * count * salience``. There a page is relevant from a third on.
The score is the cosine to the power that makes a third 0.2, the default of ``scoring.relevant``; it orders pages as the
cosine does.

**Keywords and entities** weigh by their idf, and are too few for that: the cosine of a page that never leaves the topic
falls with its length, and with the number of keywords. It is a product of two factors, each of which is mended::

    cos(text, keywords) = |text'| / |text|  *  cos(text', keywords)         text' = the keywords in the text
                             share                 coverage

- Share is the part of a text's weight, the sum of ``count * idf``, that lies in keywords. It is saturated:
  ``share / (share + 0.04)``, which is one half for a twenty-fifth. Repetition counts by its square root in the cosine:
  a page repeats some words without end, whatever its subject.
- Coverage is measured against the best that a text with as many of the keywords' terms could have, and a page is
  expected to have at least six, a paragraph two. A keyword is found whole or by some of its words (section 4.2): each
  word is a term, and so is the phrase, which weighs as much as its words together.

Where a topic has both, each has half a say.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from online_analysis.term_arrays import Floats, Integers, Terms, Units, Vocabulary
from online_analysis.topic import Number, Topic, TopicVector, salience
from online_analysis.topic_comparison import Compared, Comparer, Hits, KeywordSide, counted, runs, sums

_HALF_SHARE = 0.04
_FIELDS_RELEVANT, _RELEVANT = 1 / 3, 0.2
_POWER = math.log(_RELEVANT) / math.log(_FIELDS_RELEVANT)


class Closeness(NamedTuple):
    """The closeness of a text to each side of a topic, both in [0, 1]: 0 where the topic has no such side."""

    keywords: float
    documents: float


class Closenesses(NamedTuple):
    """The closeness of many texts, as ``Closeness``; ``speaking`` is 1 for those that have words, and 0 for others."""

    keywords: Floats
    documents: Floats
    speaking: Floats

    def at(self, places: NDArray[np.integer]) -> "Closenesses":
        """Return those of the texts at some places."""
        return Closenesses(self.keywords.take(places), self.documents.take(places), self.speaking.take(places))


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expectation for a kind of text: how many of the keywords' terms it should have, and the least weight.

    A text counts as having at least the weight ``least``, so that one word does not make it relevant.
    """

    terms: int
    least: float = 0.0


PAGE = Expectation(6, 200 * 7.0)
"""At least the weight of two hundred ordinary terms."""
_LEAST_SQUARE = 200 * salience(7.0)
"""The squared length of such a text in a comparison with documents."""
PARAGRAPH = Expectation(2)
ANCHOR = Expectation(1)


def score(topic: TopicVector, closeness: Closeness) -> float:
    """Return the one number in [0, 1] that a closeness comes to; the module's docstring says how."""
    return scores(topic, *closeness)


def scores(topic: TopicVector, keywords: Number, documents: Number) -> Number:
    """Combine both sides of closenesses into scores."""
    if not topic.documents.weights:
        return keywords
    raised: Number = documents**_POWER
    return (keywords + raised) / 2 if topic.keywords.weights else raised


class Measure:
    """Measures texts of one language against a topic.

    Equal texts are equally close, whatever was measured before. Not for several threads.
    """

    def __init__(self, topic: TopicVector) -> None:
        self.topic = topic
        self._comparer = Comparer(topic)

    def units(self, units: Units, vocabulary: Vocabulary) -> "Measured":
        """Measure texts, all at once, that were read with a vocabulary."""
        return Measured(self.topic, self._comparer.keywords, self._comparer.compare(units, vocabulary))


@dataclass(frozen=True, slots=True)
class Measured:
    """The closeness of texts to a topic, each by itself and several together."""

    topic: TopicVector
    side: KeywordSide
    compared: Compared

    def near(self, expectations: Sequence[Expectation]) -> Sequence[Closenesses]:
        """Return the closeness of each text under one expectation after the other."""
        compared, n = self.compared, len(self.compared.weights)
        documents = compared.cosines if self.topic.documents.weights else np.zeros(n)
        found = _Found.of(compared.hits, self.side, n)
        keywords = [found.closeness(compared.weights, self.side, each) for each in expectations]
        return [Closenesses(each, documents, compared.speaking) for each in keywords]

    def together(self, shares: Floats, speaking: NDArray[np.bool_]) -> Closeness:
        """Return the closeness of the first texts together, each with its share, to the documents.

        Keywords are looked for in those that are ``speaking``.
        """
        compared, weights = self.compared, self.compared.weights[: len(shares)]
        documents = compared.together(shares) if self.topic.documents.weights else 0.0
        found = _Found.of(_within(compared.hits, np.where(speaking, 0, -1)), self.side, 1)
        (keywords,) = found.closeness(np.array([weights @ speaking]), self.side, PAGE).tolist()
        return Closeness(keywords, documents)

    def groups(self, groups: Integers, n: int) -> Closenesses:
        """Return the closeness of ``n`` groups of the first texts; ``groups`` has the group of each text.

        Groups ascend. All count as speaking.
        """
        compared = self.compared
        weights = sums(groups, compared.weights[: len(groups)], n)
        keywords = _Found.of(_within(compared.hits, groups), self.side, n).closeness(weights, self.side, PAGE)
        has_documents = bool(self.topic.documents.weights)
        documents = compared.cosines_of(groups, n, _LEAST_SQUARE) if has_documents else np.zeros(n)
        return Closenesses(keywords, documents, np.ones(n))


class _Found(NamedTuple):
    """The keywords found in those of ``n`` texts that have some: see ``to_keywords``."""

    n: int
    texts: Integers
    on_topic: Floats
    of_phrases: Floats
    dots: Floats
    matched: Integers

    @classmethod
    def of(cls, hits: Hits, side: KeywordSide, n: int) -> "_Found":
        """Sum up the keywords in each text."""
        if not len(hits.units):
            nothing = np.zeros(0)
            return cls(n, hits.units, nothing, nothing, nothing, hits.units)
        bits = len(side.names).bit_length()
        found, times = counted(hits.units << bits | hits.keywords)
        owners, keywords = found >> bits, found & (1 << bits) - 1
        begins = runs(owners)
        places = np.zeros(len(owners), np.int64)
        places[begins[1:]] = 1
        places = places.cumsum()
        dots = np.sqrt(times) * side.products[keywords]
        return cls(
            n,
            owners[begins],
            sums(places, times * side.idf[keywords], len(begins)),
            sums(places, times * side.phrase_idf[keywords], len(begins)),
            sums(places, dots, len(begins)),
            np.bincount(places, minlength=len(begins)),
        )

    def closeness(self, weights: Floats, side: KeywordSide, expected: Expectation) -> Floats:
        """Return the closeness of all texts to the keywords, by their weights; 0 for those without keywords."""
        close = np.zeros(self.n)
        if len(self.texts):
            reach = side.reach[np.minimum(np.maximum(self.matched, expected.terms), len(side.reach) - 1)]
            coverage = self.dots / (np.sqrt(self.on_topic) * reach)
            share = self.on_topic / np.maximum(weights[self.texts] + self.of_phrases, expected.least)
            close[self.texts] = np.minimum(1.0, coverage * share / (share + _HALF_SHARE) * (1.0 + _HALF_SHARE))
        return close


def _within(hits: Hits, groups: Integers) -> Hits:
    """Return the hits in the first units by the groups of these; those of the group -1 are left out."""
    if not len(hits.units):
        return hits
    first = (hits.units < len(groups)).nonzero()[0]
    owners = groups[hits.units[first]]
    kept = (owners >= 0).nonzero()[0]
    return Hits(hits.keywords[first[kept]], owners[kept])


class Measures:
    """The measures of a topic, one for each language."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._by_language: dict[str | None, Measure] = {}

    def of(self, language: str | None) -> Measure:
        """Return the measure for texts of a language (ISO 639-1; None where it is unknown)."""
        vector = self._topic.vector(language)
        if vector.language.code not in self._by_language:
            self._by_language[vector.language.code] = Measure(vector)
        return self._by_language[vector.language.code]


def counts_closeness(
    counts: Mapping[str, int], topic: TopicVector, expectation: Expectation = PAGE, units: Iterable[Terms] = ()
) -> Closeness:
    """Compare counts of terms, such as the sum of those of several texts; phrases are looked for in the ``units``."""
    numbers, idf = counts.values(), tuple(map(topic.language.idf.__getitem__, counts))
    found = {term: counts[term] for term in topic.keywords.products if term in counts}
    found |= _phrases_in(units, found, topic)
    keywords = to_keywords(found, sum(map(mul, numbers, idf)), topic, expectation) if found else 0.0
    dot: float = sum(map(mul, numbers, map(topic.documents.products.get, counts, repeat(0.0))))
    length = math.sqrt(sum(map(mul, map(mul, numbers, numbers), map(salience, idf))))
    return Closeness(keywords, min(1.0, dot / length) if dot else 0.0)


def to_keywords(found: Mapping[str, int], weight: float, topic: TopicVector, expectation: Expectation) -> float:
    """Return the closeness to the keywords: their share of a text's weight, combined with their coverage.

    ``found`` counts the terms of keywords in it, at least one, and whole keywords of several words by their names;
    ``weight`` is the sum of ``count * idf`` over all of its terms.
    """
    keywords, idf, phrase_idf = topic.keywords, topic.language.idf, topic.phrase_idf
    matched = [(term, number, idf[term]) for term, number in found.items() if term not in phrase_idf]
    phrases = [(name, number, phrase_idf[name]) for name, number in found.items() if name in phrase_idf]
    of_phrases = math.fsum(number * each for _, number, each in phrases)
    on_topic = math.fsum(number * each for _, number, each in matched) + of_phrases
    dot = math.fsum(math.sqrt(number) * keywords.products[term] for term, number, _ in (*matched, *phrases))
    reach = keywords.reach[min(max(len(matched) + len(phrases), expectation.terms), len(keywords.reach) - 1)]
    coverage = dot / (math.sqrt(on_topic) * reach)
    share = on_topic / max(weight + of_phrases, expectation.least)
    return min(1.0, coverage * share / (share + _HALF_SHARE) * (1.0 + _HALF_SHARE))


def _phrases_in(units: Iterable[Terms], found: Mapping[str, int], topic: TopicVector) -> Mapping[str, int]:
    """Count the keywords of several words in units of text, by their names; all of their terms were found there."""
    possible = [
        phrase
        for first in topic.phrases
        if first in found
        for phrase in topic.phrases[first]
        if all(term in found for term in phrase)
    ]
    counts: Counter[str] = Counter()
    for terms in units if possible else ():
        for phrase in possible:
            starts = zip(*(terms[place:] for place in range(len(phrase))), strict=False)
            counts[" ".join(phrase)] += sum(start == phrase for start in starts)
    return +counts
