"""A classifier of URLs that learns during a crawl which of them are relevant."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

BATCH = 10
"""The number of fetched pages that are learned from together."""
_PAIRS = 2**13
_STEP = 10.0
_STEP_OF_BIAS = 0.01
_FADES_AFTER = 1_000

Floats = NDArray[np.float64]
Integers = NDArray[np.uint16]


class UrlClassifier:
    """Logistic regression on pairs of neighbouring characters, by stochastic gradient descent.

    Each page is learned from once. A URL is a vector of length 1, with the same value for each pair that it has.
    Before pages of both kinds have been learned from, all probabilities are 0.
    """

    def __init__(self) -> None:
        self._weights = np.zeros(_PAIRS)
        self._bias = 0.0
        self._steps = 0
        self._known: dict[str, Integers] = {}
        self._batch: list[tuple[str, bool]] = []
        self._kinds: set[bool] = set()

    def learn(self, url: str, *, relevant: bool) -> bool:
        """Take a fetched page. Return whether a batch was complete, which changes the probabilities."""
        self._batch.append((url, relevant))
        if len(self._batch) < BATCH:
            return False
        for each, is_relevant in self._batch:
            self._step(self._pairs(each), is_relevant=is_relevant)
        self._kinds.update(is_relevant for _, is_relevant in self._batch)
        self._batch.clear()
        return True

    def probabilities(self, urls: Sequence[str]) -> Floats:
        """Return the probability of each URL that its page is relevant."""
        if len(self._kinds) < 2 or not urls:
            return np.zeros(len(urls))
        pairs = [self._pairs(url) for url in urls]
        ends = np.cumsum([0, *map(len, pairs)])
        sums = np.add.reduceat(self._weights[np.concatenate(pairs)], ends[:-1])
        return 1.0 / (1.0 + np.exp(-(sums / np.sqrt(np.diff(ends)) + self._bias)))

    def _pairs(self, url: str) -> Integers:
        known = self._known.get(url)
        if known is None:
            known = self._known[url] = _pairs(url)
        return known

    def _step(self, pairs: Integers, *, is_relevant: bool) -> None:
        length = math.sqrt(len(pairs))
        predicted = 1.0 / (1.0 + math.exp(-(float(self._weights[pairs].sum()) / length + self._bias)))
        step = _STEP / (1 + self._steps / _FADES_AFTER) * (is_relevant - predicted)
        self._weights[pairs] += step / length
        self._bias += _STEP_OF_BIAS * step
        self._steps += 1


def _pairs(url: str) -> Integers:
    """Return the different pairs of neighbouring characters of a URL, hashed; there is one at least."""
    characters = np.frombuffer(url.encode().ljust(2), np.uint8).astype(np.uint16)
    return np.unique((characters[:-1] * 257 + characters[1:]) % _PAIRS)
