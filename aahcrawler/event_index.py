"""Finds events of a crawl by full text: what its folder logged, from its first crawl to the one that runs.

``crawl.log`` is what is kept, and the index is derived from it (SQLite's FTS5): it takes in what was added whenever it
is opened, and may be removed at any time. So a crawl pays nothing for it, and a crash loses no event that was written.
The paper stores its events in a full-text index too (ARCOMEM, section 4.3: events of all nodes).
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
_LONGEST: Final = 1 << 16
_TABLES: Final = (
    """CREATE VIRTUAL TABLE event USING fts5(
  at UNINDEXED, level UNINDEXED, crawl UNINDEXED, subsystem, message, tokenize = "unicode61 remove_diacritics 2"
)""",
)


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


class EventIndex(DerivedIndex[bytes]):
    """The index of the events in a crawl's folder, which catches up when it is opened, ``within`` so many seconds.

    Opening raises ``EventSearchError``.
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
        """Open the index, and take in what was logged since."""
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
        """Find the logs, each by the number of its crawl: it is moved when the next crawl begins."""
        return (Source.at(path, str(crawl), is_open=True) for crawl, path in sorted(_logs(self._crawl)))

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield the whole lines of a log."""
        with source.path.open("rb") as file:
            file.seek(begin)
            while (line := file.readline(_LONGEST)) and (line.endswith(b"\n") or len(line) == _LONGEST):
                begin += len(line)
                yield line, begin

    def begin(self) -> None:
        """Begin to gather events."""
        self._crawls = {each.id: int(each.name) for each in known_sources(self.base)}
        self._events: list[Event] = []

    def put(self, entry: bytes, source: int, place: int) -> None:  # noqa: ARG002
        """Take in a line; one that begins no event is passed over."""
        if event := read_line(entry, self._crawls[source]):
            self._events.append(event)

    def settle(self) -> None:
        """Write the events that were gathered."""
        self.base.executemany(
            "INSERT INTO event (at, level, crawl, subsystem, message) VALUES (?, ?, ?, ?, ?)",
            ((each.at, each.level, each.crawl, each.subsystem, each.message) for each in self._events),
        )

    def find(self, query: EventQuery) -> Iterator[Event]:
        """Yield the events that are wanted, the oldest first. Raise ``EventSearchError``."""
        where, values = _condition(query)
        statement = f"SELECT at, level, crawl, subsystem, message FROM event{where} ORDER BY at, rowid"  # noqa: S608
        try:
            yield from (Event(*row) for row in self.base.execute(statement, values))
        except sqlite3.Error as error:
            raise self._trouble(query.text, error) from error

    def newest(self, query: EventQuery, most: int, before: int = 0) -> tuple[Sequence[Event], int]:
        """Return the events that are wanted, those logged last first, and the place before which to go on; 0: the end.

        ``before`` is that place, 0 at first. Some hundred thousand events are looked through at most, so there may be
        fewer than ``most`` though there are others. Raise ``EventSearchError``.
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
