"""What a crawl's folder states about single captures: the latest reading of each, and the scores of its page."""

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.site_memory import Sites
from aahcrawler.layout import OBJECTS, SCORE_LOG, SCORES
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.objects.reader import Statements
from aahcrawler.page import Page
from aahcrawler.scores.entries import Judged
from aahcrawler.scores.reader import entry_of
from aahcrawler.segments import Members, open_segment, segments
from knowledge_base.loader import load

_STATED: Final = "CREATE TABLE stated (record TEXT PRIMARY KEY, segment INTEGER, begin INTEGER) WITHOUT ROWID"
_JUDGED: Final = "CREATE TABLE judged (url TEXT, at INTEGER, segment TEXT, begin INTEGER)"
_PAGE: Final = re.compile(rb'\{"entry":"page","at":(\d+),"url":("(?:[^"\\]|\\.)*")')


class CrawlStatements:
    """The latest readings of a crawl's captures, and the entries of its score log about pages.

    Both are loaded on first use. A folder that belongs to no crawl has none.
    """

    def __init__(self, crawl: Path | None) -> None:
        self._crawl = crawl
        self._stated: tuple[sqlite3.Connection, Statements] | None = None
        self._judged: sqlite3.Connection | None = None

    def reading(self, record: str) -> CaptureStatements | None:
        """Return the latest reading of a capture, given the id of its record; None without one.

        Raises ``ReadError``.
        """
        if self._crawl is None or not (self._crawl / OBJECTS).is_dir():
            return None
        if self._stated is None:
            base, statements = sqlite3.connect(""), Statements.of(self._crawl)
            base.execute(_STATED)
            base.executemany("INSERT OR REPLACE INTO stated VALUES (?, ?, ?)", statements.places())
            self._stated = base, statements
        base, statements = self._stated
        place = base.execute("SELECT segment, begin FROM stated WHERE record = ?", (record,)).fetchone()
        text = statements.latest(record, place)
        return read_statements(text) if text else None

    def judged(self, url: str, begin: datetime, end: datetime | None) -> Judged | None:
        """Return the first score log entry of a page with ``begin`` <= time < ``end``. Raises ``DamageError``."""
        if self._crawl is None:
            return None
        if self._judged is None:
            self._judged = _judged_pages(self._crawl / SCORES)
        query = "SELECT segment, begin FROM judged WHERE url = ? AND at >= ? ORDER BY at LIMIT 1"
        found = self._judged.execute(query, (url, _milliseconds(begin))).fetchone()
        if found is None:
            return None
        path = Path(found[0])
        with closing(open_segment(path)) as file:
            entry = entry_of(path, Members(file, found[1]).member())
        is_within = isinstance(entry, Judged) and (end is None or entry.at < _milliseconds(end))
        return entry if is_within and isinstance(entry, Judged) else None

    def forget(self) -> None:
        """Drop what was loaded, because more may have been written."""
        if self._stated is not None:
            self._stated[0].close()
        if self._judged is not None:
            self._judged.close()
        self._stated = self._judged = None


def _judged_pages(folder: Path) -> sqlite3.Connection:
    base = sqlite3.connect("")
    base.execute(_JUDGED)
    for path in segments(folder, SCORE_LOG):
        with closing(open_segment(path)) as file:
            members = Members(file)
            while members.end < members.size:
                begin, text = members.end, members.member()
                if found := _PAGE.match(text):
                    place = json.loads(found[2]), int(found[1]), str(path), begin
                    base.execute("INSERT INTO judged VALUES (?, ?, ?, ?)", place)
    base.execute("CREATE INDEX judged_by_url ON judged (url, at)")
    return base


def _milliseconds(date: datetime) -> int:
    return int(date.timestamp() * 1000)


class PageDocuments:
    """Make documents of pages with the knowledge base in given folders, which is loaded for the first page.

    Each page is read as if it were the first of its site, so the order of pages does not matter. What a crawl has
    learned about sites is not used.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._sites = Sites()
        self._files = DocumentReader()

    def understood(self, page: Page) -> Assistance:
        """Return what the helper finds on a page, or in a file such as a PDF. Raises ``LoadError``."""
        self._sites.forget()
        if is_document(page):
            page = replace(page, transcript=self._files.read(page))
        return self._helper.assist(page)

    @cached_property
    def _helper(self) -> ApplicationAwareHelper:
        return ApplicationAwareHelper(load(*self._folders), self._sites).comparing_drafts()

    def close(self) -> None:
        """End the process that reads files such as PDF."""
        self._files.close()
