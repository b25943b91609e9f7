"""Reads captures as responses, within bounds: resolves revisits to their payload, and decodes bodies."""

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

from aahcrawler.archive.index import Place
from aahcrawler.archive.payload import HttpPayload, status_of
from aahcrawler.archive.record_access import Record, RecordError, open_place, read_at, rendered_in
from aahcrawler.archive.records import DOM, is_http
from aahcrawler.archive.scanning import Header, Member, record_date, timestamp
from aahcrawler.archive.surt import surt
from aahcrawler.exchange import Rendered
from aahcrawler.layout import ARCHIVE
from aahcrawler.page import Headers, Page
from aahcrawler.page.decoding import decode_content
from aahcrawler.page.onward import location
from aahcrawler.replay.capture_lookup import CaptureLookup, Indexed, moment_of
from aahcrawler.urls import canonicalize

_ASKED_RANGE = re.compile(r"\s*bytes\s*=\s*(?:(\d{1,15})\s*-\s*(\d{0,15})|-\s*(\d{1,15}))\s*", re.IGNORECASE)


class ByteRange(NamedTuple):
    """The bytes of a response from ``begin`` up to, but not including, ``end``."""

    begin: int
    end: int

    def told(self, size: int) -> str:
        """Return the value of Content-Range for a response of ``size`` bytes.

        >>> ByteRange(2, 5).told(10)
        'bytes 2-4/10'
        """
        return f"bytes {self.begin}-{self.end - 1}/{size}"

    def cut(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the range of a response given in pieces; no more pieces are read than needed."""
        at = 0
        for piece in pieces:
            part = piece[max(self.begin - at, 0) : max(self.end - at, 0)]
            at += len(piece)
            if part:
                yield part
            if at >= self.end:
                return


def asked_range(field: str, size: int) -> ByteRange | None:
    """Return the range requested by a Range field of ``size`` bytes, an empty one where it is out of bounds.

    None where the whole has to be sent: for several ranges, and for an invalid field.

    >>> asked_range("bytes=2-", 10), asked_range("bytes=-3", 10), asked_range("bytes=2-400", 10)
    (ByteRange(begin=2, end=10), ByteRange(begin=7, end=10), ByteRange(begin=2, end=10))
    >>> asked_range("bytes=10-", 10), asked_range("bytes=5-2", 10), asked_range("bytes=0-1,4-5", 10)
    (ByteRange(begin=10, end=10), None, None)
    """
    match = _ASKED_RANGE.fullmatch(field)
    if match is None:
        return None
    if match[3] is not None:
        return ByteRange(max(size - int(match[3]), 0), size) if int(match[3]) else ByteRange(size, size)
    begin, last = int(match[1]), int(match[2]) if match[2] else size
    if last < begin and match[2]:
        return None
    return ByteRange(min(begin, size), min(last + 1, size))


_RANGE: Final = re.compile(r"\s*bytes\s+(\d{1,15})-(\d{1,15})/(\d{1,15})\s*", re.IGNORECASE)
_LENGTH: Final = re.compile(r"\d{1,15}")
_SETTLED: Final = timedelta(minutes=1)
"""How much older than the response a Last-Modified date must be to identify a version (RFC 9110, 8.8.2.2)."""


@dataclass(frozen=True, slots=True)
class CapturedPart:
    """A captured part of a file: its range ``within`` the file, which has ``size`` bytes.

    Parts with the same ``validator`` and size belong to one file.
    """

    holder: Indexed
    within: ByteRange
    size: int
    validator: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of the payload that a capture holds."""

    holder: Indexed
    taken: ByteRange

    @property
    def size(self) -> int:
        """The number of bytes in the range."""
        return self.taken.end - self.taken.begin


def part_of(status: int, headers: Headers, holder: Indexed, payload: int) -> CapturedPart | None:
    """Return which part of a file a response with ``payload`` bytes holds, None where it does not say.

    Also None where the bytes are in a content coding, since their range is not one of the file.
    """
    validator = _validator(headers)
    if not validator or any(value.strip().lower() not in ("", "identity") for value in headers.all("Content-Encoding")):
        return None
    if status == 200:
        length = headers.get("Content-Length").strip()
        if _LENGTH.fullmatch(length) is None:
            return None
        first, last, size = 0, int(length) - 1, int(length)
    else:
        match = _RANGE.fullmatch(headers.get("Content-Range")) if status == 206 else None
        if match is None:
            return None
        first, last, size = int(match[1]), int(match[2]), int(match[3])
    end = min(first + payload, last + 1)
    if not first < end <= size or payload > last + 1 - first:
        return None
    return CapturedPart(holder, ByteRange(first, end), size, validator)


def joined(parts: Sequence[CapturedPart], like: CapturedPart) -> tuple[Piece, ...]:
    """Return in order the pieces of the whole file that the part ``like`` belongs to; none where one is missing."""
    alike = [each for each in parts if (each.size, each.validator) == (like.size, like.validator)]
    pieces: list[Piece] = []
    at = 0
    while at < like.size:
        fitting = [each for each in alike if each.within.begin <= at < each.within.end]
        if not fitting:
            return ()
        best = max(fitting, key=lambda each: each.within.end)
        begin, end = best.within
        pieces.append(Piece(best.holder, ByteRange(at - begin, end - begin)))
        at = end
    return tuple(pieces)


def in_order(pieces: Sequence[tuple[Piece, Iterator[bytes]]]) -> Iterator[bytes]:
    """Yield the bytes of pieces, each given with its payload. Ends early where a payload is shorter than its piece."""
    for piece, payload in pieces:
        left = piece.size
        for found in piece.taken.cut(payload):
            left -= len(found)
            yield found
        if left:
            return


def _validator(headers: Headers) -> str:
    """Return what tells this version of the file from others at its URL; empty where no field does so reliably."""
    tag = headers.get("ETag").strip()
    if tag:
        return f"tag {tag}" if tag.startswith('"') else ""
    changed, sent = _date(headers.get("Last-Modified")), _date(headers.get("Date"))
    is_settled = changed is not None and sent is not None and sent - changed >= _SETTLED
    return f"date {changed}" if is_settled else ""


def _date(field: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(field)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else None


MAX_DECODED: Final = 1 << 26
"""The most bytes that are read of a payload in a content coding, and that are decoded from it."""
MAX_SHOWN: Final = 5_000_000
"""The most bytes of a page or style sheet that are shown. A hostile one of that size takes seconds and hundreds of
megabytes.
"""
_LOOKS = 10
"""The most captures of a URL whose records are read in search of one that can be shown."""
_MAX_PARTS = 50
"""The most captures of a URL that are examined for parts of one file."""
_MAX_SIZES = 1_000
_IN_PARTS = frozenset({HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT})
_IDENTICAL = "identical-payload-digest"
_FOLDED = re.compile(rb"\r?\n[ \t]+")


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """A capture that can be shown.

    ``record_id`` is that of its own record, without angle brackets, and ``own`` the place of that record. ``holder`` is
    the place of the payload: with ``is_revisit``, that of another capture. ``pieces`` make up the payload of a file
    that was captured in parts; they are empty where ``holder`` has the whole. ``url`` is as the record has it.
    ``location`` is the absolute URL that a redirect leads to; empty for other responses. ``whole`` is False for a part
    of a file, and where the crawl truncated the response. ``earlier`` and ``later`` are the times of the neighbouring
    captures of the URL, in 14 digits, empty where there is none.
    """

    record_id: str
    url: str
    date: datetime
    status: int
    headers: Headers
    holder: Indexed
    location: str = ""
    whole: bool = True
    is_revisit: bool = False
    earlier: str = ""
    later: str = ""
    pieces: tuple[Piece, ...] = ()
    own: Indexed | None = None

    @property
    def moment(self) -> str:
        """The date in 14 digits."""
        return moment_of(self.date)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A record's header, and the head of the HTTP message in it."""

    header: Header
    head: bytes


class RecordedResponses:
    """The responses in the archive of a crawl's folder, whose WARC files are in ``archive``. Thread-safe.

    Files and index may also be those of other programs.
    """

    def __init__(self, crawl: Path, archive: Path | None = None, lookup: CaptureLookup | None = None) -> None:
        self.archive = archive or crawl / ARCHIVE
        self.lookup = lookup or CaptureLookup(crawl)
        self._sizes: dict[Place, int] = {}

    def nearest(self, url: str, moment: str) -> RecordedResponse | None:
        """Return the response of a URL captured nearest to a time, None where none can be shown.

        A redirect from one spelling of the URL to another is skipped. For a file captured in parts, returns the whole
        where all parts are there, or one part where nothing else was captured. Raises ``NoIndexError``.
        """
        captures = self.lookup.nearest(url, moment)
        part: RecordedResponse | None = None
        for capture in captures[:_LOOKS]:
            response = self.recorded(capture)
            if response is None or _goes_round(response):
                continue
            response = self._joined(replace(response, own=capture), captures)
            if response.status != HTTPStatus.PARTIAL_CONTENT:
                return _between(response, captures)
            part = part or replace(response, whole=False)
        return None if part is None else _between(part, captures)

    def payload(self, response: RecordedResponse) -> Generator[bytes, None, bool]:
        """Yield the payload without transfer coding, but with its content codings.

        Returns whether it is whole: it ends early where the record is damaged, or the chunked coding in it is broken.
        Raises ``OSError``.
        """
        if response.pieces:
            yield from in_order([(piece, self._payload_of(piece.holder)) for piece in response.pieces])
            return True
        return (yield from self._payload_of(response.holder))

    def _payload_of(self, holder: Indexed) -> Generator[bytes, None, bool]:
        place = holder.place
        file = open_place(self.archive, place.file)
        if file is None:
            return False
        with file, suppress(RecordError):
            record = Record(Member(file, place.offset))
            http = HttpPayload() if is_http(record.header.get("Content-Type")) else None
            for piece in record.block():
                if found := piece if http is None else http.feed(piece):
                    yield found
            return http is None or http.is_whole
        return False

    def size(self, response: RecordedResponse, *, counting: bool) -> int | None:
        """Return the number of bytes that ``payload`` yields; None for a damaged record.

        Where it can only be counted, it is None unless ``counting``; counts are cached. Raises ``OSError``.
        """
        if response.pieces:
            return sum(piece.size for piece in response.pieces)
        place = response.holder.place
        if place in self._sizes:
            return self._sizes[place]
        found = read_at(self.archive, place.file, place.offset, partial(_size, counting=counting))
        if found is not None:
            if len(self._sizes) >= _MAX_SIZES:
                self._sizes.clear()
            self._sizes[place] = found
        return found

    def decoded(self, response: RecordedResponse, most: int) -> tuple[bytes, bool]:
        """Return at most ``most`` bytes of the decoded payload, and whether that is all of it."""
        coded = bytearray()
        whole = response.whole
        with closing(self.payload(response)) as pieces:
            while len(coded) <= most:
                try:
                    coded += next(pieces)
                except StopIteration as end:
                    whole = whole and end.value
                    break
            else:
                whole = False
        decoded = decode_content(bytes(coded[:most]), ", ".join(response.headers.all("Content-Encoding")), most)
        return decoded.body, whole and decoded.complete

    def page(self, response: RecordedResponse, document: Rendered | None = None) -> Page:
        """Return the response as a page, truncated where it is larger than ``MAX_SHOWN``.

        With a rendered ``document``, the page is made from that.
        """
        if document is not None:
            sent = Page(response.url, response.status, response.headers, b"", response.date)
            return sent.as_rendered(document.dom, document.document_url, MAX_SHOWN)
        body, whole = self.decoded(response, MAX_SHOWN)
        return Page(response.url, response.status, response.headers, body, response.date, whole)

    def document(self, response: RecordedResponse) -> Rendered | None:
        """Return the rendered document of a response, None for none.

        A revisit without one of its own has the last one rendered before from the same payload. Raises ``OSError`` and
        ``NoIndexError``.
        """
        for capture in self.lookup.nearest(f"{DOM}{response.url}", response.moment)[:_LOOKS]:
            opened = self._opened(capture) if capture.moment <= response.moment else None
            if opened is None:
                continue
            of = opened.header.concurrent_to
            if response.record_id in of or self._is_of_payload(response, capture, of):
                return read_at(self.archive, capture.place.file, capture.place.offset, rendered_in)
        return None

    def _is_of_payload(self, response: RecordedResponse, document: Indexed, of: tuple[str, ...]) -> bool:
        """Return whether a document was rendered from the payload of a revisit, at the URL of the revisit."""
        if not response.is_revisit:
            return False
        payload = response.holder.digest
        same = (each for each in self.lookup.nearest(response.url, document.moment) if each.moment == document.moment)
        known = (self._opened(each) for each in same if payload and each.digest == payload)
        return any(opened.header.record_id in of for opened in known if opened is not None)

    def _joined(self, response: RecordedResponse, captures: Sequence[Indexed]) -> RecordedResponse:
        """Return a response joined with the other parts of its file; unchanged where that is not possible."""
        own = self._part(response)
        if own is None:
            return response
        parts = {own: response}
        same = [each for each in captures if each.url == response.url and each.status in _IN_PARTS]
        for capture in same[:_MAX_PARTS]:
            other = self.recorded(capture)
            found = None if other is None else self._part(other)
            if other is not None and found is not None:
                parts[found] = other
        pieces = joined(tuple(parts), own)
        if not pieces:
            return response
        first = next(each for part, each in parts.items() if part.holder == pieces[0].holder)
        return replace(first, status=int(HTTPStatus.OK), whole=True, pieces=pieces)

    def _part(self, response: RecordedResponse) -> CapturedPart | None:
        """Return which part of a file a response holds; None where it is the whole, or does not say."""
        if (
            response.status not in _IN_PARTS
            or response.is_revisit
            or (response.status == HTTPStatus.OK and response.whole)
        ):
            return None
        size = self.size(response, counting=False)
        return None if size is None else part_of(response.status, response.headers, response.holder, size)

    def recorded(self, capture: Indexed) -> RecordedResponse | None:
        """Return an indexed capture as a response, None where its record, or what it refers to, cannot be read."""
        opened = self._opened(capture)
        if opened is None:
            return None
        if opened.header.get("WARC-Type").lower() != "revisit":
            return _made(opened, opened.head, capture)
        original = self._original(opened.header)
        if original is None:
            return None
        # A 304 says nothing of what is shown; the head of one with the same payload does.
        has_head = bool(opened.head) and opened.header.get("WARC-Profile").endswith(_IDENTICAL)
        return _made(opened, opened.head if has_head else original[1].head, original[0])

    def _original(self, revisit: Header) -> tuple[Indexed, _Opened] | None:
        """Return the response that a revisit refers to: by its id, or else by URL, date and digest."""
        url = revisit.get("WARC-Refers-To-Target-URI").strip("<>") or revisit.get("WARC-Target-URI").strip("<>")
        moment = timestamp(revisit.get("WARC-Refers-To-Date") or revisit.get("WARC-Date"))
        if moment is None:
            return None
        wanted = revisit.get("WARC-Refers-To").strip("<>")
        same: tuple[Indexed, _Opened] | None = None
        candidates = [found for found in self.lookup.nearest(url, moment) if not found.is_revisit]
        for capture in candidates[:_LOOKS]:
            opened = self._opened(capture)
            if opened is None:
                continue
            if opened.header.record_id == wanted:
                return capture, opened
            if same is None and capture.digest and revisit.get("WARC-Payload-Digest") == capture.digest:
                same = capture, opened
        return same

    def _opened(self, capture: Indexed) -> _Opened | None:
        """Return a capture's record up to the end of its head; None where it is gone or was replaced."""

        def opened(record: Record) -> _Opened | None:
            is_it = record.header.get("WARC-Target-URI").strip("<>") == capture.url
            return _Opened(record.header, _head_of(record)) if is_it else None

        with suppress(OSError):
            return read_at(self.archive, capture.place.file, capture.place.offset, opened)
        return None


def read_head(head: bytes) -> Headers:
    r"""Return the header fields in the head of an HTTP message; invalid lines are skipped.

    >>> read_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n").media_type
    'text/html'
    """
    fields = []
    for line in _FOLDED.sub(b" ", head).split(b"\n")[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            fields.append((name.strip().decode("latin-1"), value.strip().decode("latin-1")))
    return Headers(tuple(fields))


def _made(opened: _Opened, head: bytes, holder: Indexed) -> RecordedResponse | None:
    header = opened.header
    date = record_date(header.get("WARC-Date"))
    if date is None:
        return None
    url = header.get("WARC-Target-URI").strip("<>")
    if head:
        headers, status = read_head(head), status_of(head) or 0
    else:
        # A resource, or a response that begins with its payload.
        headers, status = Headers((("Content-Type", header.get("Content-Type")),)), 200
    target = location(url, status, headers)
    is_revisit = header.get("WARC-Type").lower() == "revisit"
    return RecordedResponse(
        header.record_id,
        url,
        date,
        status,
        headers,
        holder,
        target or "",
        not header.get("WARC-Truncated") or is_revisit,
        is_revisit,
    )


def _head_of(record: Record) -> bytes:
    if not is_http(record.header.get("Content-Type")):
        return b""
    http = HttpPayload()
    for piece in record.block():
        http.feed(piece)
        if http.head is not None:
            break
    return http.beginning


def _size(record: Record, *, counting: bool) -> int | None:
    """Return the size of a record's payload; in the chunked coding it is None unless ``counting``."""
    if not is_http(record.header.get("Content-Type")):
        return int(record.header.get("Content-Length"))
    http = HttpPayload()
    size = 0
    for piece in record.block():
        size += len(http.feed(piece))
        if http.head is not None and not http.chunked:
            return int(record.header.get("Content-Length")) - len(http.head)
        if http.chunked and not counting:
            return None
    return size


def _goes_round(response: RecordedResponse) -> bool:
    """Return whether a redirect leads to another spelling of its own URL, which would find the redirect again."""
    return bool(response.location) and surt(response.location) == surt(response.url)


def _between(response: RecordedResponse, captures: tuple[Indexed, ...]) -> RecordedResponse:
    """Return the response with the times of its neighbouring captures."""
    own = canonicalize(response.url)
    moments = sorted({capture.moment for capture in captures if canonicalize(capture.url) == own})
    earlier = [moment for moment in moments if moment < response.moment]
    later = [moment for moment in moments if moment > response.moment]
    return replace(response, earlier=earlier[-1] if earlier else "", later=later[0] if later else "")
