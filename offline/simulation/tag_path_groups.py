"""Groups of links that stand at alike paths of tags, as the arms of a bandit need them."""

from collections.abc import Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

LEAST_SIMILARITY = 0.75
"""theta: the cosine with a group's centroid that a path needs to join the group."""
DIMENSIONS = 2**12
"""The number of dimensions into which pairs of tags are hashed."""

Floats = NDArray[np.float64]


class TagPathGroups:
    """Puts paths of tags into groups, numbered from 0; a path stays in its group.

    A path is the vector of its pairs of neighbouring tags. A new one joins the group whose centroid, the mean of its
    paths, is the nearest by cosine, unless none is near enough: then it founds a group.
    """

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._sums = np.zeros((0, DIMENSIONS))

    def __len__(self) -> int:
        return len(self._sums)

    def group(self, path: str) -> int:
        """Return the number of the group that a path is in, or joins, or founds."""
        known = self._groups.get(path)
        if known is None:
            vector = _vector(path)
            known = self._groups[path] = self._nearest(vector)
            if known == len(self._sums):
                self._sums = np.vstack((self._sums, vector))
            else:
                self._sums[known] += vector
        return known

    def _nearest(self, vector: Floats) -> int:
        """Return the group nearest to a vector, the number of groups where none is near enough."""
        if not len(self._sums):
            return 0
        cosines = self._sums @ vector / (np.linalg.norm(self._sums, axis=1) * np.linalg.norm(vector))
        nearest = int(cosines.argmax())
        return nearest if cosines[nearest] >= LEAST_SIMILARITY else len(self._sums)


def _vector(path: str) -> Floats:
    """Return the shares that pairs of tags have in a path, its beginning and its end counted as tags."""
    tags: Sequence[str] = ("", *path.split("/"), "")
    hashed = [crc32(f"{one}/{other}".encode()) % DIMENSIONS for one, other in pairwise(tags)]
    return np.bincount(hashed, minlength=DIMENSIONS) / len(hashed)
