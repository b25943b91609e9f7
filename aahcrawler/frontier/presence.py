"""The workers of a shared server: which are alive, what each does, and which one holds each exclusive role.

There is no central list: a worker sends heartbeats, and counts as gone after ``SILENCE`` without one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

SILENCE = 15.0
"""Seconds after which a worker that says nothing is taken for gone, and its roles are given to others."""


class Doing(NamedTuple):
    """What a worker does for a crawl: the sites it fetches from, else its next site and when, in seconds since 1970.

    ``next_at`` is None where that is not known. ``pause`` says why it fetches nothing new, empty while it does.
    """

    sites: Sequence[str] = ()
    next_site: str = ""
    next_at: float | None = None
    pause: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that is alive. ``started_at`` is in seconds since 1970.

    ``crawls`` has the numbers of each crawl that it serves, counted since it was started: ``pages``, ``bytes`` and
    other tallies of the crawl, and ``out``, the number of URLs it is fetching. ``doing`` is what it does for each.
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
        """Report that a worker is alive, and what it does."""
        ...

    def leave(self, name: str) -> None:
        """Unregister a worker; its roles are free at once."""
        ...

    def workers(self) -> Sequence[Worker]:
        """Return all workers that are alive, by name."""
        ...

    def hold(self, role: str, name: str) -> bool:
        """Take a role that is free, or keep it for another ``SILENCE``; False while another worker has it."""
        ...
