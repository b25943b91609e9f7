"""The crawl's log: one line an event, with time, severity and subsystem."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import TextIOWrapper
from pathlib import Path
from typing import cast

from aahcrawler.credentials.given import Masks
from aahcrawler.segments import private

FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)s %(subsystem)s %(message)s"


class EventFormatter(logging.Formatter):
    """Formats ``2026-01-31T12:00:00.000Z WARNING crawl.core.job ...``; line breaks inside an event become spaces."""

    def __init__(self) -> None:
        super().__init__(FORMAT)
        self._last = (0, "")

    def format(self, record: logging.LogRecord) -> str:
        """Return the event as one line."""
        record.subsystem = record.name.removeprefix("aahcrawler.")
        return super().format(record).replace("\r", " ").replace("\n", " | ")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: ARG002, N802
        """Return the second of an event in UTC; many events are of the same one."""
        second, text = self._last
        if second != int(record.created) or not text:
            second = int(record.created)
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._last = (second, text)
        return text


class EventFile(logging.FileHandler):
    """Appends events to a file. A disk that is full is reported by those who cannot do without it."""

    def _open(self) -> TextIOWrapper:
        return cast(
            "TextIOWrapper",
            open(self.baseFilename, self.mode, encoding=self.encoding, errors=self.errors, opener=private),
        )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Let an event go that cannot be written, silently where the operating system refuses it."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


CURRENT_CRAWL: ContextVar[str] = ContextVar("crawl", default="")
"""The id of the crawl that this is about, empty where it is about none: a process may serve several."""


class CrawlFilter(logging.Filter):
    """Lets the events of one crawl pass, and those that are of none."""

    def __init__(self, crawl: str) -> None:
        super().__init__()
        self._crawl = crawl

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - events are logged where they happen
        """Say whether an event belongs to the crawl."""
        return CURRENT_CRAWL.get() in ("", self._crawl)


class _Concealing(logging.Filter):
    """Masks secrets in events, for all crawls of the process: they are never in a log, whatever a site says."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: frozenset[str] = frozenset()
        self.masks: Masks | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask an event, and let it pass."""
        if self.masks is not None:
            record.msg, record.args = self.masks.masked_text(record.getMessage()), None
            if record.exc_info:
                record.exc_text = self.masks.masked_text(_PLAIN.formatException(record.exc_info))
                record.exc_info = None
        return True


_PLAIN = logging.Formatter()
_CONCEALING = _Concealing()


def conceal(secrets: frozenset[str]) -> None:
    """Mask these secrets, and tokens in URLs, in all that this process logs and says from now on."""
    if secrets:
        _CONCEALING.secrets |= secrets
        _CONCEALING.masks = Masks(_CONCEALING.secrets, tokens=True)


def concealed(text: str) -> str:
    """Return a text without the secrets that are concealed."""
    return text if _CONCEALING.masks is None else _CONCEALING.masks.masked_text(text)


@contextmanager
def keep_events(path: Path, crawl: str = "") -> Iterator[None]:
    """Append events of severity INFO and above to a file; what Scrapy says only from WARNING on.

    Events of another ``crawl`` of this process are left out.
    """
    handler = EventFile(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(EventFormatter())
    handler.addFilter(CrawlFilter(crawl))
    with listening(handler):
        yield


class EventFilter(logging.Filter):
    """Lets events of severity INFO and above pass; what Scrapy says only from WARNING on."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether something is an event."""
        return record.levelno >= (logging.WARNING if record.name.startswith("scrapy.") else logging.INFO)


@contextmanager
def listening(handler: logging.Handler) -> Iterator[None]:
    """Give a handler all events of severity INFO and above while the body runs; of Scrapy's only from WARNING on.

    What libraries say of the text that they find on a page, or do not find, is no event. Other handlers, Scrapy's own
    log for one, get what they would get without. Bodies may begin and end in any order.
    """
    root = logging.getLogger()
    if not _LISTENING:
        _LEVELS.update({name: logging.getLogger(name).level for name in _LOGGER_LEVELS})
    is_alone = not set(root.handlers) - _LISTENING
    handler.addFilter(EventFilter())
    _LISTENING.add(handler)
    handler.addFilter(_CONCEALING)
    root.addHandler(handler)
    for name, level in _LOGGER_LEVELS.items():
        logger = logging.getLogger(name)
        logger.setLevel(level if is_alone or name == "trafilatura" else min(level, logger.level))
    try:
        yield
    finally:
        root.removeHandler(handler)
        _LISTENING.discard(handler)
        if not _LISTENING:
            for name, level in _LEVELS.items():
                logging.getLogger(name).setLevel(level)
        handler.close()


_LISTENING: set[logging.Handler] = set()
_LEVELS: dict[str, int] = {}
"""The levels of loggers before anybody listened: logging is one for all of a process."""

_LOGGER_LEVELS = {"": logging.INFO, "scrapy": logging.WARNING, "trafilatura": logging.CRITICAL}
"""The least severity of a logger that is logged, the root's under an empty name."""
