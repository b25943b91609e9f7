"""The record of a capture in the history, in the form in which it is stored and the form in which it is looked up."""

import hashlib
import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Literal, NamedTuple, Self

from aahcrawler.archive.payload import HEAD, AskedRequest, beginning_of, is_chunked, status_of
from aahcrawler.archive.record_access import Appended
from aahcrawler.archive.records import Original, unlabelled_digest
from aahcrawler.archive.writer import WrittenCapture
from aahcrawler.exchange import Exchange
from aahcrawler.metadata import Metadata, metadata_if_readable

Kind = Literal["page", "requisite"]
"""What a URL was fetched as; robots.txt is a requisite."""

_MAX_DEPTH = 1 << 31
_ETAG = re.compile(rb"\netag[ \t]*:[ \t]*([^\r\n]{1,1024}?)[ \t]*\r?\n", re.IGNORECASE)
_MODIFIED = re.compile(rb"\nlast-modified[ \t]*:[ \t]*([^\r\n]{1,100}?)[ \t]*\r?\n", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """A capture as it is added to the history. If the request was not a GET, ``capture.url`` encodes the request.

    ``digest`` is the SHA-1 of the payload; for a revisit, that of its original. ``etag`` and ``last_modified`` are
    copied from the response's head, empty if it has none. ``complete`` is False for a truncated response. ``priority``,
    ``score`` and ``relevant`` of page requisites are None. ``crawl`` is the number of the crawl, 0 if unknown.
    ``chunked`` says whether the response came in the chunked coding, ``terminal`` whether the page was recognised as
    one of a terminal level; ``depth`` is the number of links from a seed.
    """

    capture: WrittenCapture
    status: int
    digest: bytes
    etag: str = ""
    last_modified: str = ""
    complete: bool = True
    kind: Kind = "requisite"
    priority: float | None = None
    score: float | None = None
    relevant: bool | None = None
    crawl: int = 0
    chunked: bool = False
    terminal: bool = False
    depth: int = 0

    @classmethod
    def of(
        cls,
        capture: WrittenCapture,
        exchange: Exchange,
        crawl: int,
        *,
        original: Original | None = None,
        metadata: Metadata | None = None,
    ) -> Self:
        """Return the record of an exchange that was just written, given the arguments of the writer.

        It counts as a page if its metadata have a priority, else as a page requisite. The response is read from its
        start and stays open.
        """
        exchange.response.seek(0)
        head = beginning_of(exchange.response.read(HEAD))
        exchange.response.seek(0)
        capture = replace(capture, url=AskedRequest.read(exchange.request).url(capture.url))
        digest = original.digest if capture.revisit and original is not None else exchange.payload_digest
        return cls._made(capture, head, (digest, exchange.truncated is None, crawl), metadata)

    @classmethod
    def read(cls, found: Appended, file: str) -> Self | None:
        """Return the record made from the records in a WARC file; None if they lack anything required."""
        header = found.header
        target, date = header.get("WARC-Target-URI").strip("<>"), _moment(header.get("WARC-Date"))
        if not target or date is None or not header.record_id:
            return None
        capture = WrittenCapture(
            header.record_id,
            found.asked.url(target),
            date,
            file,
            found.offset,
            found.metadata_offset,
            header.get("WARC-Type").lower() == "revisit",
            header.get("WARC-Refers-To").strip("<>"),
            resources=found.resources,
        )
        digest = unlabelled_digest(header.get("WARC-Payload-Digest"))
        # What a revisit record leaves out is with its original.
        complete = capture.revisit or not header.get("WARC-Truncated")
        kept = cls._made(
            capture, found.http_head, (digest, complete, found.crawl), metadata_if_readable(found.metadata)
        )
        if capture.revisit and header.get("WARC-Profile").endswith("/server-not-modified"):
            # The head of a 304 is in a record of its own, which may have been cut off.
            return replace(kept, status=HTTPStatus.NOT_MODIFIED)
        return kept

    @classmethod
    def _made(
        cls, capture: WrittenCapture, head: bytes, known: tuple[bytes, bool, int], metadata: Metadata | None
    ) -> Self:
        digest, complete, crawl = known
        etag, modified = _ETAG.search(head), _MODIFIED.search(head)
        priority = _number(metadata.priority) if metadata else None
        kept = cls(
            capture,
            status_of(head) or 0,
            digest,
            etag[1].decode("latin-1") if etag else "",
            modified[1].decode("latin-1") if modified else "",
            complete,
            crawl=crawl,
            chunked=is_chunked(head),
        )
        if metadata is None or priority is None:
            return kept
        return replace(
            kept,
            kind="page",
            priority=priority,
            score=_number(metadata.score),
            relevant=None if metadata.relevant is None else bool(metadata.relevant),
            terminal=metadata.role == "terminal",
            depth=min(max(metadata.depth, 0), _MAX_DEPTH),
        )


@dataclass(frozen=True, slots=True)
class Former:
    """The newest useful capture of a URL: if possible, a complete response with status 2xx.

    ``record_id``, ``original_url``, ``warc_date``, ``file`` and ``offset`` are those of the response record with the
    payload, which may belong to another URL with the same payload; ``chunked`` says whether the payload is stored there
    in the chunked coding. The other fields are of this URL: ``status``; ``complete``, False if truncated; ``etag`` and
    ``last_modified``, empty if unknown; the place of its newest metadata record, and the id of the response described
    by it; ``crawl`` and ``last_seen``, when it last had this payload; ``terminal`` and ``depth`` as in
    ``HistoryRecord``. ``document_file`` and ``document_offset`` locate the document last rendered from this payload at
    this URL, and ``document_of`` is the id of its response; the offset is None if there is none.
    """

    url: str
    record_id: str
    original_url: str
    warc_date: str
    digest: bytes
    file: str
    offset: int
    status: int
    complete: bool
    etag: str
    last_modified: str
    metadata_file: str
    metadata_offset: int | None
    metadata_of: str
    kind: Kind
    priority: float | None
    score: float | None
    relevant: bool | None
    crawl: int
    last_seen: datetime
    chunked: bool | None = None
    terminal: bool = False
    depth: int = 0
    document_file: str = ""
    document_offset: int | None = None
    document_of: str = ""

    @property
    def rendered(self) -> bool:
        """Whether the archive holds a rendered document of the capture."""
        return self.document_offset is not None

    @property
    def original(self) -> Original:
        """The record to which a revisit record of this payload refers."""
        return Original(self.record_id, self.original_url, self.warc_date, self.digest, self.chunked)


def _moment(date: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(date)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _number(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


EMPTY = hashlib.sha1(usedforsecurity=False).digest()
"""The digest of an empty payload."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_URN = "urn:uuid:"


class Row(NamedTuple):
    """A row of ``captures``, as SQLite returns it; ``id`` is None for a row that is not in the table.

    ``own`` says whether the payload is in the record at this place, or else in the first record with its digest;
    ``digest`` is None for an empty payload; ``chunked`` says whether the response came in the chunked coding.
    ``metadata_file`` is None if it equals ``file``; ``answer``, the id of the response that the metadata describe, is
    None if it equals ``record``. ``document``, the place of the rendered document, goes with ``document_file`` and
    ``document_of`` in the same way. ``date`` is in microseconds since 1970, ``later`` how many microseconds later it
    was last seen. Flags are 0 or 1.
    """

    id: int | None
    key: int
    file: int
    offset: int
    metadata_file: int | None
    metadata: int | None
    answer: bytes | str | None
    document_file: int | None
    document: int | None
    document_of: bytes | str | None
    current: int
    own: int
    chunked: int
    status: int
    complete: int
    page: int
    terminal: int
    depth: int
    relevant: int | None
    priority: float | None
    score: float | None
    crawl: int
    date: int
    later: int
    record: bytes | str
    digest: bytes | None
    url: str
    etag: str | None
    modified: str | None

    @property
    def standing(self) -> tuple[int, int]:
        """The sort key of the rows of a URL: the greatest row is the current one."""
        return (200 <= self.status <= 299) * (1 + self.complete), self.date + self.later


def key_of(url: str) -> int:
    """Return the number by which a URL is looked up.

    Two URLs may have the same number, so URLs are compared as well.
    """
    return int.from_bytes(hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=6).digest(), "big") >> 1


def microseconds(moment: datetime) -> int:
    """Return a time in microseconds since 1970, as the history stores it."""
    return (moment - _EPOCH) // _MICROSECOND


def row_of(kept: HistoryRecord, file: int) -> Row:
    """Return the row for a capture; ``file`` is the id of its WARC file."""
    capture = kept.capture
    return Row(
        id=None,
        key=key_of(capture.url),
        file=file,
        offset=capture.offset,
        metadata_file=None,
        metadata=capture.metadata_offset,
        answer=None,
        document_file=None,
        document=None if capture.rendered is None else capture.rendered.offset,
        document_of=None,
        current=1,
        own=int(not capture.revisit),
        chunked=int(kept.chunked),
        status=kept.status,
        complete=int(kept.complete),
        page=int(kept.kind == "page"),
        terminal=int(kept.terminal),
        depth=kept.depth,
        relevant=None if kept.relevant is None else int(kept.relevant),
        priority=kept.priority,
        score=kept.score,
        crawl=kept.crawl,
        date=microseconds(capture.date),
        later=0,
        record=stored_id(capture.record_id),
        digest=None if kept.digest in {b"", EMPTY} else kept.digest,
        url=capture.url,
        etag=kept.etag or None,
        modified=kept.last_modified or None,
    )


def moment_at(stored: int) -> datetime:
    """Return the time that is this many microseconds after 1970 began."""
    return _EPOCH + timedelta(microseconds=stored)


def stored_id(record_id: str) -> bytes | str:
    """Return a record id in 16 bytes, or unchanged if it is not a UUID in the usual spelling."""
    try:
        packed = bytes.fromhex(record_id.removeprefix(_URN).replace("-", ""))
    except ValueError:
        return record_id
    return packed if len(packed) == 16 and urn_of(packed) == record_id else record_id


def urn_of(stored: bytes | str) -> str:
    """Return the record id that ``stored_id`` shortened."""
    if isinstance(stored, str):
        return stored
    text = stored.hex()
    return f"{_URN}{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
