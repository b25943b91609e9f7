"""One partition of a frontier on a Redis-protocol server, with the operations of operators and read-only views."""

import heapq
import struct
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from time import time
from typing import Any, Final, TypeVar, cast

from aahcrawler.frontier.control import Place, Queued, Revisit, Rule, Standing, Swept, Timed, UrlStatus
from aahcrawler.frontier.protocol import State
from aahcrawler.frontier.redis import url_records
from aahcrawler.frontier.redis.keyspace import MICRO, PER_CALL, Keyspace
from aahcrawler.frontier.redis.partition import Partition
from aahcrawler.frontier.redis.redis_client import unavailable
from aahcrawler.frontier.redis.snapshots import Entry
from aahcrawler.frontier.redis.url_records import Record, unpack_status

_BUCKETS_PER_CALL = 50

SCANNED: Final = frozenset({State.QUEUED, State.DUE, State.BLOCKED})
"""The states whose URLs ``scan`` can read."""

_WAIT = struct.Struct(">d")
_MICRO = 1_000_000
_LASTING = (b"sequence", b"batch", b"rules", b"paused")
"""The fields of ``counts`` that cannot be computed from the URLs."""

_T = TypeVar("_T")


class ControlledPartition(Partition):
    """A partition of a crawl's frontier with the operations of ``control.Control``."""

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
        """Store a part of a snapshot; return how many URLs it has."""
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
        """Return why and when each URL was blocked, by fingerprint."""
        with unavailable():
            pipeline = self.client.pipeline(transaction=False)
            for name in names:
                pipeline.hget(self.key("held"), name)
                pipeline.zscore(self.key("due"), name)
            replies = pipeline.execute()
        each = zip(names, replies[::2], replies[1::2], strict=True)
        return {name: why or (b"" if due is None else _WAIT.pack(due)) for name, why, due in each}

    def _pieces(self) -> Iterator[dict[bytes, bytes]]:
        """Yield the records of all URLs, some at a time; the number of hashes may grow meanwhile."""
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


_POLITENESS: Final = struct.Struct(">ddIdB")
"""A queue's entry in ``lua/politeness.lua``: when it opens, usual delay, connections in use, learned delay, paused."""

_KEPT = struct.Struct(">8sI")
_SWEPT: Final = (State.QUEUED, State.DUE, State.LEASED)
_TIME, _LENGTH, _NAMED = struct.Struct(">d"), struct.Struct(">I"), struct.Struct(">6sI")


class BrowsedPartition(ControlledPartition):
    """A partition of a crawl's frontier with the operations of ``control.Browsing``."""

    def walk(self, after: Place | None = None, queues: Collection[str] | None = None) -> Iterator[Queued]:
        """See ``Browsing.walk``."""
        return QueueWalk(self, after).over(self._named(queues))

    def sweep(self, wanted: Callable[[str], bool], state: State, after: str = "") -> Iterator[Swept]:
        """See ``Browsing.sweep``. A round trip covers some thousand URLs."""
        number = int(after or 0)
        if number < 0 or state not in _SWEPT:
            raise ValueError(f"{after!r} is no place of a sweep through {state} URLs")
        is_over = False
        while not is_over:
            packed: bytes = self.call("buckets", number, _BUCKETS_PER_CALL)
            number += _BUCKETS_PER_CALL
            is_over = number >= self.buckets()
            records = [raw for raw in _unpacked(packed) if url_records.state_of(raw) is state]
            found = [unpack_status(raw) for raw in records if wanted(url_records.url_of(raw))]
            yield Swept(len(records), found, "" if is_over else str(number))

    def ahead(self, url: str) -> int | None:
        """See ``Browsing.ahead``."""
        number = int(self.call("ahead", url_records.fingerprint(url)))
        return number if number >= 0 else None

    def leased(self, most: int) -> Sequence[Timed]:
        """See ``Browsing.leased``."""
        return self._timed("leases", most, 0, self._now())

    def due(self, most: int, skipped: int = 0) -> Sequence[Timed]:
        """See ``Browsing.due``."""
        return self._timed("due", most, skipped, (self._clock or time)() * MICRO)

    def held(self, after: str, most: int) -> tuple[Sequence[UrlStatus], str]:
        """See ``Browsing.held``."""
        cursor, names, reasons = int(after or 0), list[bytes](), list[bytes]()
        with unavailable():
            while len(names) < most:
                cursor, kept = cast(
                    "tuple[int, dict[bytes, bytes]]", self.client.hscan(self.key("held"), cursor, count=most)
                )
                names += kept
                reasons += kept.values()
                if not cursor:
                    break
        found = zip(self._records(names), reasons, strict=True)
        held = [
            unpack_status(raw, url_records.held_reason(why))
            for raw, why in found
            if raw is not None and url_records.is_held(raw)
        ]
        return held, str(cursor) if cursor else ""

    def standings(self, queues: Collection[str] | None = None) -> Mapping[str, Standing]:
        """See ``Browsing.standings``. A round trip covers some hundred queues."""
        found: dict[str, Standing] = {}
        named = self._named(queues)
        while part := tuple(islice(named, PER_CALL)):
            packed: bytes = self.call("standings", b"".join(name for name, _ in part))
            (now,), at = _TIME.unpack_from(packed), _TIME.size
            for _, raw in part:
                (size,) = _LENGTH.unpack_from(packed, at)
                at += _LENGTH.size + size
                name, counts = url_records.unpack_queue(raw)
                best = url_records.best_of_queue(raw)
                found[name] = _standing(Standing(counts, best), packed[at - size : at], now)
        return found

    def _named(self, queues: Collection[str] | None) -> Iterator[tuple[bytes, bytes]]:
        """Yield the ids and records of queues, each once."""
        if queues is None:
            return iter(self._all_queues().items())
        names = [url_records.queue_id(name) for name in queues]
        with unavailable():
            kept = self.client.hmget(self.key("queues"), cast("list[Any]", names)) if names else []
        each = zip(names, cast("list[bytes | None]", kept), strict=True)
        return ((name, raw) for name, raw in each if raw is not None)

    def _all_queues(self) -> Mapping[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        cursor = b"0"
        while True:
            cursor, packed = self.call("queue_records", cursor)
            at = 0
            while at < len(packed):
                name, size = _NAMED.unpack_from(packed, at)
                at += _NAMED.size + size
                found[name] = packed[at - size : at]
            if cursor == b"0":
                return found

    def _timed(self, key: str, most: int, skipped: int, now: float) -> Sequence[Timed]:
        with unavailable():
            found = cast(
                "list[tuple[bytes, float]]",
                self.client.zrange(self.key(key), skipped, skipped + most - 1, withscores=True),
            )
        each = zip(self._records(name for name, _ in found), found, strict=True)
        return [
            Timed(Record.unpack(raw).offer(), (at - now) / MICRO)
            for raw, (_, at) in each
            if raw is not None and url_records.is_record(raw)
        ]

    def _records(self, names: Iterable[bytes]) -> Iterator[bytes | None]:
        every = iter(names)
        while part := tuple(islice(every, PER_CALL)):
            yield from self.call("known", *part)

    def _now(self) -> float:
        (now,) = _TIME.unpack_from(self.call("standings", b""))
        return float(now)


def _unpacked(packed: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(packed):
        _, size = _KEPT.unpack_from(packed, at)
        at += _KEPT.size + size
        yield packed[at - size : at]


def _standing(known: Standing, kept: bytes, now: float) -> Standing:
    if not kept:
        return known
    opens, delay, out, learned, paused = _POLITENESS.unpack_from(kept)
    wait = max(0.0, opens - now) / MICRO
    return Standing(known.counts, known.best, wait, delay / MICRO, learned / MICRO, out, is_paused=bool(paused))


_FIRST = 4
"""How many URLs of a queue are read at its first reading."""
_TOGETHER, _MAX_TOGETHER = 16, 128
"""How many queues one call reads, at first and later in a long walk."""
_ASKED = struct.Struct(">6scc")
_RANK = struct.Struct(">dB")
_COUNT = struct.Struct(">I")
_FOUND = struct.Struct(">d13sI")
_END: Final = b"\xff" * 13
"""A value behind all members."""
_KINDS: Final = (b"r", b"p")


@dataclass(slots=True)
class _Line:
    """The queued URLs of one queue and kind from ``place`` on; ``read`` has those read in advance."""

    queue: bytes
    kind: int
    place: Place | None
    size: int = _FIRST
    read: deque[tuple[Place, bytes]] = field(default_factory=deque)
    is_over: bool = False


_Heap = list[tuple[Place, int, _Line]]
"""Lines by the earliest place at which they can continue. The number makes all entries different."""


class QueueWalk:
    """A walk through the URLs of queues in the order of their places, starting after a place."""

    def __init__(self, partition: Keyspace, after: Place | None) -> None:
        self._partition = partition
        self._after = after
        self._heap: _Heap = []
        self._pushed = 0
        self._together = _TOGETHER

    def over(self, queues: Iterable[tuple[bytes, bytes]]) -> Iterator[Queued]:
        """Yield the URLs of queues, given by their ids and records, in the order of their places."""
        self._begin(queues)
        while self._heap:
            _, _, line = heapq.heappop(self._heap)
            if not line.read:
                self._read(line)
                continue
            place, raw = line.read.popleft()
            self._push(line, line.read[0][0] if line.read else place)
            record = Record.unpack(raw)
            yield Queued(record.offer(), place, record.is_at_front, record.attempt)

    def _begin(self, queues: Iterable[tuple[bytes, bytes]]) -> None:
        behind: list[_Line] = []
        for name, raw in queues:
            for kind, head in enumerate(url_records.heads_of_queue(raw)):
                if head is None:
                    continue
                first = Place(head[0], kind, head[1])
                if self._after is None or first > self._after:
                    self._push(_Line(name, kind, None), first)
                else:
                    behind.append(_Line(name, kind, self._after))
        for start in range(0, len(behind), PER_CALL):
            self._fetch(behind[start : start + PER_CALL], 1)

    def _push(self, line: _Line, place: Place) -> None:
        if line.read or not line.is_over:
            self._pushed += 1
            heapq.heappush(self._heap, (place, self._pushed, line))

    def _read(self, line: _Line) -> None:
        """Read more URLs of a line, together with those of the lines that are to be read next."""
        lines, passed = [line], list[tuple[Place, int, _Line]]()
        while self._heap and len(lines) < self._together and len(passed) < self._together:
            entry = heapq.heappop(self._heap)
            if entry[2].read:
                passed.append(entry)
            else:
                lines.append(entry[2])
        for entry in passed:
            heapq.heappush(self._heap, entry)
        self._fetch(lines, min(max(each.size for each in lines), PER_CALL // len(lines)))
        for each in lines:
            each.size *= 2
        self._together = min(2 * self._together, _MAX_TOGETHER)

    def _fetch(self, lines: Sequence[_Line], most: int) -> None:
        packed: bytes = self._partition.call("walk", most, b"".join(map(_asked, lines)))
        at = 0
        for line in lines:
            (number,) = _COUNT.unpack_from(packed, at)
            at += _COUNT.size
            for _ in range(number):
                rank, member, size = _FOUND.unpack_from(packed, at)
                at += _FOUND.size + size
                line.read.append((Place(rank, line.kind, member), packed[at - size : at]))
            line.is_over = number < most
            if number:
                line.place = line.read[-1][0]
                self._push(line, line.read[0][0])


def _asked(line: _Line) -> bytes:
    """Pack a line, and the place after which to continue, in the format that the script expects."""
    place, kind = line.place, _KINDS[line.kind]
    if place is None:
        return _ASKED.pack(line.queue, kind, b"1") + _RANK.pack(0.0, 0)
    member = place.member
    if place.kind != line.kind:  # Only the rank counts: of equal ranks requisites come first.
        member = _END if line.kind < place.kind else b""
    return _ASKED.pack(line.queue, kind, b"0") + _RANK.pack(place.rank, len(member)) + member
