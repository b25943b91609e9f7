"""Connections to the frontiers of crawls, found when they are needed and kept open."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

from aahcrawler.crawls import frontier_settings
from aahcrawler.frontier.protocol import (
    FrontierAwayError,
    FrontierFullError,
    FrontierSettings,
    FrontierUnavailableError,
    FrontierUnreadableError,
)
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.redis.registry import RedisPresence
from aahcrawler.frontier.registry import Worker
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.server_process import lent_at
from aahcrawler.frontiers import started_server
from aahcrawler.layout import FRONTIER
from aahcrawler.lending import is_wanted
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.web.problems import NOT_RUNNING, OVER, UNAVAILABLE, ProblemError

_logger = logging.getLogger(__name__)

IDLE_SECONDS: Final = 5.0
"""Seconds after the last look for which a server is kept at least."""
STARTS: Final = 10.0
"""It is kept for as many times as long as it took to start: that of a large frontier takes seconds."""
RELEASED_SECONDS: Final = 10.0
"""Seconds for which no server is lent of a crawl that is about to be started."""
_LOOK_EVERY = 0.25
_OPERATION_SECONDS = 30.0
"""Seconds that operations under way are waited for when a crawl is about to be started."""


class CrawlStartingError(FrontierAwayError):
    """A crawl's frontier server is not lent, because the crawl is being started."""


@dataclass(slots=True)
class _Lent:
    """A server started by this process, how many callers use it now, and when it was last used."""

    server: EmbeddedServer
    ending: ExitStack
    idle: float
    users: int = 0
    used_at: float = field(default_factory=time.monotonic)


class LentServers:
    """Starts and lends the frontier servers of resting crawls, by folder. Thread-safe.

    A server ends ``idle`` seconds after its last use, later if its start takes long, and at once if the folder is
    needed: by ``release``, or in another process (``lending``). Before that, ``forget`` is called with its URL.
    """

    def __init__(self, forget: Callable[[str], None], idle: float = IDLE_SECONDS) -> None:
        self._forget, self._idle = forget, idle
        self._lent: dict[Path, _Lent] = {}
        self._kept_back: dict[Path, float] = {}
        self._changed = threading.Condition()
        self._starting = threading.Lock()
        self._closed = False
        self._watcher: threading.Thread | None = None

    @contextmanager
    def address(self, folder: Path) -> Iterator[str]:
        """Lend the URL of a server. Raise ``FrontierUnavailableError`` if it cannot be started now."""
        lent = self._taken(folder)
        if isinstance(lent, str):
            yield lent
            return
        try:
            yield lent.server.url
        finally:
            with self._changed:
                lent.users -= 1
                lent.used_at = time.monotonic()
                self._changed.notify_all()

    def release(self, folder: Path) -> None:
        """End a crawl's server once running operations have ended, and do not lend it for the next seconds.

        Raise ``CrawlStartingError`` if operations do not end in time.
        """
        with self._starting:
            with self._changed:
                self._kept_back[folder] = time.monotonic() + RELEASED_SECONDS
                lent = self._lent.get(folder)
                if lent is not None and not self._changed.wait_for(partial(_is_unused, lent), _OPERATION_SECONDS):
                    raise CrawlStartingError("the queue of this crawl is being changed; start it again in a moment")
                lent = self._lent.pop(folder, None)
            if lent is not None:
                self._end(folder, lent)

    def lend_again(self, folder: Path) -> None:
        """Allow the server of a crawl to be lent again, after its start failed."""
        with self._changed:
            self._kept_back.pop(folder, None)

    def close(self) -> None:
        """End all servers."""
        with self._starting:
            with self._changed:
                self._closed = True
                ended, self._lent = self._lent, {}
                self._changed.notify_all()
            for folder, lent in ended.items():
                self._end(folder, lent)
        watcher = self._watcher
        if watcher is not None:
            watcher.join()

    def _taken(self, folder: Path) -> _Lent | str:
        """Return a server of this process, or the URL of one that another process lends.

        A server of this process that is ending is not returned, although its file still exists.
        """
        lent = self._running(folder)
        if lent is not None:
            return lent
        with self._starting:  # A server takes moments to start and to end; others are lent meanwhile.
            lent = self._running(folder)
            if lent is not None:
                return lent
            others = None if folder in self._lent else lent_at(folder / FRONTIER)
            if others is not None:
                return others
            self._check(folder)
            ending, began = ExitStack(), time.monotonic()
            server = ending.enter_context(started_server(folder))
            lent = _Lent(server, ending, max(self._idle, STARTS * (time.monotonic() - began)), users=1)
            with self._changed:
                self._lent[folder] = lent
                self._watch()
            return lent

    def _running(self, folder: Path) -> _Lent | None:
        with self._changed:
            lent = self._lent.get(folder)
            if lent is not None:
                if self._is_kept_back(folder):
                    return None
                lent.users += 1
            return lent

    def _is_kept_back(self, folder: Path) -> bool:
        return self._closed or self._kept_back.get(folder, 0.0) > time.monotonic() or is_wanted(folder / FRONTIER)

    def _check(self, folder: Path) -> None:
        if self._is_kept_back(folder):
            raise CrawlStartingError("the crawl is just being started; ask again in a moment")

    def _watch(self) -> None:
        if self._watcher is None or not self._watcher.is_alive():
            self._watcher = threading.Thread(target=self._end_unused, name="lent-servers", daemon=True)
            self._watcher.start()

    def _end_unused(self) -> None:
        """End servers that are not used any more, until none is left."""
        while True:
            with self._changed:
                self._changed.wait(_LOOK_EVERY)
            with self._starting:
                with self._changed:
                    ended = {folder: lent for folder, lent in self._lent.items() if self._is_over(folder, lent)}
                    for folder in ended:
                        del self._lent[folder]
                for folder, lent in ended.items():
                    self._end(folder, lent)
                with self._changed:
                    if not self._lent:
                        self._watcher = None
                        return

    def _is_over(self, folder: Path, lent: _Lent) -> bool:
        if lent.users:
            return False
        if is_wanted(folder / FRONTIER):
            return True
        if time.monotonic() - lent.used_at < lent.idle:
            return False
        self._forget(lent.server.url)
        if _others_are_connected(lent.server.url):
            lent.used_at = time.monotonic()
            return False
        return True

    def _end(self, folder: Path, lent: _Lent) -> None:
        self._forget(lent.server.url)
        try:
            lent.ending.close()
        except OSError as error:
            _logger.warning("%s: the frontier's server did not end in good order: %s", folder, error)


def _is_unused(lent: _Lent) -> bool:
    return not lent.users


def _others_are_connected(url: str) -> bool:
    """Return whether another process, such as ``aah frontier``, is connected to a server."""
    try:
        with closing(connect(url)) as client, unavailable():
            clients = client.info("clients")
    except FrontierUnavailableError:
        return False
    return int(clients["connected_clients"]) > 1


_RETRY = {"Retry-After": "5"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a frontier is: the server's URL, and the frontier's name and settings."""

    address: str
    name: str
    settings: FrontierSettings


class Gateway:
    """Connects to the frontiers of crawls, on the shared server, a running crawl's server, or one started here.

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
        """Lend the frontier of a crawl that runs, or is on the shared server.

        Raise ``ProblemError`` if it cannot be reached now, and with ``to_post`` if the crawl is over.
        """
        with self._told(crawl):
            yield self._frontier(self._address(crawl, to_post=to_post), crawl)

    @contextmanager
    def frontier_at_rest(self, crawl: Crawl) -> Iterator[RedisControl]:
        """Lend the frontier of a crawl, whether or not it runs; its own server is started if needed.

        Raise ``ProblemError`` if it cannot be reached now.
        """
        with self._told(crawl), self._lent_address(crawl) as address:
            yield self._frontier(address, crawl)

    @property
    def is_shared(self) -> bool:
        """Whether there is a shared server, which has all frontiers whether or not crawls run."""
        return self._shared is not None

    def workers(self, crawl: Crawl) -> Sequence[Worker]:
        """Return the workers of a crawl, by name; none if it runs in one process, or its frontier cannot be reached."""
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
        """End the lent server of a crawl that is about to be started. Raise ``ProblemError`` if it is in use."""
        if crawl.folder is not None:
            with self._told(crawl):
                self._lent.release(crawl.folder)

    def lend_again(self, crawl: Crawl) -> None:
        """Allow the server of a crawl to be lent again, after its start failed."""
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
        """Close all connections, and end the lent servers."""
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
                    f"{crawl.id} is not running: start it with `aah crawl {crawl.definition_argument}`, "
                    f"or let crawls and this service share a server ({REDIS_URL}), which takes URLs at any time",
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


SECONDS: Final = 3.0
"""Seconds within which a crawl that ends has let go of its folder, on most machines."""
PAUSE: Final = 0.2
_SAFE: Final = frozenset({"GET", "HEAD"})


class AskingAgain(APIRoute):
    """A route whose read requests are repeated when the frontier's server has changed meanwhile.

    A crawl that ends takes its server along, and the lent server of a resting crawl ends when the crawl is started;
    readers need not notice. While a crawl is being started, requests are not repeated, since that takes longer.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler that repeats requests."""
        handle = super().get_route_handler()

        async def handle_again(request: Request) -> Response:
            until = time.monotonic() + SECONDS
            while True:
                try:
                    return await handle(request)
                except ProblemError as problem:
                    if (
                        request.method not in _SAFE
                        or type(problem.__cause__) is not FrontierAwayError
                        or time.monotonic() > until
                    ):
                        raise
                await asyncio.sleep(PAUSE)

        return handle_again
