"""Lists the objects that were found, by type and words, and counts how complete they are."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from aahcrawler.event_index import EventSearchError, match_expression
from aahcrawler.overview.periods import published_in
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.page_list import COUNTED, Condition, place_of
from aahcrawler.service.web.problems import BAD_SEARCH, ProblemError, Shown

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
