"""Define what operators and changed definitions do to a crawl's frontier while workers go on.

Everything here is kept on the server, so that all workers of a crawl follow at once and after every restart. Errors are
those of ``protocol.Scheduling``. A URL that is leased is left alone by all of it: a lease that is out ends as ever.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from aahcrawler.frontier.blocking_rules import Rule
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import Offer, State


@dataclass(frozen=True, slots=True)
class Revisit:
    """A page that is to be fetched again ``seconds`` from now, with the score and all else that ``offer`` says."""

    offer: Offer
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.offer.kind != "page":
            raise ValueError(f"{self.offer.url} is to be fetched again as a {self.offer.kind}; only pages can be")


class Pausing(Protocol):
    """Leasing stops and goes on. Each call is atomic; what is so already stays so."""

    def pause(self) -> None:
        """Lease nothing more of this crawl. Meanwhile ``next_ready`` is infinite where it would not be None."""
        ...

    def resume(self) -> None:
        """Lease again."""
        ...

    def is_paused(self) -> bool:
        """Say whether the crawl is paused; its queues may be paused apart from that."""
        ...

    def pause_queue(self, queue: str) -> None:
        """Lease nothing more of a queue, in all crawls that share the server."""
        ...

    def resume_queue(self, queue: str) -> None:
        """Lease from a queue again, in all crawls, once its delay has passed."""
        ...

    def paused_queues(self) -> frozenset[str]:
        """Return the queues that are paused."""
        ...


class Blocking(Protocol):
    """URLs are kept from being fetched and let go again.

    A URL that is ``blocked`` here keeps its record, so that it can be put back to where it was: queued with its score,
    or due at its time. Those that were blocked when their lease ended (``finish``) kept none, and stay.
    """

    def block(self, rules: Sequence[Rule]) -> int:
        """Add rules; return how many queued or due URLs were blocked at once.

        Adding is atomic: no URL that one of them names is leased from then on, but is blocked with the rule's
        ``reason`` instead. Those that are queued are then blocked piece by piece; where that is cut off, and where
        others are offered by somebody who has not heard of the rules yet, they are when their turn comes. A rule that
        is there already is applied again.
        """
        ...

    def unblock(self, rules: Sequence[Rule]) -> int:
        """Remove rules; return how many URLs were put back.

        Removing is atomic. What was blocked by them is put back piece by piece, unless another rule names it, which
        then is its reason. Where that is cut off, the same call goes on with the rest.
        """
        ...

    def rules(self) -> frozenset[Rule]:
        """Return the rules that hold."""
        ...

    def block_urls(self, urls: Sequence[str], reason: str) -> tuple[bool, ...]:
        """Block queued or due URLs for a reason; the answer runs parallel: whether it was blocked just now.

        Very long sequences are blocked in several atomic parts. They may be offered again, which changes nothing.
        """
        ...

    def unblock_urls(self, urls: Sequence[str]) -> tuple[bool, ...]:
        """Put blocked URLs back, whatever the reason was; the answer runs parallel: whether it was put back.

        One that a rule names stays blocked, with that rule as its reason. Very long sequences go in atomic parts.
        """
        ...


class Revisiting(Protocol):
    """Pages that are done are fetched again, and what is there is gone through."""

    def again(self, revisits: Sequence[Revisit]) -> tuple[bool, ...]:
        """Make pages that are done due again; the answer runs parallel: whether it was done, or due before.

        A page is ``due`` until its time has come, and is then queued like any other, its attempts counted anew. Of one
        that is due already the time and the offer are replaced; one that a rule names stays done. While it is due it
        takes up a place of ``pages`` and ``pages_per_queue`` as if it were done. Long sequences go in atomic parts.
        """
        ...

    def scan(self, states: Collection[State]) -> Iterator[UrlStatus]:
        """Yield what is queued, due or blocked (those that kept their record) of a crawl, in no particular order.

        Read piece by piece beside workers: what changes its state meanwhile may be missing or come twice, all else
        comes once. Raise ValueError for other states, of which no records are kept or which change too soon.
        """
        ...


class Snapshots(Protocol):
    """A crawl's whole state in a file."""

    def snapshot(self, path: Path) -> int:
        """Write the state of this crawl to a file, there whole or not at all; return how many URLs it has.

        Leased URLs are in it as queued, their attempts not counted. Politeness, which crawls share, is not in it.
        Taken beside workers it holds each URL as it was at some moment of the writing; pause the crawl for one moment.
        """
        ...

    def restore(self, path: Path, *, replace: bool = False) -> int:
        """Fill this crawl's frontier, which must be empty, from a snapshot; return how many URLs it holds.

        With ``replace`` what it holds is removed, once the file has been found to be whole.

        Raise ``SnapshotError`` where the file is torn, of another format, or where the frontier is not empty: nothing
        has been changed then. After another error the frontier is to be removed before the next attempt.
        """
        ...


class Control(Pausing, Blocking, Revisiting, Snapshots, Protocol):
    """All of it."""


class SnapshotError(Exception):
    """A snapshot cannot be restored; the message says why, and what to do."""
