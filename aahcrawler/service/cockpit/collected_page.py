"""The page of what a crawl collected about an event or from archives, with its files."""

from urllib.parse import quote

from fastapi import APIRouter, Response
from markupsafe import Markup

from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.rendering import visible
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.cockpit.spoken_pages import as_csv
from aahcrawler.service.views.collected_view import Lead, collection_of, graphml


def routes(site: Site) -> APIRouter:
    """Return the routes of collections."""
    router = APIRouter(prefix="/crawls/{crawl}/collected")
    views = site.instruments.collected

    @router.get("")
    def show(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        lead = capture_lead(found)
        told, is_whole = views.of(found, lead)
        shown = () if told is None else (("The course of the crawl", told.course), *told.sections)
        sections = [(name, Markup(visible(html))) for name, html in shown]  # noqa: S704 (it is escaped there)
        values = {"told": told, "is_whole": is_whole, "sections": sections, "lead": lead}
        return site.crawl_page(session, found, "collected", "collected.html", **values)

    @router.get("/pages.csv")
    def download_pages(_: Reading, crawl: str) -> Response:
        return as_csv(f"{crawl}-collected", collection_of(site.crawl(crawl)).table())

    @router.get("/pages.graphml")
    def download_graph(_: Reading, crawl: str) -> Response:
        content = graphml(collection_of(site.crawl(crawl)))
        return Response(content, media_type="application/xml", headers=_named(f"{crawl}-collected.graphml"))

    @router.get("/missing.txt")
    def download_missing(_: Reading, crawl: str) -> Response:
        missing = "".join(f"{url}\n" for url in collection_of(site.crawl(crawl)).missing)
        return Response(missing, media_type="text/plain; charset=utf-8", headers=_named(f"{crawl}-missing.txt"))

    return router


def capture_lead(crawl: Crawl) -> Lead:
    """Return what gives the addresses of the captures of a crawl."""

    def lead(row: PageRow) -> str:
        return address("crawls", crawl.id, "captures", row.capture)

    return lead


def _named(name: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
