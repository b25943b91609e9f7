"""The workers of a shared server: who is there, what each does, and who does what only one may.

Nobody keeps a list. A worker says again and again that it is there; one that does not is gone after ``SILENCE``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

SILENCE = 15.0
"""Seconds after which a worker that says nothing is taken for gone, and its roles are given to others."""


class Doing(NamedTuple):
    """What a worker does for a crawl: the sites it fetches from, else the next one and when, in seconds since 1970.

    ``next_at`` is None where that is not known. ``pause`` says why it fetches nothing new, empty while it does.
    """

    sites: Sequence[str] = ()
    next_site: str = ""
    next_at: float | None = None
    pause: str = ""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker that is there. ``started_at`` are seconds since 1970.

    ``crawls`` has the numbers of each crawl that it serves, counted since it was started: ``pages``, ``bytes`` and
    others of the crawl's tallies, and ``out``, how many URLs it is fetching. ``doing`` is what it does for each.
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
    """Errors are those of ``protocol.Scheduling``."""

    def heartbeat(self, worker: Worker) -> None:
        """Say that a worker is there, and what it does."""
        ...

    def leave(self, name: str) -> None:
        """Say that a worker leaves; its roles are free at once."""
        ...

    def workers(self) -> Sequence[Worker]:
        """Return all that are there, by name."""
        ...

    def hold(self, role: str, name: str) -> bool:
        """Take an role that is free, or hold it for another ``SILENCE``; False while another worker has it."""
        ...
