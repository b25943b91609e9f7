"""Builds the index step by step: takes in what was added to the segments, and forgets what was taken out of them."""

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, Final, Self

from aahcrawler.layout import NQUADS, OBJECTS, SCORE_LOG, SCORES
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.page_index.index_file import IndexFile
from aahcrawler.page_index.object_ledger import ObjectLedger
from aahcrawler.page_index.page_tallies import Course, Tally
from aahcrawler.segments import OPEN, DamageError, Members, is_open, segments
from aahcrawler.urls import queue_of

STEP: Final = 250
"""Captures, or entries of a score log, that are taken in at once."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_JUDGED: Final = re.compile(rb'\{"entry":"page","at":(\d+),"url":("(?:[^"\\]|\\.)*")')
_CAPTURE: Final = "INSERT INTO capture VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far the index reaches: so many captures, from ``covered`` of the ``size`` bytes that describe captures.

    ``is_complete`` says that nothing is left in any segment. ``damaged`` names segments that cannot be read to their
    end, with the reason.
    """

    captures: int
    covered: int
    size: int
    is_complete: bool
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Source:
    """A segment as it lies in the folder; ``name`` is its final one."""

    path: Path
    name: str
    inode: int
    size: int
    changed: int
    is_open: bool

    @property
    def folder(self) -> str:
        """The name of the folder that it is in."""
        return self.path.parent.name


class IndexBuilder:
    """Builds the index of a folder in its file; one at a time may do so.

    Raises ``sqlite3.Error`` and ``OSError`` where the file or the folder cannot be used.
    """

    def __init__(self, crawl: Path, file: IndexFile) -> None:
        self._crawl = crawl
        self._base = file.prepare()
        self._begin()
        if self.is_wrong():
            self._base.close()
            file.remove()
            self._base = file.prepare()
            self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def step(self, most: int = STEP) -> bool:
        """Take in at most so many captures and entries; return whether there are more."""
        left = most
        with self._base:
            sources = [(self._known(source), source) for source in found_sources(self._crawl)]
            for number, source in sources:
                left -= self._take(number, source, left)
                if left <= 0:
                    break
            self._store()
        return left <= 0

    def is_wrong(self) -> bool:
        """Return whether something was taken out of the segments, so that the index has to be begun anew."""
        return standing(self._base, self._crawl) is Standing.WRONG

    def _begin(self) -> None:
        self._tally = Tally()
        self._courses: dict[int, Course] = {}
        self._taken: dict[int, str | None] = {}
        self._ledger = ObjectLedger(self._base, self._tally, self._stated)

    def _known(self, source: _Source) -> int:
        """Have the index know of a segment and its size; return its number."""
        values = (source.inode, source.size, source.changed, source.is_open)
        self._base.execute(
            "INSERT INTO segment (folder, name, inode, covered, size, changed, is_open) VALUES (?, ?, ?, 0, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET size = max(excluded.size, covered), changed = excluded.changed,"
            " is_open = excluded.is_open WHERE size != excluded.size OR is_open != excluded.is_open",
            (source.folder, source.name, *values),
        )
        key = (source.folder, source.name)
        return int(self._base.execute("SELECT id FROM segment WHERE folder = ? AND name = ?", key).fetchone()[0])

    def _take(self, number: int, source: _Source, most: int) -> int:
        """Take in the new part of a segment, and return how many members that were."""
        (covered,) = self._base.execute("SELECT covered FROM segment WHERE id = ?", (number,)).fetchone()
        if covered >= source.size or most <= 0:
            return 0
        take = self._take_capture if source.folder == OBJECTS else self._take_entry
        count, size, faults = 0, source.size, []
        try:
            with _opened(source.path) as file:
                members = Members(file, covered)
                while covered < source.size and count < most:
                    text = members.member()
                    try:
                        take(text, number, covered)
                    except (ValueError, OverflowError) as error:
                        faults.append(f"at byte {covered}: {error}")
                    covered, count = members.end, count + 1
        except FileNotFoundError:
            size = covered  # Its writer had died before anything in it was whole, or it was taken out meanwhile.
        except (OSError, DamageError) as error:
            # What is being written may end in the middle of a member.
            if source.is_open:
                size = covered
            else:
                faults.append(str(error))
                covered = size
        self._base.execute(
            "UPDATE segment SET covered = ?, size = max(?, ?), damage = coalesce(?, damage) WHERE id = ?",
            (covered, size, covered, "; ".join(faults[:3]) or None, number),
        )
        return count

    def _take_capture(self, text: bytes, segment: int, place: int) -> None:
        """Take in a reading of a capture, unless a later one is known."""
        stated = read_statements(text)
        row = stated.row
        if not row.url or not row.capture:
            return
        at = _microseconds(row.fetched_at)
        known = self._base.execute("SELECT id, read_at FROM capture WHERE record = ?", (row.capture,)).fetchone()
        number = None
        if known is not None:
            number, read_at = known
            if read_at >= stated.read_at:
                return
            self._withdraw(number)
        new = self._base.execute(_CAPTURE, _values(number, stated, at, segment, place))
        number = new.lastrowid or 0
        self._ledger.put(number, at, stated.objects)
        self._ledger.deleted(at, stated)
        self._taken[number] = row.unchanged
        self._count(stated, at, 1)

    def _take_entry(self, text: bytes, segment: int, place: int) -> None:
        """Take in where the entry of a page is in a score log."""
        found = _JUDGED.match(text)
        if found is not None:
            url = found[2][1:-1].decode() if b"\\" not in found[2] else json.loads(found[2])
            self._base.execute(
                "INSERT OR IGNORE INTO judged VALUES (?, ?, ?, ?)", (url_key(url), int(found[1]), segment, place)
            )

    def _withdraw(self, number: int) -> None:
        """Forget what a capture was found to hold when it was read before."""
        former = self._stated(number)
        self._count(former, _microseconds(former.row.fetched_at), -1)
        self._ledger.withdraw(number)
        self._base.execute("DELETE FROM capture WHERE id = ?", (number,))

    def _stated(self, number: int) -> CaptureStatements:
        """Return what a capture states that is in the index."""
        folder, name, place = self._base.execute(
            "SELECT folder, name, place FROM capture JOIN segment ON segment.id = segment WHERE capture.id = ?",
            (number,),
        ).fetchone()
        return read_statements(member_at(self._crawl, folder, name, place))

    def _count(self, stated: CaptureStatements, at: int, sign: int) -> None:
        """Count a capture, or count it no more with the ``sign`` -1."""
        row, objects = stated.row, len(stated.objects)
        if stated.is_requisite:
            self._tally.add(row.crawl, "requisites", "", sign)
            return
        add = self._tally.add
        add(row.crawl, "captures", "", sign)
        add(row.crawl, "status", str(row.status), sign)
        add(row.crawl, "site", queue_of(row.url), sign)
        add(row.crawl, "application", row.application or "", sign)
        if row.trap:
            add(row.crawl, "trap", row.trap, sign)
        if not row.is_page:
            return
        level = f"{row.application or ''}\t{row.level_name or ''}\t{row.level or ''}"
        add(row.crawl, "pages", "", sign)
        add(row.crawl, "relevant", "", sign * bool(row.relevant))
        add(row.crawl, "level", level, sign)
        add(row.crawl, "level relevant", level, sign * bool(row.relevant))
        add(row.crawl, "level objects", level, sign * objects)
        course = self._courses.get(row.crawl) or Course.of(self._base, row.crawl)
        self._courses[row.crawl] = course
        course.add(at, relevant=bool(row.relevant), score=row.score or 0.0, sign=sign)

    def _store(self) -> None:
        """Keep what was counted in this step."""
        self._ledger.settle(self._taken)
        self._taken.clear()
        self._tally.store(self._base)
        for crawl, course in self._courses.items():
            course.store(self._base, crawl)


def coverage(base: sqlite3.Connection) -> Coverage:
    """Return how far the index reaches."""
    captures = base.execute("SELECT coalesce(sum(n), 0) FROM tally WHERE topic = 'captures'").fetchone()[0]
    covered, size = base.execute(
        "SELECT coalesce(sum(covered), 0), coalesce(sum(size), 0) FROM segment WHERE folder = ?", (OBJECTS,)
    ).fetchone()
    is_complete = base.execute("SELECT 1 FROM segment WHERE covered < size LIMIT 1").fetchone() is None
    damaged = base.execute("SELECT folder, name, damage FROM segment WHERE damage IS NOT NULL ORDER BY id").fetchall()
    told = tuple(f"{folder}/{name}: {damage}" for folder, name, damage in damaged)
    return Coverage(captures, covered, size, is_complete=is_complete, damaged=told)


class Standing(Enum):
    """How an index stands to the segments of its folder."""

    SOUND = auto()
    """It holds all that they hold."""
    BEHIND = auto()
    """They hold more."""
    WRONG = auto()
    """Something was taken out of them that it holds: it has to be begun anew."""


def standing(base: sqlite3.Connection, crawl: Path) -> Standing:
    """Return how an index stands to its folder."""
    found = {(source.folder, source.name): source for source in found_sources(crawl)}
    known = {(folder, name): row for folder, name, *row in base.execute(_SEGMENTS)}
    if any(_is_other(found.get(key), row) for key, row in known.items()):
        return Standing.WRONG
    if known.keys() != found.keys():
        return Standing.BEHIND
    is_behind = any(covered < size or found[key].size != size for key, (_, size, covered, *_) in known.items())
    return Standing.BEHIND if is_behind else Standing.SOUND


_SEGMENTS: Final = "SELECT folder, name, inode, size, covered, changed, is_open FROM segment"


def _is_other(source: _Source | None, known: list[int]) -> bool:
    """Return whether a segment is not the one that was taken in; those that are closed do not change any more."""
    inode, size, covered, changed, was_open = known
    if source is None:
        return covered > 0
    if source.inode != inode or source.size < covered:
        return True
    return not was_open and (source.size, source.changed) != (size, changed)


def found_sources(crawl: Path) -> Iterator[_Source]:
    """Yield the segments of a folder that the index is made from."""
    for folder, extension in ((OBJECTS, NQUADS), (SCORES, SCORE_LOG)):
        for path in segments(crawl / folder, extension):
            for place in (path, path.with_name(path.name.removesuffix(OPEN))):
                try:
                    stat = place.stat()
                except FileNotFoundError:
                    continue
                name = place.name.removesuffix(OPEN)
                yield _Source(place, name, stat.st_ino, stat.st_size, stat.st_mtime_ns, is_open(place))
                break


def member_at(crawl: Path, folder: str, name: str, place: int) -> bytes:
    """Return the text of the member at a place of a segment. Raise ``OSError`` and ``DamageError``."""
    with _opened(crawl / folder / (name + OPEN)) as file:
        return Members(file, place).member()


def url_key(url: str) -> int:
    """Return the number under which the entries of a URL are found."""
    return int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)


def _opened(path: Path) -> BinaryIO:
    """Open a segment, open or closed; it may have been closed since."""
    for candidate in (path, path.with_name(path.name.removesuffix(OPEN))):
        try:
            return candidate.open("rb")
        except FileNotFoundError:
            continue
    raise FileNotFoundError(path)


def _microseconds(moment: str) -> int:
    """Return a moment, ISO 8601, in microseconds since 1970. Raise ``ValueError`` where it is none."""
    read = datetime.fromisoformat(moment)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _values(number: int | None, stated: CaptureStatements, at: int, segment: int, place: int) -> tuple[object, ...]:
    """Return what is kept of a capture, in the order of the columns."""
    row = stated.row
    relevant = None if row.relevant is None else int(row.relevant)
    return (
        *(number, row.capture, at, row.fetched_at, row.url, queue_of(row.url), row.crawl, row.status, row.media_type),
        *(row.application, row.level_name, row.level, row.score, relevant, row.priority, row.depth, row.via),
        *(row.unchanged, stated.former, row.trap, int(row.is_page), int(stated.is_requisite), len(stated.objects)),
        *(str(row.method), stated.read_at, segment, place),
    )
