"""Reading back from WARC files what ``WarcWriter`` was given."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from aahcrawler.archive.index import EXTENSION
from aahcrawler.archive.writer import Capture
from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.segments import OPEN, SegmentError, open_segment, segments

_PIECE = 1 << 18
_IN_MEMORY = 1 << 20


def captures(folder: Path) -> Iterator[tuple[Capture, Exchange]]:
    """Yield each response of a folder of WARC files with the request that follows it, in the order of capture.

    Files still being written are read up to their last complete record. Responses of more than 1 MiB lie on disk;
    whoever takes an exchange closes it. A response without its request has an empty ``request`` and method ``GET``.
    Raises ``SegmentError`` for a file that cannot be read.
    """
    for path in segments(folder, EXTENSION):
        file = path.name.removesuffix(OPEN)
        try:
            with open_segment(path) as stream:
                yield from _paired(file, stream)
        except (OSError, ValueError) as error:
            raise SegmentError(f"{path}: is not a readable WARC file ({error}). Restore it from a copy.") from error


def _paired(file: str, stream: BinaryIO) -> Iterator[tuple[Capture, Exchange]]:
    waiting: list[tuple[Capture, Exchange]] = []
    wanted = WarcRecordType.response | WarcRecordType.request
    try:
        for record in ArchiveIterator(stream, record_types=wanted, parse_http=False):
            if record.record_type == WarcRecordType.response:
                waiting.append(_response(record, file))
                if len(waiting) > 1:
                    yield waiting.pop(0)
            elif waiting and _named(record, "WARC-Concurrent-To") == waiting[0][0].record_id:
                capture, exchange = waiting.pop()
                yield capture, _with_request(exchange, record.reader.read())
        if waiting:
            yield waiting.pop()
    finally:
        for _, exchange in waiting:
            exchange.close()


def _response(record: WarcRecord, file: str) -> tuple[Capture, Exchange]:
    url = record.headers.get("WARC-Target-URI") or ""
    date = record.record_date.astimezone(UTC)
    truncated = record.headers.get("WARC-Truncated")
    offset = record.stream_pos
    body = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - whoever takes the exchange closes it
    while piece := record.reader.read(_PIECE):
        body.write(piece)
    size = body.tell()
    body.seek(0)
    exchange = Exchange(
        url=url,
        method="GET",
        request=b"",
        response=cast("BinaryIO", body),
        response_size=size,
        payload_digest=_digest(record.headers.get("WARC-Payload-Digest") or ""),
        ip_address=record.headers.get("WARC-IP-Address") or "",
        started_at=date,
        truncated=Truncation(truncated) if truncated else None,
    )
    return Capture(_named(record, "WARC-Record-ID"), url, date, file, offset), exchange


def _with_request(exchange: Exchange, request: bytes) -> Exchange:
    return replace(exchange, method=request.split(b" ", 1)[0].decode("latin-1"), request=request)


def _named(record: WarcRecord, field: str) -> str:
    return (record.headers.get(field) or "").strip("<>")


def _digest(label: str) -> bytes:
    try:
        return base64.b32decode(label.removeprefix("sha1:"))
    except binascii.Error:
        return b""
