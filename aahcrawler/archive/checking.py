"""Checking WARC files and their index: what is wrong, where, and what can be done about it."""

import fcntl
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir

from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.archive.index import (
    EXTENSION,
    INDEX,
    LINES,
    SORTED,
    Entry,
    LineSorter,
    covered_files,
    index_lines,
    place_of,
)
from aahcrawler.archive.scanning import Problem, Scanned, scan
from aahcrawler.segments import OPEN, is_open, open_segment, segments

_COPY = "restore the file from a copy"
_REPAIR = "aah archive repair keeps the torn end beside and cuts it off"
_INDEX = "aah archive index makes it anew"
_WRITER = "tell the makers of the software that wrote it; the bytes are all there"
_NOTHING = "nothing has to be done"
ADVICE = {
    Problem.TORN: _REPAIR,
    Problem.DAMAGED: _COPY,
    Problem.FOREIGN: f"{_COPY}; a file that was never compressed is to be compressed record by record",
    Problem.HEADER: _WRITER,
    Problem.LENGTH: _COPY,
    Problem.CROWDED: f"compress the file anew, record by record; {_WRITER}",
    Problem.BLOCK_DIGEST: _COPY,
    Problem.PAYLOAD_DIGEST: f"{_COPY}, unless the block digest is right: then {_WRITER}",
    Problem.NO_WARCINFO: _WRITER,
    Problem.FILENAME: "give the file its name back, if it is to be found by it",
    Problem.DUPLICATE: _WRITER,
    Problem.UNLINKED: _WRITER,
    Problem.ALONE: f"{_NOTHING}: a crawl that was killed may leave its last response so",
    Problem.OPEN: "aah archive repair closes it; so does going on with the crawl",
    Problem.WRITING: "check again when the crawl has ended",
    Problem.UNREADABLE: "check the disk and its permissions",
    Problem.NO_INDEX: _INDEX,
    Problem.INDEX_LINE: _INDEX,
    Problem.UNSORTED: _INDEX,
    Problem.UNINDEXED: _INDEX,
    Problem.MISSING: _INDEX,
    Problem.STRAY: _INDEX,
}
NOTES = frozenset({Problem.ALONE, Problem.WRITING, Problem.FILENAME})
"""What is worth telling and makes an archive no worse."""
_LISTED = ("url", "mime", "status", "digest", "length", "offset", "filename")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, or worth telling. ``offset`` is None where it concerns a whole file.

    ``record_id`` is without angle brackets, and empty where it is not known.
    """

    file: Path
    offset: int | None
    record_id: str
    problem: Problem
    detail: str = ""

    @property
    def is_note(self) -> bool:
        """Whether the archive is as good as without it."""
        return self.problem in NOTES

    def __str__(self) -> str:
        place = f"{self.file}" if self.offset is None else f"{self.file}:{self.offset}"
        record = f" {self.record_id}:" if self.record_id else ""
        detail = f" ({self.detail})" if self.detail else ""
        text = f"{place}:{record} {self.problem}{detail}; {ADVICE[self.problem]}"
        # What a file holds is not to move the cursor of whoever reads it.
        return "".join(character if character.isprintable() else "\ufffd" for character in text)


@dataclass(slots=True)
class Tally:
    """How much was looked at, and how much of it is wrong."""

    files: int = 0
    records: int = 0
    faults: int = 0
    notes: int = 0

    def __str__(self) -> str:
        looked = f"{self.records} records in {self.files} files"
        wrong = f"{self.faults} faults" if self.faults != 1 else "1 fault"
        return f"{looked}: {wrong}, {self.notes} notes" if self.faults or self.notes else f"{looked}: all is well"


def check(path: Path, tally: Tally) -> Iterator[Finding]:
    """Yield what is wrong with a WARC file, or with all those of a folder and their index, counting in ``tally``.

    Nothing is written but temporary files; a crawl may be running. Memory use is bounded whatever the size of a
    record; of each record of one file a number is kept. Raises ``ArchiveError`` where there are no WARC files.
    """
    found = _of_file(path, tally, None) if path.is_file() else _of_folder(ArchiveFolder.at(path), tally)
    for finding in found:
        if finding.is_note:
            tally.notes += 1
        else:
            tally.faults += 1
        yield finding


def _of_folder(archive: ArchiveFolder, tally: Tally) -> Iterator[Finding]:
    with LineSorter(Path(gettempdir())) as expected:
        paths = segments(archive.files, EXTENSION)
        for path in paths:
            yield from _of_file(path, tally, expected)
        yield from _of_index(archive, paths, expected)


def _of_file(path: Path, tally: Tally, expected: LineSorter | None) -> Iterator[Finding]:
    tally.files += 1
    relations = _Relations(path)
    try:
        writing = is_open(path) and _has_writer(path)
        if is_open(path):
            yield Finding(path, None, "", Problem.WRITING if writing else Problem.OPEN)
        with open_segment(path) if writing else path.open("rb") as file:
            for record in scan(file):
                tally.records += 1
                record_id = record.header.record_id
                for problem, detail in record.problems:
                    yield Finding(path, record.offset, record_id, problem, detail)
                yield from relations.take(record)
                if expected is not None and not is_open(path) and (entry := Entry.of(record, path.name)):
                    expected.extend((entry.line(),))
    except OSError as error:
        yield Finding(path, None, "", Problem.UNREADABLE, str(error))
    yield from relations.unmet()


def _has_writer(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@dataclass(slots=True)
class _Relations:
    """How the records of one file refer to one another. Ids are kept as their hashes: there may be millions."""

    path: Path
    ids: set[int] = field(default_factory=set)
    alone: dict[int, tuple[int, str]] = field(default_factory=dict)
    awaited: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    warcinfos: set[str] = field(default_factory=set)
    begun: bool = False

    def take(self, record: Scanned) -> Iterator[Finding]:
        """Take the next record; yield what is wrong between it and those before it."""
        header, record_id = record.header, record.header.record_id
        if not self.begun and record.kind != "warcinfo":
            yield self._finding(record, Problem.NO_WARCINFO)
        self.begun = True
        if not record_id:
            return
        number = hash(record_id)
        if number in self.ids:
            yield self._finding(record, Problem.DUPLICATE)
        self.ids.add(number)
        self.awaited.pop(number, None)
        yield from self._warcinfo(record)
        others = [value for name, value in header.fields if name.lower() == "warc-concurrent-to"]
        for other in (value.strip("<>") for value in others):
            if hash(other) not in self.ids:
                self.awaited[hash(other)] = (record.offset, record_id, other)
        self._pair(record, [hash(other.strip("<>")) for other in others])

    def unmet(self) -> Iterator[Finding]:
        """Yield, when the file has ended, what was referred to and did not come."""
        for offset, record_id, other in self.awaited.values():
            yield Finding(self.path, offset, record_id, Problem.UNLINKED, f"WARC-Concurrent-To {other[:200]}")
        for offset, record_id in self.alone.values():
            yield Finding(self.path, offset, record_id, Problem.ALONE)

    def _pair(self, record: Scanned, others: list[int]) -> None:
        """Note which responses still have no request; either may come first and name the other."""
        number = hash(record.header.record_id)
        if record.kind == "request":
            for other in others:
                self.alone.pop(other, None)
        elif record.kind in {"response", "revisit"} and not others:
            self.alone[number] = (record.offset, record.header.record_id)

    def _warcinfo(self, record: Scanned) -> Iterator[Finding]:
        if record.kind == "warcinfo":
            self.warcinfos.add(record.header.record_id)
            said, name = record.header.get("WARC-Filename"), self.path.name.removesuffix(OPEN)
            if said and said != name:
                yield self._finding(record, Problem.FILENAME, said[:200])
            return
        named = record.header.get("WARC-Warcinfo-ID").strip("<>")
        if named and named not in self.warcinfos:
            yield self._finding(record, Problem.UNLINKED, f"WARC-Warcinfo-ID {named[:200]}")

    def _finding(self, record: Scanned, problem: Problem, detail: str = "") -> Finding:
        return Finding(self.path, record.offset, record.header.record_id, problem, detail)


def _of_index(archive: ArchiveFolder, paths: Iterable[Path], expected: LineSorter) -> Iterator[Finding]:
    moving = _moving(archive, paths)
    whole = archive.indexes / INDEX
    parts = [whole, *sorted(archive.indexes.glob(f"*.{EXTENSION}{SORTED}"))]
    indexes = [path for path in parts if path.exists()]
    if not indexes:
        if any(path.name not in moving for path in paths):
            yield Finding(whole, None, "", Problem.NO_INDEX)
        return
    covered = {name for path in indexes for name in covered_files(path)}
    told: set[str] = set()
    with LineSorter(Path(gettempdir())) as found:
        for path in indexes:
            yield from _lines_of(path, found)
        for line, is_missing in _differences(expected, found):
            place = place_of(line)
            if place is None or place.file in moving:
                continue
            if not is_missing:
                yield Finding(whole, None, "", Problem.STRAY, line.decode("ascii", "replace").strip()[:300])
            elif place.file in covered:
                yield Finding(archive.files / place.file, place.offset, "", Problem.MISSING)
            elif place.file not in told:
                told.add(place.file)
                yield Finding(archive.files / place.file, None, "", Problem.UNINDEXED)


def _moving(archive: ArchiveFolder, paths: Iterable[Path]) -> set[str]:
    """Return the names of files that the index need not know yet: open ones, and those being sorted by a crawl."""
    unfinished = [path for path in paths if is_open(path)]
    moving = {path.name.removesuffix(OPEN) for path in unfinished}
    if any(path.exists() and _has_writer(path) for path in unfinished):
        moving |= {path.name.removesuffix(LINES) for path in archive.indexes.glob(f"*{LINES}")}
    return moving | {path.name for path in unfinished}


def _lines_of(path: Path, found: LineSorter) -> Iterator[Finding]:
    last, position = b"", 0
    for line in index_lines(path):
        if line < last:
            yield Finding(path, position, "", Problem.UNSORTED)
        if place_of(line) is None:
            yield Finding(path, position, "", Problem.INDEX_LINE)
        else:
            found.extend((_usual(line),))
        last, position = line, position + len(line)
    if position != path.stat().st_size:
        yield Finding(path, position, "", Problem.INDEX_LINE, "it has no end")


def _usual(line: bytes) -> bytes:
    """Return a line as ``Entry`` writes it: other indexers say more, and in another order."""
    key, moment, text = line.split(b" ", 2)
    said = json.loads(text)
    known = json.dumps({name: str(said[name]) for name in _LISTED if said.get(name)})
    return b"%b %b %b\n" % (key, moment, known.encode("ascii"))


def _differences(expected: Iterable[bytes], found: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Walk through both in their common order; yield what only one of them has, and whether that is ``expected``."""
    wanted, there = iter(expected), iter(found)
    left, right = next(wanted, None), next(there, None)
    while left is not None or right is not None:
        if left == right:
            left, right = next(wanted, None), next(there, None)
        elif left is not None and (right is None or left < right):
            yield left, True
            left = next(wanted, None)
        elif right is not None:
            yield right, False
            right = next(there, None)
