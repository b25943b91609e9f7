"""An index of the pages and objects in a crawl's folder, fast enough to browse 100,000 pages.

It is an SQLite database derived from the segments in ``objects/`` and ``scores/``. It adds new segments' content step
by step, also while the crawl runs, and may be deleted at any time.
"""

import json
import re
import sqlite3
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar, Final

from aahcrawler.derived_index import DerivedIndex, Source, opened_segment, segment_members, segment_sources
from aahcrawler.layout import INDEXES, NQUADS, OBJECTS, PAGES, SCORE_LOG, SCORES
from aahcrawler.objects.capture_statements import CaptureStatements, ObjectRow, read_statements
from aahcrawler.segments import Members
from aahcrawler.urls import queue_of

TABLES: Final = (
    """CREATE TABLE capture (
  id INTEGER PRIMARY KEY, record TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, fetched_at TEXT NOT NULL, url TEXT NOT NULL,
  site TEXT NOT NULL, crawl INTEGER NOT NULL, status INTEGER NOT NULL, media_type TEXT, application TEXT, level TEXT,
  role TEXT, score REAL, relevant INTEGER, priority REAL, depth INTEGER, via TEXT, unchanged TEXT, former TEXT,
  trap TEXT, is_page INTEGER NOT NULL, is_requisite INTEGER NOT NULL, objects INTEGER NOT NULL, method TEXT NOT NULL,
  read_at TEXT NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL, title TEXT,
  folded TEXT
)""",
    """CREATE INDEX capture_at ON capture (
  at, id, url, status, application, level, role, relevant, site, trap, crawl, is_requisite, folded, media_type
)""",
    "CREATE INDEX capture_url ON capture (url, at)",
    "CREATE INDEX capture_unchanged ON capture (unchanged) WHERE unchanged IS NOT NULL",
    """CREATE TABLE judged (
  url INTEGER NOT NULL, at INTEGER NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY (url, at, segment, place)
) WITHOUT ROWID""",
    """CREATE TABLE object (
  id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE, type TEXT NOT NULL, url TEXT NOT NULL, title TEXT, author TEXT,
  date TEXT, excerpt TEXT, part_of TEXT, inferred TEXT, capture INTEGER NOT NULL, at INTEGER NOT NULL, deleted TEXT
)""",
    "CREATE INDEX object_type ON object (type, id)",
    "CREATE INDEX object_published ON object (date)",
    "CREATE INDEX object_author ON object (type, id) WHERE author IS NULL",
    "CREATE INDEX object_date ON object (type, id) WHERE date IS NULL",
    "CREATE INDEX object_title ON object (type, id) WHERE title IS NULL",
    """CREATE TABLE sighting (
  object INTEGER NOT NULL, capture INTEGER NOT NULL, PRIMARY KEY (object, capture)
) WITHOUT ROWID""",
    "CREATE INDEX sighting_capture ON sighting (capture)",
    """CREATE TABLE deletion (
  iri TEXT PRIMARY KEY, at INTEGER NOT NULL, deleted_at TEXT NOT NULL, record TEXT NOT NULL,
  crawl INTEGER NOT NULL, former TEXT
)""",
    """CREATE VIRTUAL TABLE words USING fts5(
  type, title, author, excerpt, content = 'object', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
)""",
    """CREATE TABLE tally (
  crawl INTEGER NOT NULL, topic TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (crawl, topic, name)
) WITHOUT ROWID""",
    "CREATE TABLE course (crawl INTEGER PRIMARY KEY, width INTEGER NOT NULL, points TEXT NOT NULL)",
)


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
        """Yield the segments: those of ``objects/``, which describe captures, before those of the score log."""
        yield from segment_sources(self._crawl / OBJECTS, NQUADS, _OBJECTS)
        yield from segment_sources(self._crawl / SCORES, SCORE_LOG, f"{SCORES}/")

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield a segment's members from offset ``begin``: statements of captures, or entries of the score log."""
        return segment_members(source, begin)

    def begin(self) -> None:
        """Start a batch with empty counts."""
        self._tally = Tally()
        self._courses: dict[int, Course] = {}
        self._taken: dict[int, str | None] = {}
        self._ledger = ObjectLedger(self.base, self._tally, self._stated)
        self._names = dict(self.base.execute("SELECT id, name FROM segment"))

    def put(self, entry: bytes, source: int, place: int) -> None:
        """Add a member of a segment: the statements of a capture, or the score log's entry of a page."""
        take = self._take_capture if self._names[source].startswith(_OBJECTS) else self._take_entry
        take(entry, source, place)

    def settle(self) -> None:
        """Write the counts of the batch to the index."""
        self._ledger.settle(self._taken)
        self._tally.store(self.base)
        for crawl, course in self._courses.items():
            course.store(self.base, crawl)

    def _take_capture(self, text: bytes, segment: int, place: int) -> None:
        """Add a reading of a capture, replacing an earlier reading; ignore it if a later one is indexed already."""
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
        """Note at which offset of the score log a page's entry is."""
        found = _JUDGED.match(text)
        if found is not None:
            url = found[2][1:-1].decode() if b"\\" not in found[2] else json.loads(found[2])
            self.base.execute(
                "INSERT OR IGNORE INTO judged VALUES (?, ?, ?, ?)", (url_key(url), int(found[1]), segment, place)
            )

    def _withdraw(self, number: int) -> None:
        """Remove a capture with its objects and counts, since a later reading replaces it."""
        former = self._stated(number)
        self._count(former, _microseconds(former.row.fetched_at), -1)
        self._ledger.withdraw(number)
        self.base.execute("DELETE FROM capture WHERE id = ?", (number,))

    def _stated(self, number: int) -> CaptureStatements:
        """Read the statements of an indexed capture from its segment."""
        name, place = self.base.execute(
            "SELECT name, place FROM capture JOIN segment ON segment.id = segment WHERE capture.id = ?",
            (number,),
        ).fetchone()
        return read_statements(member_at(self._crawl, name, place))

    def _count(self, stated: CaptureStatements, at: int, sign: int) -> None:
        """Add a capture to the counts; ``sign`` -1 takes it out again."""
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
        """Add a page to the counts, or take it out again with ``sign`` -1.

        A URL counts as one page of a crawl. If a kill made the crawl capture it twice, the later capture counts.
        """
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
    """Return how many captures the index holds, without page requisites."""
    return int(base.execute("SELECT coalesce(sum(n), 0) FROM tally WHERE topic = 'captures'").fetchone()[0])


def member_at(crawl: Path, name: str, place: int) -> bytes:
    """Return the text of the segment member at offset ``place``. Raise ``OSError`` and ``DamageError``."""
    with opened_segment(crawl / name) as file:
        return Members(file, place).member()


def url_key(url: str) -> int:
    """Return the 64-bit hash by which the score log's entries of a URL are indexed."""
    return int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)


def _microseconds(moment: str) -> int:
    """Return an ISO 8601 time in microseconds since 1970, UTC unless it names a zone.

    Raise ``ValueError`` for others.
    """
    read = datetime.fromisoformat(moment)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _values(number: int | None, stated: CaptureStatements, at: int, segment: int, place: int) -> tuple[object, ...]:
    """Return the row of a capture, in the order of the table's columns."""
    row = stated.row
    relevant = None if row.relevant is None else int(row.relevant)
    title = None if row.title is None else row.title[:MAX_VALUE_LENGTH]
    return (
        *(number, row.capture, at, row.fetched_at, row.url, queue_of(row.url), row.crawl, row.status, row.media_type),
        *(row.application, row.level_name, row.level, row.score, relevant, row.priority, row.depth, row.via),
        *(row.unchanged, stated.former, row.trap, int(row.is_page), int(stated.is_requisite), len(stated.objects)),
        *(str(row.method), stated.read_at, segment, place, title, title and title.casefold()),
    )


MAX_POINTS: Final = 400
_FOLDER: Final = 0
"""The crawl number under which objects are counted: several crawls of a folder may find the same object."""


class Tally:
    """Counts by crawl, topic and name, gathered in memory until ``store`` adds them to the index.

    Topics of a crawl: ``captures``, ``pages`` and ``relevant`` have the empty name. ``status``, ``trap``, ``site``,
    ``application``, ``media`` (the media type) and ``month`` (``2012-03``, in UTC) count captures. ``level`` counts
    pages by application, level and role, separated by tabs; ``level relevant`` and ``level objects`` count relevant
    pages, and objects on pages, in the same way.

    Topics of the folder: ``type`` counts objects by type; ``title``, ``author`` and ``date`` count those that have such
    a value, by type; ``deleted`` counts those that are gone; ``published`` counts those with a readable date, by its
    month, or by its year if the date has no month.
    """

    def __init__(self) -> None:
        self._changes: Counter[tuple[int, str, str]] = Counter()

    def add(self, crawl: int, topic: str, name: str = "", n: int = 1) -> None:
        """Add to a count of a crawl."""
        self._changes[crawl, topic, name] += n

    def add_object(self, topic: str, name: str, n: int = 1) -> None:
        """Add to a count of the folder's objects."""
        self._changes[_FOLDER, topic, name] += n

    def store(self, base: sqlite3.Connection) -> None:
        """Add the counts to those in the index."""
        base.executemany(
            "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            [(*key, n) for key, n in self._changes.items() if n],
        )
        self._changes.clear()


@dataclass(slots=True)
class Point:
    """A run of consecutively fetched pages, the last of them fetched at ``last_at`` (microseconds since 1970).

    ``relevance`` is the sum of their scores, ``relevant`` the number of relevant ones among them.
    """

    last_at: int
    pages: int = 0
    relevant: int = 0
    relevance: float = 0.0


@dataclass(slots=True)
class Course:
    """Relevance over the course of a crawl, in at most ``MAX_POINTS`` points, ordered by time.

    Pages may be added in any order. A new point takes in ``width`` pages. When there are too many points, each two
    neighbours are merged and ``width`` doubles.
    """

    begun_at: int | None = None
    width: int = 1
    points: list[Point] = field(default_factory=list)

    def add(self, at: int, *, relevant: bool, score: float, sign: int = 1) -> None:
        """Add a page; ``sign`` -1 takes it out again."""
        if self.begun_at is None or at < self.begun_at:
            self.begun_at = at
        point = self._point(at)
        point.pages += sign
        point.relevant += sign * relevant
        point.relevance += sign * score
        if len(self.points) > MAX_POINTS:
            self._halve()

    def _point(self, at: int) -> Point:
        place = bisect_left(self.points, at, key=lambda point: point.last_at)
        if place < len(self.points):
            return self.points[place]
        if not self.points or self.points[-1].pages >= self.width:
            self.points.append(Point(at))
        self.points[-1].last_at = at
        return self.points[-1]

    def _halve(self) -> None:
        self.width *= 2
        pairs = zip(self.points[::2], self.points[1::2], strict=False)
        joined = [
            Point(
                second.last_at,
                first.pages + second.pages,
                first.relevant + second.relevant,
                first.relevance + second.relevance,
            )
            for first, second in pairs
        ]
        self.points = joined + self.points[2 * len(joined) :]

    def store(self, base: sqlite3.Connection, crawl: int) -> None:
        """Write the course of a crawl to the index."""
        points = [[each.last_at, each.pages, each.relevant, round(each.relevance, 6)] for each in self.points]
        told = json.dumps({"begun_at": self.begun_at, "points": points}, separators=(",", ":"))
        base.execute("INSERT OR REPLACE INTO course VALUES (?, ?, ?)", (crawl, self.width, told))

    @classmethod
    def of(cls, base: sqlite3.Connection, crawl: int) -> "Course":
        """Read the course of a crawl from the index; return one without points if it has none."""
        row = base.execute("SELECT width, points FROM course WHERE crawl = ?", (crawl,)).fetchone()
        if row is None:
            return cls()
        told = json.loads(row[1])
        return cls(told["begun_at"], row[0], [Point(*each) for each in told["points"]])


EXCERPT: Final = 400
"""Characters of a body that are indexed."""
MAX_VALUE_LENGTH: Final = 1_000
"""Characters of a title, a name or a date that are indexed."""
_PUBLISHED: Final = re.compile(r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])|$)")
_FIELDS: Final = ("title", "author", "date")
_INSERT: Final = """
INSERT OR IGNORE INTO object (iri, type, url, title, author, date, excerpt, part_of, inferred, capture, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_UPDATE: Final = """
UPDATE object SET type = ?, url = ?, title = ?, author = ?, date = ?, excerpt = ?, part_of = ?, inferred = ?,
  capture = ?, at = ? WHERE id = ?
"""
_NEXT: Final = """
SELECT capture.id, capture.at FROM sighting JOIN capture ON capture.id = sighting.capture
WHERE sighting.object = ? ORDER BY capture.at DESC, capture.id DESC LIMIT 1
"""
_TOUCHED: Final = """
SELECT deletion.iri FROM sighting JOIN object ON object.id = sighting.object JOIN deletion ON deletion.iri = object.iri
WHERE sighting.capture = ? OR sighting.capture = (SELECT id FROM capture WHERE record = ?)
"""
_SEEN: Final = """
SELECT 1 FROM sighting JOIN capture AS held ON held.id = sighting.capture
JOIN capture AS seen ON seen.id = held.id OR seen.unchanged = coalesce(held.unchanged, held.record)
WHERE sighting.object = :object AND seen.record != :record
  AND (seen.at >= :at OR (seen.crawl = :crawl AND seen.record IS NOT :former)) LIMIT 1
"""


class ObjectLedger:
    """The tables of objects in an index that is open for writing.

    ``stated`` returns the statements of a capture, given its row's number.
    """

    def __init__(self, base: sqlite3.Connection, tally: Tally, stated: Callable[[int], CaptureStatements]) -> None:
        self._base = base
        self._tally = tally
        self._stated = stated
        self._gone: set[str] = set()
        self._has_deletions = base.execute("SELECT 1 FROM deletion LIMIT 1").fetchone() is not None

    def put(self, capture: int, at: int, objects: Iterable[ObjectRow]) -> None:
        """Add the objects that a capture states. ``at`` is when it was made, in microseconds since 1970."""
        for each in objects:
            values = _object_values(each)
            new = self._base.execute(_INSERT, (each.iri, *values, capture, at))
            if new.rowcount == 1 and new.lastrowid is not None:
                number = new.lastrowid
                self._count(number, values)
            else:
                number = self._renew(each.iri, values, capture, at)
            self._base.execute("INSERT OR IGNORE INTO sighting VALUES (?, ?)", (number, capture))

    def withdraw(self, capture: int) -> None:
        """Remove a capture's objects.

        An object that other captures state, too, takes the values of the newest of them.
        """
        rows = self._base.execute(
            "SELECT id, iri, object.capture FROM sighting JOIN object ON object.id = sighting.object"
            " WHERE sighting.capture = ?",
            (capture,),
        ).fetchall()
        self._base.execute("DELETE FROM sighting WHERE capture = ?", (capture,))
        for number, iri, newest in rows:
            if newest == capture:
                self._fall_back(number, iri)

    def deleted(self, at: int, capture: CaptureStatements) -> None:
        """Note the objects that a capture found to be gone."""
        row = capture.row
        for iri in capture.deleted:
            self._has_deletions = True
            self._gone.add(iri)
            self._base.execute(
                "INSERT INTO deletion VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at,"
                " deleted_at = excluded.deleted_at, record = excluded.record, crawl = excluded.crawl,"
                " former = excluded.former WHERE excluded.at >= at",
                (iri, at, row.fetched_at, row.capture, row.crawl, capture.former),
            )

    def settle(self, captures: Mapping[int, str | None]) -> None:
        """Decide for each object that was found gone whether later captures show it again.

        ``captures`` are those added in this batch, each with the id of the record whose payload it repeats, or None.
        """
        if not self._has_deletions:
            return
        for capture, unchanged in captures.items():
            self._gone.update(iri for (iri,) in self._base.execute(_TOUCHED, (capture, unchanged)))
        for iri in self._gone:
            self._settle(iri)
        self._gone.clear()

    def _settle(self, iri: str) -> None:
        row = self._base.execute(
            "SELECT id, deleted, deletion.at, deleted_at, record, crawl, former FROM object JOIN deletion"
            " ON deletion.iri = object.iri WHERE object.iri = ?",
            (iri,),
        ).fetchone()
        if row is None:
            return
        number, known, at, deleted_at, record, crawl, former = row
        told = {"object": number, "at": at, "record": record, "crawl": crawl, "former": former}
        deleted = None if self._base.execute(_SEEN, told).fetchone() else deleted_at
        if deleted != known:
            self._base.execute("UPDATE object SET deleted = ? WHERE id = ?", (deleted, number))
            self._tally.add_object("deleted", "", (deleted is not None) - (known is not None))

    def _renew(self, iri: str, values: tuple[str | None, ...], capture: int, at: int) -> int:
        """Give a known object the values of a capture, unless a newer capture states it. Return the object's number."""
        number, known_at, *known = self._base.execute(
            "SELECT id, at, type, url, title, author, date, excerpt FROM object WHERE iri = ?", (iri,)
        ).fetchone()
        if at >= known_at:
            self._discount(number, known)
            self._base.execute(_UPDATE, (*values, capture, at, number))
            self._count(number, values)
        return int(number)

    def _fall_back(self, number: int, iri: str) -> None:
        """Give an object the values of the newest capture that still states it; delete it if there is none."""
        known = self._base.execute(
            "SELECT type, url, title, author, date, excerpt, deleted FROM object WHERE id = ?", (number,)
        ).fetchone()
        found = self._base.execute(_NEXT, (number,)).fetchone()
        self._discount(number, known)
        row = None if found is None else next((o for o in self._stated(found[0]).objects if o.iri == iri), None)
        if row is None:
            self._base.execute("DELETE FROM object WHERE id = ?", (number,))
            self._base.execute("DELETE FROM sighting WHERE object = ?", (number,))
            self._tally.add_object("deleted", "", -(known[6] is not None))
            return
        values = _object_values(row)
        self._base.execute(_UPDATE, (*values, *found, number))
        self._count(number, values)

    def _count(self, number: int, values: tuple[str | None, ...]) -> None:
        kind, _, title, author, date, excerpt, *_ = values
        self._base.execute(
            "INSERT INTO words (rowid, type, title, author, excerpt) VALUES (?, ?, ?, ?, ?)",
            (number, kind, title, author, excerpt),
        )
        self._tally_fields(kind or "", (title, author, date), 1)

    def _discount(self, number: int, known: Iterable[str | None]) -> None:
        kind, _, title, author, date, excerpt, *_ = known
        self._base.execute(
            "INSERT INTO words (words, rowid, type, title, author, excerpt) VALUES ('delete', ?, ?, ?, ?, ?)",
            (number, kind, title, author, excerpt),
        )
        self._tally_fields(kind or "", (title, author, date), -1)

    def _tally_fields(self, kind: str, values: tuple[str | None, ...], sign: int) -> None:
        self._tally.add_object("type", kind, sign)
        if (published := _PUBLISHED.match(values[2] or "")) is not None:
            self._tally.add_object("published", published[0], sign)
        for name, value in zip(_FIELDS, values, strict=True):
            if value is not None:
                self._tally.add_object(name, kind, sign)


def _object_values(each: ObjectRow) -> tuple[str | None, ...]:
    """Return the row of an object without its keys, in the order of the table's columns."""
    return (
        each.type,
        each.url,
        None if each.title is None else each.title[:MAX_VALUE_LENGTH],
        None if each.author is None else each.author[:MAX_VALUE_LENGTH],
        None if each.date is None else each.date[:MAX_VALUE_LENGTH],
        None if each.body is None else each.body[:EXCERPT],
        each.part_of,
        None if each.inferred is None else each.inferred[:MAX_VALUE_LENGTH],
    )
