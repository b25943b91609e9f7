"""One bound for all crawls of a process on how much they fetch at once (ARCOMEM, section 4.3: one fetcher pool)."""

from typing import Protocol


class Taker(Protocol):
    """Takes slots for a crawl."""

    @property
    def taken(self) -> int:
        """The number of slots held, including those that the frontier is just asked to fill."""

    @property
    def is_hungry(self) -> bool:
        """Whether it could have filled more than it got when it asked last."""

    def wake(self) -> None:
        """Ask again."""


class Slots:
    """Shares ``most`` slots among crawls.

    Each has its equal share for the asking. What some do not use is there for those that ask for it, until the others
    can use it again: nothing is taken away, so that this takes as long as fetching a page does.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._takers: list[Taker] = []

    def join(self, taker: Taker) -> None:
        """Let a crawl have its share."""
        self._takers.append(taker)

    def leave(self, taker: Taker) -> None:
        """Share what a crawl had among the others."""
        self._takers.remove(taker)
        self.freed()

    def available(self, taker: Taker, wanted: int) -> int:
        """Return how many more slots a crawl may take of those it wants."""
        free = self._most - sum(each.taken for each in self._takers)
        share = max(1, self._most // len(self._takers))
        kept = sum(max(0, share - each.taken) for each in self._takers if each is not taker and each.is_hungry)
        return max(0, min(wanted, free, max(free - kept, share - taker.taken)))

    def freed(self) -> None:
        """Let those know that could use them that there are slots again."""
        for each in self._takers:
            if each.is_hungry:
                each.wake()
