"""One partition of the frontier on a server for the Redis protocol, version 6.2 or later."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from math import inf
from typing import TypeVar, cast
from uuid import uuid4

from redis import Redis

from aahcrawler.frontier.control import BLOCKED_FROM_OUTSIDE, Effect, Post, Posted, Rule, RuleBook, UrlStatus
from aahcrawler.frontier.protocol import (
    QUIET,
    RETRIES_USED_UP,
    Counts,
    FrontierAwayError,
    FrontierSettings,
    Lease,
    Offer,
    Offered,
    Outcome,
    QueueCounts,
    Rescore,
    State,
)
from aahcrawler.frontier.redis import url_records
from aahcrawler.frontier.redis.keyspace import MICRO, PER_CALL, Keyspace, micros
from aahcrawler.frontier.redis.redis_client import unavailable
from aahcrawler.frontier.redis.url_records import Record, pack_posts, unpack_posted, unpack_status

_QUEUES_PER_CALL = 500

_ANSWERS = {ord("a"): Offered.ADDED, ord("r"): Offered.RESCORED, ord("k"): Offered.KNOWN}
_NAMES = (
    *("queues", "ready:p", "ready:r", "waiting", "leases", "batches"),
    *("posted:0", "posted:1", "counts", "rules", "held", "due", "reasons", "tallies", "sessions", "format"),
)
"""The keys of a crawl besides those of its URLs and queues; see ``lua/state.lua``."""
_NUMBER_BYTES = 5
_PAUSED = -2
_SET = ord("1")
_ROUNDS = 10
"""How often to lease more URLs in place of leased ones that rules block."""

_Item = TypeVar("_Item")


class Partition(Keyspace):
    """The operations of ``Frontier`` and ``Posting`` on the queues of one partition."""

    def __init__(
        self, client: Redis, tag: str, crawl: str, settings: FrontierSettings, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(client, tag, crawl, settings, clock)
        self._id = uuid4().hex
        self._answered: dict[str, int] = {}
        self._book = self._read_rules()

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        """See ``Scheduling.offer``. An atomic round trip covers up to 500 offers."""
        packed = [url_records.pack_offers(part) for part in _parts(offers)]
        letters = chain.from_iterable(self.call("offer", part) for part in packed)
        answers = tuple(_ANSWERS[letter] for letter in letters)
        blocked = self._keep_out(offers)
        if not blocked:
            return answers
        return tuple(
            Offered.BLOCKED if offer.url in blocked else said for offer, said in zip(offers, answers, strict=True)
        )

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        """See ``Scheduling.rescore``. An atomic round trip covers up to 500 scores."""
        packed = [url_records.pack_rescores(part) for part in _parts(scores)]
        answers = chain.from_iterable(self.call("rescore", part) for part in packed)
        return tuple(answer == _SET for answer in answers)

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        """See ``Scheduling.lease``."""
        leases: list[Lease] = []
        for _ in range(_ROUNDS):
            try:
                taken = self._take(worker, min(n - len(leases), PER_CALL))
                allowed = self._withhold(taken)
            except FrontierAwayError:
                if not leases:
                    raise
                break  # What is leased already would not be given again.
            self._answered[worker] = self._answered.get(worker, 0) + 1
            leases += allowed
            if len(allowed) == len(taken):
                break
        return tuple(leases)

    def finish(self, lease: Lease, state: State, outcome: Outcome = QUIET, links: Sequence[Offer] = ()) -> bool:
        """See ``Scheduling.finish``."""
        if state in (State.QUEUED, State.LEASED):
            raise ValueError(f"a URL ends as done, failed or blocked, not as {state}; use retry or release")
        held = self.call(
            "finish",
            url_records.fingerprint(lease.url),
            lease.token,
            url_records.LETTERS[state],
            micros(outcome.delay),
            outcome.reason,
            url_records.pack_offers(links),
            _learned(outcome),
            *_numbers(outcome),
        )
        self._keep_out(links)
        return bool(held)

    def retry(self, lease: Lease, outcome: Outcome = QUIET) -> State:
        """See ``Scheduling.retry``. Raises ``LookupError`` for a URL this frontier never had."""
        letter = self.call(
            "retry",
            url_records.fingerprint(lease.url),
            lease.token,
            micros(outcome.delay),
            outcome.reason or RETRIES_USED_UP,
            _learned(outcome),
            *_numbers(outcome),
        )
        if letter is None:
            raise LookupError(f"{lease.url} was never offered to this crawl")
        return url_records.STATES[letter]

    def release(self, leases: Sequence[Lease], *, delay: float = 0.0) -> None:
        """See ``Scheduling.release``."""
        for part in _parts(leases):
            self.call("release", micros(delay), *_names(part))

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        """See ``Scheduling.renew``."""
        held = chain.from_iterable(self.call("renew", *_names(part)) for part in _parts(leases))
        return tuple(bool(answer) for answer in held)

    def remember_delay(self, lease: Lease, delay: float) -> None:
        """See ``Scheduling.remember_delay``."""
        self.call("remember", url_records.fingerprint(lease.url), lease.token, micros(delay))

    def recover(self) -> int:
        """See ``Scheduling.recover``. Atomic for every 500 leases."""
        recovered = 0
        while part := int(self.call("recover", PER_CALL)):
            recovered += part
        return recovered

    def go_by(self, settings: FrontierSettings) -> None:
        """See ``Scheduling.go_by``. An atomic round trip covers some hundred queues."""
        self.use(settings)
        with unavailable():
            names = (name for name, _raw in self.queues())
            while part := tuple(islice(names, _QUEUES_PER_CALL)):
                self.call("place", *part)

    def next_ready(self) -> float | None:
        """See ``Scheduling.next_ready``."""
        wait = int(self.call("next_ready"))
        if wait < 0:
            return inf if wait == _PAUSED else None
        return wait / MICRO

    def counts(self) -> Counts:
        """See ``Inspection.counts``."""
        counts, reasons = map(_pairs, self.call("counts"))
        pages = _by_state(counts, "p")
        pages[State.DONE] -= pages[State.DUE]
        return Counts(
            pages=pages,
            requisites=_by_state(counts, "r"),
            queues=int(counts.get(b"queues", 0)),
            reasons={reason.decode(): int(number) for reason, number in sorted(reasons.items())},
        )

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        """See ``Inspection.queue_counts``."""
        with unavailable():
            return dict(url_records.unpack_queue(raw) for _id, raw in self.queues())

    def state(self, url: str) -> State | None:
        """See ``Inspection.state``."""
        raw = self._kept(url)
        return None if raw is None else url_records.state_of(raw)

    def post(self, posts: Sequence[Post]) -> tuple[Posted, ...]:
        """See ``Posting.post``. An atomic round trip covers up to 500 posts."""
        packed = [pack_posts(part) for part in _parts(posts)]
        answers = [self.call("post", part, BLOCKED_FROM_OUTSIDE) for part in packed]
        posted = tuple(chain.from_iterable(unpack_posted(letters) for _, letters in answers))
        if any(version != self._book.version for version, _ in answers):
            self._book = self._read_rules()
        blocked = self._keep_out([post.offer for post in posts])
        return tuple(
            Posted(Effect.BLOCKED, State.BLOCKED, said.repeated) if post.offer.url in blocked else said
            for post, said in zip(posts, posted, strict=True)
        )

    def status(self, url: str) -> UrlStatus | None:
        """See ``Posting.status``."""
        raw = self._kept(url)
        if raw is None or not url_records.is_held(raw):
            return None if raw is None else unpack_status(raw)
        with unavailable():
            held = cast("bytes | None", self.client.hget(self.key("held"), url_records.fingerprint(url)))
        return unpack_status(raw, url_records.held_reason(held))

    def best(self, n: int) -> Iterator[Record]:
        """Yield the records of each queue's ``n`` best URLs."""
        with unavailable():
            ids = (name for name, _raw in self.queues())
            while part := tuple(islice(ids, max(1, PER_CALL // max(n, 1)))):
                yield from map(Record.unpack, self.call("best", n, *part))

    def count(self, amounts: Mapping[str, float]) -> None:
        """See ``CrawlStats.count``."""
        with unavailable():
            pipeline = self.client.pipeline(transaction=True)
            for name, amount in amounts.items():
                pipeline.hincrbyfloat(self.key("tallies"), name, amount)
            pipeline.execute()

    def stats(self) -> Mapping[str, float]:
        """See ``CrawlStats.stats``."""
        with unavailable():
            found = cast("dict[bytes, bytes]", self.client.hgetall(self.key("tallies")))
        return {name.decode(): float(amount) for name, amount in found.items()}

    def session(self, site: str) -> str:
        """See ``SessionStore.session``."""
        with unavailable():
            return (cast("bytes | None", self.client.hget(self.key("sessions"), site)) or b"").decode()

    def keep_session(self, site: str, text: str) -> None:
        """See ``SessionStore.keep_session``."""
        with unavailable():
            if text:
                self.client.hset(self.key("sessions"), site, text)
            else:
                self.client.hdel(self.key("sessions"), site)

    def remove(self) -> None:
        """Remove everything the server stores for this crawl, which must have no worker. Data that crawls share stay.

        Takes many steps; only after the last can the crawl be stored in another format. After an error the call may be
        repeated.
        """
        with unavailable():
            for part in _parts(tuple(self._queue_keys())):
                self.client.unlink(*part)
            for numbers in _parts(range(self.buckets())):
                self.client.unlink(*(self.key(f"u:{number}") for number in numbers))
            self.client.unlink(*map(self.key, _NAMES))

    # Rules

    def _take(self, worker: str, n: int) -> Sequence[Lease]:
        # A call whose response was lost is repeated with the same number.
        asked = self._answered.get(worker, 0) + 1
        while n > 0:
            arguments = n, worker, f"{self._id}:{worker}", asked, self._book.version
            answer: bytes | int = self.call("lease", *arguments)
            if not isinstance(answer, int):
                return url_records.unpack_leases(answer)
            self._book = self._read_rules()
        return ()

    def _withhold(self, leases: Sequence[Lease]) -> Sequence[Lease]:
        """Block the just leased URLs that match a rule; return the other leases."""
        named = {lease: rule for lease in leases if (rule := self._book.matching(lease.url))} if self._book else {}
        if named:
            self._block((lease.url, lease.token, rule.reason) for lease, rule in named.items())
        return [lease for lease in leases if lease not in named] if named else leases

    def _keep_out(self, offers: Sequence[Offer]) -> frozenset[str]:
        """Block the just offered URLs that match a rule; return them."""
        if not self._book:
            return frozenset()
        named = {offer.url: rule.reason for offer in offers if (rule := self._book.matching(offer.url))}
        blocked = self._block((url, "", reason) for url, reason in named.items())
        return frozenset(url for url, is_blocked in zip(named, blocked, strict=True) if is_blocked)

    def _block(self, urls: Iterable[tuple[str, str, str]]) -> tuple[bool, ...]:
        """Block URLs, each given with the token of its lease (empty if it has none) and the reason."""
        named: list[tuple[bytes | str, ...]] = [
            (url_records.fingerprint(url), token, reason) for url, token, reason in urls
        ]
        answers = (self.call("block", *chain.from_iterable(part)) for part in _parts(named))
        return tuple(bool(answer) for answer in chain.from_iterable(answers))

    def _read_rules(self) -> RuleBook:
        with unavailable():
            pipeline = self.client.pipeline(transaction=True)
            pipeline.hkeys(self.key("rules"))
            pipeline.hget(self.key("counts"), "rules")
            kept, version = pipeline.execute()
        return RuleBook(map(Rule.parse, (each.decode() for each in kept)), int(version or 0))

    def _kept(self, url: str) -> bytes | None:
        kept: list[bytes | None] = self.call("known", url_records.fingerprint(url))
        return kept[0]

    def _queue_keys(self) -> Iterator[bytes]:
        for name, raw in self.queues():
            for kind, chunked in zip((b"p:", b"r:"), url_records.is_chunked(raw), strict=True):
                key = self.key("").encode() + kind + name
                if chunked:
                    entries = cast("list[bytes]", self.client.zrange(key, 0, -1))
                    yield from (key + b":" + entry[-_NUMBER_BYTES:] for entry in entries)
                yield key


def _parts(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[start : start + PER_CALL] for start in range(0, len(items), PER_CALL))


def _names(leases: Sequence[Lease]) -> Iterator[bytes | str]:
    return chain.from_iterable((url_records.fingerprint(lease.url), lease.token) for lease in leases)


def _learned(outcome: Outcome) -> str | int:
    return "" if outcome.learned is None else micros(outcome.learned)


def _numbers(outcome: Outcome) -> Iterator[str | float]:
    for name, amount in outcome.stats.items():
        yield name
        yield amount


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _by_state(counts: Mapping[bytes, bytes], kind: str) -> dict[State, int]:
    return {state: int(counts.get((kind + letter).encode(), 0)) for state, letter in url_records.LETTERS.items()}
