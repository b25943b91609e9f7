"""The services of a server that crawls and workers share, apart from the crawls' frontiers."""

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
