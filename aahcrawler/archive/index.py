"""The CDXJ index of a crawl's WARC files, written while crawling; it can always be made again from the WARC files.

States of a WARC file's index: ``<file>.lines``, a line for each capture in the order of writing, while the file is
written; ``<file>.cdxj``, sorted, once it has been closed; then its lines are in ``index.cdxj``, when the crawl has
ended. At any time the ``*.cdxj`` files of the folder together are the index of all closed files, as pywb reads it.

Several processes may write WARC files to one folder, and so their lines; they take turns at sorting.

The lines of a file are always a prefix of the complete ones: after a crash or a full disk, the captures behind the last
line are read from the WARC file itself. A fault of the index never stops a crawl.
"""

import fcntl
import heapq
import logging
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from aahcrawler.archive.folders import hidden_in
from aahcrawler.archive.index_entry import Entry, IndexedRecords, place_of
from aahcrawler.archive.scanning import scan
from aahcrawler.layout import INDEX, WARC
from aahcrawler.segments import is_open, no_link, segments

LINES = ".lines"
SORTED = ".cdxj"
_MAX_LINE_LENGTH = 1 << 22
_IN_MEMORY = 16 << 20
_MAX_RUNS = 64
_logger = logging.getLogger(__name__)


class IndexWriter:
    """Writes the index of the WARC files in ``archive`` to ``folder`` while they are written.

    An added line has reached the operating system when ``add`` returns. Finished files are sorted in the background. No
    method raises for faults of the disk: the index then lacks lines until ``update`` adds them.
    """

    def __init__(self, archive: Path, folder: Path) -> None:
        self._archive = archive
        self._folder = folder
        self._file = ""
        self._lines: int | None = None
        self._beside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="index")
        self._closed = False

    def add(self, entry: Entry) -> None:
        """Add a record that has just been written. The records of one file are added in order."""
        try:
            if entry.file != self._file:
                self._begin(entry.file)
            if self._lines is not None and entry.is_complete:
                _write_all(self._lines, entry.line())
        except OSError as error:
            _logger.warning("the index falls behind: %s; aah archive index makes it anew", error)
            self._end()

    def close(self) -> None:
        """Bring ``index.cdxj`` up to date with all closed WARC files. May be called twice."""
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
    """Bring ``index.cdxj`` in ``folder`` up to date with the closed WARC files of ``archive``; return its path.

    Only captures that no index has are read from the WARC files. The old index stays until the new one is whole on
    disk. Raises ``OSError`` where the disk refuses; the old index is then unchanged.
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

    Records that cannot be read whole are left out. Raises ``OSError`` where the disk refuses.
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

    Captures that were taken down, although a file of others still holds them, have no line.
    """
    is_hidden = hidden_in(path)
    with path.open("rb") as file:
        records = IndexedRecords(path.name)
        for record in scan(file, begin):
            yield from (entry.line() for entry in records.take(record) if not is_hidden(entry.url))
        yield from (entry.line() for entry in records.end() if not is_hidden(entry.url))


def index_file(path: Path, folder: Path) -> None:
    """Sort the lines of a closed WARC file into its own index, which ``update`` merges into the index in ``folder``.

    Several processes may each do so with a file of their own while nobody else works there. Raises ``OSError``.
    """
    _settle(path, folder)


def index_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of an index file; a last one that was cut off is left out."""
    with path.open("rb") as file:
        while (line := file.readline(_MAX_LINE_LENGTH)).endswith(b"\n"):
            yield line


def covered_files(index: Path) -> Iterator[str]:
    """Yield the WARC file's name of each line of an index; nothing where there is no index."""
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
        """Take lines in any order."""
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
    """Write a file of lines and replace an older one once the new one is whole on disk."""
    part = target.with_name(target.name + ".part")
    with open(part, "wb", opener=no_link) as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process has a folder to itself, and keep the others from it. Raise ``OSError``."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _settle(warc: Path, folder: Path) -> None:
    """Sort the lines of a closed WARC file: those written with it, and those of records added after the last line."""
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
