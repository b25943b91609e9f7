"""Write the records of other archives, and their index lines, to the WARC files of a crawl's folder."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO, Final, Self, cast
from uuid import uuid4

from aahcrawler import __version__
from aahcrawler.archive.index import IndexedRecords, IndexWriter
from aahcrawler.archive.records import header, warc_date
from aahcrawler.archive.scanning import Scanned
from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords
from aahcrawler.imports.kept_records import RECORD_END, KeptRecord, UnusableError, kept_record
from aahcrawler.imports.source_text import FilePlace
from aahcrawler.layout import ARCHIVE, IMPORTS, INDEXES, WARC
from aahcrawler.segments import SegmentWriter, Series, Span, append_line, segments

_PIECE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file from which records are imported: its name, its size in bytes, and its SHA-256 in hexadecimal digits.

    ``package`` is the name of the WACZ file that contains it; empty if there is none.
    """

    name: str
    size: int
    sha256: str
    package: str = ""

    @property
    def label(self) -> str:
        """The name used in messages."""
        return f"{self.package}/{self.name}" if self.package else self.name


class ImportWriter:
    """Appends records to WARC files in ``root``, each as a gzip member, after a ``warcinfo`` record about their source.

    When ``write`` returns, the operating system has what was appended. Raises ``SegmentError``.
    """

    def __init__(self, root: Path, name: str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._segments = SegmentWriter(Series(root / ARCHIVE, name, WARC), clock, self._preamble)
        self._index = IndexWriter(root / ARCHIVE, root / INDEXES)
        self._indexed = IndexedRecords("")
        self._file = ""
        self._source: SourceFile | None = None
        self._is_told = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._segments.close()
        finally:
            self._end_index()
            self._index.close()

    def begin(self, source: SourceFile) -> None:
        """Continue with another source."""
        self._source, self._is_told = source, False

    def write(self, kept: KeptRecord, record: ForeignRecord, member: bytes = b"") -> Span:
        """Append a record: its block is read from its beginning, unless it is given as a gzip ``member``."""
        file = self._segments.ready()
        if not self._is_told:
            self._segments.append(self._told(file))
            self._is_told = True
        if member:
            span = self._segments.append_packed(member)
        else:
            record.block.seek(0)
            span = self._segments.append(_pieces(kept.head(), record.block))
        self._tell_index(kept, record, span)
        return span

    def _tell_index(self, kept: KeptRecord, record: ForeignRecord, span: Span) -> None:
        if span.file != self._file:
            self._end_index()
            self._file, self._indexed = span.file, IndexedRecords(span.file)
        for entry in self._indexed.take(Scanned(span.offset, span.size, kept.fields, record.http, record.body)):
            self._index.add(entry)

    def _end_index(self) -> None:
        for entry in self._indexed.end():
            self._index.add(entry)

    def _preamble(self, file: str) -> Iterator[bytes]:
        self._is_told = True
        return self._told(file)

    def _told(self, file: str) -> Iterator[bytes]:
        """Yield the ``warcinfo`` record that names the source of the records after it."""
        source = self._source
        told = [("software", f"AAHCrawler/{__version__}"), ("format", "WARC File Format 1.1")]
        if source is not None:
            told += [
                ("description", f"Records that were imported from {source.label}"),
                ("imported-from", source.label),
                ("imported-bytes", str(source.size)),
                ("imported-digest", f"sha256:{source.sha256}"),
            ]
        block = "".join(f"{name}: {value}\r\n" for name, value in told).encode("utf-8", "replace")
        fields = (
            ("WARC-Type", "warcinfo"),
            ("WARC-Record-ID", f"<{uuid4().urn}>"),
            ("WARC-Date", warc_date(self._clock())),
            ("WARC-Filename", file),
            ("Content-Type", "application/warc-fields"),
        )
        yield header(fields, hashlib.sha1(block, usedforsecurity=False).digest(), len(block)) + block + RECORD_END


def _pieces(head: bytes, block: IO[bytes]) -> Iterator[bytes]:
    yield head
    while piece := block.read(_PIECE):
        yield piece
    yield RECORD_END


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
    """A revisit whose original is in no record: the file it came from, its place there, and its URL."""

    file: str
    sha256: str
    place: FilePlace
    url: str


class ImportLedger:
    """The register, in the file ``path``, of the records of the WARC files in ``archive``. For one process at a time.

    Entries are on disk after ``commit``; after a kill they are read from the files again. ``spool`` is a folder for
    large blocks. Raises ``OSError`` and ``sqlite3.Error``.
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
        """Return the identity of the record with an id; None if there is none."""
        found = self._base.execute("SELECT identity FROM record WHERE id = ?", (record_id,)).fetchone()
        return None if found is None else bytes(found[0])

    def add(self, record: KeptRecord, file: str, end: int) -> None:
        """Register a record that ends at ``end`` in a file; all records before it must be registered."""
        self._note(record)
        self._base.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", (file, end))
        self._waiting += 1
        if self._waiting >= _AT_ONCE:
            self.commit()

    def await_original(self, revisit: KeptRecord, source: SourceFile, place: FilePlace) -> None:
        """Register that a revisit, from a place of a file, needs the record with its payload."""
        header = revisit.header
        refers, digest = header.get("WARC-Refers-To").strip("<>"), header.get("WARC-Payload-Digest")
        url = header.get("WARC-Target-URI").strip("<>")
        row = (revisit.record_id, url, refers, digest, source.label, source.sha256, place.offset, place.within)
        self._base.execute("INSERT OR REPLACE INTO revisit VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def missing_originals(self) -> list[MissingOriginal]:
        """Return the registered revisits without an original."""
        self._base.execute(
            "DELETE FROM revisit WHERE refers IN (SELECT id FROM record) OR digest IN (SELECT digest FROM payload)"
        )
        rows = self._base.execute(
            "SELECT source, sha256, at, within, url FROM revisit ORDER BY source, sha256, at, within"
        )
        return [MissingOriginal(source, sha256, FilePlace(at, within), url) for source, sha256, at, within, url in rows]

    def forget_revisits(self) -> None:
        """Remove the registered revisits once they have been reported."""
        self._base.execute("DELETE FROM revisit")
        self.commit()

    def commit(self) -> None:
        """Commit the entries to disk."""
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
        """Register records of the files that are not in the register; rebuild it if something registered is gone."""
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


_IN_MEMORY: Final = 1 << 20
_READ_AT_ONCE: Final = 1 << 20
_LINES_AT_ONCE: Final = 1_000


@dataclass(slots=True)
class ImportCounts:
    """What happened to the records of a file.

    ``already`` were in the folder, ``removed`` belong to pages taken down there, ``lost`` could not be read, and
    ``noted`` are kept although they have faults. ``passed`` counts places that contain no record.
    """

    kept: int = 0
    already: int = 0
    removed: int = 0
    lost: int = 0
    noted: int = 0
    passed: int = 0

    @property
    def records(self) -> int:
        """The number of all records found."""
        return self.kept + self.already + self.removed + self.lost

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the file was lost."""
        return not (self.lost or self.passed)

    def add(self, other: "ImportCounts") -> None:
        """Add the counts of another file."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file that was imported: its name, its SHA-256, when it was imported (ISO 8601), and its counts.

    ``how`` is ``copy`` or ``reference``, or ``package`` for a WACZ file, whose archive files have entries of their own.
    """

    name: str
    sha256: str
    at: str
    how: str
    size: int
    counts: ImportCounts


@dataclass(frozen=True, slots=True)
class PlaceNote:
    """A note on a place in the file with this digest: on a record, or on bytes that are no record."""

    sha256: str
    place: FilePlace
    what: str
    why: str
    kept: bool = True

    def line(self) -> str:
        """Return the note as a line of ``imports.jsonl``, without its line break."""
        told = {
            "entry": "told",
            "sha256": self.sha256,
            "offset": self.place.offset,
            "within": self.place.within,
            "kept": self.kept,
            "what": self.what,
            "why": self.why,
        }
        return json.dumps(told, ensure_ascii=False)


@dataclass(slots=True)
class ImportNotes:
    """The notes on one file: kept in a temporary file until they are written, all at once, when the file is done."""

    source: SourceFile
    _spool: IO[bytes] = field(
        default_factory=lambda: cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed by `close`
    )

    def tell(self, place: FilePlace, what: str, why: str, *, kept: bool) -> None:
        """Add a note on a record, or on bytes that are no record."""
        self._spool.write(
            PlaceNote(self.source.sha256, place, what, why, kept).line().encode("utf-8", "replace") + b"\n"
        )

    def write(self, root: Path, counts: ImportCounts, how: str) -> None:
        """Append the notes on the file, and its counts. Raises ``OSError``."""
        file = root / IMPORTS
        self._spool.seek(0)
        while piece := self._spool.read(_READ_AT_ONCE):
            piece += self._spool.readline()
            append_line(file, piece.decode().removesuffix("\n"))
        said = {
            "entry": "file",
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "name": self.source.label,
            "bytes": self.source.size,
            "sha256": self.source.sha256,
            "how": how,
            **asdict(counts),
        }
        append_line(file, json.dumps(said, ensure_ascii=False))

    def close(self) -> None:
        """Discard the notes."""
        self._spool.close()


def note_all(root: Path, notes: Iterable[PlaceNote]) -> None:
    """Append notes on files whose entries are already written. Raises ``OSError``."""
    lines = (note.line().encode("utf-8", "replace").decode() for note in notes)
    while some := tuple(islice(lines, _LINES_AT_ONCE)):
        append_line(root / IMPORTS, "\n".join(some))


def entries(root: Path, begin: int = 0) -> Iterator[tuple[ImportedFile | PlaceNote | None, int]]:
    """Yield the entries of ``imports.jsonl`` from the line at ``begin`` on, each with the offset after it.

    A line that cannot be read gives None. Yields nothing if there is no file.
    """
    path = root / IMPORTS
    if not path.exists():
        return
    with path.open("rb") as lines:
        lines.seek(begin)
        end = begin
        for line in lines:
            end += len(line)
            yield _entry(line), end


def _entry(line: bytes) -> ImportedFile | PlaceNote | None:
    try:
        said = json.loads(line)
        if said["entry"] == "file":
            counts = ImportCounts(**{each.name: int(said.get(each.name, 0)) for each in fields(ImportCounts)})
            name, sha256, at, how = (str(said.get(key, "")) for key in ("name", "sha256", "at", "how"))
            return ImportedFile(name, sha256, at, how, int(said.get("bytes", 0)), counts)
        if said["entry"] == "told":
            place = FilePlace(int(said.get("offset", 0)), int(said.get("within", 0)))
            sha256, what, why = (str(said.get(key, "")) for key in ("sha256", "what", "why"))
            return PlaceNote(sha256, place, what, why, said.get("kept") is True)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return None
