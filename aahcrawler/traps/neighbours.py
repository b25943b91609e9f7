"""Pages that show the same as another page of their site: print views, reply forms, other orders of the same list."""

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from aahcrawler.traps.bloom_filters import Arrays
from aahcrawler.traps.sketch import Sketch

NEAR = 3
"""Bits of 64 in which the fingerprints of near duplicates differ at most (Manku et al., 2007, section 4)."""
FEWEST = 40
"""Different shingles that a page has at least to be called a near duplicate: less is a template."""
MOST_PAGES = 100_000
"""Pages that are compared with, the last ones."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The page of the same site nearest to a page; ``is_near`` says that they are near duplicates.

    Without it both have the same fingerprint and too little text to tell pages by. ``anchors`` is the fingerprint of
    its anchor texts.
    """

    url: str
    is_near: bool
    anchors: int = 0


class Neighbours:
    """The fingerprints of the last pages, ``capacity`` at most.

    They stand in one array and are all compared, which for 100,000 of them takes a tenth of a millisecond: no table of
    bits has to be kept, and no site can make its pages fall into one row of it.
    """

    def __init__(self, capacity: int = MOST_PAGES) -> None:
        self._capacity = capacity
        self._fingerprints = np.zeros(min(1024, capacity), np.uint64)
        self._sites = np.zeros(len(self._fingerprints), np.uint32)
        self._has_text = np.zeros(len(self._fingerprints), np.bool_)
        self._anchors = np.zeros(len(self._fingerprints), np.uint64)
        self._urls: list[str] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._urls)

    def nearest(self, site: str, sketch: Sketch) -> Neighbour | None:
        """Return the page of a site with the same content as another one, None where there is none."""
        if not sketch.size:
            return None
        count, has_text = len(self._urls), sketch.size >= FEWEST
        distances = np.bitwise_count(self._fingerprints[:count] ^ np.uint64(sketch.fingerprint))
        near = np.flatnonzero(distances <= (NEAR if has_text else 0))
        near = near[(self._sites[near] == crc32(site.encode())) & (self._has_text[near] == has_text)]
        if not len(near):
            return None
        at = int(near[np.argmin(distances[near])])
        return Neighbour(self._urls[at], has_text, int(self._anchors[at]))

    def add(self, url: str, site: str, sketch: Sketch, anchors: int = 0) -> None:
        """Compare later pages with this one; ``anchors`` is the fingerprint of its links."""
        if not sketch.size:
            return
        at = self._next
        if at == len(self._fingerprints) < self._capacity:
            self._widen(min(2 * at, self._capacity))
        self._fingerprints[at] = sketch.fingerprint
        self._sites[at] = crc32(site.encode())
        self._has_text[at] = sketch.size >= FEWEST
        self._anchors[at] = anchors
        self._urls[at : at + 1] = [url]
        self._next = (at + 1) % self._capacity

    def _widen(self, size: int) -> None:
        for name in ("_fingerprints", "_sites", "_has_text", "_anchors"):
            array = getattr(self, name)
            setattr(self, name, np.append(array, np.zeros(size - len(array), array.dtype)))

    def state(self) -> Arrays:
        """Return all of it as arrays; ``restored`` makes it anew of them."""
        count = len(self._urls)
        urls: NDArray[np.uint8] = np.frombuffer("\n".join(self._urls).encode("utf-8", "replace"), np.uint8)
        return {
            "fingerprints": self._fingerprints[:count].copy(),
            "sites": self._sites[:count].copy(),
            "has_text": self._has_text[:count].copy(),
            "anchors": self._anchors[:count].copy(),
            "pages": urls,
            "next": np.array([self._next], np.int64),
        }

    @classmethod
    def restored(cls, state: Arrays, capacity: int = MOST_PAGES) -> "Neighbours":
        """Return the index with this ``state``. Raise ``ValueError`` or ``KeyError`` where it is not a state."""
        neighbours = cls(capacity)
        text = state["pages"].astype(np.uint8).tobytes().decode()
        urls = text.split("\n") if text else []
        count, following = len(urls), int(state["next"].astype(np.int64)[0])
        arrays = [state[name] for name in ("fingerprints", "sites", "has_text", "anchors")]
        if (
            count > capacity
            or not 0 <= following <= min(count, capacity - 1)
            or {len(each) for each in arrays} != {count}
        ):
            raise ValueError("the pages and their fingerprints do not fit together")
        neighbours._widen(max(count, len(neighbours._fingerprints)))
        (
            neighbours._fingerprints[:count],
            neighbours._sites[:count],
            neighbours._has_text[:count],
            neighbours._anchors[:count],
        ) = arrays
        neighbours._urls, neighbours._next = urls, following
        return neighbours
