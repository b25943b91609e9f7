"""The frontier's contract with the crawl (ARCOMEM, sections 4.3 and 4.4).

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
"""Whether a URL counts as a page or as a page requisite; only pages have scores and count against limits."""

LISTING: Final = "#application="
"""Marks a ``via`` whose URL is a page of a listing, and names the listing's application."""


class Purpose(StrEnum):
    """What a response is read as. The values for lists are also names of counts in ``crawl.json``."""

    PAGE = "page"
    REQUISITE = "requisite"
    """A file that a page needs to be shown, or that belongs to a web object."""
    SITEMAP = "sitemaps"
    FEED = "feeds"

    @property
    def is_list(self) -> bool:
        """Whether only the URLs in the response are wanted."""
        return self in (Purpose.SITEMAP, Purpose.FEED)


class Update(StrEnum):
    """The update functions: how a new score changes that of a queued URL (ARCOMEM, section 5.1)."""

    FIRST = "first"
    LAST = "last"
    MAX = "max"
    SUM = "sum"
    AVG = "avg"


class State(StrEnum):
    """The states of a URL."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    DUE = "due"
    """Done, and to be queued again at a set time."""


class Offered(StrEnum):
    """The outcomes of an offer."""

    ADDED = "added"
    RESCORED = "rescored"
    """It was queued, and the update function was applied, even if its score stayed the same."""
    KNOWN = "known"
    """It is leased, due or ended, or a page that was offered as a requisite; nothing changed."""
    BLOCKED = "blocked"
    """A rule of the crawl matches it: it is stored, and not leased while the rule is in force."""


UNSCORED: Final = -1.0
"""The score of an offer that says nothing of a URL's relevance.

New URLs with it wait behind all that have a score; known ones keep theirs. The first real score that such a URL is
offered with replaces it, whatever the update function.
"""

LEASE_RAN_OUT = "lease ran out"
"""The reason of a URL that failed because the lease of its last attempt ran out."""

MIN_LEASES: Final = 3
"""A URL is leased at least this often before leases that run out make it fail, because seldom is the page the cause."""

RETRIES_USED_UP = "retries used up"
"""The reason of a URL whose last attempt was to be retried, if the caller gives no other reason."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A canonical URL, its queue (``urls.queue_of``) and its score; ``depth`` counts links from a seed.

    Scores are stored to a millionth and are not negative, except ``UNSCORED``. Of several offers of one URL, the first
    one's ``via`` and ``path`` and the smallest ``depth`` are kept. A queued page requisite that is offered as a page
    becomes a page with the score of that offer; a queued page that is offered as a page requisite stays a page.
    """

    url: str
    queue: str
    score: float
    depth: int = 0
    kind: Kind = "page"
    via: str = ""
    """The URL of the page that linked here; empty for a seed."""
    path: str = ""
    """The hops from a seed to here (``hops``), at most ``hops.MAX_HOPS``."""


@dataclass(frozen=True, slots=True)
class Rescore:
    """A canonical URL and its new score, which replaces the old one; stored to a millionth.

    ``UNSCORED`` puts the URL behind all that have a score, until it is offered with one.
    """

    url: str
    score: float


@dataclass(frozen=True, slots=True)
class Lease:
    """A URL that one worker may fetch until the lease runs out. ``attempt`` counts from 1.

    If all offers of the URL were ``UNSCORED``, ``score`` is 0 and ``is_scored`` False.
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
    """The seconds between fetches that the queue's site asks for, as stored by the last ``finish`` or ``retry``."""
    left: int | None = None
    """How many pages ``pages_per_queue`` still allows the queue, after the leases of this call; None without a limit.
    """

    @property
    def is_page(self) -> bool:
        """Whether the URL counts as a page. A page of a listing does, although its ``purpose`` is that of a list."""
        return self.kind == "page"

    @property
    def purpose(self) -> Purpose:
        """What the response is read as. A feed to which a page merely links is read as a page."""
        if self.kind == "requisite" or LISTING in self.via:
            if ends_with(self.path, Hop.SITEMAP):
                return Purpose.SITEMAP
            if ends_with(self.path, Hop.FEED):
                return Purpose.FEED
        return Purpose(self.kind)


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """The settings of an ICD that the frontier uses.

    ``pages`` and ``pages_per_queue`` limit the number of pages (not page requisites) that are leased or done; 0 means
    no limit. ``lease_seconds`` is how long a lease lasts, ``attempts`` how often a URL is tried before it fails, and
    ``connections`` how many connections to one queue may be in use at once. The URLs that one call leases from one
    queue (at most ``balance``) share a connection: their worker fetches them one after another, and the connection is
    free again when the last of them has been finished, retried or released.
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
    """How a lease ended: the reason, and the counts to add (``CrawlStats``).

    The URL's queue is closed for ``delay`` seconds. ``learned`` is the delay that the site asks for, in seconds between
    fetches. It is only stored, and given with the next lease from the queue in any crawl (``Lease.learned``); None
    leaves the stored value, 0 removes it.
    """

    reason: str = ""
    stats: Mapping[str, float] = field(default_factory=dict)
    delay: float = 0.0
    learned: float | None = None


QUIET: Final = Outcome()


@dataclass(frozen=True, slots=True)
class Counts:
    """How many URLs are in each state, separately for pages and requisites; ``queues`` counts non-empty queues.

    ``reasons`` counts failed and blocked URLs by their reason, without those that have none.
    """

    pages: Mapping[State, int]
    requisites: Mapping[State, int]
    queues: int
    reasons: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many pages of one queue are queued, leased and done, and how many page requisites are queued."""

    pages_queued: int
    pages_leased: int
    pages_done: int
    requisites_queued: int


class Scheduling(Protocol):
    """The operations of workers; each is atomic, and one round trip for a batch.

    Scores may exceed 1 (SUM). An operation that ends a lease may be repeated safely. A repeated ``offer`` is applied
    again, which matters under SUM and AVG. If the response to a ``lease`` was lost, the next ``lease`` of the same
    worker returns the same leases, as far as they are still valid.

    Operations raise ``FrontierAwayError`` if the server cannot be reached at present; nothing is lost then, and the
    operation may or may not have been carried out. They raise another ``FrontierUnavailableError`` if the server
    refuses and waiting does not help; nothing has changed then.
    """

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        """Queue new URLs and re-score queued ones; return the outcomes, parallel to ``offers``.

        Very long sequences are offered in several atomic parts.
        """
        ...

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        """Set the scores of queued pages, bypassing the update function.

        Return, parallel to ``scores``, whether each was set.

        The new score counts as if the URL had been offered once, with that score. URLs that are not queued, page
        requisites, and pages whose score a post has changed (``posting``) keep theirs. Very long sequences are set in
        several atomic parts. The call may be repeated safely.
        """
        ...

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        """Lease at most ``n`` URLs: first of the queue whose best URL has the highest score, then of the next queue.

        Among equal scores page requisites come first, then the URL offered first. Only queues are considered whose
        delay has passed and that have fewer than ``connections`` connections in use; at most ``balance`` URLs are taken
        from one queue. Queues with connections of another worker, in whatever crawl, are left to that worker, so a
        process must lease under one name only. Leases that ran out are taken back first: their URLs are queued again,
        or fail if that was their last attempt and at least the third.
        """
        ...

    def finish(self, lease: Lease, state: State, outcome: Outcome = QUIET, links: Sequence[Offer] = ()) -> bool:
        """Move a leased URL to ``done``, ``failed`` or ``blocked``, offer its links and add its counts, all or nothing.

        Of more than 500 links, those before the last 500 are offered first, in atomic parts; after a crash in between
        they are offered again. The delay of a URL that is done becomes the queue's usual delay, which also applies
        between connections in use at once, and after a lost lease. Returns False, and changes nothing, if the lease was
        lost; a lease that has run out but was not taken back yet still counts. A repeated finish returns True again.
        """
        ...

    def retry(self, lease: Lease, outcome: Outcome = QUIET) -> State:
        """Put a leased URL back and close its queue for a while; return ``FAILED`` after the last attempt.

        The outcome's reason (``RETRIES_USED_UP`` if it has none) is used only if the URL fails, its other fields
        always. For a lost lease, return the URL's current state.
        """
        ...

    def release(self, leases: Sequence[Lease], *, delay: float = 0.0) -> None:
        """Put back leased URLs that were not fetched, without counting the attempt. Lost leases are ignored.

        Their queues are closed for ``delay`` seconds.
        """
        ...

    def renew(self, leases: Sequence[Lease]) -> tuple[bool, ...]:
        """Extend leases to ``lease_seconds`` from now; return, parallel to them, False for each that was lost."""
        ...

    def remember_delay(self, lease: Lease, delay: float) -> None:
        """Set the usual delay of a leased URL's queue to ``delay`` seconds, before the URL is fetched.

        If the worker dies before any URL of the queue is done, the queue is still closed for that delay. Lost leases
        are ignored.
        """
        ...

    def recover(self) -> int:
        """Requeue all leased URLs, whoever leased them, without counting the attempts; return how many.

        Only for a crawl that is known to have no other worker, such as at a restart after a crash. Queues with
        connections in use are closed for their usual delay.
        """
        ...

    def go_by(self, settings: FrontierSettings) -> None:
        """Use other settings from the next call on, and move the queues that they close or open.

        Every other process that shares the crawl's frontier must be given the settings as well. The call may be
        repeated safely, and must be repeated if it was interrupted. Queues are processed piece by piece.
        """
        ...

    def next_ready(self) -> float | None:
        """Return the seconds until a lease may succeed (0: now); None if none ever will.

        None means that this crawl has no leased or due URL, and no queued one that its limits allow. Infinity means
        that it has some, but nothing can be leased until a pause ends. Other workers may make it sooner by finishing
        URLs.
        """
        ...

    def close(self) -> None:
        """Close the connection; the state stays."""
        ...


class Inspection(Protocol):
    """Read-only queries to a frontier."""

    def counts(self) -> Counts:
        """Count URLs by state, all at the same moment."""
        ...

    def queue_counts(self) -> Mapping[str, QueueCounts]:
        """Count the pages of every queue that was ever offered a URL; large frontiers are read piece by piece."""
        ...

    def state(self, url: str) -> State | None:
        """Return the state of a canonical URL; None if it was never offered."""
        ...

    def iterate(self, n: int) -> Sequence[Offer]:
        """Return the ``n`` best queued URLs, best first, regardless of politeness and limits.

        They are read piece by piece while workers continue, so a URL that is leased meanwhile may be missing.
        """
        ...


class CrawlStats(Protocol):
    """Counters of a crawl that survive restarts and are updated in the same step as its URLs.

    The limits of a crawl are checked against them.
    """

    def count(self, amounts: Mapping[str, float]) -> None:
        """Add to counters by name, atomically; each starts at 0."""
        ...

    def stats(self) -> Mapping[str, float]:
        """Return every counter that was ever added to."""
        ...


class Frontier(Scheduling, Inspection, CrawlStats, Protocol):
    """All operations of a frontier that a crawl uses."""


class FrontierUnavailableError(Exception):
    """Raised when the frontier's server cannot be reached or refuses to serve.

    The message gives the reason and the remedy.
    """


class FrontierAwayError(FrontierUnavailableError):
    """Raised when the frontier's server cannot be reached at present; the call may be repeated until it can.

    The server is down, starting, disconnected, overloaded, or no longer the primary of its replicas. Whether the call
    was carried out is not known.
    """


class FrontierFullError(FrontierUnavailableError):
    """Raised when the frontier's server cannot write to its disk. Nothing was changed; the call may be repeated."""


class FrontierUnreadableError(FrontierUnavailableError):
    """Raised when no installed server program can read a frontier's files. Nothing was changed.

    The message names no paths.
    """
