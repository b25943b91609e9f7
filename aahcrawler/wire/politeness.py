"""When a site may be asked again, as far as one worker knows.

The pause between two fetches from a pay-level domain is the definition's, or a longer one that the site needs: its
Crawl-delay, as long as it takes to answer where that is long, or what it takes until it answers 429 or 503 no more.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.page import Headers
from aahcrawler.urls import queue_of
from online_analysis.icd import Politeness

MAX_QUEUES = 10_000
"""How many queues are remembered; what is forgotten of others comes back with their next lease."""
SLOW = 1.0
"""Seconds from which on an answer is slow."""
NEWEST = 0.25
"""What the newest answer's time weighs in the smoothed one."""
GROWTH = 2.0
"""What a site's pause is multiplied by when it answers that it has too much to do."""
SHRINKAGE = 0.8
"""What a pause that was learned is multiplied by with each answer that is none of these."""
ALIKE, ALIKE_SHARE = 0.25, 0.02
"""Seconds, and share of a wait, by which the frontier and this process may differ on when a queue has rested."""
SHORTEST = 0.1
"""Seconds below which a pause that was learned is forgotten."""
OVERLOADED = frozenset({429, 503})
"""Answers of a site that has too much to do."""


@dataclass(slots=True)
class _Known:
    """The known delays of a queue, in seconds; ``next`` and ``raised`` are by the clock."""

    crawl_delay: float = 0.0
    answer: float = 0.0
    """Smoothed over the last answers."""
    pressed: float = 0.0
    """The pause that overload, or what another worker has learned, asks for."""
    reported: float = 0.0
    """The delay that the frontier was given last as what the queue asks for."""
    told: float = 0.0
    """The usual delay that the frontier was given last."""
    next: float = 0.0
    raised: float = float("-inf")


class PolitenessTracker:
    """Tracks the delay of each queue, and when it may be fetched from next.

    The frontier keeps queues at rest between leases, for all workers at once. What it does not see is kept here:
    robots.txt files, the redirects of these, URLs that share a connection, and how a site behaves. ``clock`` returns
    seconds. What a worker has learned of a site the frontier keeps for the next one: ``learned`` and ``restore``.
    """

    def __init__(self, politeness: Politeness, clock: Callable[[], float] = monotonic) -> None:
        self._politeness = politeness
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def use(self, politeness: Politeness) -> None:
        """Go by another definition from the next fetch on; what is known of sites stays."""
        self._politeness = politeness

    def connections_of(self, queue: str) -> int:
        """Return how many connections a queue may have at once."""
        own = self._politeness.of(queue.partition(":")[0])[1]
        return self._politeness.connections if own.connections is None else own.connections

    def delay_of(self, url: str) -> float:
        """Return the seconds that a URL's queue rests after a request to it."""
        least, most = self._bounds(url)
        return max(least, min(self._needed(self._of(url)), most))

    def learned(self, url: str) -> float:
        """Return the seconds that a URL's queue itself asks to rest, for the next worker, which may be less polite."""
        known = self._of(url)
        known.reported = min(self._needed(known), self._bounds(url)[1])
        return known.reported

    def restore(self, url: str, learned: float) -> None:
        """Take over what another worker has ``learned`` last of a URL's queue; what this one has said is no news."""
        known = self._of(url)
        if abs(learned - known.reported) > SHORTEST:
            known.pressed, known.answer, known.reported = learned, 0.0, learned

    def is_news(self, url: str, delay: float) -> bool:
        """Return whether a queue's delay is longer than the frontier knows of (``told``)."""
        return delay > self._of(url).told

    def told(self, url: str, delay: float) -> None:
        """Note that the frontier knows a delay for the usual one of a URL's queue."""
        self._of(url).told = delay

    def rest_left(self, url: str) -> float:
        """Return how many seconds a URL's queue is still to rest after what was asked of it."""
        return max(0.0, self._of(url).next - self._clock())

    def rests_for(self, seconds: float) -> str:
        """Return the queue that may be fetched from in so many seconds; empty where that is none, or several."""
        at, alike = self._clock() + seconds, max(ALIKE, ALIKE_SHARE * seconds)
        found = [queue for queue, known in self._known.items() if abs(known.next - at) <= alike]
        return found[0] if len(found) == 1 else ""

    def obey_crawl_delay(self, url: str, crawl_delay: float) -> None:
        """Keep the Crawl-delay of a robots.txt, from its answer on; of several hosts of a queue the longest holds."""
        known = self._of(url)
        if crawl_delay > known.crawl_delay:
            known.crawl_delay = crawl_delay
            self.fetch_ended(url)

    def reserve(self, url: str) -> float:
        """Reserve the next fetch from a URL's queue; return how many seconds from now it may begin."""
        now = self._clock()
        at = max(now, self._of(url).next)
        self._rest(url, at)
        return at - now

    def rest(self, url: str, seconds: float) -> None:
        """Leave a URL's queue in peace for so many seconds at least, as its Retry-After asks."""
        known = self._of(url)
        known.next = max(self._clock() + seconds, known.next)

    def fetch_ended(self, url: str) -> None:
        """Let the delay of a URL's queue begin anew: a request to it has just ended."""
        self._rest(url, self._clock())

    def on_response(self, url: str, status: int, seconds: float, rest_asked: float = 0.0) -> None:
        """Learn from an answer: its status, how long its first byte took, and the rest that it asks for itself.

        Of several answers that say at once that there is too much to do only the first one counts.
        """
        known = self._of(url)
        if status in OVERLOADED:
            if not rest_asked:
                self._press(url, known)
            return
        known.answer += (seconds - known.answer) * (NEWEST if known.answer else 1.0)
        known.pressed *= SHRINKAGE if status < 500 else 1.0
        if known.pressed < SHORTEST:
            known.pressed = 0.0

    def _press(self, url: str, known: _Known) -> None:
        now = self._clock()
        if now - known.raised < known.pressed:
            return
        known.raised = now
        known.pressed = min(max(SLOW, GROWTH * self.delay_of(url)), max(self._bounds(url)))

    def _needed(self, known: _Known) -> float:
        slow = known.answer * self._politeness.delay_factor if known.answer >= SLOW else 0.0
        return max(known.crawl_delay, slow, known.pressed)

    def _bounds(self, url: str) -> tuple[float, float]:
        """Return the least delay, and the most that a site can ask for."""
        own = self._politeness.of(urlsplit(url).hostname or "")[1]
        least = self._politeness.delay if own.delay is None else own.delay
        most = self._politeness.max_delay if own.max_delay is None else own.max_delay
        return least.total_seconds(), most.total_seconds()

    def _of(self, url: str) -> _Known:
        queue = queue_of(url)
        known = self._known.get(queue)
        if known is None:
            known = self._known[queue] = _Known()
            self._forget()
        else:
            self._known.move_to_end(queue)
        return known

    def _forget(self) -> None:
        """Forget the queues that were asked longest ago, but none whose next fetch is still to come."""
        while len(self._known) > MAX_QUEUES:
            queue, oldest = next(iter(self._known.items()))
            if oldest.next > self._clock():
                return
            del self._known[queue]

    def _rest(self, url: str, since: float) -> None:
        delay = self.delay_of(url)
        if delay:
            known = self._of(url)
            known.next = max(since + delay, known.next)


AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may be another one later."""
MAX_REST: Final = 3600.0
"""Seconds beyond which a Retry-After is not believed."""


def retry_after(status: int, fields: Sequence[tuple[str, str]]) -> float:
    """Return for how many seconds an answer asks to be left in peace, at most ``MAX_REST`` (RFC 9110, 10.2.3).

    0 for answers that mean something else by Retry-After, and where it cannot be read.
    """
    if status not in AGAIN:
        return 0.0
    value = Headers(tuple(fields)).get("Retry-After").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), MAX_REST)
    try:
        seconds = parsedate_to_datetime(value).timestamp() - time()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), MAX_REST)
