"""WARC files as they are written: byte for byte, and as other people's tools read them."""

import gzip
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from aahcrawler.archive.records import CrawlInfo, Identified, labelled_digest, warcinfo_block
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.crawl.startup.store_opening import crawl_info
from aahcrawler.exchange import Truncation
from online_analysis.icd import Icd
from tests.archive.exchanges import (
    INFO,
    REQUEST,
    exchange_of,
    identity,
    page_exchange,
    places,
    read_back,
    response_bytes,
    written_at,
)
from tests.crawl.verifying import warcio_check

CODINGS = [(chunk, coded) for chunk in (False, True) for coded in (False, True)]


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("*.warc.gz")
    return path


def blocks_of(folder: Path) -> list[bytes]:
    blocks = []
    for _, exchange in read_back(folder):
        with exchange.response:
            blocks.append(exchange.response.read())
    return blocks


def test_file_byte_for_byte(tmp_path: Path) -> None:
    wire = b"HTTP/1.0 404 Gone fishing\r\nsErVeR: x\r\n\r\nno"
    with WarcWriter(tmp_path, INFO, identity=identity()) as writer:
        capture = writer.write(exchange_of(wire, b"no"), Identified("text/plain", "en"))
    assert capture.record_id == "urn:uuid:00000000-0000-4000-8000-000000000002"
    assert capture.file == only_file(tmp_path).name == "forums-20260102030405-00000.warc.gz"
    assert gzip.decompress(only_file(tmp_path).read_bytes()).decode() == "\r\n".join(
        (
            "WARC/1.1",
            "WARC-Type: warcinfo",
            "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
            "WARC-Date: 2026-01-02T03:04:05.000678Z",
            "WARC-Filename: forums-20260102030405-00000.warc.gz",
            "Content-Type: application/warc-fields",
            "WARC-Block-Digest: sha1:3XZTU4WBOMYKI3VKEYOMY6ZWCGJ4FQU3",
            "Content-Length: 232",
            "",
            "software: AAHCrawler/0.1",
            "operator: The Archive",
            "contact: crawl@archive.test",
            "isPartOf: forums",
            "robots: obey",
            "format: WARC File Format 1.1",
            "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "",
            "",
            "WARC/1.1",
            "WARC-Type: response",
            "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000002>",
            "WARC-Date: 2026-01-02T03:04:05.000678Z",
            "WARC-Target-URI: http://forum.test/thread?id=1",
            "WARC-IP-Address: 192.0.2.7",
            "WARC-Warcinfo-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
            "Content-Type: application/http;msgtype=response",
            "WARC-Payload-Digest: sha1:7UJIMNJVODCXAN4ZXJ3JTEZDW7DUI6YG",
            "WARC-Identified-Payload-Type: text/plain",
            "WARC-Identified-Content-Language: en",
            "WARC-Block-Digest: sha1:2B3VWF7WPCKSYEFJUJHXAW5PRH7HKU4Z",
            "Content-Length: 42",
            "",
            "HTTP/1.0 404 Gone fishing",
            "sErVeR: x",
            "",
            "no",
            "",
            "WARC/1.1",
            "WARC-Type: request",
            "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000003>",
            "WARC-Date: 2026-01-02T03:04:05.000678Z",
            "WARC-Target-URI: http://forum.test/thread?id=1",
            "WARC-IP-Address: 192.0.2.7",
            "WARC-Warcinfo-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
            "Content-Type: application/http;msgtype=request",
            "WARC-Concurrent-To: <urn:uuid:00000000-0000-4000-8000-000000000002>",
            "WARC-Block-Digest: sha1:KQFFWJPUNE7CO6CDP2NDNM7ME7R4UI4D",
            "Content-Length: 60",
            "",
            REQUEST.decode() + "\r\n\r\n",
        )
    )


@pytest.mark.parametrize(("chunk", "coded"), CODINGS)
def test_response_bytes_are_those_of_the_wire(tmp_path: Path, chunk: bool, coded: bool) -> None:
    wire, payload = response_bytes(b"<p>Hello</p>" * 9, chunk=chunk, coded=coded)
    with WarcWriter(tmp_path, INFO) as writer:
        capture = writer.write(exchange_of(wire, payload))
    with only_file(tmp_path).open("rb") as file:
        file.seek(capture.offset)
        record = next(iter(ArchiveIterator(file, parse_http=False)))
        assert record.headers["WARC-Record-ID"] == f"<{capture.record_id}>"
        assert record.verify_block_digest()
        record.parse_http(auto_decode="transfer")
        assert record.verify_payload_digest()
    with only_file(tmp_path).open("rb") as file:
        blocks = [record.reader.read() for record in ArchiveIterator(file, parse_http=False)]
    assert blocks[1:] == [wire, REQUEST]


def test_warcio_check_passes(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO, size=1500) as writer:
        for number in range(20):
            writer.write(page_exchange(b"%d" % number * 50, coded=number % 2 == 1))
    paths = sorted(tmp_path.glob("*.warc.gz"))
    assert len(paths) > 5
    checked = warcio_check(*paths)
    assert checked.code == 0, checked.out
    assert checked.out.count("digest pass") == 40 + len(paths)


@pytest.mark.parametrize("coded", [False, True])
def test_warcio_agrees_about_chunked_payloads(tmp_path: Path, coded: bool) -> None:
    """Its check takes the digest of a payload with the chunks' frames, against WARC 1.1; its reader removes them."""
    with WarcWriter(tmp_path, INFO) as writer:
        exchange = page_exchange(b"<p>Hello</p>" * 9, chunk=True, coded=coded)
        writer.write(exchange)
    label = labelled_digest(exchange.payload_digest)
    failures = [
        line.strip() for line in warcio_check(tmp_path / only_file(tmp_path)).out.splitlines() if "fail" in line
    ]
    assert failures == [f"payload digest failed {label}"]
    with only_file(tmp_path).open("rb") as file:
        bodies = [r.content_stream().read() for r in WarcioIterator(file) if r.rec_type == "response"]
    assert bodies == [b"<p>Hello</p>" * 9]


@pytest.mark.parametrize("truncated", list(Truncation))
def test_truncation_says_why(tmp_path: Path, truncated: Truncation) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(exchange_of(b"HTTP/1.1 200 OK\r\n\r\nhal", b"hal", truncated=truncated))
        writer.write(exchange_of(b"", b"", truncated=Truncation.DISCONNECT))
    with only_file(tmp_path).open("rb") as file:
        records = ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False)
        assert [r.headers["WARC-Truncated"] for r in records] == [truncated.value, "disconnect"]
    assert warcio_check(only_file(tmp_path)).code == 0


def test_a_crawl_is_described_by_terms_of_dublin_core() -> None:
    said = {
        "id": "floods",
        "title": "Floods",
        "contact": "a@example.org",
        "seeds": ["http://a.test/"],
        "metadata": {"description": "What people wrote", "creator": ["Archive", "Museum"], "rights": ["Here only"]},
    }
    plain = {name: value for name, value in said.items() if name != "metadata"}
    whole, bare = (crawl_info(Icd.parse(json.dumps(each).encode()), 1) for each in (said, plain))
    lines = warcinfo_block(whole).decode().splitlines()
    for line in ("title: Floods", "description: What people wrote", "creator: Archive", "creator: Museum"):
        assert lines.count(line) == 1
    assert "rights: Here only" in lines
    told = {line.partition(":")[0] for line in warcinfo_block(bare).decode().splitlines()}
    assert not told & {"title", "creator", "publisher", "rights", "language", "subject", "coverage"}
    assert "description: Floods" in warcinfo_block(bare).decode().splitlines()


def test_hostile_values_add_no_field(tmp_path: Path) -> None:
    info = CrawlInfo("x", "s", operator="me\r\nrobots: ignore", description="\ud800")
    with WarcWriter(tmp_path, info) as writer:
        exchange = exchange_of(b"HTTP/1.1 200 OK\r\n\r\n", b"", url="http://a.test/\r\nWARC-Type: x <\ud800é>")
        writer.write(exchange, Identified("text/html\r\nX: y\r\n\r\nbody", "\x00"))
    with only_file(tmp_path).open("rb") as file:
        records = [(r.headers.to_dict(), r.reader.read()) for r in ArchiveIterator(file, parse_http=False)]
    assert b"\r\nrobots:" not in records[0][1]
    assert records[1][0]["WARC-Type"] == "response"
    assert records[1][0]["WARC-Target-URI"] == "http://a.test/%0D%0AWARC-Type:%20x%20%3C%3F%C3%A9%3E"
    assert records[1][0]["WARC-Identified-Payload-Type"] == "text/html X: y body"
    assert "WARC-Identified-Content-Language" not in records[1][0]


def test_rotation_begins_each_file_with_its_warcinfo(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO, size=1, identity=identity()) as writer:
        written = [writer.write(page_exchange()) for _ in range(3)]
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == [written[0].file, written[1].file, written[2].file + ".open"]
    with WarcWriter(tmp_path, INFO, identity=identity()) as writer:
        written.append(writer.write(page_exchange()))
    assert [capture.file[-13:] for capture in written] == [f"0000{n}.warc.gz" for n in range(4)]
    for path in tmp_path.iterdir():
        with path.open("rb") as file:
            first, *others = [(r.record_type, r.headers.to_dict()) for r in ArchiveIterator(file, parse_http=False)]
        assert first[0] == WarcRecordType.warcinfo
        assert first[1]["WARC-Filename"] == path.name
        assert {fields["WARC-Warcinfo-ID"] for _, fields in others} == {first[1]["WARC-Record-ID"]}


def test_a_writer_that_writes_nothing_leaves_nothing(tmp_path: Path) -> None:
    with WarcWriter(tmp_path / "archive", INFO):
        pass
    assert list((tmp_path / "archive").iterdir()) == []


def test_captures_give_back_what_was_written(tmp_path: Path) -> None:
    exchanges = [page_exchange(b"x" * 99, chunk=chunk, coded=coded) for chunk, coded in CODINGS]
    exchanges.append(exchange_of(b"HTTP/1.1 200 OK\r\n\r\nhal", b"hal", request=b"", truncated=Truncation.LENGTH))
    exchanges.append(exchange_of(b"not HTTP at all", b"", request=b"POST / HTTP/1.1\r\n\r\na=b"))
    with WarcWriter(tmp_path, INFO, size=1200) as writer:
        written = [writer.write(exchange) for exchange in exchanges]
        read = list(read_back(tmp_path))
    assert places(capture for capture, _ in read) == written_at(written)
    for (_, got), given in zip(read, exchanges, strict=True):
        with got.response, given.response:
            assert got.response.read() == given.response.read()
        assert (got.request, got.payload_digest, got.truncated) == (
            given.request,
            given.payload_digest,
            given.truncated,
        )
        assert (got.url, got.ip_address, got.started_at) == (given.url, given.ip_address, given.started_at)
        assert got.response_size == given.response_size
    assert [exchange.method for _, exchange in read][-2:] == ["GET", "POST"]


MEASURED = """
import io, resource, sys, tempfile
from pathlib import Path
from aahcrawler.archive.writer import WarcWriter
from tests.archive.exchanges import INFO, exchange_of, read_back

folder, size = Path(sys.argv[1]), int(sys.argv[2])
with tempfile.TemporaryFile() as body:
    body.write(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
    body.truncate(size)
    with WarcWriter(folder, INFO) as writer:
        writer.write(exchange_of(io.BytesIO(b"HTTP/1.1 200 OK\\r\\n\\r\\n")))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        writer.write(exchange_of(body))
sizes = [exchange.response.seek(0, 2) for _, exchange in read_back(folder)]
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(sizes[1], (after - before) // 1024)
"""


def test_large_responses_take_constant_memory(tmp_path: Path) -> None:
    size = 40 << 20
    command = [sys.executable, "-c", MEASURED, str(tmp_path), str(size)]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    read, grown_mib = map(int, done.stdout.split())
    assert read == size
    assert grown_mib < 8


def test_an_exchange_can_be_written_again(tmp_path: Path) -> None:
    exchange = page_exchange()
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(exchange)
        assert exchange.response.tell() == 0
        writer.write(exchange)
    assert len(set(blocks_of(tmp_path))) == 1
    assert len(blocks_of(tmp_path)) == 2


def test_unreadable_responses_leave_no_trace(tmp_path: Path) -> None:
    class Failing(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            if self.reads > 3:
                raise ValueError("the response went away")
            return super().read(size)

    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(page_exchange())
        (path,) = tmp_path.iterdir()
        before = path.read_bytes()
        with pytest.raises(ValueError, match="went away"):
            writer.write(exchange_of(Failing(bytes(300_000))))
        assert path.read_bytes() == before
        writer.write(page_exchange())
    assert warcio_check(only_file(tmp_path)).code == 0
    assert len(blocks_of(tmp_path)) == 2


def test_warcinfo_says_what_the_crawl_is(tmp_path: Path) -> None:
    definition = '{"id":"forums","seeds":["http://forum.test/"],"title":"Foren, \\u00fcberall"}'
    info = replace(
        INFO, user_agent="Mozilla/5.0 (x)", description="Forums", definition=definition, crawl_number=3, robots="ignore"
    )
    with WarcWriter(tmp_path, info) as writer:
        writer.write(page_exchange())
    with only_file(tmp_path).open("rb") as file:
        block = next(iter(WarcioIterator(file))).content_stream().read().decode()
    said = dict(line.split(": ", 1) for line in block.splitlines())
    assert json.loads(said.pop("icd")) == json.loads(definition)
    assert said == {
        "software": "AAHCrawler/0.1",
        "operator": "The Archive",
        "contact": "crawl@archive.test",
        "isPartOf": "forums",
        "crawl-number": "3",
        "description": "Forums",
        "robots": "ignore",
        "http-header-user-agent": "Mozilla/5.0 (x)",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
    }


@pytest.mark.parametrize(
    ("reason", "expected"), [("LENGTH", Truncation.LENGTH), ("long-headers", Truncation.UNSPECIFIED), ("", None)]
)
def test_reasons_of_other_software_are_read(tmp_path: Path, reason: str, expected: Truncation | None) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(exchange_of(b"HTTP/1.1 200 OK\r\n\r\nhal", b"hal", truncated=Truncation.TIME))
    path = only_file(tmp_path)
    field = f"WARC-Truncated: {reason}\r\n".encode() if reason else b""
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"WARC-Truncated: time\r\n", field)))
    ((_, exchange),) = read_back(tmp_path)
    with exchange.response:
        assert exchange.truncated is expected


def test_pieces_of_any_size_are_the_same_record(tmp_path: Path) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(7, size) if size and size > 0 else 7)

    wire, payload = response_bytes(b"<p>Hello</p>" * 9)
    for folder, stream in (("a", io.BytesIO(wire)), ("b", Slow(wire))):
        with WarcWriter(tmp_path / folder, INFO, identity=identity()) as writer:
            writer.write(exchange_of(stream, payload))
    assert only_file(tmp_path / "a").read_bytes() == only_file(tmp_path / "b").read_bytes()
