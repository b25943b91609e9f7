"""Set up Scrapy for the crawl: one add-on, so that any Scrapy project can run the spider."""

import os
from pathlib import Path

from scrapy.settings import BaseSettings

from aahcrawler.crawl.lease.lease_source import CONCURRENT_REQUESTS
from knowledge_base.file_selection import named_folders

KNOWLEDGE_BASE = "AAH_KNOWLEDGE_BASE"
"""The Scrapy setting, and else the environment variable, that names the folders, separated by ``os.pathsep``."""
ADAPTATION = "AAH_ADAPTATION"
"""The Scrapy setting, and else the environment variable, that turns adaptation off where it is 0."""
HANDLER = "aahcrawler.crawl.fetch.download_handler.WireDownloadHandler"
HANDLERS: dict[str, str | None] = {
    "http": HANDLER,
    "https": HANDLER,
    "ftp": None,
    "file": None,
    "data": None,
    "s3": None,
}

SETTINGS: dict[str, object] = {
    "SCHEDULER": "aahcrawler.crawl.scrapy.scheduler.OfferingScheduler",
    "DOWNLOAD_HANDLERS": HANDLERS,
    "DOWNLOADER_MIDDLEWARES": {
        "aahcrawler.crawl.scrapy.robots_middleware.RobotsMiddleware": 100,
        "aahcrawler.crawl.scrapy.session_middleware.SessionMiddleware": 900,
    },
    "CONCURRENT_REQUESTS": CONCURRENT_REQUESTS,
    # The frontier keeps delays and connections, for all workers at once; Scrapy's own would only add to them.
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENT_REQUESTS,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_DELAY_JITTER": 0,
    "REMOTE_CONTROL_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "STATS_DUMP": False,
    "COOKIES_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
}

# Retries, redirects, robots.txt, scope and depth are decided in one place, ours: a second opinion would let requests
# past the frontier. Content decoding is bounded in the download handler.
MIDDLEWARE_BASES = ("DOWNLOADER_MIDDLEWARES_BASE", "SPIDER_MIDDLEWARES_BASE")
EXTENSIONS_OFF = (
    "scrapy.extensions.logstats.LogStats",
    "scrapy.extensions.feedexport.FeedExporter",
    "scrapy.extensions.throttle.AutoThrottle",
    "scrapy.extensions.spiderstate.SpiderState",
    "scrapy.extensions.closespider.CloseSpider",
    "scrapy.extensions.remote_control.RemoteControl",
)


class AahAddon:
    """Puts the frontier, the capturing download handler and robots.txt in place of Scrapy's own parts.

    Settings that the project or the command line give keep their precedence.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Set what the crawl needs at add-on priority."""
        for name, value in SETTINGS.items():
            settings.set(name, value, priority="addon")
        for name in MIDDLEWARE_BASES:
            settings.set(name, {}, priority="addon")
        extensions = settings.getdict("EXTENSIONS") | dict.fromkeys(EXTENSIONS_OFF)
        settings.set("EXTENSIONS", extensions, priority="addon")


def knowledge_folders(settings: BaseSettings) -> tuple[Path, ...]:
    """Return the folders that settings or environment name, the one that ships where neither does."""
    return named_folders(str(settings.get(KNOWLEDGE_BASE) or os.environ.get(KNOWLEDGE_BASE, "")))


def adapts(settings: BaseSettings) -> bool:
    """Say whether actions that fail on a site are to be mended; so it is unless the setting or environment says no."""
    given = settings.get(ADAPTATION, os.environ.get(ADAPTATION))
    return str(given).strip().lower() not in ("0", "no", "off", "false")
