"""What survives: torn members, killed processes, full disks, living writers."""

import gzip
import itertools
import os
import random
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.archive.writer import WarcWriter
from aahcrawler.layout import WARC
from aahcrawler.segments import (
    DiskFullError,
    Recovered,
    SegmentError,
    SegmentWriter,
    Series,
    open_segment,
    recover,
    segments,
)
from tests.archive.exchanges import INFO, page_exchange, read_back
from tests.archive.test_writer import blocks_of
from tests.crawl.verifying import warcio_check
from tests.forking import forked
from tests.pace import at_most

ROOT = Path(__file__).parents[2]
OPENED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def writer_of(folder: Path, *, limit: int = 1 << 30, checkpoint: int = 1 << 30) -> SegmentWriter:
    return SegmentWriter(Series(folder, "c", "x.gz", limit=limit, checkpoint=checkpoint), lambda: OPENED)


def text_of(path: Path) -> bytes:
    with open_segment(path) as file, gzip.GzipFile(fileobj=file) as text:
        return text.read()


def torn_segment(folder: Path, *members: bytes) -> tuple[Path, list[int]]:
    """Return a finished segment's path and where its members end."""
    writer = writer_of(folder)
    spans = [writer.append([member]) for member in members]
    writer.close()
    return folder / spans[0].file, [span.offset + span.size for span in spans]


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Let the operating system refuse to let any file grow beyond ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_every_torn_tail_is_cut_at_the_last_whole_member(tmp_path: Path) -> None:
    finished, ends = torn_segment(tmp_path / "whole", b"first", b"second" * 40, b"third")
    content = finished.read_bytes()
    folder = tmp_path / "torn"
    folder.mkdir()
    for size in range(len(content) + 1):
        (folder / (finished.name + ".open")).write_bytes(content[:size])
        kept = max((end for end in ends if end <= size), default=0)
        assert [text_of(path) for path in segments(folder, "x.gz")] == [gzip.decompress(content[:kept])]
        assert recover(folder, "x.gz") == (Recovered(folder / finished.name, kept, size - kept),)
        assert [path.read_bytes() for path in folder.iterdir()] == ([content[:kept]] if kept else [])
        (folder / finished.name).unlink(missing_ok=True)


@pytest.mark.parametrize("tail", [bytes(5000), b"\x1f\x8b\x08" + bytes(200), b"garbage"])
def test_what_a_power_failure_leaves_is_cut(tmp_path: Path, tail: bytes) -> None:
    finished, ends = torn_segment(tmp_path, b"first", b"second")
    finished.rename(finished.with_name(finished.name + ".open"))
    with finished.with_name(finished.name + ".open").open("ab") as file:
        file.write(tail)
    (recovered,) = recover(tmp_path, "x.gz")
    assert (recovered.kept, recovered.cut) == (ends[-1], len(tail))
    assert f"torn end of {len(tail)} bytes" in str(recovered)
    assert gzip.decompress(finished.read_bytes()) == b"firstsecond"


def test_recovery_reads_only_what_follows_the_last_checkpoint(tmp_path: Path) -> None:
    writer = writer_of(tmp_path, checkpoint=1000)
    spans = [writer.append([random.Random(n).randbytes(700)]) for n in range(5)]
    (path,) = tmp_path.glob("*.open")
    content = bytearray(path.read_bytes())
    before_checkpoint = slice(spans[0].offset + 20, spans[0].offset + 600)
    content[before_checkpoint] = bytes(580)
    writer.close()
    (tmp_path / spans[0].file).unlink()
    path.write_bytes(content[:-1])
    path.with_name(path.name + ".mark").write_text(f"{spans[3].offset + spans[3].size}\n")
    (recovered,) = recover(tmp_path, "x.gz")
    assert recovered.kept == spans[4].offset
    assert [left.name for left in tmp_path.iterdir()] == [spans[0].file]


def test_checkpoints_are_noted_where_members_end(tmp_path: Path) -> None:
    writer = writer_of(tmp_path, checkpoint=1000)
    ends = [span.offset + span.size for span in (writer.append([random.Random(n).randbytes(700)]) for n in range(5))]
    (mark,) = tmp_path.glob("*.mark")
    assert int(mark.read_text()) == ends[3]
    writer.close()
    assert [path.suffix for path in tmp_path.iterdir()] == [".gz"]


@pytest.mark.parametrize("mark", ["", "12", "999999\n", "-3\n", "17\n", "nonsense\n", "\xff\n"])
def test_checkpoints_that_make_no_sense_are_ignored(tmp_path: Path, mark: str) -> None:
    finished, ends = torn_segment(tmp_path, b"first", b"second")
    finished.rename(finished.with_name(finished.name + ".open"))
    finished.with_name(finished.name + ".open.mark").write_text(mark)
    assert recover(tmp_path, "x.gz") == (Recovered(finished, ends[-1], 0),)
    assert [path.name for path in tmp_path.iterdir()] == [finished.name]


def test_segments_of_a_living_writer_are_left_alone(tmp_path: Path) -> None:
    writer = writer_of(tmp_path)
    writer.append([b"one"])
    assert recover(tmp_path, "x.gz") == ()
    writer.append([b"two"])
    other = writer_of(tmp_path)
    other.append([b"three"])
    writer.close()
    other.close()
    assert [text_of(path) for path in segments(tmp_path, "x.gz")] == [b"onetwo", b"three"]


def test_there_may_be_nothing_to_recover(tmp_path: Path) -> None:
    assert recover(tmp_path / "absent", "x.gz") == ()
    assert segments(tmp_path / "absent", "x.gz") == ()
    assert recover(tmp_path, "x.gz") == ()


def test_segments_are_listed_in_the_order_of_their_beginning(tmp_path: Path) -> None:
    names = ["b-20260101000000-00000.x.gz", "a.z-20260101000001-00001.x.gz.open", "b-20260102000000-00001.x.gz"]
    for name in reversed(names):
        (tmp_path / name).touch()
    assert [path.name for path in segments(tmp_path, "x.gz")] == names


def test_a_segment_closed_since_it_was_listed_is_found(tmp_path: Path) -> None:
    writer = writer_of(tmp_path)
    writer.append([b"one"])
    (listed,) = segments(tmp_path, "x.gz")
    writer.close()
    assert text_of(listed) == b"one"


def test_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SegmentError, match="cannot be written"):
        writer_of(tmp_path / "file")


def test_full_disk_loses_nothing_and_can_be_gone_on_from(tmp_path: Path) -> None:
    big = page_exchange(random.Random(1).randbytes(200_000))
    with WarcWriter(tmp_path, INFO) as writer:
        writer.write(page_exchange())
        (path,) = tmp_path.iterdir()
        before = path.read_bytes()
        with files_up_to(100_000), pytest.raises(DiskFullError, match="no space is left"):
            writer.write(big)
        assert path.read_bytes() == before
        with files_up_to(100_000):
            writer.write(page_exchange(b"small"))
        writer.write(big)
    with big.response:
        assert blocks_of(tmp_path)[2] == big.response.read()
    assert warcio_check(*tmp_path.iterdir()).code == 0


def test_disk_full_from_the_beginning(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, INFO) as writer:
        with files_up_to(10), pytest.raises(DiskFullError):
            writer.write(page_exchange())
        assert list(tmp_path.iterdir()) == []
        writer.write(page_exchange())
    assert len(blocks_of(tmp_path)) == 1


ENDLESS = """
import os, sys
from pathlib import Path
from aahcrawler.archive.writer import WarcWriter
from tests.archive.exchanges import INFO, page_exchange

writer = WarcWriter(Path(sys.argv[1]), INFO, size=200_000)
while True:
    capture = writer.write(page_exchange(os.urandom(20_000)))
    os.write(1, capture.record_id.encode() + b"\\n")
"""


@pytest.mark.parametrize("seed", range(4))
def test_killed_process_loses_nothing_it_had_written(tmp_path: Path, seed: int) -> None:
    with forked(ENDLESS, tmp_path) as process:
        first = process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0, 0.3))
        process.kill()
        told = [line.strip() for line in (first, *process.stdout)]
    recover(tmp_path, WARC)
    assert not list(tmp_path.glob("*.open*"))
    kept = []
    for capture, exchange in read_back(tmp_path):
        exchange.close()
        kept.append(capture.record_id)
    assert kept[: len(told)] == told
    assert len(kept) <= len(told) + 1
    checked = warcio_check(*segments(tmp_path, "warc.gz"))
    assert checked.code == 0, checked.out


def test_large_segments_are_recovered_quickly(tmp_path: Path) -> None:
    """A checkpoint bounds the work: 512 MiB before it are not touched (sparse, so reading them would fail)."""
    finished, _ = torn_segment(tmp_path, b"last" * 1000)
    member = finished.read_bytes()
    finished.unlink()
    path = finished.with_name(finished.name + ".open")
    with path.open("wb") as file:
        file.seek(512 << 20)
        file.write(member + member[:-10])
    path.with_name(path.name + ".mark").write_text(f"{512 << 20}\n")
    with at_most(1):
        assert recover(tmp_path, "x.gz") == (Recovered(finished, (512 << 20) + len(member), len(member) - 10),)


def test_serials_go_on_after_what_is_there(tmp_path: Path) -> None:
    for serial in (0, 41):
        (tmp_path / f"c-20250101000000-{serial:05d}.x.gz").touch()
    (tmp_path / "other-20250101000000-00099.x.gz").touch()
    names = []
    for _ in range(2):
        writer = writer_of(tmp_path)
        names.append(writer.append([b"x"]).file)
        writer.close()
    assert names == ["c-20260102030405-00042.x.gz", "c-20260102030405-00043.x.gz"]


def test_interrupted_appends_are_undone(tmp_path: Path) -> None:
    def interrupted() -> Iterator[bytes]:
        yield os.urandom(300_000)
        raise KeyboardInterrupt

    writer = writer_of(tmp_path)
    writer.append([b"one"])
    with pytest.raises(KeyboardInterrupt):
        writer.append([b"complete"], interrupted())
    writer.append(itertools.repeat(b"two", 2))
    writer.close()
    (path,) = tmp_path.iterdir()
    assert text_of(path) == b"onetwotwo"


def test_the_members_of_an_append_come_to_the_file_together(tmp_path: Path) -> None:
    writer = writer_of(tmp_path)
    writer.append([b"one"])
    (path,) = tmp_path.iterdir()
    before, seen = path.stat().st_size, []

    def looking() -> Iterator[bytes]:
        yield b"three"
        seen.append(path.stat().st_size)

    span = writer.append([b"two"], looking())
    assert seen == [before]
    assert path.stat().st_size == span.ends[-1] > span.ends[0] > before
    writer.close()


def test_what_has_not_been_written_does_not_count_as_forced_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writer_of(tmp_path)
    writer.append([b"one"])
    writer.sync()
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: forced.append(os.fstat(fd).st_size))

    def meanwhile() -> Iterator[bytes]:
        yield b"three"
        writer.sync()  # Another thread does.

    span = writer.append([b"two"], meanwhile())
    writer.sync()
    assert forced == [span.ends[-1]]
    monkeypatch.undo()
    writer.close()
