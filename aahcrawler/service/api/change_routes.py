"""Routes of the log of changes: what visits of a crawl's pages found, as a list and as a feed."""

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request, Response

from aahcrawler.revisits.visit_record import ChangeKind, ChangeState, WantedVisits
from aahcrawler.service.api.queue_routes import After, Part, example_of
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.catalog.gateway import AskingAgain
from aahcrawler.service.views import change_list
from aahcrawler.service.views.change_list import ChangeList, ChangesPage, ChangesQuery, asked_moment
from aahcrawler.service.web.problems import BAD_SEARCH, DAMAGED, NO_CRAWL, UNAVAILABLE, problem_responses
from aahcrawler.urls import MAX_LENGTH, canonicalize

ATOM: Final = "application/atom+xml"
Moment = Annotated[
    str, Query(max_length=40, description="In UTC, unless it says otherwise.", examples=["2026-11-26T10:00"])
]
_LOGS: Final = problem_responses(NO_CRAWL, BAD_SEARCH, DAMAGED, UNAVAILABLE)


class AtomResponse(Response):
    """A feed."""

    media_type = ATOM


def _wanted_visits(
    url: Annotated[str, Query(max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/thread/17"])] = "",
    text: Part = "",
    since: Moment = "",
    until: Moment = "",
    state: Annotated[list[ChangeState] | None, Query(max_length=len(ChangeState), examples=[["changed"]])] = None,
    kind: Annotated[list[ChangeKind] | None, Query(max_length=len(ChangeKind), examples=[["content"]])] = None,
    telling: bool = False,
) -> WantedVisits:
    named = (canonicalize(url) or url) if url else None
    return WantedVisits(
        named,
        asked_moment("since", since),
        asked_moment("until", until),
        frozenset(state or ()),
        frozenset(kind or ()),
        text,
        telling,
    )


Wanted = Annotated[WantedVisits, Depends(_wanted_visits)]


def change_routes(reach: CrawlRegistry) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", route_class=AskingAgain, tags=["changes"])

    @router.get("/changes", responses={**example_of(ChangesPage), **_LOGS})
    def list_changes(
        crawl: str, wanted: Wanted, after: After = "", limit: Annotated[int, Query(ge=1, le=change_list.MOST)] = 50
    ) -> ChangesPage:
        """List visits of pages, the newest first: what each found, when that changed, and what it cost.

        With `telling`, only those after which a page is another one for its readers. A search looks at a bounded number
        of visits and answers what it found; `next` goes on with the rest.
        """
        return ChangeList(reach.crawl(crawl)).page(ChangesQuery(wanted, after, limit))

    @router.get(
        "/changes.atom",
        responses={200: {"content": {ATOM: {}}}, **_LOGS},
        response_class=AtomResponse,
    )
    def feed_changes(request: Request, crawl: str, wanted: Wanted) -> Response:
        """Give the newest visits as an Atom feed (RFC 4287)."""
        return AtomResponse(ChangeList(reach.crawl(crawl)).feed(wanted, str(request.url)))

    return router
