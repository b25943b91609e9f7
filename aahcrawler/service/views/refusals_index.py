"""The index of a log of refused links and failed URLs, in SQLite: found by reason, by site and by URL.

It takes in some more of the log whenever it is asked to, and may be removed at any time.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from aahcrawler.frontier.redis.url_records import fingerprint
from aahcrawler.layout import REFUSAL_LOG
from aahcrawler.refusals.entries import Begin, Entry, Failed, Page
from aahcrawler.segments import DamageError, open_segment, segments
from aahcrawler.segments.members import Members
from aahcrawler.segments.series import OPEN
from aahcrawler.service.web.problems import UNAVAILABLE, ProblemError
from aahcrawler.urls import queue_of

_AT_ONCE = 200
"""Pages that are taken in in one transaction."""
_VERSION, _MOST_CRAWLS = 2, 1_000_000
_BUSY_SECONDS = 0.05
_SCHEMA = """
CREATE TABLE IF NOT EXISTS covered (segment TEXT PRIMARY KEY, size INTEGER NOT NULL, is_own INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS reason (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, links INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS site (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS page (id INTEGER PRIMARY KEY, url TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS link (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, mark INTEGER NOT NULL, reason INTEGER NOT NULL, site INTEGER NOT NULL,
  page INTEGER NOT NULL, score REAL NOT NULL, depth INTEGER NOT NULL, kind TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS link_by_url ON link (mark, reason);
CREATE INDEX IF NOT EXISTS link_by_reason ON link (reason, id);
CREATE INDEX IF NOT EXISTS link_by_site ON link (site, id);
CREATE INDEX IF NOT EXISTS link_by_site_and_reason ON link (site, reason, id);
CREATE TABLE IF NOT EXISTS failed (
  id INTEGER PRIMARY KEY, url TEXT NOT NULL, mark INTEGER NOT NULL UNIQUE, reason INTEGER NOT NULL,
  site INTEGER NOT NULL, kind TEXT NOT NULL, via TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS failed_by_reason ON failed (reason, id);
CREATE INDEX IF NOT EXISTS failed_by_site ON failed (site, id);
"""
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
_MOST_ABOUT = 100

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows that are wanted: for a reason, of a site, with a text, behind a row, and how many at most."""

    reason: str
    site: str
    text: str
    after: int
    most: int


class RefusalsIndex:
    """An index that is open, and the log that it is of."""

    def __init__(self, base: sqlite3.Connection, log: Path, crawl: int) -> None:
        self._base, self._log, self._crawl = base, log, crawl
        self._ids: dict[tuple[str, str], int] = {}

    def rows(self, statement: str, wanted: Wanted) -> list[Row]:
        """Return rows that are wanted."""
        table = "link" if statement is LINKS else "failed"
        given: dict[str, str] = {
            f"{table}.reason = (SELECT id FROM reason WHERE name = ?)": wanted.reason,  # noqa: S608
            f"{table}.site = (SELECT id FROM site WHERE name = ?)": wanted.site,  # noqa: S608
            f"instr(lower({table}.url), lower(?))": wanted.text,
        }
        conditions = "".join(f" AND {condition}" for condition, value in given.items() if value)
        values = (wanted.after, *(value for value in given.values() if value), wanted.most)
        return self._base.execute(statement.format(conditions=conditions), values).fetchall()

    def counts(self, statement: str, site: str) -> dict[str, int]:
        """Count links or failed URLs by reason, those of a site where one is named."""
        if statement is LINKS and not site:
            return dict(self._base.execute("SELECT name, links FROM reason"))
        counting = _COUNT_LINKS if statement is LINKS else _COUNT_FAILED if site else _COUNT_ALL_FAILED
        return dict(self._base.execute(counting, (site,) if site else ()))

    def about(self, url: str) -> tuple[list[Row], Row | None]:
        """Return the rows of the refusals and of the failure of one URL."""
        values = 0, _mark(url), url, _MOST_ABOUT
        links = self._base.execute(LINKS.format(conditions=" AND mark = ? AND link.url = ?"), values).fetchall()
        failed = self._base.execute(FAILED.format(conditions=" AND mark = ? AND failed.url = ?"), values).fetchone()
        return links, failed

    def coverage(self) -> tuple[int, int]:
        """Return how many bytes of the log were read, and how many there are."""
        covered = dict(self._base.execute("SELECT segment, size FROM covered"))
        sizes = [(path.name, path.stat().st_size) for path in segments(self._log, REFUSAL_LOG) if path.exists()]
        read = sum(min(size, covered.get(_name(name), 0)) for name, size in sizes)
        return read, sum(size for _, size in sizes)

    def catch_up(self, seconds: float) -> None:
        """Take in what was logged since, for at most some seconds; where another process does, leave it to that one."""
        ends = time.monotonic() + seconds
        try:
            covered = dict(self._base.execute("SELECT segment, size FROM covered"))
            for path in segments(self._log, REFUSAL_LOG):
                if time.monotonic() >= ends:
                    return
                self._take_segment(path, covered.get(_name(path.name), 0), ends)
        except (sqlite3.OperationalError, FileNotFoundError):
            return  # It is busy, or a segment was closed and named anew: the next look reads on.

    def _take_segment(self, path: Path, begin: int, ends: float) -> None:
        with closing(open_segment(path)) as file:
            members = Members(file, begin)
            while members.end < members.size and time.monotonic() < ends:
                texts = [text for _ in range(_AT_ONCE) if (text := members.member())]
                with _transaction(self._base):
                    row = self._base.execute(
                        "SELECT size, is_own FROM covered WHERE segment = ?", (_name(path.name),)
                    ).fetchone()
                    if row is not None and row[0] != begin:
                        return  # Another request was faster.
                    lines = [line for text in texts for line in text.splitlines()]
                    is_own = (
                        bool(row[1]) if row is not None else _is_of(path, lines.pop(0) if lines else b"", self._crawl)
                    )
                    if is_own:
                        self._take(path, lines)
                    self._base.execute(
                        "INSERT OR REPLACE INTO covered VALUES (?, ?, ?)", (_name(path.name), members.end, is_own)
                    )
                begin = members.end

    def _take(self, path: Path, lines: Iterable[bytes]) -> None:
        for line in lines:
            try:
                entry = Entry.validate_json(line)
            except ValidationError as error:
                raise DamageError(f"{path}: is damaged (a line is no entry); move it elsewhere") from error
            if isinstance(entry, Failed):
                self._take_failed(entry)
            else:
                self._take_page(entry)

    def _take_failed(self, entry: Failed) -> None:
        values = (
            entry.failed,
            _mark(entry.failed),
            self._reason(entry.reason),
            self._site(entry.failed),
            entry.kind,
            entry.via,
        )
        self._base.execute(
            "INSERT INTO failed (url, mark, reason, site, kind, via) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (mark) DO UPDATE SET reason = excluded.reason, via = excluded.via",
            values,
        )

    def _take_page(self, entry: Page) -> None:
        page = self._base.execute("INSERT INTO page (url) VALUES (?)", (entry.via,)).lastrowid
        for reason, links in entry.refused.items():
            number = self._reason(reason)
            rows = [
                (url, _mark(url), number, self._site(url), page, score, depth, kind)
                for url, score, depth, kind, _ in links
            ]
            before = self._base.total_changes
            self._base.executemany(
                "INSERT OR IGNORE INTO link (url, mark, reason, site, page, score, depth, kind) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            added = self._base.total_changes - before
            self._base.execute("UPDATE reason SET links = links + ? WHERE id = ?", (added, number))

    def _reason(self, name: str) -> int:
        return self._id("reason", name, "INSERT OR IGNORE INTO reason (name, links) VALUES (?, 0)")

    def _site(self, url: str) -> int:
        return self._id("site", queue_of(url), "INSERT OR IGNORE INTO site (name) VALUES (?)")

    def _id(self, table: str, name: str, adding: str) -> int:
        known = self._ids.get((table, name))
        if known is None:
            self._base.execute(adding, (name,))
            row = self._base.execute(f"SELECT id FROM {table} WHERE name = ?", (name,)).fetchone()  # noqa: S608
            known = self._ids[table, name] = int(row[0])
        return known


def _is_of(path: Path, line: bytes, crawl: int) -> bool:
    try:
        return Begin.model_validate_json(line).crawl == crawl
    except ValidationError as error:
        raise DamageError(f"{path}: is damaged (it does not begin as a log of refused links); move it away") from error


def opened(path: Path, crawl: int) -> sqlite3.Connection:
    """Open the index at a path, made anew where it is damaged or of another crawl.

    It is in memory where nothing can be written.
    """
    version = _VERSION * _MOST_CRAWLS + crawl
    for place in (str(path), str(path), ":memory:"):
        base = None
        try:
            base = sqlite3.connect(place, timeout=_BUSY_SECONDS, isolation_level=None)
            _prepare(base, version)
        except sqlite3.DatabaseError as error:
            if base is not None:
                base.close()
            if not isinstance(error, sqlite3.OperationalError):
                _remove(path)
        else:
            return base
    raise ProblemError(UNAVAILABLE, "the index of refused links cannot be opened; try again in a moment")


def _prepare(base: sqlite3.Connection, version: int) -> None:
    """Make the tables of a new index. Raise ``sqlite3.DatabaseError`` for one of another version or crawl."""
    kept = base.execute("PRAGMA user_version").fetchone()[0]
    if kept not in (0, version):
        raise sqlite3.DatabaseError("it is of another crawl")
    if kept == 0:
        base.executescript(f"PRAGMA journal_mode = WAL; {_SCHEMA} PRAGMA user_version = {version};")
    base.execute("PRAGMA synchronous = OFF")


@contextmanager
def _transaction(base: sqlite3.Connection) -> Iterator[None]:
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        base.execute("ROLLBACK")
        raise
    base.execute("COMMIT")


def _remove(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def _name(segment: str) -> str:
    return segment.removesuffix(OPEN)


def _mark(url: str) -> int:
    return int.from_bytes(fingerprint(url), "big", signed=True)
