"""What a capture holds: bytes, page, metadata, latest reading, scores, neighbours, and whence it comes."""

import gzip
import hashlib
import io
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from aahcrawler.archive.writer import WarcWriter
from aahcrawler.captures import ArchivedCaptures, Damage, Origin
from aahcrawler.exchange import Exchange
from aahcrawler.layout import ARCHIVE, DEFINITION, OBJECTS, SCORES, TOMBSTONES
from aahcrawler.metadata import Metadata, write_metadata
from aahcrawler.objects.writer import CaptureDescription, Method, ObjectWriter, Reading
from aahcrawler.scores.writer import Findings, ScoreLog, Terms
from aahcrawler.segments import SegmentError
from aahcrawler.tombstones import Tombstone, write_tombstones
from aahcrawler.webobject import WebObject
from knowledge_base.loader import LoadError
from online_analysis.icd.scoring import Scoring
from tests.adaptation.redesigned import old, posts, thread
from tests.archive.exchanges import INFO, REQUEST, STARTED, exchange_of, page_exchange
from tests.crawl.test_learned import FORUM
from tests.documents.files import Line, pdf

URL = "http://forum.test/thread?id=1"


def at(minutes: int, exchange: Exchange, url: str = URL) -> Exchange:
    return replace(exchange, url=url, started_at=STARTED + timedelta(minutes=minutes))


def write_crawl(folder: Path) -> Path:
    """Write a folder of a crawl that captured a thread twice, and a redirect to it."""
    (folder / OBJECTS).mkdir(parents=True)
    (folder / DEFINITION).write_text("{}")
    moved = exchange_of(b"HTTP/1.1 302 Found\r\nLocation: /thread?id=1\r\n\r\n")
    with (
        WarcWriter(folder / ARCHIVE, replace(INFO, crawl_number=3)) as writer,
        ObjectWriter(folder / OBJECTS, "floods", lambda: STARTED) as objects,
    ):
        writer.write(at(0, moved, "http://forum.test/old"))
        said = write_metadata(Metadata(url=URL, application="phpbb"))
        first = writer.write(at(1, page_exchange(b"<p>One</p>")), metadata=said)
        writer.write(at(5, replace(page_exchange(b"<p>Two</p>"), session="login")))
        described = CaptureDescription(first.record_id, URL, 200, first.date, "text/html", score=0.5)
        objects.write(described, [WebObject(f"{URL}#p1", "post", URL, {"title": ("One",)}, URL)])
        later = Reading(Method.REREAD, STARTED + timedelta(days=1), first.record_id)
        read_again = [WebObject(f"{URL}#p{n}", "post", URL, {"title": ("One",)}, URL) for n in (1, 2)]
        objects.write(replace(described, reading=later, reader="today"), read_again)
    return folder


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write_crawl(tmp_path / "floods")


def test_a_capture_says_all_that_is_known_of_it(crawl: Path) -> None:
    with ArchivedCaptures(crawl) as source:
        moved, first, second = source.captures()
        assert (moved.status, moved.location, moved.method) == (302, URL, "GET")
        assert list(source.leading_to(URL)) == [moved]
        assert (first.status, first.date) == (200, STARTED + timedelta(minutes=1))
        assert (first.provenance.origin, first.provenance.name, first.provenance.crawl) == (Origin.CRAWL, "floods", 3)
        assert second.session == "login"
        assert (first.before, first.after) == (None, second)
        assert (second.before, second.after, moved.before, moved.after) == (first, None, None, None)
        assert first.metadata is not None
        assert (first.metadata.application, second.metadata) == ("phpbb", None)
        exchange = first.exchange()
        assert exchange is not None
        with closing(exchange):
            assert exchange.request == REQUEST
            assert exchange.response.read().endswith(b"<p>One</p>")
        assert first.page is not None
        assert (first.page.body, first.page.url, first.page.fetched_at) == (b"<p>One</p>", URL, first.date)


def test_the_latest_reading_counts(crawl: Path) -> None:
    with ArchivedCaptures(crawl) as source:
        _, first, second = source.captures()
        assert first.reading is not None
        assert (first.reading.row.reader, len(first.objects), first.objects[1].iri) == ("today", 2, f"{URL}#p2")
        assert (second.reading, second.objects) == (None, ())


@pytest.mark.slow
def test_a_document_is_made_by_the_knowledge_base_of_the_folder_or_by_another(tmp_path: Path) -> None:
    for beside in ("crawls/knowledge-base", "mine"):
        entry = tmp_path / beside / "applications" / "harbour.xml"
        entry.parent.mkdir(parents=True)
        entry.write_text(FORUM.replace('"thread"', '"talk"') if beside == "mine" else FORUM, "utf-8")
    crawl = tmp_path / "crawls" / "floods"
    (crawl / OBJECTS).mkdir(parents=True)
    (crawl / DEFINITION).write_text("{}")
    shown = thread(1, old)
    with WarcWriter(crawl / ARCHIVE, INFO) as writer:
        for minute, body in enumerate((shown.body, b"<p>Of no forum</p>", shown.body)):
            writer.write(at(minute, page_exchange(body), f"http://board.test/thread?t={minute}"))
        writer.write(at(9, exchange_of(b""), "http://board.test/broken"))
    with ArchivedCaptures(crawl) as source:
        first, other, again, broken = source.captures()
        documents = [each.document for each in (again, other, first)]
        assert [each and (each.application, each.level, each.url) for each in documents] == [
            ("Harbour Board", "thread", again.target_uri),
            ("", "", other.target_uri),
            ("Harbour Board", "thread", first.target_uri),
        ]
        assert documents[0] is not None
        parts = {(part.author, part.text) for part in documents[0].parts if part.role == "content"}
        assert parts == {(post.author, post.body) for post in posts(1)}
        assert again.document is documents[0]
        assert broken.document is None
    with ArchivedCaptures(crawl, knowledge=[tmp_path / "mine"]) as source:
        found = next(source.of_url(first.target_uri)).document
        assert found is not None
        assert (found.application, found.level) == ("Harbour Board", "talk")
    with ArchivedCaptures(crawl, knowledge=[tmp_path / "none"]) as source:
        assert next(source.of_url(first.target_uri)).page is not None
        with pytest.raises(LoadError):
            next(source.of_url(first.target_uri)).document  # noqa: B018


@pytest.mark.starts
def test_a_pdf_file_is_a_document_too(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        body = pdf([Line(700, "The harbour stands under the flood.")])
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"
        writer.write(at(0, exchange_of(head + body, body), "http://board.test/report.pdf"))
    with ArchivedCaptures(tmp_path) as source:
        (only,) = source.captures()
        assert only.document is not None
        assert "The harbour stands under the flood." in only.document.text


def test_the_scores_are_those_given_before_the_next_capture(crawl: Path) -> None:
    # The first two are asked for when the log begins.
    times = iter([STARTED, STARTED, *(STARTED + timedelta(minutes=minutes) for minutes in (0, 2, 6))])
    with ScoreLog(crawl / SCORES, "floods", Terms(3, Scoring()), lambda: next(times)) as log:
        for score in (0.1, 0.5, 0.9):
            log.judged(Findings(URL, 0, 1.0, score))
    with ArchivedCaptures(crawl) as source:
        moved, first, second = source.captures()
        assert moved.judged is None
        assert first.judged is not None
        assert second.judged is not None
        assert (first.judged.score, second.judged.score) == (0.5, 0.9)


def test_what_a_takedown_names_is_given_by_nothing(crawl: Path) -> None:
    with ArchivedCaptures(crawl) as source:
        _, first, _ = source.captures()
        stone = Tombstone(id="1", at="2026-01-03T00:00:00+00:00", by="a person", reason="asked for", urls=(URL,))
        write_tombstones(crawl, [stone])
        source.refresh()
        assert [each.target_uri for each in source.captures()] == ["http://forum.test/old"]
        assert (list(source.of_url(URL)), source.of_record(first.record_id)) == ([], None)
    (crawl / TOMBSTONES).write_text("{")
    with pytest.raises(SegmentError, match="cannot be read"):
        ArchivedCaptures(crawl)


def test_a_source_takes_in_what_is_written_since(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer, ArchivedCaptures(tmp_path) as source:
        writer.write(at(1, page_exchange()))
        assert list(source.captures()) == []
        source.refresh()
        (only,) = source.captures()
        assert (only.provenance.origin, only.provenance.name) == (Origin.FILE, tmp_path.name)
        writer.write(at(0, page_exchange(b"earlier")))
        walk = source.captures()
        source.refresh()
        assert list(walk) == [*source.captures()]  # It had not begun.
        walk = source.captures()
        next(walk)
        writer.write(at(2, page_exchange(b"later")))
        source.refresh()
        assert len(list(walk)) == 1  # It gives what was known when it began.
        assert only.position is not None
        assert len(list(source.captures(only.position))) == 2


def members(path: Path) -> list[bytes]:
    whole, found = path.read_bytes(), []
    while whole:
        member = gzip.GzipFile(fileobj=io.BytesIO(whole))
        size = len(whole)
        for begin in range(1, len(whole)):
            if whole[begin : begin + 3] == b"\x1f\x8b\x08":
                try:
                    gzip.decompress(whole[:begin])
                except (OSError, EOFError):
                    continue
                size = begin
                break
        member.close()
        found.append(whole[:size])
        whole = whole[size:]
    return found


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Return a WARC file with three captures, each with a request and metadata."""
    with WarcWriter(tmp_path, INFO) as writer:
        for number in range(3):
            writer.write(at(number, page_exchange(b"<p>%d" % number)), metadata=write_metadata(Metadata(url=URL)))
    return next(tmp_path.glob("*.warc.gz"))


@pytest.mark.parametrize(
    ("damaged", "kept", "metadata"),
    [
        (1, [1, 2], [True, True]),  # The first answer.
        (2, [0, 1, 2], [True, True, True]),  # Its request.
        (3, [0, 1, 2], [False, True, True]),  # Its metadata.
        (4, [0, 2], [True, True]),
        (9, [0, 1, 2], [True, True, False]),  # The last record of the file.
    ],
)
@pytest.mark.parametrize("how", ["damaged", "garbage before", "without its beginning"])
def test_damage_costs_what_is_damaged(
    archive: Path, damaged: int, kept: list[int], metadata: list[bool], how: str
) -> None:
    records = members(archive)
    assert len(records) == 10
    place, record = sum(map(len, records[:damaged])), records[damaged]
    changed = {
        "damaged": record[:20] + bytes(byte ^ 0x55 for byte in record[20:40]) + record[40:],
        "garbage before": b"no gzip member" + record,
        "without its beginning": record[15:],
    }
    archive.write_bytes(b"".join((*records[:damaged], changed[how], *records[damaged + 1 :])))
    with pytest.raises(SegmentError, match=r"is not a readable WARC file .*at byte"):
        ArchivedCaptures(archive.parent)
    told: list[Damage] = []
    with ArchivedCaptures(archive.parent, damaged=told.append) as source:
        found = list(source.captures())
        pages = [each.page.body if each.page else None for each in found]
        if how == "garbage before":
            assert pages == [b"<p>0", b"<p>1", b"<p>2"]
        else:
            assert pages == [b"<p>%d" % number for number in kept]
            assert [each.metadata is not None for each in found] == metadata
    assert [(each.path, each.offset) for each in told] == [(archive, place)]


def test_a_file_of_one_gzip_member_is_read_too(archive: Path) -> None:
    text = gzip.decompress(archive.read_bytes())
    archive.write_bytes(gzip.compress(text))
    with ArchivedCaptures(archive.parent) as source:
        assert [each.page.body for each in source.captures() if each.page] == [b"<p>0", b"<p>1", b"<p>2"]
    archive.write_bytes(gzip.compress(text)[:-200])
    with pytest.raises(SegmentError, match="ends early"):
        ArchivedCaptures(archive.parent)


def test_requests_may_come_before_their_answers(tmp_path: Path) -> None:
    def record(kind: str, number: int, beside: int, block: bytes) -> bytes:
        digest = hashlib.sha1(block, usedforsecurity=False).hexdigest()
        return gzip.compress(
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:x:{number}>\r\nWARC-Date: 2013-06-02T10:00:00Z\r\n"
            f"WARC-Target-URI: <http://a.test/>\r\nWARC-Concurrent-To: <urn:x:{beside}>\r\nX-Digest: {digest}\r\n"
            f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(block)}\r\n\r\n".encode()
            + block
            + b"\r\n\r\n"
        )

    request = record("request", 1, 2, b"HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n")
    (tmp_path / "a.warc.gz").write_bytes(request + record("response", 2, 1, b"HTTP/1.1 204 No Content\r\n\r\n"))
    with ArchivedCaptures(tmp_path) as source:
        (capture,) = source.captures()
        exchange = capture.exchange()
        assert (capture.target_uri, capture.method, capture.status) == ("http://a.test/", "HEAD", 204)
        assert exchange is not None
        with closing(exchange):
            assert exchange.request.startswith(b"HEAD / ")
