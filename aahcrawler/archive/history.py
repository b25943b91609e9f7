"""Looks up earlier captures by URL and by payload, for recrawls and revisit records (ARCOMEM, section 4.1).

The history is derived from the WARC files alone, and stored in a SQLite file beside their index. Entries lost in a
crash are read from the WARC files at the next opening, entries of files that are gone or were cut are dropped, and a
history that is damaged or of another format is made anew. A fault of the history never stops a crawl: it is logged, and
from then on the history is empty.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import BinaryIO, Self, TypeVar

from aahcrawler.archive.history_record import Former, HistoryRecord, Kind, understood
from aahcrawler.archive.history_rows import (
    EMPTY,
    former_of,
    microseconds,
    moment_at,
    row_of,
    row_seen_again,
    stored_id,
    urn_of,
)
from aahcrawler.archive.ledger import Covered, Ledger, Row
from aahcrawler.archive.record_access import (
    LONGEST_METADATA,
    Record,
    RecordError,
    appended,
    exchange_in,
    open_place,
    record_at,
    rendered_in,
)
from aahcrawler.archive.records import Original, warc_date
from aahcrawler.exchange import Exchange, Rendered
from aahcrawler.layout import HISTORY, WARC
from aahcrawler.metadata import Metadata
from aahcrawler.segments import OPEN, is_open, segments

__all__ = ["Former", "History", "HistoryRecord", "Kind", "Writers"]

_PAGES_AT_ONCE = 500
_ORIGINALS = 10
"""The most records of one payload that are tried for a sound one."""
_LOOKED_AT = 4 << 20
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_logger = logging.getLogger(__name__)
T = TypeVar("T")


class Writers(Enum):
    """The other processes that add to a history of captures."""

    ONE = auto()
    """No other process."""
    FIRST = auto()
    """Others, from now on."""
    JOINED = auto()
    """Others, who may be writing now."""


class History:
    """The history of the WARC files in ``archive``, stored in ``folder``; every writer of them adds its captures.

    When it is opened, it covers all captures in the WARC files; a kill costs nothing that had been appended to them.
    With ``beside``, it works on a private copy and writes nothing to ``folder``: beside a crawl, or where nothing may
    be written. Of ``writers`` there may be several, in processes of their own, each of which adds its own captures;
    those that join others take the stored entries as complete. No method raises for faults of the disk. Memory use does
    not depend on the number of captures. Not for two threads at once. ``clock`` gives seconds that only grow.
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
            self._ledger = _private(folder / HISTORY, clock) if beside else _shared(folder / HISTORY, clock)
            if writers is not Writers.JOINED:
                _catch_up(self._ledger, archive)
            self._ledger.shares = writers is not Writers.ONE
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def add(self, kept: HistoryRecord) -> None:
        """Take in a capture that has just been written, a revisit too. One file's captures come in their order."""
        self._tried(lambda ledger: _add(ledger, kept), None)

    def former(self, url: str, before: datetime | None = None) -> Former | None:
        """Return the newest capture of a URL worth knowing, None where there is none.

        Payloads that it was first found to hold at ``before`` or later are left out.
        """
        if before is None:
            return self._tried(lambda ledger: former_of(ledger, ledger.current(url)), None)
        date = microseconds(before)
        return self._tried(lambda ledger: former_of(ledger, ledger.before(url, date)), None)

    def original(self, digest: bytes) -> Original | None:
        """Return the first complete response with that payload whose record is sound, as ``is_readable`` tells it.

        None where there is none, and for an empty payload.
        """
        if digest in {b"", EMPTY}:
            return None
        rows: list[Row] | None = self._tried(lambda ledger: ledger.holding(digest, _ORIGINALS), None)
        for row in rows or ():
            former = self._tried(partial(former_of, row=row), None)
            if former is not None and self.is_readable(former):
                return Original(urn_of(row.record), row.url, warc_date(moment_at(row.date)), digest, bool(row.chunked))
        return None

    def pages(self) -> Iterator[Former]:
        """Yield the pages that were captured with a status of 2xx, in no particular order.

        Captures may be added meanwhile; whether their pages are among these is left open.
        """
        after = 0
        while rows := self._tried(partial(_page_rows, after=after), None):
            for number, former in rows:
                after = number
                if former is not None:
                    yield former

    def is_readable(self, former: Former) -> bool:
        """Return whether the response record that holds the payload is at its place and sound.

        Of one with more than 4 MiB the rest is not looked at.
        """
        return self._with_record(former, _is_sound) or False

    def exchange(self, former: Former) -> Exchange | None:
        """Return the response again, the whole of it, as an answer of ``former.url``; ``request`` is empty.

        What a browser made of it comes with it. The caller closes it. None where its record is gone, is another one, or
        is damaged.
        """
        found = self._with_record(former, lambda record: _exchange(record, former))
        return None if found is None else replace(found, rendered=self.rendered(former))

    def rendered(self, former: Former) -> Rendered | None:
        """Return the document that a browser last made of the answer; None where none did, or its record is damaged."""
        if former.document_offset is None or (file := open_place(self._archive, former.document_file)) is None:
            return None
        with file, suppress(RecordError, OSError):
            record = record_at(file, former.document_offset)
            if former.document_of in record.header.concurrent_to:
                return rendered_in(record)
        return None

    def metadata(self, former: Former) -> Metadata | None:
        """Return the metadata of the answer; None where it had none, or its record is gone or damaged."""
        if former.metadata_offset is None or (file := open_place(self._archive, former.metadata_file)) is None:
            return None
        with file, suppress(RecordError, OSError):
            record = record_at(file, former.metadata_offset)
            is_it = record.header.get("WARC-Concurrent-To").strip("<>") == former.metadata_of
            if record.kind == "metadata" and is_it:
                return understood(record.whole_block(LONGEST_METADATA))
        return None

    def close(self) -> None:
        """Write pending entries and empty the history. Calling it twice does no harm."""
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

    def _with_record(self, former: Former, use: Callable[[Record], T]) -> T | None:
        if (file := open_place(self._archive, former.file)) is None:
            return None
        with file, suppress(RecordError, OSError):
            record = record_at(file, former.offset)
            if record.header.record_id == former.record_id:
                return use(record)
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
        if ledger is not None:
            ledger.abandon()
        if self._path is not None and isinstance(error, sqlite3.Error) and _is_damage(error):
            # It is made anew when it is next opened.
            with suppress(OSError):
                _remove(self._path)


def _shared(path: Path, clock: Callable[[], float]) -> Ledger:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        try:
            return Ledger.open(path, clock)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            _logger.warning("%s: is made anew (%s)", path, error)
    _remove(path)
    return Ledger.create(path, clock)


def _private(path: Path, clock: Callable[[], float]) -> Ledger:
    try:
        return Ledger.copy(path, clock)
    except sqlite3.Error:
        return Ledger.create(None, clock)


def _is_damage(error: sqlite3.Error) -> bool:
    # The higher bits say more exactly what it is; errors that are not SQLite's own have no code at all.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _catch_up(ledger: Ledger, archive: Path) -> None:
    paths = {path.name.removesuffix(OPEN): path for path in segments(archive, WARC)}
    known = {covered.name: covered for covered in ledger.files()}
    for name in sorted(known.keys() - paths.keys()):
        _logger.warning("%s: is gone; the history drops its captures, which are fetched anew", archive / name)
        ledger.forget(known[name].id)
    for name, path in paths.items():
        if (file := open_place(archive, name)) is None:
            _logger.warning("%s: cannot be read; the history lacks its captures", path)
            continue
        with file:
            try:
                size = file.seek(0, os.SEEK_END)
                if name not in known or known[name].settled != size:
                    _read_new(ledger, name, file, known.get(name))
                    ledger.settle(ledger.id_of(name), -1 if is_open(path) else size)
            except OSError as error:
                _logger.warning("%s: cannot be read (%s); the history lacks its captures", path, error)


def _read_new(ledger: Ledger, name: str, file: BinaryIO, known: Covered | None) -> None:
    """Read the records of a file after the last known one, or all of them where that is another record now."""
    begin = known.offset if known is not None and known.record is not None else -1
    news = appended(file, max(begin, 0))
    if known is not None and begin >= 0:
        last = next(news, None)
        found = None if last is None else (last.offset, stored_id(last.header.record_id), last.metadata_offset)
        if found != (known.offset, known.record, known.metadata):
            ledger.forget(known.id)
            news = appended(file)
    for each in news:
        if (kept := HistoryRecord.read(each, name)) is not None:
            _add(ledger, kept)


def _add(ledger: Ledger, kept: HistoryRecord) -> None:
    capture = kept.capture
    row = row_of(kept, ledger.id_of(capture.file))
    settled = row_seen_again(ledger, row) if capture.revisit else row
    if settled is not None:
        ledger.put(settled)
    ledger.cover(row.file, row.offset, row.record, row.metadata)


def _page_rows(ledger: Ledger, after: int) -> list[tuple[int, Former | None]]:
    return [(row.id or 0, former_of(ledger, row)) for row in ledger.pages(after, _PAGES_AT_ONCE)]


def _is_sound(record: Record) -> bool:
    """Return whether a record is whole; damage in it raises ``RecordError``."""
    size = 0
    for piece in record.block():
        size += len(piece)
        if size > _LOOKED_AT:
            break
    return True


def _exchange(record: Record, former: Former) -> Exchange:
    date = datetime.fromisoformat(former.warc_date)
    return replace(exchange_in(record), url=former.url, payload_digest=former.digest, started_at=date)
