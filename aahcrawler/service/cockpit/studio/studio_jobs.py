"""Work of the studio that takes longer than an answer may, and the page that waits for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict

from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said, Session
from aahcrawler.service.cockpit.site import Reading, Site, address, then
from aahcrawler.service.steering.jobs import UNDER_WAY, JobShown, JobState, Progress, Task
from aahcrawler.service.web.noted_acts import under_way
from aahcrawler.service.web.service_log import Outcome

JobName = Annotated[str, Path(max_length=40)]
_PATIENCE: Final = 2.5
"""Seconds that an act waits for its job, before it leads to the page that waits on."""
_MOMENT: Final = 0.3


class Done(BaseModel):
    """What came of a job: what is to be said, and the page that it leads to."""

    model_config = ConfigDict(frozen=True)

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

    def begin(self, session: Session, crawl: Crawl, kind: str, work: Callable[[Progress], BaseModel]) -> JobShown:
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
                    act.note_later(Outcome.ENDED, detail=f"{kind}: {outcome}")

        return jobs.begin(Task(f"studio: {kind}", crawl.id, session.caller.name), noted)

    def led(self, session: Session, crawl: Crawl, job: JobShown) -> Response:
        """Return the way on: to what came of a job, or to the page that waits for it."""
        jobs = self.site.instruments.helm.jobs
        now = jobs.wait(crawl.id, job.id, _PATIENCE)
        if now.state is JobState.DONE and isinstance(now.result, Done):
            return then(session, now.result.to, now.result.said)
        return then(session, address("crawls", crawl.id, "studio", "jobs", job.id))

    def now(self, crawl: Crawl, name: str) -> JobShown:
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
