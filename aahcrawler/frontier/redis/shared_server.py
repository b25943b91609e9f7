"""A server that crawls and workers share, beside the frontiers of the crawls themselves."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from aahcrawler.frontier.event_log import EventLog
from aahcrawler.frontier.presence import Presence
from aahcrawler.frontier.redis.event_log import RedisEventLog
from aahcrawler.frontier.redis.presence import RedisPresence
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.registry import Registry


@dataclass(frozen=True, slots=True)
class Server:
    """The parts of a shared server that workers use; ``address`` is the URL where the frontiers of crawls are.

    ``disconnect`` ends all that waits for an answer, with whatever error.
    """

    address: str
    registry: Registry
    presence: Presence
    events: EventLog
    disconnect: Callable[[], None] = lambda: None


@contextmanager
def connected(address: str) -> Iterator[Server]:
    """Lend the server at a URL to any number of threads.

    Raise ``FrontierUnavailableError`` where it cannot be reached, and ``RegistryError`` for one of another version.
    """
    client = connect(address)
    try:
        yield Server(address, RedisRegistry(client), RedisPresence(client), RedisEventLog(client), client.close)
    finally:
        client.close()
