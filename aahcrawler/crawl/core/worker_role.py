"""A process's part in a crawl that others may work on as well."""

from dataclasses import dataclass
from typing import Protocol


class Part(Protocol):
    """A process's part in a crawl."""

    @property
    def is_alone(self) -> bool:
        """Whether nobody else works on the crawl."""

    @property
    def leads(self) -> bool:
        """Whether this process, of all that work on the crawl, keeps its time."""

    @property
    def keeps(self) -> bool:
        """Whether this process, of all in its folder, writes what that has one of."""


@dataclass(frozen=True, slots=True)
class Alone:
    """The part of a process that nobody else works beside."""

    is_alone: bool = True
    leads: bool = True
    keeps: bool = True
