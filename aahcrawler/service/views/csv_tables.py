"""Pages and web objects of a crawl as CSV, read from its index bit by bit."""

import csv
import io
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pydantic import BaseModel

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.object_list import ObjectFilter, ObjectShown, object_list
from aahcrawler.service.views.page_indexes import NOT_READY, Asked, PageIndexes
from aahcrawler.service.views.page_list import PageFilter, PageShown, page_list
from aahcrawler.service.web.problems import ProblemError

PATIENCE: Final = 20.0
"""Seconds that a table waits for an index that is behind."""
_AT_ONCE: Final = 500
_LOOK_EVERY: Final = 0.2
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_Rows = tuple[Sequence[BaseModel], str | None]


def page_table(indexes: PageIndexes, crawl: Crawl) -> Iterator[bytes]:
    """Return all captures of pages, the newest first. Raise ``ProblemError`` where the index is not complete yet."""

    def some(asked: Asked, after: str) -> _Rows:
        found = page_list(asked, PageFilter(), after, _AT_ONCE)
        return found.pages, found.next

    return _table(indexes, crawl, PageShown, some)


def object_table(indexes: PageIndexes, crawl: Crawl) -> Iterator[bytes]:
    """Return all web objects, those found last first. Raise ``ProblemError`` where the index is not complete yet."""

    def some(asked: Asked, after: str) -> _Rows:
        found = object_list(asked, ObjectFilter(), after, _AT_ONCE)
        return found.objects, found.next

    return _table(indexes, crawl, ObjectShown, some)


def _table(
    indexes: PageIndexes, crawl: Crawl, row: type[BaseModel], some: Callable[[Asked, str], _Rows]
) -> Iterator[bytes]:
    """Yield a header and the lines, as RFC 4180 has them."""
    _await_whole(indexes, crawl)
    names = tuple(row.model_fields)

    def lines() -> Iterator[bytes]:
        yield _written([names])
        after: str | None = ""
        while after is not None:
            with indexes.asked(crawl) as asked:
                rows, after = some(asked, after)
            yield _written([[_cell(getattr(each, name)) for name in names] for each in rows])

    return lines()


def _await_whole(indexes: PageIndexes, crawl: Crawl) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        with indexes.asked(crawl) as asked:
            progress = asked.progress
        if progress.complete:
            return
        if time.monotonic() > deadline:
            raise ProblemError(NOT_READY, f"{progress.note} Ask again in a moment.", headers={"Retry-After": "5"})
        time.sleep(_LOOK_EVERY)


def _written(rows: Sequence[Sequence[object]]) -> bytes:
    # With another line terminator a carriage return in a body would not be quoted.
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> object:
    """Return a value, a text that a spreadsheet would take for a formula with an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
