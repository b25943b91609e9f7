"""Checks WARC files and their index: reports faults, their places and their remedies."""

import fcntl
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import gettempdir

from aahcrawler.archive.findings import ADVICE, NOTES, Finding, Tally
from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.archive.index import LINES, SORTED, LineSorter, covered_files, index_lines
from aahcrawler.archive.index_entry import Entry, IndexedRecords, place_of
from aahcrawler.archive.relations import Relations, Revisits
from aahcrawler.archive.scanning import Problem, scan
from aahcrawler.layout import INDEX, WARC
from aahcrawler.segments import OPEN, is_open, open_segment, segments

__all__ = ["ADVICE", "NOTES", "Finding", "Tally", "check"]

_LISTED = ("url", "mime", "status", "digest", "length", "offset", "filename")


def check(path: Path, tally: Tally) -> Iterator[Finding]:
    """Yield the faults of a WARC file, or of all those of a folder and their index, counting in ``tally``.

    Nothing is written but temporary files; a crawl may be running. Memory use is bounded whatever the size of a
    record; of each record of one file a number is kept. Raises ``ArchiveError`` where there are no WARC files.
    """
    found = _of_file(path, tally) if path.is_file() else _of_folder(ArchiveFolder.at(path), tally)
    for finding in found:
        if finding.is_note:
            tally.notes += 1
        else:
            tally.faults += 1
        yield finding


def _of_folder(archive: ArchiveFolder, tally: Tally) -> Iterator[Finding]:
    temporary = Path(gettempdir())
    with LineSorter(temporary) as expected, LineSorter(temporary) as sorter:
        revisits = Revisits(sorter)
        paths = segments(archive.files, WARC)
        for path in paths:
            yield from _of_records(path, tally, revisits, expected)
        yield from revisits.unmet()
        yield from _of_index(archive, paths, expected)


def _of_file(path: Path, tally: Tally) -> Iterator[Finding]:
    with LineSorter(Path(gettempdir())) as sorter:
        revisits = Revisits(sorter)
        yield from _of_records(path, tally, revisits, None)
        # What its revisits refer to may well be in other files.
        yield from (finding for finding in revisits.unmet() if finding.problem is not Problem.ORIGINAL_AWAY)


def _of_records(path: Path, tally: Tally, revisits: Revisits, expected: LineSorter | None) -> Iterator[Finding]:
    tally.files += 1
    relations, indexed = Relations(path), IndexedRecords(path.name)
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
                yield from revisits.take(record, path)
                if expected is not None and not is_open(path):
                    expected.extend(_usual_line(entry) for entry in indexed.take(record))
            if expected is not None:
                expected.extend(_usual_line(entry) for entry in indexed.end())
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


def _of_index(archive: ArchiveFolder, paths: Iterable[Path], expected: LineSorter) -> Iterator[Finding]:
    moving = _moving(archive, paths)
    whole = archive.indexes / INDEX
    parts = [whole, *sorted(archive.indexes.glob(f"*.{WARC}{SORTED}"))]
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


def _usual_line(entry: Entry) -> bytes:
    line = entry.line()
    return line if entry.asked.method == "GET" else _usual(line)


def _usual(line: bytes) -> bytes:
    """Return a line as ``Entry`` writes that of a GET: other indexers say more, and in another order."""
    key, moment, text = line.split(b" ", 2)
    fields = json.loads(text)
    known = json.dumps({name: str(fields[name]) for name in _LISTED if fields.get(name)})
    return b"%b %b %b\n" % (key, moment, known.encode("ascii"))


def _differences(expected: Iterable[bytes], found: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Walk through both in their common order; yield lines in only one of them, and whether that is ``expected``."""
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
