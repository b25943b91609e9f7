"""Pages on similar texts: all groups of a crawl, and each group by itself."""

from collections.abc import Callable
from typing import Final, Literal

from fastapi import APIRouter, Response

from aahcrawler.annotations import Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.service.api.page_routes import Meant
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Reading, Site
from aahcrawler.service.cockpit.spoken_pages import as_csv
from aahcrawler.service.cockpit.spoken_sections import Leads
from aahcrawler.service.views.alike_texts import ALIKE, AlikeText, alike_group, alike_listed, alike_table
from aahcrawler.service.views.enriched_crawl import enriched_of, is_enriched

GROUPS: Final = {
    Kind.CLUSTER: "Say nearly the same",
    Kind.RELATED: "Are about the same",
}
"""What texts of a group do, as it is called on pages."""
STEPS: Final = {Kind.CLUSTER: "near-duplicates", Kind.RELATED: "related-texts"}
"""The steps of an enrichment that put them together."""
Alike = Literal[Kind.CLUSTER, Kind.RELATED]


def marking(crawl: str, found: Crawl) -> Callable[[AlikeText], str]:
    """Return a function that gives the address of a text's capture, with the first words of the text marked."""
    leads = Leads(crawl, AnnotationSettings.of(found.folder))
    return lambda text: leads.capture(text.record, text.opening)


def routes(site: Site) -> APIRouter:
    """Return the routes for similar texts."""
    router = APIRouter(prefix="/crawls/{crawl}/archive")
    indexes = site.instruments.indexes

    @router.get("/alike")
    def show_all(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        if not is_enriched(found):
            return site.crawl_page(session, found, "archive", "alike.html", groups=None)
        with enriched_of(indexes, found) as enriched:
            groups = [(kind, *alike_listed(enriched, kind)) for kind in ALIKE]
            note = enriched.note
        return site.crawl_page(
            session, found, "archive", "alike.html", groups=groups, note=note, titles=GROUPS, steps=STEPS
        )

    @router.get("/alike.csv")
    def download(_: Reading, crawl: str) -> Response:
        with enriched_of(indexes, site.crawl(crawl)) as enriched:
            rows = [*alike_table(enriched)]
        return as_csv(f"{crawl}-alike", rows)

    @router.get("/alike/{kind}")
    def show_one(session: Reading, crawl: str, kind: Alike, of: Meant) -> Response:
        found = site.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            group, note = alike_group(enriched, kind, of), enriched.note
        marked = marking(crawl, found)
        return site.crawl_page(
            session, found, "archive", "alike_one.html", group=group, note=note, titles=GROUPS, marked=marked
        )

    return router
