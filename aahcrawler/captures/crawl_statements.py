"""What a crawl's folder states of single captures: their latest readings, and the scores of their pages."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final

from aahcrawler.layout import OBJECTS, SCORE_LOG, SCORES
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.objects.reader import Statements
from aahcrawler.scores.entries import Judged
from aahcrawler.scores.reader import entry_of
from aahcrawler.segments import Members, open_segment, segments

_STATEMENTS: Final = "CREATE TABLE stated (record TEXT PRIMARY KEY, segment INTEGER, begin INTEGER) WITHOUT ROWID"
_JUDGED: Final = "CREATE TABLE judged (url TEXT, at INTEGER, segment TEXT, begin INTEGER)"
_PAGE: Final = re.compile(rb'\{"entry":"page","at":(\d+),"url":("(?:[^"\\]|\\.)*")')


class LatestReadings:
    """The latest readings of a crawl's captures by the ids of their records; looked for when one is first asked for.

    ``is_behind`` says that more may have been written since.
    """

    def __init__(self, crawl: Path) -> None:
        self.is_behind = True
        self._crawl = crawl
        self._base = sqlite3.connect("")
        self._statements: Statements | None = None

    def of_record(self, record: str) -> CaptureStatements | None:
        """Return the latest reading of a capture, None where there is none. Raises ``ReadError``."""
        statements = self._current()
        if statements is None:
            return None
        found = self._base.execute("SELECT segment, begin FROM stated WHERE record = ?", (record,)).fetchone()
        text = statements.latest(record, found)
        return read_statements(text) if text else None

    def _current(self) -> Statements | None:
        if self.is_behind:
            self.close()
            self._base = sqlite3.connect("")
            self._base.execute(_STATEMENTS)
            self._statements = Statements.of(self._crawl) if (self._crawl / OBJECTS).is_dir() else None
            if self._statements is not None:
                self._base.executemany("INSERT OR REPLACE INTO stated VALUES (?, ?, ?)", self._statements.places())
            self.is_behind = False
        return self._statements

    def close(self) -> None:
        """Let go of what is known."""
        self._base.close()


class JudgedPages:
    """The entries of a crawl's score log about pages; looked for when one is first asked for.

    ``is_behind`` says that more may have been written since.
    """

    def __init__(self, crawl: Path) -> None:
        self.is_behind = True
        self._folder = crawl / SCORES
        self._base = sqlite3.connect("")

    def between(self, url: str, begin: datetime, end: datetime | None) -> Judged | None:
        """Return the first entry about a page from one time on and before another. Raises ``DamageError``."""
        if self.is_behind:
            self._find()
        query = "SELECT segment, begin FROM judged WHERE url = ? AND at >= ? ORDER BY at LIMIT 1"
        found = self._base.execute(query, (url, _milliseconds(begin))).fetchone()
        if found is None:
            return None
        path = Path(found[0])
        with closing(open_segment(path)) as file:
            entry = entry_of(path, Members(file, found[1]).member())
        is_within = isinstance(entry, Judged) and (end is None or entry.at < _milliseconds(end))
        return entry if is_within and isinstance(entry, Judged) else None

    def _find(self) -> None:
        self.close()
        self._base = sqlite3.connect("")
        self._base.execute(_JUDGED)
        for path in segments(self._folder, SCORE_LOG):
            with closing(open_segment(path)) as file:
                members = Members(file)
                while members.end < members.size:
                    begin, text = members.end, members.member()
                    if found := _PAGE.match(text):
                        place = json.loads(found[2]), int(found[1]), str(path), begin
                        self._base.execute("INSERT INTO judged VALUES (?, ?, ?, ?)", place)
        self._base.execute("CREATE INDEX judged_by_url ON judged (url, at)")
        self.is_behind = False

    def close(self) -> None:
        """Let go of what is known."""
        self._base.close()


def _milliseconds(date: datetime) -> int:
    return int(date.timestamp() * 1000)
