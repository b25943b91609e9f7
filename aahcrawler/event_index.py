"""Finds events of a crawl by full text: what its folder logged, from its first crawl to the one that runs.

``crawl.log`` is what is kept, and the index is derived from it (SQLite's FTS5): it takes in what was added whenever it
is opened, and may be removed at any time. So a crawl pays nothing for it, and a crash loses no event that was written.
The paper stores its events in a full-text index too (ARCOMEM, section 4.3: events of all nodes).
"""

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path
from time import monotonic
from typing import BinaryIO, Final, Self

from aahcrawler.crawls import number
from aahcrawler.layout import EVENTS, FORMER, INDEXES, LOG
from aahcrawler.segments import private

_LINE = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) ([A-Z]+) (\S+) (.*)", re.DOTALL)
_TERM = re.compile(r'"[^"]*"?|\S+')
_AT_ONCE: Final = 5_000
_LOOKED_THROUGH: Final = 300_000
_LONGEST: Final = 1 << 16
_SCHEMA = """
CREATE TABLE IF NOT EXISTS covered (crawl INTEGER PRIMARY KEY, size INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS event USING fts5(
  at UNINDEXED, level UNINDEXED, crawl UNINDEXED, subsystem, message, tokenize = "unicode61 remove_diacritics 2"
);
"""


class EventSearchError(Exception):
    """Raised where events cannot be searched; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its time (ISO 8601, UTC), severity, the number of its crawl, subsystem and message."""

    at: str
    level: str
    crawl: int
    subsystem: str
    message: str

    def __str__(self) -> str:
        """Write the event as ``crawl.log`` has it, with the number of its crawl."""
        return f"{self.at} {self.level} {self.crawl} {self.subsystem} {self.message}"


@dataclass(frozen=True, slots=True)
class EventQuery:
    """What events are wanted: words of their subsystem or message, severities, crawl, and a span of time.

    ``since`` is included and ``until`` is not; both are beginnings of ISO 8601 times. What is empty or None is no
    condition.
    """

    text: str = ""
    levels: tuple[str, ...] = ()
    crawl: int | None = None
    since: str = ""
    until: str = ""


def read_line(line: bytes, crawl: int) -> Event | None:
    """Read a line of the log of a crawl; None for one that begins no event, such as that of a traceback."""
    found = _LINE.match(line.decode("utf-8", "replace").rstrip("\n"))
    return Event(found[1], found[2], crawl, found[3], found[4]) if found else None


def match_expression(text: str) -> str:
    """Return the FTS5 expression of a search: all words, none of those after a minus, phrases in quotes.

    A word that ends with a star stands for all that begin so; OR joins two words, one of which is enough. Signs within
    a word, such as those of a URL, separate words that must follow one another. Raise ``EventSearchError`` where no
    word is wanted.

    >>> match_expression('"lease ran out" viewtopic.php?t=7 host* -robots')
    '("lease ran out" AND "viewtopic.php?t=7" AND "host" *) NOT ("robots")'
    >>> match_expression("timeout OR refused")
    '("timeout" OR "refused")'
    """
    wanted, unwanted, joint = "", [], " AND "
    # SQLite takes the text of an expression to end at a NUL.
    for term in _TERM.findall(text.replace("\0", " ")):
        if term == "OR":
            joint = " OR "
            continue
        quoted = _quoted(term.removeprefix("-"))
        if quoted and term.startswith("-") and len(term) > 1:
            unwanted.append(quoted)
        elif quoted:
            wanted = f"{wanted}{joint}{quoted}" if wanted else quoted
            joint = " AND "
    if not wanted:
        raise EventSearchError(f"{text!r} has no word to look for; write one, such as: timeout -robots")
    return f"({wanted})" + (f" NOT ({' OR '.join(unwanted)})" if unwanted else "")


def _quoted(term: str) -> str:
    star = " *" if term.endswith("*") else ""
    words = term.strip('"*')
    return f'"{words.replace(chr(34), "")}"{star}' if any(sign.isalnum() for sign in words) else ""


class EventIndex:
    """The index of the events in a crawl's folder; where nothing can be written there, it is made in memory."""

    def __init__(self, crawl: Path, within: float = inf) -> None:
        """Open the index, and take in what was logged since, some thousand lines more ``within`` so many seconds.

        Raise ``EventSearchError``.
        """
        self._ends = monotonic() + within
        logs = dict(_logs(crawl))
        if not logs:
            raise EventSearchError(f"{crawl}: has no {LOG}; name the folder of a crawl")
        self._base = _opened(crawl / INDEXES / EVENTS)
        try:
            self._catch_up(logs)
            covered = sum(size for (size,) in self._base.execute("SELECT size FROM covered"))
            self.left = max(0, sum(path.stat().st_size for path in logs.values()) - covered)
            """Bytes of the logs that are not taken in yet."""
        except (OSError, sqlite3.Error) as error:
            self._base.close()
            raise EventSearchError(f"{crawl}: its events cannot be read ({error})") from error

    def __enter__(self) -> Self:
        """Return the index itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the index."""
        self._base.close()

    def find(self, query: EventQuery) -> Iterator[Event]:
        """Yield the events that are wanted, the oldest first. Raise ``EventSearchError``."""
        where, values = _condition(query)
        statement = f"SELECT at, level, crawl, subsystem, message FROM event{where} ORDER BY at, rowid"  # noqa: S608
        try:
            yield from (Event(*row) for row in self._base.execute(statement, values))
        except sqlite3.Error as error:
            raise EventSearchError(f"{query.text!r} cannot be looked for ({error})") from error

    def newest(self, query: EventQuery, most: int, before: int = 0) -> tuple[Sequence[Event], int]:
        """Return the events that are wanted, those logged last first, and the place before which to go on; 0: the end.

        ``before`` is that place, 0 at first. Some hundred thousand events are looked through at most, so there may be
        fewer than ``most`` though there are others. Raise ``EventSearchError``.
        """
        where, values = _condition(query)
        try:
            last = before or 1 + int(self._base.execute("SELECT max(rowid) FROM event").fetchone()[0] or 0)
            first = max(1, last - _LOOKED_THROUGH)
            statement = f"SELECT rowid, at, level, crawl, subsystem, message FROM event{where}"  # noqa: S608
            bounds = f"{' AND' if where else ' WHERE'} rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
            rows = self._base.execute(statement + bounds, (*values, first, last, most)).fetchall()
        except sqlite3.Error as error:
            raise EventSearchError(f"{query.text!r} cannot be looked for ({error})") from error
        further = int(rows[-1][0]) if len(rows) == most else first
        return [Event(*row[1:]) for row in rows], further if further > 1 else 0

    def _catch_up(self, logs: dict[int, Path]) -> None:
        covered = dict(self._base.execute("SELECT crawl, size FROM covered"))
        for crawl in covered.keys() - logs.keys():
            self._forget(crawl)
        for crawl, path in sorted(logs.items()):
            begin = covered.get(crawl, 0)
            if path.stat().st_size < begin:
                self._forget(crawl)
                begin = 0
            if monotonic() >= self._ends:
                return
            with path.open("rb") as file:
                self._take(file, crawl, begin)

    def _take(self, file: BinaryIO, crawl: int, begin: int) -> None:
        """Take in the whole lines behind a place, some thousand at a time; each time says how far it came."""
        file.seek(begin)
        rows: list[tuple[str, str, int, str, str]] = []
        while (line := file.readline(_LONGEST)) and (line.endswith(b"\n") or len(line) == _LONGEST):
            begin += len(line)
            if event := read_line(line, crawl):
                rows.append((event.at, event.level, crawl, event.subsystem, event.message))
            if len(rows) >= _AT_ONCE:
                self._write(rows, crawl, begin)
                rows.clear()
                if monotonic() >= self._ends:
                    return
        self._write(rows, crawl, begin)

    def _write(self, rows: Iterable[tuple[str, str, int, str, str]], crawl: int, size: int) -> None:
        with self._base:
            self._base.executemany(
                "INSERT INTO event (at, level, crawl, subsystem, message) VALUES (?, ?, ?, ?, ?)", rows
            )
            self._base.execute("INSERT OR REPLACE INTO covered VALUES (?, ?)", (crawl, size))

    def _forget(self, crawl: int) -> None:
        with self._base:
            self._base.execute("DELETE FROM event WHERE crawl = ?", (crawl,))
            self._base.execute("DELETE FROM covered WHERE crawl = ?", (crawl,))


def _condition(query: EventQuery) -> tuple[str, tuple[str | int, ...]]:
    """Return the conditions of a query as SQL, and their values."""
    conditions: dict[str, Sequence[str | int]] = {
        "event MATCH ?": (match_expression(query.text),) if query.text else (),
        "crawl = ?": () if query.crawl is None else (query.crawl,),
        "at >= ?": (query.since,) if query.since else (),
        "at < ?": (query.until,) if query.until else (),
        f"level IN ({', '.join('?' * len(query.levels))})": query.levels,
    }
    given = {condition: values for condition, values in conditions.items() if values}
    where = f" WHERE {' AND '.join(given)}" if given else ""
    return where, tuple(chain(*given.values()))


def _logs(crawl: Path) -> Iterator[tuple[int, Path]]:
    """Yield the log of each crawl of a folder by its number."""
    former = {int(path.name): path / LOG for path in (crawl / FORMER).glob("*") if path.name.isdecimal()}
    yield from ((number, path) for number, path in former.items() if path.is_file())
    if (crawl / LOG).is_file():
        yield number(crawl), crawl / LOG


def _opened(path: Path) -> sqlite3.Connection:
    """Open the index at a path, made anew where it is damaged; in memory where nothing can be written."""
    for place in (str(path), str(path), ":memory:"):
        base = None
        try:
            if place != ":memory:":  # What was logged may hold secrets.
                with suppress(OSError):
                    os.close(private(place, os.O_RDWR | os.O_CREAT))
            base = sqlite3.connect(place, timeout=10)
            base.executescript(_SCHEMA)
            base.execute("SELECT count(*) FROM covered").fetchone()
            with base:
                base.execute("DELETE FROM covered WHERE crawl < 0")  # Whether it can be written.
        except sqlite3.DatabaseError as error:
            if base is not None:
                base.close()
            if not isinstance(error, sqlite3.OperationalError):
                with suppress(OSError):
                    path.unlink()
        else:
            return base
    raise EventSearchError("this Python's SQLite has no full-text search (FTS5)")
