"""The distinctive words and pairs of words of a text: those that it has more often than texts of its language have."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from online_analysis.terms import Language, is_unspaced, tokenize

_CLAUSE = re.compile(r"[.,;:!?()\[\]{}\"“”„«»|\n\r\t–—/]+")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_SHORT: Final = 300
"""Words of a text in which what stands there once may be distinctive."""
_COVERED: Final = 0.5
"""The share of a word's places from which on a pair that it is in says it all."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a pair of words as the text writes it, how often, and how distinctive it is (tf-idf)."""

    words: str
    count: int
    distinction: float


class _Counts:
    """Counts of words by their stems, of pairs of them, and how each is written."""

    def __init__(self, lines: Iterable[str], language: Language) -> None:
        self.words: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.written: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.number = 0
        for line in lines:
            for clause in _CLAUSE.split(line):
                self._add([word for word in _WORD.findall(clause) if not is_unspaced(word)], language)

    def _add(self, words: Sequence[str], language: Language) -> None:
        told = [(word, _term(word, language)) for word in words]
        self.number += len(told)
        for word, term in told:
            if term:
                self.words[term] += 1
                self.written[(term,)][word] += 1
        for (one, first), (other, second) in pairwise(told):
            if first and second and first != second:
                self.pairs[first, second] += 1
                self.written[first, second][f"{one} {other}"] += 1

    def found(self) -> Mapping[tuple[str, ...], int]:
        """Return what may be distinctive: pairs that repeat, and words that do not mostly stand in one of them."""
        pairs: dict[tuple[str, ...], int] = {pair: times for pair, times in self.pairs.items() if times >= 2}
        covered = {term for pair, times in pairs.items() for term in pair if times >= _COVERED * self.words[term]}
        least = 1 if self.number <= _SHORT else 2
        words = {term: times for term, times in self.words.items() if times >= least and term not in covered}
        return {**{(term,): times for term, times in words.items()}, **pairs}


def distinctive_terms(lines: Iterable[str], language: Language, most: int) -> list[Term]:
    """Return the most distinctive terms, the most distinctive first.

    Words are counted by their stems, and written as most of the text writes them. Of scripts that write no spaces there
    are none: what a word is cannot be told by its characters alone.
    """
    counts = _Counts(lines, language)
    terms = [
        Term(
            _spelling(counts.written[key]), times, (1 + math.log(times)) * math.fsum(language.idf[each] for each in key)
        )
        for key, times in counts.found().items()
    ]
    return sorted(terms, key=lambda term: (-term.distinction, term.words))[:most]


def _term(word: str, language: Language) -> str:
    """Return what a word counts as, empty for one that says nothing: function words, numbers, parts of words."""
    tokens = tokenize(word)
    stems = language.stems(tokens)
    if not tokens or not all(stems) or all(token.isdigit() for token in tokens) or max(map(len, tokens)) < 3:
        return ""
    return "-".join(stems)


def _spelling(written: Counter[str]) -> str:
    return min(written.items(), key=lambda item: (-item[1], item[0]))[0]
