"""How a crawl's folder is had back from those who look at the crawl while it rests.

They run its frontier's server meanwhile, and so have the folder to themselves; ``lending`` locks a file for as long.
Whoever needs the folder leaves a note beside the server, on which they let go within a moment.
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
"""Seconds for which a note holds."""
_SECONDS, _PAUSE = 15.0, 0.1
"""Seconds that they are given, and between two attempts."""


def lending(frontier: Path) -> BaseFileLock:
    """Return the lock that is held from before the folder is taken in order to look until after it is left.

    A lock ends with its process, and leaves no moment between the server's end and the folder's release.
    """
    return FileLock(frontier / _LENDING, timeout=0, thread_local=False)


def taken_back(frontier: Path, attempt: Callable[[], bool]) -> bool:
    """Attempt to have a folder until those who look at its crawl have let go; return whether that came to pass.

    The first attempt is made at once, and the only one where nobody looks.
    """
    if attempt():
        return True
    deadline = time.monotonic() + _SECONDS
    while _is_lent(frontier) and time.monotonic() < deadline:
        with open(frontier / _NOTE, "w", encoding="utf-8", opener=private) as note:
            note.write("\n")
        time.sleep(_PAUSE)
        if attempt():
            (frontier / _NOTE).unlink(missing_ok=True)
            return True
    return False


def _is_lent(frontier: Path) -> bool:
    if not (frontier / _LENDING).exists():
        return False
    lock = lending(frontier)
    is_free = acquired(lock)
    lock.release()
    return not is_free


def acquired(lock: BaseFileLock) -> bool:
    """Try to acquire a lock that does not wait; return whether it is held now."""
    try:
        lock.acquire()
    except Timeout:
        return False
    return True


def is_wanted(frontier: Path) -> bool:
    """Say whether somebody needed the folder within the last seconds."""
    try:
        return time.time() - (frontier / _NOTE).stat().st_mtime < _NOTE_SECONDS
    except OSError:
        return False
