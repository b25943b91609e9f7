"""The frontier of a crawl: on a server of its own, on a shared one, or on one that others have opened already."""

import logging
import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass

from aahcrawler.crawl.core.stores import not_revived
from aahcrawler.crawl.directory.crawl_runs import Start
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.crawl.startup.seeding import clear
from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.ip_locks import RedisIpLocks
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.environment import REDIS_URL
from online_analysis.icd import Icd

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FrontierConnection:
    """A frontier and the URL of its server, which others may use as well where it ``is_shared``.

    ``revive`` starts the server again where it is this process's own and has died.
    """

    frontier: RedisControl
    address: str
    is_shared: bool
    revive: Callable[[], None] = not_revived

    def ip_locks(self, opening: ExitStack) -> RedisIpLocks:
        """Return the locks of IP addresses, for all workers of the server; those of dead ones, where all are dead."""
        locks = opening.enter_context(closing(RedisIpLocks(self.address)))
        if not self.is_shared:
            locks.recover()
        return locks


def join_frontier(icd: Icd, number: int, server: str, opening: ExitStack) -> FrontierConnection:
    """Return the frontier of a crawl that others work on as well; nothing of theirs is taken back."""
    frontier = RedisControl(connect(server), frontier_name(icd.id, number), frontier_settings(icd))
    opening.callback(frontier.close)
    return FrontierConnection(frontier, server, is_shared=True)


def open_frontier(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> FrontierConnection:
    """Return the frontier of a crawl that this process begins or goes on with.

    Without a shared server it has one that runs until ``opening`` is closed.
    """
    shared = os.environ.get(REDIS_URL)
    number, settings = folder.run.number, frontier_settings(icd)
    begins_empty = folder.run.start in (Start.NEXT, Start.RETRIED)
    if not shared and begins_empty:
        clear(folder.frontier)
    url, revive = (shared, not_revived) if shared else _own_server(folder, opening)
    if shared and begins_empty:
        # What the crawl before has left behind, and what an interrupted start of this one has.
        for crawl in (number - 1, number):
            with closing(RedisControl(connect(url), frontier_name(icd.id, crawl), settings)) as left:
                left.remove()
    frontier = RedisControl(connect(url), frontier_name(icd.id, number), settings)
    opening.callback(frontier.close)
    if not shared:
        returned = frontier.recover()
        if returned:
            logger.warning("%d URLs were being fetched when the crawl ended; they are queued again", returned)
    return FrontierConnection(frontier, url, bool(shared), revive)


def _own_server(folder: CrawlFolder, opening: ExitStack) -> tuple[str, Callable[[], None]]:
    server = opening.enter_context(EmbeddedServer(folder.frontier))
    return server.url, server.revive
