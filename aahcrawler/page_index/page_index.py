"""The index of a crawl's pages and objects, made from the segments that describe them and from the score log."""

import json
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar, Final

from aahcrawler.derived_index import DerivedIndex, Source, opened_segment, segment_members, segment_sources
from aahcrawler.layout import INDEXES, NQUADS, OBJECTS, PAGES, SCORE_LOG, SCORES
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.page_index.index_tables import TABLES
from aahcrawler.page_index.object_ledger import LONGEST, ObjectLedger
from aahcrawler.page_index.page_tallies import Course, Tally
from aahcrawler.segments import Members
from aahcrawler.urls import queue_of

_OBJECTS: Final = f"{OBJECTS}/"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_JUDGED: Final = re.compile(rb'\{"entry":"page","at":(\d+),"url":("(?:[^"\\]|\\.)*")')
_OTHER: Final = """
SELECT id, at, record FROM capture WHERE url = ? AND crawl = ? AND record != ? AND is_page AND NOT is_requisite
ORDER BY at DESC, record DESC LIMIT 1
"""
_CAPTURE: Final = "INSERT INTO capture VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"


class PageIndex(DerivedIndex[bytes]):
    """The index of the captures, objects and entries of the score log in a crawl's folder."""

    schema: ClassVar = TABLES
    version: ClassVar = 5
    counted_under: ClassVar = _OBJECTS

    def __init__(self, crawl: Path) -> None:
        super().__init__(crawl / INDEXES / PAGES)
        self._crawl = crawl

    def sources(self) -> Iterator[Source]:
        """Find the segments, those that describe captures first."""
        yield from segment_sources(self._crawl / OBJECTS, NQUADS, _OBJECTS)
        yield from segment_sources(self._crawl / SCORES, SCORE_LOG, f"{SCORES}/")

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield the statements of captures, or entries of the score log."""
        return segment_members(source, begin)

    def begin(self) -> None:
        """Begin to count what is taken in."""
        self._tally = Tally()
        self._courses: dict[int, Course] = {}
        self._taken: dict[int, str | None] = {}
        self._ledger = ObjectLedger(self.base, self._tally, self._stated)
        self._names = dict(self.base.execute("SELECT id, name FROM segment"))

    def put(self, entry: bytes, source: int, place: int) -> None:
        """Take in what is stated of a capture, or the entry of a page."""
        take = self._take_capture if self._names[source].startswith(_OBJECTS) else self._take_entry
        take(entry, source, place)

    def settle(self) -> None:
        """Keep what was counted."""
        self._ledger.settle(self._taken)
        self._tally.store(self.base)
        for crawl, course in self._courses.items():
            course.store(self.base, crawl)

    def _take_capture(self, text: bytes, segment: int, place: int) -> None:
        """Take in a reading of a capture, unless a later one is known."""
        stated = read_statements(text)
        row = stated.row
        if not row.url or not row.capture:
            return
        at = _microseconds(row.fetched_at)
        known = self.base.execute("SELECT id, read_at FROM capture WHERE record = ?", (row.capture,)).fetchone()
        number = None
        if known is not None:
            number, read_at = known
            if read_at >= stated.read_at:
                return
            self._withdraw(number)
        new = self.base.execute(_CAPTURE, _values(number, stated, at, segment, place))
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
            self.base.execute(
                "INSERT OR IGNORE INTO judged VALUES (?, ?, ?, ?)", (url_key(url), int(found[1]), segment, place)
            )

    def _withdraw(self, number: int) -> None:
        """Forget what a capture was found to hold when it was read before."""
        former = self._stated(number)
        self._count(former, _microseconds(former.row.fetched_at), -1)
        self._ledger.withdraw(number)
        self.base.execute("DELETE FROM capture WHERE id = ?", (number,))

    def _stated(self, number: int) -> CaptureStatements:
        """Return what a capture states that is in the index."""
        name, place = self.base.execute(
            "SELECT name, place FROM capture JOIN segment ON segment.id = segment WHERE capture.id = ?",
            (number,),
        ).fetchone()
        return read_statements(member_at(self._crawl, name, place))

    def _count(self, stated: CaptureStatements, at: int, sign: int) -> None:
        """Count a capture, or count it no more with the ``sign`` -1."""
        row = stated.row
        if stated.is_requisite:
            self._tally.add(row.crawl, "requisites", "", sign)
            return
        add = self._tally.add
        add(row.crawl, "captures", "", sign)
        add(row.crawl, "status", str(row.status), sign)
        add(row.crawl, "site", queue_of(row.url), sign)
        add(row.crawl, "application", row.application or "", sign)
        add(row.crawl, "media", row.media_type or "", sign)
        add(row.crawl, "month", (_EPOCH + at * _MICROSECOND).strftime("%Y-%m"), sign)
        if row.trap:
            add(row.crawl, "trap", row.trap, sign)
        if row.is_page:
            self._count_page(stated, at, sign)

    def _count_page(self, stated: CaptureStatements, at: int, sign: int) -> None:
        """Count a page, which counts once in a crawl: by its last capture, where the crawl was killed in between."""
        row = stated.row
        other = self.base.execute(_OTHER, (row.url, row.crawl, row.capture)).fetchone()
        if other is None:
            self._add_page(stated, at, sign)
        elif (at, row.capture) > other[1:]:
            self._add_page(stated, at, sign)
            self._add_page(self._stated(other[0]), other[1], -sign)

    def _add_page(self, stated: CaptureStatements, at: int, sign: int) -> None:
        row, objects, add = stated.row, len(stated.objects), self._tally.add
        level = f"{row.application or ''}\t{row.level_name or ''}\t{row.level or ''}"
        add(row.crawl, "pages", "", sign)
        add(row.crawl, "relevant", "", sign * bool(row.relevant))
        add(row.crawl, "level", level, sign)
        add(row.crawl, "level relevant", level, sign * bool(row.relevant))
        add(row.crawl, "level objects", level, sign * objects)
        course = self._courses.get(row.crawl) or Course.of(self.base, row.crawl)
        self._courses[row.crawl] = course
        course.add(at, relevant=bool(row.relevant), score=row.score or 0.0, sign=sign)


def captures_in(base: sqlite3.Connection) -> int:
    """Return how many captures the index holds, requisites apart."""
    return int(base.execute("SELECT coalesce(sum(n), 0) FROM tally WHERE topic = 'captures'").fetchone()[0])


def member_at(crawl: Path, name: str, place: int) -> bytes:
    """Return the text of the member at a place of a segment. Raise ``OSError`` and ``DamageError``."""
    with opened_segment(crawl / name) as file:
        return Members(file, place).member()


def url_key(url: str) -> int:
    """Return the number under which the entries of a URL are found."""
    return int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)


def _microseconds(moment: str) -> int:
    """Return a moment, ISO 8601, in microseconds since 1970. Raise ``ValueError`` where it is none."""
    read = datetime.fromisoformat(moment)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _values(number: int | None, stated: CaptureStatements, at: int, segment: int, place: int) -> tuple[object, ...]:
    """Return what is kept of a capture, in the order of the columns."""
    row = stated.row
    relevant = None if row.relevant is None else int(row.relevant)
    title = None if row.title is None else row.title[:LONGEST]
    return (
        *(number, row.capture, at, row.fetched_at, row.url, queue_of(row.url), row.crawl, row.status, row.media_type),
        *(row.application, row.level_name, row.level, row.score, relevant, row.priority, row.depth, row.via),
        *(row.unchanged, stated.former, row.trap, int(row.is_page), int(stated.is_requisite), len(stated.objects)),
        *(str(row.method), stated.read_at, segment, place, title, title and title.casefold()),
    )
