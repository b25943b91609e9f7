"""Damage costs the records that it lies in, is told with its place, and costs no other."""

import gzip
import io
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords
from tests.imports.archives import PAGE, Written, arc, damaged, damages, members, pages, read, record

RECORDS = pages(6)
PLAIN = b"".join(each.text for each in RECORDS)
PACKED = members(RECORDS)
EXAMPLES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def ends(pieces: list[bytes]) -> list[tuple[int, int]]:
    found, at = [], 0
    for piece in pieces:
        found.append((at, at + len(piece)))
        at += len(piece)
    return found


def noted(text: bytes, folder: Path) -> list[str]:
    """Return what is told of the records of a file that are kept."""
    found = ForeignRecords(io.BytesIO(text), len(text), folder)
    return [note for each in found if isinstance(each, ForeignRecord) for note in each.notes]


def untouched(pieces: list[bytes], begin: int, end: int) -> list[Written]:
    places = ends(pieces)
    return [each for each, (first, last) in zip(RECORDS, places, strict=True) if last <= begin or end <= first]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "pieces"),
    [(PLAIN, [each.text for each in RECORDS]), (PACKED, [members([each]) for each in RECORDS])],
    ids=["plain", "gzip"],
)
@EXAMPLES
@given(data=st.data())
def test_every_record_outside_the_damage_is_kept_byte_for_byte(
    text: bytes, pieces: list[bytes], tmp_path: Path, data: st.DataObject
) -> None:
    broken, begin, end = damaged(text, data.draw(damages(len(text))))
    found, losses = read(broken, tmp_path)
    whole = {each.record_id: each.block for each in untouched(pieces, begin, end)}
    assert whole.items() <= found.items()
    # Where the file is cut off between records, or in the line ends behind one, nothing tells that there were others.
    is_cut_between = any(last - 4 <= len(broken) <= last for last in (0, *(last for _, last in ends(pieces))))
    if any(each.block not in found.values() for each in RECORDS) and not is_cut_between:
        assert losses or noted(broken, tmp_path)
    for loss in losses:
        assert 0 <= loss.place.offset <= loss.end.offset <= len(broken)


@EXAMPLES
@given(data=st.data())
def test_in_one_gzip_member_the_records_before_the_damage_are_kept(tmp_path: Path, data: st.DataObject) -> None:
    text = gzip.compress(PLAIN, mtime=0)
    place = data.draw(st.integers(12, len(text) - 9))
    found, losses = read(text[:place], tmp_path)
    assert losses
    at = len(gzip_text(text[:place]))
    before = [each for each, (_, last) in zip(RECORDS, ends([r.text for r in RECORDS]), strict=True) if last <= at - 4]
    assert {each.record_id: each.block for each in before}.items() <= found.items()


def gzip_text(text: bytes) -> bytes:
    """Return what can be unpacked of the beginning of a gzip file."""
    return zlib.decompressobj(31).decompress(text)


@pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1"])
def test_all_versions_are_read(version: str, tmp_path: Path) -> None:
    records = pages(3, version=version)
    for text in (members(records), b"".join(each.text for each in records)):
        found, losses = read(text, tmp_path)
        assert (list(found.values()), losses) == ([each.block for each in records], [])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "one member"])
def test_arc_files_are_read(version: int, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    urls = {"http://dikes.test/a b": PAGE % (b"a", b"b"), "dns:dikes.test": b"192.0.2.7", "http://dikes.test/e": b""}
    found, losses = read(pack(arc(list(urls.items()), version)), tmp_path)
    assert losses == []
    assert urls.items() <= found.items()


def test_gzip_members_and_plain_text_may_follow_one_another(tmp_path: Path) -> None:
    first, second, third = RECORDS[:2], RECORDS[2:4], RECORDS[4:]
    text = members(first) + b"".join(each.text for each in second) + members(third)
    found, losses = read(text, tmp_path)
    assert (list(found.values()), losses) == ([each.block for each in RECORDS], [])


def test_lines_may_end_without_carriage_return(tmp_path: Path) -> None:
    each = RECORDS[0]
    head, _, _ = each.text.partition(b"\r\n\r\n")
    found, losses = read(head.replace(b"\r\n", b"\n") + b"\n\n" + each.block + b"\n\n" + RECORDS[1].text, tmp_path)
    assert (list(found.values()), losses) == ([each.block, RECORDS[1].block], [])


@pytest.mark.parametrize("length", ["", "-7", "x", "10", "100000"])
def test_a_wrong_length_costs_one_record(length: str, tmp_path: Path) -> None:
    wrong = record(50, PAGE % (b"50", b"50"), Content_Length=length, WARC_Block_Digest="")
    text = RECORDS[0].text + wrong.text + b"".join(each.text for each in RECORDS[1:])
    found, (loss,) = read(text, tmp_path)
    assert list(found.values()) == [each.block for each in RECORDS]
    assert loss.place.offset == len(RECORDS[0].text)
    assert "http://dikes.test/50" in loss.what


def test_text_that_is_no_archive_is_told(tmp_path: Path) -> None:
    for text in (b"<!DOCTYPE html><title>Not found</title>" * 400, gzip.compress(b"<html>" * 99), b"\0" * 70_000):
        found, losses = read(text, tmp_path)
        assert not found
        assert [loss.is_record for loss in losses] == [False]
    assert read(b"", tmp_path) == ({}, [])


def test_wrong_digests_and_chunks_are_told_and_kept(tmp_path: Path) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>no chunks"
    text = record(1, chunked).text + record(2, PAGE % (b"2", b"2"), WARC_Block_Digest="sha1:" + "A" * 32).text
    notes = noted(text, tmp_path)
    assert len(notes) == 2
    assert "chunked coding" in notes[0]
    assert "block digest is another one" in notes[1]


@pytest.mark.slow
def test_a_record_of_half_a_gigabyte_takes_little_memory(tmp_path: Path) -> None:
    size = 512 << 20
    head = record(1, b"", Content_Length=str(size), WARC_Block_Digest="").text.removesuffix(b"\r\n\r\n")
    path = tmp_path / "large.warc"
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(0, 2)
        file.write(b"\r\n\r\n" + RECORDS[1].text)
    tracemalloc.start()
    with path.open("rb") as file:
        sizes = [
            found.size
            for found in ForeignRecords(file, path.stat().st_size, tmp_path)
            if isinstance(found, ForeignRecord)
        ]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes == [size, len(RECORDS[1].block)]
    assert peak < 32 << 20


def _lengths_to_the_end(count: int) -> bytes:
    return b"".join(record(at, b"x" * 40, Content_Length="900000000", WARC_Block_Digest="").text for at in range(count))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [_lengths_to_the_end, lambda count: b"\x1f\x8b\x08" * 60 * count, lambda count: b"WARC/1.0\r\nWARC-" * 200 * count],
    ids=["lengths", "magic bytes", "beginnings"],
)
def test_hostile_files_take_time_in_proportion_to_their_length(make: Callable[[int], bytes], tmp_path: Path) -> None:
    def seconds(count: int) -> float:
        text = make(count)
        begun = time.process_time()
        read(text, tmp_path)
        return time.process_time() - begun

    seconds(20)
    assert seconds(2_000) < 40 * max(seconds(200), 0.05)
