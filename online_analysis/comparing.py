"""Compares many pieces of text with a topic at once.

A page has about a hundred pieces of a few words each. Taken one after the other they cost more than all of their words
do, so the words of all of them are looked up in one go and summed as arrays.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from online_analysis.counting import Terms
from online_analysis.topic import TopicVector

_MOST_TERMS = 1 << 17
_TERM_BITS = 20
_FIRST_SIZE = 1 << 12

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison of pieces says, by their positions.

    ``cosines`` are those with the reference documents, in [0, 1], and ``together`` is that of the sum of some pieces.
    ``weights`` are sums of ``count * idf``. ``keywords`` counts, in pieces that have some, the terms of keywords, and
    whole keywords of several words by their names in ``TopicVector.phrase_idf``.
    """

    together: float
    cosines: Sequence[float]
    weights: Sequence[float]
    keywords: Mapping[int, Counter[str]]


class Comparer:
    """Knows the idf and the weight of the terms it has met in one language, a bounded number of them.

    Equal pieces have equal cosines, whatever was met before. Not for several threads.
    """

    def __init__(self, topic: TopicVector) -> None:
        self._topic = topic
        self._known = _Known(topic)

    def compare(self, pieces: Sequence[Terms], shares: Sequence[float], least: float = 0.0) -> Compared:
        """Compare pieces, and the sum of the first of them, of which each counts by its share.

        Taken alone, those that have a share count as no shorter than a text whose squared length is ``least``.
        """
        if len(self._known) > _MOST_TERMS:
            self._known = _Known(self._topic)
        known, number = self._known, len(pieces)
        lengths = [len(terms) for terms in pieces]
        total = sum(lengths)
        terms = np.fromiter(map(known.__getitem__, chain.from_iterable(pieces)), np.int64, total)
        piece = np.repeat(np.arange(number), lengths)
        idf = known.idf[terms]
        together, cosines = 0.0, [0.0] * number
        if self._topic.documents.weights:
            products = known.products[terms]
            within = sum(lengths[: len(shares)])
            together = known.cosine(terms[:within], np.repeat(shares, lengths[: len(shares)]), products[:within])
            floors = np.zeros(number)
            floors[: len(shares)] = least
            dots = np.bincount(piece, products, number)
            lengths_of = np.sqrt(np.maximum(known.squares(terms, piece, number), floors))
            cosines = np.minimum(1.0, np.divide(dots, lengths_of, out=np.zeros(number), where=dots > 0)).tolist()
        return Compared(together, cosines, np.bincount(piece, idf, number).tolist(), known.keywords_in(terms, piece))


class _Known(dict[str, int]):
    """Numbers the terms that are met; ``idf`` and ``products`` are by these numbers."""

    def __init__(self, topic: TopicVector) -> None:
        super().__init__()
        self.idf: Floats = np.zeros(_FIRST_SIZE)
        self.products: Floats = np.zeros(_FIRST_SIZE)
        self._counts: Floats = np.zeros(_FIRST_SIZE)
        self._keywords = sorted(topic.keywords.products.keys() - topic.phrase_idf.keys())
        self._topic = topic
        self._numbered = [self[term] for term in self._keywords]
        self._phrases = {
            self[first]: [(tuple([self[term] for term in phrase]), " ".join(phrase)) for phrase in phrases]
            for first, phrases in topic.phrases.items()
        }

    def __missing__(self, term: str) -> int:
        number = len(self)
        if number == len(self.idf):
            more = np.zeros(number)
            self.idf, self.products = np.concatenate([self.idf, more]), np.concatenate([self.products, more])
            self._counts = np.concatenate([self._counts, more])
        self.idf[number] = self._topic.language.idf[term]
        self.products[number] = self._topic.documents.products.get(term, 0.0)
        self[term] = number
        return number

    def cosine(self, terms: Integers, shares: Floats, products: Floats) -> float:
        """Return the cosine of a text, each term of which counts by its share."""
        dot = float(shares @ products)
        if not dot:
            return 0.0
        np.add.at(self._counts, terms, shares)
        square = float(shares * self._counts[terms] @ self.idf[terms])
        self._counts[terms] = 0.0
        return min(1.0, dot / math.sqrt(square))

    def squares(self, terms: Integers, piece: Integers, number: int) -> Floats:
        """Return the squared length of each piece."""
        keys = np.sort(piece << _TERM_BITS | terms)
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        distinct = keys[starts]
        counts = np.diff(starts, append=len(keys))
        squares: Floats = counts * counts * self.idf[distinct & (1 << _TERM_BITS) - 1]
        of_pieces: Floats = np.bincount(distinct >> _TERM_BITS, squares, number).astype(np.float64, copy=False)
        return of_pieces

    def keywords_in(self, terms: Integers, piece: Integers) -> Mapping[int, Counter[str]]:
        """Count keywords and their terms, which have the first numbers, in the pieces that have some."""
        places = np.flatnonzero(terms < len(self._numbered))
        numbers, pieces = terms[places].tolist(), piece[places].tolist()
        found: dict[int, Counter[str]] = {}
        for index, (number, of) in enumerate(zip(numbers, pieces, strict=True)):
            counts = found.setdefault(of, Counter())
            counts[self._keywords[number]] += 1
            for phrase, name in self._phrases.get(number, ()):
                end = index + len(phrase)
                if (
                    tuple(numbers[index:end]) == phrase
                    and pieces[end - 1] == of
                    and places[end - 1] - places[index] == len(phrase) - 1
                ):
                    counts[name] += 1
        return found
