"""Finds captures by URL and time in the index of a crawl, including a running one."""

import json
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Protocol, TypeVar

from aahcrawler.archive.index import LINES, SORTED, Place, place_of
from aahcrawler.archive.payload import key_of_url
from aahcrawler.archive.records import page_of_resource
from aahcrawler.archive.surt import surt
from aahcrawler.layout import ARCHIVE, INDEX, INDEXES, WARC
from aahcrawler.segments import segments

MAX_LINE_LENGTH = 1 << 22
"""The most bytes of a line; a longer one is read as several lines."""
_BLOCK = 1 << 16
_FEW = 1 << 13
"""When bisection has come down to this many bytes of a sorted file, lines are read one after another."""
_SAMPLE = 1 << 10
_MAX_READ = 1 << 28
"""The most bytes of new lines that one ``refresh`` reads; the next one reads on."""


class Lines(Protocol):
    """Lines in byte order, line breaks included. Both methods may raise ``OSError``."""

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines that are not less than ``key``, in ascending order."""
        ...

    def descending(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines that are less than ``key``, in descending order."""
        ...


class SortedLines:
    """The lines of a sorted file, which may be replaced by another one, but is never changed in place.

    The position of the last key is cached, since lookups go up and down from one place.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: tuple[bytes, int, int] | None = None

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.ascending``."""
        with self._path.open("rb") as file:
            file.seek(self._beginning(file, key))
            while (line := file.readline(MAX_LINE_LENGTH)).endswith(b"\n"):
                yield line

    def descending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.descending``."""
        with self._path.open("rb") as file:
            yield from _backwards(file, self._beginning(file, key))

    def _beginning(self, file: BinaryIO, key: bytes) -> int:
        inode = os.fstat(file.fileno()).st_ino
        if self._last is None or self._last[:2] != (key, inode):
            self._last = key, inode, _beginning(file, key)
        return self._last[2]


class GrowingLines:
    """The lines of a file that is appended to in any order; keeps the beginning of each, up to its second blank.

    ``refresh`` reads what was appended. Thread-safe.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._keys: list[bytes] = []
        self._size = 0
        self._inode = -1

    def refresh(self) -> None:
        """Read the whole lines appended since the last call. Raises ``OSError`` where the file is gone."""
        with self._lock, self._path.open("rb") as file:
            stat = os.fstat(file.fileno())
            if stat.st_ino != self._inode or stat.st_size < self._size:
                self._keys, self._size, self._inode = [], 0, stat.st_ino
            if stat.st_size > self._size:
                self._keys = sorted(self._keys + list(self._appended(file, stat.st_size)))

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.ascending``, for the lines read so far."""
        keys = self._keys
        with self._path.open("rb") as file:
            for at in range(bisect_left(keys, key), len(keys)):
                yield _line_at(file, keys[at])

    def descending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.descending``, for the lines read so far."""
        keys = self._keys
        with self._path.open("rb") as file:
            for at in range(bisect_left(keys, key) - 1, -1, -1):
                yield _line_at(file, keys[at])

    def _appended(self, file: BinaryIO, size: int) -> Iterator[bytes]:
        """Yield the beginning of each new line, followed by the line's offset."""
        file.seek(self._size)
        most = min(size, self._size + _MAX_READ)
        while self._size < most and (line := file.readline(MAX_LINE_LENGTH)).endswith(b"\n"):
            key, blank, rest = line.partition(b" ")
            yield key + blank + rest.partition(b" ")[0] + b" " + self._size.to_bytes(8, "big")
            self._size += len(line)


def _line_at(file: BinaryIO, kept: bytes) -> bytes:
    file.seek(int.from_bytes(kept[-8:], "big"))
    return file.readline(MAX_LINE_LENGTH)


def _beginning(file: BinaryIO, key: bytes) -> int:
    """Return the offset of the first line that is not less than ``key`` in a sorted file, or the file's size.

    The file is bisected down to some lines, which are then read in sequence, since reading a few bytes at an offset
    costs a fraction of a buffered line.
    """
    handle, low = file.fileno(), 0
    high = os.fstat(handle).st_size
    while high - low > _FEW:
        middle = (low + high) // 2
        begin, line = _line_behind(handle, middle, len(key))
        if begin < high and line < key:
            low = begin
        else:
            high = middle
    file.seek(low)
    while line := file.readline(MAX_LINE_LENGTH):
        if line >= key:
            break
        low += len(line)
    return low


def _line_behind(handle: int, place: int, most: int) -> tuple[int, bytes]:
    """Return the offset of the first line after a place, and its first bytes, ``most`` at most."""
    piece = os.pread(handle, _SAMPLE, place)
    while (end := piece.find(b"\n")) < 0 and len(piece) < MAX_LINE_LENGTH:
        more = os.pread(handle, len(piece), place + len(piece))
        if not more:
            break
        piece += more
    end = len(piece) if end < 0 else end + 1
    line = piece[end : end + most]
    if len(line) < most:
        line = os.pread(handle, most, place + end)
    following = line.find(b"\n")
    return place + end, line if following < 0 else line[: following + 1]


def _backwards(file: BinaryIO, end: int) -> Iterator[bytes]:
    """Yield the lines before ``end``, the last one first; ``end`` is the beginning of a line or the end of the file."""
    kept, block = b"", _SAMPLE
    while end > 0:
        begin = max(0, end - block)
        block = min(2 * block, _BLOCK)
        file.seek(begin)
        first, *lines = (file.read(end - begin) + kept).split(b"\n")[:-1]
        yield from (line + b"\n" for line in reversed(lines))
        kept, end = first + b"\n", begin
    if kept:
        yield kept


NEAR = 500
"""The most captures of one key that are looked at before a moment, and after it."""
_LISTED = 20_000
"""The most lines of the index that are read for one page of a list."""
_DIGITS = 14
T = TypeVar("T")
_PAGES = frozenset({"text/html", "application/xhtml+xml", "text/plain", "application/pdf", "warc/revisit"})


class NoIndexError(Exception):
    """Raised where a crawl's archive has no index; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """A capture in the index. ``moment`` has 14 digits, in UTC; ``status`` is 0 and others are empty if unknown."""

    url: str
    moment: str
    status: int
    media_type: str
    digest: str
    place: Place

    @property
    def is_revisit(self) -> bool:
        """Return whether its payload is that of another capture."""
        return self.media_type == "warc/revisit"

    @property
    def date(self) -> datetime:
        """The moment, aware and in UTC."""
        return date_of(self.moment)


@dataclass(frozen=True, slots=True)
class Listed:
    """A part of the list of captures, and the key at which the next part begins, empty at the end."""

    captures: tuple[Indexed, ...]
    following: str


class CaptureLookup:
    """The captures of a crawl's folder, looked up by bisection. Thread-safe.

    For files that are being written, the beginnings of their index lines are kept in memory. Captures without a line in
    the index are not found; after a crash they are once ``aah archive index`` has run. ``beside`` are more lines of the
    index, made by other programs.
    """

    def __init__(self, crawl: Path, beside: Sequence[Lines] = ()) -> None:
        self._beside = beside
        self._archive, self._folder = crawl / ARCHIVE, crawl / INDEXES
        self._growing: dict[Path, GrowingLines] = {}
        self._lock = Lock()

    def nearest(self, url: str, moment: str) -> tuple[Indexed, ...]:
        """Return the captures of a URL, the nearest to a time first.

        Captures of other URLs with the same key (such as ones in another case) come last. Raises ``NoIndexError``.
        """
        found = self._read(lambda lines: _near(lines, key_of_url(url), moment))
        wanted, date = _plain(url), date_of(moment)

        def place(capture: Indexed) -> tuple[bool, float, bool]:
            distance = abs((capture.date - date).total_seconds())
            return _plain(capture.url) != wanted, distance, capture.url != url

        return tuple(sorted(found, key=place))

    def all_of(self, url: str, most: int) -> tuple[Indexed, ...]:
        """Return the first ``most`` captures of a URL, and of others with the same key, in the order of time.

        Raises ``NoIndexError``.
        """
        prefix = key_of_url(url).encode("ascii") + b" "
        found = self._read(lambda sources: list(_from(sources, prefix, prefix, most)))
        return tuple(capture for line in found if (capture := indexed(line)) is not None)

    def listed(self, beginning: str, after: str, most: int, *, pages_only: bool = True) -> Listed:
        """Return the captures of URLs with a given beginning, in the order of keys and times.

        ``after`` is the ``following`` of the previous part, or empty. Documents and pictures made by a browser are left
        out. With ``pages_only``, so are captures whose type in the index is no page's. Raises ``NoIndexError``.
        """
        prefix = _prefix(beginning)
        begin = max(after.encode("utf-8", "replace"), prefix)
        lines = self._read(lambda sources: list(_from(sources, begin, prefix, _LISTED + 1)))
        captures: list[Indexed] = []
        for line in lines[:_LISTED]:
            capture = indexed(line)
            if capture is None or page_of_resource(capture.url):
                continue
            if pages_only and capture.media_type not in _PAGES:
                continue
            if len(captures) == most:
                return Listed(tuple(captures), line.decode("utf-8", "replace"))
            captures.append(capture)
        return Listed(tuple(captures), lines[-1].decode("utf-8", "replace") if len(lines) > _LISTED else "")

    def _read(self, read: Callable[[list[Lines]], T]) -> T:
        # Between finding a file and opening it, it may have been merged into another one.
        for _ in range(3):
            with suppress(FileNotFoundError):
                return read(self._sources())
        raise NoIndexError(f"{self._folder}: the index changes all the time; try again")

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            return sorted(entry.name for entry in entries)
        return []

    def _sources(self) -> list[Lines]:
        with self._lock:
            paths = [self._folder / name for name in self._names() if name.endswith(f".{WARC}{LINES}")]
            self._growing = {path: self._growing.get(path) or GrowingLines(path) for path in paths}
            growing = tuple(self._growing.values())
        for lines in growing:
            lines.refresh()
        # Searched after the lines files, since these become sorted files, never the reverse.
        settled = [self._folder / name for name in self._names() if name == INDEX or name.endswith(f".{WARC}{SORTED}")]
        if not settled and not growing and not self._beside and segments(self._archive, WARC):
            raise NoIndexError(f"{self._folder}: there is no index of the archive; make it with aah archive index")
        return [*map(SortedLines, settled), *growing, *self._beside]


def indexed(line: bytes) -> Indexed | None:
    """Return the capture of an index line, None where the line cannot be read."""
    place = place_of(line)
    if place is None:
        return None
    _, moment, fields = line.split(b" ", 2)
    told = {name: str(value) for name, value in json.loads(fields).items()}
    status = told.get("status", "")
    if not is_moment(moment.decode("ascii", "replace")) or not told.get("url"):
        return None
    return Indexed(
        told["url"],
        moment.decode("ascii"),
        int(status) if status.isascii() and status.isdigit() else 0,
        told.get("mime", "").lower(),
        told.get("digest", ""),
        place,
    )


def is_moment(digits: str) -> bool:
    """Return whether a text is a time in 14 digits."""
    try:
        date_of(digits)
    except ValueError:
        return False
    return True


def date_of(moment: str) -> datetime:
    """Return the time that 14 digits stand for. Raise ``ValueError`` where they stand for none."""
    if len(moment) != _DIGITS or not moment.isascii() or not moment.isdigit():
        raise ValueError(f"{moment!r} is no time in 14 digits")
    month, day, hour, minute, second = (int(moment[at : at + 2]) for at in range(4, _DIGITS, 2))
    return datetime(int(moment[:4]), month, day, hour, minute, second, tzinfo=UTC)


def moment_of(date: datetime) -> str:
    """Return a time as 14 digits, in UTC.

    >>> moment_of(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '20260102030405'
    """
    date = date.astimezone(UTC)
    return f"{date.year:04}{date:%m%d%H%M%S}"


def _near(sources: list[Lines], key: str, moment: str) -> list[Indexed]:
    prefix = key.encode("ascii") + b" "
    asked = prefix + moment.encode("ascii")
    later = islice(_from(sources, asked, prefix, NEAR), NEAR)
    lower = merge(*(source.descending(asked) for source in sources), reverse=True)
    earlier = _once(_while(islice(lower, NEAR), prefix))
    return [capture for line in (*later, *earlier) if (capture := indexed(line)) is not None]


def _from(sources: list[Lines], key: bytes, prefix: bytes, most: int) -> Iterator[bytes]:
    higher = merge(*(source.ascending(key) for source in sources))
    return _once(_while(islice(higher, most), prefix))


def _while(lines: Iterator[bytes], prefix: bytes) -> Iterator[bytes]:
    for line in lines:
        if not line.startswith(prefix):
            return
        yield line


def _once(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Skip repeated lines: while index files are merged, a line may be in two of them."""
    last = b""
    for line in lines:
        if line != last:
            yield line
        last = line


def _prefix(beginning: str) -> bytes:
    """Return the common beginning of the keys of URLs with that beginning; the scheme may be missing."""
    beginning = beginning.strip()
    if not beginning:
        return b""
    url = beginning if "://" in beginning else f"http://{beginning}"
    key = surt(url)
    # A host without a port stands for all of its ports, and for its subdomains.
    return key.removesuffix("/").encode("ascii") if url.count("/") < 3 else key.encode("ascii")


def _plain(url: str) -> str:
    """Return a URL without what seldom makes a different page: scheme, ``www.``, fragment, a trailing slash."""
    return url.partition("://")[2].partition("#")[0].removeprefix("www.").removesuffix("/")
