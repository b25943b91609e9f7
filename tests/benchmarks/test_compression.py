"""The benchmark of compression reads back what segments hold, and measures each library with the same members."""

from pathlib import Path

from aahcrawler.segments import SegmentWriter, Series
from benchmarks.compression import compressors, measure, members
from tests.archive.exchanges import STARTED


def test_members_are_read_back_and_compressed_again(tmp_path: Path) -> None:
    written = [b"harbour " * 500, b"one", bytes(range(256)) * 20]
    writer = SegmentWriter(Series(tmp_path, "c", "x.gz"), lambda: STARTED)
    writer.append(*([each] for each in written))
    writer.close()
    read = list(members(tmp_path, "x.gz"))
    assert read == written
    rows = measure("records", read, rounds=1)
    assert [row["with"] for row in rows] == list(compressors())
    shares = {row["with"]: row["share"] for row in rows}
    assert all(isinstance(share, float) and 0 < share < 0.5 for share in shares.values()), shares
    assert {"isal 2", "zlib 6", "fastwarc 6"} <= set(shares)
