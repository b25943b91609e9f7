"""Finds formulas: phrases that texts of a collection repeat word by word, such as greetings, signatures and notices.

Their words stand together more often than any others, so that a topic model takes each of them for a topic, though they
tell of none.
"""

import zlib
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_WORDS: Final = 400
"""Words of a text, from its beginning, in which formulas are looked for; they are found again in all of it."""
_LENGTH: Final = 5
"""Words of a phrase."""
_TEXTS: Final = 4
"""Different texts from which on a phrase of theirs is a formula."""
_COPIED: Final = 0.9
"""The share of its words from which on a text does not repeat formulas, but was copied as a whole."""
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_MARKS: Final = ".,;:!?()[]{}\"'“”„‘’«»*_-–—"

Hashes = NDArray[np.uint64]


class Formulas:
    """The formulas of different texts, given by their words as white space parts them.

    The same texts have the same formulas, in whichever order they come. Takes 3 KiB for a text while it is made.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        phrases = [np.unique(_phrases(words[:MAX_WORDS])) for words in texts]
        found, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *phrases]), return_counts=True)
        self._known = found[counts >= _TEXTS]

    def held(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of the words of a text are of a formula; none where hardly any other word is left.

        >>> words = "Many thanks in advance for help with my bees".split()
        >>> formulas = Formulas([[*words[:6], *name.split()] for name in ("Ida", "Jo of Leeds", "Bert A.", "Carl")])
        >>> [word for word, is_held in zip(words, formulas.held(words)) if not is_held]
        ['with', 'my', 'bees']
        """
        held = np.zeros(len(words), np.bool_)
        if not len(self._known):
            return held
        known = np.isin(_phrases(words), self._known)
        for place in range(_LENGTH):
            held[place : place + len(known)] |= known
        if held.sum() > _COPIED * len(words):
            held[:] = False
        return held


def _phrases(words: Sequence[str]) -> Hashes:
    """Return a hash of each phrase of a text, without regard to capitals and punctuation."""
    count = max(0, len(words) - _LENGTH + 1)
    plain = (word.strip(_MARKS).casefold().encode("utf-8", "surrogatepass") for word in words)
    single = np.fromiter(map(zlib.crc32, plain), np.uint64, len(words))
    hashes = np.zeros(count, np.uint64)
    for place in range(_LENGTH):
        hashes = hashes * _FACTOR + single[place : place + count]
    return hashes
