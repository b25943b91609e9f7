"""The frontier in its simplest form: dictionaries, sorting, no server. What the real one does is compared with it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aahcrawler.frontier.posting import BLOCKED_FROM_OUTSIDE, Effect, Post, Posted, Standing, Wish
from aahcrawler.frontier.protocol import (
    LEASE_RAN_OUT,
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
    State,
    Update,
)


@dataclass
class Politeness:
    opens: float = 0.0
    delay: float = 0.0


@dataclass
class ModelServer:
    """What crawls share: when queues open again, and which connections are out until when."""

    clock: Callable[[], float]
    queues: dict[str, Politeness] = field(default_factory=dict)
    slots: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def polite(self, queue: str) -> Politeness:
        return self.queues.setdefault(queue, Politeness())

    def rest(self, queue: str, delay: float) -> None:
        polite = self.polite(queue)
        polite.opens = max(polite.opens, self.clock() + delay)

    def out(self, queue: str) -> int:
        return sum(1 for name, _crawl, _batch in self.slots if name == queue)


@dataclass
class Url:
    url: str
    queue: str
    kind: Kind
    depth: int
    via: str
    redirects: int
    value: float
    sequence: int
    offers: int = 1
    state: State = State.QUEUED
    attempt: int = 0
    token: str = ""
    expires: float = 0.0
    front: bool = False
    reason: str = ""

    @property
    def score(self) -> float:
        return self.value if self.offers == 1 else math.floor(self.value / self.offers + 0.5)

    @property
    def order(self) -> tuple[int, float, int, int]:
        return 0 if self.front else 1, -self.score, 0 if self.kind == "requisite" else 1, self.sequence


class ModelFrontier:
    def __init__(self, server: ModelServer, crawl: str, settings: FrontierSettings) -> None:
        self.server, self.crawl, self.settings = server, crawl, settings
        self.urls: dict[str, Url] = {}
        self.finished: dict[tuple[str, str], float] = {}
        self.reasons: dict[str, int] = {}
        self.numbers: dict[str, float] = {}
        self.applied: dict[bytes, tuple[int, Effect, bytes]] = {}
        self.batches = 0

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        return tuple(self._offer(offer) for offer in offers)

    def _offer(self, offer: Offer) -> Offered:
        value = round(offer.score * 1e6)
        known = self.urls.get(offer.url)
        if known is None:
            self.urls[offer.url] = Url(
                offer.url,
                offer.queue,
                offer.kind,
                offer.depth,
                offer.via,
                offer.redirects,
                value,
                len(self.urls) + 1,
            )
            return Offered.ADDED
        if known.state is not State.QUEUED or (known.kind == "page" and offer.kind == "requisite"):
            return Offered.KNOWN
        if known.kind == "requisite" and offer.kind == "page":
            known.kind, known.value, known.offers = "page", value, 1
        else:
            self._rescore(known, value)
        known.depth = min(known.depth, offer.depth)
        return Offered.RESCORED

    def _rescore(self, url: Url, value: float) -> None:
        match self.settings.update:
            case Update.LAST:
                url.value = value
            case Update.MAX:
                url.value = max(url.value, value)
            case Update.SUM:
                url.value += value
            case Update.AVG:
                url.value += value
                url.offers += 1
            case Update.FIRST:
                pass

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        del worker
        self._take_back_lost()
        self.finished = {key: at for key, at in self.finished.items() if at > self.server.clock() - 60}
        leases: list[Lease] = []
        while len(leases) < n and (best := self._best(open_only=True)) is not None:
            leases += self._batch(best.queue, min(self.settings.balance, n - len(leases)))
        return tuple(leases)

    def _take_back_lost(self) -> None:
        now = self.server.clock()
        for url in self._in(State.LEASED):
            if url.expires <= now:
                self.server.rest(url.queue, self.server.polite(url.queue).delay)
                self._requeue(url, last=LEASE_RAN_OUT)
        for (queue, crawl, batch), expires in list(self.server.slots.items()):
            if expires <= now:
                self.server.rest(queue, self.server.polite(queue).delay)
                del self.server.slots[queue, crawl, batch]

    def _batch(self, queue: str, most: int) -> list[Lease]:
        self.batches += 1
        now = self.server.clock()
        leases: list[Lease] = []
        self.server.slots[queue, self.crawl, self.batches] = now + self.settings.lease_seconds
        while len(leases) < most and (url := self._best(queue)) is not None:
            url.state, url.token, url.expires = State.LEASED, f"{self.batches}", now + self.settings.lease_seconds
            url.attempt += 1
            leases.append(
                Lease(
                    url.url, queue, url.score / 1e6, url.depth, url.kind, url.via, url.attempt, url.token, url.redirects
                )
            )
        if self.settings.connections > 1:
            self.server.rest(queue, self.server.polite(queue).delay)
        return leases

    def _best(self, queue: str | None = None, *, open_only: bool = False) -> Url | None:
        fit = (
            url
            for url in self._in(State.QUEUED)
            if queue in (None, url.queue) and self._allowed(url) and (not open_only or self._opens(url.queue) <= 0)
        )
        return min(fit, key=lambda url: url.order, default=None)

    def _allowed(self, url: Url) -> bool:
        if url.kind == "requisite":
            return True
        taken = [u for u in self.urls.values() if u.kind == "page" and u.state in (State.LEASED, State.DONE)]
        of_queue = sum(1 for u in taken if u.queue == url.queue)
        pages, per_queue = self.settings.pages, self.settings.pages_per_queue
        return (not pages or len(taken) < pages) and (not per_queue or of_queue < per_queue)

    def _opens(self, queue: str) -> float:
        if self.server.out(queue) >= self.settings.connections:
            return math.inf
        return max(0.0, self.server.polite(queue).opens - self.server.clock())

    def _in(self, state: State) -> list[Url]:
        return [url for url in self.urls.values() if url.state is state]

    def _held(self, lease: Lease) -> Url | None:
        url = self.urls[lease.url]
        return url if url.state is State.LEASED and url.token == lease.token else None

    def _unlease(self, url: Url) -> None:
        url.state = State.QUEUED
        if not any(u.token == url.token for u in self._in(State.LEASED)):
            self.server.slots.pop((url.queue, self.crawl, int(url.token)), None)

    def _conclude(self, url: Url, state: State, reason: str) -> None:
        self._unlease(url)
        url.state, url.reason = state, reason
        if reason:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def _requeue(self, url: Url, *, last: str) -> None:
        if url.attempt >= self.settings.attempts:
            self._conclude(url, State.FAILED, last)
        else:
            self._unlease(url)

    def finish(
        self, lease: Lease, state: State, *, delay: float = 0.0, links: Sequence[Offer] = (), outcome: Outcome = QUIET
    ) -> bool:
        url = self._held(lease)
        if url is None:
            return (lease.url, lease.token) in self.finished
        self.server.rest(url.queue, delay)
        if state is State.DONE:
            self.server.polite(url.queue).delay = delay
        self._conclude(url, state, outcome.reason)
        self.count(outcome.tally)
        self.finished[lease.url, lease.token] = self.server.clock()
        self.offer(links)
        return True

    def retry(self, lease: Lease, *, delay: float, outcome: Outcome = QUIET) -> State:
        url = self._held(lease)
        if url is not None:
            self.server.rest(url.queue, delay)
            self._requeue(url, last=outcome.reason or RETRIES_USED_UP)
            self.count(outcome.tally)
        return self.urls[lease.url].state

    def release(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            url = self._held(lease)
            if url is not None:
                url.attempt -= 1
                self._unlease(url)

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        return tuple(self._renew(lease) for lease in leases)

    def _renew(self, lease: Lease) -> bool:
        url = self._held(lease)
        if url is None:
            return False
        url.expires = self.server.clock() + self.settings.lease_seconds
        slot = (url.queue, self.crawl, int(url.token))
        if slot in self.server.slots:
            self.server.slots[slot] = url.expires
        return True

    def recover(self) -> int:
        lost = self._in(State.LEASED)
        for url in lost:
            self.server.rest(url.queue, self.server.polite(url.queue).delay)
            url.attempt -= 1
            self._unlease(url)
        return len(lost)

    def next_ready(self) -> float | None:
        now = self.server.clock()
        waits = [max(0.0, url.expires - now) for url in self._in(State.LEASED)]
        for url in self._in(State.QUEUED):
            if self._allowed(url):
                opens = self._opens(url.queue)
                slots = (expires - now for expires in self.server.slots.values())
                waits.append(max(0.0, min(slots)) if math.isinf(opens) else opens)
        return min(waits, default=None)

    def counts(self) -> Counts:
        return Counts(
            pages={state: sum(1 for u in self._in(state) if u.kind == "page") for state in State},
            requisites={state: sum(1 for u in self._in(state) if u.kind == "requisite") for state in State},
            queues=len({u.queue for u in self._in(State.QUEUED)}),
            reasons=self.reasons,
        )

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        def number(queue: str, kind: Kind, state: State) -> int:
            return sum(1 for u in self._in(state) if u.queue == queue and u.kind == kind)

        return {
            queue: QueueCounts(
                number(queue, "page", State.QUEUED),
                number(queue, "page", State.LEASED),
                number(queue, "page", State.DONE),
                number(queue, "requisite", State.QUEUED),
            )
            for queue in {u.queue for u in self.urls.values()}
        }

    def state(self, url: str) -> State | None:
        return self.urls[url].state if url in self.urls else None

    def post(self, posts: Sequence[Post]) -> tuple[Posted, ...]:
        return tuple(map(self._post, posts))

    def _post(self, post: Post) -> Posted:
        today = int(self.server.clock() // 86_400)
        day, effect, content = self.applied.get(post.key, (-9, Effect.KNOWN, b""))
        if day >= today - 1:
            if content != post.content:
                return Posted(Effect.MISUSED, None)
            return Posted(effect, self.state(post.offer.url), repeated=True)
        effect = self._block(post.offer) if post.wish is Wish.BLOCK else self._accept(post)
        if effect is not Effect.KNOWN:
            self.applied[post.key] = today, effect, post.content
        return Posted(effect, self.state(post.offer.url))

    def _accept(self, post: Post) -> Effect:
        effect = Effect(self._offer(post.offer))
        if post.wish is Wish.FRONT and effect is not Effect.KNOWN:
            self.urls[post.offer.url].front = True
        return effect

    def _block(self, offer: Offer) -> Effect:
        url = self.urls.get(offer.url)
        if url is not None and url.state is not State.QUEUED:
            return Effect.BLOCKED if url.state is State.BLOCKED else Effect.KNOWN
        if url is None:
            self._offer(offer)
        blocked = self.urls[offer.url]
        blocked.state, blocked.reason = State.BLOCKED, BLOCKED_FROM_OUTSIDE
        self.reasons[BLOCKED_FROM_OUTSIDE] = self.reasons.get(BLOCKED_FROM_OUTSIDE, 0) + 1
        return Effect.BLOCKED

    def standing(self, url: str) -> Standing | None:
        known = self.urls.get(url)
        if known is None:
            return None
        if known.state in (State.QUEUED, State.LEASED):
            return Standing(known.state, _offered(known), known.front)
        return Standing(known.state, None, reason=known.reason)

    def iterate(self, n: int) -> Sequence[Offer]:
        best = sorted(self._in(State.QUEUED), key=lambda url: url.order)[:n]
        return tuple(map(_offered, best))

    def count(self, amounts: Mapping[str, float]) -> None:
        for name, amount in amounts.items():
            self.numbers[name] = self.numbers.get(name, 0.0) + amount

    def tallies(self) -> Mapping[str, float]:
        return self.numbers

    def close(self) -> None:
        """Nothing is held."""


def _offered(url: Url) -> Offer:
    return Offer(url.url, url.queue, url.score / 1e6, url.depth, url.kind, url.via, url.redirects)
