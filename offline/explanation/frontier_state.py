"""Reads the state of a URL from its crawl's frontier, whether or not the crawl runs."""

from contextlib import closing

from aahcrawler.crawls import frontier_name
from aahcrawler.frontier.posting import UrlStatus
from aahcrawler.frontier.protocol import FrontierSettings
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontiers import Crawl, server_of


def status(crawl: Crawl, url: str) -> UrlStatus | None:
    """Return the state of a canonical URL, None where it was never offered.

    Where the crawl is not running, the frontier's own server is started for this. Raises ``FrontierUnavailableError``
    where the frontier cannot be queried; the message gives the cause.
    """
    with server_of(crawl.folder) as address:
        name = frontier_name(crawl.id, crawl.number)
        with closing(RedisFrontier(address, name, FrontierSettings())) as frontier:
            return frontier.status(url)
