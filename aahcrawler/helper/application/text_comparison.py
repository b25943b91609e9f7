"""Compare the texts of two readings of one page: what one has and the other lacks, line by line."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aahcrawler.helper.parts.part_text import body_of
from aahcrawler.page.text import bare
from aahcrawler.webobject import WebObject

HELD: Final = 0.5
"""The share of a text from which on another one has it."""

MOST_HOLDERS: Final = 50
"""Texts with one line, such as thanks, that are compared."""

MOST_SEARCHED: Final = 100_000_000
"""Letters of a page that are searched: no page of people's making needs more."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An object and the one of the other reading that shares most with it: which shares of each are in the other."""

    own: WebObject
    other: WebObject
    of_own: float
    of_other: float

    @property
    def is_same(self) -> bool:
        """Return whether both are the same object."""
        return self.of_own >= HELD and self.of_other >= HELD


class ReadTexts:
    """The objects of a reading that have a text.

    ``lines`` are the lines of each text by their letters, ``sizes`` how many letters these are, ``holders`` the places
    of the objects that have a line.
    """

    def __init__(self, objects: Iterable[WebObject]) -> None:
        """Take the objects that have a text."""
        self.objects: Sequence[WebObject] = [each for each in objects if bare(body_of(each))]
        self.lines = [lines_of(body_of(each)) for each in self.objects]
        self.sizes = [sum(map(len, lines)) for lines in self.lines]
        self.holders: defaultdict[str, list[int]] = defaultdict(list)
        for place, lines in enumerate(self.lines):
            for line in lines:
                self.holders[line].append(place)
        self._whole = "\n".join("".join(lines) for lines in self.lines)
        self._searched = 0

    def size(self, place: int) -> int:
        """Return the number of letters of an object's text."""
        return self.sizes[place]

    def pair(self, place: int, other: "ReadTexts") -> Pair | None:
        """Return an object with the one of another reading that shares most lines with it; None if none shares any."""
        shared = self.shared(place, other)
        if not shared:
            return None
        size = self.size(place)
        best = max(shared, key=lambda holder: (shared[holder] / max(size, other.size(holder)), -holder))
        part = shared[best]
        return Pair(self.objects[place], other.objects[best], part / size, part / other.size(best))

    def shared(self, place: int, other: "ReadTexts") -> Mapping[int, int]:
        """Return how many letters of lines an object shares with each of another reading, by their places."""
        shared: Counter[int] = Counter()
        for line in self.lines[place]:
            for holder in other.holders.get(line, ())[:MOST_HOLDERS]:
                shared[holder] += len(line)
        return shared

    def is_within(self, place: int, whole: WebObject) -> bool:
        """Return whether an object of this reading is another one of it, or has no line that this has not: a quote."""
        return set(self.lines[place]) <= set(lines_of(body_of(whole)))

    def has(self, lines: Collection[str]) -> bool:
        """Return whether most of the lines of a text are somewhere in this reading, however they are broken there."""
        return self.letters_of(lines) >= HELD * sum(map(len, lines))

    def letters_of(self, lines: Iterable[str]) -> int:
        """Return the number of letters in the lines that this reading has."""
        return sum(len(line) for line in lines if line in self.holders or self._holds(line))

    def _holds(self, line: str) -> bool:
        """Search for a line within others; where that would take too long, it counts as not there."""
        self._searched += len(self._whole)
        return self._searched <= MOST_SEARCHED and line in self._whole


def lines_of(text: str) -> tuple[str, ...]:
    """Return the different lines of a text by their letters."""
    return tuple(dict.fromkeys(filter(None, map(bare, text.split("\n")))))
