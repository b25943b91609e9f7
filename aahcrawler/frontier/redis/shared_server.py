"""The services of a server that crawls and workers share, apart from the crawls' frontiers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from redis import Redis

from aahcrawler.frontier.redis.presence import RedisPresence
from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.redis.registry import TAG, RedisRegistry
from aahcrawler.frontier.registry import LONGEST, EventLog, Presence, Registry, WorkerEvent


@dataclass(frozen=True, slots=True)
class Server:
    """The services of a shared server that workers use; ``address`` is the URL where the frontiers of crawls are.

    ``disconnect`` interrupts every call that waits for a response, with an unspecified error.
    """

    address: str
    registry: Registry
    presence: Presence
    events: EventLog
    disconnect: Callable[[], None] = lambda: None


@contextmanager
def connected(address: str) -> Iterator[Server]:
    """Connect to the server at a URL, for use by any number of threads within the context.

    Raises ``FrontierUnavailableError`` where it cannot be reached, and ``RegistryError`` for a registry of another
    version.
    """
    client = connect(address)
    try:
        yield Server(address, RedisRegistry(client), RedisPresence(client), RedisEventLog(client), client.close)
    finally:
        client.close()


MOST = 100_000
"""Events that are kept, about; the oldest go."""
_AT_ONCE = 1000


class RedisEventLog:
    """Events on a Redis-protocol server, in the stream ``events``; at least ``most`` of them are kept."""

    def __init__(self, server: Redis | str, most: int = MOST) -> None:
        self._client = connect(server) if isinstance(server, str) else server
        self._most = most

    def put(self, events: Sequence[WorkerEvent]) -> None:
        """See ``EventLog.put``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=False)
            for event in events:
                pipeline.xadd(_STREAM, dict(_written(event)), maxlen=self._most, approximate=True)
            pipeline.execute()

    def read(self, after: str = "") -> Iterator[tuple[str, WorkerEvent]]:
        """See ``EventLog.read``."""
        while True:
            with unavailable():
                part = cast(
                    "list[tuple[bytes, dict[bytes, bytes]]]",
                    self._client.xrange(_STREAM, f"({after}" if after else "-", count=_AT_ONCE),
                )
            for place, fields in part:
                after = place.decode()
                yield after, _read(fields)
            if len(part) < _AT_ONCE:
                return

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


_STREAM = f"{TAG}:events"


def _written(event: WorkerEvent) -> Iterator[tuple[str, str]]:
    yield from {
        "at": f"{event.at.timestamp():.3f}",
        "worker": event.worker,
        "crawl": event.crawl,
        "level": event.level,
        "subsystem": event.subsystem,
        "message": event.message[:LONGEST].encode("utf-8", "replace").decode(),
    }.items()


def _read(fields: Mapping[bytes, bytes]) -> WorkerEvent:
    texts = {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in fields.items()}
    try:
        at = datetime.fromtimestamp(float(texts.get("at", "")), UTC)
    except (ValueError, OverflowError, OSError):
        at = datetime.fromtimestamp(0, UTC)
    return WorkerEvent(at, *(texts.get(name, "") for name in ("worker", "crawl", "level", "subsystem", "message")))
