"""A temporary table on disk of the responses in a folder of WARC files, because memory might not hold them all."""

import gzip
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, BinaryIO, Final, NamedTuple, cast

from isal import isal_zlib

from aahcrawler.archive.scanning import MAX_HEADER_LENGTH, Member, MemberError, read_header
from aahcrawler.captures.capture_source import BEGINNING, Position
from aahcrawler.captures.record_scan import Damage, Info, ResponseRecord, scanned
from aahcrawler.layout import WARC
from aahcrawler.segments import OPEN, SegmentError, is_open, open_segment, segments

_COLUMNS: Final = ", ".join(ResponseRecord._fields)
_SCHEMA: Final = f"""
PRAGMA journal_mode = OFF;
CREATE TABLE response (file INTEGER, {_COLUMNS});
CREATE TABLE info (file INTEGER, id TEXT, begin INTEGER, end INTEGER);
CREATE TABLE bound (run INTEGER, file INTEGER, low INTEGER, high INTEGER, PRIMARY KEY (run, file)) WITHOUT ROWID;
"""
_INSERT: Final = f"INSERT INTO response VALUES (?{', ?' * len(ResponseRecord._fields)})"  # noqa: S608 - names of fields
_SELECT: Final = f"SELECT response.file, {_COLUMNS} FROM response"  # noqa: S608 - names of fields
_IN_TIME: Final = "ORDER BY at, response.file, begin"
_BOUNDED: Final = "CROSS JOIN bound ON run = ? AND bound.file = response.file AND begin > low AND begin <= high"
_INDEXES: Final = {
    "id": "ON response (id)",
    "url": "ON response (url)",
    "location": "ON response (location) WHERE location <> ''",
    "shown_on": "ON response (shown_on) WHERE shown_on <> ''",
    "info": "ON info (id)",
}
_MAX_OPEN: Final = 64
_BEFORE_ALL: Final = -1


class Row(NamedTuple):
    """A response, and the number of the file that contains it."""

    file: int
    response: ResponseRecord


@dataclass(slots=True)
class _File:
    """A WARC file, as far as it was scanned into the table.

    ``state`` is the file's size, time and openness when it was scanned; ``last`` is the offset of its last response.
    """

    path: Path
    state: tuple[int, int, bool] = (0, 0, True)
    last: int = 0
    last_id: str = ""
    copy: IO[bytes] | None = None
    """A converted copy that is read instead, if the file's records are not gzip members."""

    name: str = ""


class RecordTable:
    """The responses in the WARC files of a folder. Nothing is written in the folder.

    ``damaged`` is called for each place that cannot be read, and may raise; ``seen`` is called with each new response.
    """

    def __init__(self, folder: Path, damaged: Callable[[Damage], object], seen: Callable[[], object]) -> None:
        self._folder, self._damaged, self._seen = folder, damaged, seen
        self._base = sqlite3.connect("")
        self._base.executescript(_SCHEMA)
        self._indexed: set[str] = set()
        self._files: list[_File] = []
        self._runs = count()
        self._opened: dict[int, tuple[int, BinaryIO]] = {}

    def close(self) -> None:
        """Delete the table and close the files."""
        self._close_files()
        for file in self._files:
            if file.copy is not None:
                file.copy.close()
        self._base.close()

    def catch_up(self) -> None:
        """Scan what was added to the files, and drop the rows of files that are gone or were replaced.

        Raises ``SegmentError`` for a file that cannot be opened, and whatever ``damaged`` raises.
        """
        known = {file.name: number for number, file in enumerate(self._files)}
        for path in segments(self._folder, WARC):
            number = known.pop(path.name.removesuffix(OPEN), len(self._files))
            if number == len(self._files):
                self._files.append(_File(path, name=path.name.removesuffix(OPEN)))
            self._files[number].path = path
            try:
                self._read(number)
            except OSError as error:
                raise SegmentError(f"{path}: cannot be read ({error}). Restore it from a copy.") from error
        for number in known.values():
            self._forget(number, 0)

    def name(self, number: int) -> str:
        """Return the final name of the file with this number."""
        return self._files[number].name

    def files(self) -> Sequence[int]:
        """Return the numbers of the files that exist, in the order in which they were begun."""
        return [number for number, file in enumerate(self._files) if file.state[0]]

    def size(self, number: int) -> int:
        """Return the number of bytes up to the last whole record of a file. Raises ``OSError``."""
        with open_segment(self._readable(self._files[number])) as stream:
            return stream.seek(0, os.SEEK_END)

    def open(self, number: int) -> BinaryIO:
        """Return a file by its number, open for reading; the table closes it. Raises ``OSError``."""
        if (copy := self._files[number].copy) is not None:
            return cast("BinaryIO", copy)
        path = self._files[number].path
        try:
            status = path.stat()
        except FileNotFoundError:  # It has been closed since it was listed.
            path = path.with_name(self.name(number))
            status = path.stat()
        opened = self._opened.get(number)
        if opened is not None and opened[0] == status.st_ino:
            return opened[1]
        if opened is not None or len(self._opened) >= _MAX_OPEN:
            self._close_files()
        self._opened[number] = status.st_ino, path.open("rb")
        return self._opened[number][1]

    def _close_files(self) -> None:
        for _, file in self._opened.values():
            file.close()
        self._opened.clear()

    def in_time(self, after: Position) -> Iterator[tuple[Row, Position]]:
        """Yield rows in the order of time, each with the position to resume from after it.

        First come the rows that the iteration of ``after`` had left, then those added since.
        """
        present = {file.name: file.last_id for file in self._files if file.last_id}
        if after.last:
            yield from self._run(after)
        yield from self._run(replace(BEGINNING, last=present, former=after.last))

    def _run(self, begun: Position) -> Iterator[tuple[Row, Position]]:
        """Yield the rows that an iteration has left."""
        at, given = begun.at, begun.given
        for row in self._sorted(begun):
            response = row.response
            if response.at < begun.at or (response.at == begun.at and response.id in begun.given):
                continue
            given = given | {response.id} if response.at == at else frozenset((response.id,))
            at = response.at
            yield row, Position(at, given, begun.last, begun.former)

    def _sorted(self, begun: Position) -> Iterator[Row]:
        # Sorting reads all rows before it gives the first, so what is taken in meanwhile does not get among them.
        number = next(self._runs)
        files = range(len(self._files))
        bounds = [(number, each, self._bound(each, begun.former), self._bound(each, begun.last)) for each in files]
        self._base.executemany("INSERT INTO bound VALUES (?, ?, ?, ?)", bounds)
        rows = self._base.execute(f"{_SELECT} {_BOUNDED} {_IN_TIME}", (number,))
        for row in rows:
            yield Row(row[0], ResponseRecord._make(row[1:]))

    def _bound(self, number: int, last: Mapping[str, str]) -> int:
        """Return the offset of the last response of a file that an iteration knows.

        If there is none, or it is gone, return a value below all offsets.
        """
        known = last.get(self.name(number))
        if known is None or known == self._files[number].last_id:
            return _BEFORE_ALL if known is None else self._files[number].last
        return next((row.response.begin for row in self._found("id", known) if row.file == number), _BEFORE_ALL)

    def of_url(self, url: str) -> list[Row]:
        """Return the responses of a URL in the order of time."""
        return self._found("url", url)

    def of_record(self, record_id: str) -> Row | None:
        """Return the response with a record id; None if there is none."""
        return next(iter(self._found("id", record_id)), None)

    def leading_to(self, url: str) -> list[Row]:
        """Return the redirects to a URL."""
        return self._found("location", url) if url else []

    def shown_on(self, url: str) -> list[Row]:
        """Return the responses that a browser requested while it showed the page at ``url``."""
        return self._found("shown_on", url) if url else []

    def info(self, record_id: str) -> tuple[int, Info] | None:
        """Return the warcinfo record with an id, and the number of its file; None if there is none."""
        query = f"SELECT file, id, begin, end FROM info {self._by('info')} WHERE id = ?"  # noqa: S608
        found = self._base.execute(query, (record_id,)).fetchone()
        return None if found is None else (found[0], Info._make(found[1:]))

    def _found(self, column: str, value: str) -> list[Row]:
        given = f" AND {column} <> ''" if "WHERE" in _INDEXES[column] else ""
        rows = self._base.execute(f"{_SELECT} {self._by(column)} WHERE {column} = ?{given} {_IN_TIME}", (value,))
        return [Row(row[0], ResponseRecord._make(row[1:])) for row in rows]

    def _by(self, name: str) -> str:
        """Return the SQL clause that selects an index, creating the index on first use."""
        if name not in self._indexed:
            self._base.execute(f"CREATE INDEX by_{name} {_INDEXES[name]}")
            self._indexed.add(name)
        return f"INDEXED BY by_{name}"

    def _read(self, number: int) -> None:
        file = self._files[number]
        status = file.path.stat()
        state = (status.st_ino, status.st_size, is_open(file.path))
        is_another = file.state[0] not in (0, state[0]) or state[1] < file.state[1]
        if state == file.state:
            return
        if is_another and file.copy is not None:
            file.copy.close()
            file.copy = None
        begin = 0 if is_another else file.last
        if file.state[0]:
            self._forget(number, begin)
        # Rows of the last response are read again, as records that belong to it may have been added since.
        self._base.executemany(_INSERT, self._rows(number, begin))
        file.state = state

    def _rows(self, number: int, begin: int) -> Iterator[tuple[object, ...]]:
        file = self._files[number]
        for each in scanned(self._readable(file), begin, self._damaged):
            if isinstance(each, ResponseRecord):
                file.last, file.last_id = each.begin, each.id
                self._seen()
                yield number, *each
            else:
                self._base.execute("INSERT INTO info VALUES (?, ?, ?, ?)", (number, *each))

    def _readable(self, file: _File) -> Path:
        """Return the path to read a file from: a converted copy if its records are not gzip members."""
        if file.copy is None and not is_open(file.path) and not has_members(file.path):
            file.copy = with_members(file.path, self._damaged)
        return file.path if file.copy is None else Path(file.copy.name)

    def _forget(self, number: int, begin: int) -> None:
        self._base.execute("DELETE FROM response WHERE file = ? AND begin >= ?", (number, begin))
        self._base.execute("DELETE FROM info WHERE file = ? AND begin >= ?", (number, begin))
        if not begin:
            self._files[number].last, self._files[number].last_id = 0, ""


_PIECE = 1 << 20
_FASTEST = 0
_GZIP = 16 + zlib.MAX_WBITS
_RECORD_END = b"\r\n\r\n"


def has_members(path: Path) -> bool:
    """Return whether the first record of a file is a gzip member of its own.

    If that part of the file is damaged, return True, so that the reader reports the damage. Raises ``OSError``.
    """
    with path.open("rb") as file:
        member, head = Member(file, 0), bytearray()
        try:
            while (end := head.find(_RECORD_END)) < 0 and len(head) <= MAX_HEADER_LENGTH and (piece := member.read()):
                head += piece
            end += len(_RECORD_END)
            length = int(read_header(bytes(head[:end]))[0].get("Content-Length"))
            left = end + length + len(_RECORD_END) - len(head)
            while left >= 0 and (piece := member.read()):
                left -= len(piece)
        except (MemberError, ValueError):
            return True
    return left >= 0


def with_members(path: Path, damaged: Callable[[Damage], object]) -> IO[bytes]:
    """Return a temporary copy of a file in which each record is a gzip member; closing the copy deletes it.

    ``damaged`` is called if the file cannot be read to its end; the copy holds what comes before. Raises ``OSError``.
    """
    copy = NamedTemporaryFile(suffix=".warc.gz")  # noqa: SIM115 - whoever asked for it closes it
    try:
        _copy_records(path, copy, damaged)
        copy.flush()
    except BaseException:
        copy.close()
        raise
    return copy


def _copy_records(path: Path, copy: IO[bytes], damaged: Callable[[Damage], object]) -> None:
    try:
        with gzip.open(path) as text:
            while _copy_record(text, copy):
                pass
    except (EOFError, OSError, ValueError, zlib.error) as error:
        damaged(Damage(path, 0, f"its one gzip member ends early: {error}"))


def _copy_record(text: gzip.GzipFile, copy: IO[bytes]) -> bool:
    """Copy the next record; return False at the end of the file. A record that is cut off is not copied."""
    head = bytearray()
    while not head.endswith(_RECORD_END):
        line = text.readline(MAX_HEADER_LENGTH)
        if not line:
            return False
        if head or line.strip():
            head += line
        if len(head) > MAX_HEADER_LENGTH:
            raise ValueError("there is no header of a record")
    begin = copy.tell()
    try:
        for piece in _packed(bytes(head), text):
            copy.write(piece)
    except BaseException:
        copy.truncate(begin)
        copy.seek(begin)
        raise
    return True


def _packed(head: bytes, text: gzip.GzipFile) -> Iterator[bytes]:
    compressor = isal_zlib.compressobj(_FASTEST, isal_zlib.DEFLATED, _GZIP)
    yield compressor.compress(head)
    left = int(read_header(head)[0].get("Content-Length"))
    while left:
        piece = text.read(min(left, _PIECE))
        if not piece:
            raise EOFError("a record is not whole")
        yield compressor.compress(piece)
        left -= len(piece)
    yield compressor.compress(_RECORD_END) + compressor.flush()
