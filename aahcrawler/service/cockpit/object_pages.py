"""Pages of web objects: the list of them, and the versions of one."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from aahcrawler.overview.periods import PERIOD
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.views.object_history import object_history
from aahcrawler.service.views.object_list import Lacking, ObjectFilter, object_counts, object_list

ROWS: Final = 15
"""Objects that the list shows at once: more would be longer than three screens."""
Word = Annotated[str, Query(max_length=200)]


def routes(site: Site) -> APIRouter:
    """Return the routes of web objects."""
    router = APIRouter(prefix="/crawls/{crawl}/objects")
    indexes = site.instruments.indexes

    @router.get("")
    def list_objects(
        session: Reading,
        crawl: str,
        words: Word = "",
        object_type: Annotated[str, Query(max_length=100, alias="type")] = "",
        lacking: Annotated[str, Query(pattern="^(title|author|date)?$")] = "",
        gone: bool = False,
        published: Annotated[str, Query(pattern=f"^(?:{PERIOD})?$")] = "",
        after: Word = "",
    ) -> Response:
        found = site.crawl(crawl)
        missing: Lacking | None = None
        for field in ("title", "author", "date"):
            missing = field if lacking == field else missing
        wanted = ObjectFilter(object_type, words, missing, True if gone else None, published)
        asked = {"words": words, "type": object_type, "lacking": lacking, "gone": gone, "published": published}
        with indexes.asked(found) as index:
            listed, counts = object_list(index, wanted, after, ROWS), object_counts(index)
        more = address("crawls", crawl, "objects", **asked, after=listed.next) if listed.next else ""
        return site.crawl_page(
            session, found, "objects", "objects.html", listed=listed, counts=counts, asked=asked, more=more
        )

    @router.get("/versions")
    def show_versions(session: Reading, crawl: str, iri: Annotated[str, Query(max_length=4_000)]) -> Response:
        found = site.crawl(crawl)
        with indexes.asked(found) as index:
            history = object_history(index, iri)
        return site.crawl_page(session, found, "objects", "object.html", history=history)

    return router
