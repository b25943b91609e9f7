"""The log of a schedule: visits, attempts at them, and people's wishes, in one SQLite file.

Rows are only added, each in a transaction that is on disk on return. A visit without a row in ``ended`` is in progress,
or was interrupted by a kill of the scheduler. A notice is in ``delivery`` for each way by which it is to be sent; one
without a time there has not been sent yet.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, Self

from aahcrawler.derived_index import connection, transaction
from aahcrawler.schedule.rhythms import Due, Past, PastVisit
from aahcrawler.schedule.schedule_file import Occasion

_TABLES: Final = """
CREATE TABLE added (entry TEXT PRIMARY KEY, at TEXT NOT NULL);
CREATE TABLE visit (
    number INTEGER PRIMARY KEY, entry TEXT NOT NULL, due_at TEXT, moments INTEGER NOT NULL,
    begun_at TEXT NOT NULL, folder TEXT NOT NULL, was TEXT NOT NULL
);
CREATE INDEX visit_by_entry ON visit (entry, number);
CREATE TABLE attempt (
    number INTEGER PRIMARY KEY, visit INTEGER NOT NULL, ended_at TEXT NOT NULL,
    code INTEGER NOT NULL, said TEXT NOT NULL
);
CREATE INDEX attempt_by_visit ON attempt (visit, number);
CREATE TABLE ended (
    visit INTEGER PRIMARY KEY, at TEXT NOT NULL, outcome TEXT NOT NULL, said TEXT NOT NULL,
    crawl INTEGER NOT NULL, pages INTEGER NOT NULL, new INTEGER NOT NULL, changed INTEGER NOT NULL,
    unchanged INTEGER NOT NULL, gone INTEGER NOT NULL, bytes INTEGER NOT NULL, seconds REAL NOT NULL
);
CREATE TABLE wish (number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, entry TEXT NOT NULL)
"""
_NOTICES: Final = """
CREATE TABLE IF NOT EXISTS notification (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, entry TEXT NOT NULL, occasion TEXT NOT NULL, text TEXT NOT NULL,
    outcome TEXT, found TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS notification_by_entry ON notification (entry, number);
CREATE TABLE IF NOT EXISTS delivery (
    notification INTEGER NOT NULL, way TEXT NOT NULL, at TEXT, PRIMARY KEY (notification, way)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS delivery_to_come ON delivery (way, notification) WHERE at IS NULL
"""
_RHYTHMS: Final = """
CREATE TABLE IF NOT EXISTS rhythm (
    number INTEGER PRIMARY KEY, entry TEXT NOT NULL, words TEXT NOT NULL, known_at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS rhythm_by_entry ON rhythm (entry, number)
"""
_VERSION: Final = 1
_VISITS: Final = """
SELECT visit.number, entry, due_at, moments, begun_at, folder, was, ended.* FROM visit LEFT JOIN ended
ON visit.number = ended.visit
"""
_WANTED: Final = """
SELECT entry FROM wish WHERE kind IN ('now', 'granted') GROUP BY entry
HAVING MAX(number) = MAX(CASE kind WHEN 'now' THEN number END)
"""
ALL: Final = ""
"""The entry of a wish that is for all of them."""


_LITTLE: Final = 1 << 20
"""Bytes; a disk with less free space counts as full if SQLite reports an error of the disk without saying which."""
_BEGIN_ANEW: Final = "put back a copy of it, or move it away: all crawls are due at once then, and the log begins anew"
_PERMIT: Final = "correct its permissions and those of its folder"
_ADVICE: Final[Mapping[int, str]] = {
    sqlite3.SQLITE_IOERR: "check its disk",
    sqlite3.SQLITE_READONLY: _PERMIT,
    sqlite3.SQLITE_PERM: _PERMIT,
    sqlite3.SQLITE_CANTOPEN: _PERMIT,
    sqlite3.SQLITE_BUSY: "another program holds it; try again when it has ended",
}
"""What to do about the errors of SQLite that show no damage."""


class LogError(Exception):
    """The log cannot be used; the message says why and what to do."""


class NoRoomError(LogError):
    """The disk of the log is full. The log is as it was before, and can be used again once there is room."""


def _log_error(path: Path, error: sqlite3.Error) -> LogError:
    # The higher bits say more exactly what it is; errors that are not SQLite's own have no code at all.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    is_unclear = code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
    if code == sqlite3.SQLITE_FULL or (is_unclear and shutil.disk_usage(path.absolute().parent).free < _LITTLE):
        return NoRoomError(f"{path}: there is no room on its disk ({error}); make room, nothing of it is lost")
    return LogError(f"{path}: cannot be used ({error}); {_ADVICE.get(code, _BEGIN_ANEW)}")


class Outcome(StrEnum):
    """How a visit ended."""

    ENDED = "ended"
    ATTENTION = "needs somebody"
    """Its crawl ended, but somebody has to act: a seed gave nothing, or a browser or an archive was missing."""
    STOPPED = "stopped"
    """Somebody stopped its crawl; the next visit continues it."""
    FAILED = "failed"
    """It was given up after failures in a row."""
    DROPPED = "dropped"
    """Its crawl was taken out of the schedule before it ended."""


class Wish(StrEnum):
    """What people can ask a running schedule to do."""

    NOW = "now"
    PAUSE = "pause"
    RESUME = "resume"
    GRANTED = "granted"
    """Recorded by the schedule itself when it makes a visit that somebody wished for."""


@dataclass(frozen=True, slots=True)
class Found:
    """What the crawl of a visit found: its number, its pages by change, and its cost.

    Changes are those that matter to readers (``Visit.matters``), or those of ``crawl.json`` if there is no log of
    changes.
    """

    crawl: int = 0
    pages: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    bytes: int = 0
    seconds: float = 0.0

    @property
    def has_changed(self) -> bool | None:
        """Whether anything changed since the former visit; None for a first crawl."""
        return None if self.crawl <= 1 else bool(self.new or self.changed or self.gone)


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit. ``due_at`` is None if somebody asked for it; otherwise it makes up for ``moments`` due moments.

    ``was`` is the mark of the crawl that was in ``folder`` when the visit began. ``outcome`` is None until it ends.
    """

    number: int
    entry: str
    due_at: datetime | None
    moments: int
    begun_at: datetime
    folder: Path
    was: str
    outcome: Outcome | None = None
    ended_at: datetime | None = None
    said: str = ""
    found: Found = field(default_factory=Found)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A failed attempt at a visit: when it ended, its exit code (negative for a signal), and its last output."""

    ended_at: datetime
    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to people about an entry, or about the file or unit of this name: the occasion, and a text.

    ``outcome`` and ``found`` are those of a visit that has ended.
    """

    at: datetime
    entry: str
    occasion: Occasion | Literal["schedule"]
    text: str
    outcome: Outcome | None = None
    found: Found = field(default_factory=Found)


@dataclass(frozen=True, slots=True)
class Noticed:
    """A notice, the ways by which it was sent, such as mail, and those by which it has not been sent yet."""

    notice: Notice
    sent_by: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()


class VisitLog:
    """The log in a file, which is created if needed. Only one thread may use it at a time.

    Its methods raise ``sqlite3.Error``; nothing has changed then.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._base = connection(path)
        self._base.row_factory = sqlite3.Row
        try:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            self._make()
        except sqlite3.Error:
            self.close()
            raise

    def _make(self) -> None:
        with transaction(self._base):
            version = self._base.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in (*_TABLES.split(";"), f"PRAGMA user_version = {_VERSION}"):
                    self._base.execute(statement)
            for statement in f"{_NOTICES};{_RHYTHMS}".split(";"):
                self._base.execute(statement)
        if version not in (0, _VERSION):
            raise LogError(f"{self.path}: was written by a later version of this program; use that one")

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator[Self]:
        """Open the log for the duration of the context. Raise ``LogError``, also for errors of SQLite within."""
        try:
            with closing(cls(path)) as log:
                yield log
        except sqlite3.Error as error:
            raise _log_error(path, error) from error

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def try_to_write(self) -> None:
        """Write to the file without changing what it says, to find out whether there is room."""
        with transaction(self._base):
            self._base.execute(f"PRAGMA user_version = {_VERSION}")

    def added_at(self, entries: Mapping[str, object], now: datetime) -> Mapping[str, datetime]:
        """Return when each entry came into the schedule; new entries are recorded with ``now``."""
        with transaction(self._base):
            self._base.executemany(
                "INSERT OR IGNORE INTO added VALUES (?, ?)", [(each, _text(now)) for each in entries]
            )
        return self.known_since()

    def has_rhythms(self, rhythms: Mapping[str, str], now: datetime) -> None:
        """Record the present rhythm of each entry, in words, where it is another than before."""
        with transaction(self._base):
            for entry, words in rhythms.items():
                if (known := self._rhythm(entry)) is None or known[0] != words:
                    self._base.execute(
                        "INSERT INTO rhythm (entry, words, known_at) VALUES (?, ?, ?)", (entry, words, _text(now))
                    )

    def _rhythm(self, entry: str) -> tuple[str, datetime | None] | None:
        """Return an entry's newest rhythm, and since when it is known, None for the first one."""
        rows = self._base.execute(
            "SELECT words, known_at FROM rhythm WHERE entry = ? ORDER BY number DESC LIMIT 2", (entry,)
        ).fetchall()
        return (rows[0]["words"], _moment(rows[0]["known_at"]) if len(rows) > 1 else None) if rows else None

    def known_since(self) -> Mapping[str, datetime]:
        """Return when each entry came into the schedule."""
        return {entry: _moment(at) for entry, at in self._base.execute("SELECT entry, at FROM added")}

    def past(self, entry: str, added_at: datetime) -> Past:
        """Return what an entry's next due moment depends on; a failed visit does not tell whether anything changed."""
        base = self._base
        last = base.execute("SELECT MAX(due_at) FROM visit WHERE entry = ?", (entry,)).fetchone()[0]
        # Every visit counts as one, but of years of hourly ones the last few hundred say all.
        rows = base.execute(f"{_VISITS} WHERE entry = ? ORDER BY visit.number DESC LIMIT 500", (entry,))
        visits = [_visit(row) for row in rows][::-1]
        told = [each for each in visits if each.outcome is not Outcome.DROPPED]
        return Past(
            added_at,
            _moment(last) if last else None,
            [PastVisit(each.begun_at, _change(each)) for each in told],
            rhythm[1] if (rhythm := self._rhythm(entry)) is not None else None,
        )

    def begin(self, entry: str, due: Due | None, now: datetime, folder: Path, was: str) -> Visit:
        """Record the beginning of a visit, before its crawl is started; this fulfils wishes for a visit."""
        values = (entry, _text(due.at) if due else None, due.moments if due else 0, _text(now), str(folder), was)
        with transaction(self._base):
            added = self._base.execute(
                "INSERT INTO visit (entry, due_at, moments, begun_at, folder, was) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            self._grant(entry, now)
        return self.visit(added.lastrowid or 0)

    def grant(self, entry: str, now: datetime) -> None:
        """Record that a wish for a visit is fulfilled by another attempt at an unfinished visit."""
        with transaction(self._base):
            self._grant(entry, now)

    def _grant(self, entry: str, now: datetime) -> None:
        self._base.execute(
            f"INSERT INTO wish (at, kind, entry) SELECT ?, 'granted', entry FROM ({_WANTED}) WHERE entry = ?",  # noqa: S608
            (_text(now), entry),
        )

    def attempted(self, visit: int, now: datetime, code: int, said: str) -> None:
        """Record a failed attempt at a visit."""
        with transaction(self._base):
            self._base.execute(
                "INSERT INTO attempt (visit, ended_at, code, said) VALUES (?, ?, ?, ?)", (visit, _text(now), code, said)
            )

    def end(self, visit: int, now: datetime, outcome: Outcome, said: str, found: Found) -> Visit:
        """Record the end of a visit; return the visit."""
        with transaction(self._base):
            self._base.execute(
                f"INSERT INTO ended VALUES (?, ?, ?, ?{', ?' * 8})",  # noqa: S608 (placeholders)
                (visit, _text(now), outcome, said, *asdict(found).values()),
            )
        return self.visit(visit)

    def noticed(self, notice: Notice, ways: Iterable[str]) -> None:
        """Record a notice, and by which ways it is to be sent."""
        row = _text(notice.at), notice.entry, notice.occasion, notice.text, notice.outcome
        with transaction(self._base):
            added = self._base.execute(
                "INSERT INTO notification (at, entry, occasion, text, outcome, found) VALUES (?, ?, ?, ?, ?, ?)",
                (*row, json.dumps(asdict(notice.found))),
            )
            self._base.executemany(
                "INSERT INTO delivery (notification, way) VALUES (?, ?)", [(added.lastrowid, way) for way in ways]
            )

    def delivered(self, notice: Notice, way: str, now: datetime) -> None:
        """Record that a notice was sent by one of its ways."""
        with transaction(self._base):
            self._base.execute(
                "UPDATE delivery SET at = ? WHERE way = ? AND at IS NULL AND notification IN "
                "(SELECT number FROM notification WHERE entry = ? AND at = ? AND text = ?)",
                (_text(now), way, notice.entry, _text(notice.at), notice.text),
            )

    def undelivered(self, way: str) -> list[Notice]:
        """Return the notices that were to be sent by a way and were not, the oldest first."""
        rows = self._base.execute(
            "SELECT notification.* FROM notification JOIN delivery ON notification = number "
            "WHERE way = ? AND delivery.at IS NULL ORDER BY number",
            (way,),
        )
        return [_notice(row) for row in rows]

    def notices(self, entry: str, most: int = 50) -> list[Noticed]:
        """Return the notices about an entry, the newest first."""
        rows = self._base.execute(
            "SELECT * FROM notification WHERE entry = ? ORDER BY number DESC LIMIT ?", (entry, most)
        ).fetchall()
        found = []
        for row in rows:
            ways: dict[bool, list[str]] = {True: [], False: []}
            for way, at in self._base.execute(
                "SELECT way, at FROM delivery WHERE notification = ? ORDER BY way", (row["number"],)
            ):
                ways[at is not None].append(way)
            found.append(Noticed(_notice(row), tuple(ways[True]), tuple(ways[False])))
        return found

    def wish(self, kind: Wish, entry: str, now: datetime) -> int:
        """Record a wish; return its number."""
        with transaction(self._base):
            added = self._base.execute("INSERT INTO wish (at, kind, entry) VALUES (?, ?, ?)", (_text(now), kind, entry))
        return added.lastrowid or 0

    def wanted(self) -> frozenset[str]:
        """Return the entries for which a visit is wished and not yet begun."""
        return frozenset(entry for (entry,) in self._base.execute(_WANTED))

    def paused(self) -> frozenset[str]:
        """Return the paused entries; ``ALL`` is among them if the whole schedule is paused."""
        rows = self._base.execute(
            "SELECT entry, kind, MAX(number) FROM wish WHERE kind IN ('pause', 'resume') GROUP BY entry"
        )
        return frozenset(entry for entry, kind, _ in rows if kind == Wish.PAUSE)

    def visit(self, number: int) -> Visit:
        """Return a visit."""
        return _visit(self._base.execute(f"{_VISITS} WHERE visit.number = ?", (number,)).fetchone())

    def open_visits(self) -> list[Visit]:
        """Return the visits that have not ended, the oldest first."""
        return [_visit(row) for row in self._base.execute(f"{_VISITS} WHERE ended.visit IS NULL ORDER BY number")]

    def visits(self, entry: str = ALL, most: int = 50) -> list[Visit]:
        """Return the latest visits of one entry, or of all, the newest first."""
        rows = self._base.execute(
            f"{_VISITS} WHERE entry = ? OR ? = '' ORDER BY number DESC LIMIT ?", (entry, entry, most)
        )
        return [_visit(row) for row in rows]

    def attempts(self, visit: int) -> list[Attempt]:
        """Return the attempts at a visit that failed, the oldest first."""
        rows = self._base.execute("SELECT ended_at, code, said FROM attempt WHERE visit = ? ORDER BY number", (visit,))
        return [Attempt(_moment(at), code, said) for at, code, said in rows]


def _change(visit: Visit) -> bool | None:
    return visit.found.has_changed if visit.outcome in (Outcome.ENDED, Outcome.ATTENTION) else None


def _visit(row: sqlite3.Row) -> Visit:
    number, entry, due_at, moments, begun_at, folder, was, ended, at, outcome, said, *found = row
    visit = Visit(number, entry, _moment(due_at) if due_at else None, moments, _moment(begun_at), Path(folder), was)
    if ended is None:
        return visit
    told = (Outcome(outcome), _moment(at), said, Found(*found))
    return Visit(visit.number, entry, visit.due_at, moments, visit.begun_at, visit.folder, was, *told)


def _notice(row: sqlite3.Row) -> Notice:
    _, at, entry, occasion, text, outcome, found = row
    return Notice(_moment(at), entry, occasion, text, Outcome(outcome) if outcome else None, Found(**json.loads(found)))


def _text(moment: datetime) -> str:
    """Return a time as the log stores it; such texts sort by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
