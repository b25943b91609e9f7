"""Suggestions with the evidence for each."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

_AROUND: Final = 60
"""Characters on either side of what a snippet shows."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A value for a definition: how often it was found, a weight in (0, 1] beside the others, and a place to look at.

    ``snippet`` is the text around the first place, on one line; ``note`` says more of it, mostly nothing.
    """

    value: str
    count: int
    weight: float
    snippet: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class SuggestedSpan:
    """A span of time in which ``count`` of the ``dates`` of a text lie; both ends belong to it."""

    start: date
    end: date
    count: int
    dates: int
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What a text suggests, the weightiest first. ``languages`` are ISO 639-1 codes, which count characters.

    ``seeds`` are whole web addresses, ``hosts`` those that they are on. ``is_cut`` says that the text was too long to
    be read as a whole.
    """

    keywords: tuple[Suggested, ...] = ()
    entities: tuple[Suggested, ...] = ()
    seeds: tuple[Suggested, ...] = ()
    hosts: tuple[Suggested, ...] = ()
    languages: tuple[Suggested, ...] = ()
    span: SuggestedSpan | None = None
    is_cut: bool = False

    @property
    def are_none(self) -> bool:
        """Return whether nothing is suggested."""
        return not (self.keywords or self.entities or self.seeds or self.languages or self.span)


def snippet(text: str, value: str) -> str:
    """Return the text around the first place of a value, whatever its case; empty where it has none.

    >>> snippet("The storm of 2013 broke the Sea Wall.", "sea wall")
    'The storm of 2013 broke the Sea Wall.'
    """
    found = re.search(r"\W+".join(map(re.escape, value.split())), text, re.IGNORECASE)
    return "" if found is None else around(text, found.start(), found.end())


def around(text: str, start: int, end: int) -> str:
    """Return the text around a place on one line, cut between words."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    if start > _AROUND:
        before = f"…{before.partition(' ')[2] or before}"
    if end + _AROUND < len(text):
        after = f"{after.rpartition(' ')[0] or after}…"
    plain = "".join(sign if sign.isprintable() else " " for sign in f"{before}{text[start:end]}{after}")
    return " ".join(plain.split())
