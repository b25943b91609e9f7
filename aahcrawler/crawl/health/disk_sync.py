"""Force what a crawl writes to disk once a second, as the frontier's server does with its own file."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

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
