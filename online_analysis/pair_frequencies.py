"""How often words stand beside one another in an archive: in how many of its pages each pair of stems is.

Lists of word frequencies have no pairs, so that these are counted in the archive that a collection is made from. A
file of them has a line for each pair, with tabs: language, pair, pages; the line of a language with an empty pair has
the number of its pages that were counted.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from online_analysis.term_arrays import Units
from online_analysis.terms import Frequencies

MAX_COUNTED: Final = 2_000_000
"""Different pairs that are counted at once; where there are more, those counted least are forgotten."""
MAX_KEPT: Final = 500_000
MIN_PAGES: Final = 3
"""Pairs on fewer pages say no more than their words do."""


class PairsError(ValueError):
    """Raised for what is no file of pairs; ``line`` is the number of the line, the message completes "line n ..."."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


@dataclass(frozen=True, slots=True)
class PairFrequencies:
    """The pages that hold each pair of stems (``flood crest``), by language."""

    by_language: Mapping[str, Frequencies] = field(default_factory=dict)

    def of(self, language: str | None) -> Frequencies:
        """Return the frequencies of a language; those of no pages where none were counted in it."""
        return self.by_language.get(language or "", Frequencies(0, {}))

    @classmethod
    def parse(cls, text: str) -> "PairFrequencies":
        """Read a file of pairs. Raises ``PairsError``."""
        pages: dict[str, int] = {}
        holding: dict[str, dict[str, int]] = {}
        for number, line in enumerate(text.splitlines(), 1):
            columns = line.split("\t")
            if len(columns) != 3 or not columns[2].isascii() or not columns[2].isdigit() or len(columns[2]) > 15:
                raise PairsError(number, "is no language, pair and number of pages with tabs between them")
            language, pair, count = columns[0], columns[1], int(columns[2])
            if not pair:
                pages[language] = count
            elif pair.count(" ") == 1:
                holding.setdefault(language, {})[pair] = count
            else:
                raise PairsError(number, "has no two words with a blank between them")
        if missing := sorted(holding.keys() - pages.keys()):
            raise PairsError(1, f"is missing that tells how many pages of {missing[0]!r} were counted")
        return cls({language: Frequencies(count, holding.get(language, {})) for language, count in pages.items()})

    def lines(self) -> Iterator[str]:
        """Yield the lines of a file of pairs, languages and pairs in the order of their letters."""
        for language, frequencies in sorted(self.by_language.items()):
            yield f"{language}\t\t{frequencies.pages}"
            yield from (f"{language}\t{pair}\t{count}" for pair, count in sorted(frequencies.holding.items()))


class PairCounter:
    """Counts pairs page by page, in bounded memory (lossy counting, Manku and Motwani 2002).

    Where more than ``MAX_COUNTED`` pairs are known, those counted once since are forgotten: a count may be too low by
    as often as that happened, and is never too high.
    """

    def __init__(self) -> None:
        self._pages: Counter[str] = Counter()
        self._counts: dict[str, Counter[str]] = {}

    def add(self, language: str | None, units: Units, end: int) -> None:
        """Count the pairs in the first pieces of a page; pairs lie within a piece."""
        code = language or ""
        self._pages[code] += 1
        pieces = (units.of(place, place + 1) for place in range(end))
        counts = self._counts.setdefault(code, Counter())
        counts.update({f"{first} {second}" for terms in pieces for first, second in pairwise(terms)})
        if sum(map(len, self._counts.values())) > MAX_COUNTED:
            self._counts = {
                code: Counter({pair: count - 1 for pair, count in counts.items() if count > 1})
                for code, counts in self._counts.items()
            }

    def frequencies(self) -> PairFrequencies:
        """Return what was counted: of each language the most frequent pairs, all that are on enough pages."""
        return PairFrequencies(
            {code: Frequencies(pages, dict(_kept(self._counts[code].items()))) for code, pages in self._pages.items()}
        )


def _kept(counts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    enough = [(pair, count) for pair, count in counts if count >= MIN_PAGES]
    return sorted(enough, key=lambda each: (-each[1], each[0]))[:MAX_KEPT]
