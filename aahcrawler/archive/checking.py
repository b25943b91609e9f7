"""Check and repair WARC files and their index: report faults with their places and remedies."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path
from tempfile import gettempdir

from aahcrawler.archive.folders import ArchiveFolder, hidden_in, is_referred
from aahcrawler.archive.index import (
    LINES,
    SORTED,
    Entry,
    IndexedRecords,
    LineSorter,
    covered_files,
    index_lines,
    place_of,
    rebuild,
)
from aahcrawler.archive.records import Profile
from aahcrawler.archive.scanning import Header, Problem, Scanned, scan, timestamp
from aahcrawler.layout import INDEX, WARC
from aahcrawler.segments import OPEN, SegmentError, is_open, no_link, open_segment, segments
from aahcrawler.segments.reader import sync_folder
from aahcrawler.tallies import plural

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
    Problem.NO_WARCINFO: f"{_NOTHING}: the standard only recommends one",
    Problem.FILENAME: "give the file its name back, if it is to be found by it",
    Problem.DUPLICATE: _WRITER,
    Problem.UNLINKED: _WRITER,
    Problem.ALONE: f"{_NOTHING}: a crawl that was killed may leave its last response so",
    Problem.PROFILE: f"{_NOTHING}: readers take such a record for one without content",
    Problem.ORIGINAL_UNSAID: "it cannot be replayed; tell the makers of the software that wrote it",
    Problem.ORIGINAL_AWAY: "keep the file that holds it with these, or the page cannot be replayed as of that day",
    Problem.ORIGINAL_DIFFERS: f"replay would show the wrong content; {_WRITER}",
    Problem.DETACHED: f"{_NOTHING}: its subject is unknown",
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
NOTES = frozenset(
    {
        Problem.ALONE,
        Problem.DETACHED,
        Problem.FILENAME,
        Problem.NO_WARCINFO,
        Problem.ORIGINAL_AWAY,
        Problem.ORIGINAL_UNSAID,
        Problem.PROFILE,
        Problem.WRITING,
    }
)
"""Problems that are reported although they do not damage an archive."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault or a note. ``offset`` is None if it concerns a whole file.

    ``record_id`` is without angle brackets; empty if unknown.
    """

    file: Path
    offset: int | None
    record_id: str
    problem: Problem
    detail: str = ""

    @property
    def is_note(self) -> bool:
        """Return whether the finding is a note, which does not mean that the archive is damaged."""
        return self.problem in NOTES

    def __str__(self) -> str:
        place = f"{self.file}" if self.offset is None else f"{self.file}:{self.offset}"
        record = f" {self.record_id}:" if self.record_id else ""
        detail = f" ({self.detail})" if self.detail else ""
        text = f"{place}:{record} {self.problem}{detail}; {ADVICE[self.problem]}"
        # The content of a file must not move the cursor of the reader's terminal.
        return "".join(character if character.isprintable() else "\ufffd" for character in text)


@dataclass(slots=True)
class Tally:
    """The counts of a check: files and records read, faults and notes."""

    files: int = 0
    records: int = 0
    faults: int = 0
    notes: int = 0

    def __str__(self) -> str:
        looked = f"{plural(self.records, 'record')} in {plural(self.files, 'file')}"
        if not (self.faults or self.notes):
            return f"{looked}: all is well"
        return f"{looked}: {plural(self.faults, 'fault')}, {plural(self.notes, 'note')}"


_PROFILES = frozenset(
    (
        *(profile.value for profile in Profile),
        *(profile.value.replace("/1.1/", "/1.0/") for profile in Profile),
        "http://netpreserve.org/warc/1.0/revisit/uri-agnostic-identical-payload-digest",
    )
)
_ORIGINAL, _REVISIT = b"0", b"1"


@dataclass(slots=True)
class Relations:
    """The references among the records of one file. Ids are stored as hashes, because there may be millions."""

    path: Path
    ids: set[int] = field(default_factory=set)
    alone: dict[int, tuple[int, str]] = field(default_factory=dict)
    awaited: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    warcinfos: set[str] = field(default_factory=set)
    begun: bool = False

    def take(self, record: Scanned) -> Iterator[Finding]:
        """Process the next record; yield the faults of its references to earlier records."""
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
        others = header.concurrent_to
        for other in others:
            if hash(other) not in self.ids:
                self.awaited[hash(other)] = (record.offset, record_id, other)
        self._pair(record, [hash(other) for other in others])
        if record.kind == "metadata" and not others and not header.get("WARC-Refers-To"):
            yield self._finding(record, Problem.DETACHED)

    def unmet(self) -> Iterator[Finding]:
        """Yield, at the end of the file, the references to records that were not found."""
        for offset, record_id, other in self.awaited.values():
            yield Finding(self.path, offset, record_id, Problem.UNLINKED, f"WARC-Concurrent-To {other[:200]}")
        for offset, record_id in self.alone.values():
            yield Finding(self.path, offset, record_id, Problem.ALONE)

    def _pair(self, record: Scanned, others: list[int]) -> None:
        """Track which responses have no request yet; either record may come first and name the other."""
        number = hash(record.header.record_id)
        if record.kind == "request":
            for other in others:
                self.alone.pop(other, None)
        elif record.kind in {"response", "revisit"} and not others:
            self.alone[number] = (record.offset, record.header.record_id)

    def _warcinfo(self, record: Scanned) -> Iterator[Finding]:
        if record.kind == "warcinfo":
            self.warcinfos.add(record.header.record_id)
            stated_name, name = record.header.get("WARC-Filename"), self.path.name.removesuffix(OPEN)
            # Those further down came with records that were copied from other files.
            if stated_name and stated_name != name and record.offset == 0:
                yield self._finding(record, Problem.FILENAME, stated_name[:200])
            return
        named = record.header.get("WARC-Warcinfo-ID").strip("<>")
        if named and named not in self.warcinfos:
            yield self._finding(record, Problem.UNLINKED, f"WARC-Warcinfo-ID {named[:200]}")

    def _finding(self, record: Scanned, problem: Problem, detail: str = "") -> Finding:
        return Finding(self.path, record.offset, record.header.record_id, problem, detail)


class Revisits:
    """Checks, in bounded memory, that the originals of revisits exist, for any number of files.

    ``sorter`` must not be used for anything else. Originals and revisits may come in any order.
    """

    def __init__(self, sorter: LineSorter) -> None:
        self._sorter = sorter

    def take(self, record: Scanned, path: Path) -> Iterator[Finding]:
        """Process the next record; yield the faults of a revisit that its own record shows."""
        header = record.header
        if record.kind in {"response", "resource"}:
            place = _place(header.get("WARC-Target-URI"), header.get("WARC-Date"))
            self._put(_hashed(header.record_id), _ORIGINAL, [place, header.get("WARC-Payload-Digest")])
            self._put(place, _ORIGINAL, [place, header.get("WARC-Payload-Digest")])
        elif record.kind == "revisit":
            if header.get("WARC-Profile") not in _PROFILES | {""}:
                detail = header.get("WARC-Profile")[:200]
                yield Finding(path, record.offset, header.record_id, Problem.PROFILE, detail)
            named = _hashed(header.get("WARC-Refers-To").strip("<>")) or _stated_place(header)
            if not named:
                yield Finding(path, record.offset, header.record_id, Problem.ORIGINAL_UNSAID)
            else:
                reference = [_stated_place(header), header.get("WARC-Payload-Digest")]
                self._put(named, _REVISIT, [*reference, str(path), str(record.offset), header.record_id])

    def unmet(self) -> Iterator[Finding]:
        """Yield, after all files were read, the revisits whose original is missing or does not match."""
        for _, lines in groupby(self._sorter, lambda line: line.split(b" ", 1)[0]):
            originals: list[list[str]] = []
            for line in lines:
                _, kind, text = line.split(b" ", 2)
                if kind == _ORIGINAL:
                    originals.append(json.loads(text))
                else:
                    yield from _held_against(originals, json.loads(text))

    def _put(self, key: str, kind: bytes, values: list[str]) -> None:
        if key:
            self._sorter.extend((b"%b %b %b\n" % (key.encode("ascii"), kind, json.dumps(values).encode("ascii")),))


def _held_against(originals: list[list[str]], revisit: list[str]) -> Iterator[Finding]:
    place, digest, path, offset, record_id = revisit
    if not originals:
        yield Finding(Path(path), int(offset), record_id, Problem.ORIGINAL_AWAY)
        return
    if place and all(place != other for other, _ in originals):
        detail = "WARC-Refers-To-Target-URI and -Date name another one than WARC-Refers-To"
        yield Finding(Path(path), int(offset), record_id, Problem.ORIGINAL_DIFFERS, detail)
    if all(_contradict(digest, other) for _, other in originals):
        detail = f"its payload digest is {originals[0][1][:80]} and not {digest[:80]}"
        yield Finding(Path(path), int(offset), record_id, Problem.ORIGINAL_DIFFERS, detail)


def _contradict(digest: str, other: str) -> bool:
    """Return whether two digests differ; those of different algorithms or notations cannot be compared."""
    one, another = digest.casefold().partition(":"), other.casefold().partition(":")
    return one[0] == another[0] and len(one[2]) == len(another[2]) and one[2] != another[2]


def _stated_place(header: Header) -> str:
    return _place(header.get("WARC-Refers-To-Target-URI"), header.get("WARC-Refers-To-Date"))


def _place(url: str, date: str) -> str:
    """Return a key for a URL and a second; empty if either is unknown."""
    moment = timestamp(date)
    return _hashed(f"{url.strip('<>')} {moment}") if url and moment else ""


def _hashed(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest() if text else ""


_LISTED = ("url", "mime", "status", "digest", "length", "offset", "filename")


def check(path: Path, tally: Tally) -> Iterator[Finding]:
    """Yield the faults of a WARC file, or of all WARC files of a folder and their index, counting in ``tally``.

    Nothing is written but temporary files; a crawl may be running. Memory use is bounded whatever the size of a record,
    apart from one number for each record of the current file. Raises ``ArchiveError`` if there are no WARC files.
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
        # The originals of its revisits may be in other files.
        yield from (finding for finding in revisits.unmet() if finding.problem is not Problem.ORIGINAL_AWAY)


def _of_records(path: Path, tally: Tally, revisits: Revisits, expected: LineSorter | None) -> Iterator[Finding]:
    tally.files += 1
    relations, indexed = Relations(path), IndexedRecords(path.name)
    try:
        writing, is_hidden = is_open(path) and _has_writer(path), hidden_in(path)
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
                    expected.extend(_usual_line(entry) for entry in indexed.take(record) if not is_hidden(entry.url))
            if expected is not None:
                expected.extend(_usual_line(entry) for entry in indexed.end() if not is_hidden(entry.url))
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
    """Return the names of files that the index may not contain yet: open ones, and those that a crawl is sorting."""
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
    """Return an index line as ``Entry`` writes it for a GET.

    Other indexers write more fields, in another order.
    """
    key, moment, text = line.split(b" ", 2)
    fields = json.loads(text)
    known = json.dumps({name: str(fields[name]) for name in _LISTED if fields.get(name)})
    return b"%b %b %b\n" % (key, moment, known.encode("ascii"))


def _differences(expected: Iterable[bytes], found: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Merge two sorted sequences; yield each line that is in only one of them, and whether that is ``expected``."""
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


TORN = ".torn"
"""The suffix of the file to which the torn end of another file is moved."""
_MARK = ".mark"
_BROKEN = frozenset({Problem.TORN, Problem.DAMAGED, Problem.FOREIGN})


@dataclass(frozen=True, slots=True)
class Repaired:
    """The outcome of repairing a WARC file that was open or torn.

    ``file`` is its current name; if ``kept`` is 0, the file has been deleted. ``cut`` bytes were cut off and moved to
    ``torn``. ``damaged`` counts damaged places before the end, which cannot be repaired.
    """

    file: Path
    kept: int
    cut: int = 0
    torn: Path | None = None
    damaged: int = 0

    def __str__(self) -> str:
        text = [f"{self.file}: {self.kept} bytes are kept"]
        if self.torn is not None:
            text.append(f"a torn end of {self.cut} bytes was moved to {self.torn.name}")
        if self.damaged:
            places = "a place" if self.damaged == 1 else f"{self.damaged} places"
            text.append(f"{places} before its end cannot be mended: restore it from a copy")
        return ", ".join(text)


def repair(path: Path) -> Iterator[Repaired]:
    """Repair the archive of a crawl, or of a folder, and rebuild its index; yield each file that has changed.

    Files that were left open are closed; the bytes after the last whole record of a file are moved to a file beside it.
    Files that another process writes, and files of others, are not changed. Raises ``ArchiveError`` if a crawl is
    running in the folder or there are no WARC files, and ``OSError`` or ``SegmentError`` if the disk fails; no byte is
    lost then.
    """
    archive = ArchiveFolder.at(path)
    with archive.alone():
        for file in segments(archive.files, WARC):
            repaired = None if is_referred(file) else _repair(file)
            if repaired is not None:
                yield repaired
        rebuild(archive.files, archive.indexes)


def _repair(path: Path) -> Repaired | None:
    final = path.with_name(path.name.removesuffix(OPEN))
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        kept, damaged = 0, []
        for record in scan(file):
            if any(problem in _BROKEN for problem, _ in record.problems):
                damaged.append(record.offset)
            else:
                kept = record.offset + record.size
    before = sum(offset < kept for offset in damaged)
    if kept == size and not before and not is_open(path):
        return None
    with path.open("r+b" if kept < size else "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        torn = _move_end(path, kept) if kept < size else None
        _close(path, final)
    return Repaired(final, kept, size - kept, torn, before)


def _move_end(path: Path, kept: int) -> Path:
    torn = _unused(path.with_name(path.name.removesuffix(OPEN) + TORN))
    if not kept:
        path.rename(torn)
        return torn
    part = torn.with_name(torn.name + ".part")
    with path.open("rb") as file, open(part, "wb", opener=no_link) as beside:
        file.seek(kept)
        shutil.copyfileobj(file, beside)
        beside.flush()
        os.fsync(beside.fileno())
    part.rename(torn)
    sync_folder(path.parent)
    with path.open("r+b") as file:
        file.truncate(kept)
        os.fsync(file.fileno())
    return torn


def _close(path: Path, final: Path) -> None:
    if not is_open(path):
        return
    if path.exists():
        if final.exists():
            raise SegmentError(f"{path}: cannot be closed, {final.name} exists; move one of them away and repair again")
        path.rename(final)
    path.with_name(path.name + _MARK).unlink(missing_ok=True)
    sync_folder(path.parent)


def _unused(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.{number}") if number else path for number in count())
    return next(name for name in names if not name.exists())
