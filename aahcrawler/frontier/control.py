"""The protocol by which operators and changed definitions act on a crawl's frontier while workers go on.

Everything here is kept on the server, so that all workers of a crawl follow at once and after every restart. Errors are
those of ``protocol.Scheduling``. Leased URLs are not affected: their leases end as usual.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from aahcrawler.frontier.blocking_rules import Rule
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import Offer, QueueCounts, State


@dataclass(frozen=True, slots=True)
class Revisit:
    """A page to be fetched again ``seconds`` from now, with the score and other fields of ``offer``."""

    offer: Offer
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.offer.kind != "page":
            raise ValueError(f"{self.offer.url} is to be fetched again as a {self.offer.kind}; only pages can be")


class Pausing(Protocol):
    """Stops and resumes leasing. Each call is atomic, and has no effect where its result already holds."""

    def pause(self) -> None:
        """Stop leasing URLs of this crawl. ``next_ready`` then returns infinity where it would not return None."""
        ...

    def resume(self) -> None:
        """Resume leasing."""
        ...

    def is_paused(self) -> bool:
        """Return whether the crawl is paused; pauses of its queues are independent of that."""
        ...

    def pause_queue(self, queue: str) -> None:
        """Stop leasing from a queue, in all crawls that share the server."""
        ...

    def resume_queue(self, queue: str) -> None:
        """Resume leasing from a queue, in all crawls, once its delay has passed."""
        ...

    def paused_queues(self) -> frozenset[str]:
        """Return the queues that are paused."""
        ...


class Blocking(Protocol):
    """Blocks URLs and unblocks them again.

    A URL that is ``blocked`` here keeps its record, so that it can be put back into its former state: queued with its
    score, or due at its time. URLs that were blocked when their lease ended (``finish``) keep no record, and stay
    blocked.
    """

    def block(self, rules: Sequence[Rule]) -> int:
        """Add rules; return how many queued or due URLs were blocked at once.

        Adding is atomic: from then on, no URL that matches one of them is leased; it is blocked with the rule's
        ``reason`` instead. Queued URLs are then blocked piece by piece. Where that is interrupted, or a process that
        has not heard of the rules offers URLs, these are blocked when their turn comes. Adding an existing rule applies
        it again.
        """
        ...

    def unblock(self, rules: Sequence[Rule]) -> int:
        """Remove rules; return how many URLs were put back.

        Removing is atomic. The URLs that they blocked are put back piece by piece, except where another rule matches,
        which then becomes their reason. Where that is interrupted, repeating the call does the rest.
        """
        ...

    def rules(self) -> frozenset[Rule]:
        """Return the rules in force."""
        ...

    def block_urls(self, urls: Sequence[str], reason: str) -> tuple[bool, ...]:
        """Block queued or due URLs for a reason; return, parallel to them, whether each was blocked just now.

        Very long sequences are blocked in several atomic parts. Offering these URLs again changes nothing.
        """
        ...

    def unblock_urls(self, urls: Sequence[str]) -> tuple[bool, ...]:
        """Put blocked URLs back, whatever the reason; return, parallel to them, whether each was put back.

        A URL that matches a rule stays blocked, with that rule as its reason. Very long sequences are put back in
        atomic parts.
        """
        ...


class Revisiting(Protocol):
    """Schedules pages to be fetched again, and lists the URLs of a crawl."""

    def again(self, revisits: Sequence[Revisit]) -> tuple[bool, ...]:
        """Make done pages due; return, parallel to them, whether each was done or due before.

        A page is ``due`` until its time has come, and is then queued like any other, with its attempts reset. A page
        that is due already gets the new time and offer; one that matches a blocking rule stays done. While it is due it
        counts against ``pages`` and ``pages_per_queue`` as if it were done. Long sequences are processed in atomic
        parts.
        """
        ...

    def scan(self, states: Collection[State]) -> Iterator[UrlStatus]:
        """Yield the URLs of a crawl that are queued, due or blocked with their record kept, in no particular order.

        They are read piece by piece beside workers: a URL whose state changes meanwhile may be missing or come twice,
        all others come once. Raises ValueError for other states, of which no records are kept or which change too soon.
        """
        ...


class Snapshots(Protocol):
    """Saves a crawl's whole state to a file, and restores it."""

    def snapshot(self, path: Path) -> int:
        """Write the state of this crawl to a file, either whole or not at all; return how many URLs it has.

        Leased URLs are saved as queued, without counting the attempt. Politeness, which crawls share, is not saved. A
        snapshot taken beside workers has each URL at some moment of the writing; pause the crawl to get all at one
        moment.
        """
        ...

    def restore(self, path: Path, *, replace: bool = False) -> int:
        """Fill this crawl's frontier, which must be empty, from a snapshot; return how many URLs it holds.

        With ``replace`` its content is removed first, once the file is found to be whole.

        Raises ``SnapshotError`` where the file is torn or of another format, or the frontier is not empty; nothing has
        been changed then. After any other error the frontier has to be removed before the next attempt.
        """
        ...


class Control(Pausing, Blocking, Revisiting, Snapshots, Protocol):
    """All operations of operators on a frontier."""


class SnapshotError(Exception):
    """Raised where a snapshot cannot be restored; the message says why, and what to do."""


_MILLION = 1_000_000


class Place(NamedTuple):
    r"""The place of a queued URL among all of its crawl; the smaller place is leased first, politeness aside.

    >>> Place.parse(str(Place(-500000.0, 1, b"\x00\x07")))
    Place(rank=-500000.0, kind=1, member=b'\x00\x07')
    """

    rank: float
    """The score in millionths, negated, and far below that at the front."""
    kind: int
    """0 for a requisite, 1 for a page."""
    member: bytes
    """Which was offered first."""

    def __str__(self) -> str:
        return f"{self.rank:.0f}.{self.kind}.{self.member.hex()}"

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Parse a place as ``str`` writes it. Raises ValueError for an invalid text."""
        rank, kind, member = text.split(".")
        return cls(float(int(rank)), int(kind), bytes.fromhex(member))

    @classmethod
    def before(cls, score: float) -> "Place":
        """Return the place before all URLs with a score that were not moved to the front."""
        return cls(float(-round(score * _MILLION)), 0, b"")


@dataclass(frozen=True, slots=True)
class Queued:
    """A queued URL and its place; ``attempts`` counts the fetches that were tried before."""

    offer: Offer
    place: Place
    at_front: bool = False
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Timed:
    """A URL, and the seconds until its lease runs out or it is due; negative where overdue."""

    offer: Offer
    seconds: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A queue, with everything that decides when URLs are leased from it.

    ``best`` is the score of its best queued URL, None where none is queued or scored. It opens in ``opens_in`` seconds
    (0: it is open), but stays closed while as many connections as are allowed are ``out``. ``delay`` is its usual
    delay, ``learned`` the delay that its site is known to ask for, both in seconds. Pauses hold in all crawls that
    share the server.
    """

    counts: QueueCounts
    best: float | None = None
    opens_in: float = 0.0
    delay: float = 0.0
    learned: float = 0.0
    out: int = 0
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class Swept:
    """A part of a sweep: how many URLs were examined, those that matched, and where to continue (empty at the end)."""

    looked_at: int
    found: Sequence[UrlStatus]
    next: str


class Browsing(Protocol):
    """Read-only views of a frontier."""

    def walk(self, after: Place | None = None, queues: Collection[str] | None = None) -> Iterator[Queued]:
        """Yield the queued URLs after a place, the best first; with ``queues``, those of these queues only.

        They are read lazily. The first one takes time in proportion to the number of queues.
        """
        ...

    def sweep(self, wanted: Callable[[str], bool], state: State, after: str = "") -> Iterator[Swept]:
        """Search all URLs in a state (queued, due or leased) for those that ``wanted`` accepts.

        Yield them part by part.

        They come in no particular order, several times as fast as by ``walk``. ``after`` is where to continue, empty at
        first. Raises ValueError for an invalid ``after``, and for another state.
        """
        ...

    def ahead(self, url: str) -> int | None:
        """Count the URLs of the same queue that are leased before a queued URL; None for a URL that is not queued."""
        ...

    def leased(self, most: int) -> Sequence[Timed]:
        """Return leased URLs, each with the seconds until its lease runs out, the first to run out first."""
        ...

    def due(self, most: int, skipped: int = 0) -> Sequence[Timed]:
        """Return pages that are to be queued again, the earliest first, without the first ``skipped`` ones."""
        ...

    def held(self, after: str, most: int) -> tuple[Sequence[UrlStatus], str]:
        """Return about ``most`` blocked URLs that kept their record, and where to continue (empty at the end).

        They come in no particular order; ``after`` is where the previous call ended, empty for the first one. Raises
        ValueError for an invalid ``after``.
        """
        ...

    def standings(self, queues: Collection[str] | None = None) -> Mapping[str, Standing]:
        """Return the standings by name of every queue that was ever offered a URL, or only of those in ``queues``."""
        ...
