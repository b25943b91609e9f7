"""The protocol by which people view a crawl's frontier while workers go on: in order, and page by page.

Nothing here changes anything. URLs that workers move meanwhile may be missing or come twice; all others come once.
Errors are those of ``protocol.Scheduling``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import Offer, QueueCounts, State

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
