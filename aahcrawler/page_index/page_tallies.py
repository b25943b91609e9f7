"""Counts of pages and objects, and the course of each crawl, kept up as captures are taken in."""

import json
import sqlite3
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

MOST_POINTS: Final = 400
_FOLDER: Final = 0
"""The number under which counts of objects are kept: an object may be found by several crawls of a folder."""


class Tally:
    """Counts by crawl, topic and name; they are added to the index with ``store``.

    Topics of a crawl: ``captures``, ``pages`` and ``relevant`` have the empty name, ``status``, ``trap``, ``site``,
    ``application``, ``media`` (the media type) and ``month`` (``2012-03``, in UTC) count captures, ``level`` counts
    pages by application, level and role, with tabs between them, ``level relevant`` and ``level objects`` likewise.
    Topics of the folder: ``type`` counts objects, ``title``, ``author`` and ``date`` those that have one, by type;
    ``deleted`` those that are gone; ``published`` those whose date can be read, by its month, or its year where it says
    no more.
    """

    def __init__(self) -> None:
        self._changes: Counter[tuple[int, str, str]] = Counter()

    def add(self, crawl: int, topic: str, name: str = "", n: int = 1) -> None:
        """Add to a count of a crawl."""
        self._changes[crawl, topic, name] += n

    def add_object(self, topic: str, name: str, n: int = 1) -> None:
        """Add to a count of the folder's objects."""
        self._changes[_FOLDER, topic, name] += n

    def store(self, base: sqlite3.Connection) -> None:
        """Add what was counted to the index."""
        base.executemany(
            "INSERT INTO tally VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            [(*key, n) for key, n in self._changes.items() if n],
        )
        self._changes.clear()


@dataclass(slots=True)
class Point:
    """Some pages that were fetched one after another, the last of them at ``last_at`` (microseconds since 1970).

    ``relevance`` is the sum of their scores, ``relevant`` the number of those that are relevant.
    """

    last_at: int
    pages: int = 0
    relevant: int = 0
    relevance: float = 0.0


@dataclass(slots=True)
class Course:
    """The course of a crawl in at most 400 points, whatever the order in which its pages are taken in.

    Points are in the order of time. Each new one is of ``width`` pages; where there would be too many of them, two
    and two become one.
    """

    begun_at: int | None = None
    width: int = 1
    points: list[Point] = field(default_factory=list)

    def add(self, at: int, *, relevant: bool, score: float, sign: int = 1) -> None:
        """Take in a page, or take it out again with the ``sign`` -1."""
        if self.begun_at is None or at < self.begun_at:
            self.begun_at = at
        point = self._point(at)
        point.pages += sign
        point.relevant += sign * relevant
        point.relevance += sign * score
        if len(self.points) > MOST_POINTS:
            self._halve()

    def _point(self, at: int) -> Point:
        place = bisect_left(self.points, at, key=lambda point: point.last_at)
        if place < len(self.points):
            return self.points[place]
        if not self.points or self.points[-1].pages >= self.width:
            self.points.append(Point(at))
        self.points[-1].last_at = at
        return self.points[-1]

    def _halve(self) -> None:
        self.width *= 2
        pairs = zip(self.points[::2], self.points[1::2], strict=False)
        joined = [
            Point(
                second.last_at,
                first.pages + second.pages,
                first.relevant + second.relevant,
                first.relevance + second.relevance,
            )
            for first, second in pairs
        ]
        self.points = joined + self.points[2 * len(joined) :]

    def store(self, base: sqlite3.Connection, crawl: int) -> None:
        """Keep it in the index."""
        points = [[each.last_at, each.pages, each.relevant, round(each.relevance, 6)] for each in self.points]
        told = json.dumps({"begun_at": self.begun_at, "points": points}, separators=(",", ":"))
        base.execute("INSERT OR REPLACE INTO course VALUES (?, ?, ?)", (crawl, self.width, told))

    @classmethod
    def of(cls, base: sqlite3.Connection, crawl: int) -> "Course":
        """Return the course of a crawl as it was kept, or one without points."""
        row = base.execute("SELECT width, points FROM course WHERE crawl = ?", (crawl,)).fetchone()
        if row is None:
            return cls()
        told = json.loads(row[1])
        return cls(told["begun_at"], row[0], [Point(*each) for each in told["points"]])
