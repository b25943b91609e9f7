"""What a crawl logged, found by full text, the newest first."""

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.event_index import EventIndex, EventQuery, EventSearchError
from aahcrawler.layout import FORMER, LOG
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.list_place import list_place
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError

MOST: Final = 500
"""Events of one page at most."""
INDEXED_SECONDS: Final = 0.15
"""Seconds for which the log is read on for one request; some thousand lines more are taken in at least."""


class LoggedEvent(BaseModel):
    """An event: its time (ISO 8601, UTC), severity, the number of its crawl, subsystem and message."""

    model_config = ConfigDict(frozen=True)

    at: str
    level: str
    crawl: int
    subsystem: str
    message: str


class EventsPage(BaseModel):
    """Some events, those logged last first, and where to go on; empty at the end.

    Of a long log that is looked at for the first time ``unread`` bytes, the newest, are read when it is asked again.
    """

    model_config = ConfigDict(frozen=True)

    events: tuple[LoggedEvent, ...]
    unread: int
    next: str = ""


def events_page(crawl: Crawl, query: EventQuery, after: str = "", most: int = 100) -> EventsPage:
    """Return some events of a crawl's folder. Raise ``ProblemError`` for what cannot be looked for."""
    if crawl.folder is None or not _has_logged(crawl.folder):
        return EventsPage(events=(), unread=0)
    try:
        with EventIndex(crawl.folder, INDEXED_SECONDS) as index:
            found, further = index.newest(query, most, list_place(after))
            unread = index.left
    except EventSearchError as error:
        raise ProblemError(BAD_SEARCH, str(error)) from error
    except ValueError:
        raise ProblemError(BAD_SEARCH, "`after` is not where a page of this listing ended; leave it out") from None
    events = tuple(
        LoggedEvent(at=each.at, level=each.level, crawl=each.crawl, subsystem=each.subsystem, message=each.message)
        for each in found
    )
    return EventsPage(events=events, unread=unread, next=str(further) if further else "")


def _has_logged(folder: Path) -> bool:
    return (folder / LOG).is_file() or any((folder / FORMER).glob(f"*/{LOG}"))
