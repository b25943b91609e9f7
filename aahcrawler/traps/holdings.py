"""Learns which patterns of URLs show single objects that other pages show together: messages and their threads.

Whichever page is fetched first, the credit for an object goes to the pages that show several. Otherwise a crawl that
meets messages before their threads would take both for worth their requests.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from aahcrawler.traps.bloom_filters import Arrays, RecentSet, digest
from aahcrawler.traps.budgets import GAIN
from aahcrawler.traps.patterns import pattern_of

MAX_OBJECTS: Final = 100_000
"""Objects alone on their pages that are remembered, the last ones."""
MAX_PATTERNS: Final = 10_000
MAX_HELD: Final = 200_000
"""URLs of objects that are remembered, the last ones."""


@dataclass(slots=True)
class _Shown:
    """The pages with objects of one pattern, how many of them had ``several`` objects, and the URL of one."""

    url: str
    pages: int = 0
    several: int = 0

    @property
    def shows_several(self) -> bool:
        """Whether the pages count as showing several objects.

        One in eight is enough, as most threads have one message.
        """
        return self.several > 0 and GAIN * self.several >= self.pages


class Holdings:
    """The objects that pages showed alone, by the patterns of these pages.

    It also has the URLs of objects that other pages showed.
    """

    def __init__(self, capacity: int = MAX_OBJECTS) -> None:
        self._capacity = capacity
        self._alone: OrderedDict[int, str] = OrderedDict()
        self._patterns: OrderedDict[str, _Shown] = OrderedDict()
        self._held = RecentSet(MAX_HELD)

    def hold(self, url: str, named: Iterable[str]) -> None:
        """Record the canonical URLs that a page gives for its objects, if it has several, except its own URL."""
        others = [each for each in named if each != url]
        if len(others) > 1:
            for each in others:
                self._held.knows(digest(each))

    def holds(self, url: str) -> bool:
        """Return whether a canonical URL is that of an object which another page showed among others."""
        return digest(url) in self._held

    def show(self, url: str, objects: Sequence[int]) -> Mapping[str, int]:
        """Record the hashes of a page's objects; return how many of them were alone on pages of other patterns.

        Each of these patterns is named by the URL of one such page. Each object is counted once, and only for a page of
        a pattern that shows several objects, against a pattern that does not.
        """
        if not objects:
            return {}
        name = pattern_of(url).detail
        own = self._of(name, url)
        own.pages += 1
        own.several += len(objects) > 1
        moved: Counter[str] = Counter()
        for number in objects:
            holder = self._alone.get(number)
            if holder is None and len(objects) == 1 and not own.shows_several:
                self._alone[number] = name
            elif holder is not None and holder != name and own.shows_several:
                del self._alone[number]
                other = self._patterns.get(holder)
                if other is not None and not other.shows_several:
                    moved[other.url] += 1
        if len(self._alone) > self._capacity:
            self._alone.popitem(last=False)
        return moved

    def _of(self, name: str, url: str) -> _Shown:
        shown = self._patterns.setdefault(name, _Shown(url))
        self._patterns.move_to_end(name)
        if len(self._patterns) > MAX_PATTERNS:
            self._patterns.popitem(last=False)
        return shown

    def state(self) -> Arrays:
        """Return the whole state as arrays, for ``restored``."""
        places = {name: place for place, name in enumerate(self._patterns)}
        alone = [(number, places[name]) for number, name in self._alone.items() if name in places]
        text = "\n".join(shown.url for shown in self._patterns.values())
        counts = [(shown.pages, shown.several) for shown in self._patterns.values()]
        return {
            "alone": np.array(alone, np.uint64).reshape(-1, 2),
            "alone_urls": np.frombuffer(text.encode("utf-8", "replace"), np.uint8),
            "alone_counts": np.array(counts, np.int64).reshape(-1, 2),
            "held": np.sort(np.fromiter(self._held, np.uint64)),
        }

    @classmethod
    def restored(cls, state: Arrays) -> "Holdings":
        """Return the holdings with this ``state``, empty ones if it has none.

        Raises ``ValueError`` where it is damaged.
        """
        holdings = cls()
        if "alone" not in state:
            return holdings
        text = state["alone_urls"].astype(np.uint8).tobytes().decode()
        urls = text.split("\n") if text else []
        counts = state["alone_counts"].astype(np.int64)
        alone = state["alone"].astype(np.uint64)
        if counts.shape != (len(urls), 2) or alone.shape[1:] != (2,) or (alone[:, 1] >= len(urls)).any():
            raise ValueError("objects and the patterns of their pages do not fit together")
        names = [pattern_of(url).detail for url in urls]
        for name, url, (pages, several) in zip(names, urls, counts.tolist(), strict=True):
            holdings._patterns[name] = _Shown(url, pages, several)
        for number in state["held"].astype(np.uint64).tolist():
            holdings._held.knows(number)
        holdings._alone.update((number, names[place]) for number, place in alone.tolist())
        return holdings

    def join(self, state: Arrays) -> None:
        """Add what another worker learned, given its ``state``; parts of both may come from the same former crawls."""
        other = Holdings.restored(state)
        for name, shown in other._patterns.items():  # noqa: SLF001
            own = self._of(name, shown.url)
            own.pages, own.several = max(own.pages, shown.pages), max(own.several, shown.several)
        for number, name in other._alone.items():  # noqa: SLF001
            self._alone.setdefault(number, name)
        for number in other._held:  # noqa: SLF001
            self._held.knows(number)
        while len(self._alone) > self._capacity:
            self._alone.popitem(last=False)
