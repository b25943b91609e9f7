"""An import keeps each record once, in WARC files like those of a crawl, and tells what it could not keep."""

import gzip
import hashlib
import json
import signal
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aahcrawler.archive.checking import Tally, check
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.imports import archive_import
from aahcrawler.imports.archive_import import ArchiveImport, ImportFault
from aahcrawler.imports.import_writer import PlaceNote, entries
from aahcrawler.imports.kept_records import read_ahead
from aahcrawler.layout import ARCHIVE, IMPORTS, INDEX, INDEXES
from aahcrawler.replay.recorded_responses import RecordedResponses
from aahcrawler.takedown.removal import WantedRemoval, lift, remove
from tests.forking import forked
from tests.imports.archives import (
    PAGE,
    Written,
    arc,
    blocks_by_id,
    damaged,
    damages,
    imported,
    kept,
    members,
    pages,
    record,
)


def written(folder: Path, name: str, text: bytes) -> Path:
    path = folder / name
    path.write_bytes(text)
    return path


def state(root: Path) -> dict[str, str]:
    """Return a digest of each file that an import writes."""
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".sqlite")
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("name", ["plain.warc", "members.warc.gz", "one-member.warc.gz"])
def test_records_keep_ids_dates_headers_and_bytes(name: str, tmp_path: Path) -> None:
    records = [
        record(100, b"software: Example\r\n", "warcinfo"),
        *pages(4),
        record(9, b"GET /1 HTTP/1.0\r\n\r\n", "request"),
    ]
    plain = b"".join(each.text for each in records)
    text = {"plain.warc": plain, "members.warc.gz": members(records)}.get(name, gzip.compress(plain))
    counts, told = imported(tmp_path / "crawl", written(tmp_path, name, text))
    assert (counts.kept, counts.lost, told) == (6, 0, [])
    assert blocks_by_id(tmp_path / "crawl") == {each.record_id: each.block for each in records}
    headers = {header["WARC-Record-ID"].strip("<>"): header for _, header, _ in kept(tmp_path / "crawl")}
    for each in records:
        lines = each.text.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        assert dict(line.split(": ", 1) for line in lines).items() <= headers[each.record_id].items()


def test_what_is_written_has_no_fault_and_its_index_is_whole(tmp_path: Path) -> None:
    root, tally = tmp_path / "crawl", Tally()
    imported(root, written(tmp_path, "a.warc", b"".join(each.text for each in pages(5))))
    assert [str(each) for each in check(root, tally) if not each.is_note] == []
    assert len((root / INDEXES / INDEX).read_bytes().splitlines()) == 5


def test_where_records_come_from_is_said_before_them(tmp_path: Path) -> None:
    path = written(tmp_path, "old dikes.warc.gz", members(pages(2)))
    imported(tmp_path / "crawl", path)
    (kind, _, block), *_ = kept(tmp_path / "crawl")
    assert kind == "warcinfo"
    assert b"imported-from: old dikes.warc.gz\r\n" in block
    assert f"imported-digest: sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\r\n".encode() in block


def test_a_repeated_import_adds_nothing(tmp_path: Path) -> None:
    root, broken = tmp_path / "crawl", bytearray(members(pages(4)))
    broken[400:440] = b"?" * 40
    files = [
        written(tmp_path, "a.warc.gz", bytes(broken)),
        written(tmp_path, "b.arc", arc([("dns:a.test", b"192.0.2.1")])),
    ]
    counts, told = imported(root, *files)
    before = state(root)
    again, told_again = imported(root, *files)
    assert counts.kept
    assert (again.kept, again.already, again.lost) == (0, counts.kept, counts.lost)
    assert (state(root), told_again) == (before, told)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_whatever_is_damaged_a_repeated_import_adds_nothing(tmp_path: Path, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from((members(pages(4)), b"".join(each.text for each in pages(4)))))
    with TemporaryDirectory(dir=tmp_path) as folder:
        path = written(Path(folder), "a.warc.gz", damaged(text, data.draw(damages(len(text))))[0])
        counts, told = imported(Path(folder) / "crawl", path)
        again, told_again = imported(Path(folder) / "crawl", path)
    assert (again.kept, again.already, again.lost) == (0, counts.kept + counts.already, counts.lost)
    assert [str(each) for each in told_again if not each.is_kept] == [str(each) for each in told if not each.is_kept]


def test_the_same_records_in_another_file_are_not_written_again(tmp_path: Path) -> None:
    root, records = tmp_path / "crawl", pages(3)
    imported(root, written(tmp_path, "a.warc.gz", members(records)))
    (root / INDEXES / "imported.sqlite").unlink()
    counts, _ = imported(root, written(tmp_path, "b.warc", b"".join(each.text for each in [*records, *pages(1, 8)])))
    assert (counts.kept, counts.already) == (1, 3)


KILLED = """
import os, signal, sys
from pathlib import Path
from aahcrawler.imports.archive_import import ArchiveImport
left = int(sys.argv[3])
def seen(number):
    global left
    left -= number
    if left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
ArchiveImport(Path(sys.argv[1]), "dikes", print, seen).run([Path(sys.argv[2])])
"""


@pytest.mark.parametrize("after", [1, 7, 19])
def test_an_import_that_was_killed_is_gone_on_with(after: int, tmp_path: Path) -> None:
    root, records = tmp_path / "crawl", pages(20)
    path = written(tmp_path, "a.warc.gz", members(records))
    with forked(KILLED, root, path, after) as process:
        assert process.wait() == -signal.SIGKILL
    counts, _ = imported(root, path)
    assert counts.already >= after - 1
    assert counts.kept + counts.already == 20
    ids = [header["WARC-Record-ID"] for _, header, block in kept(root) if b"imported-from" not in block]
    assert Counter(ids) == Counter(f"<{each.record_id}>" for each in records)
    assert len((root / INDEXES / INDEX).read_bytes().splitlines()) == 20


def test_a_record_with_the_id_of_another_is_kept_under_its_own(tmp_path: Path) -> None:
    root, first, second = tmp_path / "crawl", record(1, PAGE % (b"a", b"a")), record(1, PAGE % (b"b", b"b"))
    request = record(2, b"GET / HTTP/1.0\r\n\r\n", "request", WARC_Concurrent_To=f"<{second.record_id}>")
    path = written(tmp_path, "a.warc", first.text + second.text + first.text + request.text)
    counts, (told,) = imported(root, path)
    assert (counts.kept, counts.already, counts.noted) == (3, 1, 1)
    assert (told.place.offset, told.is_kept) == (len(first.text), True)
    found = blocks_by_id(root)
    assert found[first.record_id] == first.block
    (new,) = found.keys() - {first.record_id, request.record_id}
    assert found[new] == second.block
    concurrent = [header["WARC-Concurrent-To"] for kind, header, _ in kept(root) if kind == "request"]
    assert concurrent == [f"<{new}>"]
    assert imported(root, path)[0].kept == 0


def test_what_a_record_lacks_is_told_and_mended_where_nothing_is_invented(tmp_path: Path) -> None:
    records = [
        record(1, PAGE % (b"1", b"1"), WARC_Record_ID=""),
        record(2, PAGE % (b"2", b"2"), WARC_Type=""),
        record(3, PAGE % (b"3", b"3"), WARC_Date="20110203040506"),
        record(4, PAGE % (b"4", b"4"), WARC_Date=""),
        record(5, PAGE % (b"5", b"5"), WARC_Date="once upon a time"),
        record(6, PAGE % (b"6", b"6"), WARC_Block_Digest=""),
    ]
    counts, told = imported(tmp_path / "crawl", written(tmp_path, "a.warc.gz", members(records)))
    assert (counts.kept, counts.lost, counts.noted) == (4, 2, 3)
    assert [(each.is_kept, each.why.split(":")[0]) for each in told] == [
        (True, "it has no WARC-Record-ID"),
        (True, "it has no WARC-Type"),
        (True, "its WARC-Date '20110203040506' is written as 2011-02-03T04"),
        (False, "it has no date"),
        (False, "its date is 'once upon a time'"),
    ]
    assert all("WARC-Block-Digest" in header for _, header, _ in kept(tmp_path / "crawl"))
    with ArchivedCaptures(tmp_path / "crawl") as source:
        assert len(list(source.captures())) == 3


def test_arc_records_become_responses_that_can_be_read(tmp_path: Path) -> None:
    root, page = tmp_path / "crawl", PAGE % (b"arc", b"arc")
    counts, told = imported(root, written(tmp_path, "a.arc.gz", gzip.compress(arc([("http://dikes.test/a b", page)]))))
    assert (counts.kept, counts.lost, ["blanks in its URL" in each.why for each in told]) == (2, 0, [True])
    (header,) = (header for kind, header, _ in kept(root) if kind == "response")
    assert header["WARC-Date"] == "1997-01-02T03:04:00Z"
    assert header["AAH-ARC-Header"].startswith("http://dikes.test/a b 192.0.2.7 19970102030400 text/html")
    with ArchivedCaptures(root) as source:
        (capture,) = source.captures()
        assert capture.page is not None
        assert capture.page.body == page.partition(b"\r\n\r\n")[2]
    for url in ("http://dikes.test/a b", "http://dikes.test/a%20b"):
        assert RecordedResponses(root).nearest(url, "19970102030400") is not None


def test_a_head_longer_than_readers_take_stays_readable(tmp_path: Path) -> None:
    block = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n<p>The dike holds."
    imported(tmp_path / "crawl", written(tmp_path, "a.warc", record(1, block).text))
    with ArchivedCaptures(tmp_path / "crawl") as source:
        (capture,) = source.captures()
        assert capture.page is not None
        assert capture.page.body == b"<p>The dike holds."


def revisit(number: int, original: Written) -> Written:
    head = original.block.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    fields = {
        "WARC_Profile": "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        "WARC_Refers_To": f"<{original.record_id}>",
        "Content_Type": "application/http;msgtype=response",
    }
    return record(number, head, "revisit", url="http://dikes.test/1", **fields)


def test_a_revisit_whose_original_is_nowhere_is_told_until_it_comes(tmp_path: Path) -> None:
    root, (original,) = tmp_path / "crawl", pages(1)
    again, other = revisit(30, original), revisit(31, original)
    _, (told,) = imported(root, written(tmp_path, "b.warc", again.text))
    assert "http://dikes.test/1" in told.what
    assert told.is_kept
    (noted,) = (each for each, _ in entries(root) if isinstance(each, PlaceNote))
    assert (noted.why, noted.place, noted.kept) == (told.why, told.place, True)
    _, none = imported(root, written(tmp_path, "a.warc", original.text), written(tmp_path, "c.warc", other.text))
    assert none == []
    with ArchivedCaptures(root) as source:
        pages_shown = [capture.page for capture in source.captures()]
    assert [page is not None and b"the dike holds" in page.body for page in pages_shown] == [True] * 3


def test_what_was_taken_down_does_not_come_back(tmp_path: Path) -> None:
    root, path = tmp_path / "crawl", written(tmp_path, "a.warc.gz", members(pages(3)))
    imported(root, path)
    stone, _ = remove(root, WantedRemoval(urls=("http://dikes.test/2",)), "somebody", "asked to")
    counts, _ = imported(root, path)
    assert (counts.kept, counts.already, counts.removed) == (0, 2, 1)
    lift(root, stone.id, "somebody", "asked again")
    assert imported(root, path)[0].kept == 1


def test_what_is_told_is_kept_with_the_digest_of_the_file(tmp_path: Path) -> None:
    root, broken = tmp_path / "crawl", pages(3)
    text = broken[0].text + broken[1].text[:-60] + broken[2].text
    path = written(tmp_path, "a.warc", text)
    empty = written(tmp_path, "empty.warc.gz", b"")
    counts, told = imported(root, path, empty)
    assert (counts.kept, counts.lost, counts.passed, counts.is_whole) == (2, 1, 1, False)
    lines = [json.loads(line) for line in (root / IMPORTS).read_text("utf-8").splitlines()]
    lost = [line for line in lines if line["entry"] == "told"]
    assert [(line["offset"], line["kept"]) for line in lost] == [(len(broken[0].text), False), (0, False)]
    assert [str(each).startswith(("a.warc, byte", "empty.warc.gz, byte 0")) for each in told] == [True, True]
    assert lost[0]["sha256"] == hashlib.sha256(text).hexdigest()
    assert [line["name"] for line in lines if line["entry"] == "file"] == ["a.warc", "empty.warc.gz"]


def test_archives_are_only_read(tmp_path: Path) -> None:
    path = written(tmp_path, "a.warc.gz", members(pages(2)))
    path.chmod(0o444)
    before = path.read_bytes(), path.stat().st_mtime_ns
    imported(tmp_path / "crawl", path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert not list((tmp_path / "crawl" / ARCHIVE).glob("*.open*"))


@pytest.mark.starts
def test_the_outcome_of_two_processes_is_that_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_import, "_WORTH_A_PROCESS", 1)
    large = record(90, PAGE % (b"large", bytes(range(256)) * 12_000))
    same_id = record(1, PAGE % (b"other", b"other"))
    request = record(91, b"GET / HTTP/1.0\r\n\r\n", "request", WARC_Concurrent_To=f"<{same_id.record_id}>")
    undated = record(92, PAGE % (b"x", b"x"), WARC_Date="")
    records = [*pages(5), same_id, request, large, undated, revisit(93, record(94, PAGE % (b"away", b"away")))]
    text = members(records)
    path = written(tmp_path, "a.warc.gz", text + b"no record" + members(pages(1, 99))[:-20])
    found = []
    for processes in (1, 2):
        root, told = tmp_path / f"crawl{processes}", list[ImportFault]()
        root.mkdir()
        counts = ArchiveImport(root, "dikes", told.append, processes=processes).run((path,))
        rows = [(kind, header, block) for kind, header, block in kept(root) if b"imported-from" not in block]
        lines = [line.partition(b'"filename"')[0] for line in (root / INDEXES / INDEX).read_bytes().splitlines()]
        notes = [json.loads(line) for line in (root / IMPORTS).read_text("utf-8").splitlines()]
        found.append((counts, told, rows, len(lines), [note for note in notes if note["entry"] == "told"]))
    assert found[0] == found[1]
    assert found[0][0].lost == 2
    assert found[0][0].kept == len(records) - 1


@pytest.mark.starts
def test_what_stops_the_process_that_reads_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        list(read_ahead(tmp_path / "gone.warc.gz", 10, tmp_path))
