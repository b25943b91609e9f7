"""The CDXJ index: its keys, its lines, and that it can be trusted whatever happened to the crawl."""

import gzip
import json
import random
import time
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.archive import index as cdxj
from aahcrawler.archive import index as index_entry
from aahcrawler.archive.index import IndexWriter, LineSorter, rebuild, update
from aahcrawler.archive.surt import surt
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.layout import WARC
from aahcrawler.segments import recover
from tests.archive.exchanges import INFO, exchange_of, page_exchange
from tests.archive.test_segments import files_up_to
from tests.forking import forked
from tests.pace import at_most

KEYS = [
    # From the documentation of the Internet Archive's surt and of the CDX formats.
    ("http://archive.org/goo/?a=2&b&a=1", "org,archive)/goo?a=1&a=2&b"),
    ("http://www.financeminister.gov.au/", "au,gov,financeminister)/"),
    ("http://archive.org", "org,archive)/"),
    ("https://www2.Archive.org:443/Goo//x/./y/../z/?#top", "org,archive)/goo/x/z"),
    ("http://user:pw@archive.org:8080/a", "org,archive:8080)/a"),
    ("http://127.0.0.1:8080/x", "1,0,0,127:8080)/x"),
    ("http://[::1]:80/x", "::1)/x"),
    ("http://wwww.a.test/", "test,a,wwww)/"),
    ("http://www.com/", "com)/"),
    ("http://a.test/b%20c/%7Ed?x=%2526", "test,a)/b%20c/~d?&x="),
    ("http://b\u00fccher.test/\u00fc", "test,xn--bcher-kva)/%c3%bc"),
    ("http://a.test/?b=1&phpsessid=9682993c8daa2c5497996114facdc805&a=1", "test,a)/?a=1&b=1"),
    ("http://a.test/?a=1&SID=9682993c8daa2c5497996114facdc805", "test,a)/?&a=1"),
    ("http://a.test/(s(4hqa0555fwsecu455xqckv45))/mileg.aspx", "test,a)/mileg.aspx"),
    ("http://a.test/x?cfid=12&cftoken=34&q=1", "test,a)/x?q=1"),
    ("http://a.test/x?ab=1&a=2&a&a=", "test,a)/x?a&a=&a=2&ab=1"),
    ("http://a.test/a/..", "test,a)/"),
    ("dns:archive.org", "dns:archive.org"),
    ("urn:dom:http://a.test/", "urn:dom:http://a.test"),
    (
        "urn:view:http://www.A.test:80/Dir//x/../?B=1&a=%C3%A4#top",
        "urn:view:http://www.a.test:80/dir//x/..?a=%c3%a4&b=1",
    ),
]


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_keys(url: str, key: str) -> None:
    assert surt(url) == key


@given(st.text() | st.text().map("http://a.test/{}".format) | st.text().map("https://{}/".format))
def test_a_key_is_one_word_of_ascii(url: str) -> None:
    key = surt(url)
    assert key.isascii()
    assert key.isprintable()
    assert " " not in key
    assert key


@pytest.mark.slow
def test_keys_of_hostile_urls_are_quick() -> None:
    with at_most(5):
        for url in ("%" + "25" * 40_000, "cfid=" * 12_000, "&" * 60_000, "../" * 20_000, "(s(" * 20_000):
            surt("http://a.test/" + url)
            surt("http://a.test/?" + url)


def written(tmp_path: Path, count: int = 7, size: int = 1500) -> tuple[Path, Path]:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    with WarcWriter(files, INFO, size=size, index=index) as writer:
        for number in range(count):
            exchange = page_exchange(b"%d" % number * 99, chunk=number % 2 == 0, coded=number % 3 == 0)
            writer.write(exchange)
    index.close()
    return files, folder


def only(folder: Path) -> bytes:
    (path,) = folder.iterdir()
    assert path.name == "index.cdxj"
    return path.read_bytes()


def test_lines_say_where_responses_are(tmp_path: Path) -> None:
    files, folder = written(tmp_path)
    lines = only(folder).splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 7
    for line in lines:
        key, moment, text = line.decode().split(" ", 2)
        said = json.loads(text)
        assert (key, moment) == ("test,forum)/thread?id=1", "20260102030405")
        assert list(said) == ["url", "mime", "status", "digest", "length", "offset", "filename"]
        assert (said["url"], said["mime"], said["status"]) == ("http://forum.test/thread?id=1", "text/html", "200")
        content = (files / said["filename"]).read_bytes()
        member = gzip.decompress(content[int(said["offset"]) :][: int(said["length"])])
        assert f"WARC-Payload-Digest: {said['digest']}\r\n".encode() in member
        assert member.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")


def test_what_was_written_with_the_files_is_what_they_say(tmp_path: Path) -> None:
    files, folder = written(tmp_path)
    before = only(folder)
    assert rebuild(files, tmp_path / "other").read_bytes() == before
    assert rebuild(files, folder).read_bytes() == before
    assert update(files, folder).read_bytes() == before


def test_files_that_are_closed_are_found_while_others_are_written(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    with WarcWriter(files, INFO, size=1, index=index) as writer:
        first = writer.write(page_exchange())
        second = writer.write(page_exchange())
        index._beside.shutdown()
        assert sorted(path.name for path in folder.iterdir()) == [first.file + ".cdxj", second.file + ".lines"]
        assert b'"filename": "%b"' % first.file.encode() in (folder / (first.file + ".cdxj")).read_bytes()
    index.close()
    index.close()
    assert only(folder).count(b"\n") == 2


def test_answers_without_a_type_or_even_a_head_and_those_with_nothing_to_replay(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    answers = [b"HTTP/1.1 204 None\r\n\r\n", b"HTTP/1.1 500 Of\r\nContent-Ty", b"nothing of the kind", b""]
    answers.append(b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")
    answers.append(b"HTTP/1.1 200 OK\r\nX: " + bytes(600_000) + b"\r\ncontent-type: text/plain\r\n\r\nx")
    answers.append(b"HTTP/1.1 200 OK\nContent-TYPE:a/b;x\n\nx")
    with WarcWriter(files, INFO, index=index) as writer:
        for number, answer in enumerate(answers):
            writer.write(exchange_of(answer, url=f"http://a.test/{number}"))
    index.close()
    said = [json.loads(line.split(b" ", 2)[2]) for line in only(folder).splitlines()]
    assert [(one.get("status"), one.get("mime")) for one in said] == [
        ("204", None),
        ("500", None),
        (None, None),
        ("200", None),
        ("200", "a/b"),
    ]
    assert rebuild(files, tmp_path / "other").read_bytes() == only(folder)


def test_a_full_disk_costs_lines_and_no_record(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    with WarcWriter(files, INFO, index=index) as writer:
        for number in range(40):
            capture = writer.write(page_exchange(b"%d" % number))
            if number == 5:
                with files_up_to(1700):
                    index.add(
                        index_entry.Entry("response", "http://a.test/", "2026", "x" * 400, b"", "", capture.file, 1, 1)
                    )
    assert next(folder.glob("*.gz.lines")).read_bytes().count(b"\n") < 10
    index.close()
    assert only(folder) == rebuild(files, tmp_path / "other").read_bytes()
    assert only(folder).count(b"\n") == 40


@pytest.mark.parametrize(("kept", "tail"), [(-30, b""), (0, b""), (300, bytes(90) + b"\n")])
def test_lines_in_doubt_are_read_from_the_file_instead(tmp_path: Path, kept: int, tail: bytes) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    with WarcWriter(files, INFO, index=index) as writer:
        for number in range(6):
            writer.write(page_exchange(b"%d" % number))
    (lines,) = folder.glob("*.lines")
    lines.write_bytes(lines.read_bytes()[:kept] + tail)
    assert update(files, folder).read_bytes() == rebuild(files, tmp_path / "other").read_bytes()
    assert only(folder).count(b"\n") == 6


def test_a_crawl_that_goes_on_adds_to_its_index(tmp_path: Path) -> None:
    written(tmp_path, 3)
    files, folder = written(tmp_path, 3)
    assert only(folder).count(b"\n") == 6
    assert only(folder) == rebuild(files, tmp_path / "other").read_bytes()


ENDLESS = """
import os, sys
from pathlib import Path
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.archive.index import IndexWriter
from tests.archive.exchanges import INFO, page_exchange

files, folder = map(Path, sys.argv[1:])
writer = WarcWriter(files, INFO, size=100_000, index=IndexWriter(files, folder))
while True:
    writer.write(page_exchange(os.urandom(9_000)))
    os.write(1, b"x\\n")
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_costs_nothing(tmp_path: Path, seed: int) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    with forked(ENDLESS, files, folder) as process:
        process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, 0.4))
        process.kill()
        told = 1 + len(process.stdout.readlines())
    recover(files, WARC)
    assert list(folder.glob("*.lines"))
    update(files, folder)
    assert told <= only(folder).count(b"\n") <= told + 1
    assert only(folder) == rebuild(files, tmp_path / "other").read_bytes()


def test_nothing_is_left_where_nothing_was_written(tmp_path: Path) -> None:
    files, folder = tmp_path / "archive", tmp_path / "indexes"
    index = IndexWriter(files, folder)
    with WarcWriter(files, INFO, index=index):
        pass
    index.close()
    assert not folder.exists()


def test_other_types_of_records(tmp_path: Path) -> None:
    """Revisits and resources can be replayed; metadata and requests cannot."""

    def record(kind: str, more: str, block: str) -> bytes:
        head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:{kind}>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
        head += f"WARC-Target-URI: http://a.test/{kind}\r\n{more}Content-Length: {len(block)}\r\n\r\n"
        return gzip.compress(f"{head}{block}\r\n\r\n".encode())

    http = "Content-Type: application/http;msgtype=response\r\n"
    records = [
        record("metadata", "Content-Type: application/json\r\n", "{}"),
        record("resource", "Content-Type: text/css; charset=utf-8\r\n", "a {}"),
        record("revisit", http, "HTTP/1.1 304 Not Modified\r\nContent-Type: text/html\r\n\r\n"),
    ]
    (tmp_path / "x-20260102030405-00000.warc.gz").write_bytes(b"".join(records))
    said = [json.loads(line.split(b" ", 2)[2]) for line in rebuild(tmp_path, tmp_path).read_bytes().splitlines()]
    assert [(one["url"], one["mime"], one.get("status")) for one in said] == [
        ("http://a.test/resource", "text/css", None),
        ("http://a.test/revisit", "warc/revisit", "304"),
    ]
    assert [int(one["offset"]) for one in said] == [len(records[0]), len(records[0]) + len(records[1])]


def test_any_number_of_lines_is_sorted_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cdxj, "_IN_MEMORY", 200)
    monkeypatch.setattr(cdxj, "_MAX_RUNS", 3)
    lines = [b"%d %d\n" % (random.Random(number).randrange(400), number % 7) for number in range(900)]
    with LineSorter(tmp_path) as sorter:
        sorter.extend(lines)
        assert list(sorter) == sorted(set(lines))
        assert list(sorter) == sorted(set(lines))
    assert list(tmp_path.iterdir()) == []


def test_offsets_open_in_fastwarc(tmp_path: Path) -> None:
    files, folder = written(tmp_path)
    for line in only(folder).splitlines():
        said = json.loads(line.split(b" ", 2)[2])
        with (files / said["filename"]).open("rb") as file:
            file.seek(int(said["offset"]))
            record = next(iter(ArchiveIterator(file, parse_http=False)))
            assert record.headers["WARC-Payload-Digest"] == said["digest"]
