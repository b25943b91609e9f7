"""The first page of the studio: the sites of a crawl by their software, works, own entries, and learned repairs."""

from fastapi import APIRouter, Response

from aahcrawler.authoring.file_lines import read_files
from aahcrawler.authoring.own_entries.own_folder import OwnFolder
from aahcrawler.layout import LEARNED
from aahcrawler.service.cockpit.site import Reading, Site
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from knowledge_base.file_selection import chosen_files, filled


def routes(site: Site, desk: StudioDesk) -> APIRouter:
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
        }
        return site.crawl_page(session, found, "studio", "studio/home.html", **values)

    return router
