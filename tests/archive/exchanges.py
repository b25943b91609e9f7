"""Exchanges made by hand, and a writer whose ids and times are known."""

import gzip
import hashlib
import io
import itertools
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.writer import Identity, WrittenCapture
from aahcrawler.captures import ArchivedCaptures, Capture
from aahcrawler.exchange import Exchange, Truncation

STARTED = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
INFO = CrawlInfo("forums", "AAHCrawler/0.1", operator="The Archive", contact="crawl@archive.test", robots="obey")
REQUEST = b"GET /thread?id=1 HTTP/1.1\r\nHost: forum.test\r\naccept: */*\r\n\r\n"


def read_back(folder: Path, *, revisits: bool = True) -> Iterator[tuple[Capture, Exchange]]:
    """Yield the captures of a folder with what passed over the connection; the caller closes each exchange."""
    with ArchivedCaptures(folder) as source:
        for capture in source.captures():
            exchange = capture.exchange() if revisits or not capture.is_revisit else None
            if exchange is not None:
                yield capture, exchange


def places(captures: Iterable[Capture]) -> list[tuple[str, str, int]]:
    """Return what tells captures apart, as it is written and as it is read."""
    return [(each.record_id, each.place.file, each.place.offset) for each in captures]


def written_at(captures: Iterable[WrittenCapture]) -> list[tuple[str, str, int]]:
    """Return the same of what was written."""
    return [(each.record_id, each.file, each.offset) for each in captures]


def identity() -> Identity:
    numbers: Iterator[int] = itertools.count(1)
    return Identity(lambda: f"urn:uuid:00000000-0000-4000-8000-{next(numbers):012d}", lambda: STARTED)


def chunked(payload: bytes, size: int = 7) -> bytes:
    pieces = (payload[at : at + size] for at in range(0, len(payload), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def response_bytes(body: bytes, *, chunk: bool = False, coded: bool = False) -> tuple[bytes, bytes]:
    """Return what passes over the wire, and the payload after transfer decoding."""
    payload = gzip.compress(body, mtime=0) if coded else body
    head = b"HTTP/1.1 200 OK\r\ncontent-TYPE: text/html\r\nX-Twice: a\r\nx-twice:  b\r\n"
    head += b"Content-Encoding: gzip\r\n" if coded else b""
    head += b"Transfer-Encoding: chunked\r\n" if chunk else b"Content-Length: %d\r\n" % len(payload)
    return head + b"\r\n" + (chunked(payload) if chunk else payload), payload


def exchange_of(
    wire: bytes | BinaryIO,
    payload: bytes = b"",
    *,
    url: str = "http://forum.test/thread?id=1",
    request: bytes = REQUEST,
    truncated: Truncation | None = None,
) -> Exchange:
    response = io.BytesIO(wire) if isinstance(wire, bytes) else wire
    size = response.seek(0, io.SEEK_END)
    response.seek(0)
    return Exchange(
        url=url,
        method="GET",
        request=request,
        response=response,
        response_size=size,
        payload_digest=hashlib.sha1(payload, usedforsecurity=False).digest(),
        ip_address="192.0.2.7",
        started_at=STARTED,
        truncated=truncated,
    )


def page_exchange(body: bytes = b"<p>Hello</p>", *, chunk: bool = False, coded: bool = False) -> Exchange:
    wire, payload = response_bytes(body, chunk=chunk, coded=coded)
    return exchange_of(wire, payload)
