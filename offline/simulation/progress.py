"""Reports the progress of a simulation."""

from collections.abc import Callable
from dataclasses import dataclass


def _unheard(_: int) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """``gathering`` hears how many more pages are gathered, ``crawling`` how many pages another sample fetched."""

    gathering: Callable[[int], None] = _unheard
    crawling: Callable[[int], None] = _unheard
