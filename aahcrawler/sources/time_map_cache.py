"""Keeps TimeMaps, so that no archive is asked twice for one: a SQLite file that may be removed at any time."""

import json
import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from aahcrawler.sources.link_format import ListedMemento

KEPT_SECONDS: Final = 30 * 86400.0
"""How long what an archive has of a URL is taken for all that it has."""
_TABLE: Final = "CREATE TABLE IF NOT EXISTS time_map (address TEXT PRIMARY KEY, at REAL, mementos BLOB) WITHOUT ROWID"
logger = logging.getLogger(__name__)


class TimeMapCache:
    """The cache in the file ``path``; None keeps nothing. Faults of the disk are logged, and nothing is kept then.

    Several processes may use one file, and several threads the cache, one after another. ``clock`` gives seconds since
    1970.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._base: sqlite3.Connection | None = None
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = self._opened(path)
        except (OSError, sqlite3.Error) as error:
            logger.warning("%s: TimeMaps are not kept: %s", path, error)

    def get(self, address: str) -> Sequence[ListedMemento] | None:
        """Return the mementos that the TimeMap at an address listed, None where that is not known, or long ago."""
        with suppress(sqlite3.Error, zlib.error, ValueError, TypeError):
            if self._base is not None:
                row = self._base.execute("SELECT at, mementos FROM time_map WHERE address = ?", (address,)).fetchone()
                if row is not None and self._clock() - row[0] < KEPT_SECONDS:
                    listed = json.loads(zlib.decompress(row[1]))
                    return tuple(ListedMemento(uri, datetime.fromisoformat(date)) for uri, date in listed)
        return None

    def put(self, address: str, mementos: Sequence[ListedMemento]) -> None:
        """Keep what the TimeMap at an address lists, all of its pages."""
        if self._base is None:
            return
        listed = zlib.compress(json.dumps([(each.uri, each.date.isoformat()) for each in mementos]).encode())
        try:
            with self._base:
                self._base.execute("INSERT OR REPLACE INTO time_map VALUES (?, ?, ?)", (address, self._clock(), listed))
        except sqlite3.Error as error:
            logger.warning("TimeMaps are not kept: %s", error)

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._base is not None:
            self._base.close()
            self._base = None

    @staticmethod
    def _opened(path: Path) -> sqlite3.Connection:
        base = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
        try:
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = OFF")
            base.execute(_TABLE)
        except sqlite3.DatabaseError as error:
            base.close()
            if error.sqlite_errorname in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
                path.unlink()
                return TimeMapCache._opened(path)
            raise
        return base
