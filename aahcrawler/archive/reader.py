"""Reads captures back from the WARC files that ``WarcWriter`` wrote."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from aahcrawler.archive.records import unlabelled_digest
from aahcrawler.archive.resources import DOCUMENT_URL, DOM, LONGEST_DOM, MADE_OF, KeptResource
from aahcrawler.archive.writer import Capture
from aahcrawler.exchange import Exchange, Rendered, Truncation
from aahcrawler.layout import WARC
from aahcrawler.metadata import MEDIA_TYPE
from aahcrawler.posted_forms import posted_by
from aahcrawler.segments import OPEN, SegmentError, open_segment, segments

_PIECE = 1 << 18
_IN_MEMORY = 1 << 20
_ANSWERS = (WarcRecordType.response, WarcRecordType.revisit)
_BESIDE = WarcRecordType.request | WarcRecordType.metadata | WarcRecordType.resource
_WANTED = WarcRecordType.response | WarcRecordType.revisit | _BESIDE


def captures(folder: Path, *, revisits: bool = False) -> Iterator[tuple[Capture, Exchange]]:
    """Yield each response of a folder of WARC files with the request that follows it, in the order of capture.

    Files still being written are read up to their last complete record. Responses of more than 1 MiB lie on disk; the
    caller closes each exchange. What a browser made of a page comes with it. A response without its request has an
    empty ``request`` and method ``GET``. Revisits hold no payload, and the responses they refer to are yielded at their
    own places: they are left out unless asked for, and then come with the content of their records. Raises
    ``SegmentError`` for a file that cannot be read.
    """
    for path in segments(folder, WARC):
        file = path.name.removesuffix(OPEN)
        try:
            with open_segment(path) as stream:
                for capture, exchange in _together(file, stream):
                    if capture.revisit and not revisits:
                        exchange.close()
                    else:
                        yield capture, exchange
        except (OSError, ValueError) as error:
            raise SegmentError(f"{path}: is not a readable WARC file ({error}). Restore it from a copy.") from error


def pages(folder: Path) -> Iterator[tuple[Capture, Exchange]]:
    """Yield the captures that show what there is at their URLs, as ``captures`` does: what was got, or sent by a form.

    A revisit is among them where a browser made something of the page, as it does not look like the others then.
    """
    for capture, exchange in captures(folder, revisits=True):
        got = exchange.method == "GET" or posted_by(exchange.url) is not None
        if got and (not capture.revisit or exchange.rendered is not None):
            yield capture, exchange
        else:
            exchange.close()


def revisits(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the id of each revisit record of a folder of WARC files, and of the record that it refers to.

    Raises ``SegmentError`` for a file that cannot be read.
    """
    for path in segments(folder, WARC):
        try:
            with open_segment(path) as stream:
                for record in ArchiveIterator(stream, record_types=WarcRecordType.revisit, parse_http=False):
                    yield _named(record, "WARC-Record-ID"), _named(record, "WARC-Refers-To")
        except (OSError, ValueError) as error:
            raise SegmentError(f"{path}: is not a readable WARC file ({error}). Restore it from a copy.") from error


def _together(file: str, stream: BinaryIO) -> Iterator[tuple[Capture, Exchange]]:
    """Yield each answer when the next one comes: its related records stand between them."""
    last: tuple[Capture, Exchange] | None = None
    try:
        for record in ArchiveIterator(stream, record_types=_WANTED, parse_http=False):
            if record.record_type in _ANSWERS:
                if last is not None:
                    answer, last = last, None
                    yield answer
                last = _answer(record, file)
            elif last is not None and _named(record, "WARC-Concurrent-To") == last[0].record_id:
                last = _with_record(*last, record)
        if last is not None:
            answer, last = last, None
            yield answer
    finally:
        if last is not None:
            last[1].close()


def _with_record(capture: Capture, exchange: Exchange, record: WarcRecord) -> tuple[Capture, Exchange]:
    """Return an answer with its request, with what a browser made of it, or with where its metadata are."""
    if record.record_type == WarcRecordType.request:
        return capture, _with_request(exchange, record.reader.read())
    if record.record_type == WarcRecordType.resource:
        return _with_resource(capture, exchange, record)
    is_ours = capture.metadata_offset is None and record.headers.get("Content-Type") == MEDIA_TYPE
    return (replace(capture, metadata_offset=record.stream_pos), exchange) if is_ours else (capture, exchange)


def _answer(record: WarcRecord, file: str) -> tuple[Capture, Exchange]:
    url = _named(record, "WARC-Target-URI")
    is_revisit = record.record_type == WarcRecordType.revisit
    date = record.record_date.astimezone(UTC)
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
        payload_digest=unlabelled_digest(record.headers.get("WARC-Payload-Digest") or ""),
        ip_address=record.headers.get("WARC-IP-Address") or "",
        started_at=date,
        # What a revisit leaves out has not been lost.
        truncated=None if is_revisit else _truncation(record.headers.get("WARC-Truncated") or ""),
    )
    refers_to = _named(record, "WARC-Refers-To") if is_revisit else ""
    capture = Capture(
        _named(record, "WARC-Record-ID"), url, date, file, offset, revisit=is_revisit, refers_to=refers_to
    )
    return capture, exchange


def _truncation(reason: str) -> Truncation | None:
    """Return why a response is short; other software may know other reasons."""
    try:
        return Truncation(reason.lower()) if reason else None
    except ValueError:
        return Truncation.UNSPECIFIED


def _with_request(exchange: Exchange, request: bytes) -> Exchange:
    return replace(exchange, method=request.split(b" ", 1)[0].decode("latin-1"), request=request)


def _with_resource(capture: Capture, exchange: Exchange, record: WarcRecord) -> tuple[Capture, Exchange]:
    kept = KeptResource(_named(record, "WARC-Record-ID"), _named(record, "WARC-Target-URI"), record.stream_pos)
    capture = replace(capture, resources=(*capture.resources, kept))
    if not kept.target.startswith(DOM) or exchange.rendered is not None:
        return capture, exchange
    dom = record.reader.read(LONGEST_DOM + 1)
    if len(dom) > LONGEST_DOM:
        return capture, exchange
    made_of = tuple((record.headers.get(MADE_OF) or "").split())
    rendered = Rendered(dom, record.headers.get(DOCUMENT_URL) or "", kept.record_id, made_of)
    return capture, replace(exchange, rendered=rendered)


def _named(record: WarcRecord, field: str) -> str:
    return (record.headers.get(field) or "").strip("<>")
