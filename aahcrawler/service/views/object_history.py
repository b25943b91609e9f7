"""Shows the versions of an object: what each capture has of it, and what changed since the one before."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from http import HTTPStatus
from typing import Final, Literal

from aahcrawler.objects.capture_statements import ObjectRow, read_statements
from aahcrawler.objects.versions import is_edited
from aahcrawler.segments import DamageError
from aahcrawler.service.views.capture_view import ObjectFound, capture_text, object_found
from aahcrawler.service.views.object_list import ObjectView, object_shown
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.web.problems import Kind, ProblemError, Shown
from aahcrawler.webobject import Person, Value, WebObject

LONGEST: Final = 20_000
"""Characters of a text that are compared."""
_WORDS: Final = 2_000
_LINES: Final = 1_000
_LINE: Final = 2_000


class Piece(Shown):
    """A part of a text that both have, or that was added or removed."""

    kind: Literal["same", "added", "removed"]
    text: str


class LinePair(Shown):
    """A line of two texts side by side, None where one has no such line; ``pieces`` where both have it and differ."""

    before: str | None
    after: str | None
    pieces: tuple[Piece, ...] = ()


class TextDifference(Shown):
    """Two texts side by side; lines that both have are left out but for those beside a difference.

    ``left_out`` counts these. ``cut`` says that a text was too long to be compared as a whole.
    """

    lines: tuple[LinePair, ...]
    left_out: int
    cut: bool


def word_difference(before: str, after: str) -> tuple[Piece, ...]:
    """Return the pieces of two texts in their order, white space as one blank; texts are cut at 2,000 words."""
    first, second = _words(before), _words(after)
    pieces: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, first, second).get_opcodes():
        if tag == "equal":
            pieces.append(Piece(kind="same", text=" ".join(first[a:b])))
            continue
        if b > a:
            pieces.append(Piece(kind="removed", text=" ".join(first[a:b])))
        if d > c:
            pieces.append(Piece(kind="added", text=" ".join(second[c:d])))
    return tuple(pieces)


def text_difference(before: Sequence[str], after: Sequence[str], context: int = 2) -> TextDifference:
    """Return two texts side by side, by their lines; texts are cut at 1,000 lines."""
    first, second = [line[:_LINE] for line in before[:_LINES]], [line[:_LINE] for line in after[:_LINES]]
    lines: list[LinePair] = []
    groups = list(SequenceMatcher(None, first, second).get_grouped_opcodes(context))
    for group in groups:
        for tag, a, b, c, d in group:
            lines += _pairs(first[a:b], second[c:d], is_same=tag == "equal")
    shown = sum(1 for line in lines if line.before is not None)
    is_cut = max(len(before), len(after)) > _LINES or any(len(line) > _LINE for line in (*before, *after))
    return TextDifference(lines=tuple(lines), left_out=len(first) - shown, cut=is_cut)


def _pairs(before: Sequence[str], after: Sequence[str], *, is_same: bool) -> Iterator[LinePair]:
    for at in range(max(len(before), len(after))):
        old, new = before[at] if at < len(before) else None, after[at] if at < len(after) else None
        is_changed = not is_same and old is not None and new is not None
        pieces = word_difference(old or "", new or "") if is_changed else ()
        yield LinePair(before=old, after=new, pieces=pieces)


def _words(text: str) -> list[str]:
    return text[:LONGEST].split()[:_WORDS]


NO_OBJECT: Final = Kind("unknown-object", HTTPStatus.NOT_FOUND, "Unknown object")
MOST: Final = 50
"""Versions of an object that are shown, the newest."""
_FIELDS: Final = ("title", "author", "date", "body")


class FieldChange(Shown):
    """A field that says something else than in the version before, word by word."""

    field: str
    pieces: tuple[Piece, ...]


class ObjectVersion(Shown):
    """An object as one capture has it. ``seen_again`` counts later captures of the page that had not changed.

    ``changes`` are those a person would call an edit (``objects.versions``); none for the oldest version shown. Where
    another reader (knowledge base, definition, software) has read the version before, and the crawl, which compared
    both as one reader reads them, found no edit, what differs is ``read_otherwise``.
    """

    record: str
    page: str
    fetched_at: str
    crawl: int
    seen_again: int
    object: ObjectFound
    changes: tuple[FieldChange, ...]
    read_otherwise: tuple[FieldChange, ...] = ()


class ObjectHistory(Shown):
    """The versions of an object, the newest first: at most 50 of ``all_versions``."""

    object: ObjectView
    versions: tuple[ObjectVersion, ...]
    all_versions: int
    notes: tuple[str, ...]
    progress: Progress


@dataclass(frozen=True, slots=True)
class _Sighting:
    """An object as a capture has it, who read that, and whether the crawl found that it was edited since."""

    capture: sqlite3.Row
    object: ObjectRow
    reader: str | None
    is_edited: bool


def object_history(asked: Asked, iri: str) -> ObjectHistory:
    """Return the versions of an object by its IRI. Raise ``ProblemError`` where there is none."""
    row = asked.base.execute(
        "SELECT object.*, record, fetched_at FROM object JOIN capture ON capture.id = object.capture WHERE iri = ?",
        (iri,),
    ).fetchone()
    if row is None:
        raise ProblemError(NO_OBJECT, "no page of the crawl has an object of this identifier; look for its words")
    (many,) = asked.base.execute("SELECT count(*) FROM sighting WHERE object = ?", (row["id"],)).fetchone()
    notes: list[str] = []
    found = _found(asked, row["id"], iri, notes)
    versions = [
        _version(asked, each, found[at + 1] if at + 1 < len(found) else None) for at, each in enumerate(found[:MOST])
    ]
    return ObjectHistory(
        object=object_shown(row),
        versions=tuple(versions),
        all_versions=many,
        notes=tuple(notes),
        progress=asked.progress,
    )


def _found(asked: Asked, number: int, iri: str, notes: list[str]) -> list[_Sighting]:
    """Return the newest captures that state an object, with what they say, one more than is shown."""
    rows = asked.base.execute(
        "SELECT capture.* FROM sighting JOIN capture ON capture.id = sighting.capture WHERE sighting.object = ?"
        " ORDER BY capture.at DESC, capture.id DESC LIMIT ?",
        (number, MOST + 1),
    ).fetchall()
    found = []
    for row in rows:
        try:
            stated = read_statements(capture_text(asked, row))
        except (OSError, DamageError, ValueError) as error:
            notes.append(f"What {row['record']} states cannot be read ({error}). Restore the segment from a copy.")
            continue
        seen = (stated.row.reader, iri in stated.edited)
        found += [_Sighting(row, each, *seen) for each in stated.objects if each.iri == iri]
    return found


def _version(asked: Asked, seen: _Sighting, former: _Sighting | None) -> ObjectVersion:
    capture = seen.capture
    again = asked.base.execute("SELECT count(*) FROM capture WHERE unchanged = ?", (capture["record"],)).fetchone()[0]
    found = () if former is None else tuple(_changes(former.object, seen.object))
    is_edit = former is None or former.reader == seen.reader or seen.is_edited
    return ObjectVersion(
        record=capture["record"],
        page=capture["url"],
        fetched_at=capture["fetched_at"],
        crawl=capture["crawl"],
        seen_again=again,
        object=object_found(seen.object),
        changes=found if is_edit else (),
        read_otherwise=() if is_edit else found,
    )


def _changes(former: ObjectRow, now: ObjectRow) -> list[FieldChange]:
    return [
        FieldChange(field=name, pieces=word_difference(str(getattr(former, name) or ""), str(getattr(now, name) or "")))
        for name in _FIELDS
        if is_edited(_web_object(former, name), _web_object(now, name))
    ]


def _web_object(row: ObjectRow, field: str) -> WebObject:
    """Return an object with one of its fields, as versions are compared."""
    text = getattr(row, field)
    value: Value | None = text
    if text is not None and field == "author":
        value = Person(text)
    elif text is not None and field == "date":
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            value = text
    return WebObject(row.iri, row.type, row.url, {} if value is None else {field: (value,)})
