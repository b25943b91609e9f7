"""Steps that go by objects alone are done beside others, and all that is written is the same."""

import os
from pathlib import Path

import pytest

from aahcrawler.annotations import Kind, annotations_of
from aahcrawler.jobs import JobError
from offline.enrichment.enriching import StepResult, enrich
from offline.enrichment.steps import EnrichmentStep
from tests.enrichment.annotators import COPIES, Dying, Endless, Failing, InProcess, Unsound, beside
from tests.enrichment.archives import define, write_posts

pytestmark = pytest.mark.starts
THREADS = [[("ann", f"water number {number:03}"), ("bob", "which water")] for number in range(260)]


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
    assert (copies.done.annotations, conversations.done.annotations) == (520, 520)
    (process,) = processes_told(crawl)
    assert process != str(os.getpid())
    assert conversations.notes == (f"said by {process}",)
    assert [each.standing for each in run(crawl, COPIES, beside(InProcess))] == [520, 520]


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
