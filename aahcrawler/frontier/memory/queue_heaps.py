"""The order in which queued URLs are leased: heaps by score, of queues and within each queue."""

import heapq
import math
from collections.abc import Generator
from dataclasses import dataclass, field

from aahcrawler.frontier.protocol import Kind, Offer, State, Update

Order = tuple[float, int, int]
"""Best first: by descending score, requisites before pages, earlier offers before later ones."""

MILLION = 1_000_000
"""Scores are kept as whole millionths."""

_KINDS: tuple[Kind, ...] = ("page", "requisite")


@dataclass(slots=True, eq=False)
class KnownUrl:
    """A URL of a crawl and its state; ``value`` is its score, or under AVG the sum of its ``offers``."""

    url: str
    queue: str
    kind: Kind
    depth: int
    via: str
    path: str
    value: float
    sequence: int
    offers: int = 1
    state: State = State.QUEUED
    attempt: int = 0
    batch: int = 0
    expires: float = 0.0

    @property
    def score(self) -> float:
        """The score in millionths."""
        return self.value if self.offers == 1 else math.floor(self.value / self.offers + 0.5)

    @property
    def order(self) -> Order:
        """The position among the queued URLs."""
        return -self.score, 0 if self.kind == "requisite" else 1, self.sequence

    def as_offer(self) -> Offer:
        """Return the offer that would bring it into its present state."""
        return Offer(self.url, self.queue, self.score / MILLION, self.depth, self.kind, self.via, self.path)

    def rescore(self, value: float, update: Update) -> bool:
        """Apply the update function to a new score in millionths; say whether anything changed."""
        before = self.value, self.offers
        if value < 0:
            return False
        if self.value < 0 or update is Update.LAST:
            self.value = value
        elif update is Update.MAX:
            self.value = max(self.value, value)
        elif update is Update.SUM:
            self.value += value
        elif update is Update.AVG:
            self.value += value
            self.offers += 1
        return (self.value, self.offers) != before


_Heap = list[tuple[Order, int, KnownUrl]]
"""The number of the push keeps entries apart that would otherwise be equal."""
_Heads = list[tuple[Order, str, Kind]]


@dataclass(slots=True)
class _Queue:
    """The queued URLs of a queue; entries that are out of date are thrown away when they come up."""

    heaps: dict[Kind, _Heap] = field(default_factory=lambda: {kind: [] for kind in _KINDS})

    def head(self, kind: Kind) -> KnownUrl | None:
        heap = self.heaps[kind]
        while heap:
            order, _, url = heap[0]
            if url.state is State.QUEUED and url.order == order:
                return url
            heapq.heappop(heap)
        return None


@dataclass(slots=True)
class QueueHeaps:
    """All queued URLs of a crawl. Whoever queues a URL, or changes its order, says so with ``push``."""

    _queues: dict[str, _Queue] = field(default_factory=dict)
    _heads: _Heads = field(default_factory=list)
    _pushes: int = 0

    def push(self, url: KnownUrl) -> None:
        """Take in a URL that was queued, or whose order changed."""
        queue = self._queues.get(url.queue)
        if queue is None:
            queue = self._queues[url.queue] = _Queue()
        self._pushes += 1
        entry = (url.order, self._pushes, url)
        heapq.heappush(queue.heaps[url.kind], entry)
        if queue.heaps[url.kind][0] is entry:
            heapq.heappush(self._heads, (entry[0], url.queue, url.kind))

    def head(self, queue: str, kind: Kind) -> KnownUrl | None:
        """Return the best queued URL of a kind in a queue."""
        return self._queues[queue].head(kind)

    def heads(self) -> Generator[KnownUrl, None, None]:
        """Yield the best URL of each queue and kind, the best of all first.

        One that is taken on the way is followed by the next of its queue, in its place; nothing else may be queued
        on the way.
        """
        passed: _Heads = []
        try:
            while self._heads:
                entry = heapq.heappop(self._heads)
                url = self.head(entry[1], entry[2])
                if url is None:
                    continue
                if url.order != entry[0]:
                    heapq.heappush(self._heads, (url.order, entry[1], entry[2]))
                    continue
                passed.append(entry)
                yield url
                if url.state is not State.QUEUED:
                    heapq.heappush(self._heads, passed.pop())
        finally:
            for entry in passed:
                heapq.heappush(self._heads, entry)
