"""Captures read from WARC records: responses, resources, and revisits combined with the records they refer to."""

import hashlib
from dataclasses import replace
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, cast

from aahcrawler.archive.payload import HEAD, HttpPayload, beginning_of, is_chunked, is_whole_head
from aahcrawler.archive.record_access import Record, exchange_in
from aahcrawler.archive.records import is_http
from aahcrawler.exchange import Exchange

_IN_MEMORY: Final = 1 << 20
_PIECE: Final = 1 << 16


def capture_in(record: Record) -> Exchange | None:
    """Return the capture in a record, which the caller closes; None if the record holds none.

    A revisit is returned without the payload it refers to (see ``shown_again``). A resource record has no HTTP head; as
    in replay, it gets status 200 and the record's media type. Raise ``RecordError``.
    """
    is_response = is_http(record.header.get("Content-Type"))
    if record.kind == "revisit" or (record.kind == "response" and is_response):
        return exchange_in(record)
    if record.kind != "resource" or is_response or "://" not in record.header.get("WARC-Target-URI")[:9]:
        return None
    kept = exchange_in(record)
    fields = {"Content-Type": record.header.get("Content-Type"), "Content-Length": str(kept.response_size)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    head = f"HTTP/1.1 {HTTPStatus.OK.value} {HTTPStatus.OK.phrase}\r\n{lines}\r\n".encode("latin-1", "replace")
    return _with_head(kept, head, kept, 0)


def shown_again(revisit: Exchange, original: Exchange) -> Exchange:
    """Return a revisit's response with the payload of its original.

    Without a head of its own it gets that of the original.
    """
    revisit.response.seek(0)
    head = beginning_of(revisit.response.read(HEAD))
    revisit.close()
    original.response.seek(0)
    first = beginning_of(original.response.read(HEAD))
    # The original's bytes are read by the head, which has to name the same transfer coding.
    is_coded_alike = is_whole_head(head) and is_whole_head(first) and is_chunked(head) == is_chunked(first)
    shown = replace(revisit, truncated=original.truncated)
    if not is_coded_alike or b" 304 " in head.split(b"\n", 1)[0]:
        return replace(shown, response=original.response, response_size=original.response_size)
    return _with_head(shown, head, original, len(first))


def _with_head(shown: Exchange, head: bytes, payload: Exchange, begin: int) -> Exchange:
    """Return an exchange with a new head, followed by the bytes of ``payload``'s response from offset ``begin``.

    ``payload`` is closed.
    """
    joined = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))  # noqa: SIM115 - whoever takes it closes it
    size = joined.write(head)
    payload.response.seek(begin)
    while piece := payload.response.read(_PIECE):
        size += joined.write(piece)
    payload.close()
    joined.seek(0)
    return replace(shown, response=joined, response_size=size)


def measured(exchange: Exchange) -> Exchange:
    """Return an exchange with head size and payload digest computed from its bytes."""
    reading, digest = HttpPayload(), hashlib.sha1(usedforsecurity=False)
    exchange.response.seek(0)
    while piece := exchange.response.read(_PIECE):
        digest.update(reading.feed(piece))
    exchange.response.seek(0)
    head_size = 0 if reading.head is None else len(reading.head)
    return replace(exchange, payload_digest=digest.digest(), head_size=head_size)
