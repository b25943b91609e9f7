"""The frontier on a Redis-protocol server or a Redis Cluster, as a whole of its partitions.

With one partition every operation is that partition's own. With several, queues are divided among them by a hash of
their names, and each operation is atomic in each partition.
"""

import heapq
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar, cast

from redis import Redis

from aahcrawler.frontier.control import Post, Posted, UrlStatus
from aahcrawler.frontier.protocol import (
    QUIET,
    Counts,
    FrontierAwayError,
    FrontierSettings,
    FrontierUnavailableError,
    Lease,
    Offer,
    Offered,
    Outcome,
    QueueCounts,
    Rescore,
    State,
)
from aahcrawler.frontier.redis.keyspace import PER_CALL
from aahcrawler.frontier.redis.partition import Partition
from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.redis.url_records import queue_id
from aahcrawler.urls import queue_of

_P = TypeVar("_P", bound=Partition)
_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")


class PartitionedFrontier(Generic[_P]):
    """One crawl's frontier over partitions of a type ``_P``.

    With several partitions, these operations differ from ``protocol.Frontier``:

    - An operation given only a URL looks for it in the partition of ``urls.queue_of``.
    - ``lease`` takes from all partitions in turn: the best of each, not the best of all.
    - ``finish`` offers links to queues of other partitions first. After a crash in between they are offered again,
      which matters under SUM and AVG.
    - ``FrontierSettings.pages`` may be exceeded by what other workers lease at the same moment.
    """

    def __init__(
        self,
        server: Redis | str,
        crawl: str,
        settings: FrontierSettings,
        clock: Callable[[], float] | None,
        kind: Callable[..., _P],
    ) -> None:
        self._client = connect(server) if isinstance(server, str) else server
        self._crawl = crawl
        self._settings = settings
        tags = partition_tags(self._client)
        self._partitions: tuple[_P, ...] = tuple(kind(self._client, tag, crawl, settings, clock) for tag in tags)
        self._next = 0

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        """See ``Scheduling.offer``. An atomic round trip covers up to 500 offers of a partition."""
        return self._divided(offers, _queue, Partition.offer)

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        """See ``Scheduling.rescore``. An atomic round trip covers up to 500 scores of a partition."""
        return self._divided(scores, lambda score: queue_of(score.url), Partition.rescore)

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        """See ``Scheduling.lease``."""
        if len(self._partitions) == 1:
            return self._partitions[0].lease(worker, n)
        leases: list[tuple[Lease, ...]] = []
        ready, taken, left = self._in_turn(), self._taken(), n
        while ready and left:
            share = max(self._settings.balance, -(-left // len(ready)))
            giving = []
            for partition in ready:
                wanted = min(share, left)
                self._bound(partition, taken)
                try:
                    got = partition.lease(worker, wanted)
                except FrontierAwayError:
                    if not any(leases):
                        raise
                    continue  # What others have given would not be given again.
                leases.append(got)
                left -= len(got)
                taken[partition] += sum(1 for lease in got if lease.is_page)
                if wanted and len(got) == wanted:
                    giving.append(partition)
            ready = giving
        return tuple(heapq.merge(*leases, key=lambda lease: -lease.score))

    def finish(self, lease: Lease, state: State, outcome: Outcome = QUIET, links: Sequence[Offer] = ()) -> bool:
        """See ``Scheduling.finish``."""
        partition = self._partition(lease.queue)
        own, foreign = links, list[Offer]()
        if len(self._partitions) > 1:
            own = [link for link in links if self._partition(link.queue) is partition]
            foreign = [link for link in links if self._partition(link.queue) is not partition]
        before = [*foreign, *own[:-PER_CALL]]
        if before and partition.renew([lease])[0]:
            self.offer(before)
        return partition.finish(lease, state, outcome, own[-PER_CALL:])

    def retry(self, lease: Lease, outcome: Outcome = QUIET) -> State:
        """See ``Scheduling.retry``. Raises ``LookupError`` for a URL this frontier never had."""
        return self._partition(lease.queue).retry(lease, outcome)

    def release(self, leases: Sequence[Lease], *, delay: float = 0.0) -> None:
        """See ``Scheduling.release``."""
        for partition, part in self._parts(leases, _queue):
            partition.release([leases[at] for at in part], delay=delay)

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        """See ``Scheduling.renew``."""
        return self._divided(leases, _queue, Partition.renew)

    def remember_delay(self, lease: Lease, delay: float) -> None:
        """See ``Scheduling.remember_delay``."""
        self._partition(lease.queue).remember_delay(lease, delay)

    def recover(self) -> int:
        """See ``Scheduling.recover``. Atomic for every 500 leases of a partition."""
        return sum(partition.recover() for partition in self._partitions)

    def go_by(self, settings: FrontierSettings) -> None:
        """See ``Scheduling.go_by``. An atomic round trip covers some hundred queues."""
        self._settings = settings
        for partition in self._partitions:
            partition.go_by(settings)

    def next_ready(self) -> float | None:
        """See ``Scheduling.next_ready``."""
        waits: list[float] = []
        taken = self._taken()
        for partition in self._partitions:
            self._bound(partition, taken)
            wait = partition.next_ready()
            if wait == 0:
                return 0.0
            waits += [] if wait is None else [wait]
        return min(waits, default=None)

    def counts(self) -> Counts:
        """See ``Inspection.counts``. With several partitions, each is counted at a moment of its own."""
        each = [partition.counts() for partition in self._partitions]
        if len(each) == 1:
            return each[0]
        reasons = sum((Counter(counts.reasons) for counts in each), Counter[str]())
        return Counts(
            pages={state: sum(counts.pages[state] for counts in each) for state in each[0].pages},
            requisites={state: sum(counts.requisites[state] for counts in each) for state in each[0].requisites},
            queues=sum(counts.queues for counts in each),
            reasons=dict(sorted(reasons.items())),
        )

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        """See ``Inspection.queue_counts``."""
        return {name: counts for each in self._partitions for name, counts in each.queue_counts().items()}

    def state(self, url: str) -> State | None:
        """See ``Inspection.state``."""
        return self._of_url(url).state(url)

    def iterate(self, n: int) -> Sequence[Offer]:
        """See ``Inspection.iterate``."""
        queued = (record for partition in self._partitions for record in partition.best(n))
        return tuple(record.offer() for record in heapq.nsmallest(n, queued, key=lambda record: record.order))

    def post(self, posts: Sequence[Post]) -> tuple[Posted, ...]:
        """See ``Posting.post``. An atomic round trip covers up to 500 posts of a partition."""
        return self._divided(posts, lambda post: post.offer.queue, Partition.post)

    def status(self, url: str) -> UrlStatus | None:
        """See ``Posting.status``."""
        return self._of_url(url).status(url)

    def count(self, amounts: Mapping[str, float]) -> None:
        """See ``CrawlStats.count``."""
        self._partitions[0].count(amounts)

    def stats(self) -> Mapping[str, float]:
        """See ``CrawlStats.stats``."""
        if len(self._partitions) == 1:
            return self._partitions[0].stats()
        stats: dict[str, float] = {}
        for partition in self._partitions:
            for name, amount in partition.stats().items():
                stats[name] = stats.get(name, 0.0) + amount
        return stats

    def session(self, site: str) -> str:
        """See ``SessionStore.session``."""
        return self._partitions[0].session(site)

    def keep_session(self, site: str, text: str) -> None:
        """See ``SessionStore.keep_session``."""
        self._partitions[0].keep_session(site, text)

    def remove(self) -> None:
        """Remove everything the server stores for this crawl, which must have no worker. Data that crawls share stay.

        Takes many steps; only after the last can the crawl be stored in another format. After an error the call may be
        repeated.
        """
        for partition in self._partitions:
            partition.remove()

    def close(self) -> None:
        """See ``Scheduling.close``."""
        self._client.close()

    def _partition(self, queue: str) -> _P:
        if len(self._partitions) == 1:
            return self._partitions[0]
        return self._partitions[partition_of(queue, len(self._partitions))]

    def _of_url(self, url: str) -> _P:
        return self._partitions[0] if len(self._partitions) == 1 else self._partition(queue_of(url))

    def _in_turn(self) -> list[_P]:
        """Return all partitions, starting with a different one each time."""
        first, self._next = self._next, (self._next + 1) % len(self._partitions)
        return [*self._partitions[first:], *self._partitions[:first]]

    def _taken(self) -> Counter[_P]:
        """Count the leased and done pages of each partition, if there are several and pages are limited."""
        taken: Counter[_P] = Counter()
        if self._settings.pages and len(self._partitions) > 1:
            with unavailable():
                pipeline = self._client.pipeline(transaction=False)
                for partition in self._partitions:
                    pipeline.hmget(partition.key("counts"), ["pl", "pd"])
                found = pipeline.execute()
            for partition, numbers in zip(self._partitions, found, strict=True):
                taken[partition] = sum(int(number or 0) for number in numbers)
        return taken

    def _bound(self, partition: _P, taken: Counter[_P]) -> None:
        """Limit the pages of one of several partitions, given how many the others have leased or done."""
        if self._settings.pages and len(self._partitions) > 1:
            others = taken.total() - taken[partition]
            partition.bound_pages(max(0, self._settings.pages - others))

    def _parts(self, items: Sequence[_Item], queue: Callable[[_Item], str]) -> Iterator[tuple[_P, Sequence[int]]]:
        """Yield each partition with the positions of the items that belong to it."""
        positions: dict[_P, list[int]] = {}
        for at, item in enumerate(items):
            positions.setdefault(self._partition(queue(item)), []).append(at)
        yield from positions.items()

    def _divided(
        self,
        items: Sequence[_Item],
        queue: Callable[[_Item], str],
        operation: Callable[[_P, Sequence[_Item]], Sequence[_Answer]],
    ) -> tuple[_Answer, ...]:
        """Have each partition process its items; return the results, parallel to all items."""
        if len(self._partitions) == 1:
            return tuple(operation(self._partitions[0], items))
        answers: dict[int, _Answer] = {}
        for partition, part in self._parts(items, queue):
            answers.update(zip(part, operation(partition, [items[at] for at in part]), strict=True))
        return tuple(answers[at] for at in range(len(items)))


class RedisFrontier(PartitionedFrontier[Partition]):
    """One crawl's frontier. Instances in any number of threads, processes and machines may share a crawl.

    ``server`` is a client that does not decode responses, or a URL (``unix://``, ``redis://``, ``redis+cluster://``).
    ``clock`` returns seconds; if it is None, the server's clock is used, so the clocks of workers need not agree.
    Raises ``FrontierUnavailableError`` if the server cannot be reached or stores this crawl in another format.
    """

    def __init__(
        self, server: Redis | str, crawl: str, settings: FrontierSettings, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(server, crawl, settings, clock, Partition)


def _queue(item: Offer | Lease) -> str:
    return item.queue


VARIABLE: Final = "AAH_PARTITIONS"
"""The environment variable that sets the number of partitions when a server is first used; 1 if it is not set."""
MAX_BATCH: Final = 1024

_KEY = "{p0}:partitions"


def partition_tags(client: Redis) -> tuple[str, ...]:
    """Return the hash tags of a server's partitions; all clients of a server use the same number of them.

    Raises ``FrontierUnavailableError`` if the environment variable is not a valid number of partitions for a new
    server.
    """
    with unavailable():
        kept = cast("bytes | None", client.get(_KEY))
        if kept is None:
            client.set(_KEY, _wanted(), nx=True)
            kept = cast("bytes", client.get(_KEY))
    return tuple(f"{{p{number}}}" for number in range(int(kept)))


def partition_of(queue: str, partitions: int) -> int:
    """Return the number of the partition to which a queue belongs."""
    return int.from_bytes(queue_id(queue), "big") % partitions


def _wanted() -> int:
    setting = os.environ.get(VARIABLE, "1")
    if not setting.isdecimal() or not 1 <= int(setting) <= MAX_BATCH:
        raise FrontierUnavailableError(f"{VARIABLE} is {setting!r}; give a number from 1 to {MAX_BATCH}")
    return int(setting)
