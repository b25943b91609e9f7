"""A line of the CDXJ index: what it says of a record that can be looked up, and how it is made from the record."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus

from aahcrawler.archive.payload import GOT, AskedRequest, key_of_url, status_of
from aahcrawler.archive.records import Fields, is_http
from aahcrawler.archive.scanning import Scanned, timestamp

INDEXED = frozenset({"response", "revisit", "resource"})
"""The types of records that can be replayed. Metadata records are about a page, and no version of it."""

_MAX_URL_LENGTH = 1 << 16
_TYPE = re.compile(rb"\ncontent-type[ \t]*:[ \t]*([^\s;,]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that can be looked up. ``url``, ``date`` and ``digest`` are as its header writes them.

    ``http_head`` is the head of the HTTP message in it. ``offset`` and ``length`` locate its gzip member. ``asked`` is
    the request that it is the response to.
    """

    kind: str
    url: str
    date: str
    digest: str
    http_head: bytes
    media_type: str
    file: str
    offset: int
    length: int
    asked: AskedRequest = GOT

    @classmethod
    def made(cls, fields: Fields, http_head: bytes, location: tuple[str, int, int]) -> "Entry":
        """Return the entry of a record with these named fields; ``location`` are its file, offset and length."""
        named = {name.lower(): value for name, value in reversed(fields)}
        file, offset, length = location
        return cls(
            kind=named.get("warc-type", "").lower(),
            url=named.get("warc-target-uri", "").strip("<>"),
            date=named.get("warc-date", ""),
            digest=named.get("warc-payload-digest", ""),
            http_head=http_head,
            media_type=named.get("content-type", ""),
            file=file,
            offset=offset,
            length=length,
        )

    @classmethod
    def of(cls, record: Scanned, file: str) -> "Entry | None":
        """Return the entry of a record, None where the record is damaged or of a type that is not indexed."""
        if record.kind not in INDEXED or not record.is_whole:
            return None
        entry = cls.made(record.header.fields, record.http_head, (file, record.offset, record.size))
        return entry if entry.is_complete else None

    @property
    def is_complete(self) -> bool:
        """Return whether the entry has a URL of an accepted length, a time, and something to replay.

        A response that ended before its head began, or a 304 that is no revisit, would only hide better captures.
        """
        is_listed = 0 < len(self.url) <= _MAX_URL_LENGTH and timestamp(self.date) is not None
        return is_listed and not (self.kind == "response" and self._is_http and self._is_void)

    @property
    def _is_http(self) -> bool:
        return is_http(self.media_type)

    @property
    def _is_void(self) -> bool:
        return not self.http_head or status_of(self.http_head) == HTTPStatus.NOT_MODIFIED

    def line(self) -> bytes:
        """Return the line of the index: key, time and JSON; unknown values are left out."""
        status = status_of(self.http_head)
        fields = {
            "url": self.url,
            "mime": self._mime(),
            "status": f"{status:03}" if status is not None else "",
            "digest": self.digest,
            "length": str(self.length),
            "offset": str(self.offset),
            "filename": self.file,
        }
        if self.asked.method != "GET":
            fields |= {"requestBody": self.asked.query, "method": self.asked.method}
        known = json.dumps({name: value for name, value in fields.items() if value})
        return f"{key_of_url(self.url, self.asked)} {timestamp(self.date)} {known}\n".encode("ascii")

    def _mime(self) -> str:
        if self.kind == "revisit":
            return "warc/revisit"
        if not self._is_http:
            return re.split(r"[;,\s]", self.media_type, maxsplit=1)[0]
        found = _TYPE.search(self.http_head)
        return found[1].decode("latin-1") if found else ""


class IndexedRecords:
    """Makes entries of the records of one file, taken in order.

    A request may come before or after its response. Records that are damaged or not indexed get no entry.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._answer: tuple[str, Entry] | None = None
        self._asked: tuple[str, tuple[str, ...], AskedRequest] | None = None

    def take(self, record: Scanned) -> Iterator[Entry]:
        """Take the next record; yield the entry of the previous response once all its records have come."""
        others = record.header.concurrent_to
        if record.kind == "request" and record.is_whole:
            asked = AskedRequest.of(record.http_head, record.body)
            self._asked = (record.header.record_id, others, asked)
            if self._answer is not None and self._answer[0] in others:
                self._answer = (self._answer[0], replace(self._answer[1], asked=asked))
        entry = Entry.of(record, self._file)
        if entry is None:
            return
        yield from self.end()
        if self._asked is not None and (self._asked[0] in others or record.header.record_id in self._asked[1]):
            entry = replace(entry, asked=self._asked[2])
        self._answer = (record.header.record_id, entry)

    def end(self) -> Iterator[Entry]:
        """Yield, at the end of the file, the last entry if it was not yielded before."""
        answer, self._answer = self._answer, None
        if answer is not None:
            yield answer[1]


@dataclass(frozen=True, slots=True)
class Place:
    """The file, the byte range and the URL that a line of the index names."""

    file: str
    offset: int
    end: int
    url: str


def place_of(line: bytes) -> Place | None:
    """Return the place that a line of the index names, None where the line cannot be read."""
    try:
        fields = json.loads(line.split(b" ", 2)[2])
        offset = int(fields["offset"])
        return Place(str(fields["filename"]), offset, offset + int(fields["length"]), str(fields.get("url", "")))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, RecursionError):
        return None
