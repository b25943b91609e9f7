"""The objects that were found, by type and page, the versions of each, and all captures of a URL."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from http import HTTPStatus
from typing import Final, Literal

from lxml.etree import strip_elements
from lxml.html import HtmlElement

from aahcrawler.event_index import EventSearchError, match_expression
from aahcrawler.objects.capture_statements import ObjectRow, read_statements
from aahcrawler.objects.versions import is_edited
from aahcrawler.overview.periods import published_in
from aahcrawler.page import Page
from aahcrawler.segments import DamageError
from aahcrawler.service.views.capture_view import (
    CapturePlace,
    ObjectFound,
    capture_row,
    capture_text,
    exchange_of,
    object_found,
    plain,
)
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.page_list import COUNTED, Condition, PageShown, page_shown, place_of
from aahcrawler.service.web.problems import BAD_SEARCH, Kind, ProblemError, Shown
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wire.replay import replayed

Lacking = Literal["title", "author", "date"]
_SELECT: Final = "SELECT object.*, record, fetched_at FROM object JOIN capture ON capture.id = object.capture"


class ObjectView(Shown):
    """An object as its newest capture has it, as in ``ObjectRow``.

    ``excerpt`` is the beginning of its body. ``record`` is the id of that capture, ``fetched_at`` when it was made.
    ``deleted`` is when a capture found it gone, None while there is one that has it.
    """

    iri: str
    type: str
    url: str
    title: str | None
    author: str | None
    date: str | None
    excerpt: str | None
    part_of: str | None
    inferred: str | None
    deleted: str | None
    record: str
    fetched_at: str


class ObjectList(Shown):
    """Some of the objects, those found last first; ``next``, ``total`` and ``more`` are as in ``PageList``."""

    objects: tuple[ObjectView, ...]
    next: str | None
    total: int
    more: bool
    progress: Progress


class TypeCount(Shown):
    """How many objects of a type there are, and how many of them have a title, an author or a date."""

    type: str
    objects: int
    title: int
    author: int
    date: int


class ObjectCounts(Shown):
    """The objects of a folder by type, the most frequent first; ``deleted`` of them are gone from their pages."""

    types: tuple[TypeCount, ...]
    objects: int
    deleted: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class ObjectFilter:
    """Which objects are wanted; what is None or empty is no condition. ``words`` are as for ``aah events``.

    ``lacking`` names a field that they do not have, ``published`` is how their dates begin, which can be read:
    ``201``, ``2012``, ``2012-03``.
    """

    type: str = ""
    words: str = ""
    lacking: Lacking | None = None
    deleted: bool | None = None
    published: str = ""

    def conditions(self) -> Iterator[Condition]:
        """Yield conditions in SQL, each with its values. Raise ``ProblemError`` where nothing can be looked for."""
        if self.words:
            yield "words MATCH ?", (_expression(self.words, self.type),)
        if self.type:
            yield "object.type = ?", (self.type,)
        if self.lacking is not None:
            yield f"object.{self.lacking} IS NULL", ()
        if self.published:
            yield published_in(self.published)
        if self.deleted is not None:
            yield f"object.deleted IS {'NOT ' * self.deleted}NULL", ()


def object_list(asked: Asked, wanted: ObjectFilter, after: str = "", limit: int = 50) -> ObjectList:
    """Return at most so many objects, those behind a cursor. Raise ``ProblemError``."""
    conditions = list(wanted.conditions())
    number = "words.rowid" if wanted.words else "object.id"
    behind: list[Condition] = [(f"{number} < ?", place_of(after)[1:])] if after else []
    if not (wanted.words or wanted.published) and wanted.lacking is None and wanted.deleted is None:
        total, more = _all(asked.base, wanted.type), False
        shown = _numbers(asked.base, wanted, [*conditions, *behind], limit + 1)
    else:
        found = _numbers(asked.base, wanted, conditions, COUNTED + 1)
        total, more = min(len(found), COUNTED), len(found) > COUNTED
        shown = _numbers(asked.base, wanted, [*conditions, *behind], limit + 1) if behind else found
    return ObjectList(
        objects=_objects(asked.base, shown[:limit]),
        next=f"0.{shown[limit - 1]}" if len(shown) > limit else None,
        total=total,
        more=more,
        progress=asked.progress,
    )


def object_counts(asked: Asked) -> ObjectCounts:
    """Return how many objects there are by type, and how complete they are."""
    found: dict[str, dict[str, int]] = {}
    for topic, name, n in asked.base.execute("SELECT topic, name, n FROM tally WHERE crawl = 0 AND n"):
        found.setdefault(topic, {})[name] = n
    types = sorted(found.get("type", {}).items(), key=lambda item: (-item[1], item[0]))
    lines = [
        TypeCount(
            type=name, objects=n, **{field: found.get(field, {}).get(name, 0) for field in ("title", "author", "date")}
        )
        for name, n in types
    ]
    return ObjectCounts(
        types=tuple(lines),
        objects=sum(line.objects for line in lines),
        deleted=found.get("deleted", {}).get("", 0),
        progress=asked.progress,
    )


def object_shown(row: sqlite3.Row) -> ObjectView:
    """Return an object as it is shown."""
    return ObjectView(**{name: row[name] for name in ObjectView.model_fields})


def _all(base: sqlite3.Connection, kind: str) -> int:
    """Return how many objects of a type there are, or of all with the empty one."""
    name, values = ("AND name = ?", (kind,)) if kind else ("", ())
    counted = f"SELECT coalesce(sum(n), 0) FROM tally WHERE crawl = 0 AND topic = 'type' {name}"  # noqa: S608
    return int(base.execute(counted, values).fetchone()[0])


def _numbers(base: sqlite3.Connection, wanted: ObjectFilter, conditions: Sequence[Condition], limit: int) -> list[int]:
    """Return the numbers of objects, those found last first."""
    values = [value for _, given in conditions for value in given]
    where = f" WHERE {' AND '.join(condition for condition, _ in conditions)}" if conditions else ""
    source, number = "object", "object.id"
    if wanted.words:
        is_text_alone = not (wanted.type or wanted.published) and wanted.lacking is None and wanted.deleted is None
        source = "words" if is_text_alone else "words CROSS JOIN object ON object.id = words.rowid"
        number = "words.rowid"
    found = base.execute(
        f"SELECT {number} FROM {source}{where} ORDER BY {number} DESC LIMIT ?",  # noqa: S608
        (*values, limit),
    )
    return [row[0] for row in found]


def _objects(base: sqlite3.Connection, numbers: Sequence[int]) -> tuple[ObjectView, ...]:
    marks = ", ".join("?" * len(numbers))
    rows = base.execute(f"{_SELECT} WHERE object.id IN ({marks}) ORDER BY object.id DESC", numbers)
    return tuple(map(object_shown, rows))


def _expression(words: str, kind: str) -> str:
    """Return the expression of a search; the type is among what is looked for, which spares looking at the others."""
    try:
        wanted = f"{{title author excerpt}} : ({match_expression(words)})"
    except EventSearchError as error:
        raise ProblemError(BAD_SEARCH, str(error)) from error
    named = kind.replace('"', " ").replace("\0", " ")
    return f'{wanted} AND type : "{named}"' if any(map(str.isalnum, named)) else wanted


MAX_COMPARED_LENGTH: Final = 20_000
"""Characters of a text that are compared."""
_WORDS: Final = 2_000
_LINES: Final = 1_000
_LINE: Final = 2_000


class DifferencePiece(Shown):
    """A part of a text that both have, or that was added or removed."""

    kind: Literal["same", "added", "removed"]
    text: str


class LinePair(Shown):
    """A line of two texts side by side, None where one has no such line; ``pieces`` where both have it and differ."""

    before: str | None
    after: str | None
    pieces: tuple[DifferencePiece, ...] = ()


class TextDifference(Shown):
    """Two texts side by side; lines that both have are left out but for those beside a difference.

    ``left_out`` counts these. ``cut`` says that a text was too long to be compared as a whole.
    """

    lines: tuple[LinePair, ...]
    left_out: int
    cut: bool


def word_difference(before: str, after: str) -> tuple[DifferencePiece, ...]:
    """Return the pieces of two texts in their order, white space as one blank; texts are cut at 2,000 words."""
    first, second = _words(before), _words(after)
    pieces: list[DifferencePiece] = []
    for tag, a, b, c, d in SequenceMatcher(None, first, second).get_opcodes():
        if tag == "equal":
            pieces.append(DifferencePiece(kind="same", text=" ".join(first[a:b])))
            continue
        if b > a:
            pieces.append(DifferencePiece(kind="removed", text=" ".join(first[a:b])))
        if d > c:
            pieces.append(DifferencePiece(kind="added", text=" ".join(second[c:d])))
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
    return text[:MAX_COMPARED_LENGTH].split()[:_WORDS]


NO_OBJECT: Final = Kind("unknown-object", HTTPStatus.NOT_FOUND, "Unknown object")
MAX_VERSIONS: Final = 50
"""Versions of an object that are shown, the newest."""
_FIELDS: Final = ("title", "author", "date", "body")


class FieldChange(Shown):
    """A field that says something else than in the version before, word by word."""

    field: str
    pieces: tuple[DifferencePiece, ...]


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
        _version(asked, each, found[at + 1] if at + 1 < len(found) else None)
        for at, each in enumerate(found[:MAX_VERSIONS])
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
        (number, MAX_VERSIONS + 1),
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


MAX_URL_CAPTURES: Final = 200
"""Captures of a URL that are shown, the newest."""
_MAX_PAGE_BYTES: Final = 2_000_000
_HIDDEN: Final = ("script", "style", "noscript", "template")
_MAX_TEXT_LINES: Final = 2_000


class UrlCaptures(Shown):
    """The captures of a URL, those that found it unchanged too, the newest first: at most 200 of ``all_captures``."""

    url: str
    captures: tuple[PageShown, ...]
    all_captures: int
    progress: Progress


class CaptureDifference(Shown):
    """Two captures, and the text of their pages side by side.

    ``difference`` is None where the text of one cannot be had; ``note`` says why.
    """

    before: PageShown
    after: PageShown
    difference: TextDifference | None
    note: str = ""


def url_captures(asked: Asked, url: str) -> UrlCaptures:
    """Return the captures of a URL, spelled as the crawl spells it."""
    rows = asked.base.execute(
        "SELECT * FROM capture WHERE url = ? ORDER BY at DESC, id DESC LIMIT ?", (url, MAX_URL_CAPTURES)
    ).fetchall()
    (many,) = asked.base.execute("SELECT count(*) FROM capture WHERE url = ?", (url,)).fetchone()
    return UrlCaptures(url=url, captures=tuple(map(page_shown, rows)), all_captures=many, progress=asked.progress)


def capture_difference(asked: Asked, before: str, after: str) -> CaptureDifference:
    """Return the text of two captures side by side, by their records. Raise ``ProblemError`` for an unknown one."""
    first, second = page_shown(capture_row(asked, before)), page_shown(capture_row(asked, after))
    old, new = _text_lines(asked, first), _text_lines(asked, second)
    if old is None or new is None:
        lacking = first if old is None else second
        note = f"The archive does not have the page of {lacking.record}, or it is no HTML, or larger than 8 MiB."
        return CaptureDifference(before=first, after=second, difference=None, note=note)
    return CaptureDifference(before=first, after=second, difference=text_difference(old, new))


def _text_lines(asked: Asked, shown: PageShown) -> list[str] | None:
    """Return the text of a page by lines; that of one that had not changed is in the capture before."""
    holder = shown if shown.unchanged is None else page_shown(capture_row(asked, shown.unchanged))
    exchange = exchange_of(asked.folder, CapturePlace(holder.record, holder.url, holder.fetched_at))
    if exchange is None:
        return None
    with closing(exchange):
        page = replayed(exchange, _MAX_PAGE_BYTES)
    return None if page is None or not page.is_html else text_lines(page)


def text_lines(page: Page) -> list[str]:
    """Return the text of an HTML page, each piece of it between two tags as a line; white space is folded."""
    tree: HtmlElement = page.tree
    strip_elements(tree, *_HIDDEN, with_tail=False)
    lines = (" ".join(plain(text).split()) for text in tree.itertext(tag=None) if isinstance(text, str))
    return [line for line in lines if line][:_MAX_TEXT_LINES]
