"""The first page: crawls at a glance."""

from fastapi import APIRouter, Response

from aahcrawler.service.cockpit.site import Reading, Site
from aahcrawler.service.views.crawl_findings import matters


def routes(site: Site) -> APIRouter:
    """Return the route of the list of crawls."""
    router = APIRouter()
    instruments = site.instruments

    @router.get("/")
    def show(session: Reading) -> Response:
        shown = [(crawl, instruments.states.status(crawl)) for crawl in instruments.reach.crawls()]
        shown.sort(key=lambda each: (each[1].state not in ("running", "paused"), each[1].id))
        to_do = [(status, matter) for crawl, status in shown for matter in matters(crawl, status)]
        startable = {crawl.id for crawl, _ in shown if crawl.registered is None}
        values = {"crawls": [status for _, status in shown], "to_do": to_do, "startable": startable}
        return site.page(session, "crawl_list.html", **values)

    return router
