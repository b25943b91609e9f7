"""Make small pictures of pages that no browser captured, from the archive alone and without the pages' scripts."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.browser.process.chromium_executable import (
    BrowserSettings,
    BrowserUnavailableError,
    find_chromium,
    require_extra,
)
from aahcrawler.browser.process.devtools_connection import BrowserCrashedError, PageCrashedError
from aahcrawler.browser.visits.rendered_page import VisitBounds, VisitFailedError, VisitOrder
from aahcrawler.derived_index import remove_base
from aahcrawler.layout import INDEXES, PICTURES
from aahcrawler.replay.capture_lookup import NoIndexError
from aahcrawler.replay.recorded_responses import RecordedResponse, RecordedResponses
from aahcrawler.segments import private
from aahcrawler.wire.relay import Relay

if TYPE_CHECKING:
    from aahcrawler.browser.browser import Browser

MAX_KEPT: Final = 5_000
"""Pictures of a crawl that are kept; those that nobody looked at for longest go first."""
MAX_WAITING: Final = 12
"""Pictures that are waited for at once: who asks for more is told to ask again."""
_AT_ONCE: Final = 2
_BOUNDS: Final = VisitBounds(seconds=8.0, bytes=20_000_000, requests=100, steps=0)
_MAX_BYTES: Final = 8 << 20
"""Bytes of one response that a picture is made with."""
_KEPT_FIELDS: Final = frozenset({"content-type", "content-encoding"})
_NO_SCRIPTS: Final = ("Content-Security-Policy", "script-src 'none'")
_TABLE: Final = "CREATE TABLE IF NOT EXISTS picture (record TEXT PRIMARY KEY, jpeg BLOB NOT NULL, used REAL NOT NULL)"
_BOUND: Final = "DELETE FROM picture WHERE record NOT IN (SELECT record FROM picture ORDER BY used DESC LIMIT ?)"
_logger = logging.getLogger(__name__)
T = TypeVar("T")


class PicturesBusyError(Exception):
    """Too many pictures are being made; try again later."""


@dataclass(frozen=True, slots=True)
class Pictured:
    """A capture that a picture is of: the id of its record, its URL, and its moment in 14 digits."""

    record: str
    url: str
    moment: str


class PagePictures:
    """Makes pictures with one browser, which is shut off from the network. Several threads may use it at once.

    Pictures are kept in the crawl's indexes, which a takedown deletes, and which can be deleted at any time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._browser: Browser | None = None
        self._waiting = 0
        self._unavailable = _why_none()
        if self._unavailable:
            _logger.info("pages have no pictures but those of the crawl's own browser: %s", self._unavailable)

    @property
    def available(self) -> bool:
        """Whether this machine has a browser to make them with."""
        return not self._unavailable

    def picture(self, crawl: Path, wanted: Pictured) -> bytes:
        """Return a JPEG of a captured page, made now where none is kept; empty where none can be made of the page.

        Raise ``PicturesBusyError``; ``BrowserUnavailableError`` where no browser starts, or it ends meanwhile; and
        ``OSError``.
        """
        kept = kept_picture(crawl, wanted.record)
        if kept is not None:
            return kept
        with self._lock:
            if self._waiting >= MAX_WAITING:
                raise PicturesBusyError
            self._waiting += 1
        try:
            made = self._run(self._made(crawl, wanted))
        finally:
            with self._lock:
                self._waiting -= 1
        with suppress(OSError):  # Where the folder cannot be written to, pictures are made each time.
            keep_picture(crawl, wanted.record, made)
        return made

    def forget(self, crawl: Path) -> None:
        """Delete the pictures of a crawl: one was made of a capture that has been taken down meanwhile."""
        remove_base(crawl / INDEXES / PICTURES)

    def close(self) -> None:
        """End the browser."""
        with self._lock:
            loop, browser = self._loop, self._browser
            self._loop = self._browser = None
        if loop is None:
            return
        if browser is not None:
            asyncio.run_coroutine_threadsafe(browser.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)

    async def _made(self, crawl: Path, wanted: Pictured) -> bytes:
        if self._browser is None:
            # Most services show no pictures, and none of them waits for these modules.
            from aahcrawler.browser.browser import Browser  # noqa: PLC0415

            self._browser = Browser(BrowserSettings(slots=_AT_ONCE))
        order = VisitOrder(wanted.url, "Mozilla/5.0", bounds=_BOUNDS)
        try:
            return (await self._browser.visit(order, _ArchivedWeb(crawl, wanted.moment))).thumbnail
        except (VisitFailedError, PageCrashedError) as error:
            _logger.info("%s: no picture of %s: %s", crawl, wanted.url, error)
            return b""
        except BrowserCrashedError as error:  # That says nothing of the page: the next look has a new browser.
            raise BrowserUnavailableError(str(error)) from error

    def _run(self, making: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_turn, args=(self._loop,), name="page-pictures", daemon=True).start()
            loop = self._loop
        return asyncio.run_coroutine_threadsafe(making, loop).result()


class _ArchivedWeb:
    """Answers the requests of a page with the captures nearest to its own time, and refuses all others."""

    def __init__(self, crawl: Path, moment: str) -> None:
        self._responses, self._moment = RecordedResponses(crawl), moment

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """Answer a request from the archive."""
        if request.method != "GET":
            raise RequestRefusedError("method")
        try:
            found, body = await asyncio.to_thread(self._found, request.url)
        except (NoIndexError, OSError) as error:
            raise RequestRefusedError("archive") from error
        if found is None:
            raise RequestRefusedError("not archived")
        fields = [(name, value) for name, value in found.headers.fields if name.lower() in _KEPT_FIELDS]
        fields += [("Location", found.location)] if found.location else [("Content-Length", str(len(body)))]
        relay.begin(found.status, "", (*fields, _NO_SCRIPTS))
        if body and not found.location:
            relay.take(body)

    def _found(self, url: str) -> tuple[RecordedResponse | None, bytes]:
        found = self._responses.nearest(url, self._moment)
        if found is None:
            return None, b""
        body = bytearray()
        with closing(self._responses.payload(found)) as pieces:
            for piece in pieces:
                body += piece
                if len(body) > _MAX_BYTES:
                    break
        return found, bytes(body[:_MAX_BYTES])


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _why_none() -> str:
    try:
        require_extra()
        find_chromium()
    except BrowserUnavailableError as error:
        return str(error)
    return ""


def kept_picture(crawl: Path, record: str) -> bytes | None:
    """Return the picture that is kept of a capture, empty where none can be made, None where none is kept."""
    path = crawl / INDEXES / PICTURES

    def find(base: sqlite3.Connection) -> bytes | None:
        changed = "UPDATE picture SET used = ? WHERE record = ? RETURNING jpeg"
        found: tuple[bytes] | None = base.execute(changed, (time.time(), record)).fetchone()
        return None if found is None else found[0]

    return _asked(path, find) if path.exists() else None


def keep_picture(crawl: Path, record: str, jpeg: bytes) -> None:
    """Keep a picture of a capture in a crawl's indexes, of which a takedown deletes all. Raise ``OSError``."""
    path = crawl / INDEXES / PICTURES
    with open(path, "ab", opener=private):
        pass

    def keep(base: sqlite3.Connection) -> None:
        base.execute(_TABLE)
        base.execute("INSERT OR REPLACE INTO picture VALUES (?, ?, ?)", (record, jpeg, time.time()))
        base.execute(_BOUND, (MAX_KEPT,))

    _asked(path, keep)


def _asked(path: Path, ask: Callable[[sqlite3.Connection], T]) -> T | None:
    """Ask the file of pictures; None where it cannot be used now. A damaged one is removed."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as base:
            return ask(base)
    except sqlite3.OperationalError as error:
        _logger.info("%s: %s", path, error)
    except sqlite3.DatabaseError:
        remove_base(path)
    return None
