"""Look up earlier captures by URL and by payload, for recrawls and revisit records (ARCOMEM, section 4.1).

The history is derived from the WARC files alone, and stored in a SQLite file beside their index. At the next opening,
entries lost in a crash are read from the WARC files, and entries of deleted or shortened files are dropped. A history
that is damaged or of another format is rebuilt. A fault of the history never stops a crawl: it is logged, and from then
on the history is empty.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from aahcrawler.archive.history_record import (
    EMPTY,
    Former,
    HistoryRecord,
    Kind,
    Row,
    microseconds,
    moment_at,
    urn_of,
)
from aahcrawler.archive.ledger import Ledger
from aahcrawler.archive.record_access import (
    Record,
    exchange_in,
    metadata_in,
    read_at,
    rendered_in,
)
from aahcrawler.archive.records import Original, warc_date
from aahcrawler.exchange import Exchange, Rendered
from aahcrawler.layout import HISTORY
from aahcrawler.metadata import Metadata

__all__ = ["Former", "History", "HistoryRecord", "Kind", "Writers"]

_PAGES_AT_ONCE = 500
_ORIGINALS = 10
"""The most records with the same payload that are tried until one is undamaged."""
_LOOKED_AT = 4 << 20
_logger = logging.getLogger(__name__)
T = TypeVar("T")


class Writers(Enum):
    """Which other processes add to the same history."""

    ONE = auto()
    """No other process."""
    FIRST = auto()
    """Others will, from now on."""
    JOINED = auto()
    """Others may already be writing."""


class History:
    """The history of the WARC files in ``archive``, stored in ``folder``; every writer of them adds its captures.

    Once opened, it covers all captures in the WARC files; nothing appended to them is lost if a process is killed. With
    ``beside``, it works on a private copy and writes nothing to ``folder``: use this beside a running crawl, or if the
    folder is read-only. Several ``writers``, in processes of their own, may each add their captures; a process that
    joins others assumes that the stored entries are complete. No method raises for faults of the disk. Memory use does
    not depend on the number of captures. Not thread-safe. ``clock`` returns monotonic seconds.
    """

    def __init__(
        self,
        archive: Path,
        folder: Path,
        *,
        beside: bool = False,
        writers: Writers = Writers.ONE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._archive = archive
        self._path = None if beside else folder / HISTORY
        self._ledger: Ledger | None = None
        try:
            self._ledger = Ledger(self._path, archive, clock)
            self._ledger.open_copy(folder / HISTORY) if beside else self._ledger.open()
            if writers is not Writers.JOINED and not self._ledger.catch_up():
                _logger.warning("the history falls behind: another process keeps it busy")
            self._ledger.shares = writers is not Writers.ONE
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def add(self, kept: HistoryRecord) -> None:
        """Add a capture that was just written, also if it is a revisit. Captures of one file must be added in order."""
        self._tried(lambda ledger: ledger.add_committed(kept), None)

    def former(self, url: str, before: datetime | None = None) -> Former | None:
        """Return the newest useful capture of a URL (see ``Former``); None if there is none.

        With ``before``, payloads that first appeared at the URL at that time or later are ignored.
        """
        if before is None:
            return self._tried(lambda ledger: ledger.former(ledger.current(url)), None)
        date = microseconds(before)
        return self._tried(lambda ledger: ledger.former(ledger.before(url, date)), None)

    def was_gone(self, former: Former, before: datetime) -> bool:
        """Return whether a 404 or 410 response came for the URL after the capture ``former`` and before a moment."""
        after, until = microseconds(former.last_seen), microseconds(before)
        return self._tried(lambda ledger: ledger.was_gone(former.url, after, until), otherwise=False)

    def original(self, digest: bytes) -> Original | None:
        """Return the first complete response with that payload whose record ``is_readable``.

        None if there is none, or the payload is empty.
        """
        if digest in {b"", EMPTY}:
            return None
        rows: list[Row] | None = self._tried(lambda ledger: ledger.holding(digest, _ORIGINALS), None)
        for row in rows or ():
            former = self._tried(partial(Ledger.former, row=row), None)
            if former is not None and self.is_readable(former):
                return Original(urn_of(row.record), row.url, warc_date(moment_at(row.date)), digest, bool(row.chunked))
        return None

    def pages(self) -> Iterator[Former]:
        """Yield the pages that were captured with status 2xx, in no particular order.

        Pages of captures added during the iteration may or may not be yielded.
        """
        after = 0
        while rows := self._tried(partial(Ledger.pages, after=after, most=_PAGES_AT_ONCE), None):
            for row in rows:
                after = row.id or 0
                if (former := self._tried(partial(Ledger.former, row=row), None)) is not None:
                    yield former

    def is_readable(self, former: Former) -> bool:
        """Return whether the response record with the payload is at its recorded place and undamaged.

        Only the first 4 MiB of a record are checked.
        """
        return self._read(former.file, former.offset, _is_sound, former.record_id) or False

    def exchange(self, former: Former) -> Exchange | None:
        """Return the whole response as one of ``former.url``, with ``request`` empty.

        It includes the rendered document. The caller closes it. None if the record is gone, is another one, or is
        damaged.
        """
        found = self._read(former.file, former.offset, exchange_in, former.record_id)
        if found is None:
            return None
        as_response = replace(found, url=former.url, payload_digest=former.digest, rendered=self.rendered(former))
        return replace(as_response, started_at=datetime.fromisoformat(former.warc_date))

    def rendered(self, former: Former) -> Rendered | None:
        """Return the document last rendered from the response; None if there is none, or its record is damaged."""
        return self._read(former.document_file, former.document_offset, rendered_in, former.document_of)

    def metadata(self, former: Former) -> Metadata | None:
        """Return the metadata of the response; None if there are none, or their record is gone or damaged."""
        return self._read(former.metadata_file, former.metadata_offset, metadata_in, former.metadata_of)

    def close(self) -> None:
        """Write pending entries and empty the history. May be called twice."""
        ledger, self._ledger = self._ledger, None
        try:
            if ledger is not None:
                ledger.close()
        except sqlite3.Error as error:
            _logger.warning("the history falls behind: %s; it catches up when it is next opened", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, file: str, offset: int | None, read: Callable[[Record], T | None], of: str) -> T | None:
        with suppress(OSError):
            return None if offset is None else read_at(self._archive, file, offset, read, of)
        return None

    def _tried(self, work: Callable[[Ledger], T], otherwise: T) -> T:
        if self._ledger is None:
            return otherwise
        try:
            return work(self._ledger)
        except sqlite3.Error as error:
            self._give_up(error)
            return otherwise

    def _give_up(self, error: sqlite3.Error | OSError) -> None:
        _logger.warning("the history is not to be had: %s; nothing is known of former captures", error)
        ledger, self._ledger = self._ledger, None
        if ledger is not None and not (isinstance(error, sqlite3.Error) and ledger.removed_if_damaged(error)):
            ledger.abandon()


def _is_sound(record: Record) -> bool:
    """Return True if a record is whole. Raises ``RecordError`` if it is damaged."""
    size = 0
    for piece in record.block():
        size += len(piece)
        if size > _LOOKED_AT:
            break
    return True
