"""The captures that are taken into a selection: each once, with what it needs, copied as the archive has them."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Self

from aahcrawler.captures import ArchivedCaptures, Capture
from aahcrawler.captures.record_scan import EPOCH

_PIECE = 1 << 20
_SCHEMA = """
PRAGMA journal_mode = OFF;
CREATE TABLE taken (
  file INTEGER, begin INTEGER, end INTEGER, is_capture INTEGER, PRIMARY KEY (file, begin)
) WITHOUT ROWID;
CREATE TABLE page (number INTEGER PRIMARY KEY, record TEXT);
"""


class SelectedCaptures:
    """Marks captures of an archive as taken; the marks lie in a temporary file.

    Unless ``with_sessions``, captures that were made while their site knew the crawl are left aside by ``take``.
    """

    def __init__(self, source: ArchivedCaptures, *, with_sessions: bool = True) -> None:
        self.source = source
        self._with_sessions = with_sessions
        self._marks = sqlite3.connect("")
        self._marks.executescript(_SCHEMA)
        self.newest = EPOCH
        """When the newest of the taken captures was made."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._marks.close()

    def take(self, captures: Iterable[Capture]) -> Iterator[Capture]:
        """Take captures, each with the records that belong to it; yield those that were not taken yet.

        With a revisit, the capture that holds its payload is taken as well.
        """
        for capture in captures:
            if not self.leaves_aside(capture):
                yield from self._take(capture)

    def leaves_aside(self, capture: Capture | None) -> bool:
        """Return whether a capture is not taken for how it was made, or the one that holds its payload was."""
        if self._with_sessions or capture is None:
            return False
        return bool(capture.session) or self.leaves_aside(self.source.original(capture.record_id))

    def _take(self, capture: Capture) -> Iterator[Capture]:
        row = self.source.table.of_record(capture.record_id)
        if row is None or not self._mark(row.file, row.answer.begin, row.answer.end, is_capture=True):
            return
        if (info := self.source.table.info(row.answer.warcinfo)) is not None:
            self._mark(info[0], info[1].begin, info[1].end, is_capture=False)
        self.newest = max(self.newest, capture.date)
        yield capture
        if (original := self.source.original(capture.record_id)) is not None:
            yield from self._take(original)

    def _mark(self, file: int, begin: int, end: int, *, is_capture: bool) -> bool:
        """Mark records as taken; return whether they were not."""
        row = (file, begin, end, is_capture)
        return self._marks.execute("INSERT OR IGNORE INTO taken VALUES (?, ?, ?, ?)", row).rowcount > 0

    def note_page(self, record: str) -> None:
        """Note that a capture was chosen, and not taken for another's sake."""
        self._marks.execute("INSERT INTO page (record) VALUES (?)", (record,))

    def pages(self) -> Iterator[str]:
        """Yield the ids of the records of what was chosen, in its order."""
        return (record for (record,) in self._marks.execute("SELECT record FROM page ORDER BY number"))

    def __len__(self) -> int:
        (number,) = self._marks.execute("SELECT count(*) FROM taken WHERE is_capture").fetchone()
        return int(number)

    def copies(self) -> Iterator[bytes]:
        """Yield the taken records, compressed as they are, in the order of the archive, in pieces of bounded size."""
        for file in self.source.table.files():
            yield from copied(self.source, file, self.spans(file))

    def spans(self, file: int) -> Iterator[tuple[int, int]]:
        """Yield from where to where the taken records of a file, by its number, lie in it, in their order."""
        yield from self._marks.execute("SELECT begin, end FROM taken WHERE file = ? ORDER BY begin", (file,))


def copied(source: ArchivedCaptures, file: int, spans: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of spans of a file, by its number, in pieces of bounded size. Raises ``OSError``."""
    for begin, end in spans:
        for at in range(begin, end, _PIECE):
            stream = source.table.open(file)
            stream.seek(at)
            yield stream.read(min(_PIECE, end - at))
