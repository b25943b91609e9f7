"""Reduce a text to a few numbers: a fingerprint that similar texts nearly share, and hashes of its shingles.

A text is represented by the set of its shingles, sequences of three words (Broder, 1997). Its fingerprint is the 64-bit
simhash of that set (Charikar, STOC 2002), which differs in at most three bits between near-duplicate pages (Manku, Jain
and Das Sarma, WWW 2007). In scripts without spaces every character counts as a word.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

SHINGLE = 3
"""Words in a shingle."""
MAX_SKETCHED_LENGTH = 16_000
"""How many characters of a text are used, half at its beginning and half at its end."""
SAMPLE = np.uint64(7)
"""A shingle without digits is sampled if its hash has none of these bits: one in eight."""

_BASE = 0x9E3779B97F4A7C15
_WIDE = 0x2E80
"""The code point from which scripts are written without spaces (CJK), except Hangul."""
_SCRIPTS = 0x20000
_NONE = np.empty(0, np.uint64)
_BEGINS = np.uint64(1 << 24)
"""A number added to the first character of a word."""
_PLACES = np.arange(8, dtype=np.uint64)[:, None]
_LOWEST_OF_OCTETS = np.uint64(0x0101010101010101)
_MAX_LOWER_LENGTH = 3 * MAX_SKETCHED_LENGTH + 2
"""The most characters of a text in lower case, with a blank at both ends: some characters become two or three."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """The sketch of a text. ``size`` counts its distinct shingles, ``fingerprint`` is their simhash.

    ``shingle_sample`` is a sample of the shingles of the text without its numbers, so that texts that differ only in
    dates and numbers have equal samples. It has sorted hashes; each shingle is either in the sample of every text that
    contains it, or of none.
    """

    fingerprint: int
    size: int
    shingle_sample: Hashes


def sketch(text: str) -> Sketch:
    """Return the sketch of a text; case, punctuation and white space do not matter.

    Only the beginning and the end of a text longer than ``MAX_SKETCHED_LENGTH`` count.

    >>> sketch("The dike held.").fingerprint == sketch("the dike -- held").fingerprint
    True
    >>> sketch("").size
    0
    """
    characters = _characters(text)
    hashes = _distinct(_shingles(characters, characters.kinds > 0))
    return Sketch(_simhash(hashes), len(hashes), _shingle_sample(characters))


def fingerprint(text: str) -> int:
    """Return the fingerprint of a text, faster than its whole sketch."""
    return _simhash(shingles(text))


def shingles(text: str) -> Hashes:
    """Return the hashes of a text's shingles, sorted and distinct."""
    characters = _characters(text)
    return _distinct(_shingles(characters, characters.kinds > 0))


def shingle_sample(text: str) -> Hashes:
    """Return the sample of a text's shingles, faster than its whole sketch."""
    return _shingle_sample(_characters(text))


def distance(one: int, other: int) -> int:
    """Return the number of bits in which two fingerprints differ."""
    return (one ^ other).bit_count()


class _Characters(NamedTuple):
    """A text without blanks as arrays: the prefix sums of its characters, and their kinds."""

    sums: Hashes
    kinds: NDArray[np.uint8]


def _characters(text: str) -> _Characters:
    if len(text) > MAX_SKETCHED_LENGTH:
        text = f"{text[: MAX_SKETCHED_LENGTH // 2]} {text[-MAX_SKETCHED_LENGTH // 2 + 1 :]}"
    codes = np.frombuffer(f" {text.lower()} ".encode("utf-32-le", "replace"), np.uint32)
    powers, _ = _powers()
    # Sums of a polynomial over all characters; the difference of two, shifted back, is that of what is between.
    return _Characters((codes * powers[: len(codes)]).cumsum(), _kinds().take(codes, mode="clip"))


def _shingle_sample(characters: _Characters) -> Hashes:
    hashes = _shingles(characters, characters.kinds > _DIGIT)
    return _distinct(hashes[(hashes & SAMPLE) == 0])


def _shingles(characters: _Characters, kept: NDArray[np.bool_]) -> Hashes:
    """Return the hashes of the shingles of the kept characters."""
    sums, kinds = characters
    starts, ends = _words(kinds, kept)
    width = min(SHINGLE, len(starts))
    if not width:
        return _NONE
    powers, inverses = _powers()
    words = (sums.take(ends - 1) - sums.take(starts - 1)) * inverses.take(starts) + _BEGINS
    lengths = ends - starts
    number = len(words) - width + 1
    hashes, before = words[:number], lengths[:number]
    for place in range(1, width):
        hashes = hashes + words[place : place + number] * powers.take(before)
        before = before + lengths[place : place + number]
    return _mixed(hashes)


def _words(kinds: NDArray[np.uint8], kept: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the beginnings and ends of the words among the kept characters.

    A character that is a word by itself begins one anywhere, and includes the letters after it.
    """
    changes = kept[1:] != kept[:-1]
    alone = kinds == _WORD_BY_ITSELF
    if not alone.any():
        edges = changes.nonzero()[0] + 1
        return edges[::2], edges[1::2]
    edges = (changes | alone[1:]).nonzero()[0] + 1
    begins = kept.take(edges).nonzero()[0]
    return edges.take(begins), edges.take(begins + 1)


def _distinct(hashes: Hashes) -> Hashes:
    """Return the hashes sorted, each once."""
    hashes.sort()
    return hashes[np.append(True, hashes[1:] != hashes[:-1])] if len(hashes) else hashes


def _simhash(hashes: Hashes) -> int:
    if not len(hashes):
        return 0
    # Each octet of a row counts one bit of that octet of the hashes, in blocks that it cannot overflow.
    rows = (hashes >> _PLACES) & _LOWEST_OF_OCTETS
    blocks = np.add.reduceat(rows, np.arange(0, len(hashes), 255), axis=1).view(np.uint8)
    counts = blocks.reshape(8, -1, 8).sum(axis=1, dtype=np.uint32)
    doubled = 2 * counts[::-1].T
    return int(np.packbits(doubled > len(hashes)).view(np.uint64)[0])


def _mixed(hashes: Hashes) -> Hashes:
    """Spread the few differing bits of hashes over all bits (the finaliser of splitmix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


_DIGIT, _WORD_BY_ITSELF = 1, 3


@lru_cache(maxsize=1)
def _kinds() -> NDArray[np.uint8]:
    """Return the kind of each code point: separator (0), digit (1), letter of a word (2), or a word by itself (3)."""
    kinds = np.zeros(_SCRIPTS, np.uint8)
    for code in range(_SCRIPTS):
        character = chr(code)
        if character.isdigit():
            kinds[code] = 1
        elif character.isalpha():
            is_wide = code >= _WIDE and not 0xAC00 <= code < 0xD7B0
            kinds[code] = _WORD_BY_ITSELF if is_wide else 2
    kinds[0x300:0x370] = 2  # Accents that follow their letter.
    return kinds


@lru_cache(maxsize=1)
def _powers() -> tuple[Hashes, Hashes]:
    """Return the powers of the base modulo 2^64, and their inverses."""
    inverse = pow(_BASE, -1, 1 << 64)
    powers, inverses = np.full(_MAX_LOWER_LENGTH, _BASE, np.uint64), np.full(_MAX_LOWER_LENGTH, inverse, np.uint64)
    powers[0] = inverses[0] = 1
    return np.cumprod(powers), np.cumprod(inverses)
