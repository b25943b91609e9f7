"""Finds probable names of people, places and organisations in running text, by capitals in the middle of a sentence.

No model is needed, since a person reviews the result. It hardly works in languages that write all nouns with a capital,
or have no capitals.
"""

import re
from collections.abc import Iterator

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PARTICLES = frozenset(
    {"al", "da", "de", "del", "den", "der", "di", "do", "dos", "du", "el", "la", "of", "van", "von", "zu"}
)
_MIN_WORDS, _MAX_WORDS = 2, 4


def names(text: str) -> set[str]:
    """Return the names of two to four words that stand after a word in small letters, or after a comma.

    >>> sorted(names("The plans of Hermann Scheer, of Ursula von der Leyen and Freiburg. Solar Power is cheap."))
    ['Hermann Scheer', 'Ursula von der Leyen']
    """
    return {name for line in text.splitlines() for name in _names(line)}


def _names(line: str) -> Iterator[str]:
    words = list(_WORD.finditer(line))
    at = 1
    while at < len(words):
        end = _end(line, words, at)
        if end - at >= _MIN_WORDS and end - at <= _MAX_WORDS and _is_within(line, words, at):
            yield line[words[at].start() : words[end - 1].end()]
        at = max(end, at + 1)


def _end(line: str, words: list[re.Match[str]], begin: int) -> int:
    """Return the end of the run of capitalised words that begins here.

    Particles between two of them belong to the name.
    """
    end = at = begin
    while at < len(words) and (at == begin or line[words[at - 1].end() : words[at].start()] == " "):
        word = words[at][0]
        if word[0].isupper():
            end = at + 1
        elif at == begin or word not in _PARTICLES:
            break
        at += 1
    return end


def _is_within(line: str, words: list[re.Match[str]], at: int) -> bool:
    before = line[words[at - 1].end() : words[at].start()].strip()
    return before in {",", "(", "“", '"'} or (not before and words[at - 1][0].islower())
