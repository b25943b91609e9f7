"""Steps that go by objects alone are done beside others, and all that is written is the same."""

import os
from pathlib import Path
from random import Random

import pytest

from aahcrawler.annotations import Kind, annotations_of
from aahcrawler.jobs import JobError
from aahcrawler.layout import ANNOTATIONS, TOPICS
from benchmarks.enrichment_scale import counting_graphs, index_digest, posts, write_crawl
from offline.enrichment.enriching import StepResult, enrich
from offline.enrichment.steps import EnrichmentStep, chosen_steps
from tests.enrichment.annotators import COPIES, Dying, Endless, Failing, InProcess, Unsound, beside
from tests.enrichment.archives import define, write_posts
from tests.forking import forked

pytestmark = pytest.mark.starts
THREADS = [[("ann", f"water number {number:03}"), ("bob", "which water")] for number in range(700)]
COLLECTION = "keywords,topics,near-duplicates,conversations"
KILLED = """
import os, signal, sys
from pathlib import Path
from aahcrawler.segments import SegmentWriter
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps

left, append = int(sys.argv[2]), SegmentWriter.append

def counted(self, *members):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return append(self, *members)

SegmentWriter.append = counted
list(enrich(Path(sys.argv[1]), chosen_steps(sys.argv[3].split(",")), processes=2))
"""


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    define(tmp_path / "crawl")
    write_posts(tmp_path / "crawl", THREADS)
    return tmp_path / "crawl"


def run(crawl: Path, *steps: EnrichmentStep, processes: int = 2) -> list[StepResult]:
    return list(enrich(crawl, steps, processes=processes))


def processes_told(crawl: Path) -> set[str]:
    with annotations_of(crawl) as annotations:
        return {each.label for each in annotations if each.kind is Kind.CONVERSATION}


def test_what_goes_by_objects_alone_is_done_by_another_process(crawl: Path) -> None:
    copies, conversations = run(crawl, COPIES, beside(InProcess))
    assert (copies.done.annotations, conversations.done.annotations) == (1400, 1400)
    (process,) = processes_told(crawl)
    assert process != str(os.getpid())
    assert conversations.notes == (f"said by {process}",)
    assert [each.standing for each in run(crawl, COPIES, beside(InProcess))] == [1400, 1400]


@pytest.mark.parametrize("processes", [1, 2])
def test_what_comes_first_is_done_by_this_process(crawl: Path, processes: int) -> None:
    run(crawl, beside(InProcess), COPIES, processes=processes)
    assert processes_told(crawl) == {str(os.getpid())}


def test_a_process_beside_that_ends_is_told(crawl: Path) -> None:
    with pytest.raises(JobError, match="a process has ended, perhaps for want of memory; run it again"):
        run(crawl, COPIES, beside(Dying))
    run(crawl, COPIES, beside(InProcess))
    assert len(processes_told(crawl)) == 1


def test_what_goes_wrong_in_the_process_beside_is_told_as_in_this_one(crawl: Path) -> None:
    with pytest.raises(OSError, match="no space left"):
        run(crawl, COPIES, beside(Failing))
    with pytest.raises(ValueError, match="it lacks an object"):
        run(crawl, COPIES, beside(Unsound))
    assert processes_told(crawl) == set()


@pytest.mark.timeout(60)
def test_nobody_waits_for_the_process_beside_where_the_run_ends_before(crawl: Path) -> None:
    done = enrich(crawl, [COPIES, beside(Endless)], processes=2)
    assert next(done).step == "copies"
    done.close()  # type: ignore[attr-defined]


def test_what_is_done_beside_is_written_the_same_whether_or_not_it_is_killed(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        write_crawl(folder, posts(110))
        run(folder, *chosen_steps(("language", "entities")), processes=1)
    before = len(counting_graphs(whole))
    run(whole, *chosen_steps(COLLECTION.split(",")), processes=1)
    graphs, rng = counting_graphs(whole), Random(7)
    assert len(graphs) > before + 60
    for _ in range(3):
        with forked(KILLED, killed, rng.randint(1, (len(graphs) - before) // 2), COLLECTION) as process:
            _, told = process.communicate(600)
            assert process.returncode == -9, told
    run(killed, *chosen_steps(COLLECTION.split(",")))
    assert counting_graphs(killed) == graphs
    assert index_digest(killed) == index_digest(whole)
    assert (killed / ANNOTATIONS / TOPICS).read_bytes() == (whole / ANNOTATIONS / TOPICS).read_bytes()
