"""Lists the pages that were captured, the newest first."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Literal

from aahcrawler.annotations.judgements import MemberDecision
from aahcrawler.overview.periods import span_of
from aahcrawler.page_index import captures_in
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.web.problems import Kind, ProblemError, Shown

BAD_CURSOR: Final = Kind("invalid-cursor", HTTPStatus.BAD_REQUEST, "No cursor of this list")
COUNTED: Final = 5_000
"""The most pages that are counted one by one."""
_LISTED: Final = "url IN (SELECT value FROM json_each(?)) AND is_page"
_MEMBERS: Final = f"CASE WHEN {_LISTED} THEN 1 WHEN {_LISTED} THEN 0 ELSE relevant END = 1"
_CURSOR: Final = re.compile(r"(-?\d{1,18})\.(\d{1,18})")
Level = Literal["intermediate", "terminal"]
Condition = tuple[str, tuple[str | int, ...]]
"""A condition in SQL, with its values."""


class PageShown(Shown):
    """A capture of a page, as ``PageRow`` has it. ``record`` is the id of its WARC record, ``level`` a level's name.

    ``title`` is what the page calls itself, None where it does not. ``objects`` counts the objects that
    were found on it, ``site`` is the queue of its URL.
    """

    record: str
    url: str
    title: str | None
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


class PageList(Shown):
    """Some of the pages. ``next`` is the cursor of those behind them, None at the end.

    ``total`` counts all that are wanted; where ``more`` is true there are at least so many.
    """

    pages: tuple[PageShown, ...]
    next: str | None
    total: int
    more: bool
    progress: Progress


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which pages are wanted; what is None or empty is no condition.

    ``text`` is a part of the URL or of the title, whatever its case. ``application`` is empty for pages of none.
    ``status`` is the first digit of the status. ``trap`` is a kind of trap, or ``any``. ``media`` is a media type,
    ``-`` for those of none; ``captured`` is how the day begins on which it was captured, in UTC: ``201``, ``2012``,
    ``2012-03``. ``members`` is what people decided of the membership of pages: only captures that are members are
    wanted then, which are the relevant ones unless people decided otherwise.
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
    media: str = ""
    captured: str = ""
    members: Mapping[str, MemberDecision] | None = None

    def conditions(self) -> Iterator[Condition]:
        """Yield conditions in SQL, each with its values."""
        if self.text:
            part = f"%{_literal(self.text)}%"
            yield r"(url LIKE ? ESCAPE '\' OR folded LIKE ? ESCAPE '\')", (part, part.casefold())
        if self.application is not None:
            yield ("application = ?", (self.application,)) if self.application else ("application IS NULL", ())
        if self.status is not None:
            yield "status >= ? AND status < ?", (100 * self.status, 100 * self.status + 100)
        if self.trap:
            yield ("trap IS NOT NULL", ()) if self.trap == "any" else ("trap = ?", (self.trap,))
        if self.media:
            yield ("media_type IS NULL", ()) if self.media == "-" else ("media_type = ?", (self.media,))
        if self.captured:
            yield "at >= ? AND at < ?", span_of(self.captured)
        yield from self._of_relevance()
        for name, value in (("level", self.level), ("role", self.role), ("site", self.site), ("crawl", self.crawl)):
            if value:
                yield f"{name} = ?", (value,)

    def _of_relevance(self) -> Iterator[Condition]:
        if self.relevant is not None:
            yield "relevant = ?", (int(self.relevant),)
        if self.members is not None:
            yield _MEMBERS, decided_urls(self.members)


def decided_urls(members: Mapping[str, MemberDecision]) -> tuple[str, str]:
    """Return the URLs that people made members, and those that they took out, each as an array in JSON."""
    made = [url for url, each in members.items() if each.is_member]
    return json.dumps(made), json.dumps([url for url, each in members.items() if not each.is_member])


def page_list(asked: Asked, wanted: PageFilter, after: str = "", limit: int = 50) -> PageList:
    """Return at most so many pages, those behind a cursor. Raise ``ProblemError`` for a cursor that is none."""
    conditions: list[Condition] = [("NOT is_requisite", ()), *wanted.conditions()]
    behind: list[Condition] = [("(at, id) < (?, ?)", place_of(after))] if after else []
    if len(conditions) == 1:
        total, more = captures_in(asked.base), False
        shown = _places(asked.base, [*conditions, *behind], limit + 1)
    else:
        found = _places(asked.base, conditions, COUNTED + 1)
        total, more = min(len(found), COUNTED), len(found) > COUNTED
        shown = _places(asked.base, [*conditions, *behind], limit + 1) if behind else found
    pages = _pages(asked.base, shown[:limit])
    following = "{}.{}".format(*shown[limit - 1]) if len(shown) > limit else None
    return PageList(pages=pages, next=following, total=total, more=more, progress=asked.progress)


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


def _places(base: sqlite3.Connection, conditions: Sequence[Condition], limit: int) -> list[tuple[int, int]]:
    """Return time and number of captures, the newest first; the index of these columns has all that is asked for."""
    where = " AND ".join(condition for condition, _ in conditions)
    values = [value for _, given in conditions for value in given]
    found = base.execute(
        f"SELECT at, id FROM capture INDEXED BY capture_at WHERE {where} ORDER BY at DESC, id DESC LIMIT ?",  # noqa: S608
        (*values, limit),
    )
    return [(row[0], row[1]) for row in found]


def _pages(base: sqlite3.Connection, places: Sequence[tuple[int, int]]) -> tuple[PageShown, ...]:
    marks = ", ".join("?" * len(places))
    numbers = [number for _, number in places]
    rows = base.execute(f"SELECT * FROM capture WHERE id IN ({marks}) ORDER BY at DESC, id DESC", numbers)  # noqa: S608
    return tuple(map(page_shown, rows))


def _literal(text: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", text)


_PLACE = re.compile("[0-9]{0,15}")


def list_place(after: str) -> int:
    """Return the number that a place is, 0 for none. Raise ``ValueError`` for what no response has named.

    >>> list_place("50"), list_place("")
    (50, 0)
    """
    if _PLACE.fullmatch(after) is None:
        raise ValueError(f"{after!r} is no place in a list")
    return int(after or 0)
