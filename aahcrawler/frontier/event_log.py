"""The protocol of a log that collects the events of all workers of a server."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

LONGEST = 2000
"""Characters of an event that are kept."""


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """An event logged by a worker.

    ``at`` is by the worker's clock; ``crawl`` is empty where the event concerns none.
    """

    at: datetime
    worker: str
    crawl: str
    level: str
    subsystem: str
    message: str

    def __str__(self) -> str:
        """Format the event as a line of ``crawl.log``, with worker and crawl."""
        time = f"{self.at:%Y-%m-%dT%H:%M:%S}.{self.at.microsecond // 1000:03}Z"
        return f"{time} {self.level} {self.worker} {self.crawl or '-'} {self.subsystem} {self.message}"


class EventLog(Protocol):
    """A log of events. Errors are those of ``protocol.Scheduling``."""

    def put(self, events: Sequence[WorkerEvent]) -> None:
        """Append events."""
        ...

    def read(self, after: str = "") -> Iterator[tuple[str, WorkerEvent]]:
        """Yield the stored events in the order of their arrival, each with its place.

        Only events after the place ``after`` are yielded.
        """
        ...
