"""The frontier's protocol in memory, for crawls that take seconds."""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice

from aahcrawler.frontier.protocol import (
    LEASE_RAN_OUT,
    MIN_LEASES,
    QUIET,
    RETRIES_USED_UP,
    Counts,
    FrontierSettings,
    Kind,
    Lease,
    Offer,
    Offered,
    Outcome,
    QueueCounts,
    Rescore,
    State,
    Update,
)

Order = tuple[float, int, int]
"""The sort key, best first: descending score, requisites before pages, earlier offers before later ones."""

MILLION = 1_000_000
"""Scores are stored as whole millionths."""

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
        """The sort key among the queued URLs."""
        return -self.score, 0 if self.kind == "requisite" else 1, self.sequence

    def as_offer(self) -> Offer:
        """Return the offer that would create this URL in its current state."""
        return Offer(self.url, self.queue, self.score / MILLION, self.depth, self.kind, self.via, self.path)

    def rescore(self, value: float, update: Update) -> bool:
        """Apply the update function to a new score in millionths; return whether anything changed."""
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
"""The second element numbers the pushes, so that no two entries are equal."""
_Heads = list[tuple[Order, str, Kind]]


@dataclass(slots=True)
class _Queue:
    """The queued URLs of a queue; outdated entries are discarded when they reach the top."""

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
    """The queued URLs of all queues of a crawl. Call ``push`` for each URL that is queued or whose order changes."""

    _queues: dict[str, _Queue] = field(default_factory=dict)
    _heads: _Heads = field(default_factory=list)
    _pushes: int = 0

    def push(self, url: KnownUrl) -> None:
        """Add a URL that was queued, or whose order changed."""
        queue = self._queues.get(url.queue)
        if queue is None:
            queue = self._queues[url.queue] = _Queue()
        self._pushes += 1
        entry = (url.order, self._pushes, url)
        heapq.heappush(queue.heaps[url.kind], entry)
        if queue.heaps[url.kind][0] is entry:
            heapq.heappush(self._heads, (entry[0], url.queue, url.kind))

    def head(self, queue: str, kind: Kind) -> KnownUrl | None:
        """Return the best queued URL of this kind in a queue; None if there is none."""
        return self._queues[queue].head(kind)

    def heads(self) -> Generator[KnownUrl, None, None]:
        """Yield the best URL of each queue and kind, the best of all first.

        If that URL is leased during the iteration, the next one of its queue takes its place; no other URL may be
        queued meanwhile.
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


Slot = tuple[str, str, int]
"""A connection in use: its queue, its crawl, and the number of the batch that uses it."""


@dataclass(slots=True)
class QueueSlots:
    """Delays and connections by queue. ``clock`` returns seconds, and all times are by this clock."""

    clock: Callable[[], float]
    _opens: dict[str, float] = field(default_factory=dict)
    _usual: dict[str, float] = field(default_factory=dict)
    _learned: dict[str, float] = field(default_factory=dict)
    _workers: dict[str, str] = field(default_factory=dict)
    _out: dict[str, dict[Slot, float]] = field(default_factory=dict)

    def rest(self, queue: str, delay: float) -> None:
        """Keep a queue closed for at least ``delay`` seconds, or for the rest of a longer delay."""
        if delay > 0:
            self._opens[queue] = max(self._opens.get(queue, 0.0), self.clock() + delay)

    def remember(self, queue: str, delay: float) -> None:
        """Set the usual delay of a queue."""
        if delay or queue in self._usual:
            self._usual[queue] = delay

    def learn(self, queue: str, learned: float | None) -> None:
        """Store the delay that a queue's site asks for; None leaves the stored one."""
        if learned is not None:
            self._learned[queue] = learned

    def learned(self, queue: str) -> float:
        """Return the stored delay that a queue's site asks for."""
        return self._learned.get(queue, 0.0)

    def rest_as_usual(self, queue: str) -> None:
        """Keep a queue closed for its usual delay."""
        self.rest(queue, self._usual.get(queue, 0.0))

    def take(self, slot: Slot, until: float, worker: str) -> None:
        """Mark a connection of a worker as in use until it is given back; it counts as lost at the time ``until``."""
        self._out.setdefault(slot[0], {})[slot] = until
        self._workers[slot[0]] = worker

    def give_back(self, slot: Slot) -> None:
        """Mark a connection as free."""
        if slot in self._out.get(slot[0], {}):
            del self._out[slot[0]][slot]
            if not self._out[slot[0]]:
                del self._out[slot[0]]
                del self._workers[slot[0]]

    def renew(self, slot: Slot, until: float) -> None:
        """Postpone the time at which a connection in use counts as lost."""
        if slot in self._out.get(slot[0], {}):
            self._out[slot[0]][slot] = until

    def take_back_lost(self) -> None:
        """Free the connections that count as lost, and close their queues for their usual delay."""
        now = self.clock()
        for slot in [slot for out in self._out.values() for slot, until in out.items() if until <= now]:
            self.rest_as_usual(slot[0])
            self.give_back(slot)

    def wait(self, queue: str, connections: int) -> float | None:
        """Return the seconds until a queue opens (0: it is open); None if all its connections are in use."""
        if len(self._out.get(queue, ())) >= connections:
            return None
        return max(0.0, self._opens[queue] - self.clock()) if queue in self._opens else 0.0

    def is_anothers(self, queue: str, worker: str) -> bool:
        """Return whether another worker uses the connections of a queue."""
        return self._workers.get(queue, worker) != worker

    def first_loss(self) -> float:
        """Return the seconds until the first connection in use counts as lost. At least one must be in use."""
        return max(0.0, min(until for out in self._out.values() for until in out.values()) - self.clock())


_REMEMBERED_SECONDS = 60.0
"""How long a finish may be repeated, in seconds."""
_FORGOTTEN_AT_ONCE = 100


class MemoryFrontier:
    """The frontier of one crawl. Frontiers with the same ``slots`` share politeness, as crawls on one server do.

    It gives every guarantee of ``aahcrawler.frontier.protocol.Frontier`` except surviving its process. Not thread-safe.
    """

    def __init__(self, slots: QueueSlots, crawl: str, settings: FrontierSettings) -> None:
        self._slots = slots
        self._crawl = crawl
        self._settings = settings
        self._urls: dict[str, KnownUrl] = {}
        self._heaps = QueueHeaps()
        self._leased: dict[str, KnownUrl] = {}
        self._batches: Counter[int] = Counter()
        self._last_batch = 0
        self._taken: Counter[str] = Counter()
        self._taken_in_all = 0
        self._finished: dict[tuple[str, str], float] = {}
        self._reasons: Counter[str] = Counter()
        self._numbers: dict[str, float] = {}

    # Scheduling

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        """Queue new URLs and re-score queued ones."""
        return tuple([self._offer(offer) for offer in offers])

    def _offer(self, offer: Offer) -> Offered:
        known = self._urls.get(offer.url)
        if known is None:
            self._add(offer)
            return Offered.ADDED
        if known.state is not State.QUEUED or (known.kind == "page" and offer.kind == "requisite"):
            return Offered.KNOWN
        value = round(offer.score * MILLION)
        if known.kind != offer.kind:
            known.kind, known.value, known.offers = "page", value, 1
            self._heaps.push(known)
        elif known.rescore(value, self._settings.update):
            self._heaps.push(known)
        known.depth = min(known.depth, offer.depth)
        return Offered.RESCORED

    def _add(self, offer: Offer) -> None:
        value, sequence = round(offer.score * MILLION), len(self._urls) + 1
        url = KnownUrl(offer.url, offer.queue, offer.kind, offer.depth, offer.via, offer.path, value, sequence)
        self._urls[offer.url] = url
        self._heaps.push(url)

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        """Set the scores of queued pages."""
        return tuple([self._rescore(each) for each in scores])

    def _rescore(self, rescore: Rescore) -> bool:
        known = self._urls.get(rescore.url)
        if known is None or known.state is not State.QUEUED or known.kind != "page":
            return False
        value = round(rescore.score * MILLION)
        if (known.value, known.offers) != (value, 1):
            known.value, known.offers = value, 1
            self._heaps.push(known)
        return True

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        """Lease at most ``n`` URLs, the best first."""
        self._take_back_lost()
        leases: list[Lease] = []
        with closing(self._heaps.heads()) as heads:
            for best in heads:
                if len(leases) >= n:
                    break
                if self._allowed(best) and self._is_open(best.queue, worker):
                    leases += self._batch(worker, best.queue, min(self._settings.balance, n - len(leases)))
        return tuple(leases)

    def _batch(self, worker: str, queue: str, most: int) -> list[Lease]:
        self._last_batch += 1
        leases: list[Lease] = []
        expires = self._slots.clock() + self._settings.lease_seconds
        self._slots.take(self._slot(queue, self._last_batch), expires, worker)
        while len(leases) < most and (url := self._best(queue)) is not None:
            leases.append(self._lease(url, expires))
        if (bound := self._settings.pages_per_queue) > 0:
            left = max(0, bound - self._taken[queue])
            leases = [replace(lease, left=left) for lease in leases]
        if self._settings.connections > 1:
            self._slots.rest_as_usual(queue)
        return leases

    def _lease(self, url: KnownUrl, expires: float) -> Lease:
        url.state, url.batch, url.expires = State.LEASED, self._last_batch, expires
        url.attempt += 1
        self._leased[url.url] = url
        self._batches[url.batch] += 1
        self._count_taken(url, 1)
        score, token, is_scored = max(0.0, url.score / MILLION), str(url.batch), url.score >= 0
        kept = url.depth, url.kind, url.via, url.attempt, token, url.path
        return Lease(url.url, url.queue, score, *kept, is_scored=is_scored, learned=self._slots.learned(url.queue))

    def finish(self, lease: Lease, state: State, outcome: Outcome = QUIET, links: Sequence[Offer] = ()) -> bool:
        """See ``Scheduling.finish``."""
        url = self._held(lease)
        if url is None:
            return (lease.url, lease.token) in self._finished
        self._slots.rest(url.queue, outcome.delay)
        self._slots.learn(url.queue, outcome.learned)
        if state is State.DONE:
            self._slots.remember(url.queue, outcome.delay)
        self._conclude(url, state, outcome.reason)
        self.count(outcome.stats)
        self._finished[lease.url, lease.token] = self._slots.clock()
        for link in links:
            self._offer(link)
        return True

    def retry(self, lease: Lease, outcome: Outcome = QUIET) -> State:
        """Put a leased URL back, and close its queue for a while."""
        url = self._held(lease)
        if url is not None:
            self._slots.rest(url.queue, outcome.delay)
            self._slots.learn(url.queue, outcome.learned)
            self._requeue(url, last=outcome.reason or RETRIES_USED_UP)
            self.count(outcome.stats)
        return self._urls[lease.url].state

    def release(self, leases: Sequence[Lease], *, delay: float = 0.0) -> None:
        """Put back leased URLs that were not fetched."""
        for url in filter(None, map(self._held, leases)):
            self._slots.rest(url.queue, delay)
            url.attempt -= 1
            self._put_back(url)

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        """Extend leases."""
        expires = self._slots.clock() + self._settings.lease_seconds
        held = tuple(map(self._held, leases))
        for url in filter(None, held):
            url.expires = expires
            self._slots.renew(self._slot(url.queue, url.batch), expires)
        return tuple(url is not None for url in held)

    def remember_delay(self, lease: Lease, delay: float) -> None:
        """Set the usual delay of a queue."""
        url = self._held(lease)
        if url is not None:
            self._slots.remember(url.queue, delay)

    def recover(self) -> int:
        """Requeue all leased URLs."""
        lost = sorted(self._leased.values(), key=lambda url: url.sequence)
        for url in lost:
            self._slots.rest_as_usual(url.queue)
            url.attempt -= 1
            self._put_back(url)
        return len(lost)

    def go_by(self, settings: FrontierSettings) -> None:
        """Use other settings from now on."""
        self._settings = settings

    def next_ready(self) -> float | None:
        """Return the seconds until a lease may succeed; None if none ever will."""
        now = self._slots.clock()
        waits = [max(0.0, url.expires - now) for url in self._leased.values()]
        for url in self._heaps.heads():
            if self._allowed(url):
                wait = self._wait(url.queue)
                waits.append(self._slots.first_loss() if wait is None else wait)
        return min(waits, default=None)

    def close(self) -> None:
        """Do nothing, as there is no connection."""

    # Inspection

    def counts(self) -> Counts:
        """Count URLs by state."""
        by_kind: dict[Kind, Counter[State]] = {"page": Counter(), "requisite": Counter()}
        for url in self._urls.values():
            by_kind[url.kind][url.state] += 1
        queued = {url.queue for url in self._urls.values() if url.state is State.QUEUED}
        pages, requisites = ({state: by_kind[kind][state] for state in State} for kind in ("page", "requisite"))
        return Counts(pages, requisites, len(queued), dict(self._reasons))

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        """Count the pages of every queue."""
        found: Counter[tuple[str, Kind, State]] = Counter()
        for url in self._urls.values():
            found[url.queue, url.kind, url.state] += 1
        return {queue: self._queue_counts(queue, found) for queue in {url.queue for url in self._urls.values()}}

    def state(self, url: str) -> State | None:
        """Return the state of a URL."""
        return self._urls[url].state if url in self._urls else None

    def iterate(self, n: int) -> Sequence[Offer]:
        """Return the best queued URLs."""
        queued = (url for url in self._urls.values() if url.state is State.QUEUED)
        return tuple(url.as_offer() for url in sorted(queued, key=lambda url: url.order)[:n])

    # Tallies

    def count(self, amounts: Mapping[str, float]) -> None:
        """Add to counters by name."""
        for name, amount in amounts.items():
            self._numbers[name] = self._numbers.get(name, 0.0) + amount

    def stats(self) -> Mapping[str, float]:
        """Return every counter that was ever added to."""
        return dict(self._numbers)

    # What the operations are made of

    def _slot(self, queue: str, batch: int) -> Slot:
        return queue, self._crawl, batch

    def _held(self, lease: Lease) -> KnownUrl | None:
        url = self._leased.get(lease.url)
        return url if url is not None and str(url.batch) == lease.token else None

    def _is_open(self, queue: str, worker: str) -> bool:
        return self._wait(queue) == 0 and not self._slots.is_anothers(queue, worker)

    def _wait(self, queue: str) -> float | None:
        return self._slots.wait(queue, self._settings.connections)

    def _queue_counts(self, queue: str, found: Mapping[tuple[str, Kind, State], int]) -> QueueCounts:
        queued, leased, done = (found[queue, "page", state] for state in (State.QUEUED, State.LEASED, State.DONE))
        return QueueCounts(queued, leased, done, found[queue, "requisite", State.QUEUED])

    def _best(self, queue: str) -> KnownUrl | None:
        heads = (self._heaps.head(queue, kind) for kind in ("page", "requisite"))
        fit = (url for url in heads if url is not None and self._allowed(url))
        return min(fit, key=lambda url: url.order, default=None)

    def _allowed(self, url: KnownUrl) -> bool:
        pages, per_queue = self._settings.pages, self._settings.pages_per_queue
        if url.kind == "requisite":
            return True
        return (not pages or self._taken_in_all < pages) and (not per_queue or self._taken[url.queue] < per_queue)

    def _count_taken(self, url: KnownUrl, change: int) -> None:
        if url.kind == "page":
            self._taken[url.queue] += change
            self._taken_in_all += change

    def _take_back_lost(self) -> None:
        now = self._slots.clock()
        for url in [url for url in self._leased.values() if url.expires <= now]:
            self._slots.rest_as_usual(url.queue)
            self._requeue(url, last=LEASE_RAN_OUT)
        self._slots.take_back_lost()
        self._forget_finished(now - _REMEMBERED_SECONDS)

    def _forget_finished(self, before: float) -> None:
        for key, at in list(islice(self._finished.items(), _FORGOTTEN_AT_ONCE)):
            if at > before:
                break
            del self._finished[key]

    def _requeue(self, url: KnownUrl, *, last: str) -> None:
        least = MIN_LEASES if last == LEASE_RAN_OUT else 1
        if url.attempt >= max(self._settings.attempts, least):
            self._conclude(url, State.FAILED, last)
        else:
            self._put_back(url)

    def _put_back(self, url: KnownUrl) -> None:
        self._unlease(url)
        url.state = State.QUEUED
        self._count_taken(url, -1)
        self._heaps.push(url)

    def _conclude(self, url: KnownUrl, state: State, reason: str) -> None:
        self._unlease(url)
        url.state = state
        if state is not State.DONE:
            self._count_taken(url, -1)
        if reason:
            self._reasons[reason] += 1

    def _unlease(self, url: KnownUrl) -> None:
        del self._leased[url.url]
        self._batches[url.batch] -= 1
        if not self._batches[url.batch]:
            del self._batches[url.batch]
            self._slots.give_back(self._slot(url.queue, url.batch))
