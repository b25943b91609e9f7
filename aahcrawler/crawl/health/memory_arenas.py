"""Have all threads of a crawl take memory from one place, where the C library can be asked to (glibc)."""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import cast

_M_ARENA_MAX = -8


def share_one_arena() -> None:
    """Have threads that begin from now on take memory from the same place as all others.

    Else each has a place of its own, in which what it has freed stays: that of a knowledge base which a thread has
    loaded, for one. Nobody waits for that place, as Python runs one thread at a time.
    """
    with suppress(OSError, AttributeError):
        mallopt = cast("Callable[[int, int], int]", ctypes.CDLL(None).mallopt)
        mallopt(_M_ARENA_MAX, 1)
