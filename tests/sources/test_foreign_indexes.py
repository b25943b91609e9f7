"""Archive files that are looked up by indexes of other programs."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from aahcrawler.archive.surt import surt
from aahcrawler.sources.local_archives import check_archive
from aahcrawler.sources.source import ArchiveFolderError, SourceError
from tests.imports.archives import record
from tests.sources.dated import Dated, page
from tests.sources.test_local_archives import ALL, found

URLS = [f"http://www.dikes.test/{name}" for name in ("", "a", "b", "c?x=1", "d")]
CAPTURES = [
    Dated(url, f"2013-06-{day:02}T10:00:00Z", page(f"{url} of {day}")) for url in sorted(URLS) for day in (5, 6, 7)
]
LEGEND = " CDX N b a m s k r V g\n"


def fields_of(folder: Path) -> list[dict[str, str]]:
    """Write a WARC file of all captures; return what an index says of them."""
    folder.mkdir(parents=True, exist_ok=True)
    offset, told = 0, []
    with (folder / "a.warc.gz").open("wb") as file:
        for number, each in enumerate(CAPTURES, 1):
            written = gzip.compress(record(number, each.block, url=each.url, version="1.1", WARC_Date=each.at).text)
            stamp = "".join(filter(str.isdigit, each.at))
            place = {"length": str(len(written)), "offset": str(offset), "filename": "elsewhere/a.warc.gz"}
            told.append({"timestamp": stamp, "url": each.url, "mime": "text/html", "status": "200", **place})
            offset += file.write(written)
    return told


def cdxj(told: Sequence[dict[str, str]]) -> list[str]:
    lines = []
    for each in told:
        said = {name: value for name, value in each.items() if name != "timestamp"}
        lines.append(f"{surt(each['url'])} {each['timestamp']} {json.dumps(said)}\n")
    return sorted(lines)


def nine(told: Sequence[dict[str, str]]) -> list[str]:
    rest = "text/html 200 AAAA -"
    keys = [each["url"].removeprefix("http://www.") for each in told]
    pairs = zip(keys, told, strict=True)
    return sorted(f"{key} {each['timestamp']} {each['url']} {rest} {each['offset']} a.warc.gz\n" for key, each in pairs)


def cluster(folder: Path, lines: Sequence[str], size: int = 4) -> Path:
    """Write a ZipNum cluster of lines; return its index."""
    folder.mkdir(parents=True, exist_ok=True)
    blocks = [lines[at : at + size] for at in range(0, len(lines), size)]
    offset, index = 0, ""
    with (folder / "cdx-00000.gz").open("wb") as file:
        for number, block in enumerate(blocks, 1):
            packed = gzip.compress("".join(block).encode())
            index += f"{' '.join(block[0].split(' ')[:2])}\tcdx-00000\t{offset}\t{len(packed)}\t{number}\n"
            offset += file.write(packed)
    (folder / "cluster.idx").write_text(index, "utf-8")
    return folder / "cluster.idx"


def write_lines(path: Path, lines: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), "utf-8")
    return path


def index_of(kind: str, folder: Path) -> Path:
    """Write an archive with an index of some kind; return what a definition names."""
    if kind == "collection of pywb":
        told = fields_of(folder / "archive")
        cluster(folder / "indexes", cdxj(told))
        return folder
    told = fields_of(folder)
    if kind == "cluster":
        return cluster(folder, cdxj(told))
    lines = cdxj(told) if kind == "CDXJ" else [LEGEND, *nine(told)]
    return write_lines(folder / f"index.{'cdxj' if kind == 'CDXJ' else 'cdx'}", lines)


@pytest.mark.parametrize("kind", ["CDXJ", "CDX of nine columns", "cluster", "collection of pywb"])
def test_every_capture_is_found_by_an_index_of_another_program(tmp_path: Path, kind: str) -> None:
    index = index_of(kind, tmp_path / "held")
    for url in URLS:
        shown = found(tmp_path, index, url=url, choice=ALL)
        assert [page.fetched_at.day for page, _ in shown] == [5, 6, 7]
        assert found(tmp_path, index, url=url)[0][0].fetched_at.day == 5
    assert found(tmp_path, index, url="http://www.dikes.test/none", choice=ALL) == []
    assert not (tmp_path / "crawl").exists(), "nothing is imported"


def test_parts_of_a_cluster_may_be_elsewhere(tmp_path: Path) -> None:
    index = cluster(tmp_path / "held", cdxj(fields_of(tmp_path / "held")))
    (tmp_path / "held" / "cdx-00000.gz").rename(tmp_path / "part.gz")
    (tmp_path / "held" / "cluster.loc").write_text("cdx-00000\t../part.gz\n", "utf-8")
    assert len(found(tmp_path, index, url=URLS[1], choice=ALL)) == 3


@pytest.mark.parametrize(
    ("name", "written", "told"),
    [
        ("a.cdx", "b 2 http://b.test/ text/html 200 A - 0 a.warc.gz\na 1 - - - - - 0 a.warc.gz\n", "not sorted"),
        ("a.cdxj.gz", "", "unpack it"),
        ("a.cdxj", "what is this\n", "name no captures"),
        ("cluster.idx", "test,a)/ 2013\tcdx-00000\tnowhere\n", "names no block"),
        ("cluster.idx", "test,a)/ 2013\tcdx-00000\t0\t10\t1\n", "cannot be read"),
    ],
)
def test_an_index_that_cannot_be_looked_up_is_told(tmp_path: Path, name: str, written: str, told: str) -> None:
    index = write_lines(tmp_path / "held" / name, [written])
    with pytest.raises(ArchiveFolderError, match=told):
        found(tmp_path, index)


def test_a_damaged_block_of_a_cluster_is_told(tmp_path: Path) -> None:
    index = cluster(tmp_path / "held", cdxj(fields_of(tmp_path / "held")))
    part = tmp_path / "held" / "cdx-00000.gz"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(SourceError, match=r"cut off|damaged"):
        found(tmp_path, index, url=URLS[-1], choice=ALL)


def test_a_file_that_an_index_lists_and_is_not_there_is_trouble(tmp_path: Path) -> None:
    index = index_of("CDXJ", tmp_path / "held")
    (tmp_path / "held" / "a.warc.gz").unlink()
    with pytest.raises(SourceError, match=r"the index lists a\.warc\.gz, which is neither beside it nor in ") as raised:
        found(tmp_path, index, url=URLS[1])
    assert "a.warc.gz" in raised.value.reason
    assert found(tmp_path, index, url="http://www.dikes.test/none") == []


def test_folders_within_that_hold_archive_files_are_named(tmp_path: Path) -> None:
    fields_of(tmp_path / "held" / "2013")
    (tmp_path / "held" / "notes").mkdir()
    with pytest.raises(ArchiveFolderError, match=r"name of its folders those that do: 2013$"):
        check_archive(tmp_path / "held")
    check_archive(tmp_path / "held" / "2013")
    unsorted = write_lines(tmp_path / "u.cdxj", cdxj(fields_of(tmp_path / "held" / "2013"))[::-1])
    with pytest.raises(ArchiveFolderError, match="not sorted"):
        check_archive(unsorted)
    with pytest.raises(ArchiveFolderError, match="cannot be read"):
        check_archive(tmp_path / "nowhere")
