"""Remembers which URLs were fetched and refused, so that the next crawl of a definition decides alike.

Budgets start anew with each crawl of a definition, since a site may have grown. Without a memory of refusals each crawl
would follow an endless part of a site some pages further, although nothing is new there.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from aahcrawler.traps.bloom_filters import Arrays, RecentSet, digest
from aahcrawler.traps.path_shape import Trap

MAX_URLS = 200_000
"""URLs of each kind that are remembered, the last ones of a crawl."""

_FETCHED = "fetched"
_TRUSTED = "trusted"
"""Refused although navigation of a known application chose them."""
_BY_BUDGET = (Trap.NOVELTY, Trap.BARREN)
"""The reasons that depend on what was fetched before; others follow from the URL, or from rules that are kept."""
_KINDS = (_FETCHED, _TRUSTED, *_BY_BUDGET)

_Digests = NDArray[np.uint64]


class TrapDecisions:
    """What one crawl fetched and refused, as far as it is remembered."""

    def __init__(self) -> None:
        self._sets = {kind: RecentSet(MAX_URLS) for kind in _KINDS}

    def fetch(self, url: str) -> None:
        """Record that a URL was fetched."""
        self._sets[_FETCHED].knows(digest(url))

    def refuse(self, url: str, reason: Trap, *, trusted: bool) -> None:
        """Record that a URL was refused for a reason that depends on earlier pages."""
        number = digest(url)
        self._sets[reason].knows(number)
        if trusted:
            self._sets[_TRUSTED].knows(number)

    def forget(self, reason: Trap) -> None:
        """Forget the refusals for a reason, since the settings behind them have changed."""
        self._sets[reason] = RecentSet(MAX_URLS)

    def has_fetched(self, url: str) -> bool:
        """Return whether a URL was fetched."""
        return digest(url) in self._sets[_FETCHED]

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored`` and ``Precedents``."""
        return {f"now_{kind}": _sorted(numbers) for kind, numbers in self._sets.items()}

    @classmethod
    def restored(cls, state: Arrays) -> "TrapDecisions":
        """Return the decisions with this ``state``. Raises ``ValueError`` or ``KeyError`` where it is invalid."""
        decisions = cls()
        for kind, numbers in decisions._sets.items():
            for number in _checked(state[f"now_{kind}"]).tolist():
                numbers.knows(number)
        return decisions


class Precedents:
    """The decisions of former crawls, which guide those of this one."""

    def __init__(self) -> None:
        self._of: dict[str, _Digests] = {kind: np.zeros(0, np.uint64) for kind in _KINDS}

    def has_fetched(self, url: str) -> bool:
        """Return whether a former crawl fetched a URL."""
        return self._has(_FETCHED, url)

    def refusal(self, url: str, *, trusted: bool) -> Trap | None:
        """Return why a former crawl refused a URL.

        For a ``trusted`` URL, only refusals made although it was trusted count.
        """
        if trusted and not self._has(_TRUSTED, url):
            return None
        return next((reason for reason in _BY_BUDGET if self._has(reason, url)), None)

    def knows(self, url: str) -> bool:
        """Return whether a former crawl fetched or refused a URL."""
        return any(self._has(kind, url) for kind in (_FETCHED, *_BY_BUDGET))

    def forget(self, reason: Trap) -> None:
        """Forget the refusals for a reason, since the settings behind them have changed."""
        self._of[reason] = np.zeros(0, np.uint64)

    def join(self, decisions: TrapDecisions) -> None:
        """Add the decisions of a later crawl; older decisions are forgotten first."""
        recent = decisions.state()
        self._add({kind: _checked(recent[f"now_{kind}"]) for kind in _KINDS})

    def join_all(self, state: Arrays) -> None:
        """Add the decisions that guide another worker, given its ``state``."""
        self._add({kind: _checked(state[f"former_{kind}"]) for kind in _KINDS})

    def _add(self, recent: Mapping[str, _Digests]) -> None:
        for kind, numbers in recent.items():
            older = np.setdiff1d(self._of[kind], numbers, assume_unique=True)
            self._of[kind] = np.union1d(numbers, older[: max(0, MAX_URLS - len(numbers))])

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored``."""
        return {f"former_{kind}": numbers for kind, numbers in self._of.items()}

    @classmethod
    def restored(cls, state: Arrays) -> "Precedents":
        """Return the precedents with this ``state``. Raises ``ValueError`` or ``KeyError`` where it is invalid."""
        precedents = cls()
        precedents._of = {kind: _checked(state[f"former_{kind}"]) for kind in _KINDS}
        return precedents

    def _has(self, kind: str, url: str) -> bool:
        numbers = self._of[kind]
        if not len(numbers):
            return False
        wanted = np.uint64(digest(url))
        at = int(np.searchsorted(numbers, wanted))
        return at < len(numbers) and bool(numbers[at] == wanted)


def _sorted(numbers: Iterable[int]) -> _Digests:
    return np.sort(np.fromiter(numbers, np.uint64))


def _checked(numbers: NDArray[np.generic]) -> _Digests:
    if numbers.dtype != np.uint64 or numbers.ndim != 1:
        raise ValueError("decisions are no list of digests")
    return np.unique(numbers.astype(np.uint64))
