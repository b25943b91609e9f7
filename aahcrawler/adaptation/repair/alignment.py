"""Find the places of known texts on a page that may look quite different now."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from aahcrawler.induction.outline import Outline

SHINGLE = 4
"""The number of words in a row that identify a text."""
MOST_MATCHES = 12
"""The number of places on a page from which a row of words identifies nothing."""
LEAST_SHARE = 0.5
"""The share of a text's words that has to be found together."""
MOST_WORDS = 20_000
"""The most words of one text that are looked for."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def words(text: str) -> list[str]:
    """Return the words of a text as they are compared; each Chinese or Japanese character is one.

    >>> words("Ice, 12 cm thick!"), words("港口 ok")
    (['ice', '12', 'cm', 'thick'], ['港', '口', 'ok'])
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words ``first`` up to before ``last`` of a page, which contain ``share`` of the wanted text.

    ``matched`` are the positions of the words that belong to it.
    """

    first: int
    last: int
    share: float
    matched: frozenset[int]

    def overlaps(self, other: "Stretch") -> bool:
        """Return whether both have words in common."""
        return self.first < other.last and other.first < self.last


class WordTable:
    """The words of a page in document order; each lies in a piece of text of the outline."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.words: list[str] = []
        self.owners: list[int] = []
        for piece in outline.pieces:
            for word in words(piece.text):
                self.words.append(word)
                self.owners.append(piece.owner)
        self._rows: dict[int, Mapping[tuple[str, ...], list[int]]] = {}
        self._by_owner: dict[int, list[int]] = defaultdict(list)
        for position, owner in enumerate(self.owners):
            self._by_owner[owner].append(position)

    def positions(self, place: int) -> list[int]:
        """Return the positions of the words within an element, in order."""
        end = self.outline.ends[place]
        found = [position for owner in range(place, end) for position in self._by_owner.get(owner, ())]
        found.sort()
        return found

    def find(self, text: str) -> tuple[Stretch, ...]:
        """Return the places of a text, the best one first, without those that overlap a better one."""
        sought = words(text)[:MOST_WORDS]
        if not sought:
            return ()
        size = min(SHINGLE, len(sought))
        rows = self._rows_of(size)
        pairs = sorted(
            (position, number)
            for number in range(len(sought) - size + 1)
            for position in self._telling(rows, tuple(sought[number : number + size]), len(sought))
        )
        found = sorted(self._stretches(pairs, len(sought), size), key=lambda each: (-each.share, each.first))
        chosen: list[Stretch] = []
        for stretch in found:
            if not any(stretch.overlaps(other) for other in chosen):
                chosen.append(stretch)
        return tuple(chosen[:MOST_MATCHES])

    def _rows_of(self, size: int) -> Mapping[tuple[str, ...], list[int]]:
        if size not in self._rows:
            rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
            for position in range(len(self.words) - size + 1):
                rows[tuple(self.words[position : position + size])].append(position)
            self._rows[size] = rows
        return self._rows[size]

    def _telling(self, rows: Mapping[tuple[str, ...], list[int]], row: tuple[str, ...], sought: int) -> Sequence[int]:
        found = rows.get(row, ())
        # A short text has no other rows; of a long one there are enough that are rarer.
        return found if sought <= SHINGLE or len(found) <= MOST_MATCHES else ()

    def _stretches(self, pairs: Sequence[tuple[int, int]], sought: int, size: int) -> list[Stretch]:
        """Join matches near one another to stretches; keep those that contain enough of the text."""
        positions = [position for position, _ in pairs]
        found: list[Stretch] = []
        begin = 0
        slack = max(12, sought // 2)
        while begin < len(pairs):
            end = begin + 1
            while end < len(pairs) and positions[end] - positions[end - 1] <= slack:
                end += 1
            found += self._best(pairs[begin:end], sought, size)
            begin = end
        return found

    def _best(self, pairs: Sequence[tuple[int, int]], sought: int, size: int) -> list[Stretch]:
        """Cut a chain of matches where the text begins again: a page may contain it several times in a row."""
        chains: list[list[tuple[int, int]]] = [[]]
        seen: set[int] = set()
        for position, number in pairs:
            if number in seen and len(seen) >= LEAST_SHARE * (sought - size + 1) and number <= min(seen) + 1:
                chains.append([])
                seen = set()
            chains[-1].append((position, number))
            seen.add(number)
        stretches = []
        for chain in chains:
            covered = {number + step for _, number in chain for step in range(size)}
            share = len(covered) / sought
            if share >= LEAST_SHARE:
                matched = frozenset(position + step for position, _ in chain for step in range(size))
                stretches.append(Stretch(min(matched), max(matched) + 1, share, matched))
        return stretches


def placed(candidates: Sequence[Sequence[Stretch]], lengths: Sequence[int]) -> tuple[Stretch | None, ...]:
    """Choose for each of several texts, given in their former order, one of its places; no two overlap.

    Long texts are placed first; one with several places goes between its neighbours, in either order of the page.
    """
    chosen: list[Stretch | None] = [None] * len(candidates)
    for number in sorted(range(len(candidates)), key=lambda each: -lengths[each]):
        free = [
            stretch
            for stretch in candidates[number]
            if not any(other is not None and stretch.overlaps(other) for other in chosen)
        ]
        if free:
            best = [stretch for stretch in free if stretch.share >= free[0].share - 0.1]
            chosen[number] = min(best, key=lambda each: _strain(each, number, chosen))
    return tuple(chosen)


def _strain(stretch: Stretch, number: int, chosen: Sequence[Stretch | None]) -> tuple[int, int]:
    """Return the number of texts on the wrong side of a place, and the distance of the nearest neighbour."""
    known = [(other, each.first) for other, each in enumerate(chosen) if each is not None]
    if not known:
        return (0, stretch.first)
    falls = _falls(known)
    wrong = sum((other < number) != (first < stretch.first) for other, first in known)
    nearest = min(known, key=lambda each: abs(each[0] - number))
    return (len(known) - wrong if falls else wrong, abs(nearest[1] - stretch.first))


def _falls(known: Sequence[tuple[int, int]]) -> bool:
    """Return whether the page shows the last of the texts first."""
    firsts = [first for _, first in sorted(known)]
    steps = list(pairwise(firsts))
    return sum(one > other for one, other in steps) > len(steps) / 2


def within(positions: Sequence[int], first: int, last: int) -> int:
    """Return the number of sorted positions from ``first`` up to before ``last``.

    >>> within([1, 4, 5, 9], 4, 9)
    2
    """
    return bisect_left(positions, last) - bisect_left(positions, first) if positions else 0


def outside(positions: Sequence[int], first: int, last: int) -> int:
    """Return the number of sorted positions elsewhere.

    >>> outside([1, 4, 5, 9], 4, 9)
    2
    """
    return len(positions) - (bisect_right(positions, last - 1) - bisect_left(positions, first))
