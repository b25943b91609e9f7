"""The frontiers of crawls: found, connected to, and kept open."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from aahcrawler.crawls import frontier_settings
from aahcrawler.frontier.presence import Worker
from aahcrawler.frontier.protocol import (
    FrontierFullError,
    FrontierSettings,
    FrontierUnavailableError,
    FrontierUnreadableError,
)
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.presence import RedisPresence
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.environment import REDIS_URL
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.lent_servers import IDLE_SECONDS, CrawlStartingError, LentServers
from aahcrawler.service.web.problems import NOT_RUNNING, OVER, UNAVAILABLE, ProblemError

_RETRY = {"Retry-After": "5"}
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Place:
    """The server's URL, the name and the settings of a frontier."""

    address: str
    name: str
    settings: FrontierSettings


class Gateway:
    """Opens the frontier of a crawl: on the shared server, on that which the crawl runs itself, or on its own at rest.

    Frontiers may be used by several threads at once.
    """

    def __init__(self, shared: str | None, idle: float = IDLE_SECONDS) -> None:
        self._shared = shared
        self._open: dict[str, tuple[_Place, RedisControl]] = {}
        self._presences: dict[str, RedisPresence] = {}
        self._lock = threading.Lock()
        self._lent = LentServers(self._forget_server, idle)

    @contextmanager
    def frontier(self, crawl: Crawl, *, to_post: bool = False) -> Iterator[RedisControl]:
        """Lend the frontier of a crawl that runs, or has a shared server.

        Raise ``ProblemError`` where it cannot be reached now, and with ``to_post`` where the crawl is over.
        """
        with self._told(crawl):
            yield self._frontier(self._address(crawl, to_post=to_post), crawl)

    @contextmanager
    def frontier_at_rest(self, crawl: Crawl) -> Iterator[RedisControl]:
        """Lend the frontier of a crawl, whether or not it runs: its own server is started for some seconds.

        Raise ``ProblemError`` where it cannot be reached now.
        """
        with self._told(crawl), self._lent_address(crawl) as address:
            yield self._frontier(address, crawl)

    @property
    def is_shared(self) -> bool:
        """Whether crawls share a server, which has their frontiers whether or not they run."""
        return self._shared is not None

    def workers(self, crawl: Crawl) -> Sequence[Worker]:
        """Return the workers that serve a crawl, by name; none where it runs in one process, or cannot be asked."""
        address = self._shared or crawl.own_server()
        if address is None:
            return ()
        try:
            with self._lock:
                presence = self._presences.get(address) or RedisPresence(connect(address))
                self._presences[address] = presence
            return [worker for worker in presence.workers() if crawl.id in worker.crawls]
        except FrontierUnavailableError:
            self._forget_server(address)
            return ()

    def release(self, crawl: Crawl) -> None:
        """Let go of the server of a crawl that is about to be started. Raise ``ProblemError`` where it is in use."""
        if crawl.folder is not None:
            with self._told(crawl):
                self._lent.release(crawl.folder)

    def lend_again(self, crawl: Crawl) -> None:
        """Lend the server of a crawl again that was to be started, and was not."""
        if crawl.folder is not None:
            self._lent.lend_again(crawl.folder)

    @contextmanager
    def _lent_address(self, crawl: Crawl) -> Iterator[str]:
        found = self._shared or crawl.own_server()
        if found is not None:
            yield found
            return
        if crawl.folder is None:
            raise ProblemError(NOT_RUNNING, f"{crawl.id} is neither running nor kept in a folder of this service")
        if not crawl.has_begun:
            raise ProblemError(NOT_RUNNING, f"{crawl.id} has not been started yet")
        with self._lent.address(crawl.folder) as address:
            yield address

    @contextmanager
    def _told(self, crawl: Crawl) -> Iterator[None]:
        try:
            yield
        except CrawlStartingError as error:
            raise ProblemError(UNAVAILABLE, f"{crawl.id} cannot be asked now: {error}", headers=_RETRY) from error
        except FrontierUnreadableError as error:
            raise ProblemError(UNAVAILABLE, f"the frontier of {crawl.id} does not serve: {error}") from error
        except FrontierUnavailableError as error:
            self._forget(crawl)
            _logger.warning("%s: %s", crawl.id, error)
            full = isinstance(error, FrontierFullError)
            advice = "its disk is full; make room" if full else "see the service's log, and try again in a moment"
            raise ProblemError(
                UNAVAILABLE, f"the frontier of {crawl.id} does not serve: {advice}", headers=_RETRY
            ) from error

    def close(self) -> None:
        """Let go of every connection, and end the servers that were lent."""
        self._lent.close()
        with self._lock:
            for _, frontier in self._open.values():
                frontier.close()
            for presence in self._presences.values():
                presence.close()
            self._open.clear()
            self._presences.clear()

    def _address(self, crawl: Crawl, *, to_post: bool) -> str:
        if self._shared is None:
            address = crawl.own_server()
            if address is None:
                raise ProblemError(
                    NOT_RUNNING,
                    f"{crawl.id} is not running: start it with `aah crawl`, or let crawls and this service share a "
                    f"server ({REDIS_URL}), which takes URLs at any time",
                    headers=_RETRY,
                )
            return address
        if to_post and (ending := crawl.ending()):
            raise ProblemError(OVER, f"{crawl.id} is over ({ending}): start it again, then post to the next crawl")
        return self._shared

    def _frontier(self, address: str, crawl: Crawl) -> RedisControl:
        wanted = _Place(address, crawl.frontier_name, frontier_settings(crawl.icd))
        with self._lock:
            place, kept = self._open.get(crawl.id, (None, None))
            if kept is not None and place == wanted:
                return kept
            opened = RedisControl(connect(wanted.address), wanted.name, wanted.settings)
            # The one before may still be lent: its connections end with the last who has it.
            self._open[crawl.id] = wanted, opened
            return opened

    def _forget(self, crawl: Crawl) -> None:
        with self._lock:
            self._open.pop(crawl.id, None)

    def _forget_server(self, address: str) -> None:
        with self._lock:
            gone = [name for name, (place, _) in self._open.items() if place.address == address]
            frontiers = [self._open.pop(name)[1] for name in gone]
            presence = self._presences.pop(address, None)
        for frontier in frontiers:
            frontier.close()
        if presence is not None:
            presence.close()
