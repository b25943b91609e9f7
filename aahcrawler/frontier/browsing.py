"""Define how people look through a crawl's frontier while workers go on: in order, bit by bit, and without end.

Nothing here changes anything. What workers move meanwhile may be missing or come twice, all else comes once. Errors
are those of ``protocol.Scheduling``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import Offer, QueueCounts, State

_MILLION = 1_000_000


class Place(NamedTuple):
    r"""The place of a queued URL among all of its crawl; the smaller one is leased first, politeness aside.

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
        """Read a place as ``str`` writes it. Raise ValueError for what is none."""
        rank, kind, member = text.split(".")
        return cls(float(int(rank)), int(kind), bytes.fromhex(member))

    @classmethod
    def before(cls, score: float) -> "Place":
        """Return the place before all URLs with a score that are not at the front."""
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
    """A URL and in how many seconds something happens to it, below 0 where that is overdue."""

    offer: Offer
    seconds: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A queue, with all that decides when it is leased from.

    ``best`` is the score of its best queued URL, None where none is queued or scored. It opens in ``opens_in`` seconds
    (0: it is open), but not while as many connections as are allowed are ``out``. ``delay`` is its usual delay, and
    ``learned`` what it is known to ask for, both in seconds. Pauses hold in all crawls that share the server.
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
    """A part of a sweep: how many URLs were looked at, those that were wanted, and where to go on; empty at the end."""

    looked_at: int
    found: Sequence[UrlStatus]
    next: str


class Browsing(Protocol):
    """The looks that people take at a frontier."""

    def walk(self, after: Place | None = None, queues: Collection[str] | None = None) -> Iterator[Queued]:
        """Yield the queued URLs behind a place, the best first; of these queues alone, where some are named.

        They are read as far as they are asked for. The first one takes time in proportion to the number of queues.
        """
        ...

    def sweep(self, wanted: Callable[[str], bool], state: State, after: str = "") -> Iterator[Swept]:
        """Look through all URLs that are queued, due or leased for those wanted; yield what was found, part by part.

        They come in no particular order, several times as fast as ``walk``. ``after`` is where to go on, empty at
        first. Raise ValueError for what cannot be that, and for another state.
        """
        ...

    def ahead(self, url: str) -> int | None:
        """Count the URLs of its own queue that are leased before a queued one; None for one that is not queued."""
        ...

    def leased(self, most: int) -> Sequence[Timed]:
        """Return leased URLs, each with the seconds until its lease runs out, the first to run out first."""
        ...

    def due(self, most: int, skipped: int = 0) -> Sequence[Timed]:
        """Return pages that are to be queued again, by when that is, but for the first ones that are ``skipped``."""
        ...

    def held(self, after: str, most: int) -> tuple[Sequence[UrlStatus], str]:
        """Return about ``most`` blocked URLs that kept their record, and where to go on; empty at the end.

        They come in no particular order; ``after`` is where the call before ended, empty for the first one. Raise
        ValueError for what cannot be that.
        """
        ...

    def standings(self, queues: Collection[str] | None = None) -> Mapping[str, Standing]:
        """Return every queue that was ever offered a URL, by name; those alone that are named, where some are."""
        ...
