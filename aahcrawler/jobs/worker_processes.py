"""Processes that share the work of a job."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process


def own_processes(count: int, begin: Callable[[], object] | None = None) -> ProcessPoolExecutor:
    """Return an executor with processes that inherit nothing, and that end when this one is killed.

    Each calls ``begin``, which can be pickled, before all else.
    """
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin, initargs=(begin,))


def _begin(begin: Callable[[], object] | None) -> None:
    threading.Thread(target=_wait_for_parent, daemon=True).start()
    if begin is not None:
        begin()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
