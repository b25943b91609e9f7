"""Scrapy's settings: which of them a crawl goes by, and what to use in place of the others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings


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
