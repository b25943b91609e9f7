"""Pages that an entry keeps as tests: fetched by their URLs, or taken from the crawl once they are read rightly."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.layout import DEFINITION
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.sign_in import Said
from aahcrawler.service.cockpit.site import Editing, Sent, Site, address, then
from aahcrawler.service.cockpit.studio.page_views import Record, page_address
from aahcrawler.service.cockpit.studio.studio_desk import OF_WORK, StudioDesk
from aahcrawler.service.cockpit.studio.studio_jobs import Done, StudioJobs
from aahcrawler.service.cockpit.studio.work_changes import WorkChanges, seen_by
from aahcrawler.service.steering.jobs import Progress
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import CONFLICT, ProblemError
from aahcrawler.studio.works.expected_readings import read_now
from aahcrawler.studio.works.page_fetching import Manners, PageFetching, fetch_into
from aahcrawler.studio.works.work_errors import WorkError

WorkName = Annotated[str, Path(max_length=80)]


def routes(site: Site, desk: StudioDesk, jobs: StudioJobs) -> APIRouter:
    """Return the routes of pages that are kept as tests."""
    router = APIRouter(prefix="/crawls/{crawl}/studio/works/{work}")
    fetching = PageFetching()

    @router.post("/fetch")
    def fetch(session: Editing, crawl: str, work: WorkName, form: Sent) -> Response:
        found, who, url = site.crawl(crawl), session.caller.name, form.get("url")[:4_000]
        held, manners = desk.works.work(work, seen_by(form)[1]), manners_of(found)
        to = address("crawls", crawl, "studio", "works", work)

        def fetched(_: Progress) -> Done:
            try:
                name = fetch_into(held, url, who, fetching, manners)
            except WorkError as error:
                return Done(to=to, text=f"{url}: {error}", kind="bad")
            return Done(to=f"{to}/pages/{OF_WORK}{name}", text="The page is fetched, and is a test of the entry now")

        return jobs.led(session, found, jobs.begin(session, found, "fetching a page", fetched))

    @router.post("/pages/{record}/test")
    def keep_as_test(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        page = desk.page(site.crawl(crawl), desk.works.open(work), record)
        (revision, mark), who = seen_by(form), session.caller.name
        held = desk.works.work(work, mark)
        try:
            expected = read_now(held, page.sampled.page)
            if record.startswith(OF_WORK):
                held.set_expectation(record.removeprefix(OF_WORK), expected, who, revision)
                said = "What is read on it now is what its test expects."
            else:
                name = held.add_page(page.sampled.page, expected, who, revision=revision)
                said = f"It is kept as the test {name}: whatever changes it from now on is told."
        except WorkError as error:
            return then(session, page_address(page), Said(str(error), "bad"))
        return then(session, page_address(page), Said(said))

    @router.post("/pages/{record}/drop")
    def drop_test(session: Editing, crawl: str, work: WorkName, record: Record, form: Sent) -> Response:
        to, name = address("crawls", crawl, "studio", "works", work), record.removeprefix(OF_WORK)
        acts, words = WorkChanges(desk), f"The page {name} is no test of the entry any more."
        said = acts.stepped(work, form, lambda each, seen: each.remove_page(name, session.caller.name, seen), words)
        return then(session, to, said)

    return router


def manners_of(crawl: Crawl) -> Manners:
    """Return how a crawl fetches. Raise ``ProblemError`` where its definition is not there to say so."""
    if crawl.folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder, which says how it fetches")
    try:
        return Manners.of(read_definition(crawl.folder / DEFINITION))
    except DefinitionError as error:
        raise ProblemError(CONFLICT, f"how the crawl fetches cannot be read: {error}") from error
