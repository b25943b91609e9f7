"""The frontier in its simplest form: dictionaries, sorting, no server. What the real one does is compared with it."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from aahcrawler.frontier.control import (
    BLOCKED_FROM_OUTSIDE,
    Effect,
    Place,
    Post,
    Posted,
    Queued,
    Revisit,
    Rule,
    RuleKind,
    Standing,
    Swept,
    Timed,
    UrlStatus,
    Wish,
)
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


@dataclass
class Politeness:
    opens: float = 0.0
    delay: float = 0.0
    learned: float = 0.0
    worker: str = ""


@dataclass
class ModelServer:
    """What crawls share: when queues open again, and which connections are out until when."""

    clock: Callable[[], float]
    queues: dict[str, Politeness] = field(default_factory=dict)
    slots: dict[tuple[str, str, int], float] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)

    def polite(self, queue: str) -> Politeness:
        return self.queues.setdefault(queue, Politeness())

    def rest(self, queue: str, delay: float) -> None:
        polite = self.polite(queue)
        polite.opens = max(polite.opens, self.clock() + delay)

    def learn(self, queue: str, learned: float | None) -> None:
        if learned is not None:
            self.polite(queue).learned = learned

    def out(self, queue: str) -> int:
        return sum(1 for name, _crawl, _batch in self.slots if name == queue)


@dataclass
class Url:
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
    token: str = ""
    expires: float = 0.0
    front: bool = False
    posted: bool = False
    reason: str = ""
    due: float | None = None
    kept: bool = False
    """Blocked in a way that can be undone."""

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
        self.finished: set[tuple[str, str]] = set()
        self.reasons: dict[str, int] = {}
        self.numbers: dict[str, float] = {}
        self.applied: dict[bytes, tuple[int, Effect, bytes]] = {}
        self.batches = 0
        self.sequences = 0
        self.paused = False
        self.ruled: set[Rule] = set()

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        answers = [self._offer(offer) for offer in offers]
        blocked = self._keep_out(offers)
        return tuple(
            Offered.BLOCKED if offer.url in blocked else said for offer, said in zip(offers, answers, strict=True)
        )

    def _offer(self, offer: Offer) -> Offered:
        value = round(offer.score * 1e6)
        known = self.urls.get(offer.url)
        if known is None:
            self.sequences += 1
            self.urls[offer.url] = Url(
                offer.url,
                offer.queue,
                offer.kind,
                offer.depth,
                offer.via,
                offer.path,
                value,
                self.sequences,
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
        if value < 0:
            return
        if url.value < 0:
            url.value, url.offers = value, 1
            return
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

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        return tuple(map(self._set, scores))

    def _set(self, rescore: Rescore) -> bool:
        url = self.urls.get(rescore.url)
        if url is None or url.state is not State.QUEUED or url.kind == "requisite" or url.posted:
            return False
        url.value, url.offers = round(rescore.score * 1e6), 1
        return True

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        taken: list[Lease] = []
        for _ in range(10):
            fresh = self._take(worker, n - len(taken))
            named = [lease for lease in fresh if self._naming(lease.url)]
            for lease in named:
                url = self.urls[lease.url]
                url.attempt -= 1
                self._unlease(url)
                self._withhold(url)
            taken += [lease for lease in fresh if lease not in named]
            if not named:
                break
        return tuple(taken)

    def _take(self, worker: str, n: int) -> tuple[Lease, ...]:
        if self.paused or n <= 0:
            return ()
        self._take_back_lost()
        for url in self._in(State.DUE):
            if url.due is not None and url.due <= self.server.clock():
                url.state, url.due = State.QUEUED, None
        leases: list[Lease] = []
        while len(leases) < n and (best := self._best(worker=worker)) is not None:
            leases += self._batch(worker, best.queue, min(self.settings.balance, n - len(leases)))
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

    def _batch(self, worker: str, queue: str, most: int) -> list[Lease]:
        self.batches += 1
        now = self.server.clock()
        leases: list[Lease] = []
        polite = self.server.polite(queue)
        polite.worker = worker
        self.server.slots[queue, self.crawl, self.batches] = now + self.settings.lease_seconds
        while len(leases) < most and (url := self._best(queue)) is not None:
            url.state, url.token, url.expires = State.LEASED, f"{self.batches}", now + self.settings.lease_seconds
            url.attempt += 1
            leases.append(
                Lease(
                    url.url,
                    queue,
                    max(0.0, url.score / 1e6),
                    url.depth,
                    url.kind,
                    url.via,
                    url.attempt,
                    url.token,
                    url.path,
                    is_scored=url.score >= 0,
                    learned=polite.learned,
                )
            )
        if self.settings.connections > 1:
            self.server.rest(queue, polite.delay)
        if not self.settings.pages_per_queue:
            return leases
        left = self.settings.pages_per_queue - sum(
            url.queue == queue and url.kind == "page" and url.state in (State.LEASED, State.DONE)
            for url in self.urls.values()
        )
        return [replace(lease, left=max(0, left)) for lease in leases]

    def _best(self, queue: str | None = None, *, worker: str | None = None) -> Url | None:
        fit = (
            url
            for url in self._in(State.QUEUED)
            if queue in (None, url.queue)
            and self._allowed(url)
            and (worker is None or self._is_open(url.queue, worker))
        )
        return min(fit, key=lambda url: url.order, default=None)

    def _is_open(self, queue: str, worker: str) -> bool:
        is_anothers = self.server.out(queue) > 0 and self.server.polite(queue).worker != worker
        return not is_anothers and self._opens(queue) <= 0

    def _allowed(self, url: Url) -> bool:
        pages, per_queue = self.settings.pages, self.settings.pages_per_queue
        if url.kind == "requisite" or not (pages or per_queue):
            return True
        taken = [u for u in self.urls.values() if u.kind == "page" and u.state in (State.LEASED, State.DONE, State.DUE)]
        of_queue = sum(1 for u in taken if u.queue == url.queue)
        return (not pages or len(taken) < pages) and (not per_queue or of_queue < per_queue)

    def _opens(self, queue: str) -> float:
        if self.server.out(queue) >= self.settings.connections or queue in self.server.paused:
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
        least = MIN_LEASES if last == LEASE_RAN_OUT else 1
        if url.attempt >= max(self.settings.attempts, least):
            self._conclude(url, State.FAILED, last)
        else:
            self._unlease(url)

    def finish(self, lease: Lease, state: State, outcome: Outcome = QUIET, links: Sequence[Offer] = ()) -> bool:
        url = self._held(lease)
        if url is None:
            return (lease.url, lease.token) in self.finished
        self.server.rest(url.queue, outcome.delay)
        self.server.learn(url.queue, outcome.learned)
        if state is State.DONE:
            self.server.polite(url.queue).delay = outcome.delay
        self._conclude(url, state, outcome.reason)
        self.count(outcome.stats)
        self.finished.add((lease.url, lease.token))
        self.offer(links)
        return True

    def retry(self, lease: Lease, outcome: Outcome = QUIET) -> State:
        url = self._held(lease)
        if url is not None:
            self.server.rest(url.queue, outcome.delay)
            self.server.learn(url.queue, outcome.learned)
            self._requeue(url, last=outcome.reason or RETRIES_USED_UP)
            self.count(outcome.stats)
        return self.urls[lease.url].state

    def release(self, leases: Sequence[Lease], *, delay: float = 0.0) -> None:
        for lease in leases:
            url = self._held(lease)
            if url is not None:
                self.server.rest(url.queue, delay)
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

    def remember_delay(self, lease: Lease, delay: float) -> None:
        url = self._held(lease)
        if url is not None:
            self.server.polite(url.queue).delay = delay

    def recover(self) -> int:
        lost = self._in(State.LEASED)
        for url in lost:
            self.server.rest(url.queue, self.server.polite(url.queue).delay)
            url.attempt -= 1
            self._unlease(url)
        return len(lost)

    def go_by(self, settings: FrontierSettings) -> None:
        self.settings = settings

    def next_ready(self) -> float | None:
        now = self.server.clock()
        waits = [max(0.0, url.expires - now) for url in self._in(State.LEASED)]
        for url in self._in(State.QUEUED):
            if self._allowed(url):
                opens = self._opens(url.queue)
                slots = (expires - now for expires in self.server.slots.values())
                waits.append(max(0.0, min(slots, default=math.inf)) if math.isinf(opens) else opens)
        waits += [max(0.0, url.due - now) for url in self._in(State.DUE) if url.due is not None]
        return math.inf if waits and self.paused else min(waits, default=None)

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
                number(queue, "page", State.DONE) + number(queue, "page", State.DUE),
                number(queue, "requisite", State.QUEUED),
            )
            for queue in {u.queue for u in self.urls.values()}
        }

    def state(self, url: str) -> State | None:
        return self.urls[url].state if url in self.urls else None

    def post(self, posts: Sequence[Post]) -> tuple[Posted, ...]:
        posted = [self._post(post) for post in posts]
        blocked = self._keep_out([post.offer for post in posts])
        return tuple(
            Posted(Effect.BLOCKED, State.BLOCKED, said.repeated) if post.offer.url in blocked else said
            for post, said in zip(posts, posted, strict=True)
        )

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
        known = self.urls.get(post.offer.url)
        before = known and (known.kind, known.value, known.offers)
        effect = Effect(self._offer(post.offer))
        url = self.urls[post.offer.url]
        if effect is not Effect.KNOWN:
            url.posted |= post.wish is Wish.FRONT or before != (url.kind, url.value, url.offers)
            url.front |= post.wish is Wish.FRONT
        return effect

    def _block(self, offer: Offer) -> Effect:
        url = self.urls.get(offer.url)
        if url is not None and url.state not in (State.QUEUED, State.DUE):
            return Effect.BLOCKED if url.state is State.BLOCKED else Effect.KNOWN
        kept = url is not None
        if url is None:
            self._offer(offer)
        self._hold(self.urls[offer.url], BLOCKED_FROM_OUTSIDE)
        self.urls[offer.url].kept = kept
        return Effect.BLOCKED

    def status(self, url: str) -> UrlStatus | None:
        known = self.urls.get(url)
        if known is None:
            return None
        if known.state in (State.QUEUED, State.LEASED, State.DUE):
            return UrlStatus(known.state, _offered(known), known.front)
        if known.kept:
            return UrlStatus(known.state, _offered(known), known.front, known.reason)
        return UrlStatus(known.state, None, reason=known.reason)

    # Control

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def is_paused(self) -> bool:
        return self.paused

    def pause_queue(self, queue: str) -> None:
        self.server.paused.add(queue)

    def resume_queue(self, queue: str) -> None:
        self.server.paused.discard(queue)

    def paused_queues(self) -> frozenset[str]:
        return frozenset(self.server.paused)

    def block(self, rules: Sequence[Rule]) -> int:
        self.ruled |= set(rules)
        return sum(self._withhold(url) for url in self.urls.values() if self._naming(url.url))

    def unblock(self, rules: Sequence[Rule]) -> int:
        self.ruled -= set(rules)
        reasons = {rule.reason for rule in rules}
        held = [url for url in self._in(State.BLOCKED) if url.kept and url.reason in reasons]
        return sum(self._put_back(url) for url in held)

    def rules(self) -> frozenset[Rule]:
        return frozenset(self.ruled)

    def block_urls(self, urls: Sequence[str], reason: str) -> tuple[bool, ...]:
        return tuple(url in self.urls and self._withhold(self.urls[url], reason) for url in urls)

    def unblock_urls(self, urls: Sequence[str]) -> tuple[bool, ...]:
        return tuple(url in self.urls and self._put_back(self.urls[url]) for url in urls)

    def again(self, revisits: Sequence[Revisit]) -> tuple[bool, ...]:
        return tuple(map(self._again, revisits))

    def scan(self, states: Collection[State]) -> Iterator[UrlStatus]:
        for url in self.urls.values():
            if url.state in states and (url.state is not State.BLOCKED or url.kept):
                yield UrlStatus(url.state, _offered(url), url.front, url.reason)

    def _again(self, revisit: Revisit) -> bool:
        offer, url = revisit.offer, self.urls.get(revisit.offer.url)
        if url is None or url.state not in (State.DONE, State.DUE) or url.kind != "page" or self._naming(url.url):
            return False
        if url.state is State.DONE:
            self.sequences += 1
            self._uncount(url.reason)
            url.reason, url.front, url.posted, url.sequence = "", False, False, self.sequences
        url.state, url.due, url.attempt = State.DUE, self.server.clock() + revisit.seconds, 0
        url.value, url.offers = round(offer.score * 1e6), 1
        url.depth, url.via, url.path = offer.depth, offer.via, offer.path
        return True

    def _naming(self, url: str) -> Rule | None:
        return next((rule for kind in RuleKind for rule in self._of(kind) if _names(rule, url)), None)

    def _of(self, kind: RuleKind) -> list[Rule]:
        return sorted((rule for rule in self.ruled if rule.kind is kind), key=lambda rule: (len(rule.text), rule.text))

    def _keep_out(self, offers: Sequence[Offer]) -> set[str]:
        named = {offer.url for offer in offers if self._naming(offer.url)}
        return {url for url in named if url in self.urls and self._withhold(self.urls[url])}

    def _withhold(self, url: Url, reason: str = "") -> bool:
        rule = self._naming(url.url)
        if url.state not in (State.QUEUED, State.DUE):
            return False
        self._hold(url, reason or (rule.reason if rule else ""))
        return True

    def _hold(self, url: Url, reason: str) -> None:
        url.state, url.reason, url.kept = State.BLOCKED, reason, True
        self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def _put_back(self, url: Url) -> bool:
        if url.state is not State.BLOCKED or not url.kept:
            return False
        self._uncount(url.reason)
        url.state, url.reason, url.kept = State.QUEUED if url.due is None else State.DUE, "", False
        return not (self._naming(url.url) and self._withhold(url))

    def _uncount(self, reason: str) -> None:
        if reason:
            self.reasons[reason] -= 1
            self.reasons = {name: number for name, number in self.reasons.items() if number}

    def iterate(self, n: int) -> Sequence[Offer]:
        best = sorted(self._in(State.QUEUED), key=lambda url: url.order)[:n]
        return tuple(map(_offered, best))

    def walk(self, after: Place | None = None, queues: Collection[str] | None = None) -> Iterator[Queued]:
        for url in sorted(self._in(State.QUEUED), key=lambda url: url.order):
            rank = -url.score - (1e15 if url.front else 0.0)
            place = Place(rank, int(url.kind == "page"), url.sequence.to_bytes(5, "big"))
            if (after is None or place > after) and (queues is None or url.queue in queues):
                yield Queued(_offered(url), place, url.front, url.attempt)

    def sweep(self, wanted: Callable[[str], bool], state: State, after: str = "") -> Iterator[Swept]:
        known = self._in(state)
        start = int(after or 0)
        for at in range(start, max(len(known), start + 1), 100):
            part = known[at : at + 100]
            found = [UrlStatus(url.state, _offered(url), url.front) for url in part if wanted(url.url)]
            yield Swept(len(part), found, str(at + 100) if at + 100 < len(known) else "")

    def ahead(self, url: str) -> int | None:
        own = self.urls.get(url)
        if own is None or own.state is not State.QUEUED:
            return None
        return sum(each.queue == own.queue and each.order < own.order for each in self._in(State.QUEUED))

    def leased(self, most: int) -> Sequence[Timed]:
        leased = sorted(self._in(State.LEASED), key=lambda url: url.expires)[:most]
        return [Timed(_offered(url), url.expires - self.server.clock()) for url in leased]

    def due(self, most: int, skipped: int = 0) -> Sequence[Timed]:
        due = [Timed(_offered(url), (url.due or 0.0) - self.server.clock()) for url in self._in(State.DUE)]
        return sorted(due, key=lambda timed: timed.seconds)[skipped : skipped + most]

    def held(self, after: str, most: int) -> tuple[Sequence[UrlStatus], str]:
        held = list(self.scan({State.BLOCKED}))
        start = int(after or 0)
        return held[start : start + most], str(start + most) if start + most < len(held) else ""

    def standings(self, queues: Collection[str] | None = None) -> Mapping[str, Standing]:
        return {
            name: self._standing(name, counts)
            for name, counts in self.queue_counts().items()
            if queues is None or name in queues
        }

    def _standing(self, name: str, counts: QueueCounts) -> Standing:
        polite = self.server.polite(name)
        scores = [url.score for url in self._in(State.QUEUED) if url.queue == name]
        best = max(scores, default=-1.0)
        return Standing(
            counts,
            best / 1e6 if best >= 0 else None,
            max(0.0, polite.opens - self.server.clock()),
            polite.delay,
            polite.learned,
            self.server.out(name),
            is_paused=name in self.server.paused,
        )

    def count(self, amounts: Mapping[str, float]) -> None:
        for name, amount in amounts.items():
            self.numbers[name] = self.numbers.get(name, 0.0) + amount

    def stats(self) -> Mapping[str, float]:
        return self.numbers

    def close(self) -> None:
        """Nothing is held."""


def _offered(url: Url) -> Offer:
    return Offer(url.url, url.queue, url.score / 1e6, url.depth, url.kind, url.via, url.path)


def _names(rule: Rule, url: str) -> bool:
    host = urlsplit(url).hostname or ""
    match rule.kind:
        case RuleKind.URL:
            return url == rule.text
        case RuleKind.PREFIX:
            return url.startswith(rule.text)
        case RuleKind.HOST:
            return host == rule.text or host.endswith("." + rule.text)
        case RuleKind.PATTERN:
            return rule.pattern().matches(url)
