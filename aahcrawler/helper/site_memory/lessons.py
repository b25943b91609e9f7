"""What a page taught of its site, so that it can be told to another process, which did not read the page."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

MOST_LESSONS: Final = 1_000
"""The most that is kept of what one page teaches; the rest is learned from other pages."""


class Memory(Enum):
    """A part of what is remembered of sites."""

    SITES = auto()
    RECORDS = auto()
    LANGUAGES = auto()
    LINES = auto()


@dataclass(frozen=True, slots=True)
class Lesson:
    """A method of a memory that was called, and what it was told. Both can be pickled."""

    memory: Memory
    learn: Callable[..., object]
    told: tuple[object, ...]


class Lessons:
    """The first lessons since one began to listen."""

    def __init__(self) -> None:
        self._heard: list[Lesson] = []

    def __iter__(self) -> Iterator[Lesson]:
        """Yield the lessons in their order."""
        return iter(tuple(self._heard))

    def begin(self) -> None:
        """Forget what was heard."""
        self._heard.clear()

    def hear(self, memory: Memory, learn: Callable[..., object], *told: object) -> None:
        """Keep that a method of a memory was called, as long as there are not too many."""
        if len(self._heard) < MOST_LESSONS:
            self._heard.append(Lesson(memory, learn, told))
