"""Space on the disk and memory of the process: a crawl pauses before the one is gone, and keeps the other small.

Nothing is fetched while a crawl pauses, so what had been fetched before is all that has to be written. What the system
refuses to write all the same waits in memory, with its lease, until it can be written.

All threads take it from one place, and garbage in reference cycles is collected more rarely.
"""

import asyncio
import ctypes
import gc
import logging
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar, cast

from aahcrawler.crawl.health.outages import is_full

logger = logging.getLogger(__name__)

RESERVE = 256_000_000
"""Bytes that are left free where the definition does not say."""
SHARE = 0.03
"""No more of a file system than this is left free where the definition does not say: small ones stay usable."""
SLACK = 1.25
"""A crawl that pauses goes on when this many times the reserve is free: it would stop and go at the very edge."""
LOOK_EVERY = 1.0
"""Seconds between two looks at the free space."""
MAX_REST = 10.0
"""Seconds between two tries at most, where the free space does not tell: quotas, file systems without inodes."""


T = TypeVar("T")


class Usage(Protocol):
    """The size of a file system, and the part of it that this user may still write, in bytes."""

    @property
    def total(self) -> int:
        """All of it."""

    @property
    def free(self) -> int:
        """The bytes that may still be written."""


Measure = Callable[[Path], Usage]


class DiskSpace:
    """Pauses a crawl while its disk is full, and makes writes again that were refused.

    States: open -> paused -> open. A crawl is paused while one of the ``folders`` has less than the reserve left,
    from then on until a quarter more than the reserve is free; and while a write that was refused waits to be made
    again. ``reserve`` are bytes, None for the default. Nobody waits any longer once ``ending`` is set.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        reserve: int | None,
        ending: asyncio.Event,
        measure: Measure = shutil.disk_usage,
    ) -> None:
        self._folders = folders
        self._reserve = reserve
        self._ending = ending
        self._measure = measure
        self._below = ""
        self._refused: dict[object, str] = {}
        self._was_short = False
        self.changed: list[Callable[[], None]] = []
        """Called after each change between open and paused."""

    @property
    def is_short(self) -> bool:
        """Whether the crawl is paused."""
        return bool(self._below or self._refused)

    @property
    def why(self) -> str:
        """Why the crawl is paused and what to do, empty while it is not."""
        return next(iter(self._refused.values()), self._below)

    def look(self) -> None:
        """Measure the free space. A folder that cannot be measured is taken to have some: writing to it will tell."""
        slack = SLACK if self._below else 1.0
        self._below = next((shortage for folder in self._folders if (shortage := self._shortage(folder, slack))), "")
        self._notify()

    async def watch(self) -> None:
        """Look again and again."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY)

    async def retry(self, write: Callable[[], Awaitable[T]]) -> T:
        """Make a write, and make it again for as long as the disk is full.

        Raise what the write raises for other reasons, and, once the crawl is ending, for a full disk as well. The
        write has to have changed nothing when it is refused.
        """
        waiting, rest = object(), LOOK_EVERY
        try:
            while True:
                try:
                    return await write()
                except Exception as error:
                    if not is_full(error) or self._ending.is_set():
                        raise
                    self._refused[waiting] = str(error)
                self._notify()
                await self._rest(rest)
                rest = min(2 * rest, MAX_REST)
        finally:
            if self._refused.pop(waiting, None) is not None:
                self._notify()

    async def _rest(self, seconds: float) -> None:
        """Wait for that long where the disk has space as far as can be measured, else until it has."""
        clock = asyncio.get_running_loop().time
        until, came_free = clock() + seconds, False
        while not self._ending.is_set():
            was_below = bool(self._below)
            self.look()
            came_free = came_free or (was_below and not self._below)
            if not self._below and (came_free or clock() >= until):
                return
            await self._pause()

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), LOOK_EVERY)

    def _shortage(self, folder: Path, slack: float) -> str:
        try:
            usage = self._measure(folder)
        except OSError:
            return ""
        reserve = min(RESERVE, int(SHARE * usage.total)) if self._reserve is None else self._reserve
        if usage.free >= reserve * slack:
            return ""
        wanted = _megabytes(reserve * slack)
        return (
            f"{_megabytes(usage.free)} are free in {folder} and archive.reserve keeps {_megabytes(reserve)}; "
            f"make room, the crawl goes on by itself when {wanted} are free"
        )

    def _notify(self) -> None:
        if self.is_short == self._was_short:
            return
        self._was_short = self.is_short
        if self.is_short:
            logger.warning("paused: %s", self.why)
        else:
            logger.warning("the disk has space again, the crawl goes on")
        for listener in self.changed:
            listener()


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


SYNC_EVERY = 1.0
"""Seconds that a power failure may take."""


class Store(Protocol):
    """A store that can be forced to disk beside the thread that writes to it."""

    def sync(self) -> None:
        """Force what was written to disk."""
        ...


@contextmanager
def synced(*stores: Store, every: float = SYNC_EVERY) -> Iterator[None]:
    """Force stores to disk again and again, in a thread of its own, until the block ends."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(every):
            for store in stores:
                store.sync()

    thread = threading.Thread(target=keep, name="syncing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


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
