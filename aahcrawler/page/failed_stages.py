"""Stages of reading a page that failed: each costs its own result, and is told."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")

_LONGEST = 200
_OWN = ("aahcrawler", "knowledge_base", "online_analysis", "offline")
_MOST = 100
"""Different failures of one page that are kept."""


class PageGivenUpError(BaseException):
    """Raised where a page takes so long that it is not read any further.

    It is no ``Exception``, so that neither a stage nor a library holds it up.
    """


@dataclass(frozen=True, slots=True)
class FailedStage:
    """A stage of reading that raised: its name, and what was raised where (``KeyError: 'a' (outline.py:71)``)."""

    stage: str
    error: str


class FailedStages:
    """What failed on one page so far, each failure once."""

    def __init__(self) -> None:
        self._found: dict[FailedStage, None] = {}

    def __iter__(self) -> Iterator[FailedStage]:
        return iter(tuple(self._found))

    def attempt(self, stage: str, work: Callable[[], T], otherwise: Callable[[], T]) -> T:
        """Return the result of a stage; where it raises, note that and return what there is without it.

        Errors of this machine are raised: memory that is spent, and what the operating system refused.
        """
        try:
            return work()
        except Exception as error:
            if is_of_machine(error):
                raise
            self.add(stage, error)
        return otherwise()

    def add(self, stage: str, error: BaseException) -> None:
        """Note that a stage raised an error."""
        self.take((FailedStage(stage, error_text(error)),))

    def take(self, failed: Iterable[FailedStage]) -> None:
        """Note stages that raised."""
        for each in failed:
            if len(self._found) < _MOST:
                self._found[each] = None


def is_of_machine(error: BaseException) -> bool:
    """Return whether an error says something of this machine, and nothing of a page.

    Libraries raise ``OSError`` without a number for documents that they cannot read.
    """
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None)


def error_text(error: BaseException) -> str:
    """Return an error in one line, with the innermost line of this project that it came from."""
    said = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
    place = _place(error.__traceback__)
    return f"{said} ({place})" if place else said


def _place(traceback: TracebackType | None) -> str:
    place = ""
    for frame, line in walk_tb(traceback):
        module = str(frame.f_globals.get("__name__", ""))
        if module != __name__ and module.partition(".")[0] in _OWN:
            place = f"{Path(frame.f_code.co_filename).name}:{line}"
    return place
