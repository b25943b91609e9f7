"""Fetches queued pages at random."""

from collections.abc import Sequence
from random import Random

from offline.simulation.visits import Visit


class RandomOrder:
    """Fetches any of the pages that are known and not yet fetched, each as likely as the others; seeds first."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._waiting: list[int] = []
        self._known: set[int] = set()
        self._seeds: Sequence[int] = ()

    def begin(self, seeds: Sequence[int]) -> None:
        """Take the seeds."""
        self._seeds = seeds
        self._known.update(seeds)

    def following(self) -> Sequence[int]:
        """Return all seeds, then one page at a time."""
        if self._seeds:
            seeds, self._seeds = self._seeds, ()
            return seeds
        if not self._waiting:
            return ()
        position = self._random.randrange(len(self._waiting))
        self._waiting[position], self._waiting[-1] = self._waiting[-1], self._waiting[position]
        return (self._waiting.pop(),)

    def fetched(self, visit: Visit) -> None:
        """Take in the links that are new."""
        for target in visit.targets:
            if target not in self._known:
                self._known.add(target)
                self._waiting.append(target)
