"""Indexes the records of a crawl's WARC files on disk: a crawl may have more records than memory has room for."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from fastwarc.warc import ArchiveIterator, WarcRecord

from aahcrawler import metadata
from aahcrawler.archive.gzip_members import Member, MemberError
from aahcrawler.archive.record_access import LONGEST_METADATA
from aahcrawler.archive.records import SESSION, SHOWN_ON
from aahcrawler.archive.resources import DOCUMENT_URL, DOM, LONGEST_DOM
from aahcrawler.exchange import Exchange, Rendered, Truncation
from aahcrawler.layout import WARC
from aahcrawler.metadata import MEDIA_TYPE, Metadata, MetadataError
from aahcrawler.page import Headers, Page
from aahcrawler.page.onward import location
from aahcrawler.segments import SegmentError, open_segment, segments
from aahcrawler.wire.replay import PAGE_BYTES, replayed

_HEAD = 1 << 16
_PIECE = 1 << 20
_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"HTTP/[\d.]+[ \t]+(\d{3})")
_LOCATION = re.compile(rb"\nlocation[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
_SCHEMA = """
CREATE TABLE record (
  place INTEGER PRIMARY KEY, file INTEGER, begin INTEGER, end INTEGER, kind TEXT, id TEXT, url TEXT,
  date TEXT, beside TEXT, refers TEXT, refers_url TEXT, refers_date TEXT, warcinfo TEXT, target TEXT,
  session TEXT, shown_on TEXT, taken INTEGER DEFAULT 0
);
CREATE INDEX by_id ON record (id);
CREATE INDEX by_url ON record (url);
CREATE INDEX by_beside ON record (beside);
CREATE INDEX by_target ON record (target);
CREATE INDEX by_page ON record (shown_on) WHERE shown_on <> '';
CREATE INDEX by_taken ON record (place) WHERE taken;
"""
_INSERT = (
    "INSERT INTO record (file, begin, end, kind, id, url, date, beside, refers, refers_url, refers_date, warcinfo,"
    " target, session, shown_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ORIGINAL = """
SELECT original.id FROM record JOIN record AS original ON original.kind IN ('response', 'resource')
WHERE record.id = ? AND record.kind = 'revisit'
AND (original.id = record.refers
     OR record.refers = '' AND original.url = record.refers_url AND original.date = record.refers_date)
LIMIT 1
"""
_DOCUMENTS = """
SELECT beside, file, begin FROM record
WHERE url = ?1 AND kind = 'resource' AND (beside = ?2 OR place < (SELECT place FROM record WHERE id = ?2))
ORDER BY beside = ?2 DESC, place DESC LIMIT 20
"""

_Row = tuple[int, int, int, str, str, str, str, str, str, str, str, str, str, str, str]


class Records:
    """The records of the WARC files of a folder, in their order, with a mark on those taken.

    Torn files, and those still being written, are read up to their last complete record. The index is a temporary file
    that is removed with this object. Raises ``SegmentError`` for a file that cannot be read or whose records are no
    gzip members of their own.

    Unless ``with_sessions``, captures that were made while their site knew the crawl are left aside by ``take``.
    """

    def __init__(self, folder: Path, seen: Callable[[], object], *, with_sessions: bool = True) -> None:
        self._with_sessions = with_sessions
        self._files = segments(folder, WARC)
        self._known = sqlite3.connect("")
        self._known.executescript(_SCHEMA)
        for number, path in enumerate(self._files):
            self._known.executemany(_INSERT, _scanned(number, path, seen))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._known.close()

    def take(self, ids: Iterable[str]) -> Iterator[str]:
        """Take captures, each with its request and dependent records; yield those that were not taken yet.

        With a revisit, the capture that holds its payload is taken as well.
        """
        for capture in ids:
            if not self.leaves_aside(capture):
                yield from self._take(capture)

    def leaves_aside(self, capture: str) -> bool:
        """Return whether a capture is not taken for how it was made, or the one that holds its payload was."""
        if self._with_sessions or not capture:
            return False
        found = self._one("SELECT session FROM record WHERE id = ?", capture)
        return bool(found and found[0]) or self.leaves_aside(self.original(capture))

    def _take(self, capture: str) -> Iterator[str]:
        found = self._one("SELECT place, warcinfo FROM record WHERE id = ? AND NOT taken", capture)
        if found is None:
            return
        place, warcinfo = found
        self._known.execute("UPDATE record SET taken = 1 WHERE place = ?", (place,))
        self._known.execute("UPDATE record SET taken = 1 WHERE beside = ?", (capture,))
        self._known.execute("UPDATE record SET taken = 1 WHERE id = ? AND kind = 'warcinfo'", (warcinfo,))
        yield capture
        if original := self.original(capture):
            yield from self._take(original)

    def original(self, capture: str) -> str:
        """Return the capture that holds the payload of a revisit; empty for other captures, and where it is missing."""
        found = self._one(_ORIGINAL, capture)
        return str(found[0]) if found else ""

    def at(self, address: str) -> list[str]:
        """Return the captures of a URL, in their order."""
        return self._ids("SELECT id FROM record WHERE url = ? AND kind IN ('response', 'revisit')", address)

    def shown_on(self, address: str) -> list[str]:
        """Return the captures of what a browser asked for on a page, in their order."""
        return self._ids("SELECT id FROM record WHERE shown_on = ? AND shown_on <> '' ORDER BY place", address)

    def leading_to(self, address: str) -> list[tuple[str, str]]:
        """Return the captures of redirects to a URL, and the URLs redirected."""
        rows = self._known.execute("SELECT id, url FROM record WHERE target = ? AND url <> target", (address,))
        return [(str(capture), str(url)) for capture, url in rows.fetchall()]

    def targets(self, address: str) -> list[str]:
        """Return the redirect targets of the captures of a URL."""
        return self._ids("SELECT DISTINCT target FROM record WHERE url = ? AND target <> ''", address)

    def target_of(self, capture: str) -> str:
        """Return the redirect target of a capture; empty when it is no redirect."""
        found = self._one("SELECT target FROM record WHERE id = ?", capture)
        return str(found[0]) if found else ""

    def page(self, capture: str) -> Page | None:
        """Return the page of a capture as it was read, for a revisit of its original; None where it cannot be read.

        A revisit beside which no document of a browser is has that which was last made of its payload at its URL.
        """
        named = self._one("SELECT url FROM record WHERE id = ?", capture)
        found = self._one(
            "SELECT file, begin FROM record WHERE id = ? AND kind = 'response'", self.original(capture) or capture
        )
        if found is None or named is None:
            return None
        with self._record(*found) as record:
            exchange = _exchange(record, named[0])
        return replayed(replace(exchange, rendered=self._rendered(capture, named[0])))

    def _rendered(self, capture: str, url: str) -> Rendered | None:
        """Return the document that a browser made of a page, None where none did."""
        payload = self.original(capture)
        for beside, number, begin in self._known.execute(_DOCUMENTS, (f"{DOM}{url}", capture)).fetchall():
            if beside == capture or (payload and payload in (beside, self.original(beside))):
                with self._record(number, begin) as record:
                    dom = record.reader.read(LONGEST_DOM + 1)
                    named = record.headers.get(DOCUMENT_URL) or ""
                    record_id = (record.headers.get("WARC-Record-ID") or "").strip("<>")
                return Rendered(dom, named, record_id) if len(dom) <= LONGEST_DOM else None
        return None

    @contextmanager
    def _record(self, number: int, begin: int) -> Iterator[WarcRecord]:
        """Lend the record at a place of one of the files."""
        with open_segment(self._files[number]) as stream:
            stream.seek(begin)
            yield next(iter(ArchiveIterator(stream, parse_http=False)))

    def metadata(self, capture: str) -> Metadata | None:
        """Return what the crawl understood of a capture when it was made; None where that was not kept."""
        found = self._known.execute("SELECT file, begin FROM record WHERE beside = ? AND kind = 'metadata'", (capture,))
        for number, begin in found.fetchall():
            with self._record(number, begin) as record:
                if record.headers.get("Content-Type") != MEDIA_TYPE:
                    continue
                with suppress(MetadataError):
                    return metadata.read(record.reader.read(LONGEST_METADATA))
        return None

    def taken(self, *kinds: str) -> int:
        """Count the taken records of some types."""
        marks = ", ".join("?" * len(kinds))
        found = self._one(f"SELECT COUNT(*) FROM record WHERE taken AND kind IN ({marks})", *kinds)  # noqa: S608
        return int(found[0]) if found else 0

    def copies(self) -> Iterator[bytes]:
        """Yield the taken records, compressed as they are, in the order of the archive, in pieces of bounded size."""
        opened: tuple[int, BinaryIO] | None = None
        try:
            rows = self._known.execute("SELECT file, begin, end FROM record WHERE taken ORDER BY place")
            for number, begin, end in rows:
                if opened is None or opened[0] != number:
                    if opened is not None:
                        opened[1].close()
                    opened = number, open_segment(self._files[number])
                yield from _pieces(opened[1], begin, end)
        finally:
            if opened is not None:
                opened[1].close()

    def _one(self, query: str, *values: str) -> tuple[Any, ...] | None:
        return cast("tuple[Any, ...] | None", self._known.execute(query, values).fetchone())

    def _ids(self, query: str, *values: str) -> list[str]:
        return [str(row[0]) for row in self._known.execute(query, values).fetchall()]


def _scanned(number: int, path: Path, seen: Callable[[], object]) -> Iterator[_Row]:
    """Yield the index rows of a file's records; a record ends where the next one begins."""
    try:
        with open_segment(path) as stream:
            last: tuple[int, tuple[str, ...]] | None = None
            for record in ArchiveIterator(stream, parse_http=False):
                begin = record.stream_pos
                if last is not None:
                    yield _row(number, last, begin, path)
                last = begin, _told(record)
                seen()
            if last is not None and (end := _end(stream, last[0])) is not None:
                yield _row(number, last, end, path)
    except (OSError, ValueError) as error:
        raise SegmentError(f"{path}: is not a readable WARC file ({error}). Restore it from a copy.") from error


def _end(stream: BinaryIO, begin: int) -> int | None:
    """Return the end of a file's last record, None where it is torn."""
    member = Member(stream, begin)
    try:
        while member.read():
            pass
    except MemberError:
        return None
    return member.end


def _row(number: int, last: tuple[int, tuple[str, ...]], end: int, path: Path) -> _Row:
    begin, told = last
    if end <= begin:
        raise SegmentError(f"{path}: its records are no gzip members of their own. Write it anew with one for each.")
    return cast("_Row", (number, begin, end, *told))


def _told(record: WarcRecord) -> tuple[str, ...]:
    def named(field: str) -> str:
        return (record.headers.get(field) or "").strip("<>")

    kind = (record.headers.get("WARC-Type") or "").lower()
    url = named("WARC-Target-URI")
    target = _target(url, record.reader.read(_HEAD)) if kind in ("response", "revisit") else ""
    beside = named("WARC-Concurrent-To") or (named("WARC-Refers-To") if kind == "metadata" else "")
    refers = [named(f"WARC-Refers-To{more}") if kind == "revisit" else "" for more in ("", "-Target-URI", "-Date")]
    date = named("WARC-Date")
    shown_on = named(SHOWN_ON) if kind in ("response", "revisit") else ""
    warcinfo, session = named("WARC-Warcinfo-ID"), named(SESSION)
    return kind, named("WARC-Record-ID"), url, date, beside, *refers, warcinfo, target, session, shown_on


def _target(url: str, block: bytes) -> str:
    """Return the redirect target of a response, empty where it has none."""
    end = _HEAD_END.search(block)
    head = block[: end.end()] if end else block
    status, field = _STATUS.match(head), _LOCATION.search(head)
    if status is None or field is None:
        return ""
    return location(url, int(status[1]), Headers((("Location", field[1].decode("latin-1")),))) or ""


def _exchange(record: WarcRecord, url: str) -> Exchange:
    block = record.reader.read(2 * PAGE_BYTES)
    return Exchange(
        url=url,
        method="GET",
        request=b"",
        response=BytesIO(block),
        response_size=len(block),
        payload_digest=b"",
        ip_address="",
        started_at=record.record_date.astimezone(UTC),
        truncated=Truncation.UNSPECIFIED if record.headers.get("WARC-Truncated") else None,
    )


def _pieces(stream: BinaryIO, begin: int, end: int) -> Iterator[bytes]:
    stream.seek(begin)
    while begin < end and (piece := stream.read(min(_PIECE, end - begin))):
        begin += len(piece)
        yield piece
