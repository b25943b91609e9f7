"""Makes rows of the history of captures, and captures of its rows."""

import hashlib
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

from aahcrawler.archive.history_record import Former, HistoryRecord
from aahcrawler.archive.ledger import Ledger, Row, key_of
from aahcrawler.archive.records import warc_date

EMPTY = hashlib.sha1(usedforsecurity=False).digest()
"""The digest of an empty payload."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_URN = "urn:uuid:"


def microseconds(moment: datetime) -> int:
    """Return a time as the history has it: in microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def row_seen_again(ledger: Ledger, row: Row) -> Row | None:
    """Return the row of a payload that was seen before; None where there is nothing to be known from that."""
    unmodified = row.status == HTTPStatus.NOT_MODIFIED
    for former in ledger.same(row.url, row.digest):
        if not unmodified and former.status != row.status:
            continue
        later = row.date - former.date
        if later < former.later:
            return None
        again = former._replace(
            current=1,
            crawl=row.crawl,
            later=later,
            etag=row.etag or former.etag,
            modified=row.modified or former.modified,
        )
        if row.document is not None:
            again = again._replace(
                document=row.document,
                document_file=row.file if row.file != former.file else None,
                document_of=row.record,
            )
        if row.metadata is None:
            return again
        return again._replace(
            page=row.page,
            terminal=row.terminal,
            depth=row.depth,
            relevant=row.relevant,
            priority=row.priority,
            score=row.score,
            metadata=row.metadata,
            metadata_file=row.file if row.file != former.file else None,
            answer=row.record,
        )
    is_known = not unmodified and row.digest is not None and ledger.first(row.digest) is not None
    return row if is_known else None


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


def former_of(ledger: Ledger, row: Row | None) -> Former | None:
    """Return what a row tells of a former capture; None for None, and where nothing holds its payload any more."""
    if row is None:
        return None
    holder = row if row.own or row.digest is None else ledger.first(row.digest)
    if holder is None:
        return None
    return Former(
        url=row.url,
        record_id=urn_of(holder.record),
        original_url=holder.url,
        warc_date=warc_date(moment_at(holder.date)),
        digest=row.digest or EMPTY,
        file=ledger.name_of(holder.file),
        offset=holder.offset,
        status=row.status,
        complete=bool(row.complete),
        etag=row.etag or "",
        last_modified=row.modified or "",
        metadata_file=ledger.name_of(row.metadata_file or row.file),
        metadata_offset=row.metadata,
        metadata_of=urn_of(row.answer or row.record),
        document_file=ledger.name_of(row.document_file or row.file),
        document_offset=row.document,
        document_of=urn_of(row.document_of or row.record),
        kind="page" if row.page else "requisite",
        priority=row.priority,
        score=row.score,
        relevant=None if row.relevant is None else bool(row.relevant),
        crawl=row.crawl,
        last_seen=moment_at(row.date + row.later),
        chunked=bool(holder.chunked),
        terminal=bool(row.terminal),
        depth=row.depth,
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
