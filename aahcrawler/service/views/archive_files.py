"""The files of an archive as they are handed out: each WARC file, all of them as one tar file, and the report."""

import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.layout import ARCHIVE, REMOVING, REPORT, WARC
from aahcrawler.replay.byte_ranges import ByteRange, asked_range
from aahcrawler.segments import no_link
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import BAD_SEARCH, CONFLICT, ProblemError

_PIECE: Final = 1 << 20
_BLOCK: Final = tarfile.BLOCKSIZE


class CutShortError(Exception):
    """Raised where a download cannot go on: what follows may not be handed out any more, or is another file by now."""


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file of an archive: its path, its bytes, and when it was written last, in seconds since 1970."""

    path: Path
    size: int
    at: float


@dataclass(frozen=True, slots=True)
class Download:
    """What is handed out: what a browser calls it, its bytes, and the bytes themselves, in pieces.

    ``part`` is the part of a file that was asked for, and ``whole`` how many bytes the file has; None where all of it
    is handed out.
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
    """Yield the bytes of a file as long as they are those that were announced, and nothing is taken out of folders."""
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
