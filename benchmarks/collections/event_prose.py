"""Writes sentences about events, made up by lot from words of their fields, their people, places and incidents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import yaml

_WORDS: Final = yaml.safe_load(Path(__file__).with_name("event_words.yaml").read_text("utf-8"))
FIELDS: Final[Mapping[str, Mapping[str, str]]] = _WORDS["fields"]
"""Of each field its nouns, its verbs and its adjectives."""

_COMMON: Final = _WORDS["common"].split()
_COMMON_VERBS: Final = _WORDS["common_verbs"].split()
_INCIDENTS: Final = _WORDS["incidents"].split()
_INCIDENT_WORDS: Final = _WORDS["incident_words"].split()
_FRAMES: Final[Sequence[str]] = _WORDS["frames"]
_SMALL_TALK: Final[Sequence[str]] = _WORDS["small_talk"]
_SOUNDS: Final = [_WORDS[each].split() for each in ("onsets", "vowels", "ends", "vowels", "ends")]


@dataclass(frozen=True, slots=True)
class Subject:
    """What texts are about: a field, and the people, places and incidents of one event in it."""

    field: str
    people: tuple[str, ...]
    places: tuple[str, ...]
    incidents: tuple[str, ...]

    @property
    def words(self) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
        """The nouns, verbs and adjectives of the field; an event uses all of them, some more often than others."""
        words = FIELDS[self.field]
        return words["nouns"].split(), words["verbs"].split(), words["adjectives"].split()


def subject(field: str, lot: Random) -> Subject:
    """Make up an event of a field."""
    incidents = tuple(f"the {lot.choice(_INCIDENT_WORDS)} {thing}" for thing in lot.sample(_INCIDENTS, 12))
    return Subject(field, _names(12, 2, lot), _names(6, 1, lot), incidents)


def edition(first: Subject, lot: Random) -> Subject:
    """Make up another edition of an event that recurs: most of its people and places are those of the first."""
    other = subject(first.field, lot)
    people, places = lot.sample(first.people, 8), lot.sample(first.places, 5)
    return Subject(first.field, (*people, *other.people[8:]), (*places, *other.places[5:]), other.incidents)


def aspect(whole: Subject, lot: Random) -> Subject:
    """Return what one text tells of an event: a few of its people, places and incidents."""
    chosen = (tuple(lot.sample(names, n)) for names, n in ((whole.people, 3), (whole.places, 2), (whole.incidents, 2)))
    return Subject(whole.field, *chosen)


def _names(count: int, words: int, lot: Random) -> tuple[str, ...]:
    return tuple(" ".join(_name(lot) for _ in range(words)) for _ in range(count))


def sentence(about: Subject, lot: Random) -> str:
    """Return a sentence about an event."""
    nouns, verbs, adjectives = about.words
    noun, other = _zipf(nouns, lot), _zipf(nouns, lot)
    filled = lot.choice(_FRAMES).format(
        **_common(lot, about),
        noun=noun,
        other=other if other != noun else lot.choice(nouns),
        verb=_zipf(verbs, lot),
        adjective=_zipf(adjectives, lot),
        place=lot.choice(about.places),
        incident=lot.choice(about.incidents),
        person2=lot.choice(about.people),
    )
    return filled[0].upper() + filled[1:]


def small_talk(about: Subject, lot: Random) -> str:
    """Return a sentence that says nothing of any event."""
    return lot.choice(_SMALL_TALK).format(**_common(lot, about))


def paragraphs(shares: Sequence[tuple[Subject, float]], sentences: int, lot: Random) -> tuple[str, ...]:
    """Return paragraphs of so many sentences, of which each subject has a share; the rest is small talk."""
    chosen: list[str] = []
    for about, share in shares:
        chosen += [sentence(about, lot) for _ in range(round(share * sentences))]
    chosen += [small_talk(shares[0][0], lot) for _ in range(sentences - len(chosen))]
    lot.shuffle(chosen)
    return tuple(" ".join(chosen[begin : begin + 4]) for begin in range(0, len(chosen), 4))


def headline(about: Subject, lot: Random) -> str:
    """Return a headline; it names the place or a person, and mostly the field by a word."""
    nouns, _, adjectives = about.words
    forms = (
        "{adjective} {noun} in {place}",
        "{person} and the {noun}",
        "{place}: {noun} and {other}",
        "{incident} in {place}",
    )
    filled = lot.choice(forms).format(
        adjective=lot.choice(adjectives),
        noun=_zipf(nouns, lot),
        other=lot.choice(nouns),
        place=lot.choice(about.places),
        person=lot.choice(about.people),
        incident=lot.choice(about.incidents),
    )
    return filled[0].upper() + filled[1:]


def _common(lot: Random, about: Subject) -> Mapping[str, str]:
    return {
        "common": lot.choice(_COMMON),
        "common2": lot.choice(_COMMON),
        "commonverb": lot.choice(_COMMON_VERBS),
        "person": lot.choice(about.people),
    }


def _zipf(words: Sequence[str], lot: Random) -> str:
    """Return a word; the first ones are more frequent than the last ones."""
    return words[int(len(words) * lot.random() ** 1.7)]


def _name(lot: Random) -> str:
    return "".join(map(lot.choice, _SOUNDS)).capitalize()
