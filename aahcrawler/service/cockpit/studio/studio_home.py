"""The first page of the studio: the sites of a crawl by their software, works, own entries, and learned repairs."""

from fastapi import APIRouter, Response

from aahcrawler.service.cockpit.site import Reading, Site
from aahcrawler.service.cockpit.studio.studio_desk import StudioDesk
from aahcrawler.service.views.recognised_hosts import recognised_hosts


def routes(site: Site, desk: StudioDesk) -> APIRouter:
    """Return the routes of the first page."""
    router = APIRouter(prefix="/crawls/{crawl}/studio")

    @router.get("")
    def show(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        with site.instruments.indexes.asked(found) as index:
            hosts = recognised_hosts(index)
        values = {"hosts": hosts, "works": desk.works.begun()}
        return site.crawl_page(session, found, "studio", "studio/home.html", **values)

    return router
