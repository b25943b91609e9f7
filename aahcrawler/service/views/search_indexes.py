"""Keeps the full-text indexes of crawls up to date, beside the searches that ask them."""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.derived_index import Standing
from aahcrawler.search import NotIndexedError, OpenFolder, SearchedFolder, SearchIndex
from aahcrawler.segments import DamageError
from aahcrawler.service.catalog.crawl_catalog import Crawl

_SHORT: Final = 0.3
"""Seconds that a search waits for what was just added."""
_LOOK_EVERY: Final = 1.0
"""Seconds for which an index that was found up to date is taken for it."""
_BREATH: Final = 0.002
_WAIT: Final = 2.0
"""Seconds between two tries where another process keeps an index."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SearchableCrawls:
    """The indexes of crawls as they are now, with the crawls' ids; ``notes`` tell of those that are not whole."""

    folders: Sequence[OpenFolder]
    ids: dict[Path, str]
    notes: tuple[str, ...]


class SearchIndexes:
    """The indexes of a service's crawls, each built by a thread of its own, which ends when it has caught up.

    May be used by several threads at once.
    """

    def __init__(self) -> None:
        self._keepers: dict[Path, _Keeper] = {}
        self._lock = threading.Lock()

    def opened(self, crawls: Iterable[Crawl]) -> SearchableCrawls:
        """Return the indexes of crawls; they catch up meanwhile. Those whose files are elsewhere are left out."""
        folders, ids, notes = list[OpenFolder](), dict[Path, str](), list[str]()
        for crawl in crawls:
            if crawl.folder is None:
                continue
            ids[crawl.folder] = crawl.id
            keeper = self._keeper(crawl.folder)
            is_whole = keeper.refresh()
            try:
                opened = keeper.searched.opened()
            except (NotIndexedError, DamageError) as error:
                _logger.info("%s", error)
                notes.append(f"{crawl.id} is not indexed yet; ask again in a moment.")
                continue
            folders.append(opened)
            reach = opened.reach
            if keeper.fault:
                notes.append(f"{crawl.id} is not indexed further: {keeper.fault}.")
            elif not (is_whole and reach.is_complete):
                share = reach.covered / reach.size if reach.size else 0.0
                notes.append(f"{crawl.id} is being indexed; {100 * share:.0f} % is found so far.")
            if reach.damaged:
                notes.append(f"{crawl.id}: {reach.damaged[0]}.")
        return SearchableCrawls(folders, ids, tuple(notes))

    def forget(self, folder: Path) -> None:
        """Let go of the index of a folder that is about to be deleted."""
        with self._lock:
            keeper = self._keepers.pop(folder, None)
        if keeper is not None:
            keeper.close()

    def close(self) -> None:
        """End all building; what was taken in stays."""
        with self._lock:
            keepers, self._keepers = list(self._keepers.values()), {}
        for keeper in keepers:
            keeper.close()

    def _keeper(self, folder: Path) -> "_Keeper":
        with self._lock:
            keeper = self._keepers.get(folder)
            if keeper is None:
                keeper = self._keepers[folder] = _Keeper(folder)
            return keeper


class _Keeper:
    """Keeps the index of one folder."""

    def __init__(self, folder: Path) -> None:
        self.searched = SearchedFolder(folder, SearchIndex(folder))
        self.fault = ""
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._sound_until = 0.0

    def refresh(self) -> bool:
        """Have the index catch up where it is behind, wait a moment for it, and return whether it has."""
        if time.monotonic() < self._sound_until:
            return True
        if self._is_sound():
            self._sound_until = time.monotonic() + _LOOK_EVERY
            return True
        self._started().join(_SHORT)
        return self._is_sound()

    def close(self) -> None:
        """End the building."""
        self._closing.set()
        with self._lock:
            if self._thread is not None:
                self._thread.join()
        self.searched.index.close()

    def _is_sound(self) -> bool:
        index = self.searched.index
        try:
            with index.asked() as base:
                return index.standing(base) is Standing.SOUND
        except sqlite3.Error:
            return False

    def _started(self) -> threading.Thread:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._build, name="search index", daemon=True)
                self._thread.start()
            return self._thread

    def _build(self) -> None:
        index = self.searched.index
        try:
            self.fault = ""
            index.open()
            while not self._closing.is_set() and not index.catch_up(0):
                # A step that took in nothing was another process's.
                self._closing.wait(_BREATH if index.is_building else _WAIT)
        except (sqlite3.Error, OSError, ValueError, DamageError) as error:
            self.fault = f"{error}; make room, and check the permissions of its folder"
            _logger.warning("%s: %s", index.path, error)
        finally:
            index.rest()
