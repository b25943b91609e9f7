"""How many requests a caller may make: a bucket of tokens for each, which fills again with time."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from aahcrawler.service.web.problems import TOO_MANY, ProblemError

_BURST = 4
"""Seconds after which a caller who rests may ask as often at once as in that time."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests a second that may go on for ever, and how many may come at once after a rest; 0 is no bound."""

    sustained: float
    burst: int


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of one caller: requests to post scored URLs, and all others."""

    requests: Rate = Rate(50, 200)
    posts: Rate = Rate(1000, 4000)

    @classmethod
    def of(cls, sustained: float) -> "Rates":
        """Return the rates with so many requests a second, bursts and posts in the usual proportion."""
        return cls(_rate(sustained), _rate(20 * sustained))


def _rate(sustained: float) -> Rate:
    return Rate(sustained, max(1, round(_BURST * sustained)))


UNLIMITED = Rates.of(0)


class Buckets:
    """Keeps one bucket for each name, of which there are as many as there are callers. For one thread."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count a request of a caller. Raise ``ProblemError``, which says when to come again, for one too many."""
        if not self._rate.sustained:
            return
        now = self._clock()
        left, since = self._left.get(name, (float(self._rate.burst), now))
        left = min(float(self._rate.burst), left + (now - since) * self._rate.sustained)
        if left < 1:
            self._left[name] = left, now
            wait = max(1, math.ceil((1 - left) / self._rate.sustained))
            raise ProblemError(
                TOO_MANY,
                f"{name} may make {self._rate.sustained:g} requests a second, {self._rate.burst:,} after a rest; "
                f"wait {wait} s",
                headers={"Retry-After": str(wait)},
            )
        self._left[name] = left - 1, now
