"""What a crawl knows of former captures, and what an answer means beside them."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest

from aahcrawler import metadata as metadata_record
from aahcrawler.archive.history import History, HistoryRecord
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.writer import WarcWriter, WrittenCapture
from aahcrawler.crawl.capture.recrawl import (
    UNCONDITIONAL,
    Change,
    ConditionalRequest,
    Recrawl,
    RecrawlComparison,
    UnreadableCaptureError,
)
from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.frontier.protocol import Kind, Lease
from aahcrawler.metadata import Metadata
from aahcrawler.page import Headers, Page

URL = "http://a.test/t/1"
BODY = b"<p>The dike broke.</p>"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = datetime(2026, 2, 1, tzinfo=UTC)
TODAY = "today"
NO_HEADERS: Mapping[str, str] = {}
ELSEWHERE: Mapping[str, str] = {"Location": "/elsewhere"}
TAG = {"ETag": '"a"'}
TOLD = Metadata(understood_by=TODAY, application="Board", role="terminal", score=0.5, relevant=True, priority=0.4)


def exchange(
    body: bytes = BODY,
    status: int = 200,
    when: datetime = FIRST,
    truncated: Truncation | None = None,
    validators: Mapping[str, str] = NO_HEADERS,
) -> Exchange:
    fields = {"Content-Type": "text/html", "Content-Length": str(len(body)), **validators}
    head = f"HTTP/1.1 {status} Whatever\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    message = head.encode() + b"\r\n" + body
    digest = hashlib.sha1(body, usedforsecurity=False).digest()
    return Exchange(
        URL, "GET", b"GET / HTTP/1.1\r\n\r\n", BytesIO(message), len(message), digest, "::1", when, truncated
    )


@dataclass
class Bench:
    """An archive with its history, as two crawls of a definition see it."""

    folder: Path
    history: History

    def capture(self, came: Exchange, told: Metadata | None = TOLD, number: int = 1) -> WrittenCapture:
        with WarcWriter(self.folder / "archive", CrawlInfo("t", "test/1", crawl_number=number)) as writer:
            original = self.history.original(came.payload_digest) if came.truncated is None else None
            block = None if told is None else metadata_record.write_metadata(told)
            capture = writer.write(came, original=original, metadata=block)
        self.history.add(HistoryRecord.of(capture, came, number, original=original, metadata=told))
        return capture

    @property
    def second(self) -> Recrawl:
        return Recrawl(self.history, 2, SECOND, 10_000)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with History(tmp_path / "archive", tmp_path / "indexes") as history:
        yield Bench(tmp_path, history)


def lease(kind: Kind = "page") -> Lease:
    return Lease(URL, "a.test", 0.5, 1, kind, "", 1, "1-1")


def comparison(
    recrawl: Recrawl,
    came: Exchange,
    *,
    kind: Kind = "page",
    asked: ConditionalRequest | None = None,
    understood_by: str = TODAY,
) -> RecrawlComparison:
    status = int(came.response.read().split(b" ")[1])
    came.response.seek(0)
    is_leading = b"\r\nLocation: " in came.response.getvalue() if isinstance(came.response, BytesIO) else False
    fields = (*ELSEWHERE.items(),) if is_leading else ()
    page = Page(URL, status, Headers(fields), b"", came.started_at)
    return recrawl.compare(lease(kind), page, came, asked or recrawl.asked(URL), understood_by)


# Conditions


@pytest.mark.parametrize(
    ("headers", "conditions"),
    [
        ({"ETag": '"a"'}, {"If-None-Match": b'"a"'}),
        ({"ETag": 'W/"a"'}, {"If-None-Match": b'W/"a"'}),
        ({"ETag": '"\xfc"'}, {}),
        ({"Last-Modified": "Sat, 01 Feb 2020 10:00:00 GMT"}, {"If-Modified-Since": b"Sat, 01 Feb 2020 10:00:00 GMT"}),
        ({"ETag": '"a"', "Last-Modified": "soon"}, {"If-None-Match": b'"a"', "If-Modified-Since": b"soon"}),
        ({}, {}),
        ({"ETag": '"\x01"'}, {}),
        ({"ETag": '"' + "a" * 2000 + '"'}, {}),
    ],
)
def test_conditions_are_the_validators_that_the_server_gave(
    headers: dict[str, str], conditions: dict[str, bytes], bench: Bench
) -> None:
    bench.capture(exchange(validators=headers))
    asked = bench.second.asked(URL)
    assert asked.former is not None
    if "\xfc" in headers.get("ETag", ""):  # Bytes beyond ASCII go back as they came.
        conditions = {"If-None-Match": headers["ETag"].encode()}
    assert asked.conditions == conditions
    assert asked.conditional is bool(conditions)


@pytest.mark.parametrize("status", [203, 206])
def test_only_what_was_there_whole_is_asked_for_so(status: int, bench: Bench) -> None:
    bench.capture(exchange(status=status, validators=TAG))
    assert not bench.second.asked(URL).conditional


def test_nor_is_what_was_cut_off(bench: Bench) -> None:
    bench.capture(exchange(truncated=Truncation.LENGTH, validators=TAG))
    assert not bench.second.asked(URL).conditional


@pytest.mark.parametrize("status", [301, 404, 500])
def test_what_was_no_page_is_not_known(status: int, bench: Bench) -> None:
    bench.capture(exchange(status=status, validators=TAG))
    assert bench.second.asked(URL) == UNCONDITIONAL


def test_nor_is_what_was_never_captured(bench: Bench) -> None:
    assert bench.second.asked(URL) == UNCONDITIONAL


def test_an_archive_that_has_gone_is_asked_for_again(bench: Bench) -> None:
    capture = bench.capture(exchange(validators=TAG))
    assert bench.second.asked(URL).conditional
    (bench.folder / "archive" / capture.file).unlink()
    assert not bench.second.asked(URL).conditional


def test_what_the_archive_holds_no_more_is_unchanged_and_kept_again(bench: Bench) -> None:
    capture = bench.capture(exchange())
    path = bench.folder / "archive" / capture.file
    kept = path.read_bytes()
    assert comparison(bench.second, exchange(when=SECOND)).original is not None
    path.write_bytes(kept[: capture.offset + 40] + b"\0damage\0" + kept[capture.offset + 48 :])
    found = comparison(bench.second, exchange(when=SECOND))
    assert (found.change, found.original) == (Change.UNCHANGED, None)
    assert not bench.capture(exchange(when=SECOND), number=2).revisit


def test_what_was_asked_for_plainly_once_stays_so(bench: Bench) -> None:
    bench.capture(exchange(validators=TAG))
    recrawl = bench.second
    recrawl.ask_plainly(URL)
    assert recrawl.asked(URL).conditions == {}
    assert recrawl.asked(URL).former is not None


# Before the crawl was killed


def test_what_this_crawl_captured_first_is_no_former_capture(bench: Bench) -> None:
    """Its triples may be missing: it must be compared with what was there before the crawl."""
    before = bench.capture(exchange(validators=TAG))
    bench.capture(exchange(b"edited", when=SECOND + timedelta(hours=1), validators={"ETag": '"b"'}), number=2)
    asked = bench.second.asked(URL)
    assert asked.former is not None
    assert (asked.former.record_id, asked.conditions) == (before.record_id, {"If-None-Match": b'"a"'})
    edited = comparison(bench.second, exchange(b"edited", when=SECOND + timedelta(hours=2), validators={"ETag": '"b"'}))
    assert (edited.change, edited.before) == (Change.CHANGED, TOLD)


def test_a_page_that_is_new_stays_new(bench: Bench) -> None:
    bench.capture(exchange(when=SECOND + timedelta(hours=1), validators=TAG), number=2)
    assert bench.second.asked(URL) == UNCONDITIONAL
    assert comparison(bench.second, exchange(when=SECOND + timedelta(hours=2))).change is Change.NEW


def test_what_this_crawl_understood_is_understood_again(bench: Bench) -> None:
    bench.capture(exchange(validators=TAG), replace(TOLD, understood_by="then"))
    bench.capture(exchange(when=SECOND + timedelta(hours=1), validators=TAG), number=2)
    asked = bench.second.asked(URL)
    assert asked.conditional
    found = comparison(bench.second, exchange(b"", 304, SECOND + timedelta(hours=2)), asked=asked)
    assert (found.change, found.before, found.remembered) == (Change.UNCHANGED, TOLD, False)
    assert found.page.body == BODY


# Answers


def test_a_304_stands_for_what_was_understood(bench: Bench) -> None:
    capture = bench.capture(exchange(validators=TAG))
    found = comparison(bench.second, exchange(b"", 304, SECOND))
    assert (found.change, found.before, found.remembered, found.unmodified) == (Change.UNCHANGED, TOLD, True, True)
    assert found.original is not None
    assert found.original.record_id == capture.record_id


@pytest.mark.parametrize(
    "told",
    [None, Metadata(understood_by="then"), Metadata(understood_by=TODAY, failures=("Board/thread/posts: slow",))],
)
def test_or_for_the_archived_page_where_it_would_be_understood_otherwise(told: Metadata | None, bench: Bench) -> None:
    bench.capture(exchange(validators=TAG), told)
    found = comparison(bench.second, exchange(b"", 304, SECOND))
    assert (found.change, found.before, found.remembered) == (Change.UNCHANGED, told, False)
    assert (found.page.status, found.page.body, found.page.fetched_at) == (200, BODY, FIRST)
    assert found.page.complete


def test_or_for_nothing_where_that_cannot_be_read(bench: Bench) -> None:
    capture = bench.capture(exchange(validators=TAG))
    recrawl = bench.second
    asked = recrawl.asked(URL)
    file = bench.folder / "archive" / capture.file
    content = bytearray(file.read_bytes())
    content[capture.offset + 200 : capture.offset + 220] = bytes(20)
    file.write_bytes(content)
    with pytest.raises(UnreadableCaptureError):
        comparison(recrawl, exchange(b"", 304, SECOND), asked=asked, understood_by="another")


def test_a_requisite_stands_for_itself(bench: Bench) -> None:
    bench.capture(exchange(validators=TAG), None)
    found = comparison(bench.second, exchange(b"", 304, SECOND), kind="requisite", understood_by="another")
    assert (found.before, found.remembered, found.unmodified) == (Metadata(), True, True)


@pytest.mark.parametrize("understood_by", [TODAY, "another"])
def test_the_same_payload_is_unchanged(understood_by: str, bench: Bench) -> None:
    bench.capture(exchange())
    found = comparison(bench.second, exchange(when=SECOND), understood_by=understood_by)
    assert found.change is Change.UNCHANGED
    assert found.remembered is (understood_by == TODAY)
    assert not found.unmodified


@pytest.mark.parametrize(
    ("came", "change"),
    [
        (exchange(b"another"), Change.CHANGED),
        (exchange(b"another", 203), Change.CHANGED),
        (exchange(BODY, truncated=Truncation.DISCONNECT), Change.CHANGED),
        (exchange(b"no", 404), Change.GONE),
        (exchange(b"no", 410), Change.GONE),
        (exchange(BODY, 404), Change.GONE),
        (exchange(b"no", 403), None),
        (exchange(b"no", 500), None),
        (exchange(b"", 301, validators=ELSEWHERE), None),
        (exchange(b"", 304), None),
    ],
)
def test_other_answers(came: Exchange, change: Change | None, bench: Bench) -> None:
    bench.capture(exchange())
    found = comparison(bench.second, came)
    assert (found.change, found.before, found.remembered, found.original) == (change, TOLD, False, None)


@pytest.mark.parametrize(("status", "change"), [(200, Change.NEW), (404, None), (301, None), (304, None)])
def test_of_what_was_never_there(status: int, change: Change | None, bench: Bench) -> None:
    came = exchange(status=status, validators=ELSEWHERE if status == 301 else NO_HEADERS)
    assert comparison(bench.second, came).change is change
    assert comparison(bench.second, came, kind="requisite").change is None


def test_a_page_is_read_from_the_archive_as_it_came(bench: Bench) -> None:
    coded = b"4\r\n<p>x\r\n6;odd\r\n</p><p\r\n0\r\n\r\n"
    came = exchange(b"")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    digest = hashlib.sha1(b"<p>x</p><p", usedforsecurity=False).digest()
    came = replace(came, response=BytesIO(head + coded), response_size=len(head + coded), payload_digest=digest)
    bench.capture(came)
    former = bench.second.asked(URL).former
    assert former is not None
    page = bench.second.page_of(former)
    assert (page.body, page.status, page.headers.get("content-type")) == (b"<p>x</p><p", 200, "text/html")
    short = Recrawl(bench.history, 2, SECOND, 5).page_of(former)
    assert (short.body, short.complete) == (b"<p>x<", False)
    kept = bench.history.exchange(former)
    assert kept is not None
    with closing(kept.response):
        assert kept.response.read() == head + coded
