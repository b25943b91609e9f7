"""Collect garbage in reference cycles more rarely while crawls run, and among new objects only."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

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
    """Look for garbage more rarely until the block ends, and not among what is there already.

    A knowledge base and its indexes are hundreds of thousands of objects that stay as long as the crawl: to look at all
    of them again and again is in vain, and to look once takes as long as to load the knowledge base.
    """
    usual = gc.get_threshold()
    gc.set_threshold(YOUNG, *usual[1:])
    gc.freeze()
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def keep() -> None:
    """Take what is there for what stays, the little garbage with it: what a crawl goes by was loaded while it runs."""
    gc.freeze()


def spare() -> None:
    """Take what is there for what stays, but for garbage: one more crawl has been opened."""
    gc.collect()
    gc.freeze()
