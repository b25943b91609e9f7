"""The crawl's log: one line an event, with time, severity and subsystem."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FORMAT = "%(asctime)s.%(msecs)03dZ %(levelname)s %(subsystem)s %(message)s"


class EventFormatter(logging.Formatter):
    """Formats ``2026-01-31T12:00:00.000Z WARNING crawl.robots ...``; line breaks inside an event become spaces."""

    def __init__(self) -> None:
        super().__init__(FORMAT, datefmt="%Y-%m-%dT%H:%M:%S")
        self.converter = time.gmtime

    def format(self, record: logging.LogRecord) -> str:
        """Return the event as one line."""
        record.subsystem = record.name.removeprefix("aahcrawler.")
        return super().format(record).replace("\r", " ").replace("\n", " | ")


class EventFile(logging.FileHandler):
    """Appends events to a file. A disk that is full is reported by those who cannot do without it."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is logging's
        """Let an event go that cannot be written, silently where the operating system refuses it."""
        if not isinstance(sys.exception(), OSError):
            super().handleError(record)


@contextmanager
def keep_events(path: Path) -> Iterator[None]:
    """Append events of severity INFO and above to a file; what Scrapy says only from WARNING on."""
    handler = EventFile(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(EventFormatter())
    root, scrapy = logging.getLogger(), logging.getLogger("scrapy")
    levels = root.level, scrapy.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    scrapy.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        scrapy.setLevel(levels[1])
        handler.close()
