"""When a site may be asked again, as far as one worker knows."""

from collections.abc import Callable
from time import monotonic

from online_analysis.icd import Politeness

MOST_QUEUES = 10_000
"""How many queues' next turns are remembered before those that have come are forgotten."""


class StoppedError(Exception):
    """The crawl ends before a request was sent, or before its answer came; nothing is known of the URL."""


class Manners:
    """The delay of each queue, and when its next turn comes.

    The frontier keeps queues at rest between leases, for all workers at once. What it does not see is kept here:
    robots.txt files, the redirects of these, and URLs that share a connection. ``clock`` returns seconds.
    """

    def __init__(self, politeness: Politeness, clock: Callable[[], float] = monotonic) -> None:
        self._delay = politeness.delay.total_seconds()
        self._longest = politeness.max_delay.total_seconds()
        self._clock = clock
        self._asked: dict[str, float] = {}
        self._next: dict[str, float] = {}

    def delay_of(self, queue: str) -> float:
        """Return the seconds between two requests to a queue: the ICD's, or a longer Crawl-delay."""
        return max(self._delay, min(self._asked.get(queue, 0.0), self._longest))

    def obey(self, queue: str, crawl_delay: float) -> None:
        """Keep the Crawl-delay of a robots.txt, from its answer on; of several hosts of a queue the longest holds."""
        if crawl_delay > self._asked.get(queue, 0.0):
            self._asked[queue] = crawl_delay
            self.answered(queue)

    def turn(self, queue: str) -> float:
        """Take the next turn of a queue: return how many seconds from now it is."""
        now = self._clock()
        at = max(now, self._next.get(queue, now))
        self._rest(queue, at)
        return at - now

    def answered(self, queue: str) -> None:
        """Let the delay of a queue begin anew: a request to it has just ended."""
        self._rest(queue, self._clock())

    def _rest(self, queue: str, since: float) -> None:
        delay = self.delay_of(queue)
        if delay:
            self._next[queue] = max(since + delay, self._next.get(queue, 0.0))
        if len(self._next) > MOST_QUEUES:
            now = self._clock()
            self._next = {name: at for name, at in self._next.items() if at > now}
