"""A base of strategies that fetch all seeds, and then one page at a time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence


class SeedsFirst(ABC):
    """Knows the pages that it has met, and hands out the seeds before all others."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._seeds: Sequence[int] = ()

    def begin(self, seeds: Sequence[int]) -> None:
        """Take the seeds."""
        self._seeds = seeds
        self._known.update(seeds)

    def following(self) -> Sequence[int]:
        """Return all seeds, then one page at a time."""
        seeds, self._seeds = self._seeds, ()
        return seeds or self._next()

    @abstractmethod
    def _next(self) -> Sequence[int]:
        """Return one more page, nothing where none waits."""
