"""What the benchmark of many workers measures, with two of them for a moment."""

import os

import pytest
from benchmarks.frontier_workers import DOMAINS, Load, measure

from aahcrawler.frontier.redis.partitioning import VARIABLE

pytestmark = pytest.mark.starts


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [1, pytest.param(4, marks=pytest.mark.soak)])
def test_a_row_says_what_a_page_costs(partitions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, os.environ.get(VARIABLE, "1"))
    row = measure(Load(workers=2, page=0.002, seconds=1.0), partitions)
    assert (row["partitions"], row["workers"], row["asked"]) == (partitions, 2, 1000)
    pages = row["pages_per_second"]
    assert isinstance(pages, int)
    assert 0 < pages <= 1000
    assert all(isinstance(value, int | float) and value > 0 for name, value in row.items())
    assert DOMAINS > 64 * 10  # Sixty-four workers find domains that no other one has.
