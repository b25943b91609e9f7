"""The sentences of a text, by the rules and abbreviations of its language (sentencex, some 300 languages)."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from sentencex import get_sentence_boundaries

VERSION: Final = version("sentencex")
"""What annotations depend on that are made of sentences."""

_UNKNOWN = "en"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without the white space around it, by its offsets in characters of the text."""

    text: str
    start: int
    end: int


def sentences(text: str, language: str = "") -> Iterator[Sentence]:
    """Yield the sentences of a text in their order; a blank line ends one. Linear in the length of the text.

    ``language`` is a code of ISO 639-1; where it is empty, abbreviations are those of English.

    >>> [each.text for each in sentences("Dr. Brandt kam am 3. Mai. Danach ging er!", "de")]
    ['Dr. Brandt kam am 3. Mai.', 'Danach ging er!']
    """
    for found in get_sentence_boundaries(language or _UNKNOWN, text):
        whole: str = found["text"]
        begun = whole.lstrip()
        if begun:
            start = found["start_index"] + len(whole) - len(begun)
            stripped = begun.rstrip()
            yield Sentence(stripped, start, start + len(stripped))
