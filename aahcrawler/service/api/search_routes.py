"""The route that searches all that crawls captured."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from aahcrawler.search import Question
from aahcrawler.search.query_language import LONGEST
from aahcrawler.service.catalog.reach import CrawlRegistry
from aahcrawler.service.views.search_answers import SearchIndexes, SearchResults, answer, question_of
from aahcrawler.service.web.problems import BAD_SEARCH, NO_CRAWL, problem_responses

Values = Annotated[list[str], Query(max_length=20)]
Day = Annotated[str, Query(max_length=40, description="A year, month or day: 2026, 2026-01, 2026-01-31.")]


def search_routes(reach: CrawlRegistry, indexes: SearchIndexes) -> APIRouter:
    """Return the route."""
    router = APIRouter(tags=["search"])

    @router.get("/search", responses=problem_responses(NO_CRAWL, BAD_SEARCH))
    def search_crawls(
        q: Annotated[
            str, Query(max_length=LONGEST, description='Words, "phrases", -unwanted, OR, begin*, author:jo, date:2013.')
        ] = "",
        crawl: Values = [],  # noqa: B006 (read alone)
        kind: Values = [],  # noqa: B006
        type: Values = [],  # noqa: A002, B006 (the name of the parameter in the URL)
        site: Values = [],  # noqa: B006
        author: Values = [],  # noqa: B006
        application: Values = [],  # noqa: B006
        language: Values = [],  # noqa: B006
        media_type: Values = [],  # noqa: B006
        since: Day = "",
        until: Day = "",
        by: Annotated[Literal["published", "captured"], Query(description="What `since` and `until` mean.")] = (
            "published"
        ),
        as_of: Annotated[str, Query(max_length=40, description="What was there at the end of that day.")] = "",
        versions: Annotated[
            Literal["last", "all"], Query(description="The last version of each thing, or all of them.")
        ] = "last",
        order: Literal["relevance", "newest", "oldest", "captured"] = "relevance",
        folded: Annotated[bool, Query(description="Near duplicates under one result.")] = True,
        facets: bool = True,
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
        offset: Annotated[int, Query(ge=0, le=1_000)] = 0,
    ) -> SearchResults:
        """Search pages, web objects and media of all crawls, or of some, and count what was found by its values."""
        filters = {"kind": kind, "type": type, "site": site, "author": author, "application": application}
        question = question_of(
            q,
            {**filters, "language": language, "media_type": media_type},
            {"since": since, "until": until, "as_of": as_of},
            Question(
                timed=by,
                scope=versions,
                order=order,
                limit=limit,
                offset=offset,
                is_folded=folded,
                counts_facets=facets,
            ),
        )
        return answer(reach, indexes, question, crawl)

    return router
