"""The SQLite tables of ``history``: the captures of each URL, and how much of each WARC file they cover.

``captures`` has a row for each ``response`` record, and one for each URL at which a ``revisit`` record found a payload
that is stored elsewhere; later revisits of that payload at that URL update the row. ``current`` marks one row of each
URL: the newest complete success, else the newest success, else the newest row. ``last`` has the last known record of
each file; nothing before it needs to be read again.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, Self

from aahcrawler.archive.folders import hidden_in
from aahcrawler.archive.history_record import (
    EMPTY,
    Former,
    HistoryRecord,
    Row,
    key_of,
    moment_at,
    row_of,
    stored_id,
    urn_of,
)
from aahcrawler.archive.record_access import Appended, appended
from aahcrawler.archive.records import warc_date
from aahcrawler.derived_index import DerivedIndex, Known, Source, connection, opened_segment, segment_sources
from aahcrawler.layout import HISTORY, WARC

_COMMIT_ROWS, _COMMIT_SECONDS = 500, 1.0
_TABLES: Final = (
    "CREATE TABLE last (file INTEGER PRIMARY KEY, offset INTEGER NOT NULL, record BLOB NOT NULL, metadata INTEGER)",
    """CREATE TABLE captures (
  id INTEGER PRIMARY KEY, key INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL, metadata_file INTEGER,
  metadata INTEGER, answer BLOB, document_file INTEGER, document INTEGER, document_of BLOB, current INTEGER NOT NULL,
  own INTEGER NOT NULL, chunked INTEGER NOT NULL, status INTEGER NOT NULL, complete INTEGER NOT NULL,
  page INTEGER NOT NULL, terminal INTEGER NOT NULL, depth INTEGER NOT NULL, relevant INTEGER, priority REAL, score REAL,
  crawl INTEGER NOT NULL, date INTEGER NOT NULL, later INTEGER NOT NULL, record BLOB NOT NULL, digest BLOB,
  url TEXT NOT NULL, etag TEXT, modified TEXT
)""",
    "CREATE INDEX by_url ON captures (key)",
    "CREATE INDEX by_digest ON captures (substr(digest, 1, 6)) WHERE own AND complete AND digest IS NOT NULL",
)
_PLACES = """
SELECT name, offset, url FROM captures JOIN segment ON segment.id = file
UNION ALL
SELECT name, captures.metadata, url FROM captures JOIN segment ON segment.id = ifnull(metadata_file, file)
WHERE captures.metadata IS NOT NULL
UNION ALL
SELECT name, document, url FROM captures JOIN segment ON segment.id = ifnull(document_file, file)
WHERE document IS NOT NULL
"""
_CURRENT = "SELECT * FROM captures WHERE key = ? AND url = ? AND current"
_STANDING = """
SELECT id, (status BETWEEN 200 AND 299) * (1 + complete), date + later FROM captures
WHERE key = ? AND url = ? AND current
"""
_SAME = "SELECT * FROM captures WHERE key = ? AND url = ? AND digest IS ? ORDER BY date + later DESC, id DESC"
_BEFORE = """
SELECT * FROM captures WHERE key = ? AND url = ? AND date < ?
ORDER BY (status BETWEEN 200 AND 299) * (1 + complete) DESC, date + later DESC LIMIT 1
"""
_GONE = """
SELECT 1 FROM captures WHERE key = ? AND url = ? AND status IN (404, 410) AND complete
AND (date > ? AND date < ? OR date + later > ? AND date + later < ?) LIMIT 1
"""
_HOLDING = """
SELECT * FROM captures WHERE own AND complete AND digest IS NOT NULL AND substr(digest, 1, 6) = ? AND digest = ?
ORDER BY id LIMIT ?
"""
_PAGES = """
SELECT * FROM captures WHERE id > ? AND current AND page AND status BETWEEN 200 AND 299 ORDER BY id LIMIT ?
"""
_PUT = """
REPLACE INTO captures VALUES
(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_RAISE = """
UPDATE captures SET current = 1 WHERE id = (
    SELECT id FROM captures WHERE key = ? AND url = ?
    ORDER BY (status BETWEEN 200 AND 299) * (1 + complete) DESC, date + later DESC, id DESC LIMIT 1
)
"""
_NO_DOCUMENTS = """
UPDATE captures SET document_file = NULL, document = NULL, document_of = NULL WHERE document_file = ?
"""
_BEGIN_FILE = "INSERT INTO segment (name, inode, covered, size, changed, is_open) VALUES (?, 0, 0, 0, 0, 1)"


class Last(NamedTuple):
    """The last known record of a WARC file: its offset, its id, and the offset of its metadata."""

    offset: int
    record: bytes | str
    metadata: int | None


class Ledger(DerivedIndex[Appended]):
    """The tables of the history of the WARC files in ``archive``. Every method may raise ``sqlite3.Error``.

    Rows that a writer adds are committed after 500 rows or, with the next row, after a second; ``commit`` and ``close``
    commit at once. A ledger that ``shares`` its file with other processes commits each capture, so that no other
    process waits for it.
    """

    schema: ClassVar = _TABLES
    version: ClassVar = 3
    at_once: ClassVar = _COMMIT_ROWS
    is_checked: ClassVar = True
    may_lie_elsewhere: ClassVar = False
    shares = False

    def __init__(self, path: Path | None, archive: Path, clock: Callable[[], float]) -> None:
        super().__init__(path)
        self._archive, self._clock = archive, clock
        self._waiting, self._since = 0, 0.0
        self._cover: tuple[int, Last] | None = None
        self._names: dict[int, str] = {}
        self._ids: dict[str, int] = {}

    def open_copy(self, path: Path) -> Self:
        """Open a private copy of a ledger, which may be in use, and in a read-only folder.

        If it is damaged or missing, the copy is empty.
        """
        # In such a folder SQLite opens no file of this kind, unless it is told that there is no log to it.
        for how in ("mode=ro", *(() if path.with_name(path.name + "-wal").exists() else ("immutable=1",))):
            with suppress(sqlite3.Error), closing(connection(f"{path.absolute().as_uri()}?{how}")) as source:
                source.backup(self.open().base)
                self._check(self.base)
                if self._is_fit(self.base):
                    self.begin()
                    return self
            self.abandon()
        return self.open()

    # Catching up

    def sources(self) -> Iterator[Source]:
        """Yield the crawl's WARC files, the oldest first."""
        return segment_sources(self._archive, WARC)

    def is_other(self, known: Known, source: Source | None) -> bool:
        """Return whether a file is gone, or its last known record is no longer there.

        A copy of an archive counts as the same archive, because reading it all again may take days.
        """
        if source is None:
            return True
        last = self.last_of(known.id)
        if last is None or known.covered == source.size:
            return False
        try:
            with opened_segment(source.path) as file:
                found = next(appended(file, last.offset), None)
        except OSError:
            return False  # Nothing is read from it either.
        return found is None or last != (found.offset, stored_id(found.header.record_id), found.metadata_offset)

    def entries(self, source: Source, begin: int) -> Iterator[tuple[Appended, int]]:  # noqa: ARG002
        """Yield the captures of a file after the last known one."""
        last, is_hidden = self.last_of(self.id_of(source.name)), hidden_in(source.path)
        with opened_segment(source.path) as file:
            news = appended(file, last.offset if last else 0)
            for each in islice(news, 1 if last else 0, None):
                if not is_hidden(each.header.get("WARC-Target-URI").strip("<>")):
                    yield each, each.offset + 1

    def put(self, entry: Appended, source: int, place: int) -> None:  # noqa: ARG002
        """Add a capture found in a file."""
        kept = HistoryRecord.read(entry, self.name_of(source))
        if kept is not None:
            self.add(kept)

    def add_committed(self, kept: HistoryRecord) -> None:
        """Add a capture that was just written, and commit if it is time to."""
        self.add(kept)
        if self.is_due:
            self.commit()

    def add(self, kept: HistoryRecord) -> None:
        """Add a capture."""
        capture = kept.capture
        row = row_of(kept, self.id_of(capture.file))
        settled = self._seen_again(row) if capture.revisit else row
        if settled is not None:
            self.put_row(settled)
        self.cover(row.file, Last(row.offset, row.record, row.metadata))

    def _seen_again(self, row: Row) -> Row | None:
        """Return the row to update for a payload seen before; None if the capture adds no information."""
        unmodified = row.status == HTTPStatus.NOT_MODIFIED
        for former in self.same(row.url, row.digest):
            if not unmodified and former.status != row.status:
                continue
            later = row.date - former.date
            if later < former.later:
                return None
            again = former._replace(
                current=1,
                crawl=row.crawl,
                later=later,
                etag=row.etag or former.etag,
                modified=row.modified or former.modified,
            )
            if row.document is not None:
                again = again._replace(
                    document=row.document,
                    document_file=row.file if row.file != former.file else None,
                    document_of=row.record,
                )
            if row.metadata is None:
                return again
            return again._replace(
                page=row.page,
                terminal=row.terminal,
                depth=row.depth,
                relevant=row.relevant,
                priority=row.priority,
                score=row.score,
                metadata=row.metadata,
                metadata_file=row.file if row.file != former.file else None,
                answer=row.record,
            )
        is_known = not unmodified and row.digest is not None and self.first(row.digest) is not None
        return row if is_known else None

    # Captures

    def former(self, row: Row | None) -> Former | None:
        """Return the ``Former`` of a row; None if the row is None or no record holds its payload any more."""
        if row is None:
            return None
        holder = row if row.own or row.digest is None else self.first(row.digest)
        if holder is None:
            return None
        return Former(
            url=row.url,
            record_id=urn_of(holder.record),
            original_url=holder.url,
            warc_date=warc_date(moment_at(holder.date)),
            digest=row.digest or EMPTY,
            file=self.name_of(holder.file),
            offset=holder.offset,
            status=row.status,
            complete=bool(row.complete),
            etag=row.etag or "",
            last_modified=row.modified or "",
            metadata_file=self.name_of(row.metadata_file or row.file),
            metadata_offset=row.metadata,
            metadata_of=urn_of(row.answer or row.record),
            document_file=self.name_of(row.document_file or row.file),
            document_offset=row.document,
            document_of=urn_of(row.document_of or row.record),
            kind="page" if row.page else "requisite",
            priority=row.priority,
            score=row.score,
            relevant=None if row.relevant is None else bool(row.relevant),
            crawl=row.crawl,
            last_seen=moment_at(row.date + row.later),
            chunked=bool(holder.chunked),
            terminal=bool(row.terminal),
            depth=row.depth,
        )

    def current(self, url: str) -> Row | None:
        """Return the current row of a URL; None if there is none."""
        found = self.base.execute(_CURRENT, (key_of(url), url)).fetchone()
        return Row._make(found) if found else None

    def before(self, url: str, date: int) -> Row | None:
        """Return the row of a URL that was current at a date; None if nothing was captured before it."""
        row = self.current(url)
        if row is None or row.date < date:
            return row
        found = self.base.execute(_BEFORE, (key_of(url), url, date)).fetchone()
        return Row._make(found) if found else None

    def same(self, url: str, digest: bytes | None) -> list[Row]:
        """Return the rows of a URL with this payload; the one seen last comes first."""
        return [Row._make(found) for found in self.base.execute(_SAME, (key_of(url), url, digest))]

    def first(self, digest: bytes) -> Row | None:
        """Return the first row whose record holds this payload whole; None if there is none."""
        return next(iter(self.holding(digest, 1)), None)

    def was_gone(self, url: str, after: int, before: int) -> bool:
        """Return whether a whole response with status 404 or 410 came between two moments (microseconds since 1970)."""
        asked = (key_of(url), url, after, before, after, before)
        return self.base.execute(_GONE, asked).fetchone() is not None

    def holding(self, digest: bytes, most: int) -> list[Row]:
        """Return the first rows whose records hold this payload whole, at most ``most``."""
        return [Row._make(found) for found in self.base.execute(_HOLDING, (digest[:6], digest, most))]

    def pages(self, after: int, most: int) -> list[Row]:
        """Return the next current rows of pages with status 2xx, in the order of their ids."""
        return [Row._make(found) for found in self.base.execute(_PAGES, (after, most))]

    def places(self) -> Iterator[tuple[str, int, str]]:
        """Yield the places of responses, metadata and documents: the file, the offset, and the URL they belong to."""
        yield from self.base.execute(_PLACES)

    def put_row(self, row: Row) -> None:
        """Insert a row without an id, or replace the row with its id, and mark the current row of its URL."""
        self._begin()
        newest = self.base.execute(_STANDING, (row.key, row.url)).fetchone()
        if newest is not None and newest[0] != row.id:
            if row.standing >= newest[1:]:
                self.base.execute("UPDATE captures SET current = 0 WHERE id = ?", newest[:1])
            else:
                row = row._replace(current=0)
        self.base.execute(_PUT, row)

    # Files

    def begin(self) -> None:
        """Reload the names and ids of files, which others may have changed."""
        self._names = dict(self.base.execute("SELECT id, name FROM segment"))
        self._ids = {name: number for number, name in self._names.items()}

    def settle(self) -> None:
        """Store the last known record of the file that was read last."""
        if self._cover is not None:
            file, last = self._cover
            self.base.execute("INSERT OR REPLACE INTO last VALUES (?, ?, ?, ?)", (file, *last))
            self._cover = None
        self._waiting = 0

    def last_of(self, file: int) -> Last | None:
        """Return the last known record of a file; None if none is known."""
        found = self.base.execute("SELECT offset, record, metadata FROM last WHERE file = ?", (file,)).fetchone()
        return Last(*found) if found else None

    def name_of(self, file: int) -> str:
        """Return the name of a file by its id."""
        if file not in self._names:  # Another process has begun it.
            self.begin()
        return self._names[file]

    def id_of(self, name: str) -> int:
        """Return the id of a file, assigning one to a new name."""
        number = self._ids.get(name)
        if number is None:
            self._begin()
            self.begin()
            number = self._ids.get(name)
        if number is None:
            number = self.base.execute(_BEGIN_FILE, (name,)).lastrowid or 0
            self._ids[name], self._names[number] = number, name
        return number

    def cover(self, file: int, last: Last) -> None:
        """Set the last known record of a file; its earlier rows are committed with it, or before it."""
        self._begin()
        if self._cover is not None and self._cover[0] != file:
            self.settle()
        self._cover = file, last
        self._waiting += 1

    @property
    def is_due(self) -> bool:
        """Whether it is time to commit the rows that a writer has added."""
        return self.shares or self._waiting >= _COMMIT_ROWS or self._clock() - self._since >= _COMMIT_SECONDS

    def forget(self, known: Known) -> bool:
        """Remove everything known about a file; another row of each URL, if there is one, becomes the current one."""
        run, file = self.base.execute, (known.id,)
        run("CREATE TEMP TABLE IF NOT EXISTS lost (key INTEGER, url TEXT)")
        run("INSERT INTO temp.lost SELECT key, url FROM captures WHERE file = ? AND current", file)
        run("DELETE FROM captures WHERE file = ?", file)
        run("UPDATE captures SET metadata_file = NULL, metadata = NULL, answer = NULL WHERE metadata_file = ?", file)
        run(_NO_DOCUMENTS, file)
        run("DELETE FROM last WHERE file = ?", file)
        for lost in run("SELECT key, url FROM temp.lost"):
            run(_RAISE, lost)
        run("DELETE FROM temp.lost")
        return True

    # Transactions

    def commit(self) -> None:
        """Commit the added rows, so that they survive the end of the process."""
        self.settle()
        if self.base.in_transaction:
            self.base.execute("COMMIT")

    def close(self) -> None:
        """Commit, and close the file."""
        try:
            self.commit()
        finally:
            super().close()

    def _begin(self) -> None:
        if not self.base.in_transaction:
            self.base.execute("BEGIN IMMEDIATE")
            self._since = self._clock()


def remembered_places(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Yield the places of responses, metadata and documents in a folder's history; nothing if it cannot be read.

    Each is a file, an offset, and the URL of the record there.
    """
    with suppress(sqlite3.Error), closing(Ledger(None, folder, time.monotonic)) as ledger:
        yield from ledger.open_copy(folder / HISTORY).places()
