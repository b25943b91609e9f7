"""Enrichment that is killed at moments drawn by lot ends with the same annotations as one that nobody kills."""

from pathlib import Path
from random import Random

import pytest

from aahcrawler.annotations import annotations_of
from aahcrawler.layout import ANNOTATIONS, TOPICS
from benchmarks.enrichment_scale import counting_graphs, enriching_steps, index_digest, posts, write_crawl
from offline.enrichment.enriching import enrich
from tests.forking import forked

KILLS = 3
KILLED = """
import os, signal, sys
from pathlib import Path
from aahcrawler.segments import SegmentWriter
from benchmarks.enrichment_scale import enriching_steps
from offline.enrichment.enriching import enrich
from tests.forking import serve_forks

serve_forks()
left, append = int(sys.argv[2]), SegmentWriter.append

def counted(self, *members):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return append(self, *members)

SegmentWriter.append = counted
list(enrich(Path(sys.argv[1]), enriching_steps(models=False), processes=int(sys.argv[3])))
"""


@pytest.mark.starts
def test_kills_change_nothing_that_any_step_says(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for crawl in (killed, whole):
        write_crawl(crawl, posts(110))
    list(enrich(whole, enriching_steps(models=False)))
    with annotations_of(whole) as annotations:
        said = {each.annotator for each in annotations}
    assert said >= {"language", "entities", "opinions", "events", "keywords", "topics", "conversations"}
    graphs, rng = counting_graphs(whole), Random(45)
    for number in range(KILLS):
        processes = 1 + number % 2  # With two, what goes by objects alone is done by another one.
        with forked(KILLED, killed, rng.randint(1, len(graphs) // KILLS), processes) as process:
            _, told = process.communicate(600)
            assert process.returncode == -9, told
    list(enrich(killed, enriching_steps(models=False)))
    assert counting_graphs(killed) == graphs
    assert index_digest(killed) == index_digest(whole)
    assert (killed / ANNOTATIONS / TOPICS).read_bytes() == (whole / ANNOTATIONS / TOPICS).read_bytes()
