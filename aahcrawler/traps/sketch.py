"""What a text says, in a few numbers: a fingerprint that similar texts share, and hashes of what it is made of.

A text is taken for the set of its shingles, the stretches of three words (Broder, 1997). Its fingerprint is the simhash
of that set in 64 bits (Charikar, STOC 2002), of which near-duplicate pages differ in at most three (Manku, Jain and
Das Sarma, WWW 2007). In scripts without spaces every character is a word.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

SHINGLE = 3
"""Words in a shingle."""
LONGEST = 16_000
"""Characters of a text that are looked at, half of them at its beginning and half at its end."""
SAMPLE = np.uint64(7)
"""Of the shingles without digits those whose hash has none of these bits are kept: one of eight."""

_BASE = 0x9E3779B97F4A7C15
_WIDE = 0x2E80
"""Code point from which on scripts are written without spaces (CJK), Hangul excepted."""
_SCRIPTS = 0x20000
_NONE = np.empty(0, np.uint64)
_LONGEST_LOWER = 3 * LONGEST
"""Characters that a text has at most in lower case: some have two or three there."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A text in numbers. ``size`` counts its different shingles, ``fingerprint`` is their simhash.

    ``said`` is a sample of the shingles of the text without its numbers, so that what differs in dates and numbers
    alone says the same: sorted hashes, each shingle being in the sample of every text or of none.
    """

    fingerprint: int
    size: int
    said: Hashes


def sketch(text: str) -> Sketch:
    """Return the sketch of a text; case, punctuation and white space do not matter.

    Of a text that is longer than ``LONGEST`` its two ends count.

    >>> sketch("The dike held.").fingerprint == sketch("the dike -- held").fingerprint
    True
    >>> sketch("").size
    0
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} {text[-LONGEST // 2 + 1 :]}"
    codes = np.frombuffer(text.lower().encode("utf-32-le", "replace"), np.uint32)
    kinds = _kinds()[np.minimum(codes, _SCRIPTS - 1)]
    everything = _distinct(_shingles(codes, kinds, kinds > 0))
    worded = _shingles(codes, kinds, kinds > 1)
    return Sketch(_simhash(everything), len(everything), _distinct(worded[(worded & SAMPLE) == 0]))


def distance(one: int, other: int) -> int:
    """Return in how many bits two fingerprints differ."""
    return (one ^ other).bit_count()


def _shingles(codes: NDArray[np.uint32], kinds: NDArray[np.uint8], kept: NDArray[np.bool_]) -> Hashes:
    """Return the hashes of the shingles of the characters that are kept."""
    at = np.flatnonzero(kept)
    if not len(at):
        return _NONE
    begins = np.empty(len(at), np.bool_)
    begins[0] = True
    np.not_equal(at[1:], at[:-1] + 1, out=begins[1:])
    begins |= kinds[at] == _WORD_BY_ITSELF
    starts = np.flatnonzero(begins)
    width = min(SHINGLE, len(starts))
    powers, inverses = _powers()
    # Sums of a polynomial over all characters; the difference of two, shifted back, is that of what is between.
    sums = np.empty(len(at) + 1, np.uint64)
    sums[0] = 0
    np.cumsum(
        (codes[at].astype(np.uint64) + (begins.astype(np.uint64) << np.uint64(24))) * powers[: len(at)], out=sums[1:]
    )
    ends = np.append(starts[width:], len(at))
    hashes = (sums[ends] - sums[starts[: len(ends)]]) * inverses[starts[: len(ends)]]
    return _mixed(hashes)


def _distinct(hashes: Hashes) -> Hashes:
    """Return the hashes sorted, each once."""
    hashes.sort()
    return hashes[np.append(True, hashes[1:] != hashes[:-1])] if len(hashes) else hashes


def _simhash(hashes: Hashes) -> int:
    if not len(hashes):
        return 0
    bits = np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1)
    ones = bits.sum(axis=0, dtype=np.uint32) * 2 > len(hashes)
    return int(np.packbits(ones).view(np.uint64)[0])


def _mixed(hashes: Hashes) -> Hashes:
    """Spread what differs in few bits over all of them (the finaliser of splitmix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


_WORD_BY_ITSELF = 3


@lru_cache(maxsize=1)
def _kinds() -> NDArray[np.uint8]:
    """Return of each code point whether it parts words (0), is a digit (1), in a word (2), or a word by itself (3)."""
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
    powers, inverses = np.full(_LONGEST_LOWER, _BASE, np.uint64), np.full(_LONGEST_LOWER, inverse, np.uint64)
    powers[0] = inverses[0] = 1
    return np.cumprod(powers), np.cumprod(inverses)
