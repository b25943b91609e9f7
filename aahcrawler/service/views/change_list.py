"""The visits of a crawl's pages and what they found, as pages and as a feed, from the log of changes (``revisits``)."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from aahcrawler.derived_index import coverage
from aahcrawler.revisits.change_feed import atom_feed, row_of, visit_in_words
from aahcrawler.revisits.change_index import ChangeIndex, ListedVisit
from aahcrawler.revisits.visit_record import ChangeKind, ChangeState, DateSource, WantedVisits
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_list import list_place
from aahcrawler.service.views.refused_links import INDEXED_SECONDS, Coverage
from aahcrawler.service.web.problems import BAD_SEARCH, DAMAGED, UNAVAILABLE, ProblemError, Shown

MAX_CHANGES: Final = 200
MAX_IN_FEED: Final = 100
"""Visits that a feed has, the newest."""


class VisitShown(Shown):
    """A visit; its fields are those of ``Visit``, moments as ISO 8601 in UTC, and when the change happened.

    ``told`` says in words what was found, ``before`` is the record of the visit before, empty where there is none.
    """

    url: str
    at: str
    seconds: float | None = None
    status: int | None = None
    state: ChangeState
    kind: ChangeKind | None = None
    etag: str | None = None
    last_modified: str | None = None
    byte_digest: str | None = None
    text_digest: str | None = None
    size: int = 0
    requests: int = 0
    record_id: str = ""
    reason: str = ""
    crawl: int = 0
    previous: str | None = None
    volatile: bool = False
    moved_to: str = ""
    new: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    statements: tuple[int, int, int] | None = None
    changed_after: str | None = None
    changed_before: str | None = None
    dated_by: DateSource | None = None
    told: str = ""
    before: str = ""


class ChangesPage(Shown):
    """Some visits, the newest first. There may be more behind ``next`` although few were found: ask again."""

    visits: tuple[VisitShown, ...]
    coverage: Coverage
    next: str = ""


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """The visits that are wanted; ``after`` is ``next`` of the page before."""

    wanted: WantedVisits = field(default_factory=WantedVisits)
    after: str = ""
    most: int = 50


class ChangeList:
    """The log of changes of a crawl. Each call reads on in the log for a short time."""

    def __init__(self, crawl: Crawl, seconds: float = INDEXED_SECONDS) -> None:
        self._crawl, self._seconds = crawl, seconds

    def page(self, query: ChangesQuery) -> ChangesPage:
        """Return some visits, the newest first. Raise ``ProblemError``."""
        try:
            place = list_place(query.after)
        except ValueError:
            raise ProblemError(BAD_SEARCH, "`after` is not where a page of this listing ended; leave it out") from None
        with self._index() as index:
            found, following = index.listed(query.wanted, place, query.most)
            reached = coverage(index.base)
        return ChangesPage(
            visits=tuple(map(_shown, found)),
            coverage=Coverage(read=reached.covered, of=reached.size),
            next=str(following or ""),
        )

    def feed(self, wanted: WantedVisits, address: str) -> bytes:
        """Return the newest visits that are wanted as an Atom feed, which is had at ``address``."""
        with self._index() as index:
            found, place = list[ListedVisit](), 0
            while len(found) < MAX_IN_FEED:
                more, place = index.listed(wanted, place, MAX_IN_FEED - len(found))
                found += more
                if not place:
                    break
        return atom_feed((each.visit for each in found), self._crawl.id, address)

    @contextmanager
    def _index(self) -> Iterator[ChangeIndex]:
        folder = self._crawl.folder
        if folder is None:
            raise ProblemError(UNAVAILABLE, f"{self._crawl.id} has no folder on this machine, which keeps its changes")
        index = ChangeIndex(folder)
        try:
            with index:
                index.catch_up(self._seconds)
                if damaged := "; ".join(coverage(index.base).damaged):
                    raise ProblemError(DAMAGED, f"the log of changes cannot be read on: {damaged}; move it elsewhere")
                yield index
        except sqlite3.Error as error:
            index.removed_if_damaged(error)
            raise ProblemError(UNAVAILABLE, "the index of changes is busy; try again in a moment") from error


def asked_moment(name: str, text: str) -> datetime | None:
    """Parse the time given for a parameter, in UTC; None for none. Raise ``ProblemError`` for invalid ones."""
    try:
        moment = datetime.fromisoformat(text) if text else None
        return None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ProblemError(BAD_SEARCH, f"`{name}` is no time; write 2026-01-31 or 2026-01-31T12:00") from None


def _shown(listed: ListedVisit) -> VisitShown:
    return VisitShown.model_validate(
        {**row_of(listed.visit), "told": visit_in_words(listed.visit), "before": listed.before}
    )
