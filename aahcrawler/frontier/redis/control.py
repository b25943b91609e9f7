"""The operators' control of a frontier on a Redis-protocol server or Redis Cluster, over all its partitions."""

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from redis import Redis

from aahcrawler.frontier.control import Place, Queued, Revisit, Rule, SnapshotError, Standing, Swept, Timed, UrlStatus
from aahcrawler.frontier.protocol import FrontierSettings, State
from aahcrawler.frontier.redis import snapshots, url_records
from aahcrawler.frontier.redis.controlled_partition import BrowsedPartition
from aahcrawler.frontier.redis.frontier import PartitionedFrontier
from aahcrawler.frontier.redis.snapshots import Entry, Head
from aahcrawler.urls import queue_of


class RedisControl(PartitionedFrontier[BrowsedPartition]):
    """A crawl's frontier with the operations of ``control.Control`` and ``control.Browsing``.

    With several partitions, atomic operations are atomic in each of them, one after another.
    """

    def __init__(
        self, server: Redis | str, crawl: str, settings: FrontierSettings, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(server, crawl, settings, clock, BrowsedPartition)

    def pause(self) -> None:
        """See ``Pausing.pause``."""
        for partition in self._partitions:
            partition.pause()

    def resume(self) -> None:
        """See ``Pausing.resume``."""
        for partition in self._partitions:
            partition.resume()

    def is_paused(self) -> bool:
        """See ``Pausing.is_paused``."""
        return all(partition.is_paused() for partition in self._partitions)

    def pause_queue(self, queue: str) -> None:
        """See ``Pausing.pause_queue``."""
        self._partition(queue).pause_queue(queue)

    def resume_queue(self, queue: str) -> None:
        """See ``Pausing.resume_queue``."""
        self._partition(queue).resume_queue(queue)

    def paused_queues(self) -> frozenset[str]:
        """See ``Pausing.paused_queues``."""
        return frozenset().union(*(partition.paused_queues() for partition in self._partitions))

    def block(self, rules: Sequence[Rule]) -> int:
        """See ``Blocking.block``. Examines all URLs of the crawl."""
        return sum(partition.block(rules) for partition in self._partitions)

    def unblock(self, rules: Sequence[Rule]) -> int:
        """See ``Blocking.unblock``. Examines all blocked URLs."""
        return sum(partition.unblock(rules) for partition in self._partitions)

    def rules(self) -> frozenset[Rule]:
        """See ``Blocking.rules``."""
        return self._partitions[0].rules()

    def block_urls(self, urls: Sequence[str], reason: str) -> tuple[bool, ...]:
        """See ``Blocking.block_urls``."""
        return self._divided(urls, queue_of, lambda partition, part: partition.block_urls(part, reason))

    def unblock_urls(self, urls: Sequence[str]) -> tuple[bool, ...]:
        """See ``Blocking.unblock_urls``."""
        return self._divided(urls, queue_of, BrowsedPartition.unblock_urls)

    def again(self, revisits: Sequence[Revisit]) -> tuple[bool, ...]:
        """See ``Revisiting.again``."""
        return self._divided(revisits, lambda revisit: revisit.offer.queue, BrowsedPartition.again)

    def scan(self, states: Collection[State]) -> Iterator[UrlStatus]:
        """See ``Revisiting.scan``. A round trip covers some thousand URLs."""
        for partition in self._partitions:
            yield from partition.scan(states)

    def walk(self, after: Place | None = None, queues: Collection[str] | None = None) -> Iterator[Queued]:
        """See ``Browsing.walk``."""
        return heapq.merge(
            *(partition.walk(after, queues) for partition in self._partitions), key=lambda queued: queued.place
        )

    def sweep(self, wanted: Callable[[str], bool], state: State, after: str = "") -> Iterator[Swept]:
        """See ``Browsing.sweep``."""
        first, rest = self._divided_place(after)
        for at in range(first, len(self._partitions)):
            for swept in self._partitions[at].sweep(wanted, state, rest):
                further = f"{at + 1}:" if at + 1 < len(self._partitions) else ""
                yield replace(swept, next=f"{at}:{swept.next}" if swept.next else further)
            rest = ""

    def ahead(self, url: str) -> int | None:
        """See ``Browsing.ahead``."""
        return self._of_url(url).ahead(url)

    def leased(self, most: int) -> Sequence[Timed]:
        """See ``Browsing.leased``."""
        return heapq.nsmallest(most, chain.from_iterable(each.leased(most) for each in self._partitions), key=_seconds)

    def due(self, most: int, skipped: int = 0) -> Sequence[Timed]:
        """See ``Browsing.due``."""
        if len(self._partitions) == 1:
            return self._partitions[0].due(most, skipped)
        found = chain.from_iterable(each.due(skipped + most) for each in self._partitions)
        return heapq.nsmallest(skipped + most, found, key=_seconds)[skipped:]

    def held(self, after: str, most: int) -> tuple[Sequence[UrlStatus], str]:
        """See ``Browsing.held``."""
        first, rest = self._divided_place(after)
        held: list[UrlStatus] = []
        for at in range(first, len(self._partitions)):
            found, rest = self._partitions[at].held(rest, most - len(held))
            held += found
            if rest:
                return held, f"{at}:{rest}"
            if len(held) >= most and at + 1 < len(self._partitions):
                return held, f"{at + 1}:"
        return held, ""

    def standings(self, queues: Collection[str] | None = None) -> Mapping[str, Standing]:
        """See ``Browsing.standings``."""
        return {name: each for partition in self._partitions for name, each in partition.standings(queues).items()}

    def snapshot(self, path: Path) -> int:
        """See ``Snapshots.snapshot``. Reads all URLs of the crawl."""
        entries = ((*entry, str(at).encode()) for at, each in enumerate(self._partitions) for entry in each.entries())
        return snapshots.write(path, Head(self._crawl, url_records.FORMAT, len(self._partitions)), entries)

    def restore(self, path: Path, *, replace: bool = False) -> int:
        """See ``Snapshots.restore``. A round trip covers some hundred URLs.

        Raises ``SnapshotError`` also for a snapshot of another number of partitions.
        """
        parts = snapshots.read_snapshot(path, url_records.FORMAT, len(self._partitions))
        first = next(parts, ())
        if replace:
            self.remove()
        elif not all(partition.is_empty() for partition in self._partitions):
            raise SnapshotError(
                "the frontier of this crawl is not empty; replace what it holds, or restore into another crawl"
            )
        return sum(map(self._take_in, chain((first,), parts)))

    def _divided_place(self, after: str) -> tuple[int, str]:
        """Parse a place into its partition and the place within that. Raises ValueError for an invalid place."""
        number, _, rest = after.partition(":")
        if not 0 <= int(number or 0) < len(self._partitions):
            raise ValueError(f"{after!r} is no place in this frontier")
        return int(number or 0), rest

    def _take_in(self, part: Sequence[Entry]) -> int:
        of: dict[int, list[Entry]] = {}
        for *entry, partition in part:
            of.setdefault(int(partition), []).append(tuple(entry))
        return sum(self._partitions[number].take_in(entries) for number, entries in of.items())


def _seconds(timed: Timed) -> float:
    return timed.seconds
