"""The servers of crawls at rest: started when their frontier is looked at, and ended when nobody does any more."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from aahcrawler.frontier.protocol import FrontierAwayError, FrontierUnavailableError
from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.server_process import lent_at
from aahcrawler.frontiers import started_server
from aahcrawler.layout import FRONTIER
from aahcrawler.lending import is_wanted

IDLE_SECONDS: Final = 5.0
"""Seconds after the last look for which a server is kept at least."""
STARTS: Final = 10.0
"""It is kept for as many times as long as it took to start: that of a large frontier takes seconds."""
RELEASED_SECONDS: Final = 10.0
"""Seconds for which no server is lent of a crawl that is about to be started."""
_LOOK_EVERY = 0.25
_OPERATION_SECONDS = 30.0
"""Seconds that operations under way are waited for when a crawl is about to be started."""
_logger = logging.getLogger(__name__)


class CrawlStartingError(FrontierAwayError):
    """The server of a crawl is not lent because the crawl is being started, or cannot be taken back for that."""


@dataclass(slots=True)
class _Lent:
    """A server that runs, how many use it now, and when it was used last."""

    server: EmbeddedServer
    ending: ExitStack
    idle: float
    users: int = 0
    used_at: float = field(default_factory=time.monotonic)


class LentServers:
    """Lends the servers of crawls at rest, by their folders. It may be used by several threads at once.

    A server ends ``idle`` seconds after it was used last, later where it takes long to start, and at once where the
    folder is needed: by ``release``, or in another process (``lending``). ``forget`` is called with its URL before.
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
        """Lend the URL of a server. Raise ``FrontierUnavailableError`` where it cannot be started now."""
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
        """End a server, once what is under way has ended, and lend none of this crawl for the next seconds.

        Raise ``CrawlStartingError`` where what is under way does not end.
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
        """Lend the server of a crawl again that was to be started, and was not."""
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

        One of this process that is just ending is neither: its file is still there.
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
        """End what is not used any more, until nothing is lent."""
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
    """Say whether somebody in another process uses a server, as ``aah frontier`` does."""
    try:
        with closing(connect(url)) as client, unavailable():
            clients = client.info("clients")
    except FrontierUnavailableError:
        return False
    return int(clients["connected_clients"]) > 1
