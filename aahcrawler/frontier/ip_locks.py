"""Locks of IP addresses: only one worker at a time fetches from each, whichever domains resolve to it.

The delays of queues apply to pay-level domains, many of which may be on one machine. A worker claims an IP address once
the name is resolved, independently of the frontier's own operations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

_SOONEST = 0.1
"""The seconds to wait before asking again for an IP address of another worker, if there is no delay."""
_MAX_LINE_LENGTH = 32
"""How many rejected workers get a time each, one after another; further ones get the same time as the last of these."""
_REMEMBERED = 1000


class IpLocks(Protocol):
    """Claims of IP addresses.

    All fetches from one IP address at a time are by one worker. Each begins at least a delay after the previous one
    began, and after it ended. A worker that asks therefore waits for one delay, however long fetches take, unless
    others ask as well. Each rejected worker is given a time of its own, a delay after the one before, so that the many
    domains of one IP address return one after another. All workers must spell an IP address in the same way.
    """

    def claim(self, address: str, worker: str, delay: float, seconds: float, *, goes_on: bool = False) -> float:
        """Claim an IP address for one fetch and return 0; if it is taken, return the seconds after which to ask again.

        A claim that is not released ends by itself after ``seconds``. The next fetch may begin ``delay`` seconds from
        now at the earliest. A worker that ``goes_on`` with a visit waits only for other workers, not for the delay
        after its own last fetch, which still applies to the others.
        """
        ...

    def renew(self, addresses: Sequence[str], worker: str, seconds: float) -> None:
        """Extend claims to ``seconds`` from now. Has no effect on addresses that the worker does not hold."""
        ...

    def release(self, address: str, worker: str, delay: float) -> None:
        """End a claim: the next fetch may begin ``delay`` seconds from now at the earliest.

        Has no effect if the worker holds no claim.
        """
        ...

    def close(self) -> None:
        """Close connections; claims end by themselves."""
        ...


@dataclass(slots=True)
class _Held:
    worker: str = ""
    out: int = 0
    until: float = 0.0
    opens: float = 0.0
    behind: int = 0


class LocalIpLocks:
    """``IpLocks`` in memory, for use with a frontier in memory; nothing is stored. ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._most = _REMEMBERED

    def claim(self, address: str, worker: str, delay: float, seconds: float, *, goes_on: bool = False) -> float:
        """See ``IpLocks.claim``."""
        now = self._clock()
        self._forget(now)
        held = self._held.setdefault(address, _Held())
        if held.until <= now:
            held.out = 0
        wait = 0.0 if goes_on and held.worker == worker else held.opens - now
        if held.out and held.worker != worker:
            wait = max(wait, delay, _SOONEST)
        if wait > 0:
            held.behind = min(held.behind + 1, _MAX_LINE_LENGTH)
            return wait + (held.behind - 1) * delay
        held.behind = 0 if held.opens + delay <= now else max(held.behind - 1, 0)
        held.worker, held.out, held.until = worker, held.out + 1, now + seconds
        held.opens = max(held.opens, now + delay)
        return 0.0

    def renew(self, addresses: Sequence[str], worker: str, seconds: float) -> None:
        """See ``IpLocks.renew``."""
        for held in map(self._held.get, addresses):
            if held is not None and held.worker == worker and held.out:
                held.until = self._clock() + seconds

    def release(self, address: str, worker: str, delay: float) -> None:
        """See ``IpLocks.release``."""
        held = self._held.get(address)
        if held is not None and held.worker == worker and held.out:
            held.out -= 1
            held.opens = max(held.opens, self._clock() + delay)

    def close(self) -> None:
        """Do nothing, as there is no connection."""

    def _forget(self, now: float) -> None:
        if len(self._held) > self._most:
            self._held = {
                address: held
                for address, held in self._held.items()
                if held.opens > now or (held.out and held.until > now)
            }
            self._most = max(_REMEMBERED, 2 * len(self._held))
