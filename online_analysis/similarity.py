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
from functools import cached_property
from itertools import repeat
from operator import mul
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from online_analysis.term_arrays import Floats, Integers, Terms, Units, Vocabulary
from online_analysis.topic import Number, Topic, TopicVector, salience

_NARROW = 1 << 31
_Integer = TypeVar("_Integer", np.int32, np.int64)


class Hits(NamedTuple):
    """The occurrences of keywords, as terms and as whole phrases: their numbers, and the units they are in."""

    keywords: Integers
    units: Integers


class _Counted(NamedTuple):
    """Each term of each unit once, with how often it occurs there, by terms and then by units."""

    terms: Integers
    units: Integers
    counts: Integers


@dataclass(frozen=True, slots=True)
class KeywordSide:
    """The keywords of a topic as arrays: their terms, and behind these those of several words.

    ``idf`` is that of a term or a phrase, and ``phrase_idf`` 0 for terms; the others are as in ``Direction``.
    """

    names: Sequence[str]
    idf: Floats
    phrase_idf: Floats
    products: Floats
    reach: Floats

    @classmethod
    def of(cls, topic: TopicVector) -> "KeywordSide":
        """Return the keyword side of a topic."""
        products = topic.keywords.products
        terms, phrases = sorted(products.keys() - topic.phrase_idf.keys()), sorted(products.keys() & topic.phrase_idf)
        phrase_idf = np.array([0.0] * len(terms) + [topic.phrase_idf[name] for name in phrases])
        idf = np.array([topic.language.idf[name] for name in terms] + [topic.phrase_idf[name] for name in phrases])
        names = (*terms, *phrases)
        return cls(names, idf, phrase_idf, np.array([products[name] for name in names]), np.array(topic.keywords.reach))


class Comparer:
    """Compares texts in one language with a topic. It keeps no state between comparisons."""

    def __init__(self, topic: TopicVector) -> None:
        self._topic = topic
        self.keywords = KeywordSide.of(topic)
        self._numbered: _Numbered | None = None

    def compare(self, units: Units, vocabulary: Vocabulary) -> "Compared":
        """Compare texts that were read with a vocabulary."""
        numbered = self._numbered
        if numbered is None or numbered.vocabulary is not vocabulary:
            numbered = self._numbered = _Numbered(self._topic, self.keywords.names, vocabulary)
        numbered.widen()
        return Compared(units, numbered)


class Compared:
    """The result of comparing units with a topic, by position; ``weights`` are sums of ``count * idf``."""

    def __init__(self, units: Units, numbered: "_Numbered") -> None:
        self._numbered = numbered
        self._terms = units.terms
        self._owners = units.owners
        self._n = len(units)
        self._idf = numbered.vocabulary.idf
        self.weights = self._sums(self._idf)

    def _sums(self, values: Floats) -> Floats:
        """Sum a value over the terms of each unit."""
        return sums(self._owners, values.take(self._terms), self._n)

    @cached_property
    def speaking(self) -> Floats:
        """1 for each unit with terms other than numbers, 0 for others."""
        return np.minimum(self._sums(self._numbered.vocabulary.worded), 1.0)

    @cached_property
    def hits(self) -> Hits:
        """The keywords in all units."""
        numbers = self._numbered.keywords.take(self._terms)
        places = (numbers >= 0).nonzero()[0]
        found = Hits(numbers[places], self._owners[places])
        phrases = self._numbered.phrases
        return _with_phrases(found, places, phrases) if phrases and len(places) > 1 else found

    @cached_property
    def cosines(self) -> Floats:
        """The cosines with the reference documents, in [0, 1]."""
        terms, units, counts = self._counted
        return _cosines(self._dots, sums(units, counts * counts * self._salience(terms), self._n))

    def cosines_of(self, groups: Integers, n: int, least: float) -> Floats:
        """Return the cosines of ``n`` groups of the first units; ``groups`` ascends and has the group of each of them.

        They count as no shorter than a text whose squared length is ``least``.
        """
        terms, units, counts = self._counted
        within = (units < len(groups)).nonzero()[0]
        terms, owners, counts = terms[within], groups[units[within]], counts[within]
        if not len(terms):
            return np.zeros(n)
        begins = runs(terms, owners)
        totals = np.add.reduceat(counts, begins)
        squares = sums(owners[begins], totals * totals * self._salience(terms[begins]), n)
        return _cosines(sums(groups, self._dots[: len(groups)], n), np.maximum(squares, least))

    def together(self, shares: Floats) -> float:
        """Return the cosine of the sum of the first units, of which each counts by its share."""
        dot = float(shares @ self._dots[: len(shares)])
        if not dot:
            return 0.0
        terms, units, counts = self._counted
        every = np.zeros(self._n)
        every[: len(shares)] = shares
        begins = runs(terms)
        totals = np.add.reduceat(counts * every.take(units), begins)
        square = float(totals * totals @ self._salience(terms.take(begins)))
        return min(1.0, dot / math.sqrt(square))

    def _salience(self, terms: Integers) -> Floats:
        """Return the salience of terms in a comparison with documents."""
        return salience(self._idf.take(terms))

    @cached_property
    def _dots(self) -> Floats:
        return self._sums(self._numbered.products)

    @cached_property
    def _counted(self) -> _Counted:
        bits = self._n.bit_length()
        keys = self._terms << bits | self._owners
        is_narrow = len(self._numbered.vocabulary.names) << bits < _NARROW
        distinct, counts = counted(keys.astype(np.int32) if is_narrow else keys)  # These are sorted twice as fast.
        distinct = distinct.astype(np.int64)
        return _Counted(distinct >> bits, distinct & (1 << bits) - 1, counts)


def runs(*columns: NDArray[np.integer]) -> Integers:
    """Return the positions at which a value differs from the one before it, in any of several parallel columns."""
    changes = np.ones(len(columns[0]), np.bool_)
    np.not_equal(columns[0][1:], columns[0][:-1], out=changes[1:])
    for column in columns[1:]:
        changes[1:] |= column[1:] != column[:-1]
    return changes.nonzero()[0]


def sums(places: Integers, values: NDArray[np.number], n: int) -> Floats:
    """Return the sum of the values at each of ``n`` places."""
    return np.bincount(places, values, n).astype(np.float64, copy=False)


def counted(keys: NDArray[_Integer]) -> tuple[NDArray[_Integer], Integers]:
    """Return each of some numbers once, in their order, and how often it occurs."""
    keys = np.sort(keys)
    starts = runs(keys)
    ends = np.empty_like(starts)
    ends[:-1], ends[-1:] = starts[1:], len(keys)
    return keys.take(starts), ends - starts


class _Numbered:
    """A topic by the numbers of its terms in a vocabulary: ``products`` and ``keywords``, -1 for a term of neither.

    ``phrases`` are keywords of several words by the first of them: the others, and the number of the whole.
    """

    def __init__(self, topic: TopicVector, names: Sequence[str], vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        documents = {vocabulary.number(term): product for term, product in topic.documents.products.items()}
        numbers = {name: number for number, name in enumerate(names)}
        keywords = {vocabulary.number(name): numbers[name] for name in names if name not in topic.phrase_idf}
        self.phrases: Mapping[int, Sequence[tuple[tuple[int, ...], int]]] = {
            numbers[first]: [(tuple([numbers[term] for term in phrase]), numbers[" ".join(phrase)]) for phrase in found]
            for first, found in topic.phrases.items()
            if first in numbers
        }
        self.products = np.zeros(2 * len(vocabulary.names))
        self.keywords = np.full(2 * len(vocabulary.names), -1, np.int64)
        self.products[list(documents)] = list(documents.values())
        self.keywords[list(keywords)] = list(keywords.values())

    def widen(self) -> None:
        """Make room for the terms that are new in the vocabulary: the topic has none of them."""
        size = len(self.vocabulary.names)
        if size > len(self.products):
            self.products = np.concatenate([self.products, np.zeros(size)])
            self.keywords = np.concatenate([self.keywords, np.full(size, -1, np.int64)])


def _cosines(dots: Floats, squares: Floats) -> Floats:
    return np.minimum(1.0, dots / np.sqrt(np.where(dots > 0.0, squares, 1.0)))


def _with_phrases(hits: Hits, places: Integers, phrases: Mapping[int, Sequence[tuple[tuple[int, ...], int]]]) -> Hits:
    """Add the keywords of several words: their terms follow one another in a unit."""
    follows = (places[1:] - places[:-1] == 1) & (hits.units[1:] == hits.units[:-1])
    starts = np.flatnonzero(follows).tolist()
    if not starts:
        return hits
    numbers, units = hits.keywords.tolist(), hits.units.tolist()
    ends = np.flatnonzero(np.append(~follows, True)).tolist()
    found: list[int] = []
    owners: list[int] = []
    run = 0
    for start in starts:
        while ends[run] < start:
            run += 1
        for phrase, number in phrases.get(numbers[start], ()):
            end = start + len(phrase)
            if end <= ends[run] + 1 and tuple(numbers[start:end]) == phrase:
                found.append(number)
                owners.append(units[start])
    return Hits(np.append(hits.keywords, np.array(found, np.int64)), np.append(hits.units, np.array(owners, np.int64)))


_HALF_SHARE = 0.04
_FIELDS_RELEVANT, _RELEVANT = 1 / 3, 0.2
_POWER = math.log(_RELEVANT) / math.log(_FIELDS_RELEVANT)


class Closeness(NamedTuple):
    """The closeness of a text to each side of a topic, both in [0, 1]: 0 where the topic has no such side."""

    keywords: float
    documents: float


class Closenesses(NamedTuple):
    """The closeness of many texts, as ``Closeness``; ``speaking`` is 1 for texts with words, and 0 for others."""

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
_MIN_SQUARE = 200 * salience(7.0)
"""The squared length of such a text in a comparison with documents."""
PARAGRAPH = Expectation(2)
ANCHOR = Expectation(1)


def score(topic: TopicVector, closeness: Closeness) -> float:
    """Return the score in [0, 1] of a closeness; the module's docstring defines it."""
    return scores(topic, *closeness)


def scores(topic: TopicVector, keywords: Number, documents: Number) -> Number:
    """Combine both sides of closenesses into scores."""
    if not topic.documents.weights:
        return keywords
    raised: Number = documents**_POWER
    return (keywords + raised) / 2 if topic.keywords.weights else raised


class Measure:
    """Measures texts of one language against a topic.

    Equal texts are equally close, whatever was measured before. Not thread-safe.
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
        documents = compared.cosines_of(groups, n, _MIN_SQUARE) if has_documents else np.zeros(n)
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
