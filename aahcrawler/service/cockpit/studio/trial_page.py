"""Try an entry on the archive before anything is fetched: what would change, object by object."""

import os
from collections.abc import Iterator
from pathlib import Path as Folder
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from aahcrawler.editor.entries.entry_files import Entry
from aahcrawler.editor.entries.staging import Staged, staged
from aahcrawler.editor.pages.archive_trial import HeaviestPages, Summary
from aahcrawler.editor.pages.archive_trial import Progress as Read
from aahcrawler.editor.pages.page_readings import PageChanged
from aahcrawler.editor.works.work import Work
from aahcrawler.service.cockpit.site import Editing, Sent, Site, address
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.cockpit.studio.studio_jobs import Done, StudioJobs
from aahcrawler.service.steering.jobs import Progress
from aahcrawler.service.steering.told_process import ToldProcess
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import ProblemError
from knowledge_base.loader import LoadError

WorkName = Annotated[str, Path(max_length=80)]
MOST_PAGES: Final = 300
"""Archived pages that an entry is tried on, some of each sort."""
MOST_SHOWN: Final = 40
"""Pages that would change and are shown, those with the weightiest changes."""
_TOLD: Final[TypeAdapter[Read | PageChanged | Summary]] = TypeAdapter(
    Annotated[Read | PageChanged | Summary, Field(discriminator="kind")]
)


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


def _begun(crawl: Folder, host: str, stage: Staged) -> ToldProcess:
    folders = os.pathsep.join(map(str, stage.folders))
    options = ["--json", "--pages", str(MOST_PAGES), "--kb", folders, *(["--host", host] if host else [])]
    return ToldProcess(["kb", "try", *options, "--", str(crawl.absolute())], stage.folders[-1], {})


def _told(process: ToldProcess, progress: Progress) -> Iterator[PageChanged | Summary]:
    """Yield what a trial tells, and say how far it is."""
    for told in process.told():
        result = _TOLD.validate_python(told)
        if isinstance(result, Read):
            progress.total = result.of
            progress.advance(result.done - progress.done)
        else:
            yield result
    progress.advance(0)
