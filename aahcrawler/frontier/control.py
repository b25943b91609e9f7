"""Protocols by which operators and changed definitions act on a crawl's frontier while workers continue.

The server stores everything set here, so all workers of a crawl follow at once and after every restart. Errors are
those of ``protocol.Scheduling``. Leased URLs are not affected: their leases end as usual.

A post is an offer from outside the crawl, applied by the crawl's update function. Its effect is stored under its key in
the same step, so that a post whose response was lost can be repeated safely under every update function.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from aahcrawler.frontier.protocol import Offer, QueueCounts, State
from aahcrawler.urls import canonicalize
from online_analysis.url_patterns import UrlPattern, UrlPatternError


class RuleKind(StrEnum):
    """The kinds of rules, by the URLs that they match."""

    URL = "url"
    PREFIX = "prefix"
    """All URLs that begin with the text."""
    HOST = "host"
    """All URLs of a host and of its subdomains."""
    PATTERN = "pattern"
    """All URLs that a pattern with ``*`` matches, or that contain a text without ``*`` (``UrlPattern``)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for URLs that a crawl must not fetch. Raises ``ValueError``, with the reason, if no URL can match it.

    >>> Rule(RuleKind.HOST, "example.org").reason
    'host example.org'
    """

    kind: RuleKind
    text: str

    def __post_init__(self) -> None:
        if self.kind is RuleKind.URL and canonicalize(self.text) != self.text:
            raise ValueError(f"{self.text!r} is no canonical URL")
        if self.kind is RuleKind.PREFIX and not self.text.startswith(("http://", "https://")):
            raise ValueError(f"{self.text!r} begins no URL; prefixes begin with http:// or https://")
        if self.kind in (RuleKind.HOST, RuleKind.PATTERN):
            self.pattern()

    @property
    def reason(self) -> str:
        """The reason given for URLs that this rule blocks."""
        return f"{self.kind} {self.text}"

    @classmethod
    def parse(cls, reason: str) -> "Rule":
        """Return the rule that has this ``reason``. Raises ``ValueError`` if no rule can have it."""
        kind, _, text = reason.partition(" ")
        return cls(RuleKind(kind), text)

    def pattern(self) -> UrlPattern:
        """Return the URL pattern of a rule by host or pattern."""
        if self.kind is RuleKind.PATTERN and self.text.lower().startswith("host:"):
            raise ValueError(f"{self.text!r} names a host; make it a rule of the kind host")
        try:
            return UrlPattern.parse(f"host:{self.text}" if self.kind is RuleKind.HOST else self.text)
        except UrlPatternError as error:
            raise ValueError(f"the {self.kind} {self.text!r} {error}") from error


class RuleBook:
    """The rules of a crawl at one ``version``; each change of the rules increases the version.

    >>> RuleBook([Rule(RuleKind.HOST, "example.org")]).matching("http://www.example.org/a").reason
    'host example.org'
    """

    def __init__(self, rules: Iterable[Rule] = (), version: int = 0) -> None:
        self.version = version
        self.rules = frozenset(rules)
        of = {kind: sorted(rule.text for rule in self.rules if rule.kind is kind) for kind in RuleKind}
        self._urls = frozenset(of[RuleKind.URL])
        self._prefixes = frozenset(of[RuleKind.PREFIX])
        self._lengths = sorted(set(map(len, self._prefixes)))
        self._hosts = {Rule(RuleKind.HOST, text).pattern().host: text for text in of[RuleKind.HOST]}
        self._patterns = [(Rule(RuleKind.PATTERN, text).pattern(), text) for text in of[RuleKind.PATTERN]]

    def __bool__(self) -> bool:
        return bool(self.rules)

    def matching(self, url: str) -> Rule | None:
        """Return the first rule that matches a canonical URL, in the order of ``RuleKind``; None if none matches."""
        if url in self._urls:
            return Rule(RuleKind.URL, url)
        for length in self._lengths:
            if url[:length] in self._prefixes:
                return Rule(RuleKind.PREFIX, url[:length])
        host = (urlsplit(url).hostname or "") if self._hosts else ""
        while host:
            if host in self._hosts:
                return Rule(RuleKind.HOST, self._hosts[host])
            host = host.partition(".")[2]
        text = next((text for pattern, text in self._patterns if pattern.matches(url)), None)
        return None if text is None else Rule(RuleKind.PATTERN, text)


KEY_BYTES = 12
CONTENT_BYTES = 4


class Wish(StrEnum):
    """What a post can ask for."""

    SCORE = "score"
    """Queue or re-score the page. If this changes its score, ``Scheduling.rescore`` no longer changes it, so that the
    crawl's own view of the page does not overrule the post. Offers from pages that link to it still count, by the
    update function.
    """
    FRONT = "front"
    """The same, and lease it before every URL that is not at the front, whatever their scores."""
    BLOCK = "block"
    """Never fetch the page; the score has no meaning then."""


class Effect(StrEnum):
    """The effects that a post can have."""

    ADDED = "added"
    RESCORED = "rescored"
    """It was queued, and the update function was applied, even if its score stayed the same."""
    BLOCKED = "blocked"
    """It will never be leased, even if it had been blocked before."""
    KNOWN = "known"
    """It is leased or has ended; nothing changed, and the post was not stored."""
    MISUSED = "misused"
    """A different post has the same key; nothing changed."""


@dataclass(frozen=True, slots=True)
class Post:
    """An offer of a page, and what the post asks for.

    ``key`` has ``KEY_BYTES`` bytes and identifies the post within its crawl; ``content`` is a digest of
    ``CONTENT_BYTES`` bytes, which differs (except by chance) between different posts with the same key.
    """

    offer: Offer
    key: bytes
    content: bytes
    wish: Wish = Wish.SCORE

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES or len(self.content) != CONTENT_BYTES:
            raise ValueError(f"a post has a key of {KEY_BYTES} bytes and a content of {CONTENT_BYTES}")
        if self.offer.kind != "page":
            raise ValueError(f"{self.offer.url} is posted as a {self.offer.kind}; only pages can be")


@dataclass(frozen=True, slots=True)
class Posted:
    """The effect of a post, and the state of its URL; ``repeated`` means that the post had been applied before."""

    effect: Effect
    state: State | None
    """None if the post was ``MISUSED``."""
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class UrlStatus:
    """The state of a URL, with its current offer.

    Once a URL has ended, only the reason why it failed or was blocked is stored; a URL that was blocked while it was
    queued or due keeps its offer.
    """

    state: State
    offer: Offer | None
    """The offer with the current score; None once the URL has ended, unless it can be put back."""
    at_front: bool = False
    reason: str = ""


class Posting(Protocol):
    """The operations of the web service on a crawl's frontier. Errors are those of ``protocol.Scheduling``."""

    def post(self, posts: Sequence[Post]) -> tuple[Posted, ...]:
        """Apply posts; return their results, parallel to them.

        Effects are stored for at least a day; a post repeated within that time only returns the stored effect. Very
        long sequences are applied in several atomic parts.
        """
        ...

    def status(self, url: str) -> UrlStatus | None:
        """Return the state and current score of a canonical URL; None if it was never offered."""
        ...


BLOCKED_FROM_OUTSIDE = "blacklisted"
"""The reason given for URLs that a post blocked."""


@dataclass(frozen=True, slots=True)
class Revisit:
    """A page to fetch again ``seconds`` from now, with the score and other fields of ``offer``."""

    offer: Offer
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.offer.kind != "page":
            raise ValueError(f"{self.offer.url} is to be fetched again as a {self.offer.kind}; only pages can be")


class Pausing(Protocol):
    """Stops and resumes leasing. Each call is atomic, and may be repeated without further effect."""

    def pause(self) -> None:
        """Stop leasing URLs of this crawl. ``next_ready`` then returns infinity whenever it would return a number."""
        ...

    def resume(self) -> None:
        """Resume leasing."""
        ...

    def is_paused(self) -> bool:
        """Return whether the crawl is paused; a pause of its queues does not count."""
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
        """Add rules; return how many queued or due URLs this call has blocked.

        Adding is atomic: from then on, no URL that matches one of the rules is leased; it is blocked with the rule's
        ``reason`` instead. Queued URLs are then blocked piece by piece. If that is interrupted, or a process that does
        not know the rules yet offers URLs, these are blocked when their turn comes. Adding an existing rule applies it
        again.
        """
        ...

    def unblock(self, rules: Sequence[Rule]) -> int:
        """Remove rules; return how many URLs were put back.

        Removing is atomic. The URLs that the rules blocked are put back piece by piece, except those that another rule
        matches, which becomes their reason. If that is interrupted, repeating the call does the rest.
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
        """Yield the queued or due URLs of a crawl, or the blocked ones with a record, in no particular order.

        They are read piece by piece while workers continue: a URL whose state changes meanwhile may be missing or come
        twice, all others come once. Raises ``ValueError`` for other states, which have no records or change too
        quickly.
        """
        ...


class Snapshots(Protocol):
    """Saves a crawl's whole state to a file, and restores it."""

    def snapshot(self, path: Path) -> int:
        """Write the state of this crawl to a file, either whole or not at all; return how many URLs it has.

        Leased URLs are saved as queued, without counting the attempt. Politeness, which crawls share, is not saved.
        While workers run, the states of different URLs are saved at different moments; pause the crawl to save all at
        one moment.
        """
        ...

    def restore(self, path: Path, *, replace: bool = False) -> int:
        """Fill this crawl's frontier, which must be empty, from a snapshot; return how many URLs it holds.

        With ``replace``, a frontier that is not empty is emptied first, after the file was found to be whole.

        Raises ``SnapshotError`` if the file is torn or has another format, or the frontier is not empty; nothing has
        changed then. After any other error the frontier must be removed before the next attempt.
        """
        ...


class Control(Pausing, Blocking, Revisiting, Snapshots, Protocol):
    """All operations of operators on a frontier."""


class SnapshotError(Exception):
    """Raised when a snapshot cannot be restored; the message gives the reason and the remedy."""


_MILLION = 1_000_000


class Place(NamedTuple):
    r"""The place of a queued URL in the order of its crawl; a smaller place is leased first, politeness apart.

    >>> Place.parse(str(Place(-500000.0, 1, b"\x00\x07")))
    Place(rank=-500000.0, kind=1, member=b'\x00\x07')
    """

    rank: float
    """The negated score in millionths, and far below that for URLs at the front."""
    kind: int
    """0 for a requisite, 1 for a page."""
    member: bytes
    """The order in which URLs were offered."""

    def __str__(self) -> str:
        return f"{self.rank:.0f}.{self.kind}.{self.member.hex()}"

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Parse a place from the text that ``str`` returns. Raises ``ValueError`` for an invalid text."""
        rank, kind, member = text.split(".")
        return cls(float(int(rank)), int(kind), bytes.fromhex(member))

    @classmethod
    def before(cls, score: float) -> "Place":
        """Return the place in front of all URLs with this score that were not moved to the front."""
        return cls(float(-round(score * _MILLION)), 0, b"")


@dataclass(frozen=True, slots=True)
class Queued:
    """A queued URL and its place; ``attempts`` counts how often it was fetched before."""

    offer: Offer
    place: Place
    at_front: bool = False
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Timed:
    """A URL, and the seconds until its lease runs out or it becomes due; negative if that time has passed."""

    offer: Offer
    seconds: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A queue, with everything that decides when URLs are leased from it.

    ``best`` is the score of its best queued URL; None if no URL with a score is queued. The queue opens in ``opens_in``
    seconds (0: it is open), but stays closed while the allowed number of connections is in use (``out``). ``delay`` is
    its usual delay, ``learned`` the delay that its site asks for, both in seconds. A pause applies to all crawls that
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
        """Yield the queued URLs after a place, the best first; if ``queues`` is given, only URLs of these queues.

        They are read lazily. Finding the first one takes time in proportion to the number of queues.
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
        """Count the URLs of the same queue that are leased before this queued URL; None if the URL is not queued."""
        ...

    def leased(self, most: int) -> Sequence[Timed]:
        """Return leased URLs, each with the seconds until its lease runs out; the earliest comes first."""
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
