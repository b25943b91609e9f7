"""Fetches queued pages at random."""

from collections.abc import Sequence
from random import Random

from offline.simulation.seeds_first import SeedsFirst
from offline.simulation.visits import Visit


class RandomOrder(SeedsFirst):
    """Fetches any of the pages that are known and not yet fetched, each as likely as the others; seeds first."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._waiting: list[int] = []

    def _next(self) -> Sequence[int]:
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
