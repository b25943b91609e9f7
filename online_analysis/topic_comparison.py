"""Compares all texts of a page with a topic at once.

A page has about a hundred texts of a few words each. Taken one after the other they cost more than all of their words
do, so their terms are weighed and summed as arrays.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from online_analysis.term_arrays import Floats, Integers, Units, Vocabulary
from online_analysis.topic import TopicVector, salience

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
        """Return that side of a topic."""
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
        """1 for each unit that has any terms but numbers, 0 for others."""
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
