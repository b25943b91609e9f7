"""Events of crawls as they happen: one reader for each crawl, however many clients, and none without clients."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from aahcrawler.event_index import Event, EventIndex, EventQuery, EventSearchError, read_line
from aahcrawler.layout import FORMER, LOG
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.crawl_state import CrawlStates, CrawlStatus
from aahcrawler.service.views.page_list import list_place
from aahcrawler.service.web.problems import BAD_SEARCH, TOO_MANY_STREAMS, ProblemError, Shown

MAX_EVENTS: Final = 500
"""Events of one page at most."""
INDEXED_SECONDS: Final = 0.15
"""Seconds for which the log is read on for one request; some thousand lines more are taken in at least."""


class LoggedEvent(Shown):
    """An event: its time (ISO 8601, UTC), severity, the number of its crawl, subsystem and message."""

    at: str
    level: str
    crawl: int
    subsystem: str
    message: str


class EventsPage(Shown):
    """Some events, those logged last first, and where to go on; empty at the end.

    Of a long log that is looked at for the first time ``unread`` bytes, the newest, are read when it is asked again.
    """

    events: tuple[LoggedEvent, ...]
    unread: int
    next: str = ""


def events_page(crawl: Crawl, query: EventQuery, after: str = "", most: int = 100) -> EventsPage:
    """Return some events of a crawl's folder. Raise ``ProblemError`` for what cannot be looked for."""
    if crawl.folder is None or not ((crawl.folder / LOG).is_file() or any((crawl.folder / FORMER).glob(f"*/{LOG}"))):
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


MAX_STREAMS: Final = 64
"""Streams that are open at once, of all crawls."""
SILENCE: Final = 15.0
"""Seconds without an event after which a stream says that it is still there."""
EVERY, SELDOM = 1.0, 5.0
"""Seconds between two looks while something changes, and while nothing does."""
_MAX_BYTES = 1 << 16
"""Bytes of the log that are read at once; of more, those before the last ones are passed over."""
_WAITING = 100
"""Events that wait for a slow client; of more, the oldest are dropped."""


_logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class LogLines(Shown):
    """New events of the log; ``skipped`` bytes before them were passed over, since there were too many at once."""

    lines: tuple[LoggedEvent, ...]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """A new state of a crawl, or new lines of its log; ``place`` is where to go on after these lines."""

    content: CrawlStatus | LogLines
    place: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the log of a crawl with a number: everything before it was seen."""

    crawl: int
    offset: int

    def __str__(self) -> str:
        return f"{self.crawl}-{self.offset}"

    @classmethod
    def parse(cls, text: str) -> "_Place | None":
        crawl, _, offset = text.partition("-")
        is_place = len(text) < 40 and crawl.isdecimal() and offset.isdecimal()
        return cls(int(crawl), int(offset)) if is_place else None


@dataclass(slots=True, eq=False)
class _Channel:
    """The reader of a crawl and its listeners; None in a listener's queue ends its stream."""

    name: str
    listeners: set[asyncio.Queue[LiveEvent | None]] = field(default_factory=set)
    place: _Place | None = None
    status: CrawlStatus | None = None
    reader: asyncio.Task[None] | None = None

    def tell(self, event: LiveEvent | None) -> None:
        """Tell everybody."""
        for listener in self.listeners:
            if listener.full():
                listener.get_nowait()
            listener.put_nowait(event)


class LiveFeed:
    """Follows crawls for any number of clients. All but ``close`` is for the tasks of one event loop."""

    def __init__(self, reach: CrawlRegistry, states: CrawlStates, most: int = MAX_STREAMS) -> None:
        self._reach, self._states, self._most = reach, states, most
        self._channels: dict[str, _Channel] = {}
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="live")
        self._is_closed = False

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return sum(len(channel.listeners) for channel in self._channels.values())

    @property
    def followed(self) -> frozenset[str]:
        """The crawls that are being followed, by id."""
        return frozenset(self._channels)

    async def check(self, name: str) -> None:
        """Raise ``ProblemError`` if there is no such crawl, or too many streams are open."""
        if self.streams >= self._most:
            raise ProblemError(TOO_MANY_STREAMS, "close another one first", headers={"Retry-After": "10"})
        await self._run(self._reach.crawl, name)

    async def events(self, name: str, after: str = "", silence: float = SILENCE) -> AsyncIterator[LiveEvent | None]:
        """Yield the state of a crawl and its events as they happen, and None after each ``silence`` seconds without.

        ``after`` is the ``place`` of the last lines that the client saw; the latest lines since then come first. The
        stream ends when the crawl is not known any more.
        """
        if self._is_closed or self.streams >= self._most:
            return
        channel = self._channels.setdefault(name, _Channel(name))
        listener: asyncio.Queue[LiveEvent | None] = asyncio.Queue(_WAITING)
        channel.listeners.add(listener)
        if channel.reader is None or channel.reader.done():
            channel.reader = asyncio.create_task(self._follow(channel))
        try:
            if channel.status is not None:
                yield LiveEvent(channel.status)
            seen, present = _Place.parse(after), channel.place
            if seen is not None:
                missed = await self._run(self._missed, name, seen, present)
                if missed is not None:
                    yield missed
            while True:
                try:
                    event = await asyncio.wait_for(listener.get(), silence)
                except TimeoutError:
                    yield None
                    continue
                if event is None:
                    return
                yield event
        finally:
            channel.listeners.discard(listener)
            if not channel.listeners:
                self._forget(channel)
                channel.reader.cancel()

    @property
    def is_over(self) -> bool:
        """Whether streams are to end, since the service does."""
        return self._is_closed

    def end(self) -> None:
        """End all streams."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.tell(None)

    def close(self) -> None:
        """Wait for looks that are under way."""
        self._is_closed = True
        self._threads.shutdown()

    async def _follow(self, channel: _Channel) -> None:
        """Read while there are listeners. If reading fails, the streams end, and a new request gets the reason."""
        try:
            pause = EVERY
            while True:
                has_changed = await self._step(channel)
                pause = EVERY if has_changed else min(SELDOM, pause * 1.5)
                await asyncio.sleep(pause)
        except ProblemError as problem:
            _logger.info("%s is not followed any more: %s", channel.name, problem.detail)
        except Exception:
            _logger.exception("%s cannot be followed", channel.name)
        self._forget(channel)
        channel.tell(None)

    async def _step(self, channel: _Channel) -> bool:
        """Read once and pass on what is new; return whether anything was."""
        events, channel.place = await self._run(self._look, channel.name, channel.place)
        has_changed = False
        for event in events:
            is_new = isinstance(event.content, LogLines) or _differ(event.content, channel.status)
            if isinstance(event.content, CrawlStatus):
                channel.status = event.content
            if is_new:
                channel.tell(event)
            has_changed = has_changed or is_new
        return has_changed

    def _forget(self, channel: _Channel) -> None:
        if self._channels.get(channel.name) is channel:
            del self._channels[channel.name]

    def _look(self, name: str, place: _Place | None) -> tuple[list[LiveEvent], _Place | None]:
        crawl = self._reach.crawl(name)
        events = [LiveEvent(self._states.status(crawl))]
        size = _size(crawl)
        if size is None:
            return events, _Place(crawl.number, 0)
        if place is None:
            return events, _Place(crawl.number, size)
        begin = place.offset if place.crawl == crawl.number and place.offset <= size else 0
        lines, end = _read(crawl, begin, size)
        if lines is not None:
            events.append(LiveEvent(lines, str(_Place(crawl.number, end))))
        return events, _Place(crawl.number, end)

    def _missed(self, name: str, seen: _Place, present: _Place | None) -> LiveEvent | None:
        """Return the lines logged between two places, up to the end of the log if ``present`` is None."""
        crawl = self._reach.crawl(name)
        size = present.offset if present is not None else _size(crawl)
        if size is None or seen.crawl != crawl.number or seen.offset >= size:
            return None
        lines, end = _read(crawl, seen.offset, size)
        return LiveEvent(lines, str(_Place(crawl.number, end))) if lines is not None else None

    async def _run(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: operation(*args, **kwargs))


def _differ(one: CrawlStatus, other: CrawlStatus | None) -> bool:
    """Return whether two states of a crawl differ in anything but free disk space and rates."""
    if other is None:
        return True
    return one.model_copy(update=_PASSING) != other.model_copy(update=_PASSING)


_PASSING: Final = {"disk": None, "rates": ()}


def _log(crawl: Crawl) -> Path | None:
    return crawl.folder / LOG if crawl.folder is not None else None


def _size(crawl: Crawl) -> int | None:
    """Return how long the log of a crawl is, None where it has none here."""
    path = _log(crawl)
    try:
        return path.stat().st_size if path is not None else None
    except OSError:
        return None


def _read(crawl: Crawl, begin: int, end: int) -> tuple[LogLines | None, int]:
    """Return the whole lines of the log between two places, the last of them, and the end of the last one."""
    path, first = _log(crawl), max(begin, end - _MAX_BYTES)
    if path is None or begin >= end:
        return None, begin
    with path.open("rb") as file:
        file.seek(first)
        text = file.read(end - first)
    if first > begin:
        skipped = text.find(b"\n") + 1
        first, text = first + skipped, text[skipped:]
    whole = text[: text.rfind(b"\n") + 1]
    events = (read_line(line, crawl.number) for line in whole.splitlines())
    lines = tuple(_shown(event) for event in events if event is not None)
    if not lines:
        return None, first + len(whole)
    return LogLines(lines=lines, skipped=first - begin), first + len(whole)


def _shown(event: Event) -> LoggedEvent:
    return LoggedEvent(
        at=event.at, level=event.level, crawl=event.crawl, subsystem=event.subsystem, message=event.message
    )
