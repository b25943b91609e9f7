"""The records of a capture are found in files that are being written, and in those that are closed and indexed."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest

from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo, Resource
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.exchange import Exchange
from aahcrawler.layout import ARCHIVE, INDEXES
from aahcrawler.service.views.capture_view import CapturePlace, exchange_of, records_of

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "http://a.test/page?b=1&a=2"


@contextmanager
def writing(crawl: Path, size: int = 1 << 30) -> Iterator[WarcWriter]:
    index = IndexWriter(crawl / ARCHIVE, crawl / INDEXES)
    with WarcWriter(crawl / ARCHIVE, CrawlInfo("test", "test"), size=size, index=index) as writer:
        yield writer
    index.close()


def written(
    writer: WarcWriter,
    body: bytes,
    url: str = URL,
    seconds: float = 0,
    *,
    metadata: bytes = b'{"format":1}',
    resources: Sequence[Resource] = (),
) -> CapturePlace:
    head = b"HTTP/1.1 200 OK\r\nX-Said: \x1b[31m\x07\r\nContent-Length: %d\r\n\r\n" % len(body)
    with BytesIO(head + body) as response:
        exchange = Exchange(
            url=url,
            method="GET",
            request=b"GET /page HTTP/1.1\r\nHost: a.test\r\n\r\n",
            response=response,
            response_size=len(head + body),
            payload_digest=hashlib.sha1(body, usedforsecurity=False).digest(),
            ip_address="127.0.0.1",
            started_at=AT + timedelta(seconds=seconds),
        )
        kept = writer.write(exchange, metadata=metadata, resources=resources)
    return place(kept)


def place(capture: WrittenCapture) -> CapturePlace:
    return CapturePlace(capture.record_id, capture.url, capture.date.isoformat())


def test_records_are_found_while_they_are_written_and_afterwards(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        places = [written(writer, b"%d" % number, f"http://a.test/{number}", number / 7) for number in range(60)]
        twins = [written(writer, b"one"), written(writer, b"two", seconds=0.2)]
        for each in (*places, *twins):
            assert [record.type for record in records_of(tmp_path, each)] == ["response", "request", "metadata"]
    assert [path.name for path in (tmp_path / INDEXES).iterdir()] == ["index.cdxj"]
    for each in (*places, *twins):
        records = records_of(tmp_path, each)
        assert [record.type for record in records] == ["response", "request", "metadata"]
        sizes = [record.size or 0 for record in records]
        assert [record.offset for record in records[1:]] == [
            record.offset + size for record, size in zip(records[:2], sizes[:2], strict=True)
        ]
        assert dict(records[0].fields)["WARC-Record-ID"] == f"<{each.record}>"
    for each, body in zip(twins, (b"one", b"two"), strict=True):
        exchange = exchange_of(tmp_path, each)
        assert exchange is not None
        with closing(exchange):
            assert exchange.response.read().endswith(b"\r\n\r\n" + body)


def test_what_a_browser_made_of_a_page_is_shown_with_it(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        one = written(writer, b"<div id=app>", resources=(Resource.rendered_dom(URL, b"<p>made", URL + "#2"),))
        written(writer, b"two", "http://a.test/2")
    records = records_of(tmp_path, one)
    assert [record.type for record in records] == ["response", "request", "metadata", "resource"]
    assert dict(records[3].fields)["WARC-Target-URI"] == f"urn:dom:{URL}"
    exchange = exchange_of(tmp_path, one)
    assert exchange is not None
    with closing(exchange):
        assert exchange.rendered is not None
        assert (exchange.rendered.dom, exchange.rendered.document_url) == (b"<p>made", URL + "#2")


def test_records_are_found_in_files_that_are_closed_while_the_crawl_goes_on(tmp_path: Path) -> None:
    with writing(tmp_path, size=1000) as writer:
        places = [written(writer, b"%d" % number, f"http://a.test/{number}") for number in range(12)]
        assert len(list((tmp_path / ARCHIVE).iterdir())) > 3
        assert all(records_of(tmp_path, each) for each in places)


def test_control_characters_reach_nobody(tmp_path: Path) -> None:
    with writing(tmp_path) as writer:
        one = written(writer, b"x")
        (answer, *_) = records_of(tmp_path, one)
    assert "X-Said: \ufffd[31m\ufffd" in answer.http
    assert "HTTP/1.1 200 OK\r\n" in answer.http.replace("\n", "\r\n").replace("\r\r", "\r")


@pytest.mark.parametrize(
    "line",
    [
        b'test,a)/page?a=2&b=1 20260301120000 {"filename": "../secret.warc.gz", "offset": "0", "length": "9"}\n',
        b'test,a)/page?a=2&b=1 20260301120000 {"filename": "none.warc.gz", "offset": "0", "length": "9"}\n',
        b'test,a)/page?a=2&b=1 20260301120000 {"filename": "held.warc.gz", "offset": "5", "length": "9"}\n',
        b"test,a)/page?a=2&b=1 20260301120000 {\n",
        b"test,a)/page?a=2&b=1 20260301120000 ",
        b"",
    ],
)
def test_an_index_that_is_wrong_leads_nowhere(tmp_path: Path, line: bytes) -> None:
    for folder in (ARCHIVE, INDEXES):
        (tmp_path / folder).mkdir()
    with writing(tmp_path / "other") as writer:
        one = written(writer, b"x")
    (held,) = (tmp_path / "other" / ARCHIVE).iterdir()
    (tmp_path / ARCHIVE / "held.warc.gz").write_bytes(held.read_bytes())
    (tmp_path / "secret.warc.gz").write_bytes(held.read_bytes())
    (tmp_path / INDEXES / "index.cdxj").write_bytes(line)
    assert records_of(tmp_path, one) == ()
    assert exchange_of(tmp_path, one) is None
