"""The file of the index: its tables, and how it is opened to be built and to be asked."""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from aahcrawler.layout import INDEXES, PAGES

VERSION: Final = 2
_PATIENCE: Final = 10.0
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
_SCHEMA: Final = """
CREATE TABLE segment (
  id INTEGER PRIMARY KEY, folder TEXT NOT NULL, name TEXT NOT NULL, inode INTEGER NOT NULL, covered INTEGER NOT NULL,
  size INTEGER NOT NULL, changed INTEGER NOT NULL, is_open INTEGER NOT NULL, damage TEXT, UNIQUE (folder, name)
);
CREATE TABLE capture (
  id INTEGER PRIMARY KEY, record TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, fetched_at TEXT NOT NULL, url TEXT NOT NULL,
  site TEXT NOT NULL, crawl INTEGER NOT NULL, status INTEGER NOT NULL, media_type TEXT, application TEXT, level TEXT,
  role TEXT, score REAL, relevant INTEGER, priority REAL, depth INTEGER, via TEXT, unchanged TEXT, former TEXT,
  trap TEXT, is_page INTEGER NOT NULL, is_requisite INTEGER NOT NULL, objects INTEGER NOT NULL, method TEXT NOT NULL,
  read_at TEXT NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL
);
CREATE INDEX capture_at ON capture (
  at, id, url, status, application, level, role, relevant, site, trap, crawl, is_requisite
);
CREATE INDEX capture_url ON capture (url, at);
CREATE INDEX capture_unchanged ON capture (unchanged) WHERE unchanged IS NOT NULL;
CREATE TABLE judged (
  url INTEGER NOT NULL, at INTEGER NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (url, at, segment, place)
) WITHOUT ROWID;
CREATE TABLE object (
  id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE, type TEXT NOT NULL, url TEXT NOT NULL, title TEXT, author TEXT,
  date TEXT, excerpt TEXT, part_of TEXT, inferred TEXT, capture INTEGER NOT NULL, at INTEGER NOT NULL, deleted TEXT
);
CREATE INDEX object_type ON object (type, id);
CREATE INDEX object_author ON object (type, id) WHERE author IS NULL;
CREATE INDEX object_date ON object (type, id) WHERE date IS NULL;
CREATE INDEX object_title ON object (type, id) WHERE title IS NULL;
CREATE TABLE sighting (object INTEGER NOT NULL, capture INTEGER NOT NULL, PRIMARY KEY (object, capture)) WITHOUT ROWID;
CREATE INDEX sighting_capture ON sighting (capture);
CREATE TABLE deletion (
  iri TEXT PRIMARY KEY, at INTEGER NOT NULL, deleted_at TEXT NOT NULL, record TEXT NOT NULL,
  crawl INTEGER NOT NULL, former TEXT
);
CREATE VIRTUAL TABLE words USING fts5(
  type, title, author, excerpt, content = 'object', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
);
CREATE TABLE tally (
  crawl INTEGER NOT NULL, topic TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (crawl, topic, name)
) WITHOUT ROWID;
CREATE TABLE course (crawl INTEGER PRIMARY KEY, width INTEGER NOT NULL, points TEXT NOT NULL);
"""


class IndexFile:
    """The file in which the index of a folder is: in the folder itself, or in a temporary one.

    The latter is where nothing can be written in the folder; it ends with this object.
    """

    def __init__(self, crawl: Path) -> None:
        self.path = crawl / INDEXES / PAGES
        self._spare: tempfile.TemporaryDirectory[str] | None = None
        self._held: tuple[int, sqlite3.Connection] | None = None

    @property
    def is_temporary(self) -> bool:
        """Return whether it lies elsewhere, since nothing can be written in the folder."""
        return self._spare is not None

    def prepare(self) -> sqlite3.Connection:
        """Open it for building; it is made where it is missing, damaged or of another version.

        Raise ``sqlite3.Error`` or ``OSError`` where it can be made nowhere.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return self._prepared()
        except (OSError, sqlite3.OperationalError):
            if self.is_temporary:
                raise
            self._spare = tempfile.TemporaryDirectory(prefix="aah-pages-")
            self.path = Path(self._spare.name) / PAGES
            return self._prepared()

    def remove(self) -> None:
        """Remove it: it is made anew when it is next prepared."""
        for suffix in _SUFFIXES:
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def asked(self) -> Iterator[sqlite3.Connection]:
        """Open it for questions, which change nothing, as it is at one moment.

        Raise ``sqlite3.Error``, also for one of another version.
        """
        with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as base:
            base.row_factory = sqlite3.Row
            base.execute("PRAGMA query_only = 1")
            if base.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                raise sqlite3.OperationalError("the index is of another version, or has only just been begun")
            base.execute("BEGIN")
            yield base

    def hold(self) -> None:
        """Keep it open until it is closed, so that whoever builds need not put everything in its place each time.

        Raise ``sqlite3.Error`` or ``OSError`` where that cannot be.
        """
        inode = self.path.stat().st_ino
        if self._held is None or self._held[0] != inode:
            self._let_go()
            base = sqlite3.connect(self.path, timeout=_PATIENCE, check_same_thread=False)
            self._held = inode, base
            base.execute("SELECT count(*) FROM segment").fetchone()

    def _let_go(self) -> None:
        if self._held is not None:
            self._held[1].close()
            self._held = None

    def close(self) -> None:
        """Let go of it, and remove it where it is temporary."""
        self._let_go()
        if self._spare is not None:
            self._spare.cleanup()

    def _prepared(self) -> sqlite3.Connection:
        try:
            return self._opened()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
        self.remove()
        return self._opened()

    def _opened(self) -> sqlite3.Connection:
        base = sqlite3.connect(self.path, timeout=_PATIENCE, check_same_thread=False)
        try:
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = NORMAL")
            base.execute("PRAGMA cache_size = -32768")
            version = base.execute("PRAGMA user_version").fetchone()[0]
            if version != VERSION:
                if version or base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    raise sqlite3.DatabaseError("it is of another version")
                base.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
            base.execute("UPDATE segment SET covered = covered WHERE id < 0")  # Whether it can be written.
            base.commit()
        except BaseException:
            with suppress(sqlite3.Error):
                base.close()
            raise
        return base
