"""Finds names in texts by what other texts tell: such as are known there, and German places among German nouns.

Models and capitals miss a name in one text that they find in others. German writes all nouns with a capital, so that a
word alone tells nothing; but nouns have articles and adjectives before them, places hardly ever.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aahcrawler.annotations import Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.capitals import NOUNS_WITH_CAPITALS, WITHOUT_CAPITALS, names_by_capitals
from offline.enrichment.document_frequencies import DocumentFrequencies
from offline.enrichment.entity_names import MAX_NAME

MAX_NAMES: Final = 200
"""Names that are added to one object."""
_ELSEWHERE, _AMONG_NOUNS = 0.6, 0.5
_PAIR: Final = re.compile(r"(?<![\w-])([a-zäöüß]+|\d+) ([A-ZÄÖÜ][\w-]*\w)(?! [A-ZÄÖÜ])")
"""A word with a capital behind one without, and no other capital behind it."""
_TO_PLACES: Final = frozenset({"in", "nach", "aus"})
_BARE: Final = frozenset(
    {"ab", "bei", "bis", "dass", "für", "gegen", "hat", "ist", "über", "um", "und", "von", "wie", "zwischen"}
)
"""Words before which names stand without an article, and nouns of many things do as well."""
_NO_PLACES: Final = ("ung", "ungen", "heit", "keit", "ion", "tät", "ismus", "schaft", "nis")
"""Ends of German words for what is no place."""
_TEXTS: Final = 2
"""Texts that have to name a word as a place."""
_WAYS: Final = 2
"""Different words before it, in all texts: "in Bezug" is always "in"."""
_WITH_ARTICLE: Final = 0.2
"""Texts with an article or an adjective before it, for each one that names it as a place, at most."""


@dataclass(frozen=True, slots=True)
class MissedName:
    """A name in a text: its place, what bears it, and how that is known."""

    start: int
    end: int
    kind: Kind
    confidence: float
    by: str


class MissedNames:
    """Finds names that ``known`` tells by their words, and German places by all ``objects``.

    Memory use grows with the number of different places, and is 8 MiB beside.
    """

    def __init__(self, known: Mapping[str, Kind], objects: Iterable[ObjectText]) -> None:
        self._known = known
        self._seen = DocumentFrequencies()
        for given in objects:
            if given.language in NOUNS_WITH_CAPITALS:
                self._seen.add({f"{_way(before)} {word}" for _, before, word in _pairs(given.text)})
                self._seen.add({f"{before}+{word}" for _, before, word in _pairs(given.text) if _way(before) != "-"})

    def of(self, given: ObjectText, places: Sequence[tuple[int, int]]) -> Iterator[MissedName]:
        """Yield the names of an object that stand at none of the places of names that are known of it, in order."""
        if given.language in WITHOUT_CAPITALS:
            return
        at, found = 0, 0
        for each in self._candidates(given):
            while at < len(places) and places[at][1] <= each.start:
                at += 1
            if (at == len(places) or each.end <= places[at][0]) and found < MAX_NAMES:
                found += 1
                yield each

    def _candidates(self, given: ObjectText) -> Iterator[MissedName]:
        if given.language in NOUNS_WITH_CAPITALS:
            for start, before, word in _pairs(given.text):
                if _way(before) != "-" and self._is_place(word):
                    yield MissedName(start, start + len(word), Kind.PLACE, _AMONG_NOUNS, "nouns")
            return
        for each in names_by_capitals(given.text, given.language):
            kind = self._known.get(given.text[each.start : each.end])
            if kind is not None:
                yield MissedName(each.start, each.end, kind, _ELSEWHERE, "elsewhere")

    def _is_place(self, word: str) -> bool:
        named = self._seen[f"+ {word}"]
        if named < _TEXTS or word.endswith(_NO_PLACES) or self._seen[f"- {word}"] > _WITH_ARTICLE * named:
            return False
        return sum(self._seen[f"{before}+{word}"] > 0 for before in _TO_PLACES | _BARE) >= _WAYS


def _way(before: str) -> str:
    """Return how a word stands behind another one: as a place (``+``), bare (``0``), or as nouns do (``-``)."""
    return "+" if before in _TO_PLACES else "0" if before in _BARE else "-"


def _pairs(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield words with capitals within sentences, with their place and the word before."""
    for found in _PAIR.finditer(text):
        if len(found[2]) <= MAX_NAME:
            yield found.start(2), found[1], found[2]
