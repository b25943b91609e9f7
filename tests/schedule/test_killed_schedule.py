"""A schedule of real crawls is killed: no due visit is lost, none is made twice."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.scheduled import killed
from tests.forking import Forked, forked

RUN = "import sys\nfrom benchmarks.scheduled import main\nmain(sys.argv[1:])"


@pytest.mark.starts
@pytest.mark.slow
def test_no_due_visit_is_lost_or_doubled(tmp_path: Path) -> None:
    with ExitStack() as processes:

        def start(arguments: Sequence[str]) -> Forked:
            return processes.enter_context(forked(RUN, *arguments))

        counted = killed(tmp_path, 2, crawls=1, starts=start)
    assert counted["made"] >= 2
    assert (counted["lost"], counted["doubled"]) == (0, 0), counted
