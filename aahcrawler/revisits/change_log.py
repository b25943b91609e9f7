"""The change log: every visit of a page, with its cost and its result.

Its files in ``changes/`` only grow: gzip-compressed lines of JSON (``visit_record``), separate for each worker. They
are read through an index derived from them, in which each visit is stored with the one before it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from aahcrawler.derived_index import coverage
from aahcrawler.layout import CHANGE_LOG, CHANGES
from aahcrawler.revisits.change_index import ChangeIndex, TimedVisit
from aahcrawler.revisits.visit_record import (
    ENTRY,
    FORMAT,
    Begin,
    ChangeKind,
    ChangeState,
    Entry,
    Listed,
    Visit,
    VisitRecord,
    WantedVisits,
    milliseconds,
)
from aahcrawler.segments import DamageError, SegmentedOutput, SegmentWriter, Series

__all__ = [
    "ChangeKind",
    "ChangeLog",
    "ChangeState",
    "TimedVisit",
    "Visit",
    "counted_changes",
    "last_visits",
    "opened_changes",
    "timed_visits",
    "visits",
]

_MAX_LISTED_DATES: Final = 100
"""The most dates of a list that one line of the log has; short lines, since a takedown removes whole lines."""


class ChangeLog(SegmentedOutput):
    """Appends visits to segments of a crawl's folder, each as a gzip member of its own.

    When a method returns, the operating system has its line (``aahcrawler.segments``). Methods raise ``DiskFullError``
    if there is no space, ``SegmentError`` for other faults of the disk; nothing has changed then, and the same call may
    be repeated. Not thread-safe.
    """

    def __init__(
        self, folder: Path, crawl: str, number: int, clock: Callable[[], datetime], *, size: int = 1 << 30
    ) -> None:
        series = Series(folder, crawl, CHANGE_LOG, limit=size)
        super().__init__(SegmentWriter(series, clock, lambda _: (_line(Begin(format=FORMAT, crawl=number)),)))

    def visited(self, visit: VisitRecord) -> None:
        """Append a visit."""
        self._segments.append((_line(visit),))

    def listed(
        self, via: str, at: datetime, changed: Mapping[str, datetime], frequencies: Mapping[str, str] | None = None
    ) -> None:
        """Append that the list ``via``, read at ``at``, dates changes of pages of its site, by canonical URL.

        ``frequencies`` gives how often pages change by that list, in the words of the sitemap protocol
        (``changefreq``).
        """
        dates = {url: milliseconds(moment) for url, moment in changed.items()}
        stated = frequencies or {}
        urls = list(dict.fromkeys((*dates, *stated)))
        parts = [urls[begin : begin + _MAX_LISTED_DATES] for begin in range(0, len(urls), _MAX_LISTED_DATES)]
        lines = (
            Listed(
                via=via,
                at=milliseconds(at),
                listed={url: dates[url] for url in part if url in dates},
                stated={url: stated[url] for url in part if url in stated},
            )
            for part in parts
        )
        if parts:
            self._segments.append(*((_line(each),) for each in lines))


def _line(entry: Entry) -> bytes:
    return ENTRY.dump_json(entry, exclude_defaults=True) + b"\n"


def visits(folder: Path, url: str | None = None, since: datetime | None = None) -> Iterator[Visit]:
    """Yield the visits of a crawl's folder, the oldest first: all, or those of a canonical URL, from a moment on.

    A folder without a log has none. Raises ``DamageError`` for a log that cannot be read, ``sqlite3.Error`` and
    ``OSError`` for an index that cannot be built.
    """
    with opened_changes(folder) as index:
        yield from index.visits(WantedVisits(url, since))


def timed_visits(folder: Path, before: int | None = None) -> list[TimedVisit]:
    """Return the durations of the visits of a crawl's folder, the oldest first; of very many, the newest.

    With ``before``, only those of crawls with a lower number. Raises as ``visits`` does.
    """
    if not (folder / CHANGES).is_dir():
        return []
    with opened_changes(folder) as index:
        return index.timed_visits(before)


def last_visits(folder: Path) -> Mapping[str, Visit]:
    """Return the last visit of each URL of a crawl's folder. Raises as ``visits`` does."""
    with opened_changes(folder) as index:
        return {visit.url: visit for visit in index.last_visits()}


def counted_changes(folder: Path, crawl: int, counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return how many pages a crawl found ``new``, ``changed``, ``unchanged`` and ``gone``, according to the log.

    A page of which only the template has changed, or a part that differs on every visit, does not count as changed; one
    that stays gone is not counted. ``counts`` are the same numbers by what servers sent; they are returned for the
    first crawl of a folder, or if the log has no visit of the crawl. Raises as ``visits`` does.
    """
    if crawl <= 1 or not (folder / CHANGES).is_dir():
        return counts
    with opened_changes(folder) as index:
        telling = index.telling_pages(crawl)
    if telling is None:
        return counts
    found = {each.value: telling[each] for each in (ChangeState.NEW, ChangeState.CHANGED, ChangeState.GONE)}
    still_gone = max(0, counts["gone"] - found["gone"])
    return found | {"unchanged": max(0, sum(counts.values()) - sum(found.values()) - still_gone)}


@contextmanager
def opened_changes(folder: Path) -> Iterator["ChangeIndex"]:
    """Open the index of a crawl's folder once it covers the whole log. Raises as ``visits`` does."""
    with ChangeIndex(folder) as index:
        while not index.catch_up():
            pass
        if damaged := coverage(index.base).damaged:
            raise DamageError(
                f"{folder / CHANGES}: {'; '.join(damaged)}; move it elsewhere, the rest can still be read"
            )
        yield index
