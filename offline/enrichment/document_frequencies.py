"""Counts in how many texts of a collection each term is, in memory that no collection makes grow."""

from array import array
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np

_ROWS: Final = 2
_WIDTH: Final = 1 << 20


class DocumentFrequencies:
    """In how many texts each term is: a count-min sketch (Cormode and Muthukrishnan, 2005) of 8 MiB.

    A count is never too low. It is too high where other terms share both places of a term, which hardly happens below
    a million different terms. The same texts give the same counts, in whichever order they come.
    """

    def __init__(self) -> None:
        self._rows = [array("I", bytes(4 * _WIDTH)) for _ in range(_ROWS)]

    def add(self, terms: Iterable[str]) -> None:
        """Count a text by its different terms."""
        for term in terms:
            for row, place in zip(self._rows, _places(term), strict=True):
                row[place] += 1

    def __getitem__(self, term: str) -> int:
        return min(row[place] for row, place in zip(self._rows, _places(term), strict=True))

    def least(self, most: int) -> int:
        """Return the least number of texts, 1 or more, that hold no more than about ``most`` terms each."""
        counts = np.sort(np.frombuffer(self._rows[0], np.uint32))
        return int(counts[-most - 1]) + 1


@lru_cache(maxsize=100_000)
def _places(term: str) -> tuple[int, ...]:
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=4 * _ROWS).digest()
    return tuple(int.from_bytes(digest[at : at + 4]) % _WIDTH for at in range(0, len(digest), 4))
