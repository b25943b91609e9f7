"""Keeps the indexes of pages and objects up to date in the background of requests."""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from aahcrawler.annotations import AnnotationIndex
from aahcrawler.derived_index import Standing, coverage, remove_base
from aahcrawler.overview.link_graph import SiteLinks
from aahcrawler.page_index import PageIndex, captures_in
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.web.problems import Kind, ProblemError, Shown

NOT_READY: Final = Kind("index-not-ready", HTTPStatus.SERVICE_UNAVAILABLE, "The index of pages is not ready")
NO_FOLDER: Final = Kind("no-folder", HTTPStatus.CONFLICT, "The crawl's files are elsewhere")
AGAIN: Final = {"Retry-After": "2"}
_SHORT: Final = 0.15
"""Seconds that a request waits for the index to catch up: what was added in the last seconds takes less."""
_LONG: Final = 10.0
"""Seconds that a request waits for an index that does not hold what it must not show."""
_BREATH: Final = 0.002
"""Seconds between two steps, in which others get on."""
_RESTS: Final = 199
"""How many times as long as a step takes an index rests after it where nobody is in a hurry."""
_LITTLE: Final = 0.01
"""Seconds of a step that found little to take in."""
_logger = logging.getLogger(__name__)


class Progress(Shown):
    """How far the index reaches: ``indexed`` of ``about`` captures, the latter estimated by the size of the files.

    ``about`` is None where nothing can be said yet. ``note`` says it in words; empty where all is indexed.
    """

    indexed: int
    about: int | None
    complete: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The index of a crawl at one moment; valid until the ``with`` block ends."""

    folder: Path
    base: sqlite3.Connection
    progress: Progress


IndexKind = type[PageIndex] | type[SiteLinks] | type[AnnotationIndex]
"""What is indexed of a crawl."""


class PageIndexes:
    """The indexes of a service's crawls: of pages and objects, of links between sites, and of annotations.

    Each is built by a thread of its own, which ends when it has caught up.

    May be used by several threads at once.
    """

    def __init__(self) -> None:
        self._keepers: dict[tuple[Path, IndexKind], _Keeper] = {}
        self._lock = threading.Lock()

    @contextmanager
    def asked(self, crawl: Crawl, kind: IndexKind = PageIndex, *, hurried: bool = True) -> Iterator[Asked]:
        """Lend an index of a crawl while it is being updated. Raise ``ProblemError`` if it cannot be read.

        If ``hurried``, it is updated as fast as possible. Otherwise updating takes at most half a percent of the time,
        for those who only watch a running crawl, and may fall behind a fast one.
        """
        if crawl.folder is None:
            raise ProblemError(
                NO_FOLDER, "this machine has none of the crawl's folder; ask the service of one that has"
            )
        keeper = self._keeper(crawl.folder, kind)
        keeper.refresh(hurried=hurried)
        try:
            with keeper.index.asked() as base:
                yield Asked(crawl.folder, base, keeper.progress(base))
        except sqlite3.DatabaseError as error:
            raise keeper.trouble(error) from error

    def forget(self, folder: Path) -> None:
        """Close the indexes of a folder that is about to be deleted."""
        with self._lock:
            keepers = [self._keepers.pop(key) for key in tuple(self._keepers) if key[0] == folder]
        for keeper in keepers:
            keeper.close()

    def close(self) -> None:
        """Stop updating; indexes keep what they have."""
        with self._lock:
            keepers, self._keepers = list(self._keepers.values()), {}
        for keeper in keepers:
            keeper.close()

    def _keeper(self, folder: Path, kind: IndexKind) -> "_Keeper":
        with self._lock:
            keeper = self._keepers.get((folder, kind))
            if keeper is None:
                keeper = self._keepers[folder, kind] = _Keeper(kind(folder))
            return keeper


class _Keeper:
    """Keeps one index of a folder."""

    def __init__(self, index: PageIndex | SiteLinks | AnnotationIndex) -> None:
        self.index = index
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._hurried = threading.Event()
        self._rests_until = 0.0
        self._fault = ""

    def refresh(self, *, hurried: bool) -> None:
        """Start updating an outdated index and wait a moment for it; wait longer if it shows what was taken down."""
        found = self._standing()
        if found is Standing.SOUND:
            return
        if hurried or found is not Standing.BEHIND:
            self._hurried.set()
        elif not self._hurried.is_set():
            if time.monotonic() >= self._rests_until:
                self._started()
            return
        is_building = self._is_building
        thread = self._started()
        if not is_building:
            thread.join(_SHORT)
        end = time.monotonic() + _LONG
        while found in (Standing.WRONG, None) and thread.is_alive() and time.monotonic() < end:
            found = self._standing()
            thread.join(_SHORT / 10)
        if found is not Standing.BEHIND and self._standing() is Standing.WRONG:
            raise ProblemError(NOT_READY, "something was removed from the crawl; ask again in a moment", headers=AGAIN)

    def progress(self, base: sqlite3.Connection) -> Progress:
        """Return how far the index reaches."""
        is_building = self._is_building  # Asked first: what it takes in meanwhile is not in the base.
        found, captures = coverage(base, self.index.counted_under), self._captures(base)
        about = round(captures * found.size / found.covered) if found.covered else None
        is_complete = found.is_complete and not is_building and not self._fault
        notes = []
        if not is_complete:
            of = "" if about is None else f" of about {about:,}"
            notes.append(f"{captures:,}{of} pages are indexed; the others are being read.")
        if found.damaged:
            notes.append(f"Not all can be read: {'; '.join(found.damaged[:3])}. Restore these files from a copy.")
        if self._fault:
            notes.append(f"The index does not go on: {self._fault}.")
        return Progress(indexed=captures, about=about, complete=is_complete, note=" ".join(notes))

    def _captures(self, base: sqlite3.Connection) -> int:
        if isinstance(self.index, AnnotationIndex):
            return int(base.execute("SELECT count(DISTINCT capture) FROM unit").fetchone()[0])
        return captures_in(base)

    def trouble(self, error: sqlite3.DatabaseError) -> ProblemError:
        """Return the problem to raise for an index that cannot be read; if it is damaged, start rebuilding it."""
        if isinstance(error, sqlite3.OperationalError):
            return ProblemError(NOT_READY, self._fault or f"{error}; ask again in a moment", headers=AGAIN)
        _logger.warning("%s: is made anew (%s)", self.index.path, error)
        if self.index.path is not None:
            remove_base(self.index.path)  # Whoever builds it notices.
        self._started()
        return ProblemError(NOT_READY, "it was damaged, and is being made anew; ask again in a moment", headers=AGAIN)

    def close(self) -> None:
        """End the building."""
        self._closing.set()
        self._hurried.set()
        with self._lock:
            if self._thread is not None:
                self._thread.join()
        self.index.close()

    def _standing(self) -> Standing | None:
        """Return how far the index is behind the folder; None if it cannot be read."""
        try:
            with self.index.asked() as base:
                return self.index.standing(base)
        except sqlite3.Error:
            return None

    @property
    def _is_building(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _started(self) -> threading.Thread:
        """Return the thread that builds; it is started where there is none."""
        with self._lock:
            if self._thread is None or not self._is_building:
                self._thread = threading.Thread(target=self._build, name="page index", daemon=True)
                self._thread.start()
            return self._thread

    def _build(self) -> None:
        try:
            self._fault = ""
            self._build_whole()
        except (sqlite3.Error, OSError) as error:
            self._fault = f"{error}; make room, and check the permissions of its folder"
            _logger.warning("%s: %s", self.index.path, error)

    def _build_whole(self) -> None:
        """Build until nothing is left."""
        while not self._closing.is_set():
            began = time.thread_time()
            is_left = self.index.open().step()
            spent = time.thread_time() - began
            rest = spent * _RESTS
            self._rests_until = time.monotonic() + rest
            if not is_left or spent < _LITTLE:  # It has caught up with a crawl that goes on writing.
                self._hurried.clear()
            if not is_left:
                return
            time.sleep(_BREATH)
            if not self._closing.is_set():
                self._hurried.wait(rest)
