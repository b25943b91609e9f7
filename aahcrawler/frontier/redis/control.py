"""Control over a crawl's frontier on a Redis-protocol server or a Redis Cluster: in all partitions as in one."""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path

from redis import Redis

from aahcrawler.frontier.blocking_rules import Rule
from aahcrawler.frontier.control import Revisit, SnapshotError
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import FrontierSettings, State
from aahcrawler.frontier.redis import snapshots, url_records
from aahcrawler.frontier.redis.controlled_partition import ControlledPartition
from aahcrawler.frontier.redis.frontier import PartitionedFrontier
from aahcrawler.frontier.redis.snapshots import Entry, Head
from aahcrawler.urls import queue_of


class RedisControl(PartitionedFrontier[ControlledPartition]):
    """A crawl's frontier together with ``control.Control`` over it.

    With several partitions, what is atomic is so in each of them, one after another.
    """

    def __init__(
        self, server: Redis | str, crawl: str, settings: FrontierSettings, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(server, crawl, settings, clock, ControlledPartition)

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
        """See ``Blocking.block``. All URLs of the crawl are gone through."""
        return sum(partition.block(rules) for partition in self._partitions)

    def unblock(self, rules: Sequence[Rule]) -> int:
        """See ``Blocking.unblock``. All URLs that are blocked are gone through."""
        return sum(partition.unblock(rules) for partition in self._partitions)

    def rules(self) -> frozenset[Rule]:
        """See ``Blocking.rules``."""
        return self._partitions[0].rules()

    def block_urls(self, urls: Sequence[str], reason: str) -> tuple[bool, ...]:
        """See ``Blocking.block_urls``."""
        return self._divided(urls, queue_of, lambda partition, part: partition.block_urls(part, reason))

    def unblock_urls(self, urls: Sequence[str]) -> tuple[bool, ...]:
        """See ``Blocking.unblock_urls``."""
        return self._divided(urls, queue_of, ControlledPartition.unblock_urls)

    def again(self, revisits: Sequence[Revisit]) -> tuple[bool, ...]:
        """See ``Revisiting.again``."""
        return self._divided(revisits, lambda revisit: revisit.offer.queue, ControlledPartition.again)

    def scan(self, states: Collection[State]) -> Iterator[UrlStatus]:
        """See ``Revisiting.scan``. Some thousand URLs are one round trip."""
        for partition in self._partitions:
            yield from partition.scan(states)

    def snapshot(self, path: Path) -> int:
        """See ``Snapshots.snapshot``. All URLs of the crawl are gone through."""
        entries = ((*entry, str(at).encode()) for at, each in enumerate(self._partitions) for entry in each.entries())
        return snapshots.write(path, Head(self._crawl, url_records.FORMAT, len(self._partitions)), entries)

    def restore(self, path: Path, *, replace: bool = False) -> int:
        """See ``Snapshots.restore``. Some hundred URLs are one round trip.

        Raise ``SnapshotError``, too, for a snapshot of another number of partitions.
        """
        parts = snapshots.read(path, url_records.FORMAT, len(self._partitions))
        first = next(parts, ())
        if replace:
            self.remove()
        elif not all(partition.is_empty() for partition in self._partitions):
            raise SnapshotError(
                "the frontier of this crawl is not empty; replace what it holds, or restore into another crawl"
            )
        return sum(map(self._take_in, chain((first,), parts)))

    def _take_in(self, part: Sequence[Entry]) -> int:
        of: dict[int, list[Entry]] = {}
        for *entry, partition in part:
            of.setdefault(int(partition), []).append(tuple(entry))
        return sum(self._partitions[number].take_in(entries) for number, entries in of.items())
