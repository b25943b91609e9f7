"""How much a text speaks of a topic, measured on counts of terms.

Terms weigh by their idf, once: the product of two vectors of counts is the sum of ``count * count * idf``.

**Reference documents** are compared as in the simulations of ARCOMEM (section 5.1): by the cosine of a page's counts
with the sum of the counts of all documents. There a page is relevant from a third on. The score is the cosine to the
power that makes a third 0.2, the default of ``scoring.relevant``; it orders pages as the cosine does.

**Keywords and entities** are too few for that: the cosine of a page that never leaves the topic falls with its length,
and with the number of keywords. It is a product of two factors, each of which is mended::

    cos(text, keywords) = |text'| / |text|  *  cos(text', keywords)         text' = the keywords in the text
                             share                 coverage

- Share is the part of a text's weight, the sum of ``count * idf``, that lies in keywords. It is saturated:
  ``share / (share + 0.04)``, which is one half for a twenty-fifth. Repetition counts by its square root in the cosine:
  a page repeats some words without end, whatever it is about.
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

from online_analysis.comparing import Compared, Comparer
from online_analysis.counting import Terms
from online_analysis.topic import Topic, TopicVector

_HALF_SHARE = 0.04
_FIELDS_RELEVANT, _RELEVANT = 1 / 3, 0.2
_REMEMBERED_TEXTS = 20_000
_POWER = math.log(_RELEVANT) / math.log(_FIELDS_RELEVANT)


class Closeness(NamedTuple):
    """How close a text is to each side of a topic, both in [0, 1]: 0 where the topic has no such side."""

    keywords: float
    documents: float


NOT_CLOSE = Closeness(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a text of some kind is held against: terms that it should have of the keywords, and the least weight.

    A text counts as having at least the weight ``least``, so that one word does not make it relevant.
    """

    terms: int
    least: float = 0.0


PAGE = Expectation(6, 200 * 7.0)
"""At least the weight of two hundred ordinary terms."""
PARAGRAPH = Expectation(2)
ANCHOR = Expectation(1)


def score(topic: TopicVector, closeness: Closeness) -> float:
    """Return the one number in [0, 1] that a closeness comes to; the module's docstring says how."""
    documents = closeness.documents**_POWER if closeness.documents else 0.0
    if not topic.keywords.weights:
        return documents
    return (closeness.keywords + documents) / 2 if topic.documents.weights else closeness.keywords


class Measure:
    """Measures pages and short texts of one language against a topic.

    How close short texts are is remembered, for a bounded number of them: most anchors of a site stand on many of its
    pages. Equal texts are equally close, whatever was measured before. Not for several threads.
    """

    def __init__(self, topic: TopicVector) -> None:
        self.topic = topic
        self._comparer = Comparer(topic)
        self._known: dict[str, _Known] = {}
        self._near: dict[int, dict[str, Closeness | None]] = {}

    def page(
        self, pieces: Sequence[Terms], shares: Sequence[float], near: Iterable[tuple[str, Terms]] = ()
    ) -> "PageMeasured":
        """Measure a page in pieces, each of which counts by its share; learn the texts of its links along with it."""
        return PageMeasured(self.topic, self._compare(near, pieces, shares))

    def learn(self, texts: Iterable[tuple[str, Terms]]) -> None:
        """Compare short texts, given with their terms, with the topic, all at once."""
        self._compare(texts, (), ())

    def near(self, texts: Iterable[str], expectation: Expectation) -> list[Closeness | None]:
        """Return how close short texts are, None for one without words. They were learned with the last page."""
        near = self._near.setdefault(expectation.terms, {})
        return [near[text] if text in near else self._measure(text, expectation, near) for text in texts]

    def _compare(
        self, texts: Iterable[tuple[str, Terms]], pieces: Sequence[Terms], shares: Sequence[float]
    ) -> Compared:
        if len(self._known) > _REMEMBERED_TEXTS:
            self._known.clear()
            self._near.clear()
        new = {text: terms for text, terms in texts if text not in self._known}
        compared = self._comparer.compare([*pieces, *new.values()], shares, PAGE.least)
        for place, (text, terms) in enumerate(new.items(), len(pieces)):
            found = compared.keywords.get(place)
            self._known[text] = _Known(terms, compared.cosines[place], found, compared.weights[place])
        return compared

    def _measure(self, text: str, expectation: Expectation, near: dict[str, Closeness | None]) -> Closeness | None:
        terms, cosine, found, weight = self._known[text]
        closeness: Closeness | None = None
        if terms and not (terms[0].isdigit() and all(map(str.isdigit, terms))):
            keywords = to_keywords(found, weight, self.topic, expectation) if found else 0.0
            closeness = Closeness(keywords, cosine)
        near[text] = closeness
        return closeness


class _Known(NamedTuple):
    """A short text: its terms, its cosine with the documents, the terms of keywords in it, and its weight."""

    terms: Terms
    cosine: float
    keywords: Mapping[str, int] | None
    weight: float


@dataclass(frozen=True, slots=True)
class PageMeasured:
    """How close a page is to a topic, as a whole and by pieces."""

    topic: TopicVector
    compared: Compared

    def piece(self, place: int) -> Closeness:
        """Return how close one piece is."""
        return Closeness(self.keywords([place]), self.compared.cosines[place])

    def keywords(self, places: Sequence[int]) -> float:
        """Return how close some pieces together are to the keywords."""
        found: Counter[str] = Counter()
        for place in places:
            found.update(self.compared.keywords.get(place, {}))
        if not found:
            return 0.0
        weight = math.fsum(self.compared.weights[place] for place in places)
        return to_keywords(found, weight, self.topic, PAGE)


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
    length = math.sqrt(sum(map(mul, map(mul, numbers, numbers), idf)))
    return Closeness(keywords, min(1.0, dot / length) if dot else 0.0)


def to_keywords(found: Mapping[str, int], weight: float, topic: TopicVector, expectation: Expectation) -> float:
    """Return how much of a text is keywords, and how many of them there are.

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
