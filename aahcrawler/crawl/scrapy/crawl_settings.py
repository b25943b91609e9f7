"""Set up Scrapy for the crawl, so that any Scrapy project can run the spider."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from aahcrawler.crawl.lease.lease_source import CONCURRENT_REQUESTS
from aahcrawler.crawl.scrapy.setting_support import without_effect
from knowledge_base.file_selection import VARIABLE, named_folders

"""The Scrapy setting, and else the environment variable, that names the folders, separated by ``os.pathsep``."""
ADAPTATION = "AAH_ADAPTATION"
"""The Scrapy setting, and else the environment variable, that turns adaptation off where it is 0."""
ADDON = SETTINGS_PRIORITIES["addon"]
HANDLER = "aahcrawler.crawl.fetch.download_handler.WireDownloadHandler"
HANDLERS: dict[str, str | None] = {
    "http": HANDLER,
    "https": HANDLER,
    "ftp": None,
    "file": None,
    "data": None,
    "s3": None,
}

DEFAULTS: dict[str, object] = {
    "CONCURRENT_REQUESTS": CONCURRENT_REQUESTS,
    # The frontier keeps delays and connections, for all workers at once; Scrapy's own would only add to them.
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENT_REQUESTS,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_DELAY_JITTER": 0,
    "TELNETCONSOLE_ENABLED": False,
}
"""The settings of a crawl where project and command line say nothing else."""

# Retries, redirects, robots.txt, scope and depth are decided in one place, ours: a second opinion would let requests
# past the frontier. Content decoding is bounded in the download handler.
FIXED: dict[str, object] = {
    "SCHEDULER": "aahcrawler.crawl.scrapy.scheduler.OfferingScheduler",
    "DOWNLOADER": "scrapy.core.downloader.Downloader",
    "DOWNLOAD_HANDLERS": HANDLERS,
    "DOWNLOADER_MIDDLEWARES_BASE": {},
    "SPIDER_MIDDLEWARES_BASE": {},
    "REMOTE_CONTROL_ENABLED": False,
    "COOKIES_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
}
"""The settings without which it would be another crawl; ``setting_support`` says so where somebody sets them."""
ROBOTS_MIDDLEWARE = "aahcrawler.crawl.scrapy.robots_middleware.RobotsMiddleware"
SESSION_MIDDLEWARE = "aahcrawler.crawl.scrapy.session_middleware.SessionMiddleware"
OWN_MIDDLEWARES = {ROBOTS_MIDDLEWARE: 100, SESSION_MIDDLEWARE: 900}
SAID = "AAH_WITHOUT_EFFECT"
"""The Scrapy setting that holds what is to be said of the others when a crawl starts, a line each."""
EXTENSIONS_OFF = (
    "scrapy.extensions.logstats.LogStats",
    "scrapy.extensions.throttle.AutoThrottle",
    "scrapy.extensions.spiderstate.SpiderState",
    "scrapy.extensions.remote_control.RemoteControl",
)
TELNET_CONSOLE = "scrapy.extensions.telnet.TelnetConsole"


def apply(settings: BaseSettings) -> None:
    """Put the frontier, the capturing download handler and robots.txt in place of Scrapy's own parts.

    What else project and command line set keeps its precedence. Spiders beside this one are left alone.
    """
    settings.set(SAID, tuple(without_effect(settings)), priority="cmdline")
    for name, value in DEFAULTS.items():
        settings.set(name, value, priority="addon")
    for name, value in FIXED.items():
        settings.set(name, value, priority="cmdline")
    _add(settings, "DOWNLOADER_MIDDLEWARES", _with_ours(settings.getdict("DOWNLOADER_MIDDLEWARES")))
    _leave_out(settings, EXTENSIONS_OFF)
    if not settings.getbool("TELNETCONSOLE_ENABLED"):
        _leave_out(settings, (TELNET_CONSOLE,))


def turn_log_on(settings: BaseSettings) -> None:
    """Have Scrapy's log kept where somebody says how, and does not say that there be none."""
    asked = max(settings.getpriority(name) or 0 for name in ("LOG_FILE", "LOG_LEVEL", "LOG_STDOUT"))
    if asked > (settings.getpriority("LOG_ENABLED") or 0):
        settings.set("LOG_ENABLED", True, priority=asked)
    if settings.getbool("LOG_ENABLED"):
        settings.set("LOG_INSTALL_ROOT_HANDLER", True, priority="cmdline")


def _with_ours(given: Mapping[str, object]) -> dict[str, object]:
    """Return middlewares with those that cannot be left out, at their places among them where they have one."""
    return {**given, **{name: given.get(name) or order for name, order in OWN_MIDDLEWARES.items()}}


def _add(settings: BaseSettings, name: str, components: Mapping[str, object]) -> None:
    settings.set(name, dict(components), priority=max(settings.getpriority(name) or 0, ADDON))


def _leave_out(settings: BaseSettings, extensions: Collection[str]) -> None:
    """Have extensions of Scrapy's own not run unless somebody names them.

    They are taken out of the base: to be given None beside it, an extension is imported, and the one that controls a
    crawl from afar imports a web server for a tenth of a second.
    """
    base = {name: order for name, order in settings.getdict("EXTENSIONS_BASE").items() if name not in extensions}
    settings.set("EXTENSIONS_BASE", base, priority=max(settings.getpriority("EXTENSIONS_BASE") or 0, ADDON))


def knowledge_folders(settings: BaseSettings) -> tuple[Path, ...]:
    """Return the folders that settings or environment name, the one that ships where neither does."""
    return named_folders(str(settings.get(VARIABLE) or os.environ.get(VARIABLE, "")))


def adapts(settings: BaseSettings) -> bool:
    """Say whether actions that fail on a site are to be mended; so it is unless the setting or environment says no."""
    given = settings.get(ADAPTATION, os.environ.get(ADAPTATION))
    return str(given).strip().lower() not in ("0", "no", "off", "false")
