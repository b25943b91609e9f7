"""The routes of the studio, with its first page, and what its pages share."""

from fastapi import APIRouter, Response

from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.editor.text.file_lines import read_files
from aahcrawler.layout import LEARNED
from aahcrawler.service.cockpit.site import Reading, Site
from aahcrawler.service.cockpit.studio import (
    new_entry_page,
    own_entries_page,
    page_views,
    repair_pages,
    studio_desk,
    work_page,
)
from aahcrawler.service.cockpit.studio.open_works import NO_PLACE, DraftChecker
from aahcrawler.service.cockpit.studio.studio_desk import StudioJobs, StudioService
from knowledge_base.file_selection import chosen_files, filled


def home_routes(site: Site, desk: StudioService) -> APIRouter:
    """Return the routes of the first page."""
    router = APIRouter(prefix="/crawls/{crawl}/studio")

    @router.get("")
    def show(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        hosts = desk.hosts(found)
        knowledge = desk.works.knowledge
        files = read_files(chosen_files(filled(knowledge.folders)).applications)
        learned = found.folder is not None and any((found.folder / LEARNED).glob("*.xml"))
        values = {
            "hosts": hosts,
            "works": desk.works.begun(),
            "files": {file.name: file.path.stem for file in files},
            "entries": OwnFolder(knowledge.own).names() if knowledge.own is not None else (),
            "learned": learned,
            "no_place": NO_PLACE if knowledge.own is None else "",
        }
        return site.crawl_page(session, found, "studio", "studio/home.html", **values)

    return router


def routes(site: Site) -> APIRouter:
    """Return the routes of the studio."""
    desk, jobs = StudioService(site), StudioJobs(site)
    checks = DraftChecker(desk.works)
    for end in (desk.shelf.close, desk.matched.clear, checks.close):
        site.instruments.endings.callback(end)
    topics = (
        home_routes(site, desk),
        page_views.routes(site, desk),
        work_page.group_routes(site, desk),
        page_views.act_routes(site, desk),
        new_entry_page.routes(site, desk, jobs),
        work_page.routes(site, desk, checks),
        work_page.act_routes(site, desk, checks, jobs),
        work_page.text_routes(site, desk),
        page_views.kept_page_routes(site, desk, jobs),
        studio_desk.trial_routes(site, desk, jobs),
        own_entries_page.routes(site, desk),
        own_entries_page.intake_routes(site, desk, jobs),
        repair_pages.routes(site, desk, jobs),
        studio_desk.routes(site, jobs),
    )
    return APIRouter(routes=[route for topic in topics for route in topic.routes])
