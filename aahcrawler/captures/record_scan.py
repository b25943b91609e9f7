"""Scan a WARC file once, yielding each response with the places and header values of its records."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from fastwarc.warc import ArchiveIterator, WarcHeader, WarcRecord, WarcRecordType

from aahcrawler.archive.payload import status_of
from aahcrawler.archive.records import DOM, SESSION, SHOWN_ON
from aahcrawler.archive.scanning import Member, members, record_date
from aahcrawler.page import Headers
from aahcrawler.page.onward import location
from aahcrawler.segments import SegmentError, open_segment

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_HEAD: Final = 1 << 16
_INFO: Final = 1 << 20
_MAX_METHOD_LENGTH: Final = 64
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_LOCATION: Final = re.compile(rb"\nlocation[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
_CRAWL: Final = re.compile(rb"^crawl-number[ \t]*:[ \t]*(\d{1,9})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_RESPONSES: Final = int(WarcRecordType.response | WarcRecordType.revisit)
_LEADING: Final = int(_RESPONSES | WarcRecordType.warcinfo)
_OWN_FIELDS: Final = frozenset({SESSION, SHOWN_ON})
_CONCURRENT, _RECORD_ID = WarcHeader.WARC_CONCURRENT_TO, WarcHeader.WARC_RECORD_ID


class ResponseRecord(NamedTuple):
    """A response or revisit record with the places of the records that belong to it.

    ``at`` is its WARC-Date in microseconds since 1970; ``end`` is the offset after its last record. ``refers`` is the
    id of the record to which a revisit refers; ``refers_url`` and ``refers_at`` are the URL and date of that record.
    ``request``, ``metadata`` (the first) and ``document`` are the offsets of the gzip members of these records; None
    for missing ones. ``crawl`` is the number that the file's warcinfo record gives, 0 if none; ``warcinfo`` is the id
    of the warcinfo record that the response names.
    """

    begin: int
    end: int
    at: int
    id: str
    url: str
    is_revisit: bool
    method: str
    status: int
    location: str
    refers: str
    refers_url: str
    refers_at: int | None
    session: str
    shown_on: str
    warcinfo: str
    crawl: int
    request: int | None
    metadata: int | None
    document: int | None


class Info(NamedTuple):
    """A warcinfo record: its id, and the range of bytes of its gzip member."""

    id: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in a file that cannot be read, and the reason."""

    path: Path
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: cannot be read at byte {self.offset} ({self.reason})"


def refuse(damage: Damage) -> None:
    """Raise ``SegmentError`` for a damaged place."""
    where = f"{damage.reason}, at byte {damage.offset}"
    raise SegmentError(f"{damage.path}: is not a readable WARC file ({where}). Restore it from a copy.")


def scanned(path: Path, begin: int, damaged: Callable[[Damage], object]) -> Iterator[ResponseRecord | Info]:
    """Yield the responses and warcinfo records of a file in order, from the member at ``begin`` on.

    A file that is being written, or whose writer died, is read up to its last whole record. ``damaged`` is called for
    each place that cannot be read; unless it raises, scanning continues behind that place. Raises ``OSError``.
    """
    with open_segment(path) as stream:
        scan = _Scan(path, stream, damaged)
        resumed: int | None = begin
        while resumed is not None:
            yield from scan.run(resumed)
            resumed = scan.resumed


class _Scan:
    """A scan in progress: the current group of records, and where to resume after damage."""

    def __init__(self, path: Path, stream: BinaryIO, damaged: Callable[[Damage], object]) -> None:
        self.resumed: int | None = None
        self._path, self._stream, self._damaged = path, stream, damaged
        self._group = _Group()
        self._crawl: int | None = None

    def run(self, begin: int) -> Iterator[ResponseRecord | Info]:
        """Yield the records up to the file's end or the first damage; then ``resumed`` says where to continue."""
        self.resumed = None
        if self._crawl is None:
            self._crawl = _crawl_of(self._stream) if begin else 0
        self._stream.seek(begin)
        last: int | None = None
        try:
            for record in ArchiveIterator(self._stream, parse_http=False):
                begin, kind = record.stream_pos, record.record_type
                if last is not None and begin <= last:
                    reason = "its records are no gzip members of their own; write it anew with one for each"
                    self._damaged(Damage(self._path, last, reason))
                    return
                last = begin
                if kind & _LEADING or not self._group.takes(record, kind, begin):
                    yield from self._group.done(begin)
                    self._lead(record, kind, begin)
        except (OSError, ValueError) as error:
            at = self._find_next(begin, last, str(error))
            if self.resumed is None:
                yield from self._group.done(at)
            return
        yield from self._ended(begin if last is None else last)

    def _lead(self, record: WarcRecord, kind: WarcRecordType, begin: int) -> None:
        """Begin a new group if the record is a response or warcinfo record."""
        if kind == WarcRecordType.warcinfo:
            self._crawl = _crawl_in(record)
            self._group.begin_info(record, begin)
        elif kind & _RESPONSES:
            at = _microseconds(record.headers.get(WarcHeader.WARC_DATE) or "")
            if at is None:
                self._damaged(Damage(self._path, begin, "its WARC-Date is no time in UTC"))
            else:
                self._group.begin_response(record, begin, at, self._crawl or 0)

    def _ended(self, last: int) -> Iterator[ResponseRecord | Info]:
        """Yield the last group of a file, leaving out a torn last record."""
        end = _end(self._stream, last)
        if end is None:
            self._group.forget(last)
        yield from self._group.done(last if end is None else end)

    def _find_next(self, begin: int, last: int | None, reason: str) -> int:
        """Decide where to resume after an error; return where the damage begins, or may begin.

        Scanning resumes at the member after the last whole record, or else at the first one after the damage.
        """
        end = None if last is None else _end(self._stream, last)
        if end is not None:
            self.resumed = end
            return end
        at = begin if last is None else last
        self._group.forget(at)
        self._damaged(Damage(self._path, at, reason))
        following = members(self._stream, at)
        next(following, None)
        found = next(following, None)
        self.resumed = None if found is None else found.offset
        return at


class _Group:
    """A response or a warcinfo record, and the records after it that belong to it."""

    def __init__(self) -> None:
        self._begin = 0
        self._info = ""
        self._response = ""
        self._named = ""
        self._told: tuple[tuple[object, ...], tuple[object, ...]] | None = None
        self._method = "GET"
        self._request: int | None = None
        self._metadata: int | None = None
        self._document: int | None = None
        self._asked_before: tuple[str, str, int] | None = None

    def begin_info(self, record: WarcRecord, begin: int) -> None:
        """Begin with a warcinfo record."""
        self._begin, self._info = begin, _id(record.headers.get(_RECORD_ID))

    def begin_response(self, record: WarcRecord, begin: int, at: int, crawl: int) -> None:
        """Begin the group of a response; its request record may have come before."""
        get, block = record.headers.get, record.reader.read(_HEAD)
        is_revisit = record.record_type == WarcRecordType.revisit
        url, status = _id(get(WarcHeader.WARC_TARGET_URI)), status_of(block) or 0
        redirected = _location(url, status, block) if 300 <= status < 400 else ""
        refers: tuple[str, str, int | None] = "", "", None
        if is_revisit:
            named, named_url = get(WarcHeader.WARC_REFERS_TO), get(WarcHeader.WARC_REFERS_TO_TARGET_URI)
            refers = _id(named), _id(named_url), _microseconds(get(WarcHeader.WARC_REFERS_TO_DATE) or "")
        self._begin = begin
        self._named = get(_RECORD_ID) or ""
        self._response = _id(self._named)
        # FastWARC takes longer to find one field by name than to return all of them.
        own = {name: value for name, value in record.headers.to_tuples() if name in _OWN_FIELDS}
        session, shown_on = own.get(SESSION, ""), own.get(SHOWN_ON)
        beside = session, _id(shown_on), _id(get(WarcHeader.WARC_WARCINFO_ID)), crawl
        # In the order of the fields of a response, up to its method, and from its status on.
        self._told = (at, self._response, url, is_revisit), (status, redirected, *refers, *beside)
        if self._asked_before is not None and self._asked_before[0] == self._response:
            _, self._method, self._request = self._asked_before

    def takes(self, record: WarcRecord, kind: WarcRecordType, begin: int) -> bool:
        """Add a record if it belongs to the response; return whether it does."""
        is_own = bool(self._response) and self._names(record, kind)
        if kind == WarcRecordType.request:
            method = record.reader.read(_MAX_METHOD_LENGTH).split(b" ", 1)[0].decode("latin-1")
            if is_own:
                self._method, self._request = method, begin
            else:
                self._asked_before = _id(record.headers.get(_CONCURRENT)), method, begin
        elif is_own and kind == WarcRecordType.metadata:
            self._metadata = begin if self._metadata is None else self._metadata
        elif is_own and _id(record.headers.get(WarcHeader.WARC_TARGET_URI)).startswith(DOM):
            self._document = begin if self._document is None else self._document
        return is_own

    def _names(self, record: WarcRecord, kind: WarcRecordType) -> bool:
        """Return whether a record's header says that it belongs to the response."""
        first = record.headers.get(_CONCURRENT)
        if first is None:
            refers = record.headers.get(WarcHeader.WARC_REFERS_TO)
            return kind == WarcRecordType.metadata and _id(refers) == self._response
        return first == self._named or self._response in map(_id, record.headers.get_multiple(_CONCURRENT))

    def forget(self, place: int) -> None:
        """Remove the record at a place that cannot be read."""
        if place == self._begin:
            self._told, self._response, self._info = None, "", ""
        self._request, self._metadata, self._document = (
            None if begin == place else begin for begin in (self._request, self._metadata, self._document)
        )

    def done(self, end: int) -> Iterator[ResponseRecord | Info]:
        """Yield the finished group, which ends at ``end``, and begin a new one."""
        if self._info:
            yield Info(self._info, self._begin, end)
        if self._told is not None:
            former, later = self._told
            places = self._request, self._metadata, self._document
            yield ResponseRecord._make((self._begin, end, *former, self._method, *later, *places))
        self._info, self._response, self._told, self._method = "", "", None, "GET"
        self._request = self._metadata = self._document = None


def _location(url: str, status: int, block: bytes) -> str:
    """Return the URL to which a redirect leads; empty if it gives no URL."""
    end = _HEAD_END.search(block)
    field = _LOCATION.search(block[: end.end()] if end else block)
    return location(url, status, Headers((("Location", field[1].decode("latin-1")),))) or "" if field else ""


def _crawl_of(stream: BinaryIO) -> int:
    """Return the number of the crawl that the first record of a file gives."""
    stream.seek(0)
    with suppress(OSError, ValueError):
        for record in ArchiveIterator(stream, parse_http=False):
            return _crawl_in(record) if record.record_type == WarcRecordType.warcinfo else 0
    return 0


def _crawl_in(warcinfo: WarcRecord) -> int:
    found = _CRAWL.search(warcinfo.reader.read(_INFO))
    return int(found[1]) if found else 0


def _end(stream: BinaryIO, begin: int) -> int | None:
    """Return the offset after the gzip member at ``begin``; None if it is torn."""
    member = Member(stream, begin)
    return member.end if member.is_whole() else None


def _microseconds(date: str) -> int | None:
    try:
        return (datetime.fromisoformat(date) - EPOCH) // _MICROSECOND
    except (ValueError, TypeError):  # It is coarse, says no zone, or is none.
        found = record_date(date)
        return None if found is None else (found - EPOCH) // _MICROSECOND


def _id(named: str | None) -> str:
    return named.strip("<>") if named else ""
