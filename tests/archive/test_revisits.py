"""Revisit and metadata records: what they hold, what refers to what, and that readers and checks make sense of them."""

import gzip
import json
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from aahcrawler.archive.checking import Tally, check
from aahcrawler.archive.index import IndexWriter, rebuild
from aahcrawler.archive.records import Identified, Original, labelled_digest
from aahcrawler.archive.scanning import Problem
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.metadata import Link, Metadata, read_metadata, write_metadata
from aahcrawler.segments import DiskFullError
from tests.archive.exchanges import (
    INFO,
    REQUEST,
    STARTED,
    chunked,
    exchange_of,
    identity,
    page_exchange,
    places,
    read_back,
    response_bytes,
    written_at,
)
from tests.archive.test_segments import files_up_to

NOT_MODIFIED = b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nDate: today\r\n\r\n'
SAID = write_metadata(Metadata(title="Hello", links=(Link("http://forum.test/a", anchor="A", score=0.5),)))
BODY = b"<p>Hello</p>" * 9


def digest_of(data: bytes) -> bytes:
    return exchange_of(b"", data).payload_digest


def original_of(capture: WrittenCapture, exchange: Exchange, *, chunked: bool | None = None) -> Original:
    return Original(capture.record_id, capture.url, capture.warc_date, exchange.payload_digest, chunked)


def later(exchange: Exchange, days: int = 1) -> Exchange:
    return replace(exchange, started_at=STARTED + timedelta(days=days))


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("*.warc.gz")
    return path


def members_of(path: Path) -> list[bytes]:
    text = gzip.decompress(path.read_bytes())
    return [b"WARC/1.1\r\n" + part for part in text.split(b"WARC/1.1\r\n")[1:]]


def kinds(path: Path) -> list[str]:
    with path.open("rb") as file:
        return [record.rec_type for record in WarcioIterator(file)]


def test_a_revisit_of_an_identical_payload_byte_for_byte(tmp_path: Path) -> None:
    wire, payload = response_bytes(b"<p>Hello</p>")
    with WarcWriter(tmp_path, INFO, identity=identity()) as writer:
        original = Original(
            "urn:uuid:0", "http://forum.test/older", "2025-01-02T03:04:05Z", page_exchange().payload_digest
        )
        capture = writer.write(exchange_of(wire, payload), Identified("text/html"), original=original, metadata=b"{}")
    _, revisit, request, metadata = members_of(only_file(tmp_path))
    head = wire[: -len(payload)]
    assert revisit.decode().replace("\r\n", "\n") == (
        "WARC/1.1\n"
        "WARC-Type: revisit\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000002>\n"
        "WARC-Date: 2026-01-02T03:04:05.000678Z\n"
        "WARC-Target-URI: http://forum.test/thread?id=1\n"
        "WARC-IP-Address: 192.0.2.7\n"
        "WARC-Warcinfo-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\n"
        "Content-Type: application/http;msgtype=response\n"
        f"WARC-Payload-Digest: {labelled_digest(original.digest)}\n"
        "WARC-Identified-Payload-Type: text/html\n"
        "WARC-Truncated: length\n"
        "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\n"
        "WARC-Refers-To: <urn:uuid:0>\n"
        "WARC-Refers-To-Target-URI: http://forum.test/older\n"
        "WARC-Refers-To-Date: 2025-01-02T03:04:05Z\n"
        f"WARC-Block-Digest: {labelled_digest(digest_of(head))}\n"
        f"Content-Length: {len(head)}\n\n" + head.decode().replace("\r\n", "\n") + "\n\n"
    )
    assert b"WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000002>\r\n" in request
    assert metadata.decode() == "\r\n".join(
        (
            "WARC/1.1",
            "WARC-Type: metadata",
            "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000004>",
            "WARC-Date: 2026-01-02T03:04:05.000678Z",
            "WARC-Warcinfo-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
            "Content-Type: application/json",
            "WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000002>",
            "WARC-Refers-To: <urn:uuid:00000000-0000-4000-8000-000000000002>",
            f"WARC-Block-Digest: {labelled_digest(digest_of(b'{}'))}",
            "Content-Length: 2",
            "",
            "{}\r\n\r\n",
        )
    )
    assert (capture.revisit, capture.refers_to) == (True, "urn:uuid:0")


def test_a_revisit_of_what_was_not_modified_keeps_its_head_beside_it(tmp_path: Path) -> None:
    """Replay shows a revisit's head, where it has one, as that of the page; that of a 304 would hide the page."""
    with WarcWriter(tmp_path, INFO) as writer:
        first = page_exchange(BODY)
        original = original_of(writer.write(first), first)
        capture = writer.write(later(exchange_of(NOT_MODIFIED)), original=original, metadata=SAID)
    assert kinds(only_file(tmp_path))[3:] == ["revisit", "request", "metadata", "metadata"]
    with only_file(tmp_path).open("rb") as file:
        records = {
            r.rec_headers["WARC-Record-ID"]: (r.rec_headers, r.content_stream().read()) for r in WarcioIterator(file)
        }
    header, block = records[f"<{capture.record_id}>"]
    assert block == b""
    assert header["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert header["WARC-Refers-To"] == f"<{original.record_id}>"
    assert header["WARC-Refers-To-Date"] == original.date
    assert header["WARC-Payload-Digest"] == labelled_digest(original.digest)
    assert header.get_header("WARC-Truncated") is header.get_header("Content-Type") is None
    beside = {
        head["Content-Type"]: block
        for head, block in records.values()
        if head["WARC-Type"] == "metadata" and head["WARC-Concurrent-To"] == f"<{capture.record_id}>"
    }
    assert beside == {"application/json": SAID, "application/http;msgtype=response": NOT_MODIFIED}


def truncated(exchange: Exchange) -> Exchange:
    return replace(exchange, truncated=Truncation.LENGTH)


Answer = tuple[Exchange, bool | None]
"""An answer, and what is known of its original's transfer coding."""

REFUSED: list[Answer] = [
    (page_exchange(BODY + b"!"), False),
    (truncated(page_exchange(BODY)), False),
    (page_exchange(BODY, coded=True), None),
    (page_exchange(BODY), True),
    (page_exchange(BODY, chunk=True), False),
    (exchange_of(b"HTTP/1.1 304 Not Modif"), None),
    (exchange_of(b"HTTP/1.1 200 OK\r\nX: " + bytes(600_000) + b"\r\n\r\n" + BODY, BODY), None),
    (exchange_of(b""), None),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_would_make_replay_worse_is_written_whole(tmp_path: Path, number: int) -> None:
    answer, coding = REFUSED[number]
    wire = answer.response.read()
    with WarcWriter(tmp_path, INFO) as writer:
        first = page_exchange(BODY)
        original = original_of(writer.write(first), first, chunked=coding)
        capture = writer.write(answer, original=original)
    assert (capture.revisit, capture.refers_to) == (False, "")
    ((_, one), (_, other)) = read_back(tmp_path)
    with closing(one), closing(other):
        assert other.response.read() == wire
        assert other.truncated == answer.truncated


@pytest.mark.parametrize("chunk", [False, True])
def test_what_is_coded_alike_is_a_revisit(tmp_path: Path, chunk: bool) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        first = page_exchange(BODY, chunk=chunk)
        original = original_of(writer.write(first), first, chunked=chunk)
        assert writer.write(later(page_exchange(BODY, chunk=chunk)), original=original).revisit


def test_a_304_that_nobody_asked_for_is_kept_and_not_offered_for_replay(tmp_path: Path) -> None:
    index = IndexWriter(tmp_path / "archive", tmp_path / "indexes")
    with WarcWriter(tmp_path / "archive", INFO, index=index) as writer:
        capture = writer.write(exchange_of(NOT_MODIFIED))
    index.close()
    assert not capture.revisit
    ((_, exchange),) = read_back(tmp_path / "archive")
    with closing(exchange):
        assert exchange.response.read() == NOT_MODIFIED
    assert (tmp_path / "indexes" / "index.cdxj").read_bytes() == b""
    assert list(check(tmp_path, Tally())) == []


def test_metadata_are_where_the_capture_says(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        one = writer.write(page_exchange(BODY), metadata=SAID)
        other = writer.write(exchange_of(*response_bytes(BODY), request=b""), metadata=SAID)
        assert writer.write(page_exchange(BODY)).metadata_offset is None
    for capture in (one, other):
        assert capture.metadata_offset is not None
        with only_file(tmp_path).open("rb") as file:
            file.seek(capture.metadata_offset)
            record = next(iter(ArchiveIterator(file)))
            assert record.record_type == WarcRecordType.metadata
            assert record.headers["WARC-Concurrent-To"] == f"<{capture.record_id}>"
            assert read_metadata(record.reader.read()).links[0].anchor == "A"
    with ArchivedCaptures(tmp_path) as source:
        kept = list(source.captures())
        assert places(kept[:2]) == written_at([one, other])
        assert [each.metadata for each in kept] == [read_metadata(SAID), read_metadata(SAID), None]


def test_the_index_knows_revisits_and_no_metadata(tmp_path: Path) -> None:
    crawl_of(tmp_path)
    lines = (tmp_path / "indexes" / "index.cdxj").read_bytes()
    said = [json.loads(line.split(b" ", 2)[2]) for line in lines.splitlines()]
    assert [(one["mime"], one.get("status")) for one in said] == [
        ("text/html", "200"),
        ("warc/revisit", None),
        ("warc/revisit", "200"),
    ]
    assert len({one["digest"] for one in said}) == 1
    assert rebuild(tmp_path / "archive", tmp_path / "other").read_bytes() == lines


def crawl_of(root: Path) -> tuple[WrittenCapture, ...]:
    """Write a page, and what two later crawls found of it, each with metadata."""
    index = IndexWriter(root / "archive", root / "indexes")
    with WarcWriter(root / "archive", INFO, index=index) as writer:
        first = page_exchange(BODY)
        capture = writer.write(first, metadata=SAID)
        original = original_of(capture, first, chunked=False)
        unmodified = writer.write(later(exchange_of(NOT_MODIFIED)), original=original, metadata=SAID)
        identical = writer.write(later(page_exchange(BODY), 2), original=original, metadata=SAID)
    index.close()
    return capture, unmodified, identical


def test_readers_get_each_payload_once_and_revisits_when_they_ask(tmp_path: Path) -> None:
    written = crawl_of(tmp_path)
    blocks = []
    for capture, exchange in read_back(tmp_path / "archive"):
        with closing(exchange):
            blocks.append((capture, exchange.response.read(), exchange.request, exchange.truncated))
    assert places(block[0] for block in blocks) == written_at(written)
    assert [block[0].shows_target for block in blocks] == [True, False, False]
    wire, payload = response_bytes(BODY)
    assert [block[1] for block in blocks] == [wire, b"", wire[: -len(payload)]]
    assert {block[2:] for block in blocks} == {(REQUEST, None)}


def test_warcio_and_fastwarc_read_them(tmp_path: Path) -> None:
    crawl_of(tmp_path)
    with only_file(tmp_path / "archive").open("rb") as file:
        for record in WarcioIterator(file, check_digests="raise"):
            record.content_stream().read()
    with only_file(tmp_path / "archive").open("rb") as file:
        found = []
        for each in ArchiveIterator(file, parse_http=False):
            assert each.verify_block_digest()
            found.append(each.headers["WARC-Type"])
    assert found[1:4] == ["response", "request", "metadata"]
    assert found[4:8] == ["revisit", "request", "metadata", "metadata"]
    assert found[8:] == ["revisit", "request", "metadata"]
    with only_file(tmp_path / "archive").open("rb") as file:
        statuses = [each.http_headers and each.http_headers.status_code for each in ArchiveIterator(file)]
    assert [status for status in statuses if status] == [200, 304, 200]


@pytest.mark.parametrize("room", range(0, 3000, 250))
def test_all_records_of_an_exchange_or_none(tmp_path: Path, room: int) -> None:
    exchange = later(exchange_of(NOT_MODIFIED))
    original = Original("urn:uuid:0", "http://forum.test/", "2025-01-02T03:04:05Z", bytes(20))
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(page_exchange(BODY))
        (path,) = tmp_path.glob("*.open")
        before = path.read_bytes()
        try:
            with files_up_to(len(before) + room):
                writer.write(exchange, original=original, metadata=SAID)
        except DiskFullError:
            assert path.read_bytes() == before
        else:
            assert room > 1000
        writer.write(exchange, original=original, metadata=SAID)
    assert kinds(only_file(tmp_path))[-4:] == ["revisit", "request", "metadata", "metadata"]


# Whatever is written


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of an address: its text, its codings, and how it ends."""

    text: bytes
    chunk: bool
    coded: bool
    asked: bool
    truncated: Truncation | None
    unmodified: bool
    metadata: bytes | None

    def exchange(self, number: int) -> Exchange:
        wire, payload = response_bytes(self.text, chunk=self.chunk, coded=self.coded)
        if self.unmodified:
            wire, payload = NOT_MODIFIED, b""
        elif self.truncated is not None and not self.chunk:
            wire, payload = wire[: len(wire) - len(payload) // 2], payload[: len(payload) - len(payload) // 2]
        made = exchange_of(wire, payload, request=REQUEST if self.asked else b"", truncated=self.truncated)
        return later(made, number)


STEPS = st.builds(
    Step,
    st.sampled_from([b"", b"<p>one", b"<p>two" * 50, bytes(range(256)) * 20]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, None, *Truncation]),
    st.booleans(),
    st.sampled_from([None, b"{}", SAID]),
)


@given(st.lists(STEPS, max_size=12), st.sampled_from([1, 2000, 1 << 30]))
def test_any_mix_is_read_back_and_checks_clean(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], size: int
) -> None:
    root = tmp_path_factory.mktemp("mix")
    index = IndexWriter(root / "archive", root / "indexes")
    written: list[tuple[WrittenCapture, Exchange, bytes]] = []
    originals: dict[bytes, Original] = {}
    with WarcWriter(root / "archive", INFO, size=size, index=index) as writer:
        for number, step in enumerate(steps):
            exchange = step.exchange(number)
            digest = exchange.payload_digest
            known = next(reversed(originals.values()), None) if step.unmodified else originals.get(digest)
            capture = writer.write(exchange, original=known, metadata=step.metadata)
            if not capture.revisit and not step.unmodified and exchange.truncated is None:
                originals.setdefault(digest, original_of(capture, exchange, chunked=step.chunk))
            written.append((capture, exchange, exchange.response.read()))
    index.close()
    if steps:
        assert [finding for finding in check(root, Tally()) if finding.problem is not Problem.ALONE] == []
    found = list(read_back(root / "archive")) if steps else []
    assert places(capture for capture, _ in found) == written_at(capture for capture, _, _ in written)
    for (kept, got), (_, given_one, wire) in zip(found, written, strict=True):
        with closing(got):
            block = got.response.read()
        assert (got.url, got.request, got.started_at) == (given_one.url, given_one.request, given_one.started_at)
        if kept.is_revisit:
            assert got.truncated is None
            assert block in {b"", wire[: wire.index(b"\r\n\r\n") + 4]}
            assert got.payload_digest in {original.digest for original in originals.values()}
        else:
            assert (block, got.payload_digest) == (wire, given_one.payload_digest)
            assert got.truncated == given_one.truncated


# The payload of a chunked response


CODED = gzip.compress(BODY, mtime=0)
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(CODED)
OTHERS = {
    "the whole block": CHUNKED,
    "the chunks with their frames": chunked(CODED),
    "the page without its content coding": BODY,
    "a line end more": CODED + b"\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("other", ["", *OTHERS])
def test_the_payload_is_without_chunks_and_with_its_content_coding(tmp_path: Path, other: str) -> None:
    """Three known writers take the digest over the frames of the chunks; WARC 1.1 (section 6.3.2) does not."""
    exchange = exchange_of(CHUNKED, OTHERS.get(other, CODED))
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(exchange)
    problems = [finding.problem for finding in check(only_file(tmp_path), Tally())]
    assert problems == ([Problem.PAYLOAD_DIGEST] if other else [])
    with only_file(tmp_path).open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False):
            assert record.verify_block_digest()
            record.parse_http(auto_decode="transfer")
            assert record.verify_payload_digest() is not bool(other)
