"""Writes titles and paragraphs about subjects: sentences from a dictionary among small talk.

A page is archived with its labels, and lists have several pages.
"""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page of HTML with its labels (sections, categories, tags, forums), the narrowest first."""

    url: str
    body: bytes
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirection:
    """A URL that redirects to another one."""

    url: str
    target: str


ArchivedResponse: TypeAlias = ArchivedPage | Redirection


Item = TypeVar("Item")


def pages_of(items: Sequence[Item], size: int) -> Iterator[tuple[int, Sequence[Item]]]:
    """Yield the pages of a list by their numbers from 1 on; an empty list has one page."""
    for begin in range(0, max(1, len(items)), size):
        yield begin // size + 1, items[begin : begin + size]


def count_of(items: int, size: int) -> int:
    """Return the number of pages of a list."""
    return max(1, -(-items // size))


def pager(number: int, count: int, address: Callable[[int], str], name: str) -> str:
    """Return links to the neighbours of a page, and to the first and the last one; "" for a single page."""
    if count == 1:
        return ""
    near = sorted({1, count, *range(max(1, number - 2), min(count, number + 2) + 1)})
    links = [f'<a href="{address(n)}">{n}</a>' if n != number else f"<strong>{n}</strong>" for n in near]
    following = f'<a rel="next" href="{address(number + 1)}">Next</a>' if number < count else ""
    return f'<div class="{name}">{" ".join(links)} {following}</div>'


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
    """A branch of senses: one sense with all below it."""

    name: str
    field: int
    senses: tuple[Sense, ...]


def subjects(folder: Path, number: int, random: Random) -> Sequence[Subject]:
    """Return random subjects, none of them within another, from the files of a WordNet database."""
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


_TALK = (
    "Thanks for reading, and sorry that this has become so long.",
    "I have looked through the older messages and could not find an answer.",
    "Somebody asked me about this last week and I promised to write it down.",
    "As always, corrections are welcome below.",
    "This is only what I remember, so do not take my word for it.",
    "We had a long evening with friends and talked about little else.",
    "More on this next month, when there is time.",
    "Please keep it polite and quote only what you answer.",
    "I agree with most of what was said before.",
    "That is not how I learned it, but times change.",
    "Has anybody else had the same experience lately?",
    "The weather kept us at home, so there was time to sort the notes.",
    "Good question, and one that comes up every year.",
    "I will add a picture as soon as the camera works again.",
    "Moved here from another place where it did not belong.",
)
_ASIDES = (
    "On {}",
    "A question about {}",
    "{}, once more",
    "Notes: {}",
    "{} and {}",
    "What is {}?",
    "{} or {}?",
    "More {}",
)
_TALKING, _ASTRAY = 0.05, 0.7
"""The share of sentences that are small talk, and the largest share of a text that is about any subject."""
_LETTERS = "bcdfghjklmnprstvz"
_EXAMPLE = re.compile(r';\s*"')


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes random texts; ``subjects`` are all subjects that texts may stray to."""

    random: Random
    subjects: Sequence[Subject]

    def title(self, subject: Subject) -> str:
        """Return a title; one in five does not name its subject."""
        if self.random.random() < 0.15:
            return self.random.choice(_TALK).rstrip(".?")
        first, second = (self.random.choice(subject.senses).name for _ in range(2))
        return self.random.choice(_ASIDES).format(first, second).capitalize()

    def paragraphs(self, subject: Subject, number: int) -> tuple[str, ...]:
        """Return paragraphs about a subject; some texts stray from it rarely, others most of the time."""
        astray = self.random.uniform(0, _ASTRAY)
        return tuple(self._paragraph(subject, astray) for _ in range(number))

    def _paragraph(self, subject: Subject, astray: float) -> str:
        return " ".join(self._sentence(subject, astray) for _ in range(self.random.randint(2, 6)))

    def _sentence(self, subject: Subject, astray: float) -> str:
        if self.random.random() < _TALKING:
            return self.random.choice(_TALK)
        about = self.random.choice(self.subjects) if self.random.random() < astray else subject
        return described(self.random.choice(about.senses))


def described(sense: Sense) -> str:
    """Return the definition of a sense as a sentence, followed by its first example."""
    definition, *examples = _EXAMPLE.split(sense.gloss)
    example = examples[0].rstrip('" ').capitalize() if examples else ""
    return f"{sense.name.capitalize()}: {definition.strip()}. {example}".strip()


def escaped(text: str) -> str:
    """Return text as HTML."""
    return html.escape(text)


def slug(text: str) -> str:
    """Return text as a part of a URL.

    >>> slug("What is St. John's wort?")
    'what-is-st-john-s-wort'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "untitled"


def given_name(number: int) -> str:
    """Return the name of a person or a site, different for each number below 289, and no other word.

    >>> given_name(0), given_name(149)
    ('babab', 'salab')
    """
    rest, first = divmod(number, len(_LETTERS))
    return f"{_LETTERS[first]}a{_LETTERS[rest % len(_LETTERS)]}ab"
