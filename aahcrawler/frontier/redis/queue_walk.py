"""Walks through the queued URLs of a partition, the best first, some at a time."""

import heapq
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from aahcrawler.frontier.browsing import Place, Queued
from aahcrawler.frontier.redis import url_records
from aahcrawler.frontier.redis.keyspace import PER_CALL, Keyspace
from aahcrawler.frontier.redis.url_records import Record

_FIRST = 4
"""URLs of one queue that are read at once, when it is read first."""
_TOGETHER, _MOST_TOGETHER = 16, 128
"""Queues that are read together, at first and when a walk has become long."""
_ASKED = struct.Struct(">6scc")
_RANK = struct.Struct(">dB")
_COUNT = struct.Struct(">I")
_FOUND = struct.Struct(">d13sI")
_END: Final = b"\xff" * 13
"""Behind all members."""
_KINDS: Final = (b"r", b"p")


@dataclass(slots=True)
class _Line:
    """The queued URLs of one queue and kind from ``place`` on; ``read`` are those that have been read of them."""

    queue: bytes
    kind: int
    place: Place | None
    size: int = _FIRST
    read: deque[tuple[Place, bytes]] = field(default_factory=deque)
    is_over: bool = False


_Heap = list[tuple[Place, int, _Line]]
"""Lines by where they go on at the earliest. The number keeps apart what would otherwise be equal."""


class QueueWalk:
    """A walk through queues, from behind a place on."""

    def __init__(self, partition: Keyspace, after: Place | None) -> None:
        self._partition = partition
        self._after = after
        self._heap: _Heap = []
        self._pushed = 0
        self._together = _TOGETHER

    def over(self, queues: Iterable[tuple[bytes, bytes]]) -> Iterator[Queued]:
        """Yield the URLs of queues, whose ids and records are given, in the order of their places."""
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
        """Read on in a line, and in those that come next where they have to be read as well."""
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
        self._together = min(2 * self._together, _MOST_TOGETHER)

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
    """Pack a line and the place behind which it goes on, as the script takes them."""
    place, kind = line.place, _KINDS[line.kind]
    if place is None:
        return _ASKED.pack(line.queue, kind, b"1") + _RANK.pack(0.0, 0)
    member = place.member
    if place.kind != line.kind:  # Only the rank counts: of equal ranks requisites come first.
        member = _END if line.kind < place.kind else b""
    return _ASKED.pack(line.queue, kind, b"0") + _RANK.pack(place.rank, len(member)) + member
