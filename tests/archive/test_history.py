"""The history: what it knows of the WARC files, and that it knows the same whatever happened to it or to them."""

import hashlib
import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from aahcrawler import metadata
from aahcrawler.archive.history import Former, History, HistoryRecord
from aahcrawler.archive.ledger import Ledger
from aahcrawler.archive.records import Original
from aahcrawler.archive.writer import Identity, WarcWriter, WrittenCapture
from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.layout import HISTORY, WARC
from aahcrawler.metadata import Metadata
from aahcrawler.segments import recover
from tests.archive.exchanges import INFO, STARTED, exchange_of
from tests.forking import forked

A, B, ROBOTS = "http://a.test/a", "http://a.test/b?x=%22", "http://a.test/robots.txt"
UNDERSTOOD = Metadata(understood_by="today", role="terminal", score=0.25, relevant=True, priority=0.75, depth=3)
EMPTY = hashlib.sha1(usedforsecurity=False).digest()


@dataclass
class Crawled:
    """An archive with its history, and a writer while a crawl runs."""

    root: Path
    number: int = 1
    moment: int = 0
    records: int = 0
    writer: WarcWriter | None = None
    history: History = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    @property
    def archive(self) -> Path:
        return self.root / "archive"

    @property
    def folder(self) -> Path:
        return self.root / "indexes"

    def open(self) -> None:
        self.history = History(self.archive, self.folder)

    def new_id(self) -> str:
        self.records += 1
        return f"urn:uuid:00000000-0000-4000-8000-{self.records:012d}"

    def exchange(self, url: str, body: bytes, head: bytes, truncated: Truncation | None) -> Exchange:
        self.moment += 1
        exchange = exchange_of(b"HTTP/1.1 %s\r\n\r\n%s" % (head, body), body, url=url, truncated=truncated)
        return replace(exchange, started_at=STARTED + timedelta(seconds=self.moment))

    def write(
        self,
        url: str,
        body: bytes,
        head: bytes = b"200 OK",
        *,
        understood: Metadata | None = UNDERSTOOD,
        truncated: Truncation | None = None,
        former: Former | None = None,
    ) -> HistoryRecord:
        """Write an answer and tell the history, as a crawl does: known payloads become revisits."""
        if self.writer is None:
            identity = Identity(self.new_id, lambda: STARTED + timedelta(seconds=self.moment))
            self.writer = WarcWriter(self.archive, replace(INFO, crawl_number=self.number), identity=identity)
        exchange = self.exchange(url, body, head, truncated)
        original = former.original if former else self.history.original(exchange.payload_digest)
        said = None if understood is None else metadata.write_metadata(understood)
        capture = self.writer.write(exchange, original=original, metadata=said)
        kept = HistoryRecord.of(capture, exchange, self.number, original=original, metadata=understood)
        self.history.add(kept)
        return kept

    def known(self, url: str) -> Former:
        former = self.history.former(url)
        assert former is not None
        return former

    @property
    def ledger(self) -> Ledger:
        assert self.history._ledger is not None
        return self.history._ledger

    def rotate(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.writer = None

    def close(self) -> None:
        self.rotate()
        self.history.close()


@pytest.fixture
def crawled(tmp_path: Path) -> Iterator[Crawled]:
    made = Crawled(tmp_path)
    yield made
    made.close()


def text_of(exchange: Exchange | None) -> bytes:
    assert exchange is not None
    with closing(exchange):
        return exchange.response.read()


def test_an_answer_is_known_at_once_and_can_be_read_while_its_file_is_written(crawled: Crawled) -> None:
    head = b'200 OK\r\nETag: W/"5e-1"\r\nlast-modified:Wed, 21 Oct 2015 07:28:00 GMT '
    capture = crawled.write(A, b"<p>Hello", head).capture
    former = crawled.known(A)
    assert (former.url, former.record_id, former.file, former.offset) == (
        A,
        capture.record_id,
        capture.file,
        capture.offset,
    )
    assert (former.etag, former.last_modified) == ('W/"5e-1"', "Wed, 21 Oct 2015 07:28:00 GMT")
    assert (former.status, former.complete, former.kind, former.crawl) == (200, True, "page", 1)
    assert (former.priority, former.score, former.relevant) == (0.75, 0.25, True)
    assert (former.terminal, former.depth, former.last_seen) == (True, 3, capture.date)
    assert former.original == Original(capture.record_id, A, capture.warc_date, former.digest, chunked=False)
    assert crawled.history.original(former.digest) == former.original
    assert crawled.history.metadata(former) == UNDERSTOOD
    assert crawled.history.is_readable(former)
    again = crawled.history.exchange(former)
    assert again is not None
    assert (again.url, again.started_at, again.ip_address, again.request) == (A, capture.date, "192.0.2.7", b"")
    assert again.payload_digest == former.digest
    assert text_of(again) == b"HTTP/1.1 " + head + b"\r\n\r\n<p>Hello"
    assert again.response_size == len(head) + 9 + 4 + 8
    assert list(crawled.history.pages()) == [former]


def test_large_answers_can_be_read(crawled: Crawled) -> None:
    body = os.urandom(3 << 20)
    crawled.write(A, body)
    assert text_of(crawled.history.exchange(crawled.known(A))).endswith(body)


def test_an_unknown_address_has_nothing(crawled: Crawled) -> None:
    crawled.write(A, b"a")
    assert crawled.history.former(B) is None
    assert crawled.history.original(hashlib.sha1(b"b", usedforsecurity=False).digest()) is None


def test_the_same_payload_elsewhere_refers_to_the_first(crawled: Crawled) -> None:
    first = crawled.write(A, b"same").capture
    second = crawled.write(B, b"same", understood=replace(UNDERSTOOD, title="B")).capture
    assert second.revisit
    former = crawled.known(B)
    assert (former.record_id, former.original_url, former.warc_date) == (first.record_id, A, first.warc_date)
    assert (former.file, former.offset) == (first.file, first.offset)
    assert former.last_seen == second.date
    assert text_of(crawled.history.exchange(former)).endswith(b"same")
    understood = crawled.history.metadata(former)
    assert understood is not None
    assert understood.title == "B"
    assert {page.url for page in crawled.history.pages()} == {A, B}


def test_what_is_truncated_or_empty_is_no_original(crawled: Crawled) -> None:
    assert not crawled.write(A, b"cut", truncated=Truncation.LENGTH).capture.revisit
    assert not crawled.write(B, b"cut").capture.revisit
    assert crawled.history.original(crawled.known(B).digest) == crawled.known(B).original
    assert not crawled.known(A).complete
    for url in (A, B):
        assert not crawled.write(url, b"").capture.revisit
    assert crawled.known(B).digest == EMPTY
    assert crawled.history.original(EMPTY) is None
    assert crawled.history.original(b"") is None


def test_a_complete_success_stays_known_whatever_comes_later(crawled: Crawled) -> None:
    first = crawled.write(A, b"whole").capture
    crawled.write(A, b"oops", b"503 Busy", understood=None)
    crawled.write(A, b"who", truncated=Truncation.DISCONNECT, understood=None)
    crawled.write(A, b"moved", b"301 Moved")
    assert crawled.known(A).record_id == first.record_id
    second = crawled.write(A, b"newer").capture
    assert crawled.known(A).record_id == second.record_id
    crawled.write(A, b"whole")
    assert crawled.known(A).record_id == first.record_id
    assert [page.record_id for page in crawled.history.pages()] == [first.record_id]


def test_errors_are_known_until_there_is_better(crawled: Crawled) -> None:
    crawled.write(A, b"gone", b"404 Not Found")
    assert crawled.known(A).status == 404
    assert not list(crawled.history.pages())
    crawled.write(A, b"back", truncated=Truncation.TIME)
    assert crawled.known(A).status == 200
    assert [page.complete for page in crawled.history.pages()] == [False]


def test_it_knows_since_when_a_page_is_gone_until_it_comes_back(crawled: Crawled) -> None:
    def was_gone() -> bool:
        return crawled.history.was_gone(crawled.known(A), STARTED + timedelta(seconds=crawled.moment + 1))

    crawled.write(A, b"page")
    crawled.write(A, b"busy", b"503 Busy", understood=None)
    assert not was_gone()
    gone = crawled.write(A, b"no such page", b"404 Not Found").capture
    assert was_gone()
    assert not crawled.history.was_gone(crawled.known(A), gone.date)  # What a crawl itself found is none of its past.
    crawled.write(A, b"page")
    assert not was_gone()
    assert crawled.write(A, b"no such page", b"404 Not Found").capture.revisit
    assert was_gone()


def test_not_modified_renews_what_was_known(crawled: Crawled) -> None:
    first = crawled.write(A, b"page", b'200 OK\r\nETag: "1"\r\nLast-Modified: then').capture
    crawled.rotate()
    crawled.number = 2
    again = crawled.write(A, b"", b'304 Not Modified\r\nETag: "2"', understood=None, former=crawled.known(A)).capture
    former = crawled.known(A)
    assert again.revisit
    assert (former.record_id, former.status, former.kind) == (first.record_id, 200, "page")
    assert (former.etag, former.last_modified) == ('"2"', "then")
    assert (former.crawl, former.last_seen, former.metadata_file) == (2, again.date, first.file)
    newer = replace(UNDERSTOOD, understood_by="tomorrow", priority=0.5)
    crawled.write(A, b"", b"304 Not Modified", understood=newer, former=former)
    former = crawled.known(A)
    assert (former.metadata_file, former.file, former.priority) == (again.file, first.file, 0.5)
    assert crawled.history.metadata(former) == newer
    assert len(list(crawled.history.pages())) == 1


def test_not_modified_says_nothing_of_what_is_unknown(crawled: Crawled) -> None:
    crawled.write(A, b"page")
    crawled.write(B, b"", b"304 Not Modified", former=crawled.known(A))
    assert crawled.history.former(B) is None


def test_robots_txt_and_requisites_are_no_pages(crawled: Crawled) -> None:
    crawled.write(A, b"p {}", understood=Metadata(media_type="text/css"))
    assert crawled.known(A).kind == "requisite"
    assert crawled.history.metadata(crawled.known(A)) == Metadata(media_type="text/css")
    crawled.write(ROBOTS, b"User-agent: *", understood=None)
    former = crawled.known(ROBOTS)
    assert (former.kind, former.metadata_offset, former.priority) == ("requisite", None, None)
    assert crawled.history.metadata(former) is None
    assert not list(crawled.history.pages())


def test_pages_can_be_added_while_they_are_gone_through(crawled: Crawled) -> None:
    for number in range(1200):
        crawled.history.add(imagined(number))
    pages = crawled.history.pages()
    seen = [next(pages).url]
    for number in range(1200, 1300):
        crawled.history.add(imagined(number))
    seen += [page.url for page in pages]
    assert len(seen) == len(set(seen))
    assert set(seen) >= {imagined(number).capture.url for number in range(1200)}


def imagined(number: int, file: str = "c-20260102030405-00000.warc.gz") -> HistoryRecord:
    url = f"http://forum{number % 7}.test/some/section/view.php?topic={number:08d}&page={number % 9}"
    digest = hashlib.sha1(url.encode(), usedforsecurity=False).digest()
    record_id = f"urn:uuid:00000000-0000-4000-8000-{digest[:6].hex()}"
    capture = WrittenCapture(
        record_id, url, STARTED + timedelta(seconds=number), file, number * 8000, number * 8000 + 6000
    )
    return HistoryRecord(
        capture,
        200,
        digest,
        etag=f'"5f3e-{number * 7919:x}"',
        last_modified="Wed, 21 Oct 2015 07:28:00 GMT",
        kind="page",
        priority=0.5 + number / 10**7,
        score=0.3,
        relevant=True,
        crawl=1,
    )


@pytest.mark.slow
def test_a_row_is_small_and_memory_is_bounded(crawled: Crawled) -> None:
    crawled.history.add(imagined(0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = 12_000
    for number in range(1, rows):
        crawled.history.add(imagined(number))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
    crawled.history.close()
    assert (crawled.folder / HISTORY).stat().st_size < 300 * rows


def test_what_a_metadata_record_says_of_another_type_is_left_out(crawled: Crawled) -> None:
    said = b'{"format":1,"score":"high","priority":true,"relevant":"yes"}'
    writer = WarcWriter(crawled.archive, INFO)
    writer.write(crawled.exchange(A, b"a", b"200 OK", None), metadata=said)
    writer.write(crawled.exchange(B, b"b", b"what", None), metadata=b"[")
    deep = b'{"format":1,"score":1%b,"priority":0.5,"depth":1%b}' % (b"0" * 400, b"0" * 40)
    writer.write(crawled.exchange(ROBOTS, b"c", b"200 OK", None), metadata=deep)
    writer.close()
    crawled.history.close()
    crawled.open()
    former = crawled.known(A)
    assert (former.score, former.priority, former.kind) == (None, None, "requisite")
    assert (crawled.known(B).kind, crawled.known(B).status) == ("requisite", 0)
    deepest = crawled.known(ROBOTS)
    assert (deepest.kind, deepest.score, deepest.priority) == ("page", None, 0.5)
    assert deepest.depth > 10**9


# What happens to the files


def known_of(history: History) -> dict[str, Former | None]:
    return {url: history.former(url) for url in (A, B, ROBOTS)}


def some_crawls(crawled: Crawled) -> dict[str, Former | None]:
    crawled.write(ROBOTS, b"User-agent: *", understood=None)
    crawled.write(A, b"same", b'200 OK\r\nETag: "1"')
    crawled.write(B, b"same")
    crawled.rotate()
    crawled.number = 2
    crawled.write(A, b"", b"304 Not Modified", former=crawled.known(A))
    crawled.write(B, b"changed")
    crawled.rotate()
    return known_of(crawled.history)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"Nothing of the kind. " * 1000),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:10_000]),
    "damaged": lambda path: path.write_bytes(path.read_bytes()[:8192] + b"\xff" * (path.stat().st_size - 8192)),
    "another format": lambda path: run_sql(path, "PRAGMA user_version = 999"),
    "other tables": lambda path: run_sql(path, "DROP TABLE captures"),
    "another column": lambda path: run_sql(path, "ALTER TABLE captures DROP COLUMN etag"),
}


def run_sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_is_made_anew_from_the_warc_files(crawled: Crawled, damage: str) -> None:
    known = some_crawls(crawled)
    crawled.history.close()
    DAMAGES[damage](crawled.folder / HISTORY)
    with History(crawled.archive, crawled.folder, beside=True) as beside:
        assert known_of(beside) == known
    crawled.open()
    assert known_of(crawled.history) == known
    crawled.close()
    crawled.open()
    assert known_of(crawled.history) == known


def test_what_was_not_told_is_read_when_it_is_next_opened(crawled: Crawled) -> None:
    crawled.write(A, b"a")
    crawled.history.close()
    with History(crawled.root / "elsewhere", crawled.root / "elsewhere") as nothing:
        told, crawled.history = crawled.history, nothing
        crawled.write(B, b"b")
    assert told.former(B) is None
    crawled.open()
    assert crawled.known(B).offset > crawled.known(A).offset
    crawled.rotate()
    crawled.history.close()
    crawled.open()
    assert len(list(crawled.history.pages())) == 2


def test_files_that_are_gone_lose_their_part(crawled: Crawled, caplog: pytest.LogCaptureFixture) -> None:
    first = crawled.write(A, b"first").capture
    crawled.write(B, b"b")
    crawled.rotate()
    second = crawled.write(A, b"second").capture
    crawled.write(ROBOTS, b"b")
    crawled.write(B, b"", b"304 Not Modified", former=crawled.known(B))
    crawled.close()
    (crawled.archive / second.file).rename(crawled.root / "kept")
    crawled.open()
    assert f"{second.file}: is gone" in caplog.text
    assert first.file not in caplog.text
    assert crawled.known(A).record_id == first.record_id
    assert crawled.history.former(ROBOTS) is None
    assert (crawled.known(B).metadata_offset, crawled.history.metadata(crawled.known(B))) == (None, None)
    crawled.history.close()
    (crawled.root / "kept").rename(crawled.archive / second.file)
    (crawled.archive / first.file).unlink()
    crawled.open()
    assert crawled.known(A).record_id == second.record_id
    assert crawled.history.former(B) is None
    assert crawled.history.former(ROBOTS) is None


def test_a_file_that_was_cut_loses_what_it_lost(crawled: Crawled) -> None:
    first = crawled.write(A, b"first").capture
    second = crawled.write(A, b"second").capture
    crawled.close()
    path = crawled.archive / first.file
    assert second.metadata_offset is not None
    os.truncate(path, second.metadata_offset + 3)
    crawled.open()
    assert (crawled.known(A).record_id, crawled.known(A).kind) == (second.record_id, "requisite")
    crawled.history.close()
    os.truncate(path, second.offset + 9)
    crawled.open()
    assert crawled.known(A).record_id == first.record_id
    assert [page.record_id for page in crawled.history.pages()] == [first.record_id]
    crawled.history.close()
    os.truncate(path, 5)
    crawled.open()
    assert crawled.history.former(A) is None


def damage(path: Path, whole: bytes, offset: int) -> None:
    path.write_bytes(whole[:offset] + b"\x00damage\xff" + whole[offset + 8 :])


def test_what_is_damaged_or_gone_is_not_read(crawled: Crawled) -> None:
    crawled.write(A, b"first" * 50)
    crawled.write(B, b"second" * 50)
    crawled.rotate()
    one, two = crawled.known(A), crawled.known(B)
    swapped = replace(one, offset=two.offset, metadata_offset=two.metadata_offset)
    assert not crawled.history.is_readable(swapped)
    assert crawled.history.exchange(swapped) is None
    assert crawled.history.metadata(swapped) is None
    path = crawled.archive / one.file
    whole = path.read_bytes()
    assert one.metadata_offset is not None
    answer = text_of(crawled.history.exchange(one))
    damage(path, whole, one.offset + 150)
    assert crawled.history.exchange(one) is None
    assert crawled.history.metadata(one) == UNDERSTOOD
    damage(path, whole, one.metadata_offset + 100)
    assert crawled.history.metadata(one) is None
    assert text_of(crawled.history.exchange(one)) == answer
    assert text_of(crawled.history.exchange(two)).endswith(b"second")
    path.unlink()
    assert not crawled.history.is_readable(two)
    assert crawled.history.exchange(two) is None
    assert crawled.history.metadata(two) is None


def test_a_payload_whose_record_is_damaged_is_written_again(crawled: Crawled) -> None:
    first = crawled.write(A, b"payload" * 50)
    crawled.rotate()
    assert crawled.history.is_readable(crawled.known(A))
    path = crawled.archive / first.capture.file
    whole = path.read_bytes()
    offset = first.capture.offset
    end = offset + len(whole[offset:].split(b"\x1f\x8b\x08", 2)[1]) + 3
    path.write_bytes(whole[: end - 6] + b"\0\0" + whole[end - 4 :])
    assert not crawled.history.is_readable(crawled.known(A)), "the checksum at its end is wrong"
    assert crawled.history.original(first.digest) is None
    again = crawled.write(B, b"payload" * 50).capture
    assert not again.revisit
    third = crawled.write(ROBOTS, b"payload" * 50).capture
    assert (third.revisit, third.refers_to) == (True, again.record_id)
    path.unlink()


def test_others_can_read_while_a_crawl_writes(crawled: Crawled) -> None:
    crawled.write(A, b"a")
    with History(crawled.archive, crawled.folder, beside=True) as beside:
        assert beside.former(A) == crawled.known(A)
        crawled.write(B, b"b")
        assert beside.former(B) is None
        assert text_of(beside.exchange(crawled.known(B))).endswith(b"b")
    crawled.history.add(replace(imagined(0), crawl=9))
    crawled.rotate()
    with History(crawled.archive, crawled.folder, beside=True) as beside:
        assert beside.former(B) == crawled.known(B)
        assert list(beside.pages()) == [page for page in crawled.history.pages() if page.crawl != 9]


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be somebody whom the permissions of files concern."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("killed", [False, True])
def test_a_folder_that_cannot_be_written_to_can_be_read(killed: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        crawled = Crawled(Path(name))
        known = some_crawls(crawled)
        if killed:
            crawled.ledger.commit()
            copy = shutil.copytree(crawled.folder, crawled.root / "copy")
            assert (copy / f"{HISTORY}-wal").stat().st_size
            crawled.history.close()
            copy.rename(crawled.folder.rename(crawled.root / "closed").with_name("indexes"))
        crawled.close()
        for path in (crawled.root, crawled.archive, crawled.folder):
            path.chmod(0o555)
        before = sorted(path.name for path in crawled.folder.iterdir())
        with unprivileged(), History(crawled.archive, crawled.folder, beside=True) as beside:
            assert known_of(beside) == known
        assert sorted(path.name for path in crawled.folder.iterdir()) == before
        with unprivileged(), History(crawled.archive, crawled.folder) as refused:
            assert refused.former(A) in {None, known[A]}
        for path in (crawled.root, crawled.archive, crawled.folder):
            path.chmod(0o755)


def test_trouble_is_told_and_stops_nothing(crawled: Crawled, caplog: pytest.LogCaptureFixture) -> None:
    (crawled.root / "a file").write_bytes(b"")
    for folder in (crawled.root / "a file", crawled.root / "a file" / "within"):
        with History(crawled.archive, folder) as history:
            history.add(imagined(0))
            assert history.former(imagined(0).capture.url) is None
            assert history.original(imagined(0).digest) is None
            assert not list(history.pages())
    assert caplog.text.count("the history is not to be had") == 2


def test_damage_that_is_met_later_ends_in_a_new_one(crawled: Crawled, caplog: pytest.LogCaptureFixture) -> None:
    known = some_crawls(crawled)
    crawled.history.close()
    crawled.open()
    path = crawled.folder / HISTORY
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    crawled.ledger.base.execute("PRAGMA shrink_memory")
    for number in range(10):
        crawled.history.add(imagined(number))
        crawled.history.former(imagined(number).capture.url)
    assert caplog.text.count("the history is not to be had") == 1
    assert not path.exists()
    crawled.open()
    assert {url: crawled.history.former(url) for url in known} == known


WRITES = """
import sys
from pathlib import Path
from aahcrawler.archive.history import History
from tests.archive.test_history import Crawled, WarcWriter, INFO

crawled = Crawled(Path(sys.argv[1]))
for number in range(10**6):
    if number % 97 == 96:
        crawled.rotate()
    url = f"http://a.test/{number % 400}"
    former = crawled.history.former(url)
    if former and number % 3:
        crawled.write(url, b"", b"304 Not Modified", former=former)
    else:
        crawled.write(url, b"%d" % (number % 150))
    print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 120, 700])
def test_a_kill_loses_nothing(tmp_path: Path, after: int) -> None:
    with forked(WRITES, tmp_path) as child:
        for line in child.stdout:
            if int(line) >= after:
                child.kill()
                break
        acknowledged = int(([line, *child.stdout])[-1])
    recover(tmp_path / "archive", WARC)
    with History(tmp_path / "archive", tmp_path / "indexes") as history:
        known = {number: history.former(f"http://a.test/{number}") for number in range(400)}
        assert all(known[number] for number in range(min(400, acknowledged + 1)))
        formers = [former for former in known.values() if former is not None]
        assert all(history.is_readable(former) for former in formers)
        without = [former for former in formers if history.metadata(former) != UNDERSTOOD]
        # The kill may have come between the records of one answer.
        assert [former.kind for former in without] in ([], ["requisite"])
    (tmp_path / "indexes" / HISTORY).unlink()
    with History(tmp_path / "archive", tmp_path / "indexes") as history:
        assert {number: history.former(f"http://a.test/{number}") for number in range(400)} == known
