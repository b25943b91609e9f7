"""The frontier on a Redis-protocol server: Redis 6.2 or later, or a server that speaks its protocol.

A crawl's state lies in one partition, a Redis Cluster hash tag; ``lua/state.lua`` lists the keys.
"""

import heapq
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, TypeVar, cast
from urllib.parse import quote

from redis import Redis

from aahcrawler.frontier import posting, records, scripts
from aahcrawler.frontier.connection import connect, unavailable
from aahcrawler.frontier.posting import BLOCKED_FROM_OUTSIDE, Post, Posted, Standing
from aahcrawler.frontier.protocol import (
    QUIET,
    RETRIES_USED_UP,
    Counts,
    FrontierSettings,
    FrontierUnavailableError,
    Lease,
    Offer,
    Offered,
    Outcome,
    QueueCounts,
    State,
    Update,
)

_PARTITION = "{p0}"
_PER_CALL = 1000
"""Offers and leases in one script: the server is held for some ten milliseconds."""

_UPDATES = {Update.FIRST: b"f", Update.LAST: b"l", Update.MAX: b"m", Update.SUM: b"s", Update.AVG: b"a"}
_ANSWERS = {ord("a"): Offered.ADDED, ord("r"): Offered.RESCORED, ord("k"): Offered.KNOWN}
_NAMES = (
    *("queues", "ready:p", "ready:r", "waiting", "leases", "tokens", "batches", "finished"),
    *("posted:0", "posted:1", "counts", "reasons", "tallies", "format"),
)
"""The keys of a crawl beside those of its URLs and queues; see ``lua/state.lua``."""
_CONTEXT = struct.Struct(">dcIIIdII")
_MICRO = 1_000_000
_SERVER_TIME = -1.0

_Item = TypeVar("_Item")


class RedisFrontier:
    """One crawl's frontier. Instances in any number of threads, processes and machines may share a crawl.

    ``server`` is a client that does not decode responses, or an address (``unix://``, ``redis://``). ``clock``
    returns seconds; with None the server's own clock is used, so that workers need not agree on the time.
    Raise ``FrontierUnavailableError`` when the server cannot be reached or keeps this crawl in another format.
    """

    def __init__(
        self, server: Redis | str, crawl: str, settings: FrontierSettings, clock: Callable[[], float] | None = None
    ) -> None:
        self._client = connect(server) if isinstance(server, str) else server
        self._settings = settings
        self._clock = clock
        self._crawl = quote(crawl, safe="")
        self._own = f"{_PARTITION}:c:{self._crawl}:"
        self._scripts = scripts.load(self._client)
        self._check_format(crawl)

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        """See ``Scheduling.offer``. Up to 1,000 offers are one atomic round trip."""
        packed = [records.pack_offers(part) for part in _parts(offers)]
        letters = chain.from_iterable(self._call("offer", part) for part in packed)
        return tuple(_ANSWERS[letter] for letter in letters)

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:  # noqa: ARG002 (the token says who holds a lease)
        """See ``Scheduling.lease``."""
        answer: list[bytes] = self._call("lease", n) if n > 0 else []
        return tuple(
            records.unpack_lease(token, record) for token, record in zip(answer[::2], answer[1::2], strict=True)
        )

    def finish(
        self, lease: Lease, state: State, *, delay: float = 0.0, links: Sequence[Offer] = (), outcome: Outcome = QUIET
    ) -> bool:
        """See ``Scheduling.finish``."""
        if state in (State.QUEUED, State.LEASED):
            raise ValueError(f"a URL ends as done, failed or blocked, not as {state}; use retry or release")
        held = self._call(
            "finish",
            records.fingerprint(lease.url),
            lease.token,
            records.LETTERS[state],
            _micros(delay),
            outcome.reason,
            records.pack_offers(links),
            *_numbers(outcome),
        )
        return bool(held)

    def retry(self, lease: Lease, *, delay: float, outcome: Outcome = QUIET) -> State:
        """See ``Scheduling.retry``. Raise ``LookupError`` for a URL this frontier never had."""
        letter = self._call(
            "retry",
            records.fingerprint(lease.url),
            lease.token,
            _micros(delay),
            outcome.reason or RETRIES_USED_UP,
            *_numbers(outcome),
        )
        if letter is None:
            raise LookupError(f"{lease.url} was never offered to this crawl")
        return records.STATES[letter]

    def release(self, leases: Sequence[Lease]) -> None:
        """See ``Scheduling.release``."""
        for part in _parts(leases):
            self._call("release", *_names(part))

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        """See ``Scheduling.renew``."""
        held = chain.from_iterable(self._call("renew", *_names(part)) for part in _parts(leases))
        return tuple(bool(answer) for answer in held)

    def recover(self) -> int:
        """See ``Scheduling.recover``. Atomic for every 1,000 leases."""
        recovered = 0
        while part := int(self._call("recover", _PER_CALL)):
            recovered += part
        return recovered

    def next_ready(self) -> float | None:
        """See ``Scheduling.next_ready``."""
        wait = int(self._call("next_ready"))
        return None if wait < 0 else wait / _MICRO

    def counts(self) -> Counts:
        """See ``Inspection.counts``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.hgetall(self._key("counts"))
            pipeline.hgetall(self._key("reasons"))
            counts, reasons = pipeline.execute()
        return Counts(
            pages=_by_state(counts, "p"),
            requisites=_by_state(counts, "r"),
            queues=int(counts.get(b"queues", 0)),
            reasons={reason.decode(): int(number) for reason, number in sorted(reasons.items())},
        )

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        """See ``Inspection.queue_counts``."""
        with unavailable():
            return {
                name.decode(): records.unpack_queue(raw)
                for name, raw in self._client.hscan_iter(self._key("queues"), count=_PER_CALL)
            }

    def state(self, url: str) -> State | None:
        """See ``Inspection.state``."""
        bucket, field = self._address(records.fingerprint(url))
        with unavailable():
            raw = self._client.hget(bucket, field)
        return records.STATES[raw[:1]] if isinstance(raw, bytes) else None

    def post(self, posts: Sequence[Post]) -> tuple[Posted, ...]:
        """See ``Posting.post``. Up to 1,000 posts are one atomic round trip."""
        packed = [posting.pack_posts(part) for part in _parts(posts)]
        answers = (self._call("post", part, BLOCKED_FROM_OUTSIDE) for part in packed)
        return tuple(chain.from_iterable(map(posting.unpack_posted, answers)))

    def standing(self, url: str) -> Standing | None:
        """See ``Posting.standing``."""
        bucket, field = self._address(records.fingerprint(url))
        with unavailable():
            raw = self._client.hget(bucket, field)
        return posting.unpack_standing(raw) if isinstance(raw, bytes) else None

    def iterate(self, n: int) -> Sequence[Offer]:
        """See ``Inspection.iterate``."""
        with unavailable():
            best = heapq.nsmallest(n, self._queued(n), key=records.order)
        return tuple(records.unpack_offer(record) for record in best)

    def count(self, amounts: Mapping[str, float]) -> None:
        """See ``Tallies.count``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            for name, amount in amounts.items():
                pipeline.hincrbyfloat(self._key("tallies"), name, amount)
            pipeline.execute()

    def tallies(self) -> Mapping[str, float]:
        """See ``Tallies.tallies``."""
        with unavailable():
            found = cast("dict[bytes, bytes]", self._client.hgetall(self._key("tallies")))
        return {name.decode(): float(amount) for name, amount in found.items()}

    def remove(self) -> None:
        """Remove all that the server keeps of this crawl, which must have no worker; what crawls share stays.

        Takes many steps, the last of which makes room for another format. After an error it may be called again.
        """
        with unavailable():
            for name in cast("list[bytes]", self._client.hkeys(self._key("queues"))):
                self._client.unlink(*(self._key("").encode() + kind + name for kind in (b"p:", b"r:")))
            buckets = [self._key("u:").encode() + bytes(pair) for pair in product(range(256), repeat=2)]
            for part in _parts(buckets):
                self._client.unlink(*part)
            self._client.unlink(*map(self._key, _NAMES))

    def close(self) -> None:
        """See ``Scheduling.close``."""
        self._client.close()

    def _call(self, script: str, *arguments: bytes | str | float) -> Any:
        with unavailable():
            return self._scripts[script](keys=[_PARTITION], args=[self._crawl, self._context(), *arguments])

    def _context(self) -> bytes:
        settings = self._settings
        return _CONTEXT.pack(
            _SERVER_TIME if self._clock is None else round(self._clock() * _MICRO),
            _UPDATES[settings.update],
            settings.balance,
            settings.pages,
            settings.pages_per_queue,
            _micros(settings.lease_seconds),
            settings.attempts,
            settings.connections,
        )

    def _key(self, name: str) -> str:
        return self._own + name

    def _address(self, fingerprint: bytes) -> tuple[bytes, bytes]:
        return self._key("u:").encode() + fingerprint[:2], fingerprint[2:]

    def _queued(self, n: int) -> Iterator[bytes]:
        """Yield the records of each queue's ``n`` best URLs."""
        for name, _raw in self._client.hscan_iter(self._key("queues"), count=_PER_CALL):
            pipeline = self._client.pipeline(transaction=False)
            for kind in (b"r:", b"p:"):
                pipeline.zrange(self._key("").encode() + kind + name, 0, n - 1)
            for member in chain.from_iterable(pipeline.execute()):
                pipeline.hget(*self._address(member[5:]))
            yield from (raw for raw in pipeline.execute() if raw and raw[:1] == b"q")

    def _check_format(self, crawl: str) -> None:
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.set(self._key("format"), records.FORMAT, nx=True)
            pipeline.get(self._key("format"))
            kept = int(pipeline.execute()[1])
        if kept != records.FORMAT:
            raise FrontierUnavailableError(
                f"the frontier of crawl {crawl!r} is kept in format {kept}, this version reads {records.FORMAT}; "
                "go on with the version that began the crawl, or give the crawl another id"
            )


def _parts(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[start : start + _PER_CALL] for start in range(0, len(items), _PER_CALL))


def _names(leases: Sequence[Lease]) -> Iterator[bytes | str]:
    return chain.from_iterable((records.fingerprint(lease.url), lease.token) for lease in leases)


def _numbers(outcome: Outcome) -> Iterator[str | float]:
    for name, amount in outcome.tally.items():
        yield name
        yield amount


def _micros(seconds: float) -> int:
    if not 0 <= seconds < _MICRO * _MICRO:
        raise ValueError(f"{seconds} is no number of seconds to wait; give one from 0")
    return round(seconds * _MICRO)


def _by_state(counts: Mapping[bytes, bytes], kind: str) -> dict[State, int]:
    return {state: int(counts.get((kind + letter).encode(), 0)) for state, letter in records.LETTERS.items()}
