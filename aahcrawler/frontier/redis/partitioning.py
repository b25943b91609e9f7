"""The division of a server's queues into partitions, whose number is fixed at the server's first use."""

import os
from typing import Final, cast

from redis import Redis

from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.redis_client import unavailable
from aahcrawler.frontier.redis.url_records import queue_id

VARIABLE: Final = "AAH_PARTITIONS"
"""The environment variable that says how many partitions a server gets at its first use; 1 where it is not set."""
MOST: Final = 1024

_KEY = "{p0}:partitions"


def tags(client: Redis) -> tuple[str, ...]:
    """Return the hash tags of a server's partitions; all clients of a server agree on their number.

    Raises ``FrontierUnavailableError`` where the environment variable is no valid number of partitions for a new
    server.
    """
    with unavailable():
        kept = cast("bytes | None", client.get(_KEY))
        if kept is None:
            client.set(_KEY, _wanted(), nx=True)
            kept = cast("bytes", client.get(_KEY))
    return tuple(f"{{p{number}}}" for number in range(int(kept)))


def partition_of(queue: str, partitions: int) -> int:
    """Return the number of the partition that a queue lies in."""
    return int.from_bytes(queue_id(queue), "big") % partitions


def _wanted() -> int:
    setting = os.environ.get(VARIABLE, "1")
    if not setting.isdecimal() or not 1 <= int(setting) <= MOST:
        raise FrontierUnavailableError(f"{VARIABLE} is {setting!r}; give a number from 1 to {MOST}")
    return int(setting)
