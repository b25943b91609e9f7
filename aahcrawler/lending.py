"""Take a resting crawl's folder back from processes that look at the crawl.

Such a process runs the crawl's frontier server, holds the folder's lock, and also holds the lock file of ``lending``.
Whoever needs the folder for itself leaves a note beside the server's files; the holder sees it and lets go.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filelock import BaseFileLock, FileLock, Timeout

from aahcrawler.segments import private

_LENDING: Final = "server.lending"
_NOTE: Final = "server.wanted"
_NOTE_SECONDS = 10.0
"""Seconds for which a note is valid."""
_PATIENCE, _PAUSE = 15.0, 0.1
"""Seconds until the last attempt, and between two attempts."""


def lending(frontier: Path) -> BaseFileLock:
    """Return the lock that a process holds while it looks at a crawl.

    It is acquired before the folder's lock and released after it. The operating system releases it when the process
    dies, so no moment is left between the server's end and the release.
    """
    return FileLock(frontier / _LENDING, timeout=0, thread_local=False)


def take_back(frontier: Path, attempt: Callable[[], bool]) -> bool:
    """Repeat ``attempt`` until it succeeds, asking processes that look at the crawl to let go.

    Return whether it succeeded.

    The first attempt is made at once, the last one after 15 seconds. If nobody looks, two are made, without a pause.
    """
    if attempt():
        return True
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        # Looked at before the attempt: whoever looked may let go between the two.
        if is_lent := _is_lent(frontier):
            with open(frontier / _NOTE, "w", encoding="utf-8", opener=private) as note:
                note.write("\n")
            time.sleep(_PAUSE)
        if attempt():
            (frontier / _NOTE).unlink(missing_ok=True)
            return True
        if not is_lent:
            return False
    return False


def _is_lent(frontier: Path) -> bool:
    if not (frontier / _LENDING).exists():
        return False
    lock = lending(frontier)
    is_free = try_acquire(lock)
    lock.release()
    return not is_free


def try_acquire(lock: BaseFileLock) -> bool:
    """Try to acquire a lock that does not wait; return whether it is held now."""
    try:
        lock.acquire()
    except Timeout:
        return False
    return True


def is_wanted(frontier: Path) -> bool:
    """Return whether somebody has asked for the folder within the last ten seconds."""
    try:
        return time.time() - (frontier / _NOTE).stat().st_mtime < _NOTE_SECONDS
    except OSError:
        return False
