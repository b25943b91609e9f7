"""Proxies that are away: what is behind them waits, and no attempt is counted.

Nothing is asked in between but what is to be fetched: after a rest the next URLs are tried, and where the proxy is
still away they go back again.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

logger = logging.getLogger(__name__)

FIRST_REST, LONGEST_REST = 1.0, 30.0
"""Seconds between two tries; they double."""


@dataclass(slots=True)
class _Away:
    why: str
    rest: float
    until: float
    since: float


class ProxyOutage:
    """Knows which proxies are away. While the ``general`` one is, by its name, the crawl pauses."""

    def __init__(self, general: str, clock: Callable[[], float] = monotonic) -> None:
        self._general = general
        self._clock = clock
        self._away: dict[str, _Away] = {}
        self.changed: list[Callable[[], None]] = []
        """Called after each change of ``why``."""

    @property
    def why(self) -> str:
        """Why the crawl pauses and what to do, empty while it does not."""
        away = self._away.get(self._general)
        return f"{away.why}; what waits is fetched when it is back" if away else ""

    @property
    def is_resting(self) -> bool:
        """Whether nothing is to be tried for now."""
        away = self._away.get(self._general)
        return away is not None and self._clock() < away.until

    def began(self, proxy: str, why: str) -> float:
        """Take note that a proxy could not be used; return for how many seconds what is behind it should rest."""
        now, away = self._clock(), self._away.get(proxy)
        if away is None:
            away = self._away[proxy] = _Away(why, FIRST_REST, now + FIRST_REST, now)
            logger.warning("%s: %s", "paused" if proxy == self._general else "hosts behind a proxy wait", why)
            self._notify()
        elif now >= away.until:
            away.why, away.rest = why, min(2 * away.rest, LONGEST_REST)
            away.until = now + away.rest
        return max(away.until - now, FIRST_REST)

    def over(self, proxy: str) -> None:
        """Take note that something came through a proxy."""
        away = self._away.pop(proxy, None)
        if away is not None:
            logger.warning("%s is back after %.1f s, the crawl goes on", proxy, self._clock() - away.since)
            self._notify()

    def _notify(self) -> None:
        for listener in self.changed:
            listener()
