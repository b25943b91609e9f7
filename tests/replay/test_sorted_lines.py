"""Sorted files are looked up as lists are, whatever their lines."""

from bisect import bisect_left
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.replay.capture_lookup import SortedLines

KEYS = st.lists(st.sampled_from(b"abc )/"), max_size=5).map(bytes)
LINES = st.lists(
    st.tuples(KEYS, st.sampled_from((0, 1, 300, 1_023, 1_024, 3_000, 20_000))), min_size=1, max_size=60
).map(lambda found: sorted({key + b"x" * size + b"\n" for key, size in found}))


@given(LINES, KEYS, st.integers(0, 60))
def test_lines_are_those_of_a_list(lines: list[bytes], key: bytes, at: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "index.cdxj"
        path.write_bytes(b"".join(lines))
        found = SortedLines(path)
        for wanted in (key, lines[at % len(lines)][:-1], b"", b"\xff"):
            place = bisect_left(lines, wanted)
            assert list(found.ascending(wanted)) == lines[place:]
            assert list(found.descending(wanted)) == lines[:place][::-1]


def test_a_file_that_takes_the_place_of_another_is_looked_up_anew(tmp_path: Path) -> None:
    path, other = tmp_path / "index.cdxj", tmp_path / "other"
    path.write_bytes(b"".join(b"a %05d\n" % number for number in range(3_000)))
    other.write_bytes(b"".join(b"a %05d\n" % number for number in range(2_000, 5_000)))
    found = SortedLines(path)
    assert list(islice(found.ascending(b"a 02500"), 1)) == [b"a 02500\n"]
    other.replace(path)
    assert list(islice(found.descending(b"a 02500"), 1)) == [b"a 02499\n"]
    assert len(list(found.descending(b"a 02500"))) == 500
