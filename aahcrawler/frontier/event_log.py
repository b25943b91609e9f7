"""The events of all workers of a server in one place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

LONGEST = 2000
"""Characters of an event that are kept."""


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """Something that a worker logged. ``at`` is by the worker's clock; ``crawl`` is empty where it is about none."""

    at: datetime
    worker: str
    crawl: str
    level: str
    subsystem: str
    message: str

    def __str__(self) -> str:
        """Write the event as a line, like one of ``crawl.log`` with worker and crawl."""
        time = f"{self.at:%Y-%m-%dT%H:%M:%S}.{self.at.microsecond // 1000:03}Z"
        return f"{time} {self.level} {self.worker} {self.crawl or '-'} {self.subsystem} {self.message}"


class EventLog(Protocol):
    """Errors are those of ``protocol.Scheduling``."""

    def put(self, events: Sequence[WorkerEvent]) -> None:
        """Append events."""
        ...

    def read(self, after: str = "") -> Iterator[tuple[str, WorkerEvent]]:
        """Yield the events that are kept, in the order in which they came, each with its place.

        ``after`` is the place of the last one that is not wanted.
        """
        ...
