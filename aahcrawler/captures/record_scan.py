"""Goes through the records of a WARC file once, and tells of each answer where it is and what it says of itself."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from fastwarc.warc import ArchiveIterator, WarcHeader, WarcRecord, WarcRecordType

from aahcrawler.archive.gzip_members import Member, MemberError, members
from aahcrawler.archive.payload import status_of
from aahcrawler.archive.records import SESSION, SHOWN_ON
from aahcrawler.archive.resources import DOM
from aahcrawler.archive.scanning import record_date
from aahcrawler.page import Headers
from aahcrawler.page.onward import location
from aahcrawler.segments import SegmentError, open_segment

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_HEAD: Final = 1 << 16
_INFO: Final = 1 << 20
_LONGEST_METHOD: Final = 64
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_LOCATION: Final = re.compile(rb"\nlocation[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
_CRAWL: Final = re.compile(rb"^crawl-number[ \t]*:[ \t]*(\d{1,9})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_ANSWERS: Final = WarcRecordType.response | WarcRecordType.revisit


class Answer(NamedTuple):
    """A response or revisit record with the places of the records that belong to it.

    ``at`` is its WARC-Date in microseconds since 1970. ``end`` is where its last record ends. ``refers`` is the id of
    the record that a revisit refers to, ``refers_url`` and ``refers_at`` are the URL and the date of that. ``request``,
    ``metadata`` (the first of them) and ``document`` are where the gzip members of these records begin, None where
    there are none. ``crawl`` is the number that the file's warcinfo record gives, 0 where it gives none, ``warcinfo``
    the id of the one that the answer names.
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
    """A warcinfo record: its id, and the bytes of its gzip member."""

    id: str
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in a file that cannot be read, and why."""

    path: Path
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: cannot be read at byte {self.offset} ({self.reason})"


def refuse(damage: Damage) -> None:
    """Raise a damaged place as a ``SegmentError``."""
    where = f"{damage.reason}, at byte {damage.offset}"
    raise SegmentError(f"{damage.path}: is not a readable WARC file ({where}). Restore it from a copy.")


def scanned(path: Path, begin: int, damaged: Callable[[Damage], object]) -> Iterator[Answer | Info]:
    """Yield the answers and warcinfo records of a file from the member at ``begin`` on, in their order.

    A file that is being written, or was when its writer died, is read up to its last whole record. ``damaged`` is told
    of what cannot be read; unless it raises an error, the records after it are read. Raises ``OSError``.
    """
    with open_segment(path) as stream:
        scan = _Scan(path, stream, damaged)
        resumed: int | None = begin
        while resumed is not None:
            yield from scan.run(resumed)
            resumed = scan.resumed


class _Scan:
    """A file on its way: the group of records that it is at, and where to resume after damage."""

    def __init__(self, path: Path, stream: BinaryIO, damaged: Callable[[Damage], object]) -> None:
        self.resumed: int | None = None
        self._path, self._stream, self._damaged = path, stream, damaged
        self._group = _Group()
        self._crawl: int | None = None

    def run(self, begin: int) -> Iterator[Answer | Info]:
        """Yield the records up to the file's end or the first damage, after which ``resumed`` says where to go on."""
        self.resumed = None
        if self._crawl is None:
            self._crawl = _crawl_of(self._stream) if begin else 0
        self._stream.seek(begin)
        last: int | None = None
        try:
            for record in ArchiveIterator(self._stream, parse_http=False):
                if last is not None and record.stream_pos <= last:
                    reason = "its records are no gzip members of their own; write it anew with one for each"
                    self._damaged(Damage(self._path, last, reason))
                    return
                last = record.stream_pos
                if not self._group.takes(record, last):
                    yield from self._group.done(last)
                    self._lead(record, last)
        except (OSError, ValueError) as error:
            self._find_next(begin, last, str(error))
            return
        yield from self._ended(begin if last is None else last)

    def _lead(self, record: WarcRecord, begin: int) -> None:
        """Begin the group of an answer or a warcinfo record; no other record leads one."""
        kind = record.record_type
        if kind == WarcRecordType.warcinfo:
            self._crawl = _crawl_in(record)
            self._group.begin_info(record, begin)
        elif kind & _ANSWERS:
            at = _microseconds(record.headers.get(WarcHeader.WARC_DATE) or "")
            if at is None:
                self._damaged(Damage(self._path, begin, "its WARC-Date is no time in UTC"))
            else:
                self._group.begin_answer(record, begin, at, self._crawl or 0)

    def _ended(self, last: int) -> Iterator[Answer | Info]:
        """Yield the last group of a file, without what is torn of it."""
        end = _end(self._stream, last)
        if end is None:
            self._group.forget(last)
        yield from self._group.done(last if end is None else end)

    def _find_next(self, begin: int, last: int | None, reason: str) -> None:
        """Find where to resume after an error: at the member after the last whole record, else behind the damage."""
        end = None if last is None else _end(self._stream, last)
        if end is not None:
            self.resumed = end
            return
        at = begin if last is None else last
        self._group.forget(at)
        self._damaged(Damage(self._path, at, reason))
        following = members(self._stream, at)
        next(following, None)
        found = next(following, None)
        self.resumed = None if found is None else found.offset


class _Group:
    """An answer or a warcinfo record, and the records that follow it and belong to it."""

    def __init__(self) -> None:
        self._begin = 0
        self._info = ""
        self._answer: Answer | None = None
        self._method = "GET"
        self._places: dict[str, int] = {}
        self._asked_before: tuple[str, str, int] | None = None

    def begin_info(self, record: WarcRecord, begin: int) -> None:
        """Begin with a warcinfo record."""
        self._begin, self._info = begin, _id(record.record_id)

    def begin_answer(self, record: WarcRecord, begin: int, at: int, crawl: int) -> None:
        """Begin with an answer, the request of which may have come before."""
        told = {name.lower(): value for name, value in reversed(record.headers.to_tuples())}
        is_revisit = record.record_type == WarcRecordType.revisit
        url, block = _id(told.get("warc-target-uri")), record.reader.read(_HEAD)
        status = status_of(block) or 0
        self._begin = begin
        self._answer = Answer(
            begin=begin,
            end=begin,
            at=at,
            id=_id(told.get("warc-record-id")),
            url=url,
            is_revisit=is_revisit,
            method="GET",
            status=status,
            location=_location(url, status, block),
            refers=_id(told.get("warc-refers-to")) if is_revisit else "",
            refers_url=_id(told.get("warc-refers-to-target-uri")) if is_revisit else "",
            refers_at=_microseconds(told.get("warc-refers-to-date", "")) if is_revisit else None,
            session=told.get(SESSION.lower(), ""),
            shown_on=_id(told.get(SHOWN_ON.lower())),
            warcinfo=_id(told.get("warc-warcinfo-id")),
            crawl=crawl,
            request=None,
            metadata=None,
            document=None,
        )
        if self._asked_before is not None and self._asked_before[0] == self._answer.id:
            _, self._method, self._places["request"] = self._asked_before

    def takes(self, record: WarcRecord, begin: int) -> bool:
        """Take a record that belongs to the answer, and return whether it does."""
        kind, headers = record.record_type, record.headers
        if kind & (_ANSWERS | WarcRecordType.warcinfo):
            return False
        names = list(map(_id, headers.get_multiple(WarcHeader.WARC_CONCURRENT_TO)))
        if not names and kind == WarcRecordType.metadata:
            names = [_id(headers.get(WarcHeader.WARC_REFERS_TO))]
        is_own = self._answer is not None and self._answer.id in names
        if kind == WarcRecordType.request:
            method = record.reader.read(_LONGEST_METHOD).split(b" ", 1)[0].decode("latin-1")
            if is_own:
                self._method, self._places["request"] = method, begin
            elif names:
                self._asked_before = names[0], method, begin
        elif is_own and kind == WarcRecordType.metadata:
            self._places.setdefault("metadata", begin)
        elif is_own and _id(headers.get(WarcHeader.WARC_TARGET_URI)).startswith(DOM):
            self._places.setdefault("document", begin)
        return is_own

    def forget(self, place: int) -> None:
        """Leave out the record at a place, which cannot be read."""
        if place == self._begin:
            self._answer, self._info = None, ""
        self._places = {name: begin for name, begin in self._places.items() if begin != place}

    def done(self, end: int) -> Iterator[Answer | Info]:
        """Yield what the group consists of, which ends there, and begin anew."""
        if self._info:
            yield Info(self._info, self._begin, end)
        if self._answer is not None:
            request, metadata, document = map(self._places.get, ("request", "metadata", "document"))
            yield self._answer._replace(
                end=end, method=self._method, request=request, metadata=metadata, document=document
            )
        self._info, self._answer, self._method, self._places = "", None, "GET", {}


def _location(url: str, status: int, block: bytes) -> str:
    """Return where a redirect leads, empty for other answers."""
    if not 300 <= status < 400:
        return ""
    end = _HEAD_END.search(block)
    field = _LOCATION.search(block[: end.end()] if end else block)
    return location(url, status, Headers((("Location", field[1].decode("latin-1")),))) or "" if field else ""


def _crawl_of(stream: BinaryIO) -> int:
    """Return the number that the first record of a file gives."""
    stream.seek(0)
    with suppress(OSError, ValueError):
        for record in ArchiveIterator(stream, parse_http=False):
            return _crawl_in(record) if record.record_type == WarcRecordType.warcinfo else 0
    return 0


def _crawl_in(warcinfo: WarcRecord) -> int:
    found = _CRAWL.search(warcinfo.reader.read(_INFO))
    return int(found[1]) if found else 0


def _end(stream: BinaryIO, begin: int) -> int | None:
    """Return the end of the member at a place, None where it is torn."""
    member = Member(stream, begin)
    try:
        while member.read():
            pass
    except MemberError:
        return None
    return member.end


def _microseconds(date: str) -> int | None:
    found = record_date(date)
    return None if found is None else (found - EPOCH) // _MICROSECOND


def _id(named: str | None) -> str:
    return (named or "").strip("<>")
