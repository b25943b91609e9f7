"""The first page: crawls at a glance."""

from fastapi import APIRouter, Response

from aahcrawler.service.cockpit.site import Reading, Site


def routes(site: Site) -> APIRouter:
    """Return the route of the list of crawls."""
    router = APIRouter()
    instruments = site.instruments

    @router.get("/")
    def show(session: Reading) -> Response:
        crawls = [instruments.states.status(crawl) for crawl in instruments.reach.crawls()]
        crawls.sort(key=lambda crawl: (crawl.state not in ("running", "paused"), crawl.id))
        return site.page(session, "crawl_list.html", crawls=crawls)

    return router
