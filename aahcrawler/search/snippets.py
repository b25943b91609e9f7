"""The part of a text that shows best what was looked for, with the words marked."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from aahcrawler.search.query_language import Node, Words, leaves
from aahcrawler.search.text_index import stems_of, unspaced, words_of

LENGTH: Final = 240
"""Characters that a snippet has at most."""
_LOOKED_AT: Final = 60_000
"""Characters of a text in which words are looked for."""
_WORD: Final = re.compile(r"[^\W_]+")
_MOST: Final = 400
"""Places of a text that are weighed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a snippet; ``is_marked`` says that it is what was looked for."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    begin: int
    end: int
    what: int


class Marker:
    """Finds the words of a query in texts. Words that were spelt differently are found as the query allows it."""

    def __init__(self, node: Node | None, *, is_lenient: bool) -> None:
        asked = [leaf for leaf in leaves(node) if isinstance(leaf, Words)]
        self._runs = [run for leaf in asked for run in unspaced(leaf.text)]
        self._words: dict[str, int] = {}
        self._beginnings: list[str] = []
        self._near: list[tuple[str, int]] = []
        self._texts = [leaf.text for leaf in asked if not leaf.is_prefix]
        for leaf in asked:
            for word in words_of(leaf.text):
                self._words.setdefault(word, len(self._words))
                if leaf.is_prefix:
                    self._beginnings.append(word)
                elif leaf.distance or (is_lenient and not leaf.is_phrase and len(word) > 3):
                    self._near.append((word, leaf.distance or (2 if len(word) > 7 else 1)))

    def snippet(self, text: str, language: str) -> tuple[Piece, ...]:
        """Return the best part of a text in one line, or its beginning where it has none of the words."""
        places = self._places(text[:_LOOKED_AT], language)
        begin, end = _window(text, places)
        pieces, at = list[Piece](), begin
        for place in places:
            if place.begin >= at and place.end <= end:
                pieces += [Piece(text[at : place.begin]), Piece(text[place.begin : place.end], is_marked=True)]
                at = place.end
        pieces.append(Piece(text[at:end]))
        shown = [Piece(re.sub(r"\s+", " ", each.text), each.is_marked) for each in pieces if each.text]
        before, after = "… " if begin else "", " …" if end < len(text) else ""
        return tuple(each for each in (Piece(before), *shown, Piece(after)) if each.text)

    def _places(self, text: str, language: str) -> list[_Place]:
        stems = {stem for asked in self._texts for stem in stems_of(asked, language)}
        known: dict[str, int] = {}
        found = [*self._unspaced_places(text)]
        for match in _WORD.finditer(text):
            word = match[0]
            what = known.get(word)
            if what is None:
                what = known[word] = self._what(word, language, stems)
            if what >= 0:
                found.append(_Place(match.start(), match.end(), what))
                if len(found) >= _MOST:
                    break
        return sorted(found, key=lambda place: place.begin)

    def _unspaced_places(self, text: str) -> Iterator[_Place]:
        for number, run in enumerate(self._runs):
            at = text.find(run)
            for _ in range(_MOST):
                if at < 0:
                    break
                yield _Place(at, at + len(run), -1 - number)
                at = text.find(run, at + len(run))

    def _what(self, word: str, language: str, stems: set[str]) -> int:
        """Return the number of the word of the query that a word of the text is, -1 for none."""
        folded = _folded(word)
        if folded in self._words:
            return self._words[folded]
        if stems and stems.intersection(stems_of(word, language)):
            return len(self._words)
        if any(folded.startswith(each) for each in self._beginnings):
            return len(self._words) + 1
        near = any(_is_near(folded, each, distance) for each, distance in self._near)
        return len(self._words) + 2 if near else -1


def _window(text: str, places: Sequence[_Place]) -> tuple[int, int]:
    """Return the part of a text with the most different words, whole words at its ends."""
    best, begin = 0, 0
    for number, place in enumerate(places):
        within = set[int]()
        for other in places[number:]:
            if other.end > place.begin + LENGTH * 3 // 4:
                break
            within.add(other.what)
        if len(within) > best:
            best, begin = len(within), place.begin
    begin = max(0, begin - LENGTH // 4)
    if begin:
        space = text.find(" ", begin, begin + 30)
        begin = space + 1 if space >= 0 else begin
    end = min(len(text), begin + LENGTH)
    if end < len(text):
        space = text.rfind(" ", end - 30, end)
        end = space if space > begin else end
    return begin, end


@lru_cache(maxsize=50_000)
def _folded(word: str) -> str:
    return next(iter(words_of(word)), "")


def _is_near(one: str, other: str, distance: int) -> bool:
    """Return whether a few letters to change, add, leave out or swap make one word the other (OSA distance)."""
    if abs(len(one) - len(other)) > distance or len(one) > 40:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for n, letter in enumerate(one, 1):
        new = [n]
        for m, beside in enumerate(other, 1):
            cost = min(row[m] + 1, new[m - 1] + 1, row[m - 1] + (letter != beside))
            if n > 1 and m > 1 and letter == other[m - 2] and one[n - 2] == beside:
                cost = min(cost, before[m - 2] + 1)
            new.append(cost)
        if min(new) > distance:
            return False
        before, row = row, new
    return row[-1] <= distance
