"""Keep the memory of a process that crawls small.

All threads take it from one place, and garbage in reference cycles is collected more rarely.
"""

import ctypes
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import cast

YOUNG = 100_000
"""Objects that are made, beyond those that go, between two looks at the young ones.

Pages leave no cycles behind: each look is in vain, and one for every few pages takes a fortieth of a crawl's time.
"""


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage until the block ends: hardly any is made where modules are imported and a crawl is opened.

    To look through what there is, again and again as it grows, takes a seventh of the time of that.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage more rarely until the block ends, and then again among what was spared."""
    usual = gc.get_threshold()
    gc.set_threshold(YOUNG, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def spare() -> None:
    """Take what is there, but for garbage, for what stays: a crawl has been opened, and what it goes by was loaded.

    A knowledge base and its indexes are hundreds of thousands of objects that stay as long as the crawl: to look at all
    of them again and again is in vain. That they are looked at once tells the collector how many there are, and so how
    rarely it has to look at all that comes later.
    """
    gc.collect()
    gc.freeze()


_M_ARENA_MAX = -8


def share_one_arena() -> None:
    """Have threads that begin from now on take memory from the same place as all others.

    Else each has a place of its own, in which what it has freed stays: that of a knowledge base which a thread has
    loaded, for one. Nobody waits for that place, as Python runs one thread at a time.
    """
    with suppress(OSError, AttributeError):
        mallopt = cast("Callable[[int, int], int]", ctypes.CDLL(None).mallopt)
        mallopt(_M_ARENA_MAX, 1)
