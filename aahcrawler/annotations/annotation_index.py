"""The index of annotations, derived from their segments: those that count, by object, by kind and by meaning."""

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Final

from aahcrawler.annotations.annotation import (
    REFINES,
    Annotation,
    CaptureAnnotations,
    Kind,
    annotation_iri,
    read_annotations,
)
from aahcrawler.derived_index import DerivedIndex, Source, segment_members, segment_sources
from aahcrawler.layout import ANNOTATION_INDEX, ANNOTATIONS, INDEXES, NQUADS
from aahcrawler.objects import vocabulary as v

_TABLES: Final = (
    """CREATE TABLE unit (
  id INTEGER PRIMARY KEY, capture TEXT NOT NULL, annotator TEXT NOT NULL, version TEXT NOT NULL, given TEXT NOT NULL,
  run TEXT NOT NULL, is_shown INTEGER NOT NULL, segment INTEGER NOT NULL, place INTEGER NOT NULL,
  UNIQUE (annotator, capture, run)
)""",
    "CREATE INDEX unit_by_capture ON unit (capture)",
    "CREATE INDEX unit_hidden ON unit (is_shown) WHERE NOT is_shown",
    "CREATE TABLE run (annotator TEXT PRIMARY KEY, version TEXT NOT NULL, run TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE object (id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE)",
    """CREATE TABLE annotation (
  id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, object INTEGER NOT NULL, kind TEXT NOT NULL, meant TEXT NOT NULL,
  label TEXT NOT NULL, iri TEXT NOT NULL, confidence REAL NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
  quote TEXT NOT NULL, details TEXT NOT NULL, name BLOB NOT NULL, refines BLOB
)""",
    "CREATE INDEX annotation_by_unit ON annotation (unit)",
    "CREATE INDEX annotation_by_object ON annotation (object)",
    # These hold all that counting asks: looking up each row takes several times as long.
    "CREATE INDEX annotation_by_kind ON annotation (kind, meant, object, unit, label, name)",
    "CREATE INDEX annotation_by_refined ON annotation (refines, unit) WHERE refines IS NOT NULL",
)
_COUNTED: Final = """
FROM annotation WHERE annotation.unit NOT IN (SELECT id FROM unit WHERE NOT is_shown) AND NOT EXISTS (
  SELECT 1 FROM annotation later WHERE later.refines = annotation.name
  AND later.unit NOT IN (SELECT id FROM unit WHERE NOT is_shown))
"""
"""The annotations that count: no later run, version or refinement stands in their place."""
_JOINED: Final = (
    "FROM annotation JOIN unit ON unit.id = annotation.unit JOIN object ON object.id = annotation.object WHERE"
)
_SHOWN: Final = _COUNTED.replace("FROM annotation WHERE", _JOINED)
"""The same with their units and objects."""
_SHOWN_OF: Final = _SHOWN.replace(
    "AND later.unit NOT IN (SELECT id FROM unit WHERE NOT is_shown)",
    "AND +later.unit IN (SELECT id FROM unit WHERE is_shown AND annotator IN ({0}))",
)
"""The same where some annotators alone have said anything.

The plus keeps SQLite from trying every unit of the list in the index of refinements, for each annotation anew.
"""
_COLUMNS: Final = (
    "SELECT object.iri, unit.capture, kind, label, unit.annotator, unit.version, confidence, annotation.iri, start, "
    "end, quote, details"
)
_COUNTS: Final = "SELECT meant, min(label), count(DISTINCT annotation.object) AS objects, count(*) AS times"
_BY_OBJECTS: Final = "GROUP BY meant ORDER BY objects DESC, times DESC, meant LIMIT ?"
_OBJECTS_OF: Final = f"SELECT annotation.object {_COUNTED} AND kind = ? AND meant = ?"
_SAME: Final = "SELECT id FROM unit WHERE annotator = ? AND capture = ? AND run = ?"
_OTHER_RUNS: Final = "SELECT id FROM unit WHERE annotator = ? AND run != ?"
_PUT: Final = "INSERT INTO annotation VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class Named:
    """Something that annotations of a kind mean. ``meant`` is its IRI, or its label if it has no IRI.

    ``objects`` is the number of web objects that speak of it, ``times`` the number of annotations.
    """

    meant: str
    label: str
    objects: int
    times: int


class Annotations:
    """The annotations of a crawl that count, looked up in the index.

    If ``within`` names objects, only annotations of these are counted and listed by kind.
    """

    def __init__(self, base: sqlite3.Connection, within: Collection[str] | None = None) -> None:
        self._base = base
        self._shown, self._counted = _SHOWN, _COUNTED
        if within is not None:
            rows = base.execute("SELECT id, iri FROM object")
            chosen = json.dumps([number for number, iri in map(tuple, rows) if iri in within])
            base.create_function("chosen_objects", 0, lambda: chosen, deterministic=True)
            chosen_alone = "AND annotation.object IN (SELECT value FROM json_each(chosen_objects()))\n"
            self._shown, self._counted = _SHOWN + chosen_alone, _COUNTED + chosen_alone

    def __iter__(self) -> Iterator[Annotation]:
        """Yield all annotations, object by object, in the order of the object's text."""
        return self._found("", (), "object.iri, start, end, kind, meant, unit.annotator, name")

    def by(self, annotators: frozenset[str]) -> Iterator[Annotation]:
        """Yield the annotations of some annotators, object by object, as if there were no other annotators."""
        names = tuple(sorted(annotators))
        shown = _SHOWN_OF.format(marks := ", ".join("?" * len(names)))
        rows = self._base.execute(
            f"{_COLUMNS} {shown} AND unit.annotator IN ({marks}) ORDER BY object.iri, start, end, name",
            (*names, *names),
        )
        return map(_annotation, rows)

    def of_object(self, iri: str) -> Iterator[Annotation]:
        """Yield the annotations of a web object, in the order of its text."""
        return self._found("AND object.iri = ?", (iri,), "unit.capture, start, end, kind, meant, unit.annotator, name")

    def of_capture(self, capture: str) -> Iterator[Annotation]:
        """Yield the annotations of the objects in a capture."""
        return self._found(
            "AND unit.capture = ?", (capture,), "object.iri, start, end, kind, meant, unit.annotator, name"
        )

    def of_meant(self, kind: Kind, meant: str) -> Iterator[Annotation]:
        """Yield the annotations of a kind that mean ``meant``: an IRI, or a label if they have no IRI."""
        return self._found("AND kind = ? AND meant = ?", (kind, meant), "object.iri, start, end, unit.annotator, name")

    def of_kind(self, kind: Kind) -> Iterator[Annotation]:
        """Yield the annotations of a kind, object by object."""
        return self._found("AND kind = ?", (kind,), "object.iri, start, end, unit.annotator, name")

    def beside_meant(self, beside: Kind, kind: Kind, meant: str) -> Iterator[Annotation]:
        """Yield the annotations of kind ``beside`` of those objects that speak of ``meant``."""
        wanted = f"AND kind = ? AND annotation.object IN ({_OBJECTS_OF})"
        return self._found(wanted, (beside, kind, meant), "object.iri, start, end, unit.annotator, name")

    def meant_beside(self, beside: Kind, kind: Kind, meant: str, most: int) -> list[Named]:
        """Return what annotations of kind ``beside`` mean in objects that speak of ``meant``, most frequent first."""
        rows = self._base.execute(
            f"{_COUNTS} {self._counted} AND kind = ? AND annotation.object IN ({_OBJECTS_OF}) "
            f"AND NOT (kind = ? AND meant = ?) {_BY_OBJECTS}",
            (beside, kind, meant, kind, meant, most),
        )
        return [Named(*row) for row in rows]

    def objects_beside(self, beside: Kind, kind: Kind, meant: str) -> Iterator[tuple[str, str, str]]:
        """Yield what annotations of a kind mean, with a label, and each object that speaks of it and of something."""
        yield from self._base.execute(
            f"SELECT meant, min(label), object.iri {self._shown} AND kind = ? AND annotation.object IN ({_OBJECTS_OF}) "
            "AND NOT (kind = ? AND meant = ?) GROUP BY meant, annotation.object ORDER BY meant, object.iri",
            (beside, kind, meant, kind, meant),
        )

    def objects_by_meant(self, kind: Kind) -> Iterator[tuple[str, str]]:
        """Yield pairs of an object and what annotations of a kind mean in it, without repetitions."""
        rows = self._base.execute(f"SELECT object.iri, meant {self._shown} AND kind = ? ORDER BY meant", (kind,))
        for meant, found in groupby(map(tuple, rows), key=itemgetter(1)):
            yield from ((iri, meant) for iri in dict.fromkeys(iri for iri, _ in found))

    def one_of_meant(self, kind: Kind, meant: str) -> Annotation | None:
        """Return any one of the annotations of a kind that mean ``meant``; None if there is none."""
        row = self._base.execute(
            f"{_COLUMNS} {self._shown} AND kind = ? AND meant = ? LIMIT 1", (kind, meant)
        ).fetchone()
        return None if row is None else _annotation(row)

    def media(self, annotator: str) -> Iterator[tuple[str, str, str]]:
        """Yield the annotations that an annotator made of media: the capture, what is meant, and details as JSON."""
        yield from self._base.execute(
            f"SELECT unit.capture, meant, details {_SHOWN} AND kind = ? AND unit.annotator = ?",
            (Kind.MEDIUM, annotator),
        )

    def versions(self, annotator: str) -> tuple[str, ...]:
        """Return the versions of an annotator with annotations that count."""
        rows = self._base.execute("SELECT DISTINCT version FROM unit WHERE annotator = ? AND is_shown", (annotator,))
        return tuple(sorted(str(version) for (version,) in map(tuple, rows)))

    def counts(self, kind: Kind, most: int = -1) -> list[Named]:
        """Return what annotations of a kind mean, by descending number of objects that speak of it."""
        return self.ranked(kind, most)[0]

    def ranked(self, kind: Kind, most: int) -> tuple[list[Named], int]:
        """Return what annotations of a kind mean, and the number of different meanings.

        The list has at most ``most`` of them (-1: all), those that most objects speak of first.
        """
        asked = f"{_COUNTS}, count(*) OVER () {self._counted} AND kind = ? {_BY_OBJECTS}"
        rows = [*map(tuple, self._base.execute(asked, (kind, most)))]
        return [Named(*row[:-1]) for row in rows], int(rows[0][-1]) if rows else 0

    def count_by(self, annotator: str) -> int:
        """Return how many annotations of an annotator stand, those that later steps refine among them."""
        asked = "SELECT count(*) FROM annotation JOIN unit ON unit.id = unit WHERE annotator = ? AND is_shown"
        return int(self._base.execute(asked, (annotator,)).fetchone()[0])

    def kinds(self) -> dict[Kind, int]:
        """Return the number of annotations of each kind."""
        rows = self._base.execute(f"SELECT kind, count(*) {self._counted} GROUP BY kind ORDER BY kind")
        return {Kind(kind): count for kind, count in rows}

    def _found(self, condition: str, values: tuple[str, ...], order: str) -> Iterator[Annotation]:
        return map(_annotation, self._base.execute(f"{_COLUMNS} {self._shown} {condition} ORDER BY {order}", values))


def _annotation(row: tuple[Any, ...]) -> Annotation:
    iri, capture, kind, label, annotator, version, confidence, meant, start, end, quote, details = row
    told = tuple((name, value) for name, value in json.loads(details))
    made_by = annotator, version, confidence
    return Annotation(iri, capture, Kind(kind), label, *made_by, meant, start, end, quote, told)


class AnnotationIndex(DerivedIndex[bytes]):
    """The index of the annotations in a crawl's folder."""

    schema: ClassVar = _TABLES
    version: ClassVar = 2
    counted_under: ClassVar = f"{ANNOTATIONS}/"

    def __init__(self, crawl: Path) -> None:
        super().__init__(crawl / INDEXES / ANNOTATION_INDEX)
        self._crawl = crawl

    def sources(self) -> Iterator[Source]:
        """Yield the segments of annotations."""
        yield from segment_sources(self._crawl / ANNOTATIONS, NQUADS, f"{ANNOTATIONS}/")

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield the graphs in a segment from offset ``begin``."""
        return segment_members(source, begin)

    def put(self, entry: bytes, source: int, place: int) -> None:
        """Add a graph: annotations of a capture, or the completion of a run."""
        self._put(read_annotations(entry), source, place)

    def _put(self, entry: CaptureAnnotations, source: int, place: int) -> None:
        if not entry.annotator:
            raise ValueError("annotations without an annotator")
        if not entry.capture:
            self._end(entry)
            return
        told = entry.annotator, entry.capture, entry.run
        self._forget(_SAME, told)
        is_shown = not entry.run or self._shown_run(entry.annotator) == (entry.version, entry.run)
        unit = self.base.execute(
            "INSERT INTO unit (capture, annotator, version, given, run, is_shown, segment, place) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.capture, entry.annotator, entry.version, entry.given, entry.run, is_shown, source, place),
        ).lastrowid
        numbers = {iri: self._object(iri) for iri in dict.fromkeys(each.object for each in entry.annotations)}
        self.base.executemany(_PUT, ((unit, numbers[each.object], *_row(each)) for each in entry.annotations))

    def _end(self, entry: CaptureAnnotations) -> None:
        """Let a completed run replace the annotator's earlier runs."""
        self._forget(_OTHER_RUNS, (entry.annotator, entry.run))
        self.base.execute("UPDATE unit SET is_shown = 1 WHERE annotator = ?", (entry.annotator,))
        self.base.execute("INSERT OR REPLACE INTO run VALUES (?, ?, ?)", (entry.annotator, entry.version, entry.run))

    def _forget(self, units: str, values: tuple[str, ...]) -> None:
        for (unit,) in self.base.execute(units, values).fetchall():
            self.base.execute("DELETE FROM annotation WHERE unit = ?", (unit,))
            self.base.execute("DELETE FROM unit WHERE id = ?", (unit,))

    def _object(self, iri: str) -> int:
        known = self.base.execute("SELECT id FROM object WHERE iri = ?", (iri,)).fetchone()
        return known[0] if known else self.base.execute("INSERT INTO object (iri) VALUES (?)", (iri,)).lastrowid or 0

    def _shown_run(self, annotator: str) -> tuple[str, str] | None:
        row = self.base.execute("SELECT version, run FROM run WHERE annotator = ?", (annotator,)).fetchone()
        return (row[0], row[1]) if row else None

    # What those who write or load annotations ask

    def given(self, annotator: str, version: str) -> Iterator[tuple[str, str]]:
        """Yield each capture that an annotator of this version has annotated, with the digest of its objects then."""
        yield from self.base.execute(
            "SELECT capture, given FROM unit WHERE annotator = ? AND version = ? AND run = ''", (annotator, version)
        )

    def has_run(self, annotator: str, version: str, run: str) -> bool:
        """Return whether a run was completed and is the annotator's last completed run."""
        return self._shown_run(annotator) == (version, run)

    def is_shown(self, segment: str, place: int) -> bool:
        """Return whether the graph at byte ``place`` of a segment counts.

        ``segment`` is its path in the crawl's folder.
        """
        row = self.base.execute(
            "SELECT 1 FROM unit JOIN segment ON segment.id = unit.segment WHERE segment.name = ? AND place = ? "
            "AND is_shown",
            (segment, place),
        ).fetchone()
        return row is not None

    def settled(self, segment: str) -> int:
        """Return the offset in a segment before which no graph belongs to a run that may still be completed."""
        covered, waiting = self.base.execute(
            "SELECT covered, (SELECT min(place) FROM unit WHERE unit.segment = segment.id AND NOT is_shown) "
            "FROM segment WHERE name = ?",
            (segment,),
        ).fetchone() or (0, None)
        return int(covered if waiting is None else min(covered, waiting))


def _row(annotation: Annotation) -> tuple[object, ...]:
    """Return the columns of an annotation behind its unit and its object."""
    refines = next((value for name, value in annotation.values if name == REFINES), None)
    details = json.dumps(annotation.values) if annotation.values else "[]"
    return (
        *(annotation.kind.value, annotation.iri or annotation.label, annotation.label, annotation.iri),
        *(annotation.confidence, annotation.start, annotation.end, annotation.quote, details),
        *(_named(annotation_iri(annotation)), refines and _named(refines)),
    )


def _named(iri: str) -> bytes:
    """Return an IRI as it is stored: of an annotation's IRI the digest alone, any other IRI whole."""
    try:
        return bytes.fromhex(iri.removeprefix(v.ANNOTATION))
    except ValueError:
        return iri.encode()


@contextmanager
def annotations_of(crawl: Path) -> Iterator[Annotations]:
    """Bring the index of a crawl's folder up to date, and lend its annotations.

    Raise ``sqlite3.Error``, ``OSError``.
    """
    with AnnotationIndex(crawl) as index:
        index.catch_up()
        yield Annotations(index.base)
