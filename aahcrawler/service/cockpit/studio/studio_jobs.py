"""Work of the studio that takes longer than an answer may, such as a trial on the archive, and the page that waits."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path as Folder
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from aahcrawler.editor.drafts.opened_draft import OpenedDraft
from aahcrawler.editor.entries.entry_files import Entry
from aahcrawler.editor.entries.staging import Staged, staged
from aahcrawler.editor.pages.archive_trial import HeaviestPages, Summary
from aahcrawler.editor.pages.archive_trial import Progress as Read
from aahcrawler.editor.pages.page_readings import PageChanged
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Editing, Reading, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.studio_desk import StudioService
from aahcrawler.service.steering.long_jobs import UNDER_WAY, JobState, JobView, Progress, Task
from aahcrawler.service.steering.reporting_process import ReportingProcess
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.noted_acts import under_way
from aahcrawler.service.web.problems import ProblemError, Shown
from aahcrawler.service.web.service_log import ActOutcome
from knowledge_base.loader import LoadError

JobName = Annotated[str, Path(max_length=40)]
_PATIENCE: Final = 2.5
"""Seconds that an act waits for its job, before it leads to the page that waits on."""
_MOMENT: Final = 0.3
WorkName = Annotated[str, Path(max_length=80)]
MAX_PAGES: Final = 300
"""Archived pages that an entry is tried on, some of each sort."""
MAX_SHOWN: Final = 40
"""Pages that would change and are shown, those with the weightiest changes."""
_TOLD: Final[TypeAdapter[Read | PageChanged | Summary]] = TypeAdapter(
    Annotated[Read | PageChanged | Summary, Field(discriminator="kind")]
)


class Done(Shown):
    """What came of a job: what is to be said, and the page that it leads to."""

    to: str
    text: str
    kind: str = "good"
    lines: tuple[str, ...] = ()
    can_force: bool = False

    @property
    def said(self) -> Said:
        """What the page that it leads to tells."""
        return Said(self.text, self.kind, self.lines)


@dataclass(frozen=True, slots=True)
class StudioJobs:
    """Begins jobs of the studio, and leads to what comes of them."""

    site: Site

    def begin(self, session: Session, crawl: Crawl, kind: str, work: Callable[[Progress], BaseModel]) -> JobView:
        """Begin a job, whose end the log of the service tells. Raise ``ProblemError`` where too many are under way."""
        jobs, act = self.site.instruments.helm.jobs, under_way()

        def noted(progress: Progress) -> BaseModel:
            outcome = "given up, or failed"
            try:
                made = work(progress)
                outcome = " ".join((made.text, *made.lines)) if isinstance(made, Done) else "done"
                return made
            finally:
                if act is not None:
                    act.note_later(ActOutcome.ENDED, detail=f"{kind}: {outcome}")

        return jobs.begin(Task(f"studio: {kind}", crawl.id, session.caller.name), noted)

    def led(self, session: Session, crawl: Crawl, job: JobView) -> Response:
        """Return the way on: to what came of a job, or to the page that waits for it."""
        jobs = self.site.instruments.helm.jobs
        now = jobs.wait(crawl.id, job.id, _PATIENCE)
        if now.state is JobState.DONE and isinstance(now.result, Done):
            return then(session, now.result.to, now.result.said)
        return then(session, address("crawls", crawl.id, "studio", "jobs", job.id))

    def now(self, crawl: Crawl, name: str) -> JobView:
        """Return a job as it is in a moment. Raise ``ProblemError`` where there is none."""
        jobs = self.site.instruments.helm.jobs
        job = jobs.job(crawl.id, name)
        return jobs.wait(crawl.id, name, _MOMENT) if job.state in UNDER_WAY else job


def routes(site: Site, jobs: StudioJobs) -> APIRouter:
    """Return the routes of the page that waits."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/jobs/{job}")

    @router.get("")
    def wait(session: Reading, crawl: str, job: JobName) -> Response:
        found = site.crawl(crawl)
        now = jobs.now(found, job)
        if now.state is JobState.DONE and isinstance(now.result, Done):
            return then(session, now.result.to, now.result.said)
        return site.crawl_page(session, found, "studio", "studio/waiting.html", job=now)

    @router.get("/part")
    def wait_on(session: Reading, crawl: str, job: JobName) -> Response:
        found = site.crawl(crawl)
        return site.part(session, "studio/job.html", crawl=found, job=jobs.now(found, job))

    return router


class TrialDone(Shown):
    """What an entry would change on an archive; ``pages`` are those with the weightiest changes."""

    to: str
    host: str
    summary: Summary
    pages: tuple[PageChanged, ...]


def trial_routes(site: Site, desk: StudioService, jobs: StudioJobs) -> APIRouter:
    """Return the routes of trials."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")

    @router.post("/try")
    def try_entry(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        found, held, host = site.crawl(crawl), desk.works.work(work), form.get("host")[:255]
        folder = found.folder
        if folder is None:
            raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder")
        to = address("crawls", crawl, "studio", "works", work)

        def trial(progress: Progress) -> BaseModel:
            return _trial(held, folder, host, to, progress)

        return jobs.led(session, found, jobs.begin(session, found, f"trying {work} on the archive", trial))

    return router


def _trial(work: OpenedDraft, crawl: Folder, host: str, to: str, progress: Progress) -> BaseModel:
    heaviest = HeaviestPages(MAX_SHOWN)
    summary: Summary | None = None
    # What it reads of itself is asked for; in a crawl, reading without a draft makes up for what that misses.
    confirmed = work.now().text.set("", "draft", None)
    try:
        with staged(Entry(work.name, confirmed.data), work.folders) as stage:
            process = _begun(crawl, host, stage)
            progress.waits_for(process.kill)
            for told in _told(process, progress):
                match told:
                    case Summary():
                        summary = told
                    case PageChanged():
                        heaviest.add(told)
    except (LoadError, OSError, ValidationError) as error:
        return Done(to=to, text=f"It could not be tried: {error}", kind="bad")
    if summary is None:
        why = process.problem or f"the process ended early, with the exit code {process.exit_code}"
        return Done(to=to, text=f"It could not be tried: {why}", kind="bad")
    return TrialDone(to=to, host=host, summary=summary, pages=heaviest.pages())


def _begun(crawl: Folder, host: str, stage: Staged) -> ReportingProcess:
    folders = os.pathsep.join(map(str, stage.folders))
    options = ["--json", "--pages", str(MAX_PAGES), "--kb", folders, *(["--host", host] if host else [])]
    return ReportingProcess(["kb", "try", *options, "--", str(crawl.absolute())], stage.folders[-1], {})


def _told(process: ReportingProcess, progress: Progress) -> Iterator[PageChanged | Summary]:
    """Yield what a trial tells, and say how far it is."""
    for told in process.told():
        result = _TOLD.validate_python(told)
        if isinstance(result, Read):
            progress.total = result.of
            progress.advance(result.done - progress.done)
        else:
            yield result
    progress.advance(0)
