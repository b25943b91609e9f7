"""Commands in processes of their own: what they complain of is kept, and who gives a job up ends its process."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from aahcrawler.service.steering import crawl_process
from aahcrawler.service.steering.crawl_process import ReportingProcess
from aahcrawler.service.steering.long_jobs import Jobs, JobState, Progress, Task
from tests.crawl.crawling import until

pytestmark = pytest.mark.starts
TASK = Task("a trial", "crawl", "Ada")


def test_what_a_command_complains_of_is_kept(tmp_path: Path) -> None:
    process = ReportingProcess(["kb", "try", "--json", str(tmp_path)], tmp_path, {})
    assert list(process.told()) == []
    assert process.exit_code == 2
    assert "name the folder of a crawl" in process.problem


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crawl_process, "MAX_SECONDS", 0.05)
    process = ReportingProcess(["kb", "try", "--json", str(tmp_path)], tmp_path, {})
    assert list(process.told()) == []
    assert process.exit_code == -9
    assert "longer than" in process.problem


def test_who_gives_a_job_up_ends_what_it_waits_for(tmp_path: Path) -> None:
    jobs, begun = Jobs(), []

    def work(progress: Progress) -> BaseModel:
        process = ReportingProcess(["kb", "try", "--json", str(tmp_path)], tmp_path, {})
        begun.append(process)
        progress.waits_for(process.kill)
        for _ in process.told():
            pass
        progress.advance(0)
        return BaseModel()

    name = jobs.begin(TASK, work).id
    until(lambda: bool(begun))
    jobs.close()
    assert begun[0].exit_code == -9
    assert jobs.job("crawl", name).state is JobState.CANCELLED
