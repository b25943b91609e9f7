"""Try an entry on the archive before anything is fetched: what would change, object by object."""

from pathlib import Path as Folder
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict

from aahcrawler.authoring.archive_trial import ArchiveTrialError, Question, Summary, tried
from aahcrawler.authoring.archive_trial import Progress as Read
from aahcrawler.authoring.archive_trial_lines import HeaviestPages
from aahcrawler.authoring.own_entries.entry_files import Entry
from aahcrawler.authoring.own_entries.staging import staged
from aahcrawler.authoring.page_readings import PageChanged
from aahcrawler.segments import DamageError
from aahcrawler.service.cockpit.site import Editing, Sent, Site, address
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.studio_jobs import Done, StudioJobs
from aahcrawler.service.steering.jobs import Progress
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.studio.works.work import Work
from knowledge_base.loader import LoadError

WorkName = Annotated[str, Path(max_length=80)]
MOST_PAGES: Final = 300
"""Archived pages that an entry is tried on, some of each sort."""
MOST_SHOWN: Final = 40
"""Pages that would change and are shown, those with the weightiest changes."""


class TrialDone(BaseModel):
    """What an entry would change on an archive; ``pages`` are those with the weightiest changes."""

    model_config = ConfigDict(frozen=True)

    to: str
    host: str
    summary: Summary
    pages: tuple[PageChanged, ...]


def routes(site: Site, desk: StudioDesk, jobs: StudioJobs) -> APIRouter:
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


def _trial(work: Work, crawl: Folder, host: str, to: str, progress: Progress) -> BaseModel:
    heaviest = HeaviestPages(MOST_SHOWN)
    summary: Summary | None = None
    try:
        with staged(Entry(work.name, work.now().text.data), work.folders) as stage:
            question = Question(crawl, stage.knowledge_base.confirmed, host=host, most=MOST_PAGES)
            for result in tried(question):
                match result:
                    case Read():
                        progress.total = result.of
                        progress.advance(result.done - progress.done)
                    case Summary():
                        summary = result
                    case PageChanged():
                        heaviest.add(result)
    except (ArchiveTrialError, LoadError, DamageError, OSError) as error:
        return Done(to=to, text=f"It could not be tried: {error}", kind="bad")
    if summary is None:
        return Done(to=to, text="It could not be tried: nothing was said of it", kind="bad")
    return TrialDone(to=to, host=host, summary=summary, pages=heaviest.pages())
