"""Lists the pages that were captured, the newest first."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.web.problems import Kind, ProblemError

BAD_CURSOR: Final = Kind("invalid-cursor", HTTPStatus.BAD_REQUEST, "No cursor of this list")
COUNTED: Final = 10_000
"""The most pages that are counted one by one."""
_CURSOR: Final = re.compile(r"(-?\d{1,18})\.(\d{1,18})")
Level = Literal["intermediate", "terminal"]


class PageShown(BaseModel):
    """A capture of a page, as ``PageRow`` has it. ``record`` is the id of its WARC record, ``level`` a level's name.

    ``objects`` counts the objects that were found on it, ``site`` is the queue of its URL.
    """

    model_config = ConfigDict(frozen=True)

    record: str
    url: str
    site: str
    crawl: int
    fetched_at: str
    status: int
    media_type: str | None
    application: str | None
    level: str | None
    role: str | None
    score: float | None
    relevant: bool | None
    priority: float | None
    depth: int | None
    via: str | None
    unchanged: str | None
    trap: str | None
    objects: int
    method: str


class PageList(BaseModel):
    """Some of the pages. ``next`` is the cursor of those behind them, None at the end.

    ``total`` counts all that are wanted; where ``more`` is true there are at least so many.
    """

    model_config = ConfigDict(frozen=True)

    pages: tuple[PageShown, ...]
    next: str | None
    total: int
    more: bool
    progress: Progress


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which pages are wanted; what is None or empty is no condition.

    ``text`` is a part of the URL, whatever its case. ``application`` is empty for pages of none. ``status`` is the
    first digit of the status. ``trap`` is a kind of trap, or ``any``.
    """

    text: str = ""
    application: str | None = None
    level: str | None = None
    role: Level | None = None
    status: int | None = None
    relevant: bool | None = None
    site: str = ""
    trap: str = ""
    crawl: int | None = None

    def conditions(self) -> Iterator[tuple[str, tuple[str | int, ...]]]:
        """Yield conditions in SQL, each with its values."""
        if self.text:
            yield r"url LIKE ? ESCAPE '\'", (f"%{_literal(self.text)}%",)
        if self.application is not None:
            yield ("application = ?", (self.application,)) if self.application else ("application IS NULL", ())
        if self.status is not None:
            yield "status >= ? AND status < ?", (100 * self.status, 100 * self.status + 100)
        if self.trap:
            yield ("trap IS NOT NULL", ()) if self.trap == "any" else ("trap = ?", (self.trap,))
        if self.relevant is not None:
            yield "relevant = ?", (int(self.relevant),)
        for name, value in (("level", self.level), ("role", self.role), ("site", self.site), ("crawl", self.crawl)):
            if value:
                yield f"{name} = ?", (value,)


def page_list(asked: Asked, wanted: PageFilter, after: str = "", limit: int = 50) -> PageList:
    """Return at most so many pages, those behind a cursor. Raise ``ProblemError`` for a cursor that is none."""
    conditions = [("NOT is_requisite", ()), *wanted.conditions()]
    total, more = _total(asked.base, conditions)
    if after:
        conditions.append(("(at, id) < (?, ?)", place_of(after)))
    rows = _rows(asked.base, "SELECT *", conditions, f"ORDER BY at DESC, id DESC LIMIT {limit + 1:d}")
    shown = rows[:limit]
    following = f"{shown[-1]['at']}.{shown[-1]['id']}" if len(rows) > limit else None
    return PageList(
        pages=tuple(map(page_shown, shown)), next=following, total=total, more=more, progress=asked.progress
    )


def page_shown(row: sqlite3.Row) -> PageShown:
    """Return a capture as it is shown."""
    told = {name: row[name] for name in PageShown.model_fields}
    return PageShown(**told | {"relevant": None if row["relevant"] is None else bool(row["relevant"])})


def place_of(cursor: str) -> tuple[int, int]:
    """Return the numbers in a cursor. Raise ``ProblemError`` where it is none."""
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise ProblemError(BAD_CURSOR, "give `next` of the page before, or none to begin with the newest")
    return int(found[1]), int(found[2])


def _total(base: sqlite3.Connection, conditions: Sequence[tuple[str, tuple[str | int, ...]]]) -> tuple[int, bool]:
    """Return how many captures there are, and whether there may be more."""
    if len(conditions) == 1:
        return base.execute("SELECT coalesce(sum(n), 0) FROM tally WHERE topic = 'captures'").fetchone()[0], False
    found = len(_rows(base, "SELECT 1", conditions, f"LIMIT {COUNTED + 1:d}"))
    return min(found, COUNTED), found > COUNTED


def _rows(
    base: sqlite3.Connection, select: str, conditions: Sequence[tuple[str, tuple[str | int, ...]]], order: str
) -> list[sqlite3.Row]:
    where = " AND ".join(condition for condition, _ in conditions)
    values = [value for _, given in conditions for value in given]
    return base.execute(f"{select} FROM capture WHERE {where} {order}", values).fetchall()


def _literal(text: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", text)
