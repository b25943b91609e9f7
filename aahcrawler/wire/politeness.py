"""When one worker may send the next request to a site.

The delay between two fetches from a pay-level domain is the definition's, or a longer one that the site needs: its
Crawl-delay, its response time if that is long, or a delay at which it no longer answers 429 or 503.
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
"""How many queues are remembered; delays of forgotten queues come back with their next lease."""
SLOW = 1.0
"""Response times from this many seconds on count as long."""
NEWEST = 0.25
"""The weight of the newest response time in the moving average."""
GROWTH = 2.0
"""The factor by which a site's delay grows when it answers that it is overloaded."""
SHRINKAGE = 0.8
"""The factor by which a learned delay shrinks with each other response."""
ALIKE, ALIKE_SHARE = 0.25, 0.02
"""By how many seconds, and what share of a wait, the frontier and this process may differ on when a queue opens."""
MIN_LEARNED_DELAY = 0.1
"""A learned delay below this many seconds is forgotten."""
OVERLOADED = frozenset({429, 503})
"""Statuses by which a site says that it is overloaded."""


@dataclass(slots=True)
class _Known:
    """The known delays of a queue, in seconds; ``next`` and ``raised`` are by the clock."""

    crawl_delay: float = 0.0
    response_seconds: float = 0.0
    """The moving average of response times."""
    pressed: float = 0.0
    """The delay learned from overload, or by another worker."""
    reported: float = 0.0
    """The learned delay that the frontier was given last."""
    told: float = 0.0
    """The usual delay that the frontier was given last."""
    next: float = 0.0
    raised: float = float("-inf")


class PolitenessTracker:
    """Tracks the delay of each queue, and when the next fetch from it may begin.

    The frontier closes queues between leases, for all workers at once. This class covers what it does not see:
    robots.txt files, their redirects, URLs that share a connection, and how a site behaves. ``clock`` returns seconds.
    The frontier passes what one worker learned of a site to the next one: ``learned`` and ``restore``.
    """

    def __init__(self, politeness: Politeness, clock: Callable[[], float] = monotonic) -> None:
        self._politeness = politeness
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def use(self, politeness: Politeness) -> None:
        """Use the politeness of another definition from the next fetch on; what is known of sites stays."""
        self._politeness = politeness

    def connections_of(self, queue: str) -> int:
        """Return how many connections to a queue may be in use at once."""
        own = self._politeness.of(queue.partition(":")[0])[1]
        return self._politeness.connections if own.connections is None else own.connections

    def delay_of(self, url: str) -> float:
        """Return the seconds between a request to a URL's queue and the next."""
        least, most = self._bounds(url)
        return max(least, min(self._needed(self._of(url)), most))

    def learned(self, url: str) -> float:
        """Return the delay that a URL's site itself asks for, so that the next worker can use it (``restore``)."""
        known = self._of(url)
        known.reported = min(self._needed(known), self._bounds(url)[1])
        return known.reported

    def restore(self, url: str, learned: float) -> None:
        """Use the delay that another worker learned last for a URL's queue; ignore it if it came from this worker."""
        known = self._of(url)
        if abs(learned - known.reported) > MIN_LEARNED_DELAY:
            known.pressed, known.response_seconds, known.reported = learned, 0.0, learned

    def is_news(self, url: str, delay: float) -> bool:
        """Return whether a queue's delay is longer than the one that the frontier knows."""
        return delay > self._of(url).told

    def told(self, url: str, delay: float) -> None:
        """Record that the frontier now knows this as the usual delay of a URL's queue."""
        self._of(url).told = delay

    def rest_left(self, url: str) -> float:
        """Return in how many seconds the next fetch from a URL's queue may begin."""
        return max(0.0, self._of(url).next - self._clock())

    def rests_for(self, seconds: float) -> str:
        """Return the queue that opens in this many seconds; empty if there is none, or several."""
        at, alike = self._clock() + seconds, max(ALIKE, ALIKE_SHARE * seconds)
        found = [queue for queue, known in self._known.items() if abs(known.next - at) <= alike]
        return found[0] if len(found) == 1 else ""

    def obey_crawl_delay(self, url: str, crawl_delay: float) -> None:
        """Apply the Crawl-delay of a robots.txt from now on; if hosts of a queue differ, the longest applies."""
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
        """Close a URL's queue for at least this many seconds, as its Retry-After asks."""
        known = self._of(url)
        known.next = max(self._clock() + seconds, known.next)

    def fetch_ended(self, url: str) -> None:
        """Restart the delay of a URL's queue, because a request to it has just ended."""
        self._rest(url, self._clock())

    def on_response(self, url: str, status: int, seconds: float, rest_asked: float = 0.0) -> None:
        """Learn from a response: its status, the seconds until its first byte, and the Retry-After it gives.

        If several responses at once report overload, only the first one counts.
        """
        known = self._of(url)
        if status in OVERLOADED:
            if not rest_asked:
                self._press(url, known)
            return
        known.response_seconds += (seconds - known.response_seconds) * (NEWEST if known.response_seconds else 1.0)
        known.pressed *= SHRINKAGE if status < 500 else 1.0
        if known.pressed < MIN_LEARNED_DELAY:
            known.pressed = 0.0

    def _press(self, url: str, known: _Known) -> None:
        now = self._clock()
        if now - known.raised < known.pressed:
            return
        known.raised = now
        known.pressed = min(max(SLOW, GROWTH * self.delay_of(url)), max(self._bounds(url)))

    def _needed(self, known: _Known) -> float:
        slow = known.response_seconds * self._politeness.delay_factor if known.response_seconds >= SLOW else 0.0
        return max(known.crawl_delay, slow, known.pressed)

    def _bounds(self, url: str) -> tuple[float, float]:
        """Return the shortest delay, and the longest that a site can ask for."""
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
        """Forget the queues that were used longest ago, except those whose next fetch is still to come."""
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
"""Statuses that may change if the request is repeated later."""
MAX_REST: Final = 3600.0
"""The most seconds that a Retry-After is obeyed for."""


def retry_after(status: int, fields: Sequence[tuple[str, str]]) -> float:
    """Return for how many seconds a response asks not to be sent requests, at most ``MAX_REST`` (RFC 9110, 10.2.3).

    0 for statuses that give Retry-After another meaning, and if it cannot be read.
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
