"""Has pages proposed to be kept, by a process of ``aah`` beside the service."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from aahcrawler.layout import EXPORTS
from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.steering.long_jobs import Jobs, JobView, Progress, Task
from aahcrawler.service.steering.reporting_process import ReportingProcess
from aahcrawler.service.views.proposed_pages import proposals_file
from aahcrawler.service.web.problems import CONFLICT, ProblemError, Shown

MAX_SECONDS: Final = 3600.0
"""Seconds after which the weighing of a crawl's pages is given up."""


class Proposed(Shown):
    """Pages were proposed: ``bytes`` is the size of their file."""

    bytes: int


def propose(
    jobs: Jobs, crawl: str, folder: Path, most: int, by: str, knowledge: Callable[[], KnowledgeFolders]
) -> JobView:
    """Begin to propose up to ``most`` pages of a crawl, beside those decided on, in the place of earlier proposals.

    Raise ``ProblemError`` where too much is under way.
    """

    def work(progress: Progress) -> BaseModel:
        return _proposed(folder, most, knowledge(), progress)

    return jobs.begin(Task("propose", crawl, by), work)


def _proposed(folder: Path, most: int, knowledge: KnowledgeFolders, progress: Progress) -> BaseModel:
    file = proposals_file(folder)
    new = file.with_name(f"new-{file.name}")
    try:
        (folder / EXPORTS).mkdir(mode=0o700, exist_ok=True)
        new.unlink(missing_ok=True)
        asked = ["select", str(folder.absolute()), "--propose", str(new.absolute()), "--propose-pages", str(most)]
        process = ReportingProcess(asked, folder / EXPORTS, knowledge.environment, MAX_SECONDS)
        progress.waits_for(process.kill)
        list(process.told())
        progress.advance(0)
        if process.exit_code:
            raise ProblemError(CONFLICT, process.problem or f"it ended early, with the exit code {process.exit_code}")
        size = new.stat().st_size
        new.replace(file)
    except OSError as error:
        raise ProblemError(CONFLICT, f"the proposals cannot be written: {error.strerror or error}") from error
    return Proposed(bytes=size)
