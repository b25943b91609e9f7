"""Set up Scrapy for the crawl, so that any Scrapy project can run the spider."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from aahcrawler.crawl.lease.lease_source import CONCURRENT_REQUESTS
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
"""The settings without which it would be another crawl; somebody who sets them otherwise is told."""
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


class Effect(StrEnum):
    """What a setting does to a crawl."""

    HONOURED = "honoured"
    PARTLY = "partly"
    NONE = "none"


def _is_on(value: object) -> bool:
    return str(value).strip().lower() not in ("", "0", "none", "false", "{}", "[]")


@dataclass(frozen=True, slots=True)
class SettingSupport:
    """Settings, by names in which ``*`` stands for any characters, with their effect and what there is to say.

    ``matters`` tells by a value that somebody has set whether it asks for something that the crawl does not do.
    """

    names: tuple[str, ...]
    effect: Effect
    said: str
    matters: Callable[[Any], bool] = lambda _: True

    def covers(self, name: str) -> bool:
        """Return whether a setting is one of these."""
        return any(fnmatchcase(name, each) for each in self.names)


def _row(names: str, effect: Effect, said: str, matters: Callable[[Any], bool] = lambda _: True) -> SettingSupport:
    return SettingSupport(tuple(names.split()), effect, said, matters)


_OURS = "aahcrawler."
SUPPORT: Final = (
    _row("ITEM_PIPELINES ITEM_PIPELINES_BASE ITEM_PROCESSOR", Effect.HONOURED, "given web objects as items"),
    _row(
        "FEEDS FEED_* SPIDER_LOADER_* AWS_* GCS_PROJECT_ID FTP_*",
        Effect.HONOURED,
        "as in Scrapy; each page's items reach a local file before the page counts as done",
    ),
    _row("CONCURRENT_ITEMS SCRAPER_SLOT_MAX_ACTIVE_SIZE", Effect.HONOURED, "as in Scrapy"),
    _row(
        "SPIDER_MIDDLEWARES",
        Effect.PARTLY,
        "they are given items where there are pipelines, feeds or listeners, and no start requests",
        _is_on,
    ),
    _row("DOWNLOADER_MIDDLEWARES", Effect.HONOURED, "beside the crawl's own one, which holds requests for robots.txt"),
    _row("EXTENSIONS EXTENSIONS_BASE ADDONS", Effect.HONOURED, "as in Scrapy"),
    _row("CLOSESPIDER_*", Effect.HONOURED, "responses count, robots.txt and requisites too; the same command goes on"),
    _row(
        "LOG_*",
        Effect.HONOURED,
        "Scrapy's log is kept beside crawl.log once LOG_FILE, LOG_LEVEL or LOG_ENABLED is set",
    ),
    _row("STATS_CLASS STATS_DUMP STATSMAILER_RCPTS MAIL_*", Effect.HONOURED, "with the crawl's counts as aah/..."),
    _row(
        "CONCURRENT_REQUESTS CONCURRENT_REQUESTS_PER_DOMAIN CONCURRENT_REQUESTS_PER_IP DOWNLOAD_DELAY DOWNLOAD_SLOTS "
        "DOWNLOAD_DELAY_JITTER RANDOMIZE_DOWNLOAD_DELAY",
        Effect.HONOURED,
        "in this process, on top of politeness in the ICD, which holds for all workers; a domain is a pay-level domain",
    ),
    _row(
        "BOT_NAME SPIDER_MODULES NEWSPIDER_MODULE COMMANDS_MODULE TEMPLATES_DIR EDITOR SPIDER_CONTRACTS* "
        "DEFAULT_ITEM_CLASS DEFAULT_DROPITEM_LOG_LEVEL WARN_ON_GENERATOR_RETURN_VALUE FORCE_CRAWLER_PROCESS "
        "REQUEST_FINGERPRINTER_CLASS CRAWLSPIDER_FOLLOW_LINKS",
        Effect.HONOURED,
        "as in Scrapy",
    ),
    _row(
        "MEMUSAGE_* MEMDEBUG_* PERIODIC_LOG_* TELNETCONSOLE_* REACTOR_THREADPOOL_MAXSIZE",
        Effect.HONOURED,
        "as in Scrapy",
    ),
    _row("TWISTED_REACTOR ASYNCIO_EVENT_LOOP", Effect.HONOURED, "the reactor has to be asyncio's"),
    _row(
        "ROBOTSTXT_OBEY",
        Effect.NONE,
        "robots.txt is obeyed; set politeness.robots: ignore in the ICD",
        lambda value: not _is_on(value),
    ),
    _row(
        "ROBOTSTXT_PARSER ROBOTSTXT_USER_AGENT", Effect.NONE, "robots.txt is read by the crawl itself, for its own name"
    ),
    _row("USER_AGENT", Effect.NONE, "set operator, contact and title in the ICD: the user agent names them"),
    _row(
        "DEFAULT_REQUEST_HEADERS",
        Effect.NONE,
        "the crawl sends its own headers; a downloader middleware can add some",
    ),
    _row("DEPTH_LIMIT DEPTH_PRIORITY DEPTH_STATS_VERBOSE", Effect.NONE, "set scope.depth in the ICD", _is_on),
    _row(
        "RETRY_*",
        Effect.NONE,
        "set politeness.retries in the ICD; overload, timeouts and lost connections are tried again, later each time",
    ),
    _row("REDIRECT_* METAREFRESH_*", Effect.NONE, "redirects are archived, and their targets queued like any link"),
    _row("AUTOTHROTTLE_*", Effect.NONE, "set politeness.delay_factor and politeness.max_delay in the ICD", _is_on),
    _row("HTTPCACHE_*", Effect.NONE, "every fetch is archived; crawling again asks for changes only", _is_on),
    _row("HTTPPROXY_* HTTPAUTH_*", Effect.NONE, "the crawl's own client connects, by network in the ICD", _is_on),
    _row("COOKIES_*", Effect.NONE, "Scrapy's cookies are not used, only what network in the ICD says", _is_on),
    _row("JOBDIR", Effect.NONE, "the crawl's folder keeps all state: the same command goes on", _is_on),
    _row("DOWNLOAD_TIMEOUT DNS_TIMEOUT", Effect.NONE, "set politeness.timeout in the ICD"),
    _row(
        "DOWNLOAD_MAXSIZE DOWNLOAD_WARNSIZE DOWNLOAD_FAIL_ON_DATALOSS",
        Effect.NONE,
        "set limits.bytes, limits.page_bytes and limits.requisite_file_bytes in the ICD",
    ),
    _row(
        "DOWNLOAD_HANDLERS DOWNLOAD_HANDLERS_BASE DOWNLOADER DOWNLOADER_CLIENT* DOWNLOAD_TLS_* DOWNLOAD_BIND_ADDRESS "
        "DOWNLOAD_VERIFY_CERTIFICATES DNS_RESOLVER DNSCACHE_* TWISTED_DNS_RESOLVER HTTP2_* HTTPX_* COMPRESSION_ENABLED",
        Effect.NONE,
        "http and https are fetched by the crawl's own client, which records every byte; see network in the ICD",
    ),
    _row(
        "SCHEDULER SCHEDULER_* DUPEFILTER_*",
        Effect.NONE,
        "the frontier decides what is fetched, and when; requests of extensions are offered to it",
    ),
    _row(
        "DOWNLOADER_MIDDLEWARES_BASE SPIDER_MIDDLEWARES_BASE HTTPERROR_* REFERER_ENABLED REFERRER_* URLLENGTH_LIMIT "
        "DOWNLOADER_STATS",
        Effect.NONE,
        "Scrapy's own middlewares are not used; name in DOWNLOADER_MIDDLEWARES what you need",
    ),
    _row("LOGSTATS_INTERVAL", Effect.NONE, "the terminal and crawl.json tell how far the crawl is", _is_on),
    _row("REMOTE_CONTROL_*", Effect.NONE, "operators use aah frontier and aah serve", _is_on),
    _row(
        "FILES_* IMAGES_* MEDIA_ALLOW_REDIRECTS",
        Effect.PARTLY,
        "media pipelines fetch past robots.txt, delays and the archive; the crawl archives images and files by itself",
        _is_on,
    ),
    _row(
        "TWISTED_REACTOR_ENABLED",
        Effect.NONE,
        "scrapy crawl needs the reactor; workers do without it",
        lambda value: not _is_on(value),
    ),
)


def without_effect(settings: BaseSettings) -> Iterator[str]:
    """Yield a line for each setting that somebody has set and that a crawl does not go by, or not wholly."""
    least = SETTINGS_PRIORITIES["project"]
    for name in sorted(settings):
        if (settings.getpriority(name) or 0) >= least and (row := _row_of(name)) is not None:
            value = settings.get(name)
            if row.effect is not Effect.HONOURED and row.matters(value) and not _is_ours(value):
                how = "has no effect" if row.effect is Effect.NONE else "has effect in part only"
                yield f"the setting {name} {how}: {row.said}"


def _row_of(name: str) -> SettingSupport | None:
    return next((row for row in SUPPORT if row.covers(name)), None)


def _is_ours(value: object) -> bool:
    return str(value).startswith(_OURS)
