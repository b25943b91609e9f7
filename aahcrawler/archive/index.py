"""The CDXJ index of a crawl's WARC files: its lines, writing it during a crawl, and rebuilding it.

The index of a WARC file goes through three states: ``<file>.lines``, with a line for each capture in the order of
writing, while the file is written; ``<file>.cdxj``, sorted, after the file was closed; and lines in ``index.cdxj``,
after the crawl has ended. At any time the ``*.cdxj`` files of the folder together are the index of all closed files, as
pywb reads it.

Several processes may write WARC files to one folder, and so their lines; they take turns at sorting.

The lines of a file are always a prefix of the complete ones: after a crash or a full disk, the captures after the last
line are read from the WARC file itself. A fault of the index never stops a crawl.
"""

import fcntl
import heapq
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from aahcrawler.archive.folders import hidden_in
from aahcrawler.archive.payload import GOT, AskedRequest, key_of_url, status_of
from aahcrawler.archive.records import Fields, is_http
from aahcrawler.archive.scanning import Scanned, scan, timestamp
from aahcrawler.layout import INDEX, WARC
from aahcrawler.segments import is_open, no_link, segments

INDEXED = frozenset({"response", "revisit", "resource"})
"""The types of records that can be replayed. Metadata records describe a page, and are no version of it."""

_MAX_URL_LENGTH = 1 << 16
_TYPE = re.compile(rb"\ncontent-type[ \t]*:[ \t]*([^\s;,]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that can be looked up. ``url``, ``date`` and ``digest`` are spelled as in its header.

    ``http_head`` is the head of the HTTP message in it. ``offset`` and ``length`` locate its gzip member. ``asked`` is
    the request to which it is the response.
    """

    kind: str
    url: str
    date: str
    digest: str
    http_head: bytes
    media_type: str
    file: str
    offset: int
    length: int
    asked: AskedRequest = GOT

    @classmethod
    def made(cls, fields: Fields, http_head: bytes, location: tuple[str, int, int]) -> "Entry":
        """Return the entry of a record with these named fields; ``location`` is its file, offset and length."""
        named = {name.lower(): value for name, value in reversed(fields)}
        file, offset, length = location
        return cls(
            kind=named.get("warc-type", "").lower(),
            url=named.get("warc-target-uri", "").strip("<>"),
            date=named.get("warc-date", ""),
            digest=named.get("warc-payload-digest", ""),
            http_head=http_head,
            media_type=named.get("content-type", ""),
            file=file,
            offset=offset,
            length=length,
        )

    @classmethod
    def of(cls, record: Scanned, file: str) -> "Entry | None":
        """Return the entry of a record; None if the record is damaged or of a type that is not indexed."""
        if record.kind not in INDEXED or not record.is_whole:
            return None
        entry = cls.made(record.header.fields, record.http_head, (file, record.offset, record.size))
        return entry if entry.is_complete else None

    @property
    def is_complete(self) -> bool:
        """Return whether the entry has a URL of an accepted length, a time, and something to replay.

        A response that ended before its head began, or a 304 that is not a revisit, would only hide better captures.
        """
        is_listed = 0 < len(self.url) <= _MAX_URL_LENGTH and timestamp(self.date) is not None
        return is_listed and not (self.kind == "response" and self._is_http and self._is_void)

    @property
    def _is_http(self) -> bool:
        return is_http(self.media_type)

    @property
    def _is_void(self) -> bool:
        return not self.http_head or status_of(self.http_head) == HTTPStatus.NOT_MODIFIED

    def line(self) -> bytes:
        """Return the line of the index: key, time and JSON, without unknown values."""
        status = status_of(self.http_head)
        fields = {
            "url": self.url,
            "mime": self._mime(),
            "status": f"{status:03}" if status is not None else "",
            "digest": self.digest,
            "length": str(self.length),
            "offset": str(self.offset),
            "filename": self.file,
        }
        if self.asked.method != "GET":
            fields |= {"requestBody": self.asked.query, "method": self.asked.method}
        known = json.dumps({name: value for name, value in fields.items() if value})
        return f"{key_of_url(self.url, self.asked)} {timestamp(self.date)} {known}\n".encode("ascii")

    def _mime(self) -> str:
        if self.kind == "revisit":
            return "warc/revisit"
        if not self._is_http:
            return re.split(r"[;,\s]", self.media_type, maxsplit=1)[0]
        found = _TYPE.search(self.http_head)
        return found[1].decode("latin-1") if found else ""


class IndexedRecords:
    """Makes index entries of the records of one file, which are taken in order.

    A request may come before or after its response. Records that are damaged or not indexed get no entry.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._response: tuple[str, Entry] | None = None
        self._asked: tuple[str, tuple[str, ...], AskedRequest] | None = None

    def take(self, record: Scanned) -> Iterator[Entry]:
        """Process the next record; yield the entry of the previous response once all its records have come."""
        others = record.header.concurrent_to
        if record.kind == "request" and record.is_whole:
            asked = AskedRequest.of(record.http_head, record.body)
            self._asked = (record.header.record_id, others, asked)
            if self._response is not None and self._response[0] in others:
                self._response = (self._response[0], replace(self._response[1], asked=asked))
        entry = Entry.of(record, self._file)
        if entry is None:
            return
        yield from self.end()
        if self._asked is not None and (self._asked[0] in others or record.header.record_id in self._asked[1]):
            entry = replace(entry, asked=self._asked[2])
        self._response = (record.header.record_id, entry)

    def end(self) -> Iterator[Entry]:
        """Yield the last entry, at the end of the file, if it was not yielded before."""
        response, self._response = self._response, None
        if response is not None:
            yield response[1]


@dataclass(frozen=True, slots=True)
class Place:
    """The file, byte range and URL in a line of the index."""

    file: str
    offset: int
    end: int
    url: str


def place_of(line: bytes) -> Place | None:
    """Return the place in a line of the index; None if the line cannot be read."""
    try:
        fields = json.loads(line.split(b" ", 2)[2])
        offset = int(fields["offset"])
        return Place(str(fields["filename"]), offset, offset + int(fields["length"]), str(fields.get("url", "")))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


LINES = ".lines"
SORTED = ".cdxj"
_MAX_LINE_LENGTH = 1 << 22
_IN_MEMORY = 16 << 20
_MAX_RUNS = 64
_logger = logging.getLogger(__name__)


class IndexWriter:
    """Writes the index of the WARC files in ``archive`` to ``folder`` while they are written.

    When ``add`` returns, the operating system has the line. Finished files are sorted in the background. No method
    raises for faults of the disk: the index then lacks lines until ``update`` adds them.
    """

    def __init__(self, archive: Path, folder: Path) -> None:
        self._archive = archive
        self._folder = folder
        self._file = ""
        self._lines: int | None = None
        self._beside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="index")
        self._closed = False

    def add(self, entry: Entry) -> None:
        """Add a record that was just written. The records of one file must be added in order."""
        try:
            if entry.file != self._file:
                self._begin(entry.file)
            if self._lines is not None and entry.is_complete:
                _write_all(self._lines, entry.line())
        except OSError as error:
            _logger.warning("the index falls behind: %s; aah archive index makes it anew", error)
            self._end()

    def close(self) -> None:
        """Add the lines of all closed WARC files to ``index.cdxj``. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._end()
        self._beside.shutdown()
        try:
            if any(not is_open(path) for path in segments(self._archive, WARC)):
                update(self._archive, self._folder)
        except OSError as error:
            _logger.warning("the index is not complete: %s; aah archive index makes it anew", error)

    def _begin(self, file: str) -> None:
        self._end()
        last, self._file = self._file, file
        if last:
            self._beside.submit(self._sort, last)
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self._lines = no_link(str(self._folder / (file + LINES)), flags)

    def _sort(self, file: str) -> None:
        try:
            with alone_in(self._folder):
                # Another process that ended meanwhile may have done it.
                if (self._folder / (file + LINES)).exists():
                    _settle(self._archive / file, self._folder)
        except OSError as error:
            _logger.warning("the index of %s is put off: %s", file, error)

    def _end(self) -> None:
        if self._lines is not None:
            os.close(self._lines)
            self._lines = None


def update(archive: Path, folder: Path) -> Path:
    """Add the lines of all closed WARC files in ``archive`` to ``index.cdxj`` in ``folder``; return its path.

    Only captures that are in no index are read from the WARC files. The old index stays until the new one is whole on
    disk. Raises ``OSError`` if the disk fails; the old index is then unchanged.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / INDEX
    with alone_in(folder):
        covered = set(covered_files(target))
        closed = [path for path in segments(archive, WARC) if not is_open(path)]
        for path in closed:
            begun = (folder / (path.name + LINES)).exists() or (folder / (path.name + SORTED)).exists()
            if begun or path.name not in covered:
                _settle(path, folder)
        runs = sorted(path for path in folder.glob(f"*.{WARC}{SORTED}"))
        if runs or not target.exists():
            _write_sorted((path for path in (target, *runs) if path.exists()), target)
        for path in runs:
            path.unlink()
    return target


def rebuild(archive: Path, folder: Path) -> Path:
    """Build the index of the closed WARC files of ``archive`` from these files alone; return its path.

    Records that cannot be read whole are left out. Raises ``OSError`` if the disk fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / INDEX
    with LineSorter(folder) as sorter:
        for path in segments(archive, WARC):
            if not is_open(path):
                sorter.extend(scanned_lines(path))
        replace_lines(target, sorter)
    for leftover in (*folder.glob(f"*.{WARC}{LINES}"), *folder.glob(f"*.{WARC}{SORTED}")):
        leftover.unlink()
    return target


def scanned_lines(path: Path, begin: int = 0) -> Iterator[bytes]:
    """Yield the index lines of a closed WARC file's records from offset ``begin`` on, in their order.

    Captures that were taken down, but are still in a file of others, have no line.
    """
    is_hidden = hidden_in(path)
    with path.open("rb") as file:
        records = IndexedRecords(path.name)
        for record in scan(file, begin):
            yield from (entry.line() for entry in records.take(record) if not is_hidden(entry.url))
        yield from (entry.line() for entry in records.end() if not is_hidden(entry.url))


def index_file(path: Path, folder: Path) -> None:
    """Sort the lines of a closed WARC file into its own index, which ``update`` merges into the index in ``folder``.

    Several processes may do this for different files at once, if nobody else works in the folder. Raises ``OSError``.
    """
    _settle(path, folder)


def index_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of an index file, without a last line that was cut off."""
    with path.open("rb") as file:
        while (line := file.readline(_MAX_LINE_LENGTH)).endswith(b"\n"):
            yield line


def covered_files(index: Path) -> Iterator[str]:
    """Yield the WARC file's name in each line of an index; nothing if there is no index."""
    if index.exists():
        for line in index_lines(index):
            yield line.rpartition(b'"filename": "')[2].partition(b'"')[0].decode("ascii", "replace")


class LineSorter:
    """Sorts any number of lines in a bounded amount of memory, with temporary files in ``folder``.

    Iterating yields every distinct line once, in the order of bytes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = ExitStack()
        self._runs: list[BinaryIO] = []
        self._lines: list[bytes] = []
        self._size = 0

    def extend(self, lines: Iterable[bytes]) -> None:
        """Add lines in any order."""
        for line in lines:
            self._lines.append(line)
            self._size += len(line)
            if self._size >= _IN_MEMORY:
                self._spill()

    def __iter__(self) -> Iterator[bytes]:
        for run in self._runs:
            run.seek(0)
        last = b""
        for line in heapq.merge(*self._runs, sorted(self._lines)):
            if line != last:
                yield line
            last = line

    def __enter__(self) -> "LineSorter":
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def _spill(self) -> None:
        if len(self._runs) == _MAX_RUNS:
            whole = TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed with the others
            whole.writelines(heapq.merge(*(_rewound(run) for run in self._runs)))
            self._files.close()
            self._runs = [self._files.enter_context(whole)]
        run = self._files.enter_context(TemporaryFile(dir=self._folder))  # noqa: SIM115
        run.writelines(sorted(self._lines))
        self._runs.append(run)
        self._lines, self._size = [], 0


def replace_lines(target: Path, lines: Iterable[bytes]) -> None:
    """Write a file of lines, which replaces an older one when it is whole on disk."""
    part = target.with_name(target.name + ".part")
    with open(part, "wb", opener=no_link) as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder alone within the context, after waiting for any other process that holds it. Raises ``OSError``."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _settle(warc: Path, folder: Path) -> None:
    """Sort the lines of a closed WARC file, adding those of records that were written after the last line."""
    lines, target = folder / (warc.name + LINES), folder / (warc.name + SORTED)
    if target.exists() and not lines.exists():
        return
    size = warc.stat().st_size
    with LineSorter(folder) as sorter:
        begin = 0
        for line, end in _trusted(lines, size):
            sorter.extend((line,))
            begin = end
        sorter.extend(scanned_lines(warc, begin))
        replace_lines(target, sorter)
    lines.unlink(missing_ok=True)


def _trusted(lines: Path, size: int) -> Iterator[tuple[bytes, int]]:
    """Yield the lines written with a WARC file up to the first doubtful one, each with the end of its records.

    ``size`` is the file's size.
    """
    last = 0
    for line in index_lines(lines) if lines.exists() else ():
        place = place_of(line)
        if place is None or not last <= place.offset < place.end <= size:
            return
        last = place.end
        yield line, last


def _write_sorted(sources: Iterable[Path], target: Path) -> None:
    with LineSorter(target.parent) as sorter:
        for path in sources:
            sorter.extend(index_lines(path))
        replace_lines(target, sorter)


def _rewound(run: BinaryIO) -> BinaryIO:
    run.seek(0)
    return run


def _write_all(fd: int, line: bytes) -> None:
    if os.write(fd, line) != len(line):
        raise OSError(f"a line of {len(line)} bytes could not be written whole")
