"""WACZ packages are read where they lie; what is wrong with one is told, and costs nothing else."""

import gzip
import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest

from tests.imports.archives import blocks_by_id, imported, members, pages, record

RECORDS = pages(4)
ARCHIVE_FILE = members(RECORDS)


def index(offsets: list[int], file: str = "data.warc.gz") -> bytes:
    lines = (f'test,dikes)/ 20110203040506 {{"filename": "{file}", "offset": "{each}"}}\n' for each in offsets)
    return "".join(lines).encode()


def package(
    path: Path, files: Mapping[str, bytes], *, compression: int = ZIP_STORED, wrong: tuple[str, ...] = ()
) -> Path:
    said = [
        {"path": name, "hash": "sha256:" + ("0" * 64 if name in wrong else hashlib.sha256(text).hexdigest())}
        for name, text in files.items()
    ]
    with ZipFile(path, "w", compression) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
        packed.writestr("datapackage.json", json.dumps({"profile": "data-package", "resources": said}))
    return path


@pytest.mark.parametrize("compression", [ZIP_STORED, ZIP_DEFLATED])
@pytest.mark.parametrize("text", [ARCHIVE_FILE, b"".join(each.text for each in RECORDS)], ids=["gzip", "plain"])
def test_the_records_of_a_package_are_kept(compression: int, text: bytes, tmp_path: Path) -> None:
    files = {"archive/data.warc.gz": text, "pages/pages.jsonl": b"{}\n", "indexes/index.cdxj": index([0])}
    counts, told = imported(tmp_path / "crawl", package(tmp_path / "a.wacz", files, compression=compression))
    assert (counts.kept, told) == (4, [])
    assert blocks_by_id(tmp_path / "crawl") == {each.record_id: each.block for each in RECORDS}
    assert imported(tmp_path / "crawl", tmp_path / "a.wacz")[0].kept == 0


def test_wrong_digests_and_missing_files_are_told(tmp_path: Path) -> None:
    files = {"archive/data.warc.gz": ARCHIVE_FILE}
    path = package(tmp_path / "a.wacz", files, wrong=("archive/data.warc.gz",))
    counts, (told,) = imported(tmp_path / "crawl", path)
    assert (counts.kept, counts.is_whole) == (4, False)
    assert told.file == "a.wacz/archive/data.warc.gz"
    assert "the package says 000" in told.why


def test_names_that_lead_out_of_the_package_are_passed_over(tmp_path: Path) -> None:
    names = ("archive/../../../evil.warc.gz", "/archive/evil.warc.gz", "archive\\..\\evil.warc.gz")
    files = {"archive/data.warc.gz": ARCHIVE_FILE} | dict.fromkeys(names, members(pages(1, 9)))
    counts, told = imported(tmp_path / "crawl", package(tmp_path / "a.wacz", files))
    assert (counts.kept, counts.passed) == (4, 3)
    assert all("leads out of the package" in each.why for each in told)
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.slow
def test_a_file_that_is_meant_to_fill_the_disk_is_passed_over(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.wacz", "w", ZIP_DEFLATED) as packed:
        with packed.open("archive/bomb.warc", "w", force_zip64=True) as bomb:
            for _ in range(300):
                bomb.write(bytes(1 << 20))
        packed.writestr("archive/data.warc.gz", ARCHIVE_FILE)
    counts, told = imported(tmp_path / "crawl", tmp_path / "a.wacz")
    assert counts.kept == 4
    assert [each.file for each in told] == ["a.wacz/datapackage.json", "a.wacz/archive/bomb.warc"]


def test_lines_of_an_index_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    wrong = index([7]) + index([0], "other.warc.gz") + b"no line of an index\n"
    files = {"archive/data.warc.gz": ARCHIVE_FILE, "indexes/index.cdx.gz": gzip.compress(index([0]) + wrong)}
    counts, told = imported(tmp_path / "crawl", package(tmp_path / "a.wacz", files))
    assert counts.kept == 4
    assert ["byte 7 of data.warc.gz" in told[0].why, "byte 0 of other.warc.gz" in told[1].why] == [True, True]
    assert len(told) == 2


def test_of_a_package_that_was_cut_off_the_records_are_found(tmp_path: Path) -> None:
    whole = package(tmp_path / "a.wacz", {"archive/data.warc.gz": ARCHIVE_FILE}).read_bytes()
    (tmp_path / "b.wacz").write_bytes(whole[: whole.index(b"datapackage.json")])
    counts, told = imported(tmp_path / "crawl", tmp_path / "b.wacz")
    assert counts.kept == 4
    assert "cut off" in told[0].why


def test_a_damaged_file_in_a_package_costs_its_damaged_record(tmp_path: Path) -> None:
    broken = bytearray(ARCHIVE_FILE)
    broken[40:60] = bytes(20)
    counts, told = imported(tmp_path / "crawl", package(tmp_path / "a.wacz", {"archive/data.warc.gz": bytes(broken)}))
    assert (counts.kept, counts.lost) == (3, 1)
    assert told[0].file == "a.wacz/archive/data.warc.gz"


def test_a_file_of_unreadable_compression_is_told(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as packed:
        packed.writestr("archive/data.warc", record(1, b"x" * 5_000).text)
    text = bytearray(stream.getvalue())
    at = text.index(b"archive/data.warc") + len("archive/data.warc") + 4
    text[at : at + 8] = b"\xff" * 8
    (tmp_path / "a.wacz").write_bytes(bytes(text))
    counts, told = imported(tmp_path / "crawl", tmp_path / "a.wacz")
    assert counts.kept == 0
    assert any("it is damaged" in each.why for each in told)
