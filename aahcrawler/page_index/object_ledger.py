"""Keeps the objects of the index: each as its newest capture has it, and all captures that state it."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from aahcrawler.objects.capture_statements import CaptureStatements, ObjectRow
from aahcrawler.page_index.page_tallies import Tally

EXCERPT: Final = 400
"""Characters of a body that are kept and can be looked for."""
LONGEST: Final = 1_000
"""Characters of a title, a name or a date that are kept."""
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
    """The objects in a base that is open for building. ``stated`` gives the statements of a capture by its number."""

    def __init__(self, base: sqlite3.Connection, tally: Tally, stated: Callable[[int], CaptureStatements]) -> None:
        self._base = base
        self._tally = tally
        self._stated = stated
        self._gone: set[str] = set()
        self._has_deletions = base.execute("SELECT 1 FROM deletion LIMIT 1").fetchone() is not None

    def put(self, capture: int, at: int, objects: Iterable[ObjectRow]) -> None:
        """Take in the objects that a capture states, which was made ``at`` so many microseconds since 1970."""
        for each in objects:
            values = _values(each)
            new = self._base.execute(_INSERT, (each.iri, *values, capture, at))
            if new.rowcount == 1 and new.lastrowid is not None:
                number = new.lastrowid
                self._count(number, values)
            else:
                number = self._renew(each.iri, values, capture, at)
            self._base.execute("INSERT OR IGNORE INTO sighting VALUES (?, ?)", (number, capture))

    def withdraw(self, capture: int) -> None:
        """Forget the objects that a capture states; those that others state, too, are as these have them."""
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
        """Take in which objects a capture found gone."""
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
        """Say of the objects that were found gone whether captures show them again.

        ``captures`` are those that were taken in, each with the id of the record whose payload it has again, if any.
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
        """Have a known object be as a capture has it, unless a newer one states it; return its number."""
        number, known_at, *known = self._base.execute(
            "SELECT id, at, type, url, title, author, date, excerpt FROM object WHERE iri = ?", (iri,)
        ).fetchone()
        if at >= known_at:
            self._discount(number, known)
            self._base.execute(_UPDATE, (*values, capture, at, number))
            self._count(number, values)
        return int(number)

    def _fall_back(self, number: int, iri: str) -> None:
        """Have an object be as the newest of the captures that are left has it; forget it where there is none."""
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
        values = _values(row)
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


def _values(each: ObjectRow) -> tuple[str | None, ...]:
    """Return what is kept of an object, in the order of the columns."""
    return (
        each.type,
        each.url,
        None if each.title is None else each.title[:LONGEST],
        None if each.author is None else each.author[:LONGEST],
        None if each.date is None else each.date[:LONGEST],
        None if each.body is None else each.body[:EXCERPT],
        each.part_of,
        None if each.inferred is None else each.inferred[:LONGEST],
    )
