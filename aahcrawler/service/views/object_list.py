"""Lists the objects that were found, by type and words, and counts how complete they are."""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from aahcrawler.event_index import EventSearchError, match_expression
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.page_list import COUNTED, place_of
from aahcrawler.service.web.problems import Kind, ProblemError

BAD_SEARCH: Final = Kind("invalid-search", HTTPStatus.BAD_REQUEST, "Nothing that can be looked for")
Lacking = Literal["title", "author", "date"]
_SELECT: Final = "SELECT object.*, record, fetched_at FROM object JOIN capture ON capture.id = object.capture"
_Condition = tuple[str, tuple[str | int, ...]]


class ObjectShown(BaseModel):
    """An object as its newest capture has it, as in ``ObjectRow``.

    ``excerpt`` is the beginning of its body. ``record`` is the id of that capture, ``fetched_at`` when it was made.
    ``deleted`` is when a capture found it gone, None while there is one that has it.
    """

    model_config = ConfigDict(frozen=True)

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


class ObjectList(BaseModel):
    """Some of the objects, those found last first; ``next``, ``total`` and ``more`` are as in ``PageList``."""

    model_config = ConfigDict(frozen=True)

    objects: tuple[ObjectShown, ...]
    next: str | None
    total: int
    more: bool
    progress: Progress


class TypeCount(BaseModel):
    """How many objects of a type there are, and how many of them have a title, an author or a date."""

    model_config = ConfigDict(frozen=True)

    type: str
    objects: int
    title: int
    author: int
    date: int


class ObjectCounts(BaseModel):
    """The objects of a folder by type, the most frequent first; ``deleted`` of them are gone from their pages."""

    model_config = ConfigDict(frozen=True)

    types: tuple[TypeCount, ...]
    objects: int
    deleted: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class ObjectFilter:
    """Which objects are wanted; what is None or empty is no condition. ``words`` are as for ``aah events``.

    ``lacking`` names a field that they do not have.
    """

    type: str = ""
    words: str = ""
    lacking: Lacking | None = None
    deleted: bool | None = None

    def conditions(self) -> Iterator[_Condition]:
        """Yield conditions in SQL, each with its values. Raise ``ProblemError`` where nothing can be looked for."""
        if self.words:
            yield "object.id IN (SELECT rowid FROM words WHERE words MATCH ?)", (_expression(self.words),)
        if self.type:
            yield "object.type = ?", (self.type,)
        if self.lacking is not None:
            yield f"object.{self.lacking} IS NULL", ()
        if self.deleted is not None:
            yield f"object.deleted IS {'NOT ' * self.deleted}NULL", ()


def object_list(asked: Asked, wanted: ObjectFilter, after: str = "", limit: int = 50) -> ObjectList:
    """Return at most so many objects, those behind a cursor. Raise ``ProblemError``."""
    conditions = list(wanted.conditions())
    total, more = _total(asked.base, wanted, conditions)
    behind: list[_Condition] = [("object.id < ?", place_of(after)[1:])] if after else []
    rows = _rows(asked.base, _SELECT, [*conditions, *behind], f"ORDER BY object.id DESC LIMIT {limit + 1:d}")
    shown = rows[:limit]
    following = f"0.{shown[-1]['id']}" if len(rows) > limit else None
    return ObjectList(
        objects=tuple(map(object_shown, shown)), next=following, total=total, more=more, progress=asked.progress
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


def object_shown(row: sqlite3.Row) -> ObjectShown:
    """Return an object as it is shown."""
    return ObjectShown(**{name: row[name] for name in ObjectShown.model_fields})


def _total(base: sqlite3.Connection, wanted: ObjectFilter, conditions: Sequence[_Condition]) -> tuple[int, bool]:
    if not wanted.words and wanted.lacking is None and wanted.deleted is None:
        name, values = ("AND name = ?", (wanted.type,)) if wanted.type else ("", ())
        counted = f"SELECT coalesce(sum(n), 0) FROM tally WHERE crawl = 0 AND topic = 'type' {name}"  # noqa: S608
        return base.execute(counted, values).fetchone()[0], False
    found = len(_rows(base, "SELECT 1 FROM object", conditions, f"LIMIT {COUNTED + 1:d}"))
    return min(found, COUNTED), found > COUNTED


def _rows(base: sqlite3.Connection, select: str, conditions: Sequence[_Condition], order: str) -> list[sqlite3.Row]:
    where = f" WHERE {' AND '.join(condition for condition, _ in conditions)}" if conditions else ""
    return base.execute(f"{select}{where} {order}", [value for _, given in conditions for value in given]).fetchall()


def _expression(words: str) -> str:
    try:
        return match_expression(words)
    except EventSearchError as error:
        raise ProblemError(BAD_SEARCH, str(error)) from error
