"""How those who wait for a simulation hear how far it is."""

from collections.abc import Callable
from dataclasses import dataclass


def _unheard(_: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """``reading`` hears how many more pages have been gathered, ``crawling`` how many pages another sample fetched."""

    reading: Callable[[int], None] = _unheard
    crawling: Callable[[int], None] = _unheard
