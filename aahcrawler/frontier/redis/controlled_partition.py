"""The operators' control of one partition of a frontier on a Redis-protocol server."""

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, TypeVar, cast

from aahcrawler.frontier.blocking_rules import Rule
from aahcrawler.frontier.control import Revisit
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import State
from aahcrawler.frontier.redis import url_records
from aahcrawler.frontier.redis.keyspace import PER_CALL
from aahcrawler.frontier.redis.partition import Partition
from aahcrawler.frontier.redis.posts import unpack_status
from aahcrawler.frontier.redis.redis_client import unavailable
from aahcrawler.frontier.redis.snapshots import Entry

SCANNED: Final = frozenset({State.QUEUED, State.DUE, State.BLOCKED})
"""The states whose URLs can be gone through."""

_BUCKETS_PER_CALL = 50
_WAIT = struct.Struct(">d")
_MICRO = 1_000_000
_LASTING = (b"sequence", b"batch", b"rules", b"paused")
"""What of ``counts`` does not follow from what is counted."""

_T = TypeVar("_T")


class ControlledPartition(Partition):
    """A partition of a crawl's frontier together with ``control.Control`` over it."""

    def pause(self) -> None:
        """See ``Pausing.pause``."""
        with unavailable():
            self.client.hset(self.key("counts"), "paused", "1")

    def resume(self) -> None:
        """See ``Pausing.resume``."""
        with unavailable():
            self.client.hdel(self.key("counts"), "paused")

    def is_paused(self) -> bool:
        """See ``Pausing.is_paused``."""
        with unavailable():
            return bool(self.client.hexists(self.key("counts"), "paused"))

    def pause_queue(self, queue: str) -> None:
        """See ``Pausing.pause_queue``."""
        self.call("pause_queue", url_records.queue_id(queue), queue, 1)

    def resume_queue(self, queue: str) -> None:
        """See ``Pausing.resume_queue``."""
        self.call("pause_queue", url_records.queue_id(queue), queue, 0)

    def paused_queues(self) -> frozenset[str]:
        """See ``Pausing.paused_queues``."""
        with unavailable():
            names = cast("list[bytes]", self.client.hvals(self.shared("paused")))
        return frozenset(name.decode() for name in names)

    def block(self, rules: Sequence[Rule]) -> int:
        """See ``Blocking.block``. Examines all URLs of the crawl."""
        self._change_rules(lambda pipeline, key: pipeline.hset(key, mapping={rule.reason: "" for rule in rules}), rules)
        named = (
            (status.offer.url, "", rule.reason)
            for status in self.scan({State.QUEUED, State.DUE})
            if status.offer is not None and (rule := self._book.matching(status.offer.url))
        )
        return sum(sum(self._block(part)) for part in _batched(named))

    def unblock(self, rules: Sequence[Rule]) -> int:
        """See ``Blocking.unblock``. Examines all blocked URLs."""
        self._change_rules(lambda pipeline, key: pipeline.hdel(key, *(rule.reason for rule in rules)), rules)
        gone = {rule.reason for rule in rules} - {rule.reason for rule in self._book.rules}
        with unavailable():
            held = self.client.hscan_iter(self.key("held"), count=PER_CALL)
            freed = (name for name, kept in held if url_records.held_reason(kept) in gone)
            return sum(sum(self._put_back(part)) for part in _batched(freed))

    def rules(self) -> frozenset[Rule]:
        """See ``Blocking.rules``."""
        self._book = self._read_rules()
        return self._book.rules

    def block_urls(self, urls: Sequence[str], reason: str) -> tuple[bool, ...]:
        """See ``Blocking.block_urls``."""
        return self._block((url, "", reason) for url in urls)

    def unblock_urls(self, urls: Sequence[str]) -> tuple[bool, ...]:
        """See ``Blocking.unblock_urls``."""
        named = (url_records.fingerprint(url) for url in urls)
        return tuple(chain.from_iterable(map(self._put_back, _batched(named))))

    def again(self, revisits: Sequence[Revisit]) -> tuple[bool, ...]:
        """See ``Revisiting.again``."""
        return tuple(chain.from_iterable(map(self._again, _batched(revisits))))

    def scan(self, states: Collection[State]) -> Iterator[UrlStatus]:
        """See ``Revisiting.scan``. A round trip covers some thousand URLs."""
        if not SCANNED.issuperset(states):
            raise ValueError(f"only URLs that are {', '.join(sorted(SCANNED))} can be gone through")
        return self._scan(frozenset(states))

    def is_empty(self) -> bool:
        """Return whether the partition holds nothing of the crawl."""
        with unavailable():
            return not self.client.exists(self.key("counts"), self.key("queues"), self.key("tallies"))

    def take_in(self, part: Sequence[Entry]) -> int:
        """Store a part of a snapshot; return how many URLs it had."""
        of: dict[bytes, list[Entry]] = {}
        for name, *values in part:
            of.setdefault(name, []).append(tuple(values))
        urls, queues = of.pop(b"u", []), of.pop(b"q", [])
        with unavailable():
            for hashed, fields in of.items():
                self.client.hset(self.key(hashed.decode()), items=list(chain.from_iterable(fields)))
        taken = int(self.call("restore", *chain.from_iterable(urls)))
        self.call("restore_queues", *chain.from_iterable(queues))
        self._book = self._read_rules()
        return taken

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of a snapshot; queues come after their URLs, so that none is missing."""
        with unavailable():
            counts = cast("dict[bytes, bytes]", self.client.hgetall(self.key("counts")))
            yield from ((b"counts", name, counts[name]) for name in _LASTING if name in counts)
            for hashed in ("tallies", "rules", "posted:0", "posted:1"):
                for name, value in self.client.hscan_iter(self.key(hashed), count=PER_CALL):
                    yield hashed.encode(), name, value
        for kept in self._pieces():
            held = self._held(tuple(name for name, raw in kept.items() if url_records.is_held(raw)))
            yield from ((b"u", name, raw, held.get(name, b"")) for name, raw in kept.items())
        with unavailable():
            yield from ((b"q", name, raw) for name, raw in self.queues())

    def _held(self, names: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return reason and time of the block of URLs, by their fingerprints."""
        with unavailable():
            pipeline = self.client.pipeline(transaction=False)
            for name in names:
                pipeline.hget(self.key("held"), name)
                pipeline.zscore(self.key("due"), name)
            replies = pipeline.execute()
        each = zip(names, replies[::2], replies[1::2], strict=True)
        return {name: why or (b"" if due is None else _WAIT.pack(due)) for name, why, due in each}

    def _pieces(self) -> Iterator[dict[bytes, bytes]]:
        """Yield the records of all URLs, some at a time; their number may grow meanwhile."""
        number = 0
        while buckets := range(number, min(number + _BUCKETS_PER_CALL, self.buckets())):
            number = buckets.stop
            with unavailable():
                pipeline = self.client.pipeline(transaction=False)
                for each in buckets:
                    pipeline.hgetall(self.key(f"u:{each}"))
                found = pipeline.execute()
            yield dict(chain.from_iterable(kept.items() for kept in found))

    def _scan(self, states: frozenset[State]) -> Iterator[UrlStatus]:
        for kept in self._pieces():
            records_of = ((name, raw) for name, raw in kept.items() if url_records.is_record(raw))
            wanted = {name: raw for name, raw in records_of if url_records.state_of(raw) in states}
            with unavailable():
                reasons = self.client.hmget(self.key("held"), list(wanted)) if wanted else []
            for raw, held in zip(wanted.values(), cast("list[bytes | None]", reasons), strict=True):
                yield unpack_status(raw, url_records.held_reason(held))

    def _again(self, revisits: Sequence[Revisit]) -> Iterator[bool]:
        self._book = self._read_rules()
        allowed = [each for each in revisits if not self._book.matching(each.offer.url)]
        waits = b"".join(_WAIT.pack(round(each.seconds * _MICRO)) for each in allowed)
        answers = iter(self.call("again", url_records.pack_offers(each.offer for each in allowed), waits))
        named = {each.offer.url for each in revisits} - {each.offer.url for each in allowed}
        return (each.offer.url not in named and bool(next(answers)) for each in revisits)

    def _put_back(self, names: Sequence[bytes]) -> tuple[bool, ...]:
        """Put back the blocked URLs with these fingerprints that match no rule."""
        while True:
            kept: list[bytes | None] = self.call("known", *names)
            matched: list[tuple[bytes | str, ...]] = [
                (name, self._named_by(raw)) for name, raw in zip(names, kept, strict=True)
            ]
            answer = self.call("unblock", self._book.version, *chain.from_iterable(matched))
            if not isinstance(answer, int):
                return tuple(map(bool, answer))
            self._book = self._read_rules()

    def _named_by(self, raw: bytes | None) -> str:
        if raw is None or not self._book or not url_records.is_held(raw):
            return ""
        rule = self._book.matching(url_records.Record.unpack(raw).offer().url)
        return rule.reason if rule else ""

    def _change_rules(self, change: Callable[[Any, str], object], rules: Sequence[Rule]) -> None:
        if not rules:
            return
        with unavailable():
            pipeline = self.client.pipeline(transaction=True)
            change(pipeline, self.key("rules"))
            pipeline.hincrby(self.key("counts"), "rules", 1)
            pipeline.execute()
        self._book = self._read_rules()


def _batched(items: Iterable[_T]) -> Iterator[tuple[_T, ...]]:
    left = iter(items)
    while part := tuple(islice(left, PER_CALL)):
        yield part
