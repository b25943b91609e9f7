"""How a crawl's folder is had back from those who look at the crawl while it rests.

They run its frontier's server meanwhile, and so have the folder to themselves. Whoever needs it leaves a note beside
the server, on which they let go within a moment.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from filelock import BaseFileLock, Timeout

from aahcrawler.segments import private

OWNERSHIP: Final = "server.json"
"""The file beside a frontier's server that says whose it is."""
_NOTE = "server.wanted"
_NOTE_SECONDS = 10.0
"""Seconds for which a note holds."""
_SECONDS, _PAUSE = 15.0, 0.1
"""Seconds that they are given, and between two attempts."""


def is_lent(frontier: Path) -> bool:
    """Say whether the server in a frontier's folder was started to look at a crawl at rest."""
    try:
        return json.loads((frontier / OWNERSHIP).read_bytes())["lent"] is True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def taken_back(frontier: Path, attempt: Callable[[], bool]) -> bool:
    """Attempt to have a folder until those who look at its crawl have let go; return whether that came to pass.

    The first attempt is made at once, and the only one where nobody looks.
    """
    if attempt():
        return True
    deadline = time.monotonic() + _SECONDS
    while is_lent(frontier) and time.monotonic() < deadline:
        with open(frontier / _NOTE, "w", encoding="utf-8", opener=private) as note:
            note.write("\n")
        time.sleep(_PAUSE)
        if attempt():
            (frontier / _NOTE).unlink(missing_ok=True)
            return True
    return False


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
