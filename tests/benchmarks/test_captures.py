"""The benchmark of captures meets each of them, with FastWARC and through a source."""

from itertools import pairwise
from pathlib import Path

from aahcrawler.captures import ArchivedCaptures
from benchmarks.captures import MEASURED, measured, write_archive


def test_all_that_is_measured_meets_the_captures(tmp_path: Path) -> None:
    write_archive(tmp_path, 30, writers=3)
    rows = [measured(what, tmp_path) for what in MEASURED]
    met = {row["what"]: row["captures"] for row in rows}
    whole = {"fastwarc: records", "fastwarc: answers read", "source", "source: again", "source: by record"}
    assert {what for what, captures in met.items() if captures == 30} == whole
    assert (met["source: exchanges"], met["source: pages"]) == (29, 29)  # One was met before the clock ran.
    with ArchivedCaptures(tmp_path) as source:
        found = list(source.captures())
        assert all(before.date <= after.date for before, after in pairwise(found))
        assert len({each.place.file for each in found}) == 3
        assert found[0].page is not None
