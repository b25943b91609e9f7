"""The refused links and failed URLs of a crawl, by reason and by site, from their log (``refusals``).

The log has to be read from its beginning, which takes long for large crawls. So the crawl's folder has an index of it
(SQLite), which is extended a little with every request, and may be deleted at any time.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import ValidationError

from aahcrawler.derived_index import DerivedIndex, Source, coverage, segment_members, segment_sources
from aahcrawler.frontier.redis.url_records import fingerprint
from aahcrawler.layout import INDEXES, REFUSAL_LOG, REFUSALS_INDEX, REFUSED
from aahcrawler.refusals import Entry, Failed, LogHeader, PageRefusals
from aahcrawler.report.reason_words import CountedReason, Reason, counted, worded, worded_failure
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_list import list_place
from aahcrawler.service.web.problems import BAD_SEARCH, DAMAGED, UNAVAILABLE, ProblemError, Shown
from aahcrawler.urls import queue_of

_MAX_CRAWLS: Final = 1_000_000
_TABLES: Final = (
    "CREATE TABLE own (segment INTEGER PRIMARY KEY)",
    "CREATE TABLE reason (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, links INTEGER NOT NULL)",
    "CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE page (id INTEGER PRIMARY KEY, url TEXT NOT NULL)",
    """CREATE TABLE link (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, mark INTEGER NOT NULL, reason INTEGER NOT NULL, site INTEGER NOT NULL,
  page INTEGER NOT NULL, score REAL NOT NULL, depth INTEGER NOT NULL, kind TEXT NOT NULL
)""",
    "CREATE UNIQUE INDEX link_by_url ON link (mark, reason)",
    "CREATE INDEX link_by_reason ON link (reason, id)",
    "CREATE INDEX link_by_site ON link (site, id)",
    "CREATE INDEX link_by_site_and_reason ON link (site, reason, id)",
    """CREATE TABLE failed (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, mark INTEGER NOT NULL UNIQUE, reason INTEGER NOT NULL,
  site INTEGER NOT NULL, kind TEXT NOT NULL, via TEXT NOT NULL
)""",
    "CREATE INDEX failed_by_reason ON failed (reason, id)",
    "CREATE INDEX failed_by_site ON failed (site, id)",
)
LINKS = """
SELECT link.id, link.url, site.name, reason.name, page.url, score, depth, kind FROM link
JOIN site ON site.id = link.site JOIN reason ON reason.id = link.reason JOIN page ON page.id = link.page
WHERE link.id > ?{conditions} ORDER BY link.id LIMIT ?
"""
FAILED = """
SELECT failed.id, failed.url, site.name, reason.name, kind, via FROM failed
JOIN site ON site.id = failed.site JOIN reason ON reason.id = failed.reason
WHERE failed.id > ?{conditions} ORDER BY failed.id LIMIT ?
"""


_COUNT_LINKS = """
SELECT name, n FROM (
  SELECT reason, count(*) AS n FROM link WHERE site = (SELECT id FROM site WHERE name = ?) GROUP BY reason
) JOIN reason ON reason.id = reason
"""
_COUNT_FAILED = """
SELECT name, n FROM (
  SELECT reason, count(*) AS n FROM failed WHERE site = (SELECT id FROM site WHERE name = ?) GROUP BY reason
) JOIN reason ON reason.id = reason
"""
_COUNT_ALL_FAILED = """
SELECT name, n FROM (SELECT reason, count(*) AS n FROM failed GROUP BY reason) JOIN reason ON reason.id = reason
"""
_MAX_ABOUT = 100

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class WantedRefusals:
    """The rows that are wanted: for a reason, of a site, with a text, behind a row, and how many at most."""

    reason: str
    site: str
    text: str
    after: int
    most: int


class RefusalsIndex(DerivedIndex[bytes]):
    """The index of the refusals and failures of one crawl of a folder, given by its number."""

    schema: ClassVar = _TABLES
    version: ClassVar = 3
    at_once: ClassVar = 200

    def __init__(self, folder: Path, crawl: int) -> None:
        super().__init__(folder / INDEXES / REFUSALS_INDEX)
        self._log, self._crawl = folder / REFUSED, crawl

    @property
    def edition(self) -> int:
        """The crawl's number; the index of another crawl is rebuilt."""
        return self.version * _MAX_CRAWLS + self._crawl

    def sources(self) -> Iterator[Source]:
        """Yield the segments of the log, including those of other crawls."""
        return segment_sources(self._log, REFUSAL_LOG)

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield the entries of a segment, the first after the line that begins it."""
        return segment_members(source, begin)

    def begin(self) -> None:
        """Clear the cached numbers of reasons and sites."""
        self._ids: dict[tuple[str, str], int] = {}
        self._own = {segment for (segment,) in self.base.execute("SELECT segment FROM own")}

    def put(self, entry: bytes, source: int, place: int) -> None:
        """Add a page or a failure; raise ``ValueError`` for a line that is no entry."""
        lines = entry.splitlines()
        try:
            if place == 0 and LogHeader.model_validate_json(lines.pop(0)).crawl == self._crawl:
                self.base.execute("INSERT INTO own VALUES (?)", (source,))
                self._own.add(source)
            entries = [Entry.validate_json(line) for line in lines] if source in self._own else []
        except ValidationError as error:
            raise ValueError("a line is no entry") from error
        for each in entries:
            if isinstance(each, Failed):
                self._take_failed(each)
            else:
                self._take_page(each)

    def rows(self, statement: str, wanted: WantedRefusals) -> list[Row]:
        """Return rows that are wanted."""
        table = "link" if statement is LINKS else "failed"
        given: dict[str, str] = {
            f"{table}.reason = (SELECT id FROM reason WHERE name = ?)": wanted.reason,  # noqa: S608
            f"{table}.site = (SELECT id FROM site WHERE name = ?)": wanted.site,  # noqa: S608
            f"instr(lower({table}.url), lower(?))": wanted.text,
        }
        conditions = "".join(f" AND {condition}" for condition, value in given.items() if value)
        values = (wanted.after, *(value for value in given.values() if value), wanted.most)
        return self.base.execute(statement.format(conditions=conditions), values).fetchall()

    def counts(self, statement: str, site: str) -> dict[str, int]:
        """Count links or failed URLs by reason, those of a site where one is named."""
        if statement is LINKS and not site:
            return dict(self.base.execute("SELECT name, links FROM reason"))
        counting = _COUNT_LINKS if statement is LINKS else _COUNT_FAILED if site else _COUNT_ALL_FAILED
        return dict(self.base.execute(counting, (site,) if site else ()))

    def about(self, url: str) -> tuple[list[Row], Row | None]:
        """Return the rows of the refusals and of the failure of one URL."""
        values = 0, _mark(url), url, _MAX_ABOUT
        links = self.base.execute(LINKS.format(conditions=" AND mark = ? AND link.url = ?"), values).fetchall()
        failed = self.base.execute(FAILED.format(conditions=" AND mark = ? AND failed.url = ?"), values).fetchone()
        return links, failed

    def _take_failed(self, entry: Failed) -> None:
        reason, site = self._reason(entry.reason), self._site(entry.failed)
        self.base.execute(
            "INSERT INTO failed (url, mark, reason, site, kind, via) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (mark) DO UPDATE SET reason = excluded.reason, via = excluded.via",
            (entry.failed, _mark(entry.failed), reason, site, entry.kind, entry.via),
        )

    def _take_page(self, entry: PageRefusals) -> None:
        page = self.base.execute("INSERT INTO page (url) VALUES (?)", (entry.via,)).lastrowid
        for reason, links in entry.refused.items():
            number = self._reason(reason)
            rows = [
                (url, _mark(url), number, self._site(url), page, score, depth, kind)
                for url, score, depth, kind, _ in links
            ]
            before = self.base.total_changes
            self.base.executemany(
                "INSERT OR IGNORE INTO link (url, mark, reason, site, page, score, depth, kind) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            added = self.base.total_changes - before
            self.base.execute("UPDATE reason SET links = links + ? WHERE id = ?", (added, number))

    def _reason(self, name: str) -> int:
        return self._id("reason", name, "INSERT OR IGNORE INTO reason (name, links) VALUES (?, 0)")

    def _site(self, url: str) -> int:
        return self._id("site", queue_of(url), "INSERT OR IGNORE INTO site (name) VALUES (?)")

    def _id(self, table: str, name: str, adding: str) -> int:
        known = self._ids.get((table, name))
        if known is None:
            self.base.execute(adding, (name,))
            row = self.base.execute(f"SELECT id FROM {table} WHERE name = ?", (name,)).fetchone()  # noqa: S608
            known = self._ids[table, name] = int(row[0])
        return known


def _mark(url: str) -> int:
    return int.from_bytes(fingerprint(url), "big", signed=True)


INDEXED_SECONDS: Final = 0.15
"""Seconds for which the log is read on for one request."""
MAX_LINKS: Final = 200


class RefusedUrl(Shown):
    """A link that was not followed: why, on which page it stands, and the score that it had there."""

    url: str
    site: str
    reason: Reason
    via: str
    score: float
    depth: int
    kind: str


class FailedUrl(Shown):
    """A URL that was not fetched, or answered with an error, and why; ``via`` is the page that linked to it."""

    url: str
    site: str
    reason: Reason
    kind: str
    via: str


class Coverage(Shown):
    """How many bytes of the log have been read; further requests read the rest."""

    read: int
    of: int

    @property
    def is_whole(self) -> bool:
        """Whether everything was read."""
        return self.read >= self.of


class RefusedPage(Shown):
    """Some refused links, each once for each reason, and how many there are by reason, as far as the log was read."""

    urls: tuple[RefusedUrl, ...]
    reasons: tuple[CountedReason, ...]
    coverage: Coverage
    next: str = ""


class FailedPage(Shown):
    """Some URLs that failed, how many there are by reason, and ``of`` all, as far as the log was read."""

    urls: tuple[FailedUrl, ...]
    reasons: tuple[CountedReason, ...]
    of: int
    coverage: Coverage
    next: str = ""


@dataclass(frozen=True, slots=True)
class RefusedQuery:
    """The links that are wanted: for a reason, of a site, with a text; ``after`` is ``next`` of the page before."""

    reason: str = ""
    site: str = ""
    text: str = ""
    after: str = ""
    most: int = 50


class RefusedLinks:
    """The refused links and failed URLs of a crawl. Each call reads on in the log, for a short time."""

    def __init__(self, crawl: Crawl, seconds: float = INDEXED_SECONDS) -> None:
        self._crawl, self._seconds = crawl, seconds

    def refused(self, query: RefusedQuery) -> RefusedPage:
        """Return some refused links, in the order in which they were met. Raise ``ProblemError``."""
        with self._index() as index:
            rows = index.rows(LINKS, _wanted(query))
            reasons = counted(index.counts(LINKS, query.site))
            reached = _coverage(index)
        return RefusedPage(urls=tuple(map(_refused, rows)), reasons=reasons, coverage=reached, next=_next(rows, query))

    def failed(self, query: RefusedQuery) -> FailedPage:
        """Return some URLs that failed, each with the last reason. Raise ``ProblemError``."""
        with self._index() as index:
            rows = index.rows(FAILED, _wanted(query))
            reasons = counted(index.counts(FAILED, query.site), worded_failure)
            reached = _coverage(index)
        return FailedPage(
            urls=tuple(map(_failed, rows)),
            reasons=reasons,
            of=sum(each.count for each in reasons),
            coverage=reached,
            next=_next(rows, query),
        )

    def about(self, url: str) -> tuple[Sequence[RefusedUrl], FailedUrl | None, Coverage]:
        """Return for which reasons links to a canonical URL were refused, why it failed, and how much was read."""
        with self._index() as index:
            links, failed = index.about(url)
            reached = _coverage(index)
        return tuple(map(_refused, links)), (_failed(failed) if failed is not None else None), reached

    @contextmanager
    def _index(self) -> Iterator[RefusalsIndex]:
        folder = self._crawl.folder
        if folder is None:
            raise ProblemError(
                UNAVAILABLE, f"{self._crawl.id} has no folder on this machine, which keeps refused links"
            )
        index = RefusalsIndex(folder, self._crawl.number)
        try:
            with index:
                index.catch_up(self._seconds)
                if damaged := "; ".join(coverage(index.base).damaged):
                    told = f"the log of refused links cannot be read on: {damaged}; move these files elsewhere"
                    raise ProblemError(DAMAGED, told)
                yield index
        except sqlite3.Error as error:
            index.removed_if_damaged(error)
            raise ProblemError(UNAVAILABLE, "the index of refused links is busy; try again in a moment") from error


def _wanted(query: RefusedQuery) -> WantedRefusals:
    try:
        return WantedRefusals(query.reason, query.site, query.text, list_place(query.after), query.most)
    except ValueError:
        raise ProblemError(BAD_SEARCH, "`after` is not where a page of this listing ended; leave it out") from None


def _refused(row: Row) -> RefusedUrl:
    _, url, site, why, via, score, depth, kind = row
    return RefusedUrl(url=url, site=site, reason=worded(why), via=via, score=score, depth=depth, kind=kind)


def _failed(row: Row) -> FailedUrl:
    _, url, site, why, kind, via = row
    return FailedUrl(url=url, site=site, reason=worded_failure(why), kind=kind, via=via)


def _coverage(index: RefusalsIndex) -> Coverage:
    reached = coverage(index.base)
    return Coverage(read=reached.covered, of=reached.size)


def _next(rows: Sequence[Row], query: RefusedQuery) -> str:
    return str(rows[-1][0]) if rows and len(rows) == query.most else ""
