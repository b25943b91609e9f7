"""How those who wait for a simulation hear how far it is."""

from collections.abc import Callable
from dataclasses import dataclass


def _unheard(_: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """``gathering`` hears how many more pages are gathered, ``crawling`` how many pages another sample fetched."""

    gathering: Callable[[int], None] = _unheard
    crawling: Callable[[int], None] = _unheard
