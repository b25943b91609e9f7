"""The SQLite file behind ``history``: the captures of each URL, and the part of each WARC file that is covered.

``captures`` has a row for each ``response`` record, and one for each URL at which a ``revisit`` record found a
payload that is known from elsewhere; later revisits of that payload at that URL change the row. ``current`` marks
one row of each URL: the newest of its best, where complete successes are better than others, and those better than
anything else. ``files.covered`` is the offset of the last record of a file that is known; nothing before it has to be
read again. ``files.settled`` is the size up to which a file has been read, -1 while that is not known.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

FORMAT: Final = 2
"""The version of the tables."""
_COMMIT_ROWS, _COMMIT_SECONDS = 500, 1.0
_CACHE_KIB = 32 << 10
_LOG_PAGES = 8192
"""Pages of the write-ahead log after which it is brought into the file: each time, the disk is waited for."""
_SETTINGS = (
    "journal_mode = WAL",
    "synchronous = NORMAL",
    f"cache_size = -{_CACHE_KIB}",
    f"wal_autocheckpoint = {_LOG_PAGES}",
)
_WAITS = 10.0
_TABLES = (
    """CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    covered INTEGER NOT NULL DEFAULT -1,
    record BLOB,
    metadata INTEGER,
    settled INTEGER NOT NULL DEFAULT -1
)""",
    """CREATE TABLE captures (
    id INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    file INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    metadata_file INTEGER,
    metadata INTEGER,
    answer BLOB,
    document_file INTEGER,
    document INTEGER,
    document_of BLOB,
    current INTEGER NOT NULL,
    own INTEGER NOT NULL,
    chunked INTEGER NOT NULL,
    status INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    page INTEGER NOT NULL,
    terminal INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    relevant INTEGER,
    priority REAL,
    score REAL,
    crawl INTEGER NOT NULL,
    date INTEGER NOT NULL,
    later INTEGER NOT NULL,
    record BLOB NOT NULL,
    digest BLOB,
    url TEXT NOT NULL,
    etag TEXT,
    modified TEXT
)""",
    "CREATE INDEX by_url ON captures (key)",
    "CREATE INDEX by_digest ON captures (substr(digest, 1, 6)) WHERE own AND complete AND digest IS NOT NULL",
)
_PLACES = """
SELECT name, offset, url FROM captures JOIN files ON files.id = file
UNION ALL
SELECT name, captures.metadata, url FROM captures JOIN files ON files.id = ifnull(metadata_file, file)
WHERE captures.metadata IS NOT NULL
UNION ALL
SELECT name, document, url FROM captures JOIN files ON files.id = ifnull(document_file, file)
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
_COVER = "UPDATE files SET covered = ?, record = ?, metadata = ?, settled = -1 WHERE id = ?"


class Row(NamedTuple):
    """A row of ``captures``, as SQLite gives it; ``id`` is None for a row that is not in the table.

    ``own`` says whether the payload is in the record at this place, or else in the first with its digest; ``digest`` is
    None for an empty payload; ``chunked`` whether the answer came in the chunked coding. ``metadata_file`` is None
    where it equals ``file``; ``answer``, the id of the answer that the metadata describe, is None where it equals
    ``record``. ``document``, the place of what a browser made of an answer, goes with ``document_file`` and
    ``document_of`` in the same way. ``date`` is in microseconds since 1970, ``later`` how much later it was last seen.
    Flags are 0 or 1.
    """

    id: int | None
    key: int
    file: int
    offset: int
    metadata_file: int | None
    metadata: int | None
    answer: bytes | str | None
    document_file: int | None
    document: int | None
    document_of: bytes | str | None
    current: int
    own: int
    chunked: int
    status: int
    complete: int
    page: int
    terminal: int
    depth: int
    relevant: int | None
    priority: float | None
    score: float | None
    crawl: int
    date: int
    later: int
    record: bytes | str
    digest: bytes | None
    url: str
    etag: str | None
    modified: str | None

    @property
    def standing(self) -> tuple[int, int]:
        """The sort key that makes the greatest row of a URL the current one."""
        return (200 <= self.status <= 299) * (1 + self.complete), self.date + self.later


class Covered(NamedTuple):
    """The covered part of a WARC file: its last record, that one's metadata, and the size up to which it was read."""

    id: int
    name: str
    offset: int
    record: bytes | str | None
    metadata: int | None
    settled: int


class Ledger:
    """The tables of one history. Every method may raise ``sqlite3.Error``.

    Rows are committed after 500 or, with the next one, after a second; ``commit`` and ``close`` do so at once. One that
    ``shares`` its file with other processes commits each capture, so that no other process waits for it. Not for two
    threads at once.
    """

    shares = False

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._clock = clock
        self._names: dict[int, str] = {}
        self._ids: dict[str, int] = {}
        self._look_up_files()
        self._waiting, self._since = 0, 0.0
        self._cover: tuple[int, bytes | str, int | None, int] | None = None

    @classmethod
    def create(cls, path: Path | None, clock: Callable[[], float]) -> "Ledger":
        """Make an empty one; without a path it is private, and gone when it is closed."""
        return _opened(sqlite3.connect(path or "", isolation_level=None, check_same_thread=False), clock, new=True)

    @classmethod
    def open(cls, path: Path, clock: Callable[[], float]) -> "Ledger":
        """Open one that is sound and of this format; raise ``sqlite3.DatabaseError`` for any other file."""
        return _opened(_connected(path, "mode=rw"), clock)

    @classmethod
    def copy(cls, path: Path, clock: Callable[[], float]) -> "Ledger":
        """Open a private copy of one, which may be in use and in a folder that cannot be written to."""
        private = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            try:
                _backup(path, "mode=ro", private)
            except sqlite3.OperationalError:
                # In such a folder SQLite opens no file of this kind, unless it is told that there is no log to it.
                if path.with_name(path.name + "-wal").exists():
                    raise
                _backup(path, "immutable=1", private)
        except BaseException:
            private.close()
            raise
        return _opened(private, clock)

    # Captures

    def current(self, url: str) -> Row | None:
        """Return the current row of a URL, None where there is none."""
        found = self._connection.execute(_CURRENT, (key_of(url), url)).fetchone()
        return Row._make(found) if found else None

    def before(self, url: str, date: int) -> Row | None:
        """Return the row of a URL that was current at a date, None where nothing had been captured by then."""
        row = self.current(url)
        if row is None or row.date < date:
            return row
        found = self._connection.execute(_BEFORE, (key_of(url), url, date)).fetchone()
        return Row._make(found) if found else None

    def same(self, url: str, digest: bytes | None) -> list[Row]:
        """Return the rows of a URL with that payload, the one last seen first."""
        return [Row._make(found) for found in self._connection.execute(_SAME, (key_of(url), url, digest))]

    def first(self, digest: bytes) -> Row | None:
        """Return the first row whose record holds that payload whole, None where there is none."""
        return next(iter(self.holding(digest, 1)), None)

    def holding(self, digest: bytes, most: int) -> list[Row]:
        """Return the first rows whose records hold that payload whole."""
        return [Row._make(found) for found in self._connection.execute(_HOLDING, (digest[:6], digest, most))]

    def pages(self, after: int, most: int) -> list[Row]:
        """Return the next current rows of pages with status 2xx, in the order of their ids."""
        return [Row._make(found) for found in self._connection.execute(_PAGES, (after, most))]

    def places(self) -> Iterator[tuple[str, int, str]]:
        """Yield the places of answers, metadata and documents: file, offset, and the URL that each is of."""
        yield from self._connection.execute(_PLACES)

    def put(self, row: Row) -> None:
        """Insert a row that has no id, or replace the one with its id; settle which row of its URL is current."""
        self._begin()
        newest = self._connection.execute(_STANDING, (row.key, row.url)).fetchone()
        if newest is not None and newest[0] != row.id:
            if row.standing >= newest[1:]:
                self._connection.execute("UPDATE captures SET current = 0 WHERE id = ?", newest[:1])
            else:
                row = row._replace(current=0)
        self._connection.execute(_PUT, row)

    # Files

    def files(self) -> list[Covered]:
        """Return the covered part of each file that was ever covered."""
        found = self._connection.execute("SELECT id, name, covered, record, metadata, settled FROM files")
        return [Covered._make(row) for row in found]

    def name_of(self, file: int) -> str:
        """Return the name of a file by its id."""
        if file not in self._names:  # Another process has begun it.
            self._look_up_files()
        return self._names[file]

    def id_of(self, name: str) -> int:
        """Return the id of a file, which is known from now on."""
        number = self._ids.get(name)
        if number is None:
            self._begin()
            self._look_up_files()
            number = self._ids.get(name)
        if number is None:
            number = self._connection.execute("INSERT INTO files (name) VALUES (?)", (name,)).lastrowid or 0
            self._ids[name], self._names[number] = number, name
        return number

    def cover(self, file: int, offset: int, record: bytes | str, metadata: int | None) -> None:
        """Note the last covered record of a file; its earlier rows are committed with this, or before it."""
        self._begin()
        if self._cover is not None and self._cover[3] != file:
            self._connection.execute(_COVER, self._cover)
        self._cover = (offset, record, metadata, file)
        self._waiting += 1
        if self.shares or self._waiting >= _COMMIT_ROWS or self._clock() - self._since >= _COMMIT_SECONDS:
            self.commit()

    def settle(self, file: int, size: int) -> None:
        """Note that a file is known up to that size."""
        self.commit()
        self._connection.execute("UPDATE files SET settled = ? WHERE id = ?", (size, file))

    def forget(self, file: int) -> None:
        """Remove all that is known from a file; where a URL has another row left, that one is current then."""
        self.commit()
        self._begin()
        run = self._connection.execute
        run("CREATE TEMP TABLE IF NOT EXISTS lost (key INTEGER, url TEXT)")
        run("INSERT INTO temp.lost SELECT key, url FROM captures WHERE file = ? AND current", (file,))
        run("DELETE FROM captures WHERE file = ?", (file,))
        run("UPDATE captures SET metadata_file = NULL, metadata = NULL, answer = NULL WHERE metadata_file = ?", (file,))
        run(_NO_DOCUMENTS, (file,))
        run("DELETE FROM files WHERE id = ?", (file,))
        for lost in self._connection.execute("SELECT key, url FROM temp.lost"):
            run(_RAISE, lost)
        run("DELETE FROM temp.lost")
        del self._ids[self._names.pop(file)]
        self.commit()

    # Transactions

    def commit(self) -> None:
        """Commit the latest rows, so that they survive the end of the process."""
        if self._cover is not None:
            self._connection.execute(_COVER, self._cover)
            self._cover = None
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        self._waiting = 0

    def close(self) -> None:
        """Commit, and close the file."""
        try:
            self.commit()
        finally:
            self._connection.close()

    def abandon(self) -> None:
        """Close the file without committing pending rows."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def _look_up_files(self) -> None:
        self._names = dict(self._connection.execute("SELECT id, name FROM files"))
        self._ids = {name: number for number, name in self._names.items()}

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            self._since = self._clock()


def key_of(url: str) -> int:
    """Return the number under which a URL is looked up. Two URLs may share one, so they are compared too."""
    return int.from_bytes(hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=6).digest(), "big") >> 1


def _connected(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, check_same_thread=False, timeout=_WAITS
    )


def _opened(connection: sqlite3.Connection, clock: Callable[[], float], *, new: bool = False) -> Ledger:
    try:
        if new:
            connection.executescript(";".join(("BEGIN", *_TABLES, f"PRAGMA user_version = {FORMAT}", "COMMIT")))
        _verify(connection)
        for setting in _SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        return Ledger(connection, clock)
    except BaseException:
        connection.close()
        raise


def _verify(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if version != FORMAT or tables != set(_TABLES):
        raise sqlite3.DatabaseError("it is no history of this format")
    problem = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if problem != "ok":
        raise sqlite3.DatabaseError(problem)


def _backup(path: Path, how: str, target: sqlite3.Connection) -> None:
    source = _connected(path, how)
    try:
        source.backup(target)
    finally:
        source.close()
