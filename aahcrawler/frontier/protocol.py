"""Define the frontier's contract with the crawl (ARCOMEM, sections 4.3 and 4.4).

A URL of a crawl is in exactly one of these states::

    queued -> leased -> done | failed | blocked
              done -> due -> queued      when it is to be fetched again, and when its time has come (``control``)
              queued | due -> blocked    when an operator or a changed definition says so, and back
              leased -> queued     when the lease runs out, or the fetch is to be retried
              leased -> failed     when that happens for the last time

A known URL that is offered again is re-scored by the crawl's update function while it is queued; it is never queued
twice, and never resurrected once it is done, failed or blocked.

A queue is polite to its servers on behalf of every crawl that shares the frontier's server: how many connections are
out and when the next one may be made is kept for each queue, not for each crawl. At any time the connections to one
queue are those of one worker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, Protocol

from aahcrawler.frontier.hops import Hop, ends_with

Kind = Literal["page", "requisite"]
"""What a URL counts as: only pages are bounded in number, and scored."""

LISTING: Final = "#application="
"""Marks a ``via`` that says of which listing of which application a URL is a page."""


class Purpose(StrEnum):
    """What the answer to a URL is read as. The counts of a crawl have the names of the lists."""

    PAGE = "page"
    REQUISITE = "requisite"
    """A file that a page needs to be shown, or that an object consists of."""
    SITEMAP = "sitemaps"
    FEED = "feeds"

    @property
    def is_list(self) -> bool:
        """Whether nothing but the URLs in the answer is wanted."""
        return self in (Purpose.SITEMAP, Purpose.FEED)


class Update(StrEnum):
    """The update functions: how a new score changes that of a queued URL (ARCOMEM, section 5.1)."""

    FIRST = "first"
    LAST = "last"
    MAX = "max"
    SUM = "sum"
    AVG = "avg"


class State(StrEnum):
    """The state of a URL."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    DUE = "due"
    """Done, and to be queued again at a time."""


class Offered(StrEnum):
    """The outcomes of an offer."""

    ADDED = "added"
    RESCORED = "rescored"
    """It is queued and the update function was applied, whether or not its score changed."""
    KNOWN = "known"
    """It is leased, due or ended, or a page that was offered as a requisite; nothing changed."""
    BLOCKED = "blocked"
    """One of the crawl's rules names it: it is kept, and not leased while the rule is there."""


UNSCORED: Final = -1.0
"""The score of an offer that says nothing yet of a URL: new ones wait behind all that have a score, known ones keep
theirs. The first score that such a URL is offered with takes the place of this one, whatever the update function.
"""

LEASE_RAN_OUT = "lease ran out"
"""The reason of a URL that failed because its last attempt ended with a lease nobody finished."""

MIN_LEASES: Final = 3
"""A URL is leased so often at least before leases that run out make it fail: seldom does a page kill its workers."""

RETRIES_USED_UP = "retries used up"
"""The reason of a URL whose last attempt was to be retried, where the caller names no other."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A canonical URL, its queue (``urls.queue_of``) and its score; ``depth`` counts links from a seed.

    Scores are kept to a millionth; they are not negative, but for ``UNSCORED``. Of several offers of one URL the first
    one's ``via`` and ``path`` and the smallest ``depth`` stay. A queued requisite that is offered as a page becomes a
    page with the score of that offer; a queued page that is offered as a requisite stays as it is.
    """

    url: str
    queue: str
    score: float
    depth: int = 0
    kind: Kind = "page"
    via: str = ""
    """The URL of the page that linked here, empty for a seed."""
    path: str = ""
    """The hops that led here from a seed (``hops``), at most ``hops.MAX_HOPS``."""


@dataclass(frozen=True, slots=True)
class Rescore:
    """A canonical URL and the score that it is to have from now on, whatever it had; kept to a millionth."""

    url: str
    score: float


@dataclass(frozen=True, slots=True)
class Lease:
    """A URL that one worker may fetch until the lease runs out. ``attempt`` counts from 1.

    ``score`` is 0 where nothing but ``UNSCORED`` offers were made, and ``is_scored`` False.
    """

    url: str
    queue: str
    score: float
    depth: int
    kind: Kind
    via: str
    attempt: int
    token: str
    """Identifies this lease: a finish with the token of a lost lease changes nothing."""
    path: str = ""
    is_scored: bool = True
    learned: float = 0.0
    """The seconds between fetches that the queue is known to ask for, as ``finish`` and ``retry`` left them."""
    left: int | None = None
    """The pages that ``pages_per_queue`` leaves the queue, those leased at once with this one taken; None: no bound."""

    @property
    def is_page(self) -> bool:
        """Whether the URL counts as a page; a page of a listing does, although its ``purpose`` is that of a list."""
        return self.kind == "page"

    @property
    def purpose(self) -> Purpose:
        """What the answer is read as. A feed that a page merely links to is read as a page."""
        if self.kind == "requisite" or LISTING in self.via:
            if ends_with(self.path, Hop.SITEMAP):
                return Purpose.SITEMAP
            if ends_with(self.path, Hop.FEED):
                return Purpose.FEED
        return Purpose(self.kind)


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """The part of an ICD that the frontier acts on.

    ``pages`` and ``pages_per_queue`` bound how many pages (requisites apart) are leased plus done; 0 is no bound.
    ``lease_seconds`` is how long a worker may take; ``attempts`` how often a URL is tried before it has failed;
    ``connections`` how many connections to one queue may be out at once. The URLs that one call leases from one
    queue (``balance`` at most) share a connection: their worker fetches them one after another, and the connection
    is free again when the last of them has been finished, retried or released.
    """

    update: Update = Update.MAX
    balance: int = 1
    pages: int = 0
    pages_per_queue: int = 0
    lease_seconds: float = 300.0
    attempts: int = 3
    connections: int = 1

    def __post_init__(self) -> None:
        if min(self.balance, self.attempts, self.connections) < 1:
            raise ValueError("balance, attempts and connections are at least 1")
        if min(self.pages, self.pages_per_queue) < 0 or self.lease_seconds <= 0:
            raise ValueError("pages and pages_per_queue are at least 0, lease_seconds is more than 0")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a lease as it is remembered: the reason, and the counts it adds (``CrawlStats``).

    The URL's queue is not leased from again for ``delay`` seconds. ``learned`` is what the queue itself asks for, in
    seconds between fetches: it is kept for whoever leases from it next, in any crawl (``Lease.learned``), and changes
    no delay; None leaves what was kept, 0 forgets it.
    """

    reason: str = ""
    stats: Mapping[str, float] = field(default_factory=dict)
    delay: float = 0.0
    learned: float | None = None


QUIET: Final = Outcome()


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of URLs by state, pages and requisites apart; ``queues`` counts queues that hold queued URLs.

    ``reasons`` counts failed and blocked URLs by the reason given, those without one left out.
    """

    pages: Mapping[State, int]
    requisites: Mapping[State, int]
    queues: int
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The numbers of pages of one queue that are queued, leased and done, and of queued requisites."""

    pages_queued: int
    pages_leased: int
    pages_done: int
    requisites_queued: int


class Scheduling(Protocol):
    """The operations of workers; each is atomic, and one round trip for a batch.

    Scores may exceed 1 (SUM). An operation that ends a lease is safe to repeat. A repeated ``offer`` is applied
    again, which shows under SUM and AVG. After a ``lease`` whose answer was lost, the next one of the same worker is
    given the same leases, as far as they hold.

    Operations raise ``FrontierAwayError`` when the server cannot be reached for now; nothing was lost then, and the
    operation may or may not have been carried out. They raise another ``FrontierUnavailableError`` where it does not
    serve and waiting does not mend that; nothing was changed then.
    """

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        """Queue new URLs and re-score queued ones; the answer runs parallel to ``offers``.

        Very long sequences are offered in several atomic parts.
        """
        ...

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        """Set the scores of queued pages, past the update function; the answer runs parallel: whether it was set.

        A score that was set counts as the only one its URL was offered with so far. Left alone is what is not queued,
        and of what is queued: requisites, and pages whose present score somebody outside of the crawl has a part in
        (``posting``). Very long sequences are set in several atomic parts. It may be repeated without harm.
        """
        ...

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        """Lease at most ``n`` URLs: the best of the queue whose best URL scores highest, then of the next one.

        Of equal scores requisites come first, then what was offered first. Only queues are considered whose delay
        has passed and that have fewer than ``connections`` connections out; up to ``balance`` URLs are taken from
        one queue at a time. Queues with connections of another worker, whatever the crawl, are left to that one: all
        that one process leases, it leases under one name. Leases that ran out are taken back first: their URLs are
        queued again, or have failed when that was their last attempt, and the third at least.
        """
        ...

    def finish(self, lease: Lease, state: State, outcome: Outcome = QUIET, links: Sequence[Offer] = ()) -> bool:
        """Move a leased URL to ``done``, ``failed`` or ``blocked``, offer its links and add its counts, all or nothing.

        Of more than 500 links, those before the last 500 are offered first, in atomic parts: a crash in
        between offers them again later. The delay of a URL that is done is remembered as the queue's usual one: it is
        also kept between connections that are out at once, and after a lease that was lost. Return False, and change
        nothing, when the lease had been lost; a lease that has run out but was not taken back yet still counts. A
        finish that is repeated returns True again.
        """
        ...

    def retry(self, lease: Lease, outcome: Outcome = QUIET) -> State:
        """Put a leased URL back, its queue to rest; ``FAILED`` after the last attempt.

        The outcome's reason (``RETRIES_USED_UP`` where it names none) is added where the URL fails, the rest of it
        either way. Of a lost lease the URL's present state is returned.
        """
        ...

    def release(self, leases: Sequence[Lease], *, delay: float = 0.0) -> None:
        """Put back what was leased and not fetched: the attempt does not count. Lost leases are passed over.

        Their queues rest for ``delay`` seconds.
        """
        ...

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        """Let leases run for another ``lease_seconds`` from now; False for one that had been lost."""
        ...

    def remember_delay(self, lease: Lease, delay: float) -> None:
        """Make ``delay`` seconds the usual delay of a leased URL's queue, before the URL is asked for.

        So the queue rests even where nothing of it was done yet when its worker dies. Lost leases are passed over.
        """
        ...

    def recover(self) -> int:
        """Requeue every lease that is out, whoever holds it; return how many. The attempts do not count.

        For a crawl that is known to have no other worker: a restart after a crash. Queues that were being fetched
        from rest for their usual delay.
        """
        ...

    def go_by(self, settings: FrontierSettings) -> None:
        """Go by other settings from the next call on; queues that they hold back or let go are put where they belong.

        Whoever shares the crawl's frontier has to be told as well. It may be repeated without harm, and is to be
        repeated where it was cut off. Queues are gone through piece by piece.
        """
        ...

    def next_ready(self) -> float | None:
        """Return in how many seconds a lease may succeed (0: now), None when none ever will.

        None means that this crawl has nothing leased or due, and nothing queued that its bounds allow; infinity that
        it has, and that nothing can be leased until what is paused is resumed. What other workers finish in the
        meantime may make it sooner.
        """
        ...

    def close(self) -> None:
        """Let go of the connection; the state stays."""
        ...


class Inspection(Protocol):
    """The queries to a frontier; they change nothing."""

    def counts(self) -> Counts:
        """Count URLs by state, at one moment."""
        ...

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        """Count the pages of every queue that was ever offered a URL; large frontiers are read piece by piece."""
        ...

    def state(self, url: str) -> State | None:
        """Return where a canonical URL is, None when it was never offered."""
        ...

    def iterate(self, n: int) -> Sequence[Offer]:
        """Return the ``n`` best queued URLs, best first, politeness and bounds aside.

        Read piece by piece beside workers, so that a URL which is being leased may be missing.
        """
        ...


class CrawlStats(Protocol):
    """Numbers about a crawl that survive restarts and grow with its URLs: what its limits have been used up to."""

    def count(self, amounts: Mapping[str, float]) -> None:
        """Add to numbers by name, atomically; each starts at 0."""
        ...

    def stats(self) -> Mapping[str, float]:
        """Return every number that was ever added to."""
        ...


class Frontier(Scheduling, Inspection, CrawlStats, Protocol):
    """All of it: what a crawl is given."""


class FrontierUnavailableError(Exception):
    """The frontier's server cannot be reached or refuses to serve; the message says why, and what to do."""


class FrontierAwayError(FrontierUnavailableError):
    """The frontier's server cannot be reached, or not yet: the same call may be made again until it can.

    It is down, starting, cut off, held up, or no longer the primary of its replicas. Whether the call was carried out
    is not known.
    """


class FrontierFullError(FrontierUnavailableError):
    """The frontier's server cannot write to its disk. Nothing was changed, and the same call may be made again."""


class FrontierUnreadableError(FrontierUnavailableError):
    """No server here can read the files of a frontier. Nothing was changed. The message names no paths."""
