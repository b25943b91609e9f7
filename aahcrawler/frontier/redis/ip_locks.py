"""Locks of IP addresses on a Redis-protocol server.

Their keys have their own hash tag, so that any node of a cluster may store them.
"""

from collections.abc import Callable, Sequence

from redis import Redis

from aahcrawler.frontier.redis import keyspace
from aahcrawler.frontier.redis.redis_client import connect, unavailable

_MICRO = 1_000_000
_SERVER_TIME = -1


class RedisIpLocks:
    """``IpLocks`` for all workers of a Redis-protocol server.

    Each operation is atomic, and one round trip for each IP address.

    ``server`` is a client that does not decode responses, or the URL of a server. ``clock`` returns seconds; if it is
    None, the server's clock is used. Errors are those of ``protocol.Scheduling``.
    """

    def __init__(self, server: Redis | str, clock: Callable[[], float] | None = None) -> None:
        self._client = connect(server) if isinstance(server, str) else server
        self._clock = clock
        known = keyspace.load(self._client)
        self._claim, self._renew, self._release = known["claim"], known["reclaim"], known["unclaim"]

    def claim(self, address: str, worker: str, delay: float, seconds: float, *, goes_on: bool = False) -> float:
        """See ``IpLocks.claim``."""
        arguments = self._now(), worker, round(delay * _MICRO), round(seconds * _MICRO), int(goes_on)
        with unavailable():
            return int(self._claim(keys=[_key(address)], args=arguments)) / _MICRO

    def renew(self, addresses: Sequence[str], worker: str, seconds: float) -> None:
        """See ``IpLocks.renew``."""
        with unavailable():
            for address in addresses:
                self._renew(keys=[_key(address)], args=(self._now(), worker, round(seconds * _MICRO)))

    def release(self, address: str, worker: str, delay: float) -> None:
        """See ``IpLocks.release``."""
        with unavailable():
            self._release(keys=[_key(address)], args=(self._now(), worker, round(delay * _MICRO)))

    def recover(self) -> None:
        """End every claim and start its delay, as its worker would have done; use only if the server has no workers."""
        with unavailable():
            for key in self._client.scan_iter(match="{a:*}"):
                worker, out, delay = self._client.hmget(key, ["worker", "out", "delay"])
                for _ in range(int(out or 0)):
                    self._release(keys=[key], args=(self._now(), worker or b"", delay or 0))

    def close(self) -> None:
        """See ``IpLocks.close``."""
        self._client.close()

    def _now(self) -> int:
        return _SERVER_TIME if self._clock is None else round(self._clock() * _MICRO)


def _key(address: str) -> str:
    return f"{{a:{address}}}"
