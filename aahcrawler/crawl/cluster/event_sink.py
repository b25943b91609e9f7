"""Events of a worker on their way to the server, where all workers' events are."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

from aahcrawler.crawl.stats.crawl_log import CURRENT_CRAWL
from aahcrawler.frontier.event_log import LONGEST, EventLog, WorkerEvent
from aahcrawler.frontier.protocol import FrontierUnavailableError

EVERY = 0.5
"""Seconds between two deliveries."""
MOST_WAITING = 10_000
"""Events that wait while the server cannot be reached; the oldest of more are lost, and counted."""
_MOST_AT_ONCE = 1000


class EventSink(logging.Handler):
    """Takes events from any thread, never waits, and hands them to the server's log when told to."""

    def __init__(self, log: EventLog, worker: str) -> None:
        super().__init__()
        self._log = log
        self._worker = worker
        self._waiting: deque[WorkerEvent] = deque()
        self._lost = 0
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        """Take an event."""
        try:
            self._take(record)
        except Exception:  # Whatever cannot be written as text is no reason to fail.
            self.handleError(record)

    def _take(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info:
            text = f"{text} {self._formatter.formatException(record.exc_info)}"
        elif record.exc_text:
            text = f"{text} {record.exc_text}"
        message = text[:LONGEST].replace("\r", " ").replace("\n", " | ")
        at, subsystem = datetime.fromtimestamp(record.created, UTC), record.name.removeprefix("aahcrawler.")
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(WorkerEvent(at, self._worker, CURRENT_CRAWL.get(), record.levelname, subsystem, message))

    async def run(self) -> None:
        """Hand on what comes, until cancelled; what cannot be delivered waits."""
        while True:
            await asyncio.sleep(EVERY)
            await self.deliver()

    async def deliver(self) -> None:
        """Hand on what waits, as far as the server takes it."""
        while self._waiting:
            part = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_AT_ONCE))]
            try:
                await asyncio.to_thread(self._log.put, (*self._of_the_lost(part), *part))
            except FrontierUnavailableError:
                self._waiting.extendleft(reversed(part))
                return
            self._lost = 0

    def _of_the_lost(self, part: Sequence[WorkerEvent]) -> tuple[WorkerEvent, ...]:
        if not self._lost:
            return ()
        message = f"{self._lost} events before this one are lost: the server could not be reached"
        return (WorkerEvent(part[0].at, self._worker, "", "WARNING", "crawl.cluster.event_sink", message),)
