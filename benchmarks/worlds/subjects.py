"""Subjects to fill software with: branches of a dictionary of word senses, with their definitions as sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

_BROADER, _NARROWER = ("@", "@i"), ("~", "~i")
_SENSES = (80, 700)
"""The fewest and the most senses of a subject."""


@dataclass(frozen=True, slots=True)
class Sense:
    """A sense of a noun: its words, its definition and its examples, and the numbers of broader and narrower ones."""

    number: str
    field: int
    words: tuple[str, ...]
    gloss: str
    broader: tuple[str, ...]
    narrower: tuple[str, ...]

    @property
    def name(self) -> str:
        """The first of its words."""
        return self.words[0]


@dataclass(frozen=True, slots=True)
class Subject:
    """A branch of senses below one of them."""

    name: str
    field: int
    senses: tuple[Sense, ...]


def subjects(folder: Path, number: int, random: Random) -> Sequence[Subject]:
    """Return subjects by lot, none of them within another, from the files of a WordNet database."""
    senses = {sense.number: sense for sense in _senses(folder)}
    inside = _branches(senses)
    fewest, most = _SENSES
    tops = [each for each in senses.values() if fewest <= len(inside[each.number]) <= most]
    random.shuffle(tops)
    found: list[Subject] = []
    taken: set[str] = set()
    for top in tops:
        if len(found) < number and not taken & inside[top.number]:
            taken |= inside[top.number]
            found.append(Subject(top.name, top.field, tuple(senses[each] for each in sorted(inside[top.number]))))
    return found


def _senses(folder: Path) -> Iterator[Sense]:
    path = next(folder.rglob("data.noun"))
    with path.open(encoding="latin-1") as file:
        for line in file:
            if not line.startswith(" "):
                yield _sense(line)


def _sense(line: str) -> Sense:
    """Return the sense of a line: number, field, type, count of words, words, count of pointers, pointers | gloss."""
    data, _, gloss = line.partition(" | ")
    fields = data.split()
    count = int(fields[3], 16)
    words = tuple(word.replace("_", " ") for word in fields[4 : 4 + 2 * count : 2])
    begin = 5 + 2 * count
    pointers = [fields[at : at + 3] for at in range(begin, begin + 4 * int(fields[begin - 1]), 4)]
    to = {
        kinds: tuple(n for kind, n, part in pointers if kind in kinds and part == "n")
        for kinds in (_BROADER, _NARROWER)
    }
    return Sense(fields[0], int(fields[1]), words, gloss.strip(), to[_BROADER], to[_NARROWER])


def _branches(senses: Mapping[str, Sense]) -> Mapping[str, frozenset[str]]:
    """Return all senses at and below each sense."""
    found: dict[str, frozenset[str]] = {}

    def below(number: str, path: frozenset[str]) -> frozenset[str]:
        if number not in found:
            parts = (below(each, path | {number}) for each in senses[number].narrower if each not in path)
            found[number] = frozenset({number}).union(*parts)
        return found[number]

    for number in senses:
        below(number, frozenset())
    return found
