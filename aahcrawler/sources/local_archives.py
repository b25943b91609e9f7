"""Takes captures from local archives: crawls' folders, and WARC, ARC and WACZ files.

A capture is found by bisection in the folder's CDXJ index. Files outside of a crawl's folder are imported once, by
reference if their records can be read in place.
"""

import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Final

from filelock import FileLock

from aahcrawler.archive.payload import HEAD
from aahcrawler.archive.record_access import Record, RecordError, memento_of, read_at
from aahcrawler.archive.scanning import Header
from aahcrawler.archive.surt import surt
from aahcrawler.exchange import Exchange, Memento
from aahcrawler.imports.archive_import import ArchiveImport, ImportFault
from aahcrawler.imports.import_writer import ImportedFile, entries
from aahcrawler.layout import ARCHIVE, IMPORTS, INDEXES, LOCK, SOURCES, WARC
from aahcrawler.replay.capture_lookup import CaptureLookup, Indexed, NoIndexError, moment_of
from aahcrawler.replay.recorded_responses import RecordedResponse, RecordedResponses
from aahcrawler.segments import OPEN, DamageError, SegmentError
from aahcrawler.sources.foreign_indexes import files_of, indexes_in, is_index, open_index
from aahcrawler.sources.record_captures import capture_in, measured, shown_again
from aahcrawler.sources.source import ArchiveFolderError, Clock, Demand, SnapshotChoice, SourceError, is_credible
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize
from online_analysis.icd import Icd


def import_folder(path: Path, crawl: Path) -> Path:
    """Return the folder into which a crawl imports a file, or a folder of files."""
    label = hashlib.sha256(str(path.resolve()).encode("utf-8", "replace")).hexdigest()[:16]
    return crawl / SOURCES / label


def damaged(icd: Icd, crawl: Path) -> Mapping[str, int]:
    """Return the number of unreadable places in each imported file of a definition's archives.

    Intact files are left out. A truncated file counts one such place.
    """
    found: dict[str, int] = {}
    for path in (path for each in icd.captures.sources for path in each.archive):
        notes = import_folder(Path(path), crawl) / IMPORTS
        with suppress(FileNotFoundError):
            state = notes.stat()
            found |= _damaged(notes.parent, state.st_mtime_ns, state.st_size)
    return {name: places for name, places in sorted(found.items()) if places}


@lru_cache(64)
def _damaged(root: Path, _changed: int, _size: int) -> Mapping[str, int]:
    """Return the number of unreadable places in each file, as the notes of an import say.

    Time and size of the notes are arguments only so that results are cached until the notes change.
    """
    last = {each.name: each.counts for each, _ in entries(root) if isinstance(each, ImportedFile)}
    return {name: counts.lost + counts.passed for name, counts in last.items()}


MAX_CAPTURES: Final = 10_000
"""Captures of one URL that are looked at where all of them are wanted."""
_TRIES: Final = 20
"""Captures of a URL whose records are read until one of them can be had."""
_MAX_SUBFOLDERS: Final = 1_000
_MAX_TOLD: Final = 10
"""Folders in a folder that are looked at for archive files, and those that are told."""
_MAX_LOST: Final = 20
"""Files that are told by name where an index lists what is not there."""
_REMEDY: Final = "; name a crawl's folder, or one that does"
_IMPORTED: Final = "imported.json"
"""Says of which files an import is whole: their names, sizes and times."""
_ENDINGS: Final = (".warc.gz", ".warc", ".arc.gz", ".arc", ".wacz")


@dataclass(frozen=True, slots=True)
class _Found:
    """A capture in the index of a folder."""

    folder: "_Folder"
    capture: Indexed

    @property
    def date(self) -> datetime:
        return self.capture.date


@dataclass(frozen=True, slots=True)
class _Folder:
    """A crawl's folder, a folder of imported files, or the files that a foreign ``index`` lists.

    ``name`` is given as the archive of its captures.
    """

    name: str
    responses: RecordedResponses
    taken_down: TakenDown
    index: Path | None = None

    @classmethod
    def of(cls, path: Path, name: str) -> "_Folder":
        beside = [open_index(each) for each in indexes_in(path / INDEXES)]
        return cls(name, RecordedResponses(path, None, CaptureLookup(path, beside)), TakenDown.of(path))

    @classmethod
    def indexed_by(cls, path: Path) -> "_Folder":
        """Return the files that a foreign index lists."""
        lookup = CaptureLookup(path.parent, [open_index(path)])
        return cls(path.name, RecordedResponses(path.parent, files_of(path), lookup), TakenDown.of(path.parent), path)

    def lost(self, capture: Indexed) -> str:
        """Return a message if the file of a capture is missing, else an empty text."""
        files, name = self.responses.archive, capture.place.file
        if any((files / each).exists() for each in (name, name + OPEN, name)):
            return ""
        if self.index is not None and files == self.index.parent:
            return f"the index lists {name}, which is neither beside it nor in {files.parent / ARCHIVE}"
        return f"the index lists {name}, which is not in {files}"

    def found(self, url: str, choice: SnapshotChoice) -> Iterator[_Found]:
        """Yield the indexed captures of a URL, without those that were taken down."""
        if self.taken_down.covers(url):
            return
        lookup = self.responses.lookup
        captures = (
            lookup.all_of(url, MAX_CAPTURES) if choice.takes_all else lookup.nearest(url, moment_of(choice.moment))
        )
        wanted = _without_scheme(url)
        for capture in captures:
            is_shown = not capture.status or 200 <= capture.status < 400
            if is_shown and capture.status != HTTPStatus.NOT_MODIFIED and _without_scheme(capture.url) == wanted:
                yield _Found(self, capture)


class LocalArchives:
    """The archives of one source of a definition. For one thread.

    A capture is as its record has it; a revisit is combined with the record to which it refers. Captures of the URL
    with another scheme, or with or without ``www.``, count as captures of it, unless they redirect to one another.
    """

    def __init__(self, name: str, folders: Sequence[_Folder], choice: SnapshotChoice, clock: Clock) -> None:
        self.name = name
        self._folders = folders
        self._choice = choice
        self._clock = clock
        self._lost: set[str] = set()

    async def captures(self, url: str, demand: Demand) -> AsyncIterator[Exchange]:
        """See ``Source.captures``."""
        try:
            found = self._choice.ordered(each for folder in self._folders for each in folder.found(url, self._choice))
        except (NoIndexError, OSError) as error:
            raise SourceError(self.name, "index", str(error), may_pass=False) from error
        tries = found if self._choice.takes_all else found[:_TRIES]
        lost = ""
        for each in tries:
            if not is_credible(each.date, self._clock()):
                continue
            exchange = self._exchange(each, demand.most)
            if exchange is not None:
                yield exchange
                if not self._choice.takes_all:
                    return
            else:
                lost = lost or each.folder.lost(each.capture)
        if lost:
            self._lost.add(lost)
            told = lost if len(self._lost) <= _MAX_LOST else "the index lists more files that are not there"
            raise SourceError(self.name, told, told, may_pass=False)

    def near(self, moment: datetime) -> "LocalArchives":
        """See ``Source.near``."""
        same = LocalArchives(self.name, self._folders, self._choice.near(moment), self._clock)
        same._lost = self._lost
        return same

    async def moments(self, url: str) -> Sequence[datetime]:
        """See ``Source.moments``."""
        every = replace(self._choice, name="all")
        try:
            return [each.date for folder in self._folders for each in folder.found(url, every)]
        except (NoIndexError, OSError) as error:
            raise SourceError(self.name, "index", str(error), may_pass=False) from error

    def close(self) -> None:
        """Do nothing: files are open only while they are read."""

    def _exchange(self, found: _Found, most: int) -> Exchange | None:
        """Return a capture; None if its records are unreadable or too large, or hold no response that can be shown."""
        responses = found.folder.responses
        recorded = responses.recorded(found.capture)
        if recorded is None or not _is_shown(recorded):
            return None
        own = _read(responses.archive, found.capture)
        if own is None:
            return None
        header, exchange = own
        if recorded.is_revisit:
            original = _read(responses.archive, recorded.holder)
            if original is None:
                exchange.close()
                return None
            exchange = shown_again(exchange, original[1])
        if exchange.response_size > most + HEAD:
            exchange.close()
            return None
        # What was taken from another archive before keeps that one's name.
        known = memento_of(header)
        archive = found.folder.name if known is None else known.archive
        memento = Memento(header.record_id, archive, self.name, self._clock())
        return measured(replace(exchange, memento=memento))


def _is_shown(recorded: RecordedResponse) -> bool:
    is_answer = 200 <= recorded.status < 400 and recorded.status != HTTPStatus.PARTIAL_CONTENT
    goes_round = bool(recorded.location) and surt(recorded.location) == surt(recorded.url)
    return is_answer and not goes_round


def _without_scheme(url: str) -> str:
    return (canonicalize(url) or url).partition("://")[2].removeprefix("www.").removesuffix("/")


def _read(archive: Path, capture: Indexed) -> tuple[Header, Exchange] | None:
    def read(record: Record) -> tuple[Header, Exchange] | None:
        exchange = capture_in(record)
        return None if exchange is None else (record.header, exchange)

    with suppress(OSError, RecordError):
        return read_at(archive, capture.place.file, capture.place.offset, read)
    return None


def open_archives(
    name: str | None, paths: Sequence[str], crawl: Path, choice: SnapshotChoice, clock: Clock
) -> LocalArchives:
    """Open archives, given by absolute paths, for the crawl in a folder.

    Files outside of crawls' folders are imported below that folder, without captures that were taken down there. Raise
    ``ArchiveFolderError`` if one cannot be read or has no index.
    """
    folders = [_opened(Path(path), crawl) for path in paths]
    for folder in folders:
        _look(folder.responses.lookup)
    return LocalArchives(name or folders[0].name, folders, choice, clock)


def _opened(path: Path, crawl: Path) -> _Folder:
    if path.resolve() == crawl.resolve():
        raise ArchiveFolderError(f"{path}: is the crawl's own folder; name other archives under captures.sources")
    try:
        if (path / ARCHIVE).is_dir():
            return _Folder.of(path, path.name)
        if path.is_file() and is_index(path):
            return _Folder.indexed_by(path)
        files = _files_of(path)
        return _Folder.of(_imported(path, files, crawl), path.name)
    except (OSError, SegmentError, DamageError) as error:
        raise ArchiveFolderError(f"{path}: cannot be read ({error})") from error


def check_archive(path: Path) -> None:
    """Raise ``ArchiveFolderError`` if an archive cannot be used, as far as this is known without reading its files."""
    try:
        if (path / ARCHIVE).is_dir():
            _look(_Folder.of(path, path.name).responses.lookup)
        elif path.is_file() and is_index(path):
            open_index(path)
        else:
            _files_of(path)
    except (OSError, SegmentError, DamageError) as error:
        raise ArchiveFolderError(f"{path}: cannot be read ({error})") from error


def _files_of(path: Path) -> Sequence[Path]:
    """Return the files of an archive that is no crawl's folder. Raise ``ArchiveFolderError`` if there are none."""
    files = [path] if path.is_file() else sorted(_archive_files(path))
    if not files:
        inner = (each for each in sorted(path.iterdir()) if each.is_dir())
        holding = [each.name for each in islice(inner, _MAX_SUBFOLDERS) if any(_archive_files(each))][:_MAX_TOLD]
        told = f"; name of its folders those that do: {', '.join(holding)}" if holding else _REMEDY
        raise ArchiveFolderError(f"{path}: holds no WARC, ARC or WACZ files{told}")
    return files


def _archive_files(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if path.is_file() and path.name.lower().endswith(_ENDINGS))


def _imported(path: Path, files: Sequence[Path], crawl: Path) -> Path:
    """Import files, resuming an interrupted import; return the folder into which they were imported."""
    root = import_folder(path, crawl)
    root.mkdir(parents=True, exist_ok=True)
    faults: list[ImportFault] = []
    state = json.dumps([[each.name, each.stat().st_size, each.stat().st_mtime_ns] for each in files])
    note = root / _IMPORTED
    with FileLock(root / LOCK):  # Several workers may begin at once.
        if note.exists() and note.read_text("utf-8") != state:
            shutil.rmtree(root / ARCHIVE, ignore_errors=True)
            shutil.rmtree(root / INDEXES, ignore_errors=True)
            note.unlink()
        if not note.exists():
            for name in (ARCHIVE, INDEXES):
                (root / name).mkdir(exist_ok=True)
            ArchiveImport(root, root.name, faults.append, by_reference=True, hidden=TakenDown.of(crawl)).run(files)
            note.write_text(state, "utf-8")
    if not any((root / ARCHIVE).glob(f"*.{WARC}")):
        why = f": {faults[0]}" if faults else ""
        raise ArchiveFolderError(f"{path}: none of its records can be read{why}; try aah import to see why")
    return root


def _look(lookup: CaptureLookup) -> None:
    try:
        lookup.nearest("http://nobody.invalid/", "20000101000000")
    except NoIndexError as error:
        raise ArchiveFolderError(str(error)) from error
