"""The distinctive words and pairs of words of a text: those that it has more often than texts of its language have."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
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


def distinctive_terms(lines: Iterable[str], language: Language, most: int) -> list[Term]:
    """Return the most distinctive terms, the most distinctive first.

    Words are counted by their stems, and written as most of the text writes them. Of scripts that write no spaces there
    are none: what a word is cannot be told by its characters alone.
    """
    counts: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    written: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    number = 0
    for clause in (clause for line in lines for clause in _CLAUSE.split(line)):
        words = [word for word in _WORD.findall(clause) if not is_unspaced(word)]
        terms = [_term(word, language) for word in words]
        number += len(terms)
        for word, term in zip(words, terms, strict=True):
            if term:
                counts[term] += 1
                written[(term,)][word] += 1
        for (one, first), (other, second) in pairwise(zip(words, terms, strict=True)):
            if first and second and first != second:
                pairs[first, second] += 1
                written[first, second][f"{one} {other}"] += 1
    least = 1 if number <= _SHORT else 2
    repeated = {pair: times for pair, times in pairs.items() if times >= 2}
    covered = _covered(repeated, counts)
    found = {(term,): times for term, times in counts.items() if times >= least and term not in covered} | repeated
    terms_found = [
        Term(_spelling(written[key]), times, (1 + math.log(times)) * math.fsum(language.idf[each] for each in key))
        for key, times in found.items()
    ]
    return sorted(terms_found, key=lambda term: (-term.distinction, term.words))[:most]


def _term(word: str, language: Language) -> str:
    """Return what a word counts as, empty for one that says nothing: function words, numbers, parts of words."""
    tokens = tokenize(word)
    stems = language.stems(tokens)
    if not tokens or not all(stems) or all(token.isdigit() for token in tokens) or max(map(len, tokens)) < 3:
        return ""
    return "-".join(stems)


def _covered(pairs: Mapping[tuple[str, str], int], counts: Mapping[str, int]) -> set[str]:
    """Return the words that mostly stand in one pair."""
    return {term for pair, times in pairs.items() for term in pair if times >= _COVERED * counts[term]}


def _spelling(written: Counter[str]) -> str:
    return min(written.items(), key=lambda item: (-item[1], item[0]))[0]
