"""What a frontier promises to the crawl (ARCOMEM, sections 4.3 and 4.4).

A URL of a crawl is in exactly one of these states::

    queued -> leased -> done | failed | blocked
              leased -> queued     when the lease runs out, or the fetch is to be retried

A known URL that is offered again is re-scored by the crawl's update function while it is queued; it is never queued
twice, and never resurrected once it is done, failed or blocked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

Kind = Literal["page", "requisite"]


class Update(StrEnum):
    """How a new score changes that of a URL which is already queued (ARCOMEM, section 5.1)."""

    FIRST = "first"
    LAST = "last"
    MAX = "max"
    SUM = "sum"
    AVG = "avg"


class State(StrEnum):
    """Where a URL is."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"


class Offered(StrEnum):
    """What became of an offered URL."""

    ADDED = "added"
    RESCORED = "rescored"
    KNOWN = "known"
    """It is leased or ended; nothing changed."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A canonical URL, its queue (``urls.queue_of``) and its score; ``depth`` counts links from a seed."""

    url: str
    queue: str
    score: float
    depth: int = 0
    kind: Kind = "page"
    via: str = ""
    """The URL of the page that linked here, empty for a seed."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A URL that one worker may fetch until the lease runs out. ``attempt`` counts from 1."""

    url: str
    queue: str
    score: float
    depth: int
    kind: Kind
    via: str
    attempt: int
    token: str
    """Identifies this lease: a finish with the token of a lost lease changes nothing."""


@dataclass(frozen=True, slots=True)
class FrontierSettings:
    """The part of an ICD that the frontier acts on.

    ``pages`` and ``pages_per_queue`` bound how many pages (requisites apart) are leased plus done; 0 is no bound.
    ``lease_seconds`` is how long a worker may take; ``attempts`` how often a URL is tried before it has failed;
    ``connections`` how many leases of one queue may be out at once.
    """

    update: Update = Update.MAX
    balance: int = 1
    pages: int = 0
    pages_per_queue: int = 0
    lease_seconds: float = 300.0
    attempts: int = 3
    connections: int = 1


@dataclass(frozen=True, slots=True)
class Counts:
    """How many URLs are in each state, pages and requisites apart; ``queues`` counts queues that hold queued URLs."""

    pages: Mapping[State, int]
    requisites: Mapping[State, int]
    queues: int


class Frontier(Protocol):
    """Every operation is atomic, one round trip for a batch, and safe to repeat. Scores may exceed 1 (SUM).

    Operations raise ``FrontierUnavailableError`` when the server cannot be reached; nothing was lost then, and the
    operation may or may not have been carried out.
    """

    def offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        """Queue new URLs and re-score queued ones; the answer runs parallel to ``offers``."""
        ...

    def lease(self, worker: str, n: int) -> tuple[Lease, ...]:
        """Lease at most ``n`` URLs: the best of the queue whose best URL scores highest, then of the next one.

        Only queues are considered whose delay has passed and that have fewer than ``connections`` lease holders;
        up to ``balance`` URLs are taken from one queue at a time. Expired leases are requeued first.
        """
        ...

    def finish(self, lease: Lease, state: State, *, delay: float = 0.0, links: Sequence[Offer] = ()) -> bool:
        """Move a leased URL to ``done``, ``failed`` or ``blocked`` and offer its links, all or nothing.

        The URL's queue is not leased from again for ``delay`` seconds. Return False, and change nothing, when the
        lease had been lost.
        """
        ...

    def retry(self, lease: Lease, *, delay: float) -> State:
        """Put a leased URL back, its queue to rest for ``delay`` seconds; ``FAILED`` after the last attempt."""
        ...

    def release(self, leases: Sequence[Lease]) -> None:
        """Put back what was leased and not fetched, as if it had not been leased."""
        ...

    def recover(self) -> int:
        """Requeue every lease that is out, whoever holds it; return how many.

        For a crawl that is known to have no other worker: a restart after a crash.
        """
        ...

    def next_ready(self) -> float | None:
        """Return in how many seconds a lease may succeed (0: now), None while nothing is queued or leased."""
        ...

    def counts(self) -> Counts:
        """Count URLs by state."""
        ...

    def close(self) -> None:
        """Let go of the connection; the state stays."""
        ...


class FrontierUnavailableError(Exception):
    """The frontier's server cannot be reached or refuses to serve; the message says why."""
