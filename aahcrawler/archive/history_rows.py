"""The rows of the history of captures, and what they are made of."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from aahcrawler.archive.history_record import HistoryRecord

EMPTY = hashlib.sha1(usedforsecurity=False).digest()
"""The digest of an empty payload."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_URN = "urn:uuid:"


class Row(NamedTuple):
    """A row of ``captures``, as SQLite gives it; ``id`` is None for a row that is not in the table.

    ``own`` says whether the payload is in the record at this place, or else in the first with its digest; ``digest`` is
    None for an empty payload; ``chunked`` whether the answer came in the chunked coding. ``metadata_file`` is None
    where it equals ``file``; ``answer``, the id of the answer that the metadata describe, is None where it equals
    ``record``. ``document``, the place of what a browser made of an answer, goes with ``document_file`` and
    ``document_of`` in the same way. ``date`` is in microseconds since 1970, ``later`` how much later it was last seen.
    Flags are 0 or 1.
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
        """The sort key that makes the greatest row of a URL the current one."""
        return (200 <= self.status <= 299) * (1 + self.complete), self.date + self.later


def key_of(url: str) -> int:
    """Return the number under which a URL is looked up. Two URLs may share one, so they are compared too."""
    return int.from_bytes(hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=6).digest(), "big") >> 1


def microseconds(moment: datetime) -> int:
    """Return a time as the history has it: in microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def row_of(kept: HistoryRecord, file: int) -> Row:
    """Return the row of a capture as it was kept; ``file`` is the id of its WARC file."""
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
    """Return the time that the history has in microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=stored)


def stored_id(record_id: str) -> bytes | str:
    """Return a record id in 16 bytes, or unchanged where that would lose a part of it."""
    try:
        packed = bytes.fromhex(record_id.removeprefix(_URN).replace("-", ""))
    except ValueError:
        return record_id
    return packed if len(packed) == 16 and urn_of(packed) == record_id else record_id


def urn_of(stored: bytes | str) -> str:
    """Return a record id that ``stored_id`` made shorter."""
    if isinstance(stored, str):
        return stored
    text = stored.hex()
    return f"{_URN}{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
