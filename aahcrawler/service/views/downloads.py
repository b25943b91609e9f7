"""Downloads of a crawl: its WARC files, its report, and its pages and web objects as CSV."""

import csv
import io
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from aahcrawler.layout import ARCHIVE, NQUADS, OBJECTS, REMOVING, REPORT, WARC
from aahcrawler.replay.recorded_responses import ByteRange, asked_range
from aahcrawler.segments import no_link
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.object_list import ObjectFilter, ObjectView, object_list
from aahcrawler.service.views.page_indexes import NO_FOLDER, NOT_READY, Asked, PageIndexes
from aahcrawler.service.views.page_list import PageFilter, PageShown, page_list
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError

_PIECE: Final = 1 << 20
_BLOCK: Final = tarfile.BLOCKSIZE


class CutShortError(Exception):
    """A download must stop: the rest may no longer be handed out, or the file has changed."""


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive: its path, its bytes, and when it was written last, in seconds since 1970."""

    path: Path
    size: int
    at: float


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download: its name, its size, and its bytes in pieces.

    ``part`` is the requested byte range and ``whole`` the size of the whole file; ``part`` is None for the whole file.
    """

    name: str
    size: int
    pieces: Iterator[bytes]
    part: ByteRange | None = None
    whole: int = 0


def warc_files(crawl: Crawl) -> Sequence[ArchiveFile]:
    """Return the WARC files that are complete, the oldest first; one that a crawl writes is none of them."""
    found = []
    for path in sorted(_folder(crawl).joinpath(ARCHIVE).glob(f"*.{WARC}")):
        stat = path.stat(follow_symlinks=False)
        found.append(ArchiveFile(path, stat.st_size, stat.st_mtime))
    return found


def warc_file(crawl: Crawl, name: str) -> Download:
    """Return a WARC file. Raise ``ProblemError`` where there is none of this name, or a takedown is under way."""
    found = next((each for each in warc_files(crawl) if each.path.name == name), None)
    if found is None:
        raise ProblemError(BAD_SEARCH, "the archive has no complete file of this name")
    _refuse_takedown(_folder(crawl))
    return Download(name, found.size, _pieces(found, (_folder(crawl),)))


def warc_tar(crawl: Crawl) -> Download:
    """Return all complete WARC files as one tar file. Raise ``ProblemError`` where a takedown is under way."""
    folder, files = _folder(crawl), warc_files(crawl)
    _refuse_takedown(folder)
    heads = [_head(each, f"{crawl.id}/{each.path.name}") for each in files]
    size = sum(len(head) + each.size + _padding(each.size) for head, each in zip(heads, files, strict=True))

    def pieces() -> Iterator[bytes]:
        for head, each in zip(heads, files, strict=True):
            yield head
            yield from _pieces(each, (folder,))
            yield b"\0" * _padding(each.size)
        yield b"\0" * 2 * _BLOCK

    return Download(f"{crawl.id}.warc.tar", size + 2 * _BLOCK, pieces())


def report(crawl: Crawl) -> Download:
    """Return the report of a crawl. Raise ``ProblemError`` where there is none yet, or a takedown is under way."""
    folder = _folder(crawl)
    _refuse_takedown(folder)
    try:
        content = (folder / REPORT).read_bytes()
    except OSError:
        raise ProblemError(CONFLICT, f"{crawl.id} has no report yet; it is written when the crawl ends") from None
    return Download(f"{crawl.id}-report.html", len(content), iter((content,)))


def statements(crawl: Crawl) -> Download:
    """Return the complete segments of N-Quads as one, which a gzip reader reads on end.

    Raise ``ProblemError`` where a takedown is under way.
    """
    folder = _folder(crawl)
    _refuse_takedown(folder)
    files = []
    for path in sorted((folder / OBJECTS).glob(f"*.{NQUADS}")):
        stat = path.stat(follow_symlinks=False)
        files.append(ArchiveFile(path, stat.st_size, stat.st_mtime))

    def pieces() -> Iterator[bytes]:
        for each in files:
            yield from _pieces(each, (folder,))

    return Download(f"{crawl.id}.nq.gz", sum(each.size for each in files), pieces())


def package(made: ArchiveFile, folders: Sequence[Path], asked: str) -> Download:
    """Return a package of the crawls in ``folders``, or the part of it that a field ``Range`` asks for."""
    for folder in folders:
        _refuse_takedown(folder)
    part = asked_range(asked, made.size)
    wanted = ByteRange(0, made.size) if part is None else part
    pieces = _pieces(made, folders, wanted)
    return Download(made.path.name, wanted.end - wanted.begin, pieces, part, made.size)


def has_report(crawl: Crawl) -> bool:
    """Return whether there is a report to hand out."""
    return crawl.folder is not None and (crawl.folder / REPORT).is_file()


def _folder(crawl: Crawl) -> Path:
    if crawl.folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder; ask the service of one that has")
    return crawl.folder


def _refuse_takedown(folder: Path) -> None:
    if (folder / REMOVING).exists():
        raise ProblemError(CONFLICT, "pages are being taken out of this archive; ask again when that is done")


def _pieces(file: ArchiveFile, folders: Sequence[Path], part: ByteRange | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file. Raise ``CutShortError`` once the file or its folders' tombstones have changed."""
    begin, end = (0, file.size) if part is None else part
    with open(file.path, "rb", opener=no_link) as opened:
        opened.seek(begin)
        left = end - begin
        while left:
            piece = opened.read(min(_PIECE, left))
            is_changing = any((folder / REMOVING).exists() for folder in folders)
            if not piece or is_changing or file.path.stat().st_mtime != file.at:
                raise CutShortError(f"{file.path.name} is another file by now, or is being changed")
            left -= len(piece)
            yield piece


def _head(file: ArchiveFile, name: str) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mtime, info.mode = file.size, int(file.at), 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def _padding(size: int) -> int:
    return -size % _BLOCK


PATIENCE: Final = 20.0
"""Seconds that a table waits for an index that is behind."""
_AT_ONCE: Final = 500
_LOOK_EVERY: Final = 0.2
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_Rows = tuple[Sequence[BaseModel], str | None]


def page_table(indexes: PageIndexes, crawl: Crawl, wanted: PageFilter | None = None) -> Iterator[bytes]:
    """Return all captures of pages, or those that are wanted, the newest first.

    Raise ``ProblemError`` where the index is not complete yet.
    """

    def some(asked: Asked, after: str) -> _Rows:
        found = page_list(asked, wanted or PageFilter(), after, _AT_ONCE)
        return found.pages, found.next

    return _table(indexes, crawl, PageShown, some)


def object_table(indexes: PageIndexes, crawl: Crawl) -> Iterator[bytes]:
    """Return all web objects, those found last first. Raise ``ProblemError`` where the index is not complete yet."""

    def some(asked: Asked, after: str) -> _Rows:
        found = object_list(asked, ObjectFilter(), after, _AT_ONCE)
        return found.objects, found.next

    return _table(indexes, crawl, ObjectView, some)


def _table(
    indexes: PageIndexes, crawl: Crawl, row: type[BaseModel], some: Callable[[Asked, str], _Rows]
) -> Iterator[bytes]:
    """Yield a header and the lines, as RFC 4180 has them."""
    _await_whole(indexes, crawl)
    names = tuple(row.model_fields)

    def lines() -> Iterator[bytes]:
        yield _written([names])
        after: str | None = ""
        while after is not None:
            with indexes.asked(crawl) as asked:
                rows, after = some(asked, after)
            yield _written([[_cell(getattr(each, name)) for name in names] for each in rows])

    return lines()


def _await_whole(indexes: PageIndexes, crawl: Crawl) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        with indexes.asked(crawl) as asked:
            progress = asked.progress
        if progress.complete:
            return
        if time.monotonic() > deadline:
            raise ProblemError(NOT_READY, f"{progress.note} Ask again in a moment.", headers={"Retry-After": "5"})
        time.sleep(_LOOK_EVERY)


def _written(rows: Sequence[Sequence[object]]) -> bytes:
    # With another line terminator a carriage return in a body would not be quoted.
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> object:
    """Return a value for CSV; a text that a spreadsheet would take for a formula gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
