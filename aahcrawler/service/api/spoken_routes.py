"""Routes that show what the objects of a crawl speak of, and who answers whom."""

from typing import Annotated

from fastapi import APIRouter, Query

from aahcrawler.annotations import Kind
from aahcrawler.service.catalog.reach import CrawlRegistry
from aahcrawler.service.views.annotation_settings import AnnotationSettings
from aahcrawler.service.views.conversation_graph import Conversation, Talk
from aahcrawler.service.views.page_indexes import NO_FOLDER, NOT_READY, PageIndexes
from aahcrawler.service.views.spoken_of import (
    NO_PAGE,
    NOT_ENRICHED,
    NOT_SPOKEN_OF,
    CrawlSpokenOf,
    SpokenOfOne,
    crawl_spoken_of,
    enriched_of,
    spoken_of,
)
from aahcrawler.service.web.problems import NO_CRAWL, problem_responses

_OF_ALL = problem_responses(NO_CRAWL, NO_FOLDER, NOT_READY, NOT_ENRICHED)
_OF_ONE = problem_responses(NO_CRAWL, NO_FOLDER, NOT_READY, NOT_ENRICHED, NO_PAGE, NOT_SPOKEN_OF)
Meant = Annotated[str, Query(max_length=2_000, description="Its IRI, or its label where it has none.")]


def spoken_routes(reach: CrawlRegistry, indexes: PageIndexes) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", tags=["annotations"])

    @router.get("/spoken-of", responses=_OF_ALL)
    def list_spoken_of(crawl: str) -> CrawlSpokenOf:
        """List what a crawl speaks of: topics, organisations, places, keywords and events, the most frequent first."""
        with enriched_of(indexes, reach.crawl(crawl)) as enriched:
            return crawl_spoken_of(enriched)

    @router.get("/spoken-of/{kind}", responses=_OF_ONE)
    def show_spoken_of(crawl: str, kind: Kind, of: Meant) -> SpokenOfOne:
        """Show where something is spoken of, over time, with what else, and opinions in sentences that name it."""
        found = reach.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            return spoken_of(enriched, kind, of, AnnotationSettings.of(found))

    @router.get("/conversations", responses=_OF_ALL)
    def show_conversations(
        crawl: str, site: Annotated[str, Query(max_length=300, description="Without it, the one with the most.")] = ""
    ) -> Conversation:
        """Show who answers whom on a site; names of people only where the institution has turned them on."""
        found = reach.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            return Talk(enriched, site, named=AnnotationSettings.of(found).people).told()

    return router
