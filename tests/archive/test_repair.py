"""``aah archive repair``: torn ends go, no byte is lost, and what is left passes every check."""

import fcntl
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from aahcrawler.archive.checking import Repaired, Tally, check, repair
from aahcrawler.archive.folders import ArchiveError
from aahcrawler.cli import app
from aahcrawler.segments import SegmentError
from tests.archive.test_checking import check_members, crawl_of, only_file
from tests.archive.test_segments import files_up_to
from tests.crawl.verifying import warcio_check


def faults(path: Path) -> list[str]:
    return [str(finding) for finding in check(path, Tally()) if not finding.is_note]


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("cut", [1, 9, 150, 2000])
def test_torn_ends_are_moved_beside(tmp_path: Path, cut: int, is_open: bool) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    content = path.read_bytes()[:-cut]
    path.unlink()
    torn = path.with_name(path.name + ".open") if is_open else path
    torn.write_bytes(content)
    assert faults(crawl)
    (repaired,) = repair(crawl)
    assert (repaired.file, repaired.damaged) == (path, 0)
    assert repaired.torn == path.with_name(path.name + ".torn")
    assert path.read_bytes() + repaired.torn.read_bytes() == content
    assert repaired.cut == repaired.torn.stat().st_size
    assert f"{repaired.cut} bytes was moved to {path.name}.torn" in str(repaired)
    assert sorted(file.name for file in (crawl / "archive").iterdir()) == [path.name, path.name + ".torn"]
    assert faults(crawl) == []
    assert list(repair(crawl)) == []


def test_an_open_file_that_is_whole_is_closed(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    content = path.read_bytes()
    path.rename(path.with_name(path.name + ".open"))
    path.with_name(path.name + ".open.mark").write_text("9\n")
    assert list(repair(crawl)) == [Repaired(path, len(content))]
    assert [file.read_bytes() for file in (crawl / "archive").iterdir()] == [content]
    assert faults(crawl) == []


def test_a_file_of_which_nothing_is_whole(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, size=1500)
    path, *_ = sorted((crawl / "archive").iterdir())
    path.write_bytes(path.read_bytes()[:50])
    (repaired,) = repair(crawl)
    assert (repaired.kept, repaired.cut) == (0, 50)
    assert not path.exists()
    assert repaired.torn is not None
    assert repaired.torn.stat().st_size == 50
    assert faults(crawl) == []


def test_damage_before_the_end_is_left_and_told(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    sizes = check_members(path)
    content = bytearray(path.read_bytes())
    content[sizes[0] + 40 : sizes[0] + 60] = bytes(20)
    path.write_bytes(content + b"\x1f\x8b\x08torn")
    (repaired,) = repair(crawl)
    assert (repaired.kept, repaired.cut, repaired.damaged) == (len(content), 7, 1)
    assert "restore it from a copy" in str(repaired)
    assert path.read_bytes() == content
    assert (crawl / "indexes" / "index.cdxj").read_bytes().count(b"\n") == 7


def test_earlier_torn_ends_are_kept(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    for number in range(3):
        with path.open("ab") as file:
            file.write(b"torn %d" % number)
        list(repair(crawl))
    beside = sorted(path.parent.glob("*.torn*"))
    assert [(file.name.removeprefix(path.name), file.read_bytes()) for file in beside] == [
        (".torn", b"torn 0"),
        (".torn.1", b"torn 1"),
        (".torn.2", b"torn 2"),
    ]
    assert warcio_check(path).out.count("no request/response header") == 0


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    content = path.read_bytes() + bytes(100_000)
    path.write_bytes(content)
    with files_up_to(50_000), pytest.raises(OSError, match="too large"):
        list(repair(crawl))
    assert path.read_bytes() == content
    (repaired,) = repair(crawl)
    assert repaired.cut == 100_000
    assert faults(crawl) == []


def test_a_running_crawl_is_left_alone(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    content = path.read_bytes()[:-3]
    path.write_bytes(content)
    with FileLock(crawl / ".lock", timeout=0):
        with pytest.raises(ArchiveError, match="a crawl is running"):
            list(repair(crawl))
        for command in ("repair", "index"):
            ended = CliRunner().invoke(app, ["archive", command, str(crawl)])
            assert ended.exit_code == 2
            assert "stop it or wait" in ended.output
    assert path.read_bytes() == content
    ended = CliRunner().invoke(app, ["archive", "repair", str(crawl)])
    assert (ended.exit_code, len(ended.output.splitlines())) == (0, 2)
    again = CliRunner().invoke(app, ["archive", "repair", str(crawl)])
    assert again.output == "no file had to be mended; the index was made anew\n"


def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    left = path.rename(path.with_name(path.name + ".open"))
    with left.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert list(repair(crawl)) == []
    assert left.exists()


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    other = path.with_name(path.name + ".open")
    other.write_bytes(path.read_bytes())
    list(repair(crawl))
    assert (path.exists(), other.exists()) == (True, True)


def test_any_folder_of_warc_files(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path)
    path = only_file(crawl)
    path.write_bytes(path.read_bytes()[:-3])
    assert len(list(repair(crawl / "archive"))) == 1
    assert (crawl / "archive" / "index.cdxj").read_bytes().count(b"\n") == 8
    assert faults(crawl / "archive") == []
    with pytest.raises((ArchiveError, SegmentError)):
        list(repair(tmp_path / "indexes"))
