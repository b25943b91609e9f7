"""The crawls that a shared server knows, so that any worker that can reach it may serve them (ARCOMEM, section 4.3).

States of a crawl::

    (unknown) -> active -> ended
                 ended  -> active     when it is submitted again, to continue or as the next crawl of its definition

A crawl is identified by the id of its definition. ``number`` counts the crawls of a definition from 1, each of which
has a frontier of its own; ``version`` counts the texts of the definition that were submitted, through all of its
crawls.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

MAX_DEFINITION_BYTES = 64_000_000
"""The most bytes of a definition together with the files it names."""
MAX_FILES = 1000
MAX_CRAWLS = 10_000
"""The most crawls in a registry."""


class CrawlState(StrEnum):
    """Whether workers should serve a crawl."""

    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition as sent between machines: its text, and the contents of the files it names, by name.

    Raises ``ValueError`` if it is too large to be sent.
    """

    text: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(self.text) + sum(map(len, self.files.values()))
        if size > MAX_DEFINITION_BYTES:
            raise ValueError(
                f"the definition and the files that it names have {size:,} bytes, and {MAX_DEFINITION_BYTES:,} can be "
                "sent; name shorter reference documents or lists"
            )
        if len(self.files) > MAX_FILES:
            raise ValueError(f"the definition names {len(self.files):,} files, and {MAX_FILES:,} can be sent")


@dataclass(frozen=True, slots=True)
class Registered:
    """The registry's entry for a crawl.

    ``reason`` says why it ended; ``changed_at`` is when its state last changed, ``begun_at`` when it was first
    submitted with this number.
    """

    id: str
    number: int
    version: int
    state: CrawlState
    reason: str
    changed_at: datetime
    begun_at: datetime
    title: str = ""


class UnknownCrawlError(LookupError):
    """Raised when the server knows no such crawl; the message names it."""


class RegistryError(Exception):
    """Raised when the server's registry cannot be read or written; the message gives the reason and the remedy."""


class Registry(Protocol):
    """The registry of crawls; every operation is atomic.

    Errors of the server are those of ``protocol.Scheduling``. Raises ``RegistryError`` if the registry is damaged or
    has another version.
    """

    def submit(
        self,
        crawl: str,
        definition: Definition,
        *,
        title: str = "",
        number: int = 0,
        begun_at: datetime | None = None,
    ) -> Registered:
        """Register a crawl, or a new version of its definition if that has changed; the crawl becomes active.

        ``number`` is given if the crawl is a later one than the last known crawl of its definition, which then counts
        as ended; ``begun_at`` is when the crawl began, if not now. Raises ``RegistryError`` if there are too many
        crawls.
        """
        ...

    def crawls(self) -> Sequence[Registered]:
        """Return every crawl, by id."""
        ...

    def definition(self, crawl: str) -> tuple[int, Definition]:
        """Return the newest version of a crawl's definition, with its version number. Raises ``UnknownCrawlError``."""
        ...

    def end(self, crawl: str, number: int, reason: str) -> bool:
        """Record that a crawl has ended; return False, and change nothing, if it is not the active crawl."""
        ...

    def keep_topic(self, crawl: str, number: int, topic: str) -> None:
        """Store what one worker has learned about a crawl's topic, for all other workers (``TopicState.text``)."""
        ...

    def topic(self, crawl: str, number: int) -> str | None:
        """Return the topic stored last; None if none was stored."""
        ...


SILENCE = 15.0
"""Seconds without a heartbeat after which a worker counts as gone, and its roles are given to others."""


class Doing(NamedTuple):
    """What a worker does for a crawl: the sites it fetches from, or its next site and when, in seconds since 1970.

    ``next_at`` is None if unknown. ``pause`` says why the worker fetches nothing new; empty if it does.
    """

    sites: Sequence[str] = ()
    next_site: str = ""
    next_at: float | None = None
    pause: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that is alive. ``started_at`` is in seconds since 1970.

    ``crawls`` has the counts of each crawl that it serves, since the worker started: ``pages``, ``bytes`` and other
    counts of the crawl, and ``out``, the number of URLs it is fetching. ``doing`` says what it does for each crawl.
    """

    name: str
    host: str
    pid: int
    started_at: float
    folder: str = ""
    software: str = ""
    crawls: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    doing: Mapping[str, Doing] = field(default_factory=dict)


class Presence(Protocol):
    """The register of workers. Errors are those of ``protocol.Scheduling``."""

    def heartbeat(self, worker: Worker) -> None:
        """Report that a worker is alive, and what it is doing."""
        ...

    def leave(self, name: str) -> None:
        """Unregister a worker; its roles are free at once."""
        ...

    def workers(self) -> Sequence[Worker]:
        """Return all workers that are alive, by name."""
        ...

    def hold(self, role: str, name: str) -> bool:
        """Take a free role, or keep it for another ``SILENCE`` seconds; return False while another worker has it."""
        ...


MAX_EVENT_LENGTH = 2000
"""The most characters of an event that are stored."""


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """An event logged by a worker.

    ``at`` is by the worker's clock; ``crawl`` is empty if the event concerns no crawl.
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
        """Yield the stored events after the place ``after``, in the order of arrival, each with its place."""
        ...
