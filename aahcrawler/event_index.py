"""Full-text search over the events that all crawls of a folder have logged.

The events are kept in ``crawl.log``; the index (SQLite's FTS5) is derived from it. Opening the index adds the lines
that were logged since, and the index may be deleted at any time. So a running crawl spends no time on it, and a crash
loses no event that was written. ARCOMEM (section 4.3) also puts the events of all nodes in a full-text index.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path
from typing import ClassVar, Final, Self

from aahcrawler.crawls import number
from aahcrawler.derived_index import DerivedIndex, Source, coverage, known_sources
from aahcrawler.layout import EVENTS, FORMER, INDEXES, LOG

_LINE = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+Z) ([A-Z]+) (\S+) (.*)", re.DOTALL)
_TERM = re.compile(r'"[^"]*"?|\S+')
_LOOKED_THROUGH: Final = 300_000
_MAX_LINE: Final = 1 << 16
_TABLES: Final = (
    """CREATE VIRTUAL TABLE event USING fts5(
  at UNINDEXED, level UNINDEXED, crawl UNINDEXED, subsystem, message, tokenize = "unicode61 remove_diacritics 2"
)""",
)


class EventSearchError(Exception):
    """Events cannot be searched; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event: its time (ISO 8601, UTC), severity, the number of its crawl, subsystem and message."""

    at: str
    level: str
    crawl: int
    subsystem: str
    message: str

    def __str__(self) -> str:
        """Return the event as a line of ``crawl.log``, with the number of its crawl added."""
        return f"{self.at} {self.level} {self.crawl} {self.subsystem} {self.message}"


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Conditions that events must meet: words in subsystem or message, severities, number of the crawl, time.

    ``since`` is inclusive, ``until`` exclusive; each is an ISO 8601 time or a prefix of one, such as a date. An empty
    field, or None, sets no condition.
    """

    text: str = ""
    levels: tuple[str, ...] = ()
    crawl: int | None = None
    since: str = ""
    until: str = ""


def read_line(line: bytes, crawl: int) -> Event | None:
    """Parse a line of a crawl's log; return None if no event begins on it, as on the lines of a traceback."""
    found = _LINE.match(line.decode("utf-8", "replace").rstrip("\n"))
    return Event(found[1], found[2], crawl, found[3], found[4]) if found else None


def match_expression(text: str) -> str:
    """Translate a search into an FTS5 expression: all words must occur, none after a minus; quotes make phrases.

    A word that ends with a star matches every word that begins so; OR between two words requires only one of them.
    Signs inside a word, as in a URL, split it into words that must occur one after another. Raise ``EventSearchError``
    if the search names no word that must occur.

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


class EventIndex(DerivedIndex[bytes]):
    """The index of the events in a crawl's folder.

    Opening it adds what was logged since, for at most ``within`` seconds, and raises ``EventSearchError`` on failure.
    """

    schema: ClassVar = _TABLES
    version: ClassVar = 1
    at_once: ClassVar = 5_000
    is_private: ClassVar = True  # What was logged may hold secrets.

    def __init__(self, crawl: Path, within: float = inf) -> None:
        super().__init__(crawl / INDEXES / EVENTS)
        self._crawl = crawl
        self._within = within
        self.left = 0  # Bytes of the logs that were not taken in yet when it was opened.

    def __enter__(self) -> Self:
        """Open the index and add what was logged since it was last open."""
        if not any(_logs(self._crawl)):
            raise EventSearchError(f"{self._crawl}: has no {LOG}; name the folder of a crawl")
        try:
            self.open()
            self.catch_up(self._within)
            reached = coverage(self.base)
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise EventSearchError(f"{self._crawl}: its events cannot be read ({error})") from error
        self.left = reached.size - reached.covered
        return self

    def sources(self) -> Iterator[Source]:
        """Yield the log of each crawl.

        A log is identified by its crawl's number, since it is moved when the next crawl begins.
        """
        return (Source.at(path, str(crawl), is_open=True) for crawl, path in sorted(_logs(self._crawl)))

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield the complete lines of a log from offset ``begin``, each with the offset behind it."""
        with source.path.open("rb") as file:
            file.seek(begin)
            while (line := file.readline(_MAX_LINE)) and (line.endswith(b"\n") or len(line) == _MAX_LINE):
                begin += len(line)
                yield line, begin

    def begin(self) -> None:
        """Start an empty batch of events."""
        self._crawls = {each.id: int(each.name) for each in known_sources(self.base)}
        self._events: list[Event] = []

    def put(self, entry: bytes, source: int, place: int) -> None:  # noqa: ARG002
        """Add the event on a line to the batch; a line on which no event begins is skipped."""
        if event := read_line(entry, self._crawls[source]):
            self._events.append(event)

    def settle(self) -> None:
        """Write the batch of events to the index."""
        self.base.executemany(
            "INSERT INTO event (at, level, crawl, subsystem, message) VALUES (?, ?, ?, ?, ?)",
            ((each.at, each.level, each.crawl, each.subsystem, each.message) for each in self._events),
        )

    def find(self, query: EventQuery) -> Iterator[Event]:
        """Yield the events that meet a query, the oldest first. Raise ``EventSearchError``."""
        where, values = _condition(query)
        statement = f"SELECT at, level, crawl, subsystem, message FROM event{where} ORDER BY at, rowid"  # noqa: S608
        try:
            yield from (Event(*row) for row in self.base.execute(statement, values))
        except sqlite3.Error as error:
            raise self._trouble(query.text, error) from error

    def newest(self, query: EventQuery, most: int, before: int = 0) -> tuple[Sequence[Event], int]:
        """Return one part of the events that meet a query, those logged last first, and the position of the next part.

        Pass that position as ``before`` to go on; 0 begins with the newest event, and a returned 0 means that nothing
        is left. A call examines a few hundred thousand events at most, so it may return fewer than ``most`` although
        more follow. Raise ``EventSearchError``.
        """
        where, values = _condition(query)
        try:
            last = before or 1 + int(self.base.execute("SELECT max(rowid) FROM event").fetchone()[0] or 0)
            first = max(1, last - _LOOKED_THROUGH)
            statement = f"SELECT rowid, at, level, crawl, subsystem, message FROM event{where}"  # noqa: S608
            bounds = f"{' AND' if where else ' WHERE'} rowid >= ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"
            rows = self.base.execute(statement + bounds, (*values, first, last, most)).fetchall()
        except sqlite3.Error as error:
            raise self._trouble(query.text, error) from error
        further = int(rows[-1][0]) if len(rows) == most else first
        return [Event(*row[1:]) for row in rows], further if further > 1 else 0

    def _trouble(self, text: str, error: sqlite3.Error) -> EventSearchError:
        self.removed_if_damaged(error)
        return EventSearchError(f"{text!r} cannot be looked for ({error})")


def _condition(query: EventQuery) -> tuple[str, tuple[str | int, ...]]:
    """Return the SQL condition of a query and the values of its parameters."""
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
    """Yield the number and the log file of each crawl of a folder."""
    former = {int(path.name): path / LOG for path in (crawl / FORMER).glob("*") if path.name.isdecimal()}
    yield from ((number, path) for number, path in former.items() if path.is_file())
    if (crawl / LOG).is_file():
        yield number(crawl), crawl / LOG
