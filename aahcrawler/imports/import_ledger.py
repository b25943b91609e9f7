"""Which records a folder of WARC files holds, by their ids, so that none is written twice.

It is derived from the files and can be made anew from them: where it is behind, as after a kill, what was appended
since is read.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords
from aahcrawler.imports.import_writer import SourceFile
from aahcrawler.imports.kept_records import KeptRecord, UnusableError, kept_record
from aahcrawler.imports.source_text import FilePlace
from aahcrawler.layout import WARC
from aahcrawler.segments import segments

_FORMAT: Final = 2
_SCHEMA: Final = f"""
CREATE TABLE IF NOT EXISTS record (id TEXT PRIMARY KEY, identity BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS payload (digest TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revisit (id TEXT PRIMARY KEY, url TEXT, refers TEXT, digest TEXT, source TEXT, sha256 TEXT,
    at INTEGER, within INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS file (name TEXT PRIMARY KEY, end INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA user_version = {_FORMAT};
"""
_AT_ONCE: Final = 2_000
_HOLDING: Final = frozenset({"response", "resource"})


@dataclass(frozen=True, slots=True)
class MissingOriginal:
    """A revisit that shows what no record holds: the file it came from, its place there, and its URL."""

    file: str
    sha256: str
    place: FilePlace
    url: str


class ImportLedger:
    """The records of the WARC files in ``archive``, noted in the file ``path``. For one process at a time.

    What is noted is on disk after ``commit``; a kill before costs the time to read it from the files again. ``spool``
    is a folder for large blocks. Raises ``OSError`` and ``sqlite3.Error``.
    """

    def __init__(self, path: Path, archive: Path, spool: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._archive, self._spool = path, archive, spool
        self._base = self._opened()
        self._waiting = 0
        self.catch_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._base.commit()
        self._base.close()

    def identity(self, record_id: str) -> bytes | None:
        """Return the identity of the record of an id, None where there is none."""
        found = self._base.execute("SELECT identity FROM record WHERE id = ?", (record_id,)).fetchone()
        return None if found is None else bytes(found[0])

    def add(self, record: KeptRecord, file: str, end: int) -> None:
        """Note a record that ends at a byte of a file, all before which has been noted."""
        self._note(record)
        self._base.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", (file, end))
        self._waiting += 1
        if self._waiting >= _AT_ONCE:
            self.commit()

    def await_original(self, revisit: KeptRecord, source: SourceFile, place: FilePlace) -> None:
        """Note that a revisit, from a place of a file, needs the record whose payload it has again."""
        header = revisit.header
        refers, digest = header.get("WARC-Refers-To").strip("<>"), header.get("WARC-Payload-Digest")
        url = header.get("WARC-Target-URI").strip("<>")
        row = (revisit.record_id, url, refers, digest, source.label, source.sha256, place.offset, place.within)
        self._base.execute("INSERT OR REPLACE INTO revisit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def missing_originals(self) -> list[MissingOriginal]:
        """Return the revisits that show what no record holds, until they are forgotten."""
        self._base.execute(
            "DELETE FROM revisit WHERE refers IN (SELECT id FROM record) OR digest IN (SELECT digest FROM payload)"
        )
        rows = self._base.execute(
            "SELECT source, sha256, at, within, url FROM revisit ORDER BY source, sha256, at, within"
        )
        return [MissingOriginal(source, sha256, FilePlace(at, within), url) for source, sha256, at, within, url in rows]

    def forget_revisits(self) -> None:
        """Forget the revisits: they have been told."""
        self._base.execute("DELETE FROM revisit")
        self.commit()

    def commit(self) -> None:
        """Keep what was noted."""
        self._base.commit()
        self._waiting = 0

    def _opened(self) -> sqlite3.Connection:
        try:
            base = sqlite3.connect(self._path)
            known = base.execute("PRAGMA user_version").fetchone()[0]
            if known == 0:
                base.executescript(_SCHEMA)
            if known in {0, _FORMAT}:
                return base
            base.close()
        except sqlite3.DatabaseError:
            base.close()
        self._path.unlink()
        base = sqlite3.connect(self._path)
        base.executescript(_SCHEMA)
        return base

    def _note(self, record: KeptRecord) -> None:
        self._base.execute("INSERT OR IGNORE INTO record VALUES (?, ?)", (record.record_id, record.identity))
        header = record.fields
        if header.get("WARC-Type").lower() in _HOLDING and (digest := header.get("WARC-Payload-Digest")):
            self._base.execute("INSERT OR IGNORE INTO payload VALUES (?)", (digest,))

    def catch_up(self) -> None:
        """Read what the files hold beyond what is noted; begin anew where something that was noted is gone."""
        sizes = {path.name: (path, path.stat().st_size) for path in segments(self._archive, WARC)}
        noted = dict[str, int](self._base.execute("SELECT name, end FROM file"))
        if any(name not in sizes or sizes[name][1] < end for name, end in noted.items()):
            self._base.execute("DELETE FROM record")
            self._base.execute("DELETE FROM payload")
            self._base.execute("DELETE FROM file")
            noted = {}
        for name, (path, size) in sizes.items():
            begin = noted.get(name, 0)
            if begin < size:
                for record in _records(path, begin, size, self._spool):
                    self._note(record)
                self._base.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", (name, size))
        self.commit()


def _records(path: Path, begin: int, size: int, spool: Path) -> Iterator[KeptRecord]:
    with path.open("rb") as file:
        for found in ForeignRecords(file, size, spool, begin):
            if isinstance(found, ForeignRecord):
                try:
                    yield kept_record(found)
                except UnusableError:
                    continue
