"""Answers to other requests than GET: they never hide what is at their URL, and replay software finds them."""

import gzip
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.archive.checking import Tally, check
from aahcrawler.archive.history import History, HistoryRecord
from aahcrawler.archive.index import IndexWriter, rebuild
from aahcrawler.archive.scanning import Problem
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.exchange import Exchange
from aahcrawler.request_queries import MAX_BODY_LENGTH, MAX_QUERY_LENGTH, lookup_url, query_of
from aahcrawler.urls import PostedForm, posted_form_url
from tests.archive.exchanges import INFO, exchange_of

API = "http://forum.test/api?v=1"
FORM, JSON, TEXT = "application/x-www-form-urlencoded", "application/json", "text/plain;charset=UTF-8"
PART = b'--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n1 2\r\n--X\r\nContent-Disposition: form-data; '
FILE = PART + b'name="f"; filename="p.png"\r\nContent-Type: image/png\r\n\r\n\xff\r\n--X--\r\n'

QUERIES = [
    # From the tests of pywb (pywb/warcserver/test/test_inputreq.py) and from what warcio.js writes for browsers.
    ("POST", FORM, b"foo=bar&dir=%2Fbaz&do=true", "foo=bar&dir=/baz&do=true"),
    ("POST", FORM, b"q=a+b%26c&x=%C3%A4", "q=a b&c&x=\u00e4"),
    ("POST", FORM, b"\xff", "__wb_post_data=/w=="),
    ("POST", JSON, b'{"a": "b", "c": {"a": 2, "d": "e"}, "f": true, "g": [false, null]}',
     "a=b&a.2_=2&d=e&f=true&g=false&g.2_=null"),
    ("POST", JSON, b'{"type": "event", "float": 35.70, "whole": 3.0, "c": "a+b&c= d"}',
     "type=event&float=35.7&whole=3&c=a%2Bb%26c%3D+d"),
    ("POST", JSON, b"{broken", ""),
    ("POST", JSON, b"[" * 200_000, ""),
    ("POST", TEXT, b'{"a": 1}', "a=1"),
    ("POST", TEXT, b"hello", "__wb_post_data=aGVsbG8="),
    ("PUT", "application/octet-stream", b"\x01\x02\x03", "__wb_post_data=AQID"),
    ("POST", "multipart/form-data; boundary=X", FILE, "a=1+2&f=%FF"),
    ("POST", "multipart/form-data", b"--X", "__wb_post_data=LS1Y"),
    ("POST", "", b"", ""),
    ("DELETE", JSON, b'{"a": 1}', ""),
]  # fmt: skip


@pytest.mark.parametrize(("method", "media_type", "body", "query"), QUERIES)
def test_what_stands_for_a_body(method: str, media_type: str, body: bytes, query: str) -> None:
    assert query_of(method, media_type, body) == query


def test_what_stands_for_a_body_is_bounded() -> None:
    many = json.dumps([{"name": "value"}] * 100_000).encode()
    for media_type, body in (
        (JSON, many),
        (FORM, b"a=" + b"b" * 9000),
        ("", bytes(9000)),
        (FORM, bytes(MAX_BODY_LENGTH)),
    ):
        assert len(query_of("POST", media_type, body)) <= MAX_QUERY_LENGTH
    assert query_of("POST", FORM, b"a" * (MAX_BODY_LENGTH + 1)).startswith("__wb_post_data=YWFh")


def posted(body: bytes, method: str = "POST", media_type: str = JSON, url: str = API) -> Exchange:
    request = f"{method} /api?v=1 HTTP/1.1\r\nHost: forum.test\r\ncontent-type: {media_type}\r\n\r\n".encode() + body
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[%b]" % body
    return replace(exchange_of(answer, b"[%b]" % body, url=url, request=request), method=method)


def test_the_index_tells_what_was_posted_also_when_it_is_made_again(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    form = posted_form_url(PostedForm(API, "q=high+water"))
    with WarcWriter(files, INFO, index=index) as writer:
        writer.write(exchange_of(b"HTTP/1.1 200 OK\r\n\r\n", url=API))
        writer.write(posted(b'{"page": 2}'), metadata=b"{}")
        writer.write(posted(b"", "OPTIONS"))
        writer.write(posted(b"q=high+water", media_type=FORM, url=form))
        chunked = (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        )
        writer.write(replace(posted(b""), request=chunked))
    index.close()
    lines = (folder / "index.cdxj").read_text()
    assert rebuild(files, tmp_path / "other").read_text() == lines
    told = [line.split(" ", 2) for line in lines.splitlines()]
    assert [(key, json.loads(text).get("method"), json.loads(text).get("requestBody")) for key, _, text in told] == [
        ("test,forum)/api?__wb_method=options&v=1", "OPTIONS", None),
        ("test,forum)/api?__wb_method=post&__wb_post_data=agk=&v=1", "POST", "__wb_post_data=aGk="),
        ("test,forum)/api?__wb_method=post&page=2&v=1", "POST", "page=2"),
        ("test,forum)/api?__wb_method=post&q=high%20water&v=1", "POST", "q=high water"),
        ("test,forum)/api?v=1", None, None),
    ]
    assert {json.loads(text)["url"] for *_, text in told} == {API, form}
    assert list(check(tmp_path, Tally())) == []


def test_an_index_that_knows_nothing_of_posting_is_behind(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    with WarcWriter(files, INFO, index=IndexWriter(files, folder)) as writer:
        writer.write(posted(b'{"page": 2}'))
    line = rebuild(files, folder).read_text()
    (folder / "index.cdxj").write_text(line.replace("__wb_method=post&page=2&", ""))
    assert {finding.problem for finding in check(tmp_path, Tally())} == {Problem.MISSING, Problem.STRAY}
    # What other indexers leave out of a line is no fault.
    said = json.loads(line.split(" ", 2)[2])
    del said["method"], said["requestBody"]
    (folder / "index.cdxj").write_text(f"{' '.join(line.split(' ', 2)[:2])} {json.dumps(said)}\n")
    assert list(check(tmp_path, Tally())) == []


def test_a_request_that_comes_before_its_answer_is_understood(tmp_path: Path) -> None:
    with WarcWriter(tmp_path / "archive", INFO) as writer:
        capture = writer.write(posted(b'{"page": 2}'))
    path = tmp_path / "archive" / capture.file
    whole = path.read_bytes()
    begin = whole.index(b"\x1f\x8b\x08", capture.offset + 1)
    assert gzip.decompress(whole[begin:]).startswith(b"WARC/1.1\r\nWARC-Type: request")
    path.write_bytes(whole[: capture.offset] + whole[begin:] + whole[capture.offset : begin])
    assert "__wb_method=post&page=2" in rebuild(tmp_path / "archive", tmp_path / "indexes").read_text()


def test_what_was_posted_hides_nothing_that_was_got(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    with closing(History(files, folder)) as history, WarcWriter(files, INFO) as writer:
        for exchange in (exchange_of(b"HTTP/1.1 200 OK\r\n\r\ngot", b"got", url=API), posted(b'{"page": 2}')):
            history.add(HistoryRecord.of(writer.write(exchange), exchange, 1))
    (folder / "history.sqlite").rename(tmp_path / "live.sqlite")
    for again in (False, True):
        if not again:
            (tmp_path / "live.sqlite").rename(folder / "history.sqlite")
        with closing(History(files, folder)) as history:
            got, sent = history.former(API), history.former(lookup_url(API, "POST", "page=2"))
            assert got is not None
            assert sent is not None
            assert got.record_id != sent.record_id
            found = history.exchange(got)
            assert found is not None
            with closing(found):
                assert found.response.read().endswith(b"got")
        (folder / "history.sqlite").unlink()
    with ArchivedCaptures(files) as source:
        assert [each.method for each in source.captures() if each.shows_target] == ["GET"]
