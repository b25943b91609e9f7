"""The crawls that a shared server knows, so that any worker that can reach it may serve them (ARCOMEM, section 4.3).

States of a crawl::

    (unknown) -> active -> ended
                 ended  -> active     when it is submitted again, as the next crawl of its definition or going on

A crawl is known by the id of its definition. ``number`` counts the crawls of a definition from 1, each of which has a
frontier of its own; ``version`` counts the texts of the definition that were submitted, through all of its crawls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

LARGEST = 64_000_000
"""Bytes that a definition may have together with the files that it names."""
MAX_FILES = 1000
MAX_CRAWLS = 10_000
"""How many crawls a registry takes."""


class CrawlState(StrEnum):
    """Whether workers should serve a crawl."""

    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition as it is sent between machines: its text, and the contents of the files it names, by name.

    Raises ValueError for one that is too large to be sent.
    """

    text: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(self.text) + sum(map(len, self.files.values()))
        if size > LARGEST:
            raise ValueError(
                f"the definition and the files that it names have {size:,} bytes, and {LARGEST:,} can be sent; "
                "name shorter reference documents or lists"
            )
        if len(self.files) > MAX_FILES:
            raise ValueError(f"the definition names {len(self.files):,} files, and {MAX_FILES:,} can be sent")


@dataclass(frozen=True, slots=True)
class Registered:
    """The server's entry of a crawl.

    ``reason`` says why it ended, ``changed_at`` when its state changed last, ``begun_at`` when it was first submitted
    as the crawl with this number.
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
    """Raised where the server knows no such crawl; the message names it."""


class RegistryError(Exception):
    """Raised where the server's registry cannot be read or written; the message says why and what to do."""


class Registry(Protocol):
    """The registry of crawls; every operation is atomic.

    Errors of the server are those of ``protocol.Scheduling``; ``RegistryError`` is raised where the registry is damaged
    or of another version.
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
        """Register a crawl, or the next version of its definition where that differs from the last one.

        The crawl is then active. ``number`` is that of the crawl where it is later than the last crawl of its
        definition, which ended; ``begun_at`` is when it began, if not now. Raises ``RegistryError`` where there are too
        many crawls.
        """
        ...

    def crawls(self) -> Sequence[Registered]:
        """Return every crawl, by id."""
        ...

    def definition(self, crawl: str) -> tuple[int, Definition]:
        """Return the version number and the newest version of a crawl's definition. Raises ``UnknownCrawlError``."""
        ...

    def end(self, crawl: str, number: int, reason: str) -> bool:
        """Record that a crawl has ended; returns False, and changes nothing, where it is not the active one."""
        ...

    def keep_topic(self, crawl: str, number: int, topic: str) -> None:
        """Store what one worker has learned of a crawl's topic, for all others (``TopicState.text``)."""
        ...

    def topic(self, crawl: str, number: int) -> str | None:
        """Return the topic stored last, None where none was."""
        ...
