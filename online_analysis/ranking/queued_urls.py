"""The queued URLs known to the ranker, with the predictions that the frontier has of each."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from struct import Struct
from typing import Literal

import numpy as np

from online_analysis.aggregation import Revision, ScoredLink, Weighed
from online_analysis.ranking.link_statistics import LinkStatistics
from online_analysis.ranking.regression import Floats

Update = Literal["first", "last", "max", "sum", "avg"]

_FORGOTTEN_AT_ONCE = 0.1
_SLIGHT = 0.02
"""A change by less than this share of a score is not worth telling."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the ranker is weighed among the analysers: its weight, above 0, and the update function of the frontier."""

    weight: float = 1.0
    update: Update = "max"

    def joined(self, analyser_mean: float, weight: float, prediction: float) -> float:
        """Return the average of the analysers' mean, with their weight, and a prediction."""
        return (analyser_mean * weight + prediction * self.weight) / (weight + self.weight)

    def joined_all(self, analyser_mean: Floats, weights: Floats, predictions: Floats) -> Floats:
        """Return the averages of many at once."""
        return (analyser_mean * weights + predictions * self.weight) / (weights + self.weight)

    def updated(self, sighting: LinkStatistics, score: float) -> None:
        """Record that a URL was offered with a score, as the frontier's update function applies it."""
        if sighting.told is None or self.update == "last":
            sighting.told = score
        elif self.update == "max":
            sighting.told = max(sighting.told, score)
        elif self.update == "sum":
            sighting.told += score
        elif self.update == "avg":
            sighting.offers += 1
            sighting.told += (score - sighting.told) / sighting.offers


class Waiting:
    """At most ``most`` queued URLs; beyond that, those of least predicted worth are dropped, the oldest first."""

    def __init__(self, standing: Standing, most: int) -> None:
        self._standing = standing
        self._most = most
        self._urls: dict[str, LinkStatistics] = {}
        self._changed: deque[LinkStatistics] = deque()
        self._touched: dict[str, LinkStatistics] = {}

    def __len__(self) -> int:
        return len(self._urls)

    def __iter__(self) -> Iterator[LinkStatistics]:
        return iter(self._urls.values())

    def get(self, url: str) -> LinkStatistics | None:
        """Return the statistics of a queued URL."""
        return self._urls.get(url)

    def add(self, url: str) -> LinkStatistics:
        """Add a new URL."""
        sighting = self._urls[url] = LinkStatistics(url)
        return sighting

    def take(self, url: str) -> LinkStatistics | None:
        """Remove a URL that was fetched, and return its statistics."""
        self._touched.pop(url, None)
        return self._urls.pop(url, None)

    def forget(self, url: str) -> None:
        """Remove a URL that will not be fetched, or must not be reported."""
        sighting = self.take(url)
        if sighting is not None:
            sighting.forget()

    def make_room(self) -> None:
        """Drop the least promising URLs when there are too many."""
        if len(self._urls) > self._most:
            ranked = sorted(self._urls.values(), key=lambda sighting: sighting.score or 0.0)
            for sighting in ranked[: len(ranked) - self._most + int(self._most * _FORGOTTEN_AT_ONCE)]:
                self.forget(sighting.url)

    def offered(self, links: Iterable[ScoredLink]) -> None:
        """Record that the links of a page are being offered, each with its prediction if there is one."""
        for link in links:
            sighting = self._urls.get(link.url)
            if sighting is not None:
                prediction = sighting.score
                score = link.score
                if prediction is not None:
                    score = self._standing.joined(link.score, link.weight, prediction)
                    self._touched[link.url] = sighting
                self._standing.updated(sighting, score)

    def reweigh(self, weight: float, waiting: Mapping[str, Weighed]) -> None:
        """Average with another weight from now on; the frontier already has the scores in ``waiting``."""
        self._standing = replace(self._standing, weight=weight)
        for url, now in waiting.items():
            sighting = self._urls.get(url)
            if sighting is not None:
                sighting.reweigh(now)
        self.rank()

    def explore(self, sighting: LinkStatistics) -> None:
        """Put a queued URL first."""
        sighting.is_explored = True
        self._touched[sighting.url] = sighting

    def rank(self) -> None:
        """Sort after predictions have changed: URLs with the highest present or former predictions come first."""
        urls = [sighting for sighting in self._urls.values() if sighting.score is not None]
        told = np.array([-1.0 if each.told is None else each.told for each in urls])
        weights = np.array([each.weight for each in urls])
        analyser_mean, predicted = (
            np.array([each.analyser_mean for each in urls]),
            np.array([each.score for each in urls], np.float64),
        )
        scores = self._standing.joined_all(analyser_mean, weights, predicted)
        changed = np.flatnonzero(np.abs(scores - told) > _SLIGHT * scores)
        order = changed[np.argsort(-np.maximum(scores, told)[changed], kind="stable")]
        self._changed = deque(urls[index] for index in order.tolist())

    def revised(self, n: int) -> Sequence[Revision]:
        """Return at most ``n`` complete scores that differ from those last reported, and record them as reported."""
        found: list[Revision] = []
        while len(found) < n and (self._touched or self._changed):
            sighting = self._touched.pop(next(iter(self._touched))) if self._touched else self._changed.popleft()
            if self._urls.get(sighting.url) is sighting and (revision := self._revision(sighting)) is not None:
                sighting.told, sighting.offers = revision.score, 1
                found.append(revision)
        return found

    def _revision(self, sighting: LinkStatistics) -> Revision | None:
        if sighting.score is None:
            return None
        score = self._score(sighting)
        if sighting.told is not None and abs(score - sighting.told) <= _SLIGHT * score:
            return None
        return Revision(sighting.url, score)

    def _score(self, sighting: LinkStatistics) -> float:
        if sighting.is_explored:
            return 1.0
        return self._standing.joined(sighting.analyser_mean, sighting.weight, sighting.score or 0.0)


_BITS = 1 << 24
_NUMBERS = Struct(">4I")


class Gone:
    """A set of URLs to which URLs can only be added (Bloom 1970), in 2 MB.

    It contains every URL that was added; other URLs are taken for members with a probability of one in 400 after a
    million additions, and one in 15 after three million.
    """

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)

    def add(self, url: str) -> None:
        """Take in a URL."""
        for place in _places(url):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, url: str) -> bool:
        bits = self._bits
        return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(url))


def _places(url: str) -> list[int]:
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_NUMBERS.size).digest()
    return [number % _BITS for number in _NUMBERS.unpack(digest)]
