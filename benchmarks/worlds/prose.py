"""Writes titles and paragraphs about subjects: true sentences from a dictionary among small talk that says nothing."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.worlds.subjects import Sense, Subject

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
    """Writes by lot; ``subjects`` are all that it may stray to."""

    random: Random
    subjects: Sequence[Subject]

    def title(self, subject: Subject) -> str:
        """Return a title; one in five does not say what it is about."""
        if self.random.random() < 0.15:
            return self.random.choice(_TALK).rstrip(".?")
        first, second = (self.random.choice(subject.senses).name for _ in range(2))
        return self.random.choice(_ASIDES).format(first, second).capitalize()

    def paragraphs(self, subject: Subject, number: int) -> tuple[str, ...]:
        """Return paragraphs about a subject, from which some texts stray seldom and others most of the time."""
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
    """Return the definition of a sense as a sentence, with its first example as another one."""
    definition, *examples = _EXAMPLE.split(sense.gloss)
    example = examples[0].rstrip('" ').capitalize() if examples else ""
    return f"{sense.name.capitalize()}: {definition.strip()}. {example}".strip()


def escaped(text: str) -> str:
    """Return text as HTML shows it."""
    return html.escape(text)


def slug(text: str) -> str:
    """Return text as part of a URL.

    >>> slug("What is St. John's wort?")
    'what-is-st-john-s-wort'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "untitled"


def given_name(number: int) -> str:
    """Return the name of a person or a site, another one for each number below 289: no word that others use.

    >>> given_name(0), given_name(149)
    ('babab', 'salab')
    """
    rest, first = divmod(number, len(_LETTERS))
    return f"{_LETTERS[first]}a{_LETTERS[rest % len(_LETTERS)]}ab"
